#!/usr/bin/env python3
# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Log to advice, beside grep, awk and goaccess on the same generated logs.

usage: logs.py [--lines N,N,...] [--rounds N] [--shapes] [--no-goaccess]

In each round every tool runs once on the log, in turn, so that what else the
machine does meets all; the best of the rounds counts, and ratios are between
bests.  CPU is user and system time of the best round; memory the largest.
Logs are generated once, into $KA_BUILD/bench (default build/bench).

With --shapes: 10 million lines that are sorted, shuffled, of one client each,
and with ports, and compressed input beside the decompressor alone.

Ends with status 1 if a promise is broken: memory above 256 MB; and, where two
processors are there, more than twice grep's time or half of awk's on 2 million
lines (--promises says so; a busy machine may break them).
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

BUILD = os.environ.get("KA_BUILD", "build")
HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_MB = 256
# goaccess takes minutes for what the others do in seconds.
GOACCESS_LINES = 200000


class Run:
    """Best wall time, CPU of that run, and largest memory of a command."""

    def __init__(self):
        self.wall, self.cpu, self.mb = None, None, 0

    def once(self, command):
        begin = time.monotonic()
        # Not to /dev/null: grep notices, and stops at its first match.
        with subprocess.Popen(command, shell=isinstance(command, str),
                              stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE) as process:
            while process.stdout.read(65536):
                pass
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        if process.returncode:
            sys.exit("%s: status %d" % (command, process.returncode))
        self.mb = max(self.mb, usage.ru_maxrss / 1024)
        if self.wall is None or wall < self.wall:
            self.wall = wall
            self.cpu = usage.ru_utime + usage.ru_stime


def generator():
    binary = os.path.join(BUILD, "bench", "gen_log")
    source = os.path.join(HERE, "gen_log.c")
    os.makedirs(os.path.dirname(binary), exist_ok=True)
    if not os.path.exists(binary) or (os.path.getmtime(binary)
                                      < os.path.getmtime(source)):
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", binary, source,
                        "-lm"], check=True)
    return binary


def make_log(lines, shape="sorted"):
    clients = max(lines // 20, 1)
    path = os.path.join(BUILD, "bench", "%s-%d.log" % (shape, lines))
    if not os.path.exists(path):
        binary = generator()
        with open(path + ".part", "wb") as out:
            subprocess.run([binary, str(lines), str(clients), "1", shape],
                           stdout=out, check=True)
        os.rename(path + ".part", path)
    return path


def advise(path, *more):
    return [os.path.join(BUILD, "kaadvisor"), "--quiet", "--output", "json",
            *more, path]


def measure(commands, rounds):
    runs = {name: Run() for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].once(command)
    return runs


def print_runs(runs, lines, size, base):
    for name, run in runs.items():
        ratios = " ".join("%9.2f" % (run.wall / runs[b].wall) for b in base)
        print("  %-26s %8.3f %8.3f %7.0f %8.0f  %s"
              % (name, run.wall, run.cpu, run.mb,
                 size / run.wall / 1e6, ratios))


def table(lines, rounds, goaccess):
    path = make_log(lines)
    size = os.path.getsize(path)
    commands = {
        "grep -c": ["grep", "-c", "Mozilla", path],
        "awk, sum of a column": ["awk", "{s += $10} END {print s}", path],
        "kaadvisor --threads 1": advise(path, "--threads", "1"),
        "kaadvisor": advise(path),
    }
    if goaccess and lines <= GOACCESS_LINES and shutil.which("goaccess"):
        commands["goaccess"] = ["goaccess", path, "--log-format=COMBINED",
                                "--no-progress", "-o", "json"]
    print("%d lines, %.0f MB, %d clients" % (lines, size / 1e6,
                                             max(lines // 20, 1)))
    print("  %-26s %8s %8s %7s %8s  %9s %9s"
          % ("", "seconds", "CPU s", "MB", "MB/s", "x grep", "x awk"))
    runs = measure(commands, rounds)
    print_runs(runs, lines, size, ["grep -c", "awk, sum of a column"])
    return runs


def linearity(results):
    print("cost against size, best wall time a million lines")
    for lines, runs in sorted(results.items()):
        print("  %9d lines: %6.3f s with one thread, %6.3f s with all"
              % (lines, runs["kaadvisor --threads 1"].wall * 1e6 / lines,
                 runs["kaadvisor"].wall * 1e6 / lines))


def shapes(rounds):
    runs = {}
    for shape in ("sorted", "shuffled", "distinct", "ports"):
        path = make_log(10000000, shape)
        runs.update(measure({shape: advise(path)}, rounds))
    print("10,000,000 lines of other shapes")
    for name, run in runs.items():
        print("  %-26s %8.3f s %7.0f MB" % (name, run.wall, run.mb))
    runs.update(compressed(rounds))
    return runs


def compressed(rounds):
    plain = make_log(2000000)
    runs = {}
    print("2,000,000 lines, compressed: beside the decompressor alone")
    for tool, suffix in (("gzip", ".gz"), ("zstd", ".zst"), ("xz", ".xz")):
        path = plain + suffix
        if not shutil.which(tool):
            continue
        if not os.path.exists(path):
            subprocess.run([tool, "-1" if tool != "xz" else "-0", "-k", "-q",
                            plain], check=True)
        pair = measure({tool + " -dc": "%s -dc %s" % (tool, path),
                        "kaadvisor " + suffix: advise(path)}, rounds)
        alone, ours = pair.values()
        print("  %-6s %8.3f s alone, %8.3f s with advice: %5.2f x"
              % (tool, alone.wall, ours.wall, ours.wall / alone.wall))
        runs.update(pair)
    return runs


def broken(results, more, promises):
    failed = ["%s takes %.0f MB" % (name, run.mb)
              for runs in list(results.values()) + [more]
              for name, run in runs.items()
              if "kaadvisor" in name or name in ("sorted", "shuffled",
                                                 "distinct", "ports")
              if run.mb > LIMIT_MB]
    runs = results.get(2000000)
    if promises and runs:
        ours = runs["kaadvisor"].wall
        if ours > 2 * runs["grep -c"].wall:
            failed.append("more than twice grep's time")
        if ours > 0.5 * runs["awk, sum of a column"].wall:
            failed.append("more than half of awk's time")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", default="100000,1000000,2000000,10000000")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shapes", action="store_true")
    parser.add_argument("--promises", action="store_true")
    parser.add_argument("--no-goaccess", action="store_true")
    options = parser.parse_args()
    results = {}
    for lines in map(int, options.lines.split(",")):
        results[lines] = table(lines, options.rounds, not options.no_goaccess)
    linearity(results)
    more = shapes(2) if options.shapes else {}
    failed = broken(results, more, options.promises)
    for what in failed:
        print("broken promise: " + what)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Throughput with mod_kastats over throughput without it.

wrk, loopback, a static file, keep-alive.  A round starts fresh servers (one
process's memory layout is luck), one of each kind, and a wrk for each.  The
wrks take turns of a few hundredths of a second: all but one are stopped.  So
whatever else the machine does meets all alike, and each round gives one ratio
of requests per second of its turns.  Server and wrk have a CPU each.  Beside
it stands the ratio of requests per second of the server's CPU time.

    throughput.py [--mpm NAME]... [--rounds N] [--seconds S] [--module FILE]
                  [--same]
"""
import argparse
import collections
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import kastats_env  # noqa: E402

PROMISE = 0.99
WITHOUT, WITH = "without", "mod_kastats"
STATUS = f'LoadModule status_module "{kastats_env.MODULES}/mod_status.so"\n'
CASES = {
    WITHOUT: STATUS + "ExtendedStatus Off\n",
    WITH: STATUS + "ExtendedStatus Off\n"
          'LoadModule kastats_module "{module}"\n',
    "ExtendedStatus": STATUS + "ExtendedStatus On\n",
}
MPM_CONF = {
    "prefork": "StartServers 8\nMinSpareServers 1\nMaxSpareServers 8\n"
               "MaxRequestWorkers 8\n",
    "worker": "StartServers 1\nThreadsPerChild 16\nMaxRequestWorkers 16\n",
    "event": "StartServers 1\nThreadsPerChild 16\nMaxRequestWorkers 16\n",
}
CONF = """
ServerRoot "{root}"
DefaultRuntimeDir "{root}"
PidFile "{root}/httpd.pid"
ErrorLog "{root}/error.log"
ServerName localhost
LoadModule mpm_{mpm}_module "{modules}/mod_mpm_{mpm}.so"
LoadModule authz_core_module "{modules}/mod_authz_core.so"
{mpm_conf}
Listen 127.0.0.1:{port}
MaxKeepAliveRequests 0
KeepAliveTimeout 600
DocumentRoot "{root}"
{case}
"""
PATH = "file.html"
CONNECTIONS = 8


def pin(cpu):
    """A preexec_fn; nothing where there is one CPU only."""
    cpus = sorted(os.sched_getaffinity(0))
    return (lambda: os.sched_setaffinity(0, {cpus[cpu]})) \
        if len(cpus) > 1 else None


TURN_S = 0.05
# Requests a second of its turns, and a second of the server's CPU time.
Measure = collections.namedtuple("Measure", "rate per_cpu")


class Server:
    def __init__(self, mpm, case, module):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ka-bench-"))
        self.root.chmod(0o755)
        self.port = kastats_env.free_ports(1)[0]
        (self.root / PATH).write_text("hello\n" * 100)
        user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
        (self.root / "httpd.conf").write_text(CONF.format(
            root=self.root, port=self.port, modules=kastats_env.MODULES,
            mpm=mpm, mpm_conf=user + MPM_CONF[mpm],
            case=case.format(module=module)))
        self.process = subprocess.Popen(
            [kastats_env.APACHE, "-DFOREGROUND", "-f",
             str(self.root / "httpd.conf")], start_new_session=True,
            preexec_fn=pin(0), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        kastats_env.wait_for(self.answers, "httpd")

    def answers(self):
        assert self.process.poll() is None, \
            (self.root / "error.log").read_text()
        with contextlib.suppress(OSError):
            client = kastats_env.Client(self.port)
            assert client.get("/" + PATH)[0] == 200
            client.close()
            return True
        return False

    def cpu_s(self):
        """CPU time of all its threads so far."""
        total = 0
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                after = stat.read_text().rpartition(")")[2].split()
                if int(after[3]) == self.process.pid:  # session
                    total += sum(int(s.read_text().split()[0]) for s in
                                 stat.parent.glob("task/*/schedstat"))
        return total / 1e9

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.root, ignore_errors=True)


class Wrk:
    """Stopped but for its turns."""

    def __init__(self, server):
        self.server = server
        self.active_s = 0
        self.cpu_s = server.cpu_s()
        self.process = subprocess.Popen(
            ["wrk", "-t1", f"-c{CONNECTIONS}", "-d600s",
             f"http://127.0.0.1:{server.port}/{PATH}"], preexec_fn=pin(1),
            stdout=subprocess.PIPE, text=True)
        self.process.send_signal(signal.SIGSTOP)

    def turn(self, seconds):
        begin = time.monotonic()
        self.process.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGSTOP)
        self.active_s += time.monotonic() - begin

    def end(self):
        begin = time.monotonic()
        self.process.send_signal(signal.SIGCONT)
        # The kernel may give the signal to the other thread, which leaves
        # the main one asleep.
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.01)
        self.active_s += time.monotonic() - begin
        out = self.process.stdout.read()
        assert "Socket errors" not in out and "Non-2xx" not in out, out
        requests = int(re.search(r"(\d+) requests in", out)[1])
        return Measure(requests / self.active_s,
                       requests / (self.server.cpu_s() - self.cpu_s))


def turns(cases, n):
    """n turns of each in a random order, none twice in a row: the second one
    would find warm caches."""
    rng = random.Random(1)
    last = None
    for _ in range(n):
        order = rng.sample(list(cases), len(cases))
        if order[0] == last:
            order.reverse()
        yield from order
        last = order[-1]


def one_round(mpm, cases, args):
    """{case: Measure}"""
    with contextlib.ExitStack() as stack:
        wrks = {}
        for case in cases:
            server = Server(mpm, cases[case], args.module)
            stack.callback(server.stop)
            wrks[case] = Wrk(server)
            stack.callback(wrks[case].process.kill)
        for case in turns(cases, int(args.seconds / TURN_S)):
            wrks[case].turn(TURN_S)
        return {case: wrk.end() for case, wrk in wrks.items()}


def spread(values):
    """median [quartiles]"""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.4f} [{low:.4f} .. {high:.4f}]"


def ratios(got, case):
    """Throughput and requests per CPU second over those without."""
    return (got[case].rate / got[WITHOUT].rate,
            got[case].per_cpu / got[WITHOUT].per_cpu)


def run(mpm, cases, args):
    """The median ratio of throughputs with mod_kastats."""
    rounds = []
    for _ in range(args.rounds):
        rounds.append(one_round(mpm, cases, args))
        print("{:8} throughput {:.4f}  per CPU second {:.4f}".format(
            mpm, *ratios(rounds[-1], WITH)), flush=True)
    without = [got[WITHOUT] for got in rounds]
    print(f"{mpm}: {WITHOUT} {statistics.median(m.rate for m in without):.0f} "
          "requests/s, "
          f"{1e6 / statistics.median(m.per_cpu for m in without):.1f} us of "
          "server CPU each; ratios: median [quartiles] of "
          f"{len(rounds)} rounds")
    for case in cases:
        if case != WITHOUT:
            rates, cpus = zip(*(ratios(got, case) for got in rounds))
            print(f"{mpm:8} {case:15} throughput {spread(rates)}  "
                  f"per CPU second {spread(cpus)}", flush=True)
    return statistics.median(ratios(got, WITH)[0] for got in rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--mpm", action="append",
                        choices=kastats_env.MPMS)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3,
                        help="for each server, in each round")
    parser.add_argument("--module", default=kastats_env.MODULE)
    parser.add_argument("--same", action="store_true",
                        help="the plain server as all: what noise alone gives")
    args = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("throughput.py needs wrk: apt-get install wrk")
    cases = {case: CASES[WITHOUT if args.same else case] for case in CASES}
    medians = [run(mpm, cases, args)
               for mpm in args.mpm or ("event", "prefork")]
    print(f"promise: median >= {PROMISE}")
    return 0 if min(medians) >= PROMISE else 1


if __name__ == "__main__":
    sys.exit(main())

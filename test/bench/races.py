#!/usr/bin/python3
# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Data races in mod_kastats and mod_kapolicy: worker and event under load.

They are built with gcc's thread sanitizer and loaded into the
distribution's httpd, with the sanitizer's runtime loaded before it.  What is
seen, and what is not:
- Memory accesses are instrumented in our code only, so both sides of each
  report are ours; accesses by httpd's own calls of libc are left out
  (ignore_noninstrumented_modules).
- Locks, conditions, threads and epoll are seen everywhere: the runtime stands
  between httpd and libc.  So a connection that goes from listener to worker
  through httpd's queues is known to be handed over.
- Atomics inside httpd and APR are not seen.  Two lists of httpd's are ordered
  by nothing else; races_order.c tells the sanitizer of their order.

A control comes first: the same module with adds that are not atomic.  It must
be reported, else the run proves nothing.

    races.py [--seconds S] [--build DIR]
"""
import argparse
import collections
import contextlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import kastats_env  # noqa: E402
import test_130_load  # noqa: E402

CFLAGS = "-O1 -g -Wno-tsan"
# A fence does not order plain accesses for the sanitizer: -Wno-tsan says that
# we know.  What the fences order are atomics here.
CONTROL = ("-D__atomic_fetch_add(p,v,o)="
           "({__typeof__(*(p)) was_=*(p);*(p)=was_+(v);was_;})")
OPTIONS = "ignore_noninstrumented_modules=1:exitcode=0:history_size=4:" \
          "log_path={root}/tsan/report"
CONF = test_130_load.CONF + """
SSLSessionCache "shmcb:{root}/run/ssl(65536)"
Protocols h2 h2c http/1.1
Listen 127.0.0.1:{extra[0]} https
<VirtualHost 127.0.0.1:{extra[0]}>
    ServerName localhost
    KeepAliveTimeout 200ms
    SSLEngine on
    SSLCertificateFile "{root}/server.pem"
</VirtualHost>
<Location "/server-status">
    SetHandler server-status
</Location>
LogFormat "%h %{{connection}}^KA %{{requests}}^KA %{{gap}}^KA %{{reason}}^KA" ka
CustomLog "{root}/access.log" ka
MaxConnectionsPerChild 400
"""
POLICY = """
LoadModule kapolicy_module "{module}"
KAPolicy timeout=30ms served=static
KAPolicyAdaptive 5ms 200ms 20% 80%
"""
CLIENTS = 8
RESTART_S = 3


def build(directory, flags):
    """The modules, as `make` builds them."""
    subprocess.run(["make", "-s", "-C", str(kastats_env.ROOT),
                    f"BUILD={directory}", f"CFLAGS={flags}", "SAN=thread",
                    f"{directory}/mod_kastats.so",
                    f"{directory}/mod_kapolicy.so"], check=True)
    return f"{directory}/mod_kastats.so"


def build_order(directory):
    flags = "".join(
        subprocess.run(command, capture_output=True, text=True,
                       check=True).stdout
        for command in (["apr-1-config", "--includes", "--cppflags"],
                        ["apu-1-config", "--includes"])) + " -I" \
        + subprocess.run(["apxs", "-q", "INCLUDEDIR"], capture_output=True,
                         text=True, check=True).stdout
    out = f"{directory}/races_order.so"
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall",
                    "-Wextra", "-Werror", "-shared", "-fPIC", *flags.split(),
                    "-o", out, pathlib.Path(__file__).parent /
                    "races_order.c"], check=True)
    return out


def runtime():
    return os.path.realpath(subprocess.run(
        ["gcc", "-print-file-name=libtsan.so"], capture_output=True,
        text=True, check=True).stdout.strip())


class Sanitized(kastats_env.Httpd):
    order = None  # races_order.so

    def command(self, *args):
        # The runtime wants its own places in the address space.
        return ["setarch", "-R", "env", f"LD_PRELOAD={runtime()}:{self.order}",
                "TSAN_OPTIONS=" + OPTIONS.format(root=self.root),
                *super().command(*args)]

    def reports(self):
        """Each report's summary line, counted."""
        return collections.Counter(
            summary for path in (self.root / "tsan").iterdir()
            for summary in re.findall(r"^SUMMARY: ThreadSanitizer: (.*)",
                                      path.read_text(errors="replace"), re.M))


# ---- load -------------------------------------------------------------------

class Load:
    """Until it is stopped; a graceful restart may cut any of it short."""

    def __init__(self, httpd):
        self.httpd = httpd
        self.stopped = threading.Event()
        self.done = collections.Counter()
        self.threads = [threading.Thread(target=self.repeat, args=args)
                        for args in self.parts()]

    def parts(self):
        for seed in range(CLIENTS):
            yield "HTTP/1", self.scripted, random.Random(seed)
        tls, plain = self.httpd.extra[0], self.httpd.port
        yield "HTTP/2, TLS", self.h2load, f"https://127.0.0.1:{tls}/"
        yield "HTTP/2, plain", self.h2load, f"http://127.0.0.1:{plain}/"
        for path in ("/", "/?format=json&history=60&recent=100",
                     "/?format=openmetrics"):
            yield "handler", self.httpd.ask_once, path
        yield "mod_status", self.status, "/server-status"

    def repeat(self, name, work, argument):
        while not self.stopped.is_set():
            with contextlib.suppress(OSError, AssertionError, ValueError):
                work(argument)
                self.done[name] += 1

    def scripted(self, rng):
        client = self.httpd.client(patience=10)
        try:
            rng.choice(test_130_load.SCRIPTS)(client, rng)
        finally:
            client.close()

    def h2load(self, url):
        subprocess.run(["h2load", "-n400", "-c4", "-m8", url], check=False,
                       timeout=60, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def status(self, path):
        client = self.httpd.client(patience=10)
        client.get(path)
        client.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()


def run(mpm, module, seconds):
    """Reports of one MPM under load, and the first of them in full."""
    kastats_env.MODULE = module
    order = f'LoadModule races_order_module "{Sanitized.order}"\n'
    policy = POLICY.format(module=pathlib.Path(module).parent
                           / "mod_kapolicy.so")
    httpd = Sanitized(mpm, order + policy + CONF, allowed=[r"."], extra_ports=1,
                      modules=("ssl", "socache_shmcb", "http2", "status"))
    kastats_env.tls_files(httpd.root)
    (httpd.root / "tsan").mkdir()
    (httpd.root / "tsan").chmod(0o777)
    httpd.file("big.bin", b"x" * test_130_load.BIG)
    with httpd:
        with Load(httpd) as load:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(RESTART_S)  # the length of a stretch of load
                httpd.graceful()
        totals = httpd.totals()
        restarts = httpd.generations() - 1
        httpd.stop()
        reports = httpd.reports()
        text = "".join(p.read_text(errors="replace")
                       for p in sorted((httpd.root / "tsan").iterdir()))
        crashes = [line for line in httpd.log().splitlines()
                   if "exit signal" in line]
    print(f"{mpm}: {totals['connections']} connections, "
          f"{totals['requests']} requests, {restarts} graceful restarts; "
          + ", ".join(f"{n} x {what}" for what, n in load.done.items()))
    assert not crashes, crashes
    return reports, text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--mpm", action="append",
                        choices=("worker", "event"))
    parser.add_argument("--build",
                        default=str(kastats_env.ROOT / "build" / "tsan"))
    args = parser.parse_args()
    for need in ("h2load", "setarch"):
        if not shutil.which(need):
            sys.exit(f"races.py needs {need}: apt-get install "
                     "nghttp2-client util-linux")
    control = build(args.build + "/control", f"{CFLAGS} '{CONTROL}'")
    Sanitized.order = build_order(args.build)
    reports, _ = run("event", control, 5)
    print(f"control: {sum(reports.values())} reports, as there must be"
          if reports else "control: NO reports: the sanitizer does not work")
    failed = not reports
    module = build(args.build, CFLAGS)
    for mpm in args.mpm or ("worker", "event"):
        reports, text = run(mpm, module, args.seconds)
        print(f"{mpm}: {sum(reports.values())} reports")
        for summary, n in reports.most_common():
            print(f"  {n} x {summary}")
        if reports:
            print(text[:6000])
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

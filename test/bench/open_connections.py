#!/usr/bin/python3
# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Very many open connections on event: are they counted right, to the one?

Several client processes, each from a loopback address of its own (28,000
ephemeral ports each), open connections, send one request on each, and hold
them.  When all are open the status handler, the segment file and the sums over
the children must say exactly that; then all are closed, and the totals must be
the clients' own.  A second server with KAStats Off tells what a connection
costs in memory without us.

No process needs more descriptors than `ulimit -n` gives: that sets the number
of children and clients.  Nothing of the system is changed.

    open_connections.py [--connections N] [--module FILE] [--no-baseline]
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import cli  # noqa: E402
import kastats_env  # noqa: E402
from kastats_env import wait_for  # noqa: E402

DEFAULT = 100000
PER_CLIENT = 15000
THREADS = 64
PATIENCE = 120
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
CONF = """
ListenBacklog 4096
{kastats}
<VirtualHost 127.0.0.1:{{port}}>
    ServerName localhost
    KeepAliveTimeout 900
</VirtualHost>
"""


# ---- a client process: "open N" when all are, then waits for a line ---------

def connect(source, port):
    sock = socket.socket()
    sock.settimeout(PATIENCE)
    # The port is chosen by connect, per destination: else bind runs out.
    sock.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
    sock.bind((source, 0))
    sock.connect(("127.0.0.1", port))
    sock.sendall(REQUEST)
    return sock


def read_response(sock):
    data = sock.recv(65536)
    while b"\r\n\r\n" not in data or not data.endswith(b"hello\n"):
        more = sock.recv(65536)
        assert more, f"closed within the response: {data!r}"
        data += more
    assert data.startswith(b"HTTP/1.1 200 "), data


def is_readable(sock):
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def close(sock):
    """Whether the server had not closed it before."""
    kept = not is_readable(sock)
    sock.shutdown(socket.SHUT_WR)
    assert sock.recv(1) == b"", "not closed by the server"
    sock.close()
    return kept


def client(source, port, n):
    """One request, and later one close, at a time: event evicts the idle
    connections of a child whose threads are all busy, and a thread stays busy
    for a moment after its client has heard all; 16 at a time can take 64."""
    socks = []
    for _ in range(n):
        socks.append(connect(source, port))
        read_response(socks[-1])
    print("open", n, flush=True)
    sys.stdin.readline()
    print("closed", sum(map(close, socks)), flush=True)


class Clients:
    def __init__(self, port, connections):
        number = -(-connections // PER_CLIENT)
        share = [connections // number + (i < connections % number)
                 for i in range(number)]
        self.processes = [subprocess.Popen(
            [sys.executable, "-B", __file__, "--client", f"127.0.1.{i + 1}",
             str(port), str(n)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True) for i, n in enumerate(share)]

    def heard(self, word):
        """The sum of the numbers that they say after that word."""
        total = 0
        for process in self.processes:
            said = process.stdout.readline().split()
            assert len(said) == 2 and said[0] == word, \
                f"client {process.pid} failed: {said}"
            total += int(said[1])
        return total

    def close(self):
        for process in self.processes:
            process.stdin.write("\n")
            process.stdin.flush()
        return self.heard("closed")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()


# ---- the server -------------------------------------------------------------

def children_for(connections):
    """So many that each stays at half of its descriptors: the kernel does not
    share connections out evenly."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(2, -(-connections // min(10000, limit // 2)))


def server(connections, kastats):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    children = children_for(connections)
    # A child takes threads + factor x idle threads connections.
    factor = (limit - 1000 - THREADS) // THREADS
    workers = children * THREADS
    # AH00484: so it complains when the baseline's clients all go at once.
    return kastats_env.Httpd(
        "event", CONF.format(kastats="" if kastats else "KAStats Off"),
        allowed=[] if kastats else [r"AH00484"],
        mpm_conf=f"ServerLimit {children}\nThreadLimit {THREADS}\n"
                 f"ThreadsPerChild {THREADS}\nStartServers {children}\n"
                 f"MaxRequestWorkers {workers}\nMinSpareThreads 1\n"
                 f"MaxSpareThreads {workers}\n"
                 f"AsyncRequestWorkerFactor {factor}\n")


def children_of(pid):
    return [int(p) for p in pathlib.Path(
        f"/proc/{pid}/task/{pid}/children").read_text().split()]


def private_bytes(httpd):
    """Memory of all children that is neither shared nor a clean file's."""
    return sum(int(re.search(r"^Private_Dirty: +(\d+) kB", pathlib.Path(
        f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
        for pid in children_of(httpd.process.pid)) * 1024


def all_there(httpd, children):
    pids = children_of(httpd.process.pid)
    return len(pids) == children and all(
        len(os.listdir(f"/proc/{pid}/task")) >= THREADS + 2 for pid in pids)


# ---- the measurement --------------------------------------------------------

def is_open(totals, n):
    return (totals["open"], totals["idle"], totals["busy"],
            totals["closing"]) == (n, n, 0, 0)


def check_open(httpd, n):
    """What handler, children and segment say while n are open and idle."""
    wait_for(lambda: is_open(httpd.totals(), n), f"{n} open and idle",
             PATIENCE)
    stats = httpd.stats()
    assert sum(c["idle"] for c in stats["children"]) == n
    assert sum(c["busy"] + c["closing"] for c in stats["children"]) == 0
    assert stats["totals"]["requests"] == n, stats["totals"]["requests"]
    if cli.KAADVISOR.exists():
        shown = json.loads(cli.run("show", httpd.segment, "--output",
                                   "json").out)
        assert is_open(shown["totals"], n), shown["totals"]
    counts = sorted(c["idle"] for c in stats["children"])
    print(f"  handler, children{' and kaadvisor show' * cli.KAADVISOR.exists()}"
          f": open = idle = {n}; "
          f"{len(counts)} children with {counts[0]} .. {counts[-1]} each")


def check_closed(httpd, n):
    wait_for(lambda: is_open(httpd.totals(), 0), "all closed", PATIENCE)
    totals = httpd.totals()
    closes = {k: v for k, v in totals["closes"].items() if v}
    assert (totals["connections"], totals["requests"], closes) == \
        (n, n, {"client_closed": n}), totals
    assert max(s["open"] for s in httpd.stats("&history=3600")["history"]) \
        == n, "peak in the history"
    print(f"  connections = requests = client_closed = {n}, peak {n}")


def close_all(httpd, clients, n):
    begin = time.monotonic()
    closed = clients.close()
    assert closed == n, f"event evicted {n - closed} when the threads of a " \
        "child were all busy: too much else runs here"
    check_closed(httpd, n)
    print(f"  all gone after {time.monotonic() - begin:.1f} s")


def measure(connections, kastats):
    """Private bytes of a connection."""
    print(f"KAStats {'On' if kastats else 'Off'}:", flush=True)
    with server(connections, kastats) as httpd:
        wait_for(lambda: all_there(httpd, children_for(connections)),
                 "all children")
        before = private_bytes(httpd)
        begin = time.monotonic()
        with Clients(httpd.port, connections) as clients:
            assert clients.heard("open") == connections
            took = time.monotonic() - begin
            if kastats:
                check_open(httpd, connections)
            each = (private_bytes(httpd) - before) / connections
            print(f"  opened {connections} in {took:.1f} s; "
                  f"{each:.0f} bytes of private memory each", flush=True)
            if kastats:
                close_all(httpd, clients, connections)
    return each


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--connections", type=int, default=DEFAULT)
    parser.add_argument("--module", default=kastats_env.MODULE)
    parser.add_argument("--no-baseline", action="store_true",
                        help="no second server with KAStats Off")
    parser.add_argument("--client", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.client:
        client(args.client[0], *map(int, args.client[1:]))
        return 0
    kastats_env.MODULE = args.module
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # not without end
    on = measure(args.connections, True)
    if not args.no_baseline:
        off = measure(args.connections, False)
        print(f"mod_kastats: {on - off:+.0f} bytes a connection")
    return 0


if __name__ == "__main__":
    sys.exit(main())

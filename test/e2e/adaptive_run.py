#!/usr/bin/python3
# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Fresh clients beside many that keep their connections, on prefork.

Holders ask, think, and ask again on the connection they have.  They never
close it themselves, and notice that the server has only when they next use
it.  Fresh clients come at a steady rate, on a connection of their own each,
and tell how long the first byte took from the moment they wanted it.  Holders
run in a process of their own, so that their work is not measured.

    adaptive_run.py PORT FROM TO SECONDS    the holders
"""
import asyncio
import concurrent.futures
import contextlib
import random
import socket
import subprocess
import sys
import time

import policy_env

WORKERS = 50
TIMEOUT = 15
THINK = (0.5, 6.0)  # seconds
FRESH_PER_S = 25
GIVE_UP = 60  # seconds; a fresh client that waits so long has its answer
REQUEST = b"GET /index.html HTTP/1.1\r\nHost: localhost\r\n"
PREFORK = (f"StartServers {WORKERS}\nMinSpareServers {WORKERS}\n"
           f"MaxSpareServers {WORKERS}\nServerLimit {WORKERS}\n"
           f"MaxRequestWorkers {WORKERS}\n")
WORKER = ("StartServers 2\nServerLimit 2\nThreadLimit 25\nThreadsPerChild 25\n"
          f"MaxRequestWorkers {WORKERS}\nMinSpareThreads 25\n"
          f"MaxSpareThreads {WORKERS}\n")
MPM = {"prefork": PREFORK, "worker": WORKER}
CONF = f"KeepAliveTimeout {TIMEOUT}\n"
ADAPTIVE = f"KAPolicyAdaptive 500ms {TIMEOUT}\n"


# ---- holders

async def ask(stream):
    reader, writer = stream
    writer.write(REQUEST + b"\r\n")
    await writer.drain()
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
    await reader.readexactly(size)


async def holder(port, begin, end, seed):
    """Until `end`, and then all leave at once."""
    rng = random.Random(seed)
    stream = None
    await asyncio.sleep(begin)
    while time.monotonic() < end:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            if stream and stream[0].at_eof():
                stream[1].close()
                stream = None
            if not stream:
                stream = await asyncio.open_connection("127.0.0.1", port)
            await ask(stream)
        await asyncio.sleep(rng.uniform(*THINK))


async def hold(port, first, last, seconds):
    end = time.monotonic() + seconds
    begins = [0.0] * first + [seconds / 2 * i / (last - first)
                              for i in range(last - first)]
    tasks = [asyncio.ensure_future(holder(port, begin, end, i))
             for i, begin in enumerate(begins)]
    await asyncio.wait(tasks, timeout=seconds)


@contextlib.contextmanager
def holders(port, first, last, seconds):
    with subprocess.Popen([sys.executable, "-B", __file__, str(port),
                           str(first), str(last), str(seconds)]) as process:
        try:
            yield
        finally:
            process.terminate()


# ---- fresh clients

def first_byte(port, wanted):
    with contextlib.suppress(OSError), socket.create_connection(
            ("127.0.0.1", port), GIVE_UP) as sock:
        sock.sendall(REQUEST + b"Connection: close\r\n\r\n")
        if sock.recv(1):
            taken = time.monotonic() - wanted
            while sock.recv(65536):
                pass
            return taken
    return GIVE_UP


def fresh(port, seconds):
    """Times to the first byte, one for each client that came."""
    with concurrent.futures.ThreadPoolExecutor(256) as pool:
        waits, begin = [], time.monotonic()
        for i in range(int(seconds * FRESH_PER_S)):
            wanted = begin + i / FRESH_PER_S
            time.sleep(max(0, wanted - time.monotonic()))
            waits.append(pool.submit(first_byte, port, wanted))
        return sorted(wait.result() for wait in waits)


def quantile(times, q):
    return times[min(len(times) - 1, int(q * len(times)))]


def measure(conf, seconds, first, last, policy=True, mpm="prefork",
            warm=True):
    """Times to the first byte unloaded and loaded; totals before and after.
    Without mod_kapolicy only the times, and unloaded only if warm."""
    with policy_env.PolicyHttpd(
            mpm, CONF + conf, mpm_conf=MPM[mpm], policy=policy,
            allowed=["MaxRequestWorkers"]) as httpd:
        unloaded = fresh(httpd.port, min(seconds, 20)) if warm else []
        before = httpd.totals() if policy else None
        with holders(httpd.port, first, last, seconds + 2):
            loaded = fresh(httpd.port, seconds)
        totals = httpd.totals() if policy else None
        return unloaded, loaded, before, totals


if __name__ == "__main__":
    asyncio.run(hold(*map(int, sys.argv[1:4]), float(sys.argv[4])))

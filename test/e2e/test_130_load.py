# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Mixed traffic: the sums are the clients' own, to the one."""
import collections
import os
import random
import socket
import threading

import pytest

from kastats_env import MPMS, Client, Httpd

CONNECTIONS = int(os.environ.get("KA_CONNECTIONS", 3000))
THREADS = 6
BIG = 8 << 20

CONF = """
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    KeepAliveTimeout 60
    SetEnvIf User-Agent "^old$" nokeepalive
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName max
    MaxKeepAliveRequests 3
    KeepAliveTimeout 60
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName short
    KeepAliveTimeout 50ms
</VirtualHost>
"""


def keepalive(c, rng):
    n = rng.randint(1, 8)
    for _ in range(n):
        c.get()
    return n, "client_closed"


def close_header(c, rng):
    n = rng.randint(0, 3)
    for _ in range(n):
        c.get()
    c.get(headers=["Connection: close"])
    c.wait_closed()
    return n + 1, "client_close_header"


def http10(c, _):
    c.get(version="1.0")
    c.wait_closed()
    return 1, "http10"


def pipelined(c, rng):
    n = rng.randint(2, 9)
    c.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * n)
    for _ in range(n):
        c.response()
    return n, "client_closed"


def limit(c, _):
    for _ in range(4):
        c.get(host="max")
    c.wait_closed()
    return 4, "max_requests"


def timeout(c, rng):
    n = rng.randint(1, 3)
    for _ in range(n):
        c.get(host="localhost")
    c.get(host="short")
    c.wait_closed()
    return n + 1, "idle_timeout"


def nothing(_c, _rng):
    return 0, "no_request"


def bad(c, _):
    c.send("GET / HTTP/1.1\r\n\r\n").response()
    c.wait_closed()
    return 1, "error_status"


def no_keepalive(c, _):
    c.get(headers=["User-Agent: old"])
    c.wait_closed()
    return 1, "keepalive_off"


def aborted(c, _):
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    c.request("/big.bin").exactly(1000)
    c.reset()
    return 1, "aborted"


SCRIPTS = [keepalive] * 8 + [close_header] * 3 + [pipelined] * 2 + [
    http10, limit, timeout, nothing, bad, no_keepalive, aborted]


# So many that event never has all workers of a child busy, on a machine that
# has other things to do: it would evict what is idle.
ROOMY = ("ThreadLimit 128\nThreadsPerChild 128\nServerLimit 2\n"
         "MaxRequestWorkers 256\n")


@pytest.mark.parametrize("mpm", MPMS)
def test_mixed_load(mpm):
    h = Httpd(mpm, CONF, mpm_conf="" if mpm == "prefork" else ROOMY)
    h.file("big.bin", b"x" * BIG)
    closes = collections.Counter()
    requests = collections.Counter()
    failures = []
    lock = threading.Lock()

    def run(seed):
        rng = random.Random(seed)
        try:
            for _ in range(CONNECTIONS // THREADS):
                script = rng.choice(SCRIPTS)
                c = Client(h.port)
                n, reason = script(c, rng)
                c.close()
                with lock:
                    closes[reason] += 1
                    requests[script.__name__] += n
        except (OSError, AssertionError) as error:
            failures.append((script.__name__, error))

    with h:
        watch = h.watch()
        threads = [threading.Thread(target=run, args=(seed,))
                   for seed in range(THREADS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failures
        watch.expect(connections=sum(closes.values()),
                     requests=sum(requests.values()), closes=closes)
        totals = h.totals()
        per = totals["requests_per_connection"]
        assert per["sum"] == totals["requests"] == totals["service_s"]["count"]
        assert per["count"] == totals["life_s"]["count"] == \
            totals["connections"]
        assert totals["reused_requests"] == sum(requests.values()) - (
            sum(closes.values()) - closes["no_request"])

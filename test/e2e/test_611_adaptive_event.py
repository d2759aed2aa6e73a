# Licensed under the Apache License, Version 2.0; see LICENSE.
"""KAPolicyAdaptive on event: before the child's threads are all busy, oldest
first, and nothing that was sent is dropped."""
import time

import pytest

from policy_env import PolicyHttpd, ask_at_the_end, close, wait_for

ONE = ("StartServers 1\nServerLimit 1\nThreadLimit 10\nThreadsPerChild 10\n"
       "MaxRequestWorkers 10\nMinSpareThreads 1\nMaxSpareThreads 10\n")
FAR = "AsyncRequestWorkerFactor 40\n"  # threads are what there is too few of
BUSY = ["MaxRequestWorkers"]
KEEP = ["Connection: keep-alive"]


def started(conf, more=ONE, **kwargs):
    return PolicyHttpd("event", "KeepAliveTimeout 60\n" + conf, mpm_conf=more,
                       allowed=BUSY, **kwargs)


def talker(httpd):
    """Holds a thread: its request never ends."""
    return httpd.client().send("GET / HTTP/1.1\r\n")


def idle(httpd, n):
    clients = []
    for _ in range(n):
        clients.append(httpd.client())
        assert clients[-1].get("/")[0] == 200
    return clients


def closes(httpd):
    return {k: n for k, n in httpd.totals()["closes"].items() if n}


def test_ended_before_all_threads_are_busy():
    with started("KAPolicyAdaptive 60 60 50% 80%\n", ONE + FAR) as h:
        clients = idle(h, 8)
        talking = [talker(h) for _ in range(8)]
        for client in clients:
            assert client.wait_closed() == b""
        late = h.client()  # threads are left for it, but not to wait
        assert late.get("/")[1]["connection"] == "close"
        late.close()
        close(talking)
        wait_for(lambda: h.totals()["open"] == 0, "closed")
        found = closes(h)
        assert found["policy"] == 9 and "evicted" not in found
        assert h.totals()["dropped_requests"] == 0


def test_stock_evicts_when_all_are_busy():
    """What it is compared with."""
    with started("", ONE + FAR) as h:
        clients = idle(h, 8)
        talking = [talker(h) for _ in range(11)]
        for client in clients:
            assert client.wait_closed() == b""
        close(talking)
        wait_for(lambda: h.totals()["open"] == 0, "closed")
        assert closes(h)["evicted"] == 8


def test_oldest_first_by_connections():
    """Ten threads, two more connections for each that is free: 28 while one
    is at work, of which 80 % are 22.4."""
    with started("KAPolicyAdaptive 60 60 50% 80%\n") as h:
        clients = [h.client() for _ in range(26)]
        says = [c.get("/")[1].get("connection") for c in clients]
        kept = says.index("close")
        assert kept in (21, 22) and set(says[:kept]) == {None}
        for client in clients[:kept]:
            client.sock.setblocking(False)
            with pytest.raises(BlockingIOError):
                client.sock.recv(1)
            client.sock.setblocking(True)
        # With three threads more at work 24 is the limit, 22 too many: three
        # of the kept go at least, and they are the oldest.
        talking = [talker(h) for _ in range(3)]
        for client in clients[:3]:
            assert client.wait_closed() == b""
        clients[kept - 1].sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            clients[kept - 1].sock.recv(1)
        assert "evicted" not in closes(h)
        close(clients + talking)


def test_factor_of_the_configuration():
    with started("KAPolicyAdaptive 60 60 50% 80%\n",
                 ONE + "AsyncRequestWorkerFactor 4\n") as h:
        clients = [h.client() for _ in range(40)]
        says = [c.get("/")[1].get("connection") for c in clients]
        assert 32 <= says.index("close") <= 36  # 80 % of 46 or 42
        close(clients)


def test_a_wait_that_began_before_ends_when_load_comes():
    with started("KAPolicyAdaptive 500ms 20 30% 90%\n", kastats=False) as h:
        (first,) = idle(h, 1)
        start = time.monotonic()
        talking = [talker(h) for _ in range(8)]
        assert first.wait_closed() == b""
        assert time.monotonic() - start < 15  # 3.8 s
        close(talking)


@pytest.mark.parametrize("conf", ["KAPolicyAdaptive 30ms 30ms 98% 99%\n",
                                  "KAPolicy timeout=30ms\n"])
def test_a_request_that_comes_at_the_end_is_answered(conf):
    with started(conf) as h:
        ask_at_the_end(h, (0.025 + 0.0005 * i for i in range(200)))


def test_many_connections_one_watch():
    """More than there are slots to try at once; all end, and none is dropped."""
    conf = "KAPolicy timeout=200ms\n"
    with started(conf, ONE + FAR) as h:
        clients = idle(h, 300)
        for client in clients:
            assert client.wait_closed() == b""
        wait_for(lambda: h.totals()["open"] == 0, "closed")
        assert closes(h) == {"idle_timeout": 300}

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Restarts, dying children, bad places for the segment."""
import contextlib
import os
import signal
import stat
import subprocess
import threading
import time

import pytest

from kastats_env import MPMS, Client, Httpd, wait_for

CONF = """
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    KeepAliveTimeout 60
</VirtualHost>
"""


class Load:
    """Clients that keep at it and count what they got."""

    def __init__(self, httpd, threads=4, per_connection=6):
        self.httpd = httpd
        self.per_connection = per_connection
        self.connections = self.requests = self.sent = 0
        self.lock = threading.Lock()
        self.done = threading.Event()
        self.threads = [threading.Thread(target=self.run)
                        for _ in range(threads)]

    def one(self):
        answered = sent = 0
        c = Client(self.httpd.port)
        with contextlib.suppress(OSError, AssertionError):
            for _ in range(self.per_connection):
                sent += 1
                c.request()
                headers = c.response()[1]
                answered += 1
                if "close" in headers.get("connection", ""):
                    break
        c.close()
        with self.lock:
            self.connections += 1
            self.requests += answered
            self.sent += sent

    def run(self):
        while not self.done.is_set():
            self.one()

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def wait(self, connections):
        goal = self.connections + connections
        wait_for(lambda: self.connections >= goal, "load goes on")

    def __exit__(self, *args):
        self.done.set()
        for t in self.threads:
            t.join()


def settled(httpd):
    """The stats once nothing is open any more."""
    wait_for(lambda: httpd.totals()["open"] == 0, "all closed")
    return httpd.stats()


def check_exact(stats, load):
    totals = stats["totals"]
    assert totals["connections"] == load.connections
    assert totals["requests"] == load.requests
    assert sum(totals["closes"].values()) == load.connections
    per = totals["requests_per_connection"]
    assert (per["count"], per["sum"]) == (load.connections, load.requests)
    assert totals["closes"]["lost"] == totals["closes"]["aborted"] == 0
    assert (totals["busy"], totals["idle"], totals["closing"]) == (0, 0, 0)


@pytest.mark.parametrize("mpm", MPMS)
def test_graceful_restarts_under_load(mpm):
    with Httpd(mpm, CONF) as h:
        started = h.stats()["started_at"]
        with Load(h) as load:
            for _ in range(4):
                load.wait(30)
                h.graceful()
            load.wait(30)
        stats = settled(h)
        assert (stats["started_at"], stats["generation"]) == (started, 4)
        check_exact(stats, load)
        assert not h.segment.with_suffix(".seg.old").exists()


@pytest.mark.parametrize("mpm", MPMS)
def test_max_connections_per_child(mpm):
    with Httpd(mpm, CONF, mpm_conf="MaxConnectionsPerChild 15\n",
               allowed=[r"AH00288|AH10159|AH00484|AH03269"]) as h:
        # The status port's connections count as well: look seldom.
        first = h.children()
        with Load(h) as load:
            load.wait(150)
        stats = settled(h)
        check_exact(stats, load)
        assert not set(first) & {c["pid"] for c in stats["children"]}


@pytest.mark.parametrize("mpm", ("prefork", "worker"))
def test_graceful_leaves_the_idle_wait_alone(mpm):
    """... and answers the next request, with Connection: close."""
    with Httpd(mpm, CONF) as h:
        watch = h.watch()
        c = h.client()
        c.get()
        wait_for(lambda: h.totals()["idle"] == 1, "idle")
        h.graceful()
        assert h.totals()["idle"] == 1
        requests = 1

        def told():
            """The old child hears of the restart a little later."""
            nonlocal requests
            requests += 1
            return "close" in c.get()[1].get("connection", "")

        wait_for(told, "the old child closes")
        c.wait_closed()
        watch.expect(connections=1, requests=requests,
                     closes={"graceful": 1})


def test_internal_connections_do_not_count():
    """prefork wakes a child that is to go by `OPTIONS *` to itself."""
    with Httpd("prefork", CONF, mpm_conf="StartServers 8\nMinSpareServers 1\n"
               "MaxSpareServers 2\n") as h:
        watch = h.watch()
        wait_for(lambda: h.totals()["internal_connections"] > 0, "woken")
        watch.expect(connections=0, requests=0)
        assert sum(s["connections"] for s in
                   h.stats("&history=100")["history"]) == 0


def test_graceful_on_event_ends_idle_connections():
    with Httpd("event", CONF) as h:
        watch = h.watch()
        clients = [h.client() for _ in range(3)]
        for c in clients:
            c.get()
        wait_for(lambda: h.totals()["idle"] == 3, "idle")
        h.graceful()
        for c in clients:
            c.wait_closed()
        watch.expect(connections=3, requests=3, closes={"graceful": 3})


def test_retired_on_event():
    """MaxConnectionsPerChild ends the child's idle connections."""
    with Httpd("event", CONF, mpm_conf="MaxConnectionsPerChild 40\n") as h:
        watch = h.watch()
        idle = h.client()
        idle.get()
        n = 1
        closing = threading.Thread(target=idle.wait_closed)
        closing.start()
        while closing.is_alive():
            c = h.client()
            c.get()
            c.close()
            n += 1
        closing.join()
        wait_for(lambda: h.totals()["open"] == 0, "all closed")
        closes = watch.change()["closes"]
        # Others may have been idle there for a moment, too.
        assert closes["retired"] >= 1
        assert closes["retired"] + closes["client_closed"] == n
        watch.expect(connections=n, requests=n, closes=closes)


def test_spare_children_retired_on_event():
    with Httpd("event", CONF, mpm_conf="StartServers 4\nThreadsPerChild 4\n"
               "ThreadLimit 4\nMaxRequestWorkers 16\nServerLimit 4\n"
               "MinSpareThreads 1\nMaxSpareThreads 5\n") as h:
        h.allowed.append("AH10159|AH00486")
        watch = h.watch()
        clients = []
        while not watch.change()["closes"]:
            if len(clients) < 12:
                clients.append(h.client())
                clients[-1].get()
            time.sleep(0.01)
        reasons = watch.change()["closes"]
        assert set(reasons) == {"retired"}
        for c in clients:
            c.close()
        wait_for(lambda: h.totals()["open"] == 0, "all closed")
        assert watch.change()["connections"] == len(clients)


@pytest.mark.parametrize("mpm", MPMS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_child_killed(mpm, number):
    with Httpd(mpm, CONF, allowed=[r"exit signal"]) as h:
        watch = h.watch()
        idle = [h.client() for _ in range(3)]
        for c in idle:
            c.get()
        busy = h.client()
        busy.send("GET / HT")
        wait_for(lambda: h.totals()["open"] == 4, "open")
        wait_for(lambda: h.totals()["idle"] == 3, "idle")
        children = {c["pid"] for c in h.stats()["children"]
                    if c["idle"] + c["busy"]}
        killed_at = time.monotonic()
        for child in children:
            os.kill(child, number)
        watch.expect(connections=4, requests=3, closes={"lost": 4},
                     idle=0, busy=0)
        assert time.monotonic() - killed_at < 2
        for c in idle + [busy]:
            c.close()
        wait_for(lambda: not children & set(h.children()), "slots cleared")
        c = h.client()
        c.get()
        c.close()
        watch.expect(connections=5, requests=4,
                     closes={"lost": 4, "client_closed": 1})


def test_full_restart_makes_a_new_segment():
    with Httpd("event", CONF) as h:
        watch = h.watch()
        c = h.client()
        c.get()
        c.close()
        watch.expect(requests=1, closes={"client_closed": 1})
        before = h.stats()
        h.restart(signal.SIGHUP)
        after = h.stats()
        assert after["started_at"] > before["started_at"]
        assert after["totals"]["requests"] == 0
        old = h.root / "run" / "kastats.seg.old"
        assert old.stat().st_size == h.segment.stat().st_size
        assert old.read_bytes() != h.segment.read_bytes()


def test_graceful_with_another_layout_makes_a_new_segment():
    with Httpd("event", CONF) as h:
        started = h.stats()["started_at"]
        h.conf += "KAStatsRecent 17\n"
        h.write_conf()
        h.graceful()
        assert h.stats()["started_at"] > started
        assert (h.root / "run" / "kastats.seg.old").exists()


def test_graceful_with_another_vhost_and_mode_goes_on():
    with Httpd("event", CONF) as h:
        watch = h.watch()
        c = h.client()
        c.get()
        c.close()
        watch.expect(requests=1, closes={"client_closed": 1})
        started = h.stats()["started_at"]
        h.conf = ("KAStatsMode 0644\n"
                  "<VirtualHost 127.0.0.1:{port}>\nServerName fresh\n"
                  "KeepAliveTimeout 9\n</VirtualHost>\n")
        h.write_conf()
        h.graceful()
        stats = h.stats()
        assert stats["started_at"] == started
        vhosts = {v["name"].split(":")[0]: v for v in stats["vhosts"]}
        assert vhosts["fresh"]["in_force"]
        assert vhosts["fresh"]["keep_alive_timeout_s"] == 9
        assert stat.S_IMODE(h.segment.stat().st_mode) == 0o644
        assert stats["totals"]["requests"] == 1


def test_segment_removed_while_it_runs():
    """A graceful restart makes it anew."""
    with Httpd("event", CONF) as h:
        started = h.stats()["started_at"]
        h.segment.unlink()
        assert h.client().get()[0] == 200
        h.graceful()
        assert h.segment.exists()
        assert h.stats()["started_at"] > started


# ---- bad places -------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\n\x1aKSTAT1",
                                     bytes(2048)],
                         ids=["empty", "foreign", "cut", "zeros"])
def test_damaged_file_is_replaced(content):
    h = Httpd("event", CONF)
    h.segment.write_bytes(content)
    with h:
        assert h.totals()["requests"] == 0
        assert (h.root / "run" / "kastats.seg.old").read_bytes() == content


def recording_is_off(h, words):
    """httpd runs, one warning tells, everything else is as ever."""
    h.allowed.append("nothing is recorded")
    with h:
        assert h.ask("/?format=json")[0] == 503
        for _ in range(3):
            c = h.client()
            assert c.get()[0] == 200
            c.close()
        told = [line for line in h.log().splitlines()
                if "nothing is recorded" in line]
        assert len(told) == 1 and words in told[0]


def test_directory_in_the_segments_place():
    h = Httpd("event", CONF)
    h.segment.mkdir()
    recording_is_off(h, "not a regular file")


def test_symbolic_link_in_the_segments_place():
    h = Httpd("event", CONF)
    h.segment.symlink_to("/dev/null")
    recording_is_off(h, "not a regular file")


def test_no_such_directory():
    recording_is_off(Httpd("event",
                           CONF + "KAStatsFile nothere/kastats.seg\n"),
                     "cannot create it")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_full_disk():
    h = Httpd("event", CONF)
    small = h.root / "small"
    small.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs",
                           small], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("may not mount")
    try:
        h.conf += f"KAStatsFile {small}/kastats.seg\n"
        recording_is_off(h, "cannot allocate")
        assert not list(small.iterdir())
    finally:
        subprocess.run(["umount", "-l", small], check=True)

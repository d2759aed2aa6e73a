# Licensed under the Apache License, Version 2.0; see LICENSE.
"""What mod_kastats records of mod_kapolicy; restarts; killed children."""
import os
import signal

import pytest

from policy_env import LOAD, MPMS, PolicyHttpd, kept, wait_for, waited

CONF = """
KeepAliveTimeout 5
MaxKeepAliveRequests 2
<Location "/short">
    KAPolicy timeout=700ms
</Location>
<Location "/shut">
    KAPolicy close
</Location>
<Location "/two">
    KAPolicy max=2
</Location>
LogFormat "%{{reason}}^KA" reason
<VirtualHost 127.0.0.1:{port}>
    CustomLog "{root}/reasons.log" reason
</VirtualHost>
"""


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    h = PolicyHttpd(request.param, CONF)
    for name in ("short", "shut", "two", "plain"):
        h.file(name, "hello\n")
    with h:
        yield h


def last(httpd):
    wait_for(lambda: httpd.totals()["open"] == 0, "closed")
    return httpd.recent()[0]


def reason_of(httpd, *paths, version="1.1", headers=()):
    watch = httpd.watch()
    client = httpd.client()
    for path in paths:
        client.get(path, version=version, headers=headers)
    client.wait_closed()
    closes = wait_for(lambda: watch.change()["closes"], "published")
    (reason, n), = closes.items()
    assert n == 1
    return reason


@pytest.mark.parametrize("paths,reason", [
    (["/shut"], "policy"), (["/plain", "/shut"], "policy"),
    (["/two", "/two"], "policy"), (["/two", "/plain"], "policy"),
    (["/plain", "/plain", "/plain"], "max_requests"),
    (["/short"], "idle_timeout"),
])
def test_reason(httpd, paths, reason):
    assert reason_of(httpd, *paths) == reason


def test_client_first(httpd):
    assert reason_of(httpd, "/shut", headers=["Connection: close"]) \
        == "client_close_header"


@pytest.mark.parametrize("path,timeout", [("/short", 0.7), ("/plain", 5)])
def test_timeout_in_force(httpd, path, timeout):
    watch = httpd.watch()
    client = httpd.client()
    client.get(path)
    client.close()
    watch.expect(closes={"client_closed": 1}, connections=1, requests=1)
    assert last(httpd)["timeout_s"] == timeout


def test_log_item(httpd):
    before = len((httpd.root / "reasons.log").read_text().split())
    client = httpd.client()
    client.get("/plain")
    client.get("/shut")
    client.wait_closed()
    lines = wait_for(lambda: (log := (httpd.root / "reasons.log").read_text()
                              .split()) and len(log) >= before + 2 and log,
                     "logged")
    assert lines[before:][-2:] == ["-", "policy"]


@pytest.mark.parametrize("mpm", MPMS)
@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGHUP])
def test_restart_with_other_rules(mpm, number):
    # Told to stop at once, event closes the sockets that its workers have, and
    # says so where one of them was about to close its own.
    allowed = ["AH03092"] if number == signal.SIGHUP else []
    with PolicyHttpd(mpm, "KAPolicy close\n", kastats=False,
                     allowed=allowed) as h:
        client = h.client()
        assert not kept(client.get("/")[1], client)
        h.conf = LOAD + ("KeepAliveTimeout 3\nKAPolicy timeout=1\n"
                         "KAPolicyAdaptive 1 3\n")
        h.write_conf()
        h.restart(number)
        client = h.client()
        _, headers, _ = client.get("/", headers=["Connection: keep-alive"])
        assert headers["keep-alive"] == "timeout=1"
        assert waited(client) >= 0.99
        h.conf = LOAD  # and none at all
        h.write_conf()
        h.restart(number)
        client = h.client()
        _, headers, _ = client.get("/")
        assert "connection" not in headers
        client.close()


@pytest.mark.parametrize("mpm", MPMS)
def test_waits_do_not_keep_a_server_from_stopping(mpm):
    conf = "KeepAliveTimeout 20\nKAPolicy timeout=15\nKAPolicyAdaptive 1 20\n"
    with PolicyHttpd(mpm, conf, kastats=False) as h:
        clients = [h.client() for _ in range(3)]
        for client in clients:
            assert client.get("/")[0] == 200
        h.stop()
        assert h.process.returncode == 0
        for client in clients:
            client.close()


FEW = {"prefork": "StartServers 4\nMinSpareServers 4\nServerLimit 4\n"
                  "MaxRequestWorkers 4\n",
       "worker": "ServerLimit 1\nThreadsPerChild 4\nMaxRequestWorkers 4\n"}


@pytest.mark.parametrize("mpm", FEW)
def test_a_killed_child_holds_nothing(mpm):
    """Two of four workers are held when their children are killed: two that
    come after would find the server full if those were still counted."""
    conf = "KeepAliveTimeout 30\nKAPolicyAdaptive 30 30 98% 99%\n"
    allowed = ["exit signal Killed", "MaxRequestWorkers"]
    with PolicyHttpd(mpm, conf, mpm_conf=FEW[mpm], allowed=allowed) as h:
        clients = [h.client() for _ in range(2)]
        says = [c.get("/")[1].get("connection") for c in clients]
        assert says == [None, None]
        for pid in {c["pid"] for c in h.stats()["children"]}:
            os.kill(pid, signal.SIGKILL)

        def two_are_kept():
            pair = [h.client(), h.client()]
            try:
                return [c.get("/")[1].get("connection")
                        for c in pair] == [None, None]
            except (OSError, AssertionError):
                return False
            finally:
                for c in pair:
                    c.close()

        wait_for(two_are_kept, "workers are free again")
        for client in clients:
            client.close()

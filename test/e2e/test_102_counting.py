# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Every request and connection counts once, whatever httpd makes of it."""
import threading

import pytest

from kastats_env import MPMS, Httpd, wait_for

CONF = """
Listen 127.0.0.1:{extra[0]}
ErrorDocument 404 /sorry.html
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    KeepAliveTimeout 60
    DirectoryIndex nothere.html index.html
    Redirect permanent /old http://localhost/new
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName second
    KeepAliveTimeout 60
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName silent
    KAStats Off
    KeepAliveTimeout 60
</VirtualHost>
<VirtualHost 127.0.0.1:{extra[0]}>
    ServerName default
    MaxKeepAliveRequests 100
    KeepAliveTimeout 60
</VirtualHost>
"""
BIG = 4 << 20


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    h = Httpd(request.param, CONF, extra_ports=1)
    h.file("big.bin", b"x" * BIG)
    h.file("sorry.html", "sorry\n")
    with h:
        yield h


def test_unlimited_requests(httpd):
    watch = httpd.watch()
    c = httpd.client()
    for _ in range(150):
        c.get()
    c.close()
    watch.expect(connections=1, requests=150, reused_requests=149,
                 bytes_out=150 * 6, closes={"client_closed": 1})
    assert httpd.recent()[0]["requests"] == 150


@pytest.mark.parametrize("last", ["idle", "close"])
def test_own_count_of_a_connection(httpd, last):
    """Not c->keepalives, which is one less after Connection: close."""
    watch = httpd.watch()
    c = httpd.client()
    for i in range(5):
        c.get(headers=["Connection: close"] if last == "close" and i == 4
              else [])
    c.close()
    watch.expect(connections=1, requests=5, closes={
        "client_closed" if last == "idle" else "client_close_header": 1})
    assert httpd.recent()[0]["requests"] == 5


def test_pipelined(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5)
    for _ in range(5):
        assert c.response()[2] == b"hello\n"
    c.close()
    watch.expect(connections=1, requests=5, reused_requests=4,
                 pipelined_requests=4, closes={"client_closed": 1})


def test_pipelined_behind_a_large_response(httpd):
    """The first is logged only after the second has begun, or later."""
    watch = httpd.watch()
    c = httpd.client()
    c.request("/big.bin").request("/").request("/big.bin")
    sizes = [len(c.response()[2]) for _ in range(3)]
    c.close()
    assert sizes == [BIG, 6, BIG]
    watch.expect(connections=1, requests=3, reused_requests=2,
                 pipelined_requests=2, bytes_out=sum(sizes),
                 closes={"client_closed": 1})


def test_pipelined_then_closed_at_once(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3
           + "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert c.wait_closed().count(b"hello\n") == 4
    watch.expect(connections=1, requests=4,
                 closes={"client_close_header": 1})


def test_head_has_no_body_bytes(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.request("/big.bin", method="HEAD").response(body=False)
    c.get()
    c.close()
    watch.expect(connections=1, requests=2, bytes_out=6,
                 closes={"client_closed": 1})


def test_request_with_a_body(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.request("/", method="POST", headers=["Content-Length: 5"]).send("12345")
    c.response()
    c.get()
    c.close()
    watch.expect(connections=1, requests=2, closes={"client_closed": 1})


@pytest.mark.parametrize("path,status", [("/", 200), ("/old", 301),
                                         ("/nothere", 404)])
def test_internal_redirects_are_one_request(httpd, path, status):
    watch = httpd.watch()
    c = httpd.client()
    assert c.get(path)[0] == status
    c.close()
    change = watch.expect(connections=1, requests=1,
                          closes={"client_closed": 1})
    assert change["bytes_out"] > 0
    assert httpd.recent()[0]["class"] == "static"


def test_client_that_asks_options_star(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.request("*", method="OPTIONS").response()
    c.close()
    watch.expect(connections=1, requests=1, closes={"client_closed": 1})


def test_byte_by_byte(httpd):
    watch = httpd.watch()
    c = httpd.client()
    for byte in "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n":
        c.send(byte)
    c.response()
    c.close()
    watch.expect(connections=1, requests=1, closes={"client_closed": 1})


def test_interleaved_connections(httpd):
    """On event they change threads, and with them c->id."""
    watch = httpd.watch()
    clients = [httpd.client() for _ in range(6)]
    for n in range(6, 0, -1):
        for c in clients[:n]:
            c.request()
        for c in clients[:n]:
            c.response()
    for c in clients:
        c.close()
    watch.expect(connections=6, requests=21, closes={"client_closed": 6})
    assert sorted(r["requests"] for r in httpd.recent(6)) == [1, 2, 3, 4, 5, 6]


def test_parallel_connections(httpd):
    watch = httpd.watch()

    def run():
        for _ in range(10):
            c = httpd.client()
            for _ in range(5):
                c.get()
            c.close()

    threads = [threading.Thread(target=run) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    watch.expect(connections=60, requests=300, reused_requests=240,
                 closes={"client_closed": 60})


def test_gauges(httpd):
    """mod_status shows event's idle connections seconds late."""
    n = 20
    httpd.watch()
    clients = [httpd.client() for _ in range(n)]
    for c in clients:
        c.get()
    wait_for(lambda: (lambda t: (t["open"], t["busy"], t["idle"]))
             (httpd.totals()) == (n, 0, n), "all idle")
    waiting = [httpd.client().send("GET / HT") for _ in range(3)]
    wait_for(lambda: (lambda t: (t["open"], t["busy"], t["idle"]))
             (httpd.totals()) == (n + 3, 3, n), "three busy")
    children = httpd.stats()["children"]
    assert sum(c["idle"] for c in children) == n
    assert sum(c["busy"] for c in children) == 3
    for c in clients + waiting:
        c.close()
    wait_for(lambda: httpd.totals()["open"] == 0, "all closed")


def vhost(httpd, name):
    return next(v for v in httpd.stats()["vhosts"]
                if v["name"].startswith(name + ":"))


def test_vhost_is_that_of_the_latest_request(httpd):
    watch = httpd.watch()
    before = vhost(httpd, "second"), vhost(httpd, "localhost")
    c = httpd.client()
    c.get()
    c.get()
    c.get(host="second")
    wait_for(lambda: vhost(httpd, "second")["open"] == 1, "open there")
    assert vhost(httpd, "localhost")["open"] == 0
    c.close()
    watch.expect(connections=1, requests=3, closes={"client_closed": 1})
    second, first = vhost(httpd, "second"), vhost(httpd, "localhost")
    assert second["requests"] - before[0]["requests"] == 1
    assert second["connections"] - before[0]["connections"] == 1
    assert first["requests"] - before[1]["requests"] == 2
    assert first["connections"] == before[1]["connections"]
    assert httpd.recent()[0]["vhost"] == second["name"]


def test_vhost_that_is_off(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.get(host="silent")
    c.get(host="silent")
    c.close()
    d = httpd.client()
    d.get(host="silent")
    d.get()
    d.close()
    watch.expect(connections=1, requests=1, closes={"client_closed": 1})
    assert not vhost(httpd, "silent")["recorded"]


def test_history_adds_up(httpd):
    """Requests and connections per second are those that were counted."""
    httpd.client().get()
    c = httpd.client()
    c.get()
    c.close()
    wait_for(lambda: httpd.totals()["open"] == 0, "all closed")
    stats = httpd.stats("&history=86400")
    totals = stats["totals"]
    seconds = stats["history"]
    assert sum(s["requests"] for s in seconds) >= totals["requests"]
    assert sum(s["connections"] for s in seconds) >= totals["connections"]
    assert max(s["idle"] for s in seconds) >= 20  # see test_gauges
    assert max(s["open"] for s in seconds) <= 64
    wait_for(lambda: httpd.stats("&history=1")["history"][0]["open"] == 0,
             "a second with nothing open")

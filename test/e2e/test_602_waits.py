# Licensed under the Apache License, Version 2.0; see LICENSE.
"""How long and for how many requests: timeout=, max=, keep; and that the
headers say the same."""
import time

import pytest

from policy_env import MPMS, PolicyHttpd, kept, waited

KEEP = ["Connection: keep-alive"]
T = 6          # KeepAliveTimeout
LATE = 1.5     # a wait may be late by so much, on a machine that is busy

CONF = f"""
KeepAliveTimeout {T}
MaxKeepAliveRequests 100
Listen 127.0.0.1:{{extra[0]}}
Listen 127.0.0.1:{{extra[1]}}
<VirtualHost 127.0.0.1:{{port}}>
    <Location "/short">
        KAPolicy timeout=1
    </Location>
    <Location "/half">
        KAPolicy timeout=500ms
    </Location>
    <Location "/three">
        KAPolicy max=3
    </Location>
    <Location "/one">
        KAPolicy max=1
    </Location>
    <Location "/both">
        KAPolicy timeout=2 max=5
    </Location>
    <Location "/reset">
        KAPolicy keep
    </Location>
    <Location "/reset3">
        KAPolicy keep max=4
    </Location>
</VirtualHost>
<VirtualHost 127.0.0.1:{{extra[0]}}>
    KeepAlive Off
    MaxKeepAliveRequests 1
    KAPolicy keep served=static
    KAPolicy max=0 status=200
    KAPolicy max=4 status=404
</VirtualHost>
<VirtualHost 127.0.0.1:{{extra[1]}}>
    KeepAliveTimeout 9
    <Location "/nine">
        KAPolicy max=50
    </Location>
</VirtualHost>
"""
FILES = ("short", "half", "three", "one", "both", "reset", "reset3", "nine",
         "plain")


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    h = PolicyHttpd(request.param, CONF, kastats=False, extra_ports=2)
    for name in FILES:
        h.file(name, "hello\n")
    with h:
        yield h


def header(headers):
    return headers.get("keep-alive", ""), headers.get("connection", "")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("path,said,wait", [
    ("/short", "timeout=1, max=100", 1),
    ("/half", "timeout=0, max=100", 0.5),
    ("/both", "timeout=2, max=4", 2),
])
def test_timeout(httpd, version, path, said, wait):
    client = httpd.client()
    status, headers, _ = client.get(path, version=version, headers=KEEP)
    assert status == 200 and header(headers) == (said, "Keep-Alive")
    assert wait <= waited(client) + 0.01 < wait + LATE


def test_timeout_is_the_connections_until_another_rule(httpd):
    client = httpd.client()
    client.get("/short")
    _, headers, _ = client.get("/plain", headers=KEEP)
    assert headers["keep-alive"] == "timeout=1, max=99"
    _, headers, _ = client.get("/half", headers=KEEP)
    assert headers["keep-alive"] == "timeout=0, max=98"
    _, headers, _ = client.get("/short", headers=KEEP)
    _, headers, _ = client.get("/reset", headers=KEEP)
    assert headers["keep-alive"] == f"timeout={T}, max=96"
    start = time.monotonic()
    client.get("/plain")
    assert waited(client) >= T - 0.01
    assert time.monotonic() - start < T + LATE


def test_http10_without_keep_alive_is_closed(httpd):
    client = httpd.client()
    _, headers, _ = client.get("/short", version="1.0")
    assert header(headers) == ("", "close") and not kept(headers, client)


def test_client_that_asks_for_close(httpd):
    client = httpd.client()
    _, headers, _ = client.get("/short", headers=["Connection: close"])
    assert header(headers) == ("", "close") and not kept(headers, client)


@pytest.mark.parametrize("path,n", [("/one", 1), ("/three", 3), ("/both", 5)])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_max_is_the_number_of_requests(httpd, version, path, n):
    client = httpd.client()
    for i in range(1, n + 1):
        _, headers, _ = client.get(path, version=version, headers=KEEP)
        if i < n:
            assert headers["keep-alive"].endswith(f"max={n - i}")
            assert headers["connection"] == "Keep-Alive"
    assert header(headers) == ("", "close")
    assert client.wait_closed() == b""


def test_max_counts_what_came_before_and_stays(httpd):
    client = httpd.client()
    client.get("/plain")
    client.get("/three")
    _, headers, _ = client.get("/plain")
    assert headers["connection"] == "close" and client.wait_closed() == b""
    client = httpd.client()
    client.get("/three")
    _, headers, _ = client.get("/reset3", headers=KEEP)
    assert headers["keep-alive"].endswith("max=2")
    client.close()


def test_keep_where_keep_alive_is_off(httpd):
    port = httpd.extra[0]
    for path, wanted in (("/plain", True), ("/short", True)):
        client = type(httpd.client())(port)
        for _ in range(5):
            _, headers, _ = client.get(path, headers=KEEP)
            assert header(headers) == (f"timeout={T}", "Keep-Alive") and wanted
        _, headers, _ = client.get("/missing")
        assert headers["connection"] == "close"  # the sixth of four
        client.close()


def test_timeout_of_a_vhost_without_a_rule_for_it(httpd):
    client = type(httpd.client())(httpd.extra[1])
    _, headers, _ = client.get("/nine", headers=KEEP)
    assert headers["keep-alive"] == "timeout=9, max=49"
    client.close()


def test_pipelined_requests_are_all_answered(httpd):
    client = httpd.client()
    n = 4
    for _ in range(n):
        client.request("/half")
    for i in range(n):
        status, headers, body = client.response()
        assert status == 200 and body == b"hello\n", (i, headers)
    assert 0.5 <= waited(client) + 0.01 < 0.5 + LATE


def test_pipelined_beyond_max(httpd):
    client = httpd.client()
    for _ in range(4):
        client.request("/three")
    says = [client.response()[1].get("connection") for _ in range(3)]
    assert says == [None, None, "close"]
    client.close()


def test_slow_client_is_not_hurried(httpd):
    """A wait is over with the first byte; what follows is Timeout's."""
    client = httpd.client()
    client.get("/half")
    client.send("GET /half HTTP/1.1\r\n")
    end = time.monotonic() + 1.5
    while time.monotonic() < end:  # slower than the timeout, never silent
        client.send("X-Slow: 1\r\n")
        time.sleep(0.1)
    assert client.send("Host: localhost\r\n\r\n").response()[0] == 200
    client.close()


@pytest.mark.parametrize("mpm", ["prefork", "worker"])
def test_longer_than_the_servers(mpm):
    conf = "KeepAliveTimeout 1\nKAPolicy timeout=3\n"
    with PolicyHttpd(mpm, conf, kastats=False, modules=("reqtimeout",)) as h:
        client = h.client()
        _, headers, _ = client.get("/", headers=KEEP)
        assert headers["keep-alive"] == "timeout=3"
        assert 3 <= waited(client) + 0.01 < 3 + LATE


def test_htaccess_cannot_stretch_it_on_event():
    conf = ('KeepAliveTimeout 1\n<Directory "{root}/htdocs">\n'
            "AllowOverride FileInfo\n</Directory>\n")
    h = PolicyHttpd("event", conf, kastats=False)
    h.file(".htaccess", "KAPolicy timeout=30\n")
    with h:
        client = h.client()
        _, headers, _ = client.get("/", headers=KEEP)
        assert headers["keep-alive"] == "timeout=1"
        assert 1 <= waited(client) + 0.01 < 1 + LATE

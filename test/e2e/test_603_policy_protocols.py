# Licensed under the Apache License, Version 2.0; see LICENSE.
"""mod_kapolicy with TLS and HTTP/2."""
import struct
import time

import pytest

from kastats_env import tls_client, tls_files
from policy_env import MPMS, Client, PolicyHttpd, kept, wait_for

LATE = 1.5
CONF = """
KeepAliveTimeout 5
SSLSessionCache "shmcb:{root}/run/ssl(65536)"
Protocols h2c http/1.1
Listen 127.0.0.1:{extra[0]} https
<VirtualHost 127.0.0.1:{extra[0]}>
    Protocols h2 http/1.1
    SSLEngine on
    SSLCertificateFile "{root}/server.pem"
</VirtualHost>
<Location "/short">
    KAPolicy timeout=1
</Location>
<Location "/shut">
    KAPolicy close
</Location>
"""


def make(mpm, more=""):
    http2 = () if mpm == "prefork" else ("http2",)
    conf = CONF if http2 else CONF.replace("Protocols", "#Protocols")
    h = PolicyHttpd(mpm, conf + more, modules=("ssl", "socache_shmcb",
                                               *http2), extra_ports=1)
    tls_files(h.root)
    for name in ("short", "shut", "plain"):
        h.file(name, "hello\n")
    return h


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    with make(request.param) as h:
        yield h


def tls_connect(port):
    """A client to whom an end without close_notify is an error."""
    client = Client(port)
    client.sock = tls_client().wrap_socket(
        client.sock, server_hostname="localhost", suppress_ragged_eofs=False)
    return client


def clean_end(client):
    start = time.monotonic()
    assert client.sock.recv(1) == b""
    client.close()
    return time.monotonic() - start


def test_tls_close(httpd):
    client = tls_connect(httpd.extra[0])
    _, headers, _ = client.get("/plain")
    assert headers.get("connection", "Upgrade") == "Upgrade"
    _, headers, _ = client.get("/shut")
    assert "close" in headers["connection"]
    clean_end(client)


def test_tls_timeout(httpd):
    client = tls_connect(httpd.extra[0])
    client.get("/plain")
    _, headers, _ = client.get("/short", headers=["Connection: keep-alive"])
    assert headers["keep-alive"].startswith("timeout=1")
    assert 1 <= clean_end(client) + 0.01 < 1 + LATE


@pytest.mark.parametrize("mpm", MPMS)
def test_tls_by_load(mpm):
    """The longest wait of KAPolicyAdaptive, on a server without load."""
    with make(mpm, "KAPolicyAdaptive 100ms 1s\n") as h:
        client = tls_connect(h.extra[0])
        client.get("/plain")
        assert 1 <= clean_end(client) + 0.01 < 1 + LATE
        client = tls_connect(h.extra[0])
        for _ in range(3):
            client.get("/plain")
        client.close()
        wait_for(lambda: h.totals()["open"] == 0, "closed")
        assert h.totals()["closes"]["idle_timeout"] == 1


# ---- HTTP/2, by hand: one client that stays

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS, GOAWAY = 1, 4, 7


def frame(kind, flags, stream, payload=b""):
    return (struct.pack(">I", len(payload))[1:] + bytes([kind, flags])
            + struct.pack(">I", stream) + payload)


def frames(data):
    while len(data) >= 9:
        size = int.from_bytes(data[:3], "big")
        yield data[3], data[9:9 + size]
        data = data[9 + size:]


class Http2:
    def __init__(self, httpd, tls):
        context = tls_client()
        context.set_alpn_protocols(["h2"])
        self.client = Client(httpd.extra[0] if tls else httpd.port,
                             tls=context if tls else None)
        self.scheme = b"\x87" if tls else b"\x86"
        self.stream = -1
        self.data = b""
        self.client.send(PREFACE + frame(SETTINGS, 0, 0))

    def get(self, path):
        """Asks, and reads until the body is there."""
        self.stream += 2
        path = path.encode()
        self.client.send(frame(
            HEADERS, 5, self.stream, b"\x82" + self.scheme + b"\x44"
            + bytes([len(path)]) + path + b"\x41\x09localhost"))
        wanted = self.data.count(b"hello\n") + 1
        while self.data.count(b"hello\n") < wanted:
            assert self.fill()

    def fill(self):
        more = self.client.sock.recv(65536)
        self.data += more
        return bool(more)

    def end(self):
        """Seconds until the server ends it, and the last frame's kind."""
        start = time.monotonic()
        while self.fill():
            pass
        self.client.close()
        return time.monotonic() - start, list(frames(self.data))[-1][0]


@pytest.mark.parametrize("mpm", ["worker", "event"])
@pytest.mark.parametrize("tls", [False, True])
def test_http2_streams_do_not_end_their_connection(mpm, tls):
    with make(mpm) as h:
        client = Http2(h, tls)
        for path in ("/shut", "/short", "/plain", "/shut"):
            client.get(path)
        seconds, last = client.end()
        assert 5 <= seconds + 0.05 < 5 + LATE and last == GOAWAY
        wait_for(lambda: h.totals()["open"] == 0, "closed")
        assert h.recent()[0]["requests"] == 4


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("times,reason,wait", [
    ("100ms 1s", "idle_timeout", 1), ("0 4 1% 2%", "policy", 0)])
def test_http2_ends_by_load_with_goodbye(tls, times, reason, wait):
    with make("event", f"KAPolicyAdaptive {times}\n") as h:
        client = Http2(h, tls)
        client.get("/plain")
        seconds, last = client.end()
        assert wait <= seconds + 0.05 < wait + LATE and last == GOAWAY
        wait_for(lambda: h.totals()["open"] == 0, "closed")
        assert h.recent()[0]["reason"] == reason


def test_upgraded_connection_is_not_touched(httpd):
    """101 and what follows: no headers of ours."""
    client = httpd.client()
    _, headers, _ = client.get("/plain", headers=[
        "Connection: Upgrade, HTTP2-Settings", "Upgrade: unknown",
        "HTTP2-Settings: AAMAAABkAAQAAP__"])
    assert kept(headers, client)
    client.close()

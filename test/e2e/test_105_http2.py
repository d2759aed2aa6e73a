# Licensed under the Apache License, Version 2.0; see LICENSE.
"""HTTP/2: streams count to their connection (worker and event)."""
import shutil
import subprocess
import time

import pytest

from kastats_env import PATIENCE, Client, Httpd, tls_client, tls_files, \
    wait_for

CONF = """
SSLSessionCache "shmcb:{root}/run/ssl(65536)"
Protocols h2 h2c http/1.1
Listen 127.0.0.1:{extra[0]} https
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    KeepAliveTimeout 500ms
    MaxKeepAliveRequests 2
</VirtualHost>
<VirtualHost 127.0.0.1:{extra[0]}>
    ServerName localhost
    KeepAliveTimeout 500ms
    SSLEngine on
    SSLCertificateFile "{root}/server.pem"
</VirtualHost>
"""

needs = pytest.mark.skipif


@pytest.fixture(scope="module", params=("worker", "event"))
def httpd(request):
    h = Httpd(request.param, CONF, modules=("ssl", "socache_shmcb", "http2"),
              extra_ports=1)
    tls_files(h.root)
    h.file("big.bin", b"x" * (8 << 20))
    for i in range(20):
        h.file(f"f{i}", "x" * 1000)
    with h:
        yield h


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, check=True,
                          timeout=PATIENCE)


def closed(watch, **wanted):
    """Counts, whatever the reason; the reason found."""
    wait_for(lambda: watch.change()["closes"].total()
             >= wanted.get("connections", 1), "closed")
    change = watch.change()
    watch.expect(closes=change["closes"], **wanted)
    return list(change["closes"])


@needs(not shutil.which("nghttp"), reason="no nghttp")
@pytest.mark.parametrize("scheme", ["https", "http"])
def test_streams_of_a_connection(httpd, scheme):
    port = httpd.extra[0] if scheme == "https" else httpd.port
    watch = httpd.watch()
    run("nghttp", "-n", *(f"{scheme}://localhost:{port}/f{i}".replace(
        "localhost", "127.0.0.1") for i in range(20)))
    assert closed(watch, connections=1, requests=20, reused_requests=19,
                  bytes_out=20000) == ["client_closed"]
    r = httpd.recent()[0]
    assert (r["requests"], r["protocol"]) == (20, "h2")
    assert r["tls"] == (scheme == "https")


@needs(not shutil.which("h2load"), reason="no h2load")
def test_load(httpd):
    watch = httpd.watch()
    run("h2load", "-n", "2000", "-c", "10", "-m", "10",
        f"https://127.0.0.1:{httpd.extra[0]}/f1")
    closed(watch, connections=10, requests=2000, bytes_out=2000 * 1000)


@needs(not shutil.which("curl"), reason="no curl")
def test_upgrade_from_http11(httpd):
    """The request that asks for h2c is answered on stream 1: one request."""
    watch = httpd.watch()
    run("curl", "-s", "--http2", f"http://127.0.0.1:{httpd.port}/f1")
    assert closed(watch, connections=1, requests=1) == ["client_closed"]
    r = httpd.recent()[0]
    assert (r["protocol"], r["requests"]) == ("h2", 1)


def frame(kind, flags, stream, payload=b""):
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags])
            + stream.to_bytes(4, "big") + payload)


class H2Client(Client):
    """Just enough HTTP/2: GETs with literal headers."""

    def __init__(self, port, **kwargs):
        super().__init__(port, **kwargs)
        self.stream = -1
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))

    def ask(self, path):
        def literal(name, value):
            return (b"\0" + bytes([len(name)]) + name
                    + bytes([len(value)]) + value)

        self.stream += 2
        self.send(frame(1, 5, self.stream, b"\x82\x86" + literal(
            b":path", path.encode()) + literal(b":authority", b"localhost")))
        return self

    def end_of_stream(self):
        """Reads frames up to the end of the latest stream."""
        while True:
            head = self.exactly(9)
            self.exactly(int.from_bytes(head[:3], "big"))
            kind, flags = head[3], head[4]
            if kind == 4 and not flags & 1:
                self.send(frame(4, 1, 0))
            if kind in (0, 1) and flags & 1 and \
                    int.from_bytes(head[5:9], "big") == self.stream:
                return self


def test_idle_timeout(httpd):
    watch = httpd.watch()
    c = H2Client(httpd.port)
    c.ask("/f1").end_of_stream()
    time.sleep(0.2)  # the client's think time
    c.ask("/f2").end_of_stream()
    c.ask("/f3").end_of_stream()
    c.ask("/f4").end_of_stream()
    wait_for(lambda: httpd.totals()["idle"] == 1, "idle")
    c.wait_closed()
    watch.expect(connections=1, requests=4, reused_requests=3,
                 closes={"idle_timeout": 1})
    r = httpd.recent()[0]
    assert 0.5 <= r["tail_s"] < 5 and 0.19 <= r["longest_gap_s"] < 5


def test_client_closed(httpd):
    watch = httpd.watch()
    c = H2Client(httpd.port)
    c.ask("/f1").end_of_stream()
    c.close()
    watch.expect(connections=1, requests=1, closes={"client_closed": 1})


def test_aborted(httpd):
    watch = httpd.watch()
    c = H2Client(httpd.port)
    c.ask("/big.bin")
    c.exactly(100)
    wait_for(lambda: httpd.totals()["busy"] == 1, "busy")
    c.reset()
    assert closed(watch, connections=1, requests=1) == ["aborted"]


def test_no_request(httpd):
    watch = httpd.watch()
    H2Client(httpd.port).close()
    watch.expect(connections=1, requests=0, closes={"no_request": 1})


def test_alpn_http11_on_the_same_port(httpd):
    watch = httpd.watch()
    c = Client(httpd.extra[0], tls=tls_client())
    c.get("/f1")
    c.get("/f1")
    c.close()
    watch.expect(connections=1, requests=2, closes={"client_closed": 1})
    assert httpd.recent()[0]["protocol"] == "http/1.1"

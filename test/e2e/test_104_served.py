# Licensed under the Apache License, Version 2.0; see LICENSE.
"""static, dynamic, proxied: by what really served the request."""
import contextlib
import http.server
import socketserver
import struct
import threading

import pytest

from kastats_env import MPMS, Httpd

CONF = """
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    KeepAliveTimeout 60
    Redirect permanent /old http://localhost/new
    ScriptAlias "/cgi/" "{root}/cgi-bin/"
    <Directory "{root}/cgi-bin">
        Options +ExecCGI
    </Directory>
    <Location "/status">
        SetHandler server-status
    </Location>
    <Location "/refused">
        Require all denied
    </Location>
    <Location "/file.fcgi">
        SetHandler "proxy:fcgi://127.0.0.1:FCGI"
    </Location>
    ProxyPass "/app" "fcgi://127.0.0.1:FCGI/app"
    ProxyPass "/proxied/" "http://127.0.0.1:BACKEND/"
    ProxyPass "/down/" "http://127.0.0.1:1/"
    ProxyPass "/socket" "ws://127.0.0.1:BACKEND/socket" upgrade=any
    RewriteEngine On
    RewriteRule "^/rewritten$" "http://127.0.0.1:BACKEND/x" [P]
</VirtualHost>
"""

CGI = """#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\nok\\n'
"""


class Backend(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # pylint: disable=invalid-name
        if self.path == "/socket":
            self.connection.sendall(
                b"HTTP/1.1 101 Switching Protocols\r\n"
                b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            while data := self.connection.recv(100):
                self.connection.sendall(data)
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"ok\n")

    def log_message(self, *args):  # pylint: disable=arguments-differ
        pass


class FastCgi(socketserver.StreamRequestHandler):
    """Answers each request with the same page."""

    def record(self):
        head = self.rfile.read(8)
        if len(head) < 8:
            return None
        _, kind, number, size, pad = struct.unpack("!BBHHBx", head)
        self.rfile.read(size + pad)
        return kind, number, size

    def handle(self):
        page = b"Content-Type: text/plain\r\n\r\nok\n"
        while (record := self.record()) is not None:
            kind, number, size = record
            if kind == 5 and size == 0:  # end of stdin
                self.wfile.write(
                    struct.pack("!BBHHBx", 1, 6, number, len(page), 0) + page
                    + struct.pack("!BBHHBx", 1, 6, number, 0, 0)
                    + struct.pack("!BBHHBxIB3x", 1, 3, number, 8, 0, 0, 0))
                return


@contextlib.contextmanager
def serving(handler):
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(0.02,),
                              daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    with serving(Backend) as backend, serving(FastCgi) as fcgi:
        conf = CONF.replace("BACKEND", str(backend)).replace("FCGI", str(fcgi))
        h = Httpd(request.param, conf, allowed=[r"AH00957|AH01114|AH01630"],
                  modules=("status", "proxy", "proxy_http", "proxy_fcgi",
                           "proxy_wstunnel",
                           "cgi" if request.param == "prefork" else "cgid"))
        if request.param != "prefork":
            h.conf = "ScriptSock {root}/run/cgisock\n" + h.conf
        script = h.root / "cgi-bin" / "ok"
        script.write_text(CGI)
        script.chmod(0o755)
        h.file("file.fcgi", "x")
        with h:
            yield h


@pytest.mark.parametrize("path,status,served", [
    ("/", 200, "static"),
    ("/index.html", 200, "static"),
    ("/old", 301, "static"),
    ("/nothere", 404, "static"),
    ("/refused", 403, "static"),
    ("/cgi/ok", 200, "dynamic"),
    ("/status?auto", 200, "dynamic"),
    ("/app", 200, "dynamic"),
    ("/file.fcgi", 200, "dynamic"),
    ("/proxied/x", 200, "proxied"),
    ("/rewritten", 200, "proxied"),
])
def test_class(httpd, path, status, served):
    def requests():
        return {k: v["requests"]
                for k, v in httpd.totals()["classes"].items()}

    before = requests()
    watch = httpd.watch()
    c = httpd.client()
    for _ in range(2):
        assert c.get(path)[0] == status
    c.close()
    # Connections to the backend are not ours to count.
    watch.expect(connections=1, requests=2, closes={"client_closed": 1})
    after = requests()
    assert {k: after[k] - before[k] for k in after if after[k] != before[k]} \
        == {served: 2}
    assert httpd.recent()[0]["class"] == served


def test_backend_down(httpd):
    """503 ends the connection."""
    watch = httpd.watch()
    c = httpd.client()
    assert c.get("/down/")[0] == 503
    c.wait_closed()
    watch.expect(connections=1, requests=1, closes={"error_status": 1})
    assert httpd.recent()[0]["class"] == "proxied"


def test_websocket(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.request("/socket", headers=["Upgrade: websocket", "Connection: Upgrade",
                                  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                                  "Sec-WebSocket-Version: 13"])
    assert c.response(body=False)[0] == 101
    for _ in range(3):
        c.send("ping")
        assert c.exactly(4) == b"ping"
    assert httpd.totals()["busy"] == 1
    c.close()
    change = watch.expect(connections=1, requests=1,
                          closes=watch_closes(watch))
    assert sum(change["closes"].values()) == 1
    r = httpd.recent()[0]
    assert (r["protocol"], r["class"]) == ("upgraded", "proxied")


def watch_closes(watch):
    """The reason that was found, once the connection is gone."""
    from kastats_env import wait_for
    return wait_for(lambda: watch.change()["closes"], "closed")

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Who ended a connection: one scripted client per row, on every MPM."""
import os
import signal
import socket

import pytest

from kastats_env import MPMS, Client, Httpd, tls_client, tls_files, \
    wait_for

CONF = """
Listen 127.0.0.1:{extra[0]}
Listen 127.0.0.1:{extra[1]} https
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    KeepAliveTimeout 500ms
    SetEnvIf User-Agent "^old$" nokeepalive
    Redirect 404 /missing
    <Location "/policy">
        LuaHookFixups "{root}/policy.lua" policy
    </Location>
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName off
    KeepAlive Off
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName max
    MaxKeepAliveRequests 2
</VirtualHost>
<VirtualHost 127.0.0.1:{extra[0]}>
    ServerName slow
    KeepAliveTimeout 60
    ScriptAlias "/cgi/" "{root}/cgi-bin/"
    <Directory "{root}/cgi-bin">
        Options +ExecCGI
    </Directory>
</VirtualHost>
SSLSessionCache "shmcb:{root}/run/ssl(65536)"
<VirtualHost 127.0.0.1:{extra[1]}>
    ServerName localhost
    KeepAliveTimeout 60
    SSLEngine on
    SSLCertificateFile "{root}/server.pem"
</VirtualHost>
"""

# What mod_kapolicy does where it refuses keep-alive.
POLICY_LUA = """
function policy(r)
    r.notes["ka-policy"] = "1"
    r.headers_out["Connection"] = "close"
    return apache2.DECLINED
end
"""


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    h = Httpd(request.param, CONF, modules=("ssl", "socache_shmcb", "lua"),
              extra_ports=2)
    tls_files(h.root)
    (h.root / "policy.lua").write_text(POLICY_LUA)
    h.file("policy", "x")
    h.file("big.bin", b"x" * (16 << 20))
    with h:
        yield h


def test_idle_timeout(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.get()
    assert c.wait_closed() == b""
    watch.expect(connections=1, requests=1, closes={"idle_timeout": 1})
    assert 0.5 <= httpd.recent()[0]["tail_s"] < 5


def test_idle_timeout_after_reuse(httpd):
    watch = httpd.watch()
    c = httpd.client()
    for _ in range(3):
        c.get()
    c.wait_closed()
    watch.expect(connections=1, requests=3, reused_requests=2,
                 closes={"idle_timeout": 1})


def test_half_a_request_on_an_idle_connection(httpd):
    # prefork and worker wait for its rest as long as for a new request,
    # event reads on: it is the client that gives up.
    watch = httpd.watch()
    c = Client(httpd.extra[0])
    c.get()
    c.send("GET / HT")
    c.close()
    watch.expect(connections=1, requests=1, closes={"client_closed": 1})


def test_client_closed(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.get()
    c.close()
    watch.expect(connections=1, requests=1, closes={"client_closed": 1})


def test_client_reset_while_idle(httpd):
    watch = httpd.watch()
    c = Client(httpd.extra[0])
    c.get()
    wait_for(lambda: httpd.totals()["idle"] == 1, "idle")
    c.reset()
    watch.expect(connections=1, requests=1, closes={"client_closed": 1})


def test_client_closed_with_close_notify(httpd):
    watch = httpd.watch()
    c = Client(httpd.extra[1], tls=tls_client())
    c.get()
    # close_notify alone; the server answers with its own before our FIN.
    c.sock.unwrap().close()
    watch.expect(connections=1, requests=1, closes={"client_closed": 1})


@pytest.mark.parametrize("headers", [["Connection: close"],
                                     ["Connection: foo, Close"]])
def test_client_close_header(httpd, headers):
    watch = httpd.watch()
    c = httpd.client()
    c.get()
    c.get(headers=headers)
    c.wait_closed()
    watch.expect(connections=1, requests=2,
                 closes={"client_close_header": 1})


def test_http10(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.get(version="1.0")
    c.wait_closed()
    watch.expect(connections=1, requests=1, closes={"http10": 1})
    assert httpd.recent()[0]["protocol"] == "http/1.0"


def test_http10_with_keepalive_stays(httpd):
    watch = httpd.watch()
    c = httpd.client()
    for _ in range(2):
        c.get(version="1.0", headers=["Connection: keep-alive"])
    c.close()
    watch.expect(connections=1, requests=2, closes={"client_closed": 1})


def test_http09(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.send("GET /\r\n")
    assert b"hello" in c.wait_closed()
    watch.expect(connections=1, requests=1, closes={"http10": 1})
    assert httpd.recent()[0]["protocol"] == "http/0.9"


def test_max_requests_serves_one_more(httpd):
    watch = httpd.watch()
    c = httpd.client()
    for i in range(3):  # MaxKeepAliveRequests 2
        headers = c.get(host="max")[1]
        assert ("close" in headers.get("connection", "")) == (i == 2)
    c.wait_closed()
    watch.expect(connections=1, requests=3, closes={"max_requests": 1})


def test_keepalive_off(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.get(host="off")
    c.wait_closed()
    watch.expect(connections=1, requests=1, closes={"keepalive_off": 1})


def test_nokeepalive(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.get(headers=["User-Agent: old"])
    c.wait_closed()
    watch.expect(connections=1, requests=1, closes={"keepalive_off": 1})


def test_policy(httpd):
    watch = httpd.watch()
    c = httpd.client()
    assert c.get("/policy")[0] == 200
    c.wait_closed()
    watch.expect(connections=1, requests=1, closes={"policy": 1})


@pytest.mark.parametrize("text", [
    "GET / HTTP/1.1\r\n\r\n",               # no Host
    "GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
    "GARBAGE\r\n\r\n",
    "GET /" + "a" * 9000 + " HTTP/1.1\r\n\r\n",
])
def test_error_status(httpd, text):
    watch = httpd.watch()
    c = httpd.client()
    c.send(text)
    assert c.response()[0] >= 400
    c.wait_closed()
    watch.expect(connections=1, requests=1, closes={"error_status": 1})


def test_error_status_on_a_used_connection(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.get()
    c.send("GET / HTTP/1.1\r\n\r\n")
    assert c.response()[0] == 400
    c.wait_closed()
    watch.expect(connections=1, requests=2, reused_requests=1,
                 closes={"error_status": 1})


def test_not_found_keeps_the_connection(httpd):
    watch = httpd.watch()
    c = httpd.client()
    assert c.get("/missing")[0] == 404
    assert c.get("/nothere")[0] == 404
    c.close()
    watch.expect(connections=1, requests=2, closes={"client_closed": 1})


def test_aborted_download(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    c.request("/big.bin")
    c.exactly(1000)
    c.reset()
    watch.expect(connections=1, requests=1, closes={"aborted": 1})


def test_no_request(httpd):
    watch = httpd.watch()
    httpd.client().close()
    c = httpd.client()
    c.send("GET / HT")
    c.close()
    watch.expect(connections=2, requests=0, closes={"no_request": 2})
    assert httpd.recent()[0]["first_request_s"] is None


def test_no_request_tls_handshake_only(httpd):
    watch = httpd.watch()
    Client(httpd.extra[1], tls=tls_client()).close()
    watch.expect(connections=1, requests=0, closes={"no_request": 1})
    assert httpd.recent()[0]["tls"]


def test_plain_http_to_tls_port(httpd):
    watch = httpd.watch()
    c = Client(httpd.extra[1])
    assert c.get()[0] == 400
    c.wait_closed()
    watch.expect(connections=1, requests=1, closes={"error_status": 1})


def test_lost(httpd):
    """kill -9 of the child: within two seconds everything is right again."""
    httpd.allowed.append(r"exit signal Killed")
    watch = httpd.watch()
    c = Client(httpd.extra[0])
    c.get()
    wait_for(lambda: httpd.totals()["idle"] == 1, "idle")
    child = next(s["pid"] for s in httpd.stats()["children"] if s["idle"])
    os.kill(child, signal.SIGKILL)
    watch.expect(connections=1, requests=1, closes={"lost": 1}, idle=0, busy=0)
    c.close()


# ---- event only -------------------------------------------------------------

EVICT_CONF = """
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    KeepAliveTimeout 60
    ScriptAlias "/cgi/" "{root}/cgi-bin/"
    <Directory "{root}/cgi-bin">
        Options +ExecCGI
    </Directory>
</VirtualHost>
"""

# Says that it runs, then lasts until there is a file "go".
WAITING_CGI = """#!/bin/sh
: > "{root}/cgi-bin/running.$$"
until [ -e "{root}/go" ]; do sleep 0.02; done
printf 'Content-Type: text/plain\\r\\n\\r\\ndone\\n'
"""


@pytest.fixture
def small_event():
    h = Httpd("event", EVICT_CONF, modules=("cgid",),
              mpm_conf="ServerLimit 1\nThreadLimit 4\nThreadsPerChild 4\n"
                       "MaxRequestWorkers 4\nMinSpareThreads 1\n"
                       "MaxSpareThreads 4\nAsyncRequestWorkerFactor 10\n",
              allowed=[r"AH00484", r"AH10159"])
    h.conf = ("ScriptSock {root}/run/cgisock\n"
              "LogLevel mpm_event:trace6\n" + h.conf)
    script = h.root / "cgi-bin" / "wait"
    script.write_text(WAITING_CGI.format(root=h.root))
    script.chmod(0o755)
    (h.root / "cgi-bin").chmod(0o777)
    with h:
        yield h


def running(httpd):
    return len(list((httpd.root / "cgi-bin").glob("running.*")))


def evict(h):
    """All workers busy: the idle connections go, one with a request that
    nobody will read.  What changed."""
    for path in [h.root / "go", *(h.root / "cgi-bin").glob("running.*")]:
        path.unlink(missing_ok=True)
    watch = h.watch()
    decided = h.log().count("deferring close from state")
    idle = [h.client() for _ in range(3)]
    for c in idle:
        c.get()
    wait_for(lambda: h.totals()["idle"] == 3, "idle")
    busy = [h.client() for _ in range(4)]
    for c in busy:
        c.request("/cgi/wait", headers=["Connection: close"])
    wait_for(lambda: running(h) == 4, "all workers busy")
    idle[0].request("/")
    # Only the log tells that event has made up its mind: closing needs a
    # worker, and none is free yet.
    wait_for(lambda: h.log().count("deferring close from state")
             == decided + 3, "evicted")
    (h.root / "go").touch()
    for c in idle:
        c.wait_closed()
    for c in busy:
        assert c.response()[2] == b"done\n"
        c.close()
    return watch.expect(connections=7, requests=7,
                        closes={"evicted": 3, "client_close_header": 4})


def test_evicted(small_event):
    # The worker of the status port can be the fourth busy one: then they are
    # closed before there is a request to drop.
    for _ in range(20):
        dropped = evict(small_event)["dropped_requests"]
        if dropped:
            break
    assert dropped == 1

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""The timeout in force, gaps, service times, time to the first request."""
import time

import pytest

from kastats_env import MPMS, Client, Httpd, tls_client, tls_files, wait_for

CONF = """
AcceptFilter http none
AcceptFilter https none
SSLSessionCache "shmcb:{root}/run/ssl(65536)"
Listen 127.0.0.1:{extra[0]} https
KeepAliveTimeout 700ms
<VirtualHost 127.0.0.1:{port}>
    ServerName first
    KeepAliveTimeout 400ms
    ScriptAlias "/cgi/" "{root}/cgi-bin/"
    <Directory "{root}/cgi-bin">
        Options +ExecCGI
    </Directory>
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName own
    KeepAliveTimeout 900ms
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName inherits
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName zero
    KeepAliveTimeout 0
</VirtualHost>
<VirtualHost 127.0.0.1:{extra[0]}>
    ServerName localhost
    SSLEngine on
    SSLCertificateFile "{root}/server.pem"
</VirtualHost>
"""

SLEEPING_CGI = """#!/bin/sh
sleep 0.3
printf 'Content-Type: text/plain\\r\\nContent-Length: 3\\r\\n\\r\\nok\\n'
"""
LATE = 1.5  # how much later than asked this machine may be


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    h = Httpd(request.param, CONF, extra_ports=1,
              modules=("ssl", "socache_shmcb",
                       "cgi" if request.param == "prefork" else "cgid"))
    if request.param != "prefork":
        h.conf = "ScriptSock {root}/run/cgisock\n" + h.conf
    script = h.root / "cgi-bin" / "nap"
    script.write_text(SLEEPING_CGI)
    script.chmod(0o755)
    tls_files(h.root)
    with h:
        yield h


@pytest.mark.parametrize("host,timeout", [
    ("first", 0.4), ("own", 0.9),
    ("inherits", 0.4),  # from the first vhost of its port
    ("zero", 0.7),      # 0 in a vhost is the main server's
])
def test_timeout_in_force(httpd, host, timeout):
    told = {v["name"].split(":")[0]: v["keep_alive_timeout_s"]
            for v in httpd.stats()["vhosts"]}
    watch = httpd.watch()
    c = httpd.client()
    c.get(host=host)
    c.wait_closed()
    watch.expect(connections=1, requests=1, closes={"idle_timeout": 1})
    assert timeout <= httpd.recent()[0]["tail_s"] < timeout + LATE
    assert told[host] == timeout


def test_header_tells_another_timeout(httpd):
    """400ms is kept, and advertised as 0: never believe the header."""
    c = httpd.client()
    headers = c.get(host="first", headers=["Connection: keep-alive"])[1]
    c.close()
    assert "timeout=0" in headers["keep-alive"]


def test_gap(httpd):
    watch = httpd.watch()
    before = httpd.totals()["gap_s"]
    c = httpd.client()
    for think in (0.05, 0.25, 0.1):
        c.get()
        time.sleep(think)  # the client's think time
    c.get()
    c.close()
    watch.expect(connections=1, requests=4, reused_requests=3,
                 pipelined_requests=0, closes={"client_closed": 1})
    gaps = httpd.totals()["gap_s"]
    r = httpd.recent()[0]
    assert gaps["count"] - before["count"] == 3
    assert 0.38 <= gaps["sum"] - before["sum"] <= 0.4 + LATE
    assert abs(gaps["sum"] - before["sum"] - r["idle_s"]) < 2e-6
    assert 0.24 <= r["longest_gap_s"] <= 0.25 + LATE
    assert r["idle_s"] + r["service_s"] + r["tail_s"] <= r["life_s"] + 1e-6


def test_service_time(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.get("/cgi/nap")
    c.get("/cgi/nap", headers=["Connection: close"])
    c.close()
    watch.expect(connections=1, requests=2,
                 closes={"client_close_header": 1})
    assert 0.6 <= httpd.recent()[0]["service_s"] < 0.6 + LATE


def test_time_to_first_request(httpd):
    httpd.watch()
    c = httpd.client()
    wait_for(lambda: httpd.totals()["open"] == 1, "accepted")
    watch = httpd.watch(settled=False)
    time.sleep(0.2)
    c.get()
    c.close()
    watch.expect(requests=1, closes={"client_closed": 1})
    r = httpd.recent()[0]
    assert 0.2 <= r["first_request_s"] < 0.2 + LATE
    assert r["service_s"] < r["first_request_s"]


def test_slow_headers_are_service_not_gap(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.get()
    c.send("GET / HTTP/1.1\r\n")
    time.sleep(0.3)
    c.send("Host: first\r\n\r\n").response()
    c.close()
    watch.expect(connections=1, requests=2, closes={"client_closed": 1})
    r = httpd.recent()[0]
    assert r["service_s"] >= 0.29 > r["longest_gap_s"]


def test_tls_handshake_is_before_the_first_request(httpd):
    watch = httpd.watch()
    c = Client(httpd.extra[0], tls=tls_client())
    c.get()
    c.get()
    c.close()
    watch.expect(connections=1, requests=2, closes={"client_closed": 1})
    r = httpd.recent()[0]
    assert r["tls"] and r["first_request_s"] > 0
    assert httpd.totals()["tls_connections"] >= 1


def test_lingering_close(httpd):
    """The server closes; a silent client holds it up for two seconds."""
    watch = httpd.watch()
    c = httpd.client()
    c.get()
    assert c.to_end() == b""
    wait_for(lambda: httpd.totals()["closing"] == 1, "lingering")
    watch.expect(connections=1, requests=1, closes={"idle_timeout": 1})
    c.close()
    assert 1.5 < httpd.recent()[0]["linger_s"] < 2 + LATE


def test_round_trip_time(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.get()
    c.close()
    watch.expect(requests=1, closes={"client_closed": 1})
    assert 0 < httpd.recent()[0]["rtt_s"] < 1

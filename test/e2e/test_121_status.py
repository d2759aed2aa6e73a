# Licensed under the Apache License, Version 2.0; see LICENSE.
"""The section in mod_status's page, and its lines in ?auto."""
import http.client

import pytest

from kastats_env import MODULES, PATIENCE, Httpd

CONF = """
{load}
Listen 127.0.0.1:{{extra[0]}}
<VirtualHost 127.0.0.1:{{extra[0]}}>
    ServerName status.invalid
    KAStats Off
    SetHandler server-status
</VirtualHost>
"""
AFTER = f'LoadModule status_module "{MODULES}/mod_status.so"'


def status_of(httpd, query=""):
    conn = http.client.HTTPConnection("127.0.0.1", httpd.extra[0],
                                      timeout=PATIENCE)
    conn.request("GET", "/" + query, headers={"Connection": "close"})
    response = conn.getresponse()
    body = response.read().decode()
    conn.close()
    assert response.status == 200
    return body


def auto(httpd):
    return dict(line.split(": ", 1)
                for line in status_of(httpd, "?auto").splitlines()
                if ": " in line)


def traffic(httpd):
    watch = httpd.watch()
    c = httpd.client()
    c.get()
    c.get()
    c.get(headers=["Connection: close"])
    httpd.client().get(version="1.0")
    watch.expect(connections=2, requests=4,
                 closes={"client_close_header": 1, "http10": 1})


@pytest.mark.parametrize("where, mpm", [("before", "prefork"),
                                        ("after", "worker"),
                                        ("after", "event")])
def test_status(where, mpm):
    conf = CONF.format(load=AFTER if where == "after" else "")
    with Httpd(mpm, conf, modules=["status"] * (where == "before"),
               extra_ports=1) as h:
        traffic(h)
        lines = auto(h)
        assert {k: int(v) for k, v in lines.items() if k in (
            "KAStatsConnections", "KAStatsRequests", "KAStatsReusedRequests",
            "KAStatsOpen", "KAStatsBusy", "KAStatsIdle", "KAStatsClosing")
        } == {"KAStatsConnections": 2, "KAStatsRequests": 4,
              "KAStatsReusedRequests": 2, "KAStatsOpen": 0, "KAStatsBusy": 0,
              "KAStatsIdle": 0, "KAStatsClosing": 0}
        closes = {k: int(v) for k, v in lines.items()
                  if k.startswith("KAStatsCloses-")}
        assert len(closes) == len(h.totals()["closes"])
        assert closes["KAStatsCloses-client_close_header"] == 1
        assert closes["KAStatsCloses-http10"] == 1
        assert sum(closes.values()) == 2
        assert float(lines["KAStatsHeldPerTimeoutSecond"]) == 0
        assert float(lines["KAStatsSavedPerTimeoutSecond"]) == 0
        page = status_of(h)
        assert "<h2>Keep-alive</h2>" in page and "Closed, http10" in page
        assert page.count("<table") == page.count("</table>")
        assert "KAStats" not in page


def test_status_shows_what_is_open():
    """One connection waits, and a timeout has cost something."""
    conf = CONF.format(load=AFTER) + "KeepAliveTimeout 20\n"
    with Httpd("event", conf, extra_ports=1) as h:
        watch = h.watch()
        c = h.client()
        c.get()
        watch.expect(requests=1, idle=1, open=1)
        lines = auto(h)
        assert lines["KAStatsOpen"] == lines["KAStatsIdle"] == "1"
        assert lines["KAStatsConnections"] == "1"
        c.close()


def test_status_without_a_segment():
    conf = CONF.format(load=AFTER) + "KAStats Off\n"
    with Httpd("event", conf, extra_ports=1) as h:
        assert not [k for k in auto(h) if k.startswith("KAStats")]
        assert "Keep-alive" not in status_of(h)

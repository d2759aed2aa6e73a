# Licensed under the Apache License, Version 2.0; see LICENSE.
"""`kaadvisor simulate` on a live segment: traffic like that which it saw."""
import pytest

import cli
from kastats_env import Client, Httpd, wait_for

CONNECTIONS, REQUESTS = 150, 3

CONFIG = """
KeepAliveTimeout 5
<IfModule mpm_event_module>
    ServerLimit 4
    StartServers 2
    ThreadsPerChild 25
    MaxRequestWorkers 100
</IfModule>
"""


def visit(httpd):
    client = Client(httpd.port)
    for _ in range(REQUESTS):
        client.get("/a.html")
    client.close()


def test_a_segment_is_drawn_from(tmp_path):
    config = tmp_path / "event.conf"
    config.write_text(CONFIG, "ascii")
    httpd = Httpd("event")
    httpd.file("a.html", "hello\n")
    with httpd:
        for _ in range(CONNECTIONS):
            visit(httpd)
        wait_for(lambda: httpd.totals()["open"] == 0, "nothing is open")
        report = cli.report("simulate", "--config", config, httpd.segment)
    run = report["runs"][0]
    assert report["traffic"]["drawn"]
    assert "segment" in report["traffic"]["how"]
    # Poisson: five standard deviations of 150 connections are 61.
    assert run["outcome"]["connections"] == pytest.approx(CONNECTIONS, abs=62)
    assert run["outcome"]["requests"] == pytest.approx(
        REQUESTS * run["outcome"]["connections"])
    assert run["outcome"]["timeout_closes"] == 0  # clients closed
    assert run["mpm"] == "event"
    assert run["wait"]["connections"] == 0

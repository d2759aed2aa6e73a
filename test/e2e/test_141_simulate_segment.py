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


@pytest.fixture(name="report", scope="module", params=(1000, 50))
def report_fixture(request, tmp_path_factory):
    """Of a segment whose ring holds all connections, or the last third."""
    config = tmp_path_factory.mktemp("simulate") / "event.conf"
    config.write_text(CONFIG, "ascii")
    httpd = Httpd("event", f"KAStatsRecent {request.param}\n")
    httpd.file("a.html", "hello\n")
    with httpd:
        for _ in range(CONNECTIONS):
            visit(httpd)
        wait_for(lambda: httpd.totals()["open"] == 0, "nothing is open")
        yield request.param, cli.report("simulate", "--config", config,
                                        httpd.segment)


def test_recent_connections_are_played_or_traffic_is_drawn(report):
    recent, report = report
    run = report["runs"][0]
    traffic = report["traffic"]
    assert traffic["drawn"] == (recent < CONNECTIONS)
    assert "segment" in traffic["how"]
    if traffic["drawn"]:
        assert "too little" in traffic["how"]
        # Poisson: five standard deviations of 150 connections are 61.
        assert run["outcome"]["connections"] == pytest.approx(CONNECTIONS,
                                                              abs=62)
    else:
        assert "rebuilt" in traffic["how"]
        assert run["outcome"]["connections"] == CONNECTIONS
    assert run["outcome"]["requests"] == pytest.approx(
        REQUESTS * run["outcome"]["connections"])
    assert run["outcome"]["timeout_closes"] == 0  # clients closed
    assert run["mpm"] == "event"
    assert run["wait"]["connections"] == 0

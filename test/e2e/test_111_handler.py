# Licensed under the Apache License, Version 2.0; see LICENSE.
"""The status handler: JSON, headers, methods."""
import json
import stat

import pytest

from kastats_env import Httpd, wait_for

CONF = """
KAStatsRecent 5
KAStatsHistory 60
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    KeepAliveTimeout 3
    MaxKeepAliveRequests 77
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName off
    KeepAlive Off
</VirtualHost>
"""


@pytest.fixture(scope="module")
def httpd():
    with Httpd("event", CONF) as h:
        yield h


def test_json(httpd):
    status, headers, body = httpd.ask("/?format=json")
    assert status == 200
    assert headers["Content-Type"] == "application/json"
    assert headers["Cache-Control"] == "no-store"
    stats = json.loads(body)
    assert stats["schema"] == "kastats/1" and stats["live"]
    assert stats["mpm"] == "event"
    assert stats["config"]["max_request_workers"] == 64
    assert stats["config"]["threads_per_child"] == 16
    assert stats["config"]["server_limit"] == 8
    assert stats["config"]["thread_limit"] == 16
    assert stats["config"]["async"]
    assert "history" not in stats and "recent" not in stats
    assert stats["started_at"] <= stats["generated_at"]


def test_vhosts_in_force(httpd):
    vhosts = {v["name"]: v for v in httpd.stats()["vhosts"]}
    v = vhosts[f"localhost:{httpd.port}"]
    assert (v["keep_alive"], v["keep_alive_timeout_s"],
            v["max_keep_alive_requests"]) == (True, 3.0, 77)
    assert not vhosts[f"off:{httpd.port}"]["keep_alive"]
    assert not vhosts[f"admin.invalid:{httpd.admin}"]["recorded"]
    assert all(v["in_force"] for v in vhosts.values())


def test_head(httpd):
    status, headers, body = httpd.ask("/?format=json", "HEAD")
    assert (status, body) == (200, b"")
    assert headers["Content-Type"] == "application/json"
    assert headers["Cache-Control"] == "no-store"


def test_other_methods(httpd):
    status, headers, _ = httpd.ask("/?format=json", "DELETE")
    assert status == 405 and "GET" in headers["Allow"]


def test_unknown_format(httpd):
    assert httpd.ask("/?format=xml")[0] == 400


@pytest.mark.parametrize("query", ["&history=-5", "&recent=-1", "&history=x",
                                   "&history=99999999999999999999",
                                   "&recent=99999999999999999999", "&&=&x="])
def test_silly_queries(httpd, query):
    stats = httpd.stats(query)
    assert len(stats.get("history", [])) <= 60
    assert len(stats.get("recent", [])) <= 5


def test_recent_is_bounded_and_latest_first(httpd):
    watch = httpd.watch()
    for n in range(1, 8):
        c = httpd.client()
        for _ in range(n):
            c.get()
        c.close()
        watch.expect(connections=n, closes={"client_closed": n})
    recent = httpd.recent(100)
    assert [r["requests"] for r in recent] == [7, 6, 5, 4, 3]
    assert len({r["client"] for r in recent}) == 1
    assert "127.0.0.1" not in json.dumps(recent)


def test_history_is_bounded_and_by_seconds(httpd):
    wait_for(lambda: len(httpd.stats("&history=1000")["history"]) >= 2,
             "two seconds")
    seconds = httpd.stats("&history=1000")["history"]
    steps = {round(b["t"] - a["t"], 3) for a, b in zip(seconds, seconds[1:])}
    assert steps == {1.0} and len(seconds) <= 60
    assert len(httpd.stats("&history=1")["history"]) == 1


def test_mode_of_the_segment(httpd):
    assert stat.S_IMODE(httpd.segment.stat().st_mode) == 0o640


def test_no_handler_unless_configured(httpd):
    c = httpd.client()
    assert c.get("/kastats?format=json")[0] == 404
    c.close()


def test_recording_off():
    """Without a segment the handler says so, and nothing else changes."""
    with Httpd("event", "KAStats Off") as h:
        assert h.ask("/?format=json")[0] == 503
        assert h.client().get()[0] == 200
        assert not h.segment.exists()


def test_more_vhosts_than_places():
    vhosts = "".join(f"<VirtualHost 127.0.0.1:{{port}}>\nServerName v{i}\n"
                     "</VirtualHost>\n" for i in range(6))
    with Httpd("event", "KAStatsVhosts 4\n" + vhosts) as h:
        watch = h.watch()
        for i in range(6):
            c = h.client()
            c.get(host=f"v{i}")
            c.close()
        watch.expect(connections=6, requests=6, closes={"client_closed": 6})
        named = {v["name"].split(":")[0]: v["requests"]
                 for v in h.stats()["vhosts"]}
        # localhost and the status port's vhost have the first two places.
        assert named["v0"] == 1 and named["(other)"] == 5

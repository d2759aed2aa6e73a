# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Requests that each child has served, by mod_kastats: who is warm, and what
a request leaves behind (M17)."""
import os

import pytest

import cli
from kastats_env import MODULES, MPMS, Httpd, wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: PSS")

CHILDREN = 8
STEP = 250  # the children serve 1, 2, 3 ... times as many requests
LEAK = 6000  # bytes that a request leaves behind; what Lua and malloc lose
ABOUT = 1.6  # between them comes on top
BATCH = 50
PREFORK = (f"StartServers {CHILDREN}\nMinSpareServers 1\n"
           f"MaxSpareServers 32\n")
CONF = """
KeepAliveTimeout 600
LuaScope thread
LuaMapHandler "^/lua$" "{root}/htdocs/serve.lua"
"""
SERVE = """
kept = kept or {{}}
function handle(r)
    local text = string.rep("x", {bytes})
    if {keep} then
        kept[#kept + 1] = text
    end
    r:puts("done")
    return apache2.OK
end
"""


def asked(client, n, path="/lua"):
    """n requests on one connection, some at a time."""
    for start in range(0, n, BATCH):
        some = min(BATCH, n - start)
        for _ in range(some):
            client.request(path)
        for _ in range(some):
            assert client.response()[0] == 200


def doctor(server):
    whole = cli.report("doctor")
    return next(h for h in whole["httpds"] if h["pid"] == server.process.pid)


def counts(server):
    return {c["pid"]: c["requests"] for c in server.stats()["children"]}


@pytest.mark.parametrize("mpm", MPMS)
def test_each_child_knows_what_it_has_served(mpm):
    with Httpd(mpm) as server:
        with_all = [server.client() for _ in range(3)]
        for i, client in enumerate(with_all):
            asked(client, 10 * (i + 1), "/index.html")
        wait_for(lambda: sum(counts(server).values()) == 60, "60 requests")
        children = {c["pid"]: c["requests"]
                    for c in doctor(server)["memory"]["processes"]}
        assert {p: n for p, n in children.items() if n} == \
            {p: n for p, n in counts(server).items() if n}
        if mpm == "prefork":
            assert sorted(children.values())[-3:] == [10, 20, 30]
        text = cli.clean(cli.run("doctor", "--verbose").out)
        assert "served by each child so far" in text
        show = cli.clean(cli.run("show", server.segment).out)
        assert "requests" in show.partition("Children")[2].splitlines()[1]
        for client in with_all:
            client.close()


def advised(server):
    """Seconds of traffic are no advice: that of the demo is."""
    return cli.report("--httpd-config", server.root / "httpd.conf",
                      "--log-format", cli.DEMO_FORMAT, cli.DEMO)


@pytest.fixture
def served(request, tmp_path):
    """Children that have served some hundred requests each, with a leak or
    without one; the clients stay, so that every child has one of its own."""
    if not os.path.exists(f"{MODULES}/mod_lua.so"):
        pytest.skip("mod_lua is not installed")
    with Httpd("prefork", CONF, ("lua",), PREFORK) as server:
        # A new script before the first request: each child reads it once.
        server.file("serve.lua", SERVE.format(
            bytes=LEAK, keep=str(request.param).lower()))
        clients = [server.client() for _ in range(CHILDREN)]
        for i, client in enumerate(clients):
            asked(client, STEP * (i + 1))
        wait_for(lambda: sum(counts(server).values()) ==
                 STEP * CHILDREN * (CHILDREN + 1) // 2, "all requests")
        yield server
        for client in clients:
            client.close()


@pytest.mark.parametrize("served", [True], indirect=True)
def test_m17_a_leak_is_measured(served):
    memory = doctor(served)["memory"]
    assert memory["warm_children"] == CHILDREN
    assert memory["trust"] == "high" and memory["remark"] is None
    leak = memory["leak"]
    assert leak["measured"] is True
    assert LEAK <= leak["bytes_per_request"] <= ABOUT * LEAK
    report = advised(served)
    fact = report["server"]["leak_bytes_per_request"]
    assert fact["value"] == pytest.approx(leak["bytes_per_request"], rel=0.02)
    assert "M17" in fact["origin"]
    unique = report["server"]["process_unique_bytes"]["value"]
    row = next(r for r in report["advice"]
               if r["directive"] == "MaxConnectionsPerChild")
    # A fifth of its size, in connections of some hundred requests each.
    requests = 0.2 * unique / fact["value"]
    assert 1 <= int(row["to"]) <= requests
    assert "(R9)" in row["because"] and "leaves" in row["because"]
    assert "memory_not_measured" not in {w["id"] for w in report["warnings"]}


@pytest.mark.parametrize("served", [False], indirect=True)
def test_m17_no_leak_is_none(served):
    memory = doctor(served)["memory"]
    assert memory["trust"] == "high"
    assert memory["leak"]["measured"] is False
    report = advised(served)
    assert report["server"]["leak_bytes_per_request"]["value"] == 0
    row = next(r for r in report["advice"]
               if r["directive"] == "MaxConnectionsPerChild")
    assert row["to"] == "0" and "No leak was measured" in row["because"]

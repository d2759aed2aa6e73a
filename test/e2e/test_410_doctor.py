# Licensed under the Apache License, Version 2.0; see LICENSE.
"""`kaadvisor doctor` on private httpds, and the model of their spawning."""
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import time

import pytest

import cli
from httpd import MPMS, LogHttpd, Peer, wait_for
from spawning import model

# PSS of such small servers moves when another process that has the same
# libraries comes or goes; the doctor itself is one.
LIBRARIES = 512 * 1024
HELD = 3  # idle connections while the doctor looks
KEEP = "KeepAlive On\nKeepAliveTimeout 100\n"


def children_of(pid):
    """Pids of the children, by /proc itself."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.add(int(entry.name))
    return found


def smaps(pid):
    """PSS and USS in bytes."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    kb = {k: int(v) for k, v in re.findall(r"^(\w+):\s+(\d+) kB", text, re.M)}
    return kb["Pss"] * 1024, (kb["Private_Clean"] + kb["Private_Dirty"]) * 1024


def doctor(pid, **kwargs):
    """The object of this httpd, and the whole."""
    whole = cli.report("doctor", **kwargs)
    mine = [h for h in whole["httpds"] if h["pid"] == pid]
    assert len(mine) == 1, whole["httpds"]
    return mine[0], whole


def limit(server, name):
    return next(row for row in server["limits"] if row["id"] == name)


def settle(h, wanted=None):
    """Waits until no child has come or gone for longer than the second that
    lies between two looks of httpd's at them."""
    known, since = None, 0.0

    def still():
        nonlocal known, since
        now, children = time.monotonic(), children_of(h.process.pid)
        if children != known:
            known, since = children, now
        return known and now - since > 1.2 and wanted in (None, len(known))

    wait_for(still, f"{wanted or 'no more'} children")


@pytest.fixture(params=MPMS)
def server(request):
    with LogHttpd(request.param, KEEP) as h:
        settle(h)
        yield h


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@needs_root
def test_memory_adds_up(server):
    """M14: shared once + n x unique is what all of them take."""
    pid = server.process.pid
    mine, _ = doctor(pid)
    memory = mine["memory"]
    all_pids = children_of(pid)
    pss = sum(smaps(p)[0] for p in all_pids | {pid})
    uss = sum(smaps(p)[1] for p in all_pids)
    assert memory["known"] and memory["measure"] == "smaps_rollup"
    assert memory["children"] == len(all_pids)
    total = (memory["shared_bytes"]
             + memory["children"] * memory["unique_bytes"])
    assert total == pytest.approx(pss, rel=0.05, abs=LIBRARIES)
    assert memory["unique_bytes"] == pytest.approx(uss / len(all_pids),
                                                   rel=0.05, abs=65536)
    # Young children: said, with how long to wait or what to do.
    assert memory["warm_children"] == 0
    assert memory["trust"] == "low"
    assert "are warm" in memory["remark"]
    assert memory["leak"]["measured"] is False


@needs_root
def test_budget_is_never_more_than_there_is(server):
    mine, whole = doctor(server.process.pid)
    budget = mine["budget"]
    total = whole["host"]["memory"]["total_bytes"]
    assert 0 < budget["bytes"] < total
    for bound in budget["bounds"]:
        assert bound["others_bytes"] + bound["headroom_bytes"] \
            + bound["bytes"] <= bound["limit_bytes"]
        assert budget["bytes"] <= bound["bytes"]
    memory = mine["memory"]
    need = memory["shared_bytes"] + budget["children"] * memory["unique_bytes"]
    assert need <= budget["bytes"] < need + memory["unique_bytes"]


@needs_root
def test_limits_of_the_running_children(server):
    pid = server.process.pid
    peers = [Peer(server.port) for _ in range(HELD)]
    for peer in peers:
        peer.get()
    mine, whole = doctor(pid)
    child = min(children_of(pid))
    text = pathlib.Path(f"/proc/{child}/limits").read_text()
    files = int(re.search(r"^Max open files\s+(\d+)", text, re.M)[1])
    assert limit(mine, "files")["capacity"] == files
    assert 0 < limit(mine, "files")["value"] < files
    assert limit(mine, "established")["value"] == HELD
    assert limit(mine, "listen_queue")["value"] == 0
    assert limit(mine, "somaxconn")["value"] == 511
    # A connection holds a worker on prefork and worker, not on event.
    assert limit(mine, "established")["capacity"] == {
        "prefork": 32, "worker": 64, "event": None}[server.mpm]
    somaxconn = pathlib.Path("/proc/sys/net/core/somaxconn").read_text()
    assert limit(mine, "somaxconn")["capacity"] == int(somaxconn)
    assert {row["verdict"] for row in mine["limits"]} <= {"ok", "near", "bad"}
    for row in mine["limits"]:
        assert (row["remedy"] is None) == (row["verdict"] == "ok")
        assert row["origin"]
    load = float(pathlib.Path("/proc/loadavg").read_text().split()[1])
    row = limit(whole["host"], "load")
    assert row["value"] * os.cpu_count() == pytest.approx(load, abs=1)
    for peer in peers:
        peer.close()


def test_settings_with_their_origin(server):
    settings = doctor(server.process.pid)[0]["settings"]
    assert settings["mpm"]["value"] == server.mpm
    assert settings["keep_alive_timeout_s"]["value"] == 100
    assert str(server.root) in settings["keep_alive_timeout_s"]["origin"]
    assert settings["keep_alive_timeout_s"]["assumed"] is False
    assert settings["listen_backlog"]["value"] == 511


def test_text(server):
    text = cli.clean(cli.run("doctor").out)
    assert f"pid {server.process.pid}" in text
    assert "Limits of this host" in text
    assert max(map(len, text.splitlines())) <= 80


@needs_root
def test_without_root_it_says_what_it_cannot_see(server, tmp_path):
    nobody = pwd.getpwnam("nobody")
    directory = pathlib.Path(server.root) / "run"
    binary = directory / "kaadvisor"
    shutil.copy(cli.KAADVISOR, binary)
    binary.chmod(0o755)
    done = subprocess.run([binary, "doctor", "--output", "json"],
                          user=nobody.pw_uid, group=nobody.pw_gid,
                          extra_groups=[], capture_output=True, cwd="/",
                          timeout=cli.PATIENCE, env=cli.environment(),
                          check=False)
    assert done.returncode == 0, done.stderr
    whole = json.loads(done.stdout)
    mine = next(h for h in whole["httpds"] if h["pid"] == server.process.pid)
    assert mine["memory"]["measure"] == "rss"
    assert mine["memory"]["known"] is False
    assert mine["memory"]["unique_bytes"] is None
    assert mine["budget"]["children"] is None
    assert any("run as root" in m["help"] for m in whole["missing"]
               if m["pid"] == server.process.pid)


def test_wrong_usage():
    assert "doctor has no configuration" in cli.fails(
        2, "doctor", "--output", "conf")
    assert "takes no SOURCE" in cli.fails(2, "doctor", "/dev/null")


# ---- M15: the model of spawning against httpd ------------------------------

BURST = 40

# Threads, StartServers, MinSpare, MaxSpare, MaxRequestWorkers; children that
# come one second after the other.
SPAWNING = {"prefork": ((1, 5, 5, 10, 80), [1, 2, 4, 8, 16, 32]),
            "worker": ((4, 2, 8, 16, 80), [1, 2, 4, 8]),
            "event": ((4, 2, 8, 16, 80), [1, 2, 4, 8])}

SPAWN_CONF = {"prefork": "StartServers {1}\nMinSpareServers {2}\n"
                         "MaxSpareServers {3}\nServerLimit {4}\n"
                         "MaxRequestWorkers {4}\n"}
SPAWN_CONF["worker"] = SPAWN_CONF["event"] = (
    "ServerLimit 20\nThreadLimit {0}\nThreadsPerChild {0}\n"
    "StartServers {1}\nMinSpareThreads {2}\nMaxSpareThreads {3}\n"
    "MaxRequestWorkers {4}\n")


def started(counts):
    """Children started in each second in which some are."""
    steps = [b - a for a, b in zip(counts, counts[1:])]
    return [n for n in steps if n > 0]


def watch_steps(pid, enough):
    """Children that httpd starts: all of a second at once, then it sleeps."""
    steps, known, last = [], len(children_of(pid)), 0.0

    def settled():
        nonlocal known, last
        now, n = time.monotonic(), len(children_of(pid))
        if n > known:
            if steps and now - last < 0.5:
                steps[-1] += n - known
            else:
                steps.append(n - known)
            last = now
        known = max(known, n)
        return known >= enough and now - last > 1.5

    wait_for(settled, f"{enough} children")
    return steps


@pytest.mark.parametrize("mpm", MPMS)
def test_spawning_is_as_the_model_says(mpm, tmp_path):
    numbers, expected = SPAWNING[mpm]
    threads, start, spare = numbers[:3]
    children = [s.children
                for s in model(tmp_path, mpm, numbers, [BURST] * 12)]
    assert started(children) == expected
    with LogHttpd(mpm, KEEP, mpm_conf=SPAWN_CONF[mpm].format(*numbers)) as h:
        pid = h.process.pid
        settle(h, start)
        peers = [Peer(h.port) for _ in range(BURST)]
        for peer in peers:
            peer.send("GET /index.html HTTP/1.1\r\n")  # holds on any MPM
        steps = watch_steps(pid, (BURST + spare) // threads)
        for peer in peers:
            peer.send("Host: localhost\r\n\r\n")
            assert peer.response()[0] == 200
            peer.close()
    # What a child that is late takes, or a connection that is, can put off a
    # step by a second: then one of the same size, or of 1, comes between.
    assert abs(len(steps) - len(expected)) <= 1, steps
    assert abs(sum(steps) - sum(expected)) <= max(expected), steps
    assert all(b in (1, a, 2 * a) or b == steps[-1]
               for a, b in zip(steps, steps[1:])), steps
    assert max(steps) <= 32
    print(mpm, steps)

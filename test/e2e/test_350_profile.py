# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Profiles: parts add up to the whole, in any order; advice from them is the
logs' own; groups; map and reduce by other programs."""
import gzip
import itertools
import json
import os
import shutil
import subprocess

import pytest

import cli
from profiles import (
    BIN,
    FORMATS,
    HOSTS,
    advice,
    halves,
    log_args,
    log_of,
    profile,
    profile_file,
    profile_log,
    sides)

# ---- parts and the whole ---------------------------------------------------

HELD = ("idle_mean", "busy_mean", "held_mean", "held_p999", "held_peak",
        "connections", "workers_needed")


def assert_timeouts_alike(part_sum, whole, cuts=1, longest=60):
    """Connections that are open at a cut count twice: as many as are held at
    once, at most."""
    assert [t["timeout_s"] for t in part_sum["timeouts"]] == \
        [t["timeout_s"] for t in whole["timeouts"]]
    for a, b in zip(part_sum["timeouts"], whole["timeouts"]):
        if b["timeout_s"] > longest:
            continue
        for key in HELD:
            for x, y, peak in zip(sides(a[key]), sides(b[key]),
                                  sides(b["held_peak"])):
                more = cuts * peak if key == "connections" else 1
                assert x == pytest.approx(y, rel=BIN, abs=more), \
                    (a["timeout_s"], key)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("cut", (0.5, 0.1))
def test_two_halves_are_the_whole(kind, cut):
    data = log_of(kind)
    whole = advice(profile_log(data, kind))
    parts = [profile_log(half, kind) for half in halves(data, cut)]
    both = advice(b"".join(parts))
    assert both["host"] == whole["host"] == "web1"
    assert both["traffic"]["requests"] == whole["traffic"]["requests"] == \
        data.count(b"\n")
    for key in ("lines", "parsed", "skipped", "identity"):
        assert both["source"][key] == whole["source"][key]
    assert both["traffic"]["clients"] == whole["traffic"]["clients"] == 30
    assert both["traffic"]["window_s"] == pytest.approx(
        whole["traffic"]["window_s"], rel=0.01)
    assert both["traffic"]["classes"]["static"]["requests"] == \
        whole["traffic"]["classes"]["static"]["requests"]
    assert_timeouts_alike(both, whole)


def rows(report):
    """What is proposed.  A profile tells how long connections were under T0,
    a log how long they would be; and it keeps no single seconds, on which
    httpd's spawning is run: what goes by these may differ."""
    return [(a["directive"], a["to"]) for a in report["advice"]
            if a["directive"] not in (
                "MaxKeepAliveRequests", "StartServers", "MinSpareServers",
                "MaxSpareServers")]


@pytest.mark.parametrize("kind", FORMATS)
def test_advice_on_a_profile_is_that_on_its_log(kind, tmp_path):
    path = tmp_path / "access.log"
    path.write_bytes(log_of(kind))
    mine = ("--mpm", "prefork", "--memory", "4G", "--process-memory", "20M")
    direct = cli.report(*log_args(kind), *mine, path)
    via = advice(profile_log(log_of(kind), kind), *mine)
    assert via["verdict"]["text"] == direct["verdict"]["text"]
    assert rows(via) == rows(direct)
    for key in ("requests", "connections", "requests_per_s", "gap_s",
                "service_s", "clients"):
        assert via["traffic"][key] == direct["traffic"][key]
    for a, b in zip(via["timeouts"], direct["timeouts"]):
        assert a["connections"] == b["connections"]
        for key in HELD[:5]:
            for x, y in zip(sides(a[key]), sides(b[key])):
                assert x == pytest.approx(y, rel=1e-3, abs=0.01)
    assert_timeouts_alike(via, direct, cuts=0, longest=300)


EXCERPTS = (("demo.log", cli.DEMO_FORMAT), ("site-combined.log", "combined"),
            ("vhost-combined.log", "vhost_combined"),
            ("nasa-common.log", "common"), ("ssl_request.log", "ssl_request"),
            ("preconnects.log", "combined"))


@pytest.mark.parametrize("name,log_format", EXCERPTS)
def test_halves_of_real_logs(name, log_format):
    data = (cli.DATA / name).read_bytes()

    def of(part):
        return profile("--log-format", log_format, "--host", "h", "-",
                       stdin=part)

    whole, both = advice(of(data)), advice(b"".join(map(of, halves(data))))
    assert both["traffic"]["requests"] == whole["traffic"]["requests"]
    assert both["traffic"]["excluded"] == whole["traffic"]["excluded"]
    for key in ("lines", "parsed", "skipped"):
        assert both["source"][key] == whole["source"][key]


def hourly_parts(kind="combined"):
    """Five parts of three hosts, each a line."""
    parts = []
    for seed, host in enumerate(HOSTS, 1):
        data = log_of(kind, seed, 20 * seed, 3600)
        cuts = halves(data) if seed < 3 else (data,)
        parts += [profile_log(cut, kind, host) for cut in cuts]
    return parts


def test_order_and_grouping_do_not_matter():
    parts = hourly_parts()
    whole = profile("-", stdin=b"".join(parts))
    assert [json.loads(line)["host"] for line in whole.splitlines()] == \
        list(HOSTS)
    for order in itertools.islice(itertools.permutations(parts), 0, 120, 17):
        assert profile("-", stdin=b"".join(order)) == whole
        left = profile("-", stdin=b"".join(order[:2]))
        right = profile("-", stdin=b"".join(order[2:]))
        assert profile("-", stdin=right + left) == whole
        assert profile("-", stdin=left + right) == whole
    assert profile("-", stdin=whole) == whole


def test_threads_do_not_matter(tmp_path):
    path = tmp_path / "access.log"
    path.write_bytes(log_of("combined"))
    one = profile("--host", "h", "--threads", "1", path)
    assert profile("--host", "h", "--threads", "2", path) == one


# ---- groups -----------------------------------------------------------------

@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    root = tmp_path_factory.mktemp("fleet")
    for seed, host in enumerate(HOSTS, 1):
        (root / f"{host}.log").write_bytes(
            log_of("combined", seed, 20 * seed, 3600))
    return root


def profiles_of(fleet, tmp_path, *args):
    paths = []
    for host in HOSTS:
        path = tmp_path / f"{host}.kap"
        assert profile("--host", host, *args, fleet / f"{host}.log", "-o",
                       path) == b""
        paths.append(path)
    return paths


def test_a_group_gives_advice_for_each_and_for_all(fleet, tmp_path):
    paths = profiles_of(fleet, tmp_path, "--mpm", "event")
    report = cli.report("--threads-per-child", "25", *reversed(paths))
    assert report["source"]["kind"] == "profile"
    assert "host" not in report or report["host"] is None
    assert [h["host"] for h in report["hosts"]] == list(HOSTS)
    assert report["traffic"]["requests"] == sum(
        h["traffic"]["requests"] for h in report["hosts"])
    for host, path in zip(report["hosts"], paths):
        alone = cli.report("--threads-per-child", "25", path)
        assert alone["host"] == host["host"]
        assert alone["verdict"]["text"] == host["verdict"]["text"]
        assert alone["traffic"] == host["traffic"]
        assert alone["timeouts"] == host["timeouts"]
        assert host["server"]["mpm"]["value"] == "event"
        assert f"profile of {host['host']}: " in host["server"]["mpm"]["origin"]
        assert host["server"]["threads_per_child"]["origin"] == \
            "option --threads-per-child"


def test_text_and_conf_of_a_group(fleet, tmp_path):
    paths = profiles_of(fleet, tmp_path)
    text = cli.done(*paths)
    for host in HOSTS:
        assert host in text
    assert "KeepAliveTimeout" in cli.done("--output", "conf", "--mpm", "event",
                                          *paths)
    assert "Requests" in cli.done("show", *paths)
    shown = json.loads(cli.done("show", "--output", "json", *paths))
    assert shown["traffic"]["requests"] > 0


def test_one_profile_of_several_hosts_is_the_same_group(fleet, tmp_path):
    paths = profiles_of(fleet, tmp_path)
    apart = cli.report(*paths)
    both = cli.report(profile_file(tmp_path, "all.kap",
                                   profile(*reversed(paths))))
    for report in (apart, both):
        del report["generated_at"]
        report["source"]["files"] = None
        for host in report["hosts"]:
            host["source"]["files"] = None
    assert apart == both


# ---- map and reduce by other programs ----------------------------------------

def parallel(*args, stdin=b"", **env):
    if not shutil.which("parallel"):
        pytest.skip("no GNU parallel here")
    path = f"{cli.KAADVISOR.parent}:{os.environ.get('PATH', '')}"
    return subprocess.run(args, input=stdin, capture_output=True,
                          timeout=cli.PATIENCE, check=False,
                          env=cli.environment(PATH=path, HOME="/nonexistent",
                                              PARALLEL_SHELL="/bin/sh", **env))


SSH = """#!/bin/sh
# Stands in for ssh: each server is a directory.
cd {fleet}/$1 || exit 255
shift
exec /bin/sh -c "$*"
"""


def stand_in(tmp_path):
    """Servers as directories, with rotated logs, and an ssh to get there."""
    for seed, host in enumerate(HOSTS, 1):
        (tmp_path / host).mkdir()
        first, second = halves(log_of("combined", seed, 20 * seed, 3600))
        (tmp_path / host / "access.log.1.gz").write_bytes(gzip.compress(first))
        (tmp_path / host / "access.log").write_bytes(second)
    ssh = tmp_path / "ssh"
    ssh.write_text(SSH.format(fleet=tmp_path), "ascii")
    ssh.chmod(0o755)
    return str(ssh)


SAMPLE = cli.ROOT / "conf-samples" / "profile-fleet.sh"


def test_sample_for_parallel(tmp_path):
    ssh = stand_in(tmp_path)
    out = tmp_path / "profiles"
    done = parallel(SAMPLE, out, *HOSTS, SSH=ssh, LOG="access.log*",
                    OPTIONS="--mpm event", JOBS="2")
    assert done.returncode == 0, done.stderr.decode()
    assert sorted(p.name for p in out.iterdir()) == \
        ["fleet.kap", *(f"{host}.kap" for host in HOSTS)]
    text = done.stdout.decode("ascii")
    assert all(host in text for host in HOSTS)
    whole = cli.report(out / "fleet.kap")
    assert [h["host"] for h in whole["hosts"]] == list(HOSTS)
    for seed, host in enumerate(whole["hosts"], 1):
        assert host["traffic"]["requests"] == \
            log_of("combined", seed, 20 * seed, 3600).count(b"\n")
        assert host["server"]["mpm"]["value"] == "event"


def test_sample_names_the_server_that_failed(tmp_path):
    ssh = stand_in(tmp_path)
    out = tmp_path / "profiles"
    done = parallel(SAMPLE, out, "web1", "web7", SSH=ssh, LOG="access.log*")
    assert done.returncode == 1
    assert b"web7: no profile" in done.stderr
    assert sorted(p.name for p in out.iterdir()) == ["fleet.kap", "web1.kap"]
    assert done.stdout.startswith(b"web1")


def test_parallel_cuts_one_log(tmp_path):
    """Blocks of whole lines to as many profiles, and those to one report."""
    data = log_of("combined")
    done = parallel("parallel", "--pipe", "--block", "1M", "-j2",
                    "kaadvisor profile --host web1 --log-format combined -",
                    stdin=data)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.count(b"\n") > 3
    report = advice(done.stdout)
    assert report["host"] == "web1"
    assert report["traffic"]["requests"] == data.count(b"\n")
    whole = advice(profile_log(data))
    assert_timeouts_alike(report, whole, done.stdout.count(b"\n") - 1,
                          longest=5)

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Profiles: parts add up to the whole, in any order; advice from them is the
logs' own; foreign files are refused."""
import bz2
import functools
import gzip
import itertools
import json
import lzma
import os
import shutil
import subprocess

import pytest

import browsing
import cli

HOURS = 1.2
BIN = 1 / 16  # what a histogram tells values apart by
SCHEMA = "kaadvisor-profile/1"
FORMATS = {"combined": browsing.combined, "kastats": browsing.kastats}
HOSTS = ("web1", "web2", "web3")


@functools.cache
def log_of(kind, seed=1, clients=30, seconds=int(HOURS * 3600)):
    return FORMATS[kind](seed, seconds, clients).encode()


def profile(*args, stdin=b"", **kwargs):
    """The bytes of a profile that must come about."""
    result = cli.run("profile", *args, stdin=stdin, **kwargs)
    assert result.status == 0, result.err.decode()
    for line in result.out.splitlines(True):
        assert line.endswith(b"\n") and len(line) <= 1_000_000
        assert json.loads(line)["schema"] == SCHEMA
    return result.out


def log_args(kind):
    return ("--log-format", kind, "--timeout", "5")


def profile_log(data, kind="combined", host="web1"):
    return profile(*log_args(kind), "--host", host, "-", stdin=data)


def halves(data, cut=0.5):
    lines = data.splitlines(True)
    n = int(len(lines) * cut)
    return b"".join(lines[:n]), b"".join(lines[n:])


def advice(data, *args):
    """The report on a profile that comes from standard input."""
    return cli.report("advise", *args, "-", stdin=data)


def sides(value):
    if isinstance(value, dict):
        return [value["low"], value["high"]]
    return [] if value is None else [value]


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
    a log how long they would be: what goes by that may differ."""
    return [(a["directive"], a["to"]) for a in report["advice"]
            if a["directive"] != "MaxKeepAliveRequests"]


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


def profile_file(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    return path


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


# ---- streams and files --------------------------------------------------------

PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", PACKED)
def test_compressed_profiles(kind, tmp_path):
    data = profile_log(log_of("combined"))
    packed = PACKED[kind](data)
    assert profile("-", stdin=packed) == data
    assert profile(profile_file(tmp_path, "a.kap." + kind, packed)) == data
    assert advice(packed)["host"] == "web1"


def test_standard_input_as_a_file_and_through_dev_fd(tmp_path):
    data = profile_log(log_of("combined"))
    path = profile_file(tmp_path, "a.kap", data)
    with open(path, "rb") as stream:
        done = subprocess.run([cli.KAADVISOR, "profile", "-"], stdin=stream,
                              capture_output=True, timeout=cli.PATIENCE,
                              check=True, env=cli.environment())
    assert done.stdout == data
    done = subprocess.run(
        ["bash", "-c", f"{cli.KAADVISOR} profile <(cat {path})"],
        capture_output=True, timeout=cli.PATIENCE, check=True,
        env=cli.environment())
    assert done.stdout == data


def test_a_slow_writer_is_waited_for(tmp_path):
    data = profile_log(log_of("combined"))
    path = profile_file(tmp_path, "a.kap", data)
    done = subprocess.run(
        ["sh", "-c", f"(head -c 7 {path}; sleep 0.1; tail -c +8 {path}) | "
                     f"{cli.KAADVISOR} profile -"],
        capture_output=True, timeout=cli.PATIENCE, check=False,
        env=cli.environment())
    assert done.stdout == data, done.stderr


def test_a_log_and_profiles_in_one_call(tmp_path):
    first, second = halves(log_of("combined"))
    kap = profile_file(tmp_path, "first.kap", profile_log(first))
    log = profile_file(tmp_path, "second.log", second)
    one = profile(*log_args("combined"), "--host", "web1", kap, log)
    two = profile("-", stdin=profile_log(first) + profile_log(second))
    assert one == two


def test_a_file_named_twice_is_read_once(tmp_path):
    data = profile_log(log_of("combined"))
    path = profile_file(tmp_path, "a.kap", data)
    (tmp_path / "b.kap").symlink_to(path)
    assert profile(path, tmp_path / "b.kap", path) == data
    note = advice(data + data)["source"]["identity_note"]
    assert "the parts of web1 cover the same time more than once" in note


def test_the_machine_is_the_host_unless_named(tmp_path):
    path = profile_file(tmp_path, "a.log", log_of("combined"))
    assert json.loads(profile(path))["host"] == os.uname().nodename


def test_output_is_whole_or_not_at_all(tmp_path):
    out = profile_file(tmp_path, "out.kap", b"before")
    bad = profile_file(tmp_path, "bad.kap", b'{"schema":"kaadvisor-profile/1"')
    cli.fails(1, "profile", bad, "-o", out)
    assert out.read_bytes() == b"before"
    cli.fails(1, "profile", cli.DEMO, "-o", tmp_path / "no" / "x.kap",
              "--log-format", cli.DEMO_FORMAT)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.kap", "out.kap"]


def test_facts_stay_with_the_profile(tmp_path):
    facts = ("--mpm", "prefork", "--memory", "2G", "--process-memory", "16M",
             "--max-request-workers", "150", "--max-keepalive-requests", "100")
    data = profile("--host", "w", *log_args("combined"), *facts, "-",
                   stdin=log_of("combined"))
    server = advice(data)["server"]
    assert server["mpm"]["value"] == "prefork"
    assert server["mpm"]["origin"] == "profile of w: option --mpm"
    assert server["memory_limit_bytes"]["value"] == 2 << 30
    assert server["max_request_workers"]["value"] == 150
    assert server["keep_alive_timeout_s"]["value"] == 5
    mine = advice(data, "--mpm", "event", "--timeout", "8")
    assert mine["server"]["mpm"]["origin"] == "option --mpm"
    assert mine["formula"]["timeout_s"] == 8
    assert "the KeepAliveTimeout of 5s that they were counted with" in \
        mine["source"]["identity_note"]


def test_many_vhosts_fit(tmp_path):
    data = browsing.combined(3, 400, 600, vhosts=400).encode()
    path = profile_file(tmp_path, "a.log", data)
    line = profile("--host", "w", "--log-format", "vhost_combined", path)
    assert len(json.loads(line)["vhosts"]) > 30
    assert advice(line)["traffic"]["requests"] == data.count(b"\n")


# ---- refusals ------------------------------------------------------------------

def refused(data, *args, command="profile"):
    text = cli.fails(1, command, *args, "-", stdin=data)
    assert text.count("\n") == 1
    return text


def spoilt(**changes):
    line = json.loads(_sound())
    line.update(changes)
    return json.dumps(line).encode() + b"\n"


@functools.cache
def _sound():
    return profile_log(log_of("combined"))


HOSTILE = {
    "truncated": (lambda: _sound()[:5000], "no whole line of JSON"),
    "other schema": (lambda: spoilt(schema="kaadvisor-profile/2"),
                     'reads "kaadvisor-profile/1"'),
    "a report": (lambda: spoilt(schema="kaadvisor/1"), "it is no profile"),
    "negative": (lambda: spoilt(lines=-1), '"lines": expected a whole number'),
    "huge": (lambda: spoilt(lines=1 << 70), "no whole line of JSON"),
    "fraction": (lambda: spoilt(requests=1.5), '"requests": expected'),
    "wrong type": (lambda: spoilt(low=[]), '"low": expected an object'),
    "bin": (lambda: spoilt(per_second=[560, 1, 1]),
            '"per_second[0]": expected a step to a bin that is'),
    "sum": (lambda: spoilt(requests=1), '"requests": expected as many'),
    "host": (lambda: spoilt(host="x" * 256), '"host": expected a name'),
    "not UTF-8": (lambda: _sound().replace(b"web1", b"we\xffb", 1),
                  "no whole line of JSON"),
    "long line": (lambda: _sound()[:-2] + b',"x":"' + b"y" * 100_000_000,
                  "longer than 8 MB"),
    "packed long line": (
        lambda: gzip.compress(_sound()[:-2] + b" " * 100_000_000, 1),
        "longer than 8 MB"),
    "deep": (lambda: b'{"schema":"kaadvisor-profile/1","x":' + b"[" * 100_000,
             "no whole line of JSON"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("command", ("profile", "advise", "show"))
def test_hostile_files_are_refused(name, command):
    data, words = HOSTILE[name]
    text = refused(_sound() + data() if name != "packed long line" else data(),
                   command=command)
    assert words in text
    assert text.startswith("kaadvisor: standard input:")


def test_cut_archives_are_refused():
    for command in ("profile", "advise"):
        assert "cut or damaged" in cli.fails(
            1, command, "-", stdin=gzip.compress(_sound())[:-9])


@pytest.mark.parametrize("option", (("--since", "2026-01-01"),
                                    ("--until", "2026-01-01"),
                                    ("--vhost", "a"),
                                    ("--log-format", "combined")))
@pytest.mark.parametrize("command", ("profile", "advise", "show"))
def test_options_of_logs_are_refused(command, option):
    text = refused(_sound(), *option, command=command)
    assert f"-: {option[0]} is for logs" in text


def test_other_sources_are_refused(tmp_path):
    log = profile_file(tmp_path, "a.log", log_of("combined"))
    kap = profile_file(tmp_path, "a.kap", _sound())
    text = cli.fails(1, kap, log)
    assert f"{kap} is a profile, and {log} is none" in text
    text = cli.fails(1, "profile", "http://127.0.0.1:9090")
    assert "`kaadvisor advise http://127.0.0.1:9090`" in text
    assert "--host" in cli.fails(1, "profile", "--host", "a b", log)
    assert "no SOURCE" in cli.fails(2, "profile")
    assert "cannot be opened" in cli.fails(1, "profile", tmp_path / "none")
    assert "has no option --output" in cli.fails(2, "profile", "--output",
                                                 "json", log)


def test_help_tells_of_it():
    text = cli.done("profile", "--help")
    for word in ("--host NAME", "--threads N", "at\nmost 1 MB", "parallel"):
        assert word in text
    assert "profile " in cli.done("--help")

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Profiles as files and streams: any compression, whole or not at all; foreign
ones are refused."""
import bz2
import functools
import gzip
import json
import lzma
import os
import subprocess

import pytest

import browsing
import cli
from profiles import (
    advice,
    halves,
    log_args,
    log_of,
    profile,
    profile_file,
    profile_log)

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

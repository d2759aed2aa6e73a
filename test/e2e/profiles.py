# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Profiles for tests: made of seeded logs, of parts of them, as files."""
import functools
import json

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


def profile_file(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    return path

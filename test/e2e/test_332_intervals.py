# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Intervals (MODEL 6): beside the numbers, the same however a log is read, and
a reason where there are none."""
import json

import cli

CI = ("connections_ci", "reuse_ci", "idle_mean_ci", "held_mean_ci",
      "workers_needed_ci")


def numbers(timeout, key):
    """The number that an interval is of, as its two ends."""
    value = timeout[key.removesuffix("_ci")]
    if isinstance(value, dict):
        return value["low"], value["high"]
    return value, value


def test_332_intervals_of_a_log_that_is_kept():
    r = cli.report(cli.DEMO, "--log-format", cli.DEMO_FORMAT,
                   "--timeout", "15", "--mpm", "prefork")
    intervals = r["intervals"]
    assert intervals["level"] == 0.9
    # 52 addresses in 64 groups.
    assert 20 <= intervals["visitor_groups"] <= 52
    assert 12 <= intervals["time_blocks"] <= 26
    for timeout in r["timeouts"]:
        for key in CI:
            ci, (low, high) = timeout[key], numbers(timeout, key)
            assert ci["level"] == 0.9
            # A tail within one block, no reuse at all: then nothing varies.
            assert ci["low"] <= high and low <= ci["high"], key
        assert timeout["connections_ci"]["low"] < timeout["connections"]
    text = cli.done(cli.DEMO, "--log-format", cli.DEMO_FORMAT, "--timeout",
                    "15", "--mpm", "prefork")
    text = " ".join(text.split())
    assert "(90% intervals): now opened +-" in text
    assert "90% interval)" in text.split("Proposed settings")[0]


def test_332_the_same_with_any_threads_and_from_stdin(tmp_path):
    log = tmp_path / "access.log"
    log.write_text("".join(
        cli.combined(1, start=i * 17 // 10, client=f"192.0.2.{i * i % 250}")
        for i in range(6000)))
    one = cli.report(log, "--timeout", "5", "--threads", "1")
    assert one["intervals"]["time_blocks"] > 6
    assert one["timeouts"][5]["connections_ci"]
    other = cli.report(log, "--timeout", "5", "--threads", "3")
    assert other["timeouts"] == one["timeouts"]
    assert other["intervals"] == one["intervals"]
    piped = cli.report("-", "--timeout", "5", stdin=log.read_bytes())
    assert piped["timeouts"] == one["timeouts"]
    assert piped["intervals"] == one["intervals"]


def test_332_a_profile_keeps_what_they_need(tmp_path):
    how = ("--log-format", cli.DEMO_FORMAT, "--timeout", "15")
    profile = tmp_path / "demo.profile"
    cli.done("profile", cli.DEMO, *how, "--host", "www", "-o", profile)
    log, r = cli.report(cli.DEMO, *how), cli.report(profile)
    assert r["intervals"]["visitor_groups"] == \
        log["intervals"]["visitor_groups"]
    for ours, theirs in zip(r["timeouts"], log["timeouts"], strict=True):
        for key in CI[:4]:
            one, other = (t[key]["high"] - t[key]["low"]
                          for t in (ours, theirs))
            # Its blocks are of whole hours.
            assert 0.5 * other <= one <= 2 * other + 1e-9, key

    # A fleet: one of twice the time, whose blocks hold both servers.
    other = tmp_path / "other.profile"
    cli.done("profile", cli.DEMO, *how, "--host", "www2", "-o", other)
    both = cli.report(profile, other)
    assert both["intervals"]["time_blocks"] == \
        r["intervals"]["time_blocks"]
    assert both["intervals"]["visitor_groups"] == \
        r["intervals"]["visitor_groups"]
    five = next(t for t in both["timeouts"] if t["timeout_s"] == 5)
    assert five["connections_ci"]["low"] < five["connections"] \
        < five["connections_ci"]["high"]


def test_332_none_and_why(tmp_path):
    profile = tmp_path / "old.profile"
    cli.done("profile", cli.DEMO, "--log-format", cli.DEMO_FORMAT, "--timeout",
             "15", "--host", "www", "-o", profile)
    line = json.loads(profile.read_text())
    del line["sample"]
    profile.write_text(json.dumps(line) + "\n")
    r = cli.report(profile)
    assert r["intervals"]["level"] is None
    assert "`kaadvisor profile` of this version" in r["intervals"]["why_not"]
    assert all(t[key] is None for t in r["timeouts"] for key in CI)

    few = tmp_path / "few.log"
    few.write_text(cli.combined(500, clients=3))
    r = cli.report(few, "--timeout", "5")
    assert "less than an hour" in r["intervals"]["why_not"]
    text = cli.done(few, "--timeout", "5", "--verbose")
    assert "No intervals: there are fewer than 6 groups" in " ".join(
        text.split())

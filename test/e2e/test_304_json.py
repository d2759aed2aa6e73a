# Licensed under the Apache License, Version 2.0; see LICENSE.
"""The JSON of `advise`: every key of the contract, with its type."""
import datetime
import re

import pytest

import cli

DEMO = ("--log-format", cli.DEMO_FORMAT, cli.DEMO)
FULL = ("--mpm", "prefork", "--timeout", "15", "--memory", "2G",
        "--process-memory", "16M", "--max-request-workers", "150",
        "--max-keepalive-requests", "100", *DEMO)

NUMBER = "number"
TIME = "time"
OPTIONAL = "optional"


class Any:
    """A value of one of some kinds; null only where it is listed."""

    def __init__(self, *kinds):
        self.kinds = kinds

    def check(self, value, where):
        assert any(matches(value, kind) for kind in self.kinds), \
            f"{where}: {value!r} is none of {self.kinds}"


def matches(value, kind):
    if kind is None:
        return value is None
    if kind == NUMBER:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "bracket":
        return isinstance(value, dict) and set(value) == {"low", "high"} and \
            all(matches(v, NUMBER) or v is None for v in value.values())
    if kind == TIME:
        return isinstance(value, str) and re.fullmatch(
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value) is not None
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


N = Any(NUMBER, "bracket")          # may be a bracket
X = Any(NUMBER)                      # a plain number, always known
U = Any(NUMBER, "bracket", None)     # may be unknown
S, B, I, T = Any(str), Any(bool), Any(int), Any(TIME)
QUANTILES = {"mean": U, "p50": U, "p90": U, "p99": U}

CONTRACT = {
    "schema": S,
    "generated_at": T,
    "source": {
        "kind": S, "files": Any(list), "lines": I, "parsed": I, "skipped": I,
        "skipped_samples": Any(list), "log_format": S,
        "log_format_detected": B, "identity": S, "clock_resolution_s": X,
        "first": T, "last": T},
    "traffic": {
        "window_s": X, "requests": I, "connections": N,
        "requests_per_s": {"mean": X, "p99": X, "peak": X},
        "keepalive_requests_mean": U,
        "requests_per_connection": {**QUANTILES, "max": U},
        "gap_s": QUANTILES,
        "service_s": {"mean": U, "p50": U, "p99": U},
        "held": {"mean": N, "peak": N, "z": U},
        "closes": Any(dict),
        "classes": {"static": {"requests": I}, "dynamic": {"requests": I}},
        "http2_share": U, "excluded": Any(dict)},
    "server": Any(dict),
    "formula": {
        "timeout_s": X, "requests_per_s": X, "keepalive_requests": U,
        "processes": U, "memory_bytes": U, "keepalive_pays": Any(bool, None),
        "why_it_differs": S},
    "timeouts": Any(list),
    "advice": Any(list),
    "warnings": Any(list),
    "verdict": {"text": S, "change_advised": B, "confidence": S,
                "refused": B},
}

TIMEOUT = {"timeout_s": X, "measured": B, "connections": N,
           "connections_per_s": N, "reuse": N, "idle_mean": N, "busy_mean": U,
           "held_mean": N, "held_p999": N, "held_peak": N,
           "workers_needed": U, "memory_bytes": U,
           "handshakes_saved_per_s": N, "fits": Any(bool, None)}

ADVICE = {"rule": S, "directive": S, "vhost": Any(str, None),
          "from": Any(str, bool, NUMBER, None), "to": Any(str, bool, NUMBER),
          "because": S, "evidence": Any(dict), "confidence": S, "applies": S}

# The log of other servers or of one-second stamps, which allows brackets.
BRACKETED = cli.DATA / "site-combined.log"


def check(value, contract, where=""):
    if isinstance(contract, Any):
        contract.check(value, where)
        return
    assert isinstance(value, dict), where
    for key, kind in contract.items():
        assert key in value, f"{where}.{key} is missing"
        check(value[key], kind, f"{where}.{key}")


@pytest.fixture(scope="module")
def full():
    return cli.report(*FULL)


@pytest.fixture(scope="module")
def bracketed(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "access.log"
    path.write_text(cli.combined(2000, step=0.4, clients=7))
    return cli.report(path)


def test_every_key(full):
    check(full, CONTRACT)
    assert full["schema"] == "kaadvisor/1"


def test_every_key_with_brackets(bracketed):
    check(bracketed, CONTRACT)
    assert bracketed["source"]["identity"] == "time"


def test_every_key_where_advice_is_refused():
    report = cli.report(BRACKETED)
    check(report, CONTRACT)
    assert report["verdict"]["refused"] is True
    assert report["verdict"]["change_advised"] is False
    assert report["verdict"]["confidence"] == "low"


def test_generated_at_is_now(full):
    at = datetime.datetime.fromisoformat(
        full["generated_at"].replace("Z", "+00:00"))
    age = datetime.datetime.now(datetime.timezone.utc) - at
    assert datetime.timedelta(-60) < age < datetime.timedelta(hours=1)


def test_source(full):
    source = full["source"]
    assert source["kind"] == "log"
    assert source["files"] == [str(cli.DEMO)]
    assert (source["lines"], source["parsed"], source["skipped"]) == (628, 628,
                                                                      0)
    assert source["log_format"] == "extended"
    assert source["log_format_detected"] is False
    assert source["identity"] == "slot"
    assert source["clock_resolution_s"] == pytest.approx(1e-6)
    assert source["first"].startswith("2016-09-25T00:")
    assert source["last"].startswith("2016-09-25T23:")
    assert source["skipped_samples"] == []


def test_skipped_samples(tmp_path):
    path = tmp_path / "access.log"
    path.write_text(cli.combined(300) + "what\n")
    source = cli.report(path)["source"]
    assert (source["lines"], source["parsed"], source["skipped"]) == (301, 300,
                                                                      1)
    sample, = source["skipped_samples"]
    assert set(sample) == {"file", "line", "column", "reason"}
    assert (sample["file"], sample["line"]) == (str(path), 301)
    assert sample["column"] == 1
    assert sample["reason"].startswith("expected a blank after %h")


def test_server_facts_have_origins(full):
    server = full["server"]
    for name, value in (("mpm", "prefork"), ("max_request_workers", 150),
                        ("keep_alive", True), ("keep_alive_timeout_s", 15),
                        ("memory_limit_bytes", 2 << 30),
                        ("process_unique_bytes", 16 << 20)):
        assert server[name]["value"] == value, name
        assert "--" in server[name]["origin"], name
    for fact in server.values():
        assert {"value", "origin"} <= set(fact)
        assert fact["origin"]


def test_unknown_facts_are_not_invented(tmp_path):
    report = cli.report(*DEMO)
    for name in ("mpm", "memory_limit_bytes", "process_unique_bytes",
                 "max_request_workers"):
        assert name not in report["server"] or \
            report["server"][name]["value"] is None
    assert report["formula"]["memory_bytes"] is None
    for row in report["timeouts"]:
        check(row, TIMEOUT)
        assert row["memory_bytes"] is None or row["memory_bytes"] != 0
        assert row["fits"] is None
    text = cli.done(*DEMO)
    for option in ("--mpm", "--memory", "--process-memory"):
        assert option in text, option


def test_timeouts(full):
    rows = full["timeouts"]
    assert len(rows) >= 14
    for row in rows:
        check(row, TIMEOUT)
    timeouts = [row["timeout_s"] for row in rows]
    assert timeouts == sorted(timeouts)
    assert timeouts[0] == 0
    assert {0.2, 1, 2, 5, 15, 60, 300} <= set(timeouts)
    assert [row["measured"] for row in rows] == [t <= 15 for t in timeouts]
    # [M4] [M5] [M9]: off opens one connection for each request; N falls, H
    # rises with T.
    assert rows[0]["connections"] == full["traffic"]["requests"]
    assert rows[0]["idle_mean"] == 0
    assert rows[0]["reuse"] == 0
    for a, b in zip(rows, rows[1:]):
        assert a["connections"] >= b["connections"]
        assert a["idle_mean"] <= b["idle_mean"]
    for row in rows:
        assert row["held_mean"] == pytest.approx(
            row["idle_mean"] + row["busy_mean"], rel=1e-6, abs=1e-9)
        assert row["reuse"] == pytest.approx(
            1 - row["connections"] / full["traffic"]["requests"], abs=1e-6)


def test_timeouts_of_the_user():
    report = cli.report(*FULL[:-3], "--timeouts", "off,7,700ms", *DEMO)
    assert {0, 7, 0.7} <= {row["timeout_s"] for row in report["timeouts"]}


def test_formula_is_the_documents(full):
    """[M1] on the numbers of this traffic."""
    f, traffic = full["formula"], full["traffic"]
    assert f["timeout_s"] == 15
    assert f["requests_per_s"] == traffic["requests_per_s"]["mean"]
    assert f["keepalive_requests"] == traffic["keepalive_requests_mean"]
    assert f["processes"] == pytest.approx(
        15 * f["requests_per_s"] / f["keepalive_requests"], rel=1e-6)
    assert f["memory_bytes"] == pytest.approx(f["processes"] * (16 << 20),
                                              abs=1)


def test_advice_rows(full):
    assert full["advice"]
    directives = {row["directive"] for row in full["advice"]}
    assert {"KeepAlive", "KeepAliveTimeout", "MaxKeepAliveRequests",
            "MaxRequestWorkers", "ServerLimit", "StartServers",
            "MinSpareServers", "MaxSpareServers",
            "MaxConnectionsPerChild"} <= directives
    for row in full["advice"]:
        check(row, ADVICE, row["directive"])
        assert row["confidence"] in ("high", "medium", "low")
        assert row["applies"] in ("reload", "restart")
        assert row["because"].strip()
        assert row["rule"]
        if row["change"]:
            assert row["evidence"], row["directive"]
    restart = {row["directive"] for row in full["advice"]
               if row["applies"] == "restart"}
    assert "ServerLimit" in restart
    assert not {"KeepAliveTimeout", "MaxRequestWorkers"} & restart


@pytest.mark.parametrize("mpm, needs", [
    ("worker", {"ThreadsPerChild", "ThreadLimit", "MinSpareThreads",
                "MaxSpareThreads"}),
    ("event", {"ThreadsPerChild", "ThreadLimit", "AsyncRequestWorkerFactor",
               "MinSpareThreads", "MaxSpareThreads"})])
def test_advice_of_a_threaded_mpm(mpm, needs):
    """R8: the whole block, consistent in itself."""
    report = cli.report("--mpm", mpm, "--timeout", "15", "--memory", "4G",
                        "--process-memory", "60M", *DEMO)
    to = {row["directive"]: row["to"] for row in report["advice"]}
    assert needs <= set(to)
    workers, threads = int(to["MaxRequestWorkers"]), int(to["ThreadsPerChild"])
    assert workers % threads == 0
    assert int(to["ServerLimit"]) * threads >= workers
    assert int(to["ThreadLimit"]) >= threads


def test_brackets(bracketed):
    """One-second stamps: low and high, in the right order."""
    connections = bracketed["traffic"]["connections"]
    assert set(connections) == {"low", "high"}
    assert 0 < connections["low"] < connections["high"]
    for row in bracketed["timeouts"]:
        check(row, TIMEOUT)
        for key, value in row.items():
            if isinstance(value, dict):
                assert value["low"] <= value["high"], (row["timeout_s"], key)
    assert any(isinstance(row["connections"], dict)
               for row in bracketed["timeouts"])
    assert bracketed["verdict"]["confidence"] == "low"


def test_excluded_has_each_kind(full):
    assert set(full["traffic"]["excluded"]) >= {
        "internal_dummy_connection", "mod_pagespeed", "loopback_health_check",
        "other_vhost", "outside_window"}


def test_warnings_have_an_id(tmp_path):
    path = tmp_path / "access.log"
    path.write_text(cli.combined(400))
    warnings = cli.report(path)["warnings"]
    assert warnings
    for warning in warnings:
        assert {"id", "text"} <= set(warning)
        assert re.fullmatch(r"[a-z0-9_]+", warning["id"])
        assert warning["text"].strip()


def test_strings_are_ascii_and_numbers_finite(full):
    def walk(value):
        if isinstance(value, dict):
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, float):
            assert value == value and abs(value) != float("inf")
        elif isinstance(value, str):
            value.encode("ascii")

    walk(full)


# ---- --check --------------------------------------------------------------------

def test_check_says_that_a_change_is_advised():
    advised = cli.report("--check", *FULL, status=3)
    assert advised["verdict"]["change_advised"] is True
    assert cli.report(*FULL)["verdict"]["change_advised"] is True
    assert any(row["change"] and row["from"] == "150"
               for row in advised["advice"]
               if row["directive"] == "MaxRequestWorkers")


def test_check_says_that_no_change_is_advised():
    """What the server has is what is proposed."""
    report = cli.report("--check", "--mpm", "prefork", "--timeout", "15",
                        "--max-request-workers", "150", *DEMO, status=0)
    rows = {row["directive"]: row["to"] for row in report["advice"]}
    assert (rows["KeepAliveTimeout"], rows["MaxRequestWorkers"]) == ("15",
                                                                     "150")
    assert report["verdict"]["change_advised"] is False


def test_check_of_a_log_too_small_to_advise_on():
    assert cli.report("--check", BRACKETED, status=0)["verdict"]["refused"]


def test_check_still_prints_the_result():
    assert cli.done("--check", *FULL, status=3) == cli.done(*FULL)

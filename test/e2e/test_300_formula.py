# Licensed under the Apache License, Version 2.0; see LICENSE.
"""`kaadvisor formula`: the document's formula [M1] and its rule [M2]."""
import re

import pytest

import cli

ON = ("formula", "--timeout", "10", "--rps", "50", "--keepalive-requests", "1",
      "--process-memory", "4M")
OFF = ("formula", "--timeout", "0", "--rps", "150", "--process-memory", "4M")

KEYS = {"timeout_s", "requests_per_s", "keepalive_requests", "processes",
        "memory_bytes", "keepalive_pays", "why_it_differs"}


def words(*args):
    """The text with its line breaks undone."""
    return re.sub(r"\s+", " ", cli.done(*args))


def formula(*args):
    report = cli.report(*args)
    assert report["schema"] == "kaadvisor/1"
    assert KEYS <= set(report["formula"])
    return report["formula"]


@pytest.mark.parametrize("args, processes, memory", [
    (ON, "500", "2000M"), (OFF, "150", "600M")])
def test_worked_example_text(args, processes, memory):
    text = words(*args)
    assert re.search(rf"\b{processes} processes\b", text)
    assert re.search(rf"\b{memory}\b", text)


@pytest.mark.parametrize("args, processes, memory", [
    (ON, 500, 2_097_152_000), (OFF, 150, 629_145_600)])
def test_worked_example_json(args, processes, memory):
    f = formula(*args)
    assert f["processes"] == processes
    assert f["memory_bytes"] == memory
    assert isinstance(f["memory_bytes"], int)


def test_inputs_are_repeated():
    f = formula("formula", "--timeout", "2500ms", "--rps", "12.5",
                "--keepalive-requests", "2.5")
    assert (f["timeout_s"], f["requests_per_s"], f["keepalive_requests"]) == (
        2.5, 12.5, 2.5)
    assert f["processes"] == pytest.approx(12.5)
    assert f["memory_bytes"] is None


@pytest.mark.parametrize("timeout, keepalive, off_pays", [
    ("10", "1", True), ("3", "3", True), ("2", "3", False),
    ("999ms", "1", False)])
def test_rule_M2(timeout, keepalive, off_pays):
    args = ("formula", "--timeout", timeout, "--rps", "50",
            "--keepalive-requests", keepalive)
    assert formula(*args)["keepalive_pays"] is (not off_pays)
    text = words(*args)
    assert "rule" in text and "KeepAliveTimeout" in text
    verdicts = re.findall("KeepAlive (On|Off) pays", text)
    assert verdicts[-1] == ("Off" if off_pays else "On")


def test_timeout_off_drops_out():
    f = formula(*OFF)
    assert (f["timeout_s"], f["processes"]) == (0, 150)
    by_name = formula("formula", "--timeout", "off", "--rps", "150",
                      "--process-memory", "4M")
    assert by_name == f
    assert "timeout drops out" in words(*OFF)


def test_why_it_differs_is_told_for_each_case():
    on, off = formula(*ON)["why_it_differs"], formula(*OFF)["why_it_differs"]
    assert on and off and on != off
    assert re.sub(r"\s+", " ", on) in words(*ON)
    assert re.sub(r"\s+", " ", off) in words(*OFF)


def test_memory_is_left_out_where_it_is_not_known():
    text = words("formula", "--timeout", "10", "--rps", "50",
                 "--keepalive-requests", "1")
    assert "500 processes" in text
    assert "2000M" not in text


def test_output_file(tmp_path):
    out = tmp_path / "formula.txt"
    assert cli.done(*ON, "-o", out) == ""
    assert out.read_text("ascii") == cli.done(*ON)

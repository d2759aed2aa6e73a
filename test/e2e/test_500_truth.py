# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Predictions against a measured httpd, in short: one MPM, one scenario, three
timeouts side by side.  All of them: make truth."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "truth"))
import budgets  # noqa: E402
import measured  # noqa: E402
import results  # noqa: E402
import rounds  # noqa: E402
import scenarios  # noqa: E402

PLAN = rounds.Plan(timeouts=[0.0, 1.0, 2.0], learn_s=2.0, seconds=15, seed=1)
# Tests beside this one, without realtime priority, shift single requests.
NEAR = {"mean": 0.02, "opened": 0.01, "p999": 0.15, "peak": 0.15}
WORKERS = 2


@pytest.fixture(scope="module")
def run():
    run, = rounds.play(scenarios.SCENARIOS["browsing"], ["prefork"], PLAN)
    print(results.run_text(run, PLAN))
    return run


def rows_of(run, source, quantities):
    return [r for r in budgets.rows(run, PLAN)
            if r.source == source and r.quantity in quantities]


@pytest.mark.parametrize("source", ("segment", "log"))
def test_truth_m4_m6__mean_and_opened_at_every_timeout(run, source):
    for row in rows_of(run, source, ("mean", "opened")):
        assert row.predicted == pytest.approx(
            row.measured, rel=NEAR[row.quantity],
            abs=budgets.FLOOR[row.quantity]), row


def test_truth_m11__peaks_from_a_log(run):
    for row in rows_of(run, "log", ("p999", "peak")):
        assert row.predicted == pytest.approx(
            row.measured, rel=NEAR[row.quantity], abs=WORKERS), row


def test_truth_m11__peaks_from_a_segment(run):
    for row in rows_of(run, "segment", ("p999", "peak")):
        assert row.predicted == pytest.approx(
            row.measured, rel=NEAR[row.quantity], abs=WORKERS + 1), row


def test_truth__onlookers_agree(run):
    assert not list(budgets.disagreements(run))


def test_truth__nothing_went_wrong_for_the_visitors(run):
    requests = {m["requests"] for m in run["measured"]}
    assert len(requests) == 1 and requests.pop() > 300
    for m in run["measured"]:
        assert m["visitors"]["failed"] == 0
        assert m["visitors"]["opened"] == m["opened"]
        assert m["visitors"]["completed"] == m["requests"]


# ---- the harness itself: a known run, and one that is off ---------------------

def made(held):
    numbers = {"mean": 20.0, "p999": 30, "peak": 40, "opened": 1000}
    return {"scenario": "browsing", "mpm": "prefork",
            "log": ("mean", "p999", "peak", "opened"),
            "measured": [{"timeout_s": 2.0, "opened": 1000, "requests": 3000,
                          "sockets": 20.0, "scoreboard": 20.0,
                          "visitors": {"mean": 20.0, "late": 0},
                          "held": {"mean": 20.0, "p999": 30, "peak": 40}}],
            "predicted": {"segment": {2.0: dict(numbers, **held)},
                          "log": {2.0: numbers},
                          "formula": {2.0: {"held": 10, "opened": 900}}}}


def test_budgets__met_by_the_truth():
    assert not budgets.missed(made({}), PLAN)
    assert not list(budgets.disagreements(made({})))


@pytest.mark.parametrize("quantity, value", (
    ("mean", 20.3), ("p999", 32.5), ("peak", 37.5), ("opened", 1011)))
def test_budgets__missed_by_more_than_they_are(quantity, value):
    row, = budgets.missed(made({quantity: value}), PLAN)
    assert (row.source, row.quantity) == ("segment", quantity)
    assert "**" in results.run_text(made({quantity: value}), PLAN)


def test_budgets__an_onlooker_who_saw_else_is_told():
    run = made({})
    run["measured"][0]["sockets"] = 18.0
    assert len(list(budgets.disagreements(run))) == 1


def test_summary__time_at_each_count_within_the_window():
    spans = [(0.0, 10.0), (2.0, 4.0), (3.0, 12.0)]
    got = measured.summary(spans, (1.0, 11.0))
    assert got["mean"] == pytest.approx(21 / 10)
    assert (got["p999"], got["peak"]) == (3, 3)
    times = measured.distribution(spans, 1.0, 11.0)
    assert times == pytest.approx({1: 2.0, 2: 7.0, 3: 1.0})
    assert measured.quantile(times, 0.11) == 2


def test_script__is_the_same_for_a_seed():
    one = scenarios.script_of(scenarios.SCENARIOS["browsing"], 1, 5)
    assert one == scenarios.script_of(scenarios.SCENARIOS["browsing"], 1, 5)
    assert one != scenarios.script_of(scenarios.SCENARIOS["browsing"], 2, 5)

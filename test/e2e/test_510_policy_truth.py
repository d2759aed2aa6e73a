# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Policies predicted from a log under one KeepAliveTimeout, against httpds that
have them: pages close, their parts are kept (R16); by load (R7)."""
import collections
import pathlib
import sys

import pytest

import cli
import policy_env

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "truth"))
import measured  # noqa: E402
import rounds  # noqa: E402
import scenarios  # noqa: E402
import served  # noqa: E402

TIMEOUT_S = 2.0
SECONDS = 7
NEAR = 0.03
POLICY = """
KeepAliveTimeout 2
<IfModule kapolicy_module>
    KAPolicy keep timeout=2 served=static,error
    KAPolicy close served=dynamic,proxy
</IfModule>
"""
# Two thirds of the workers that one timeout holds in the mean.
BY_LOAD_WORKERS = 26
BY_LOAD = """
KeepAliveTimeout 2
<IfModule kapolicy_module>
    KAPolicyAdaptive 300ms 2 50% 90%
</IfModule>
"""
NEAR_BY_LOAD = 0.05
SIMULATED = """
MaxKeepAliveRequests 0
<IfModule mpm_prefork_module>
    ServerLimit {n}
    MaxRequestWorkers {n}
    StartServers {n}
    MinSpareServers 1
    MaxSpareServers {n}
</IfModule>
"""


def pages(script, seconds):
    """A program's page, its three files at once, then reading; half of the
    visitors only ask programs."""
    dice = script.dice
    for at in scenarios.arrivals(dice, 8.0, seconds):
        parts = 3 if dice.random() < 0.5 else 0
        script.session(at)
        for i in range(dice.randint(1, 3)):
            script.page(dice.uniform(0.3, 3) if i else 0)
            script.get(0, scenarios.sleep(dice, 0.03, 0.2))
            for _ in range(parts):
                script.get(1, "/part.html")


def server(name, conf="", workers=None):
    if conf:
        conf = policy_env.LOAD + conf
    made = served.Served("prefork", TIMEOUT_S, scenarios.Scenario(
        name, pages.__doc__, pages, conf=conf))
    if workers:
        made.workers = workers
        made.mpm_conf = served.PREFORK.format(n=workers)
    return made


Run = collections.namedtuple("Run", "one policy by_load log")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """What was measured, and the log under the one timeout."""
    script = scenarios.Script(3)
    pages(script, SECONDS)
    log = tmp_path_factory.mktemp("policy") / "access.log"
    with server("one") as one, server("policy", POLICY) as policy, \
            server("load", BY_LOAD, BY_LOAD_WORKERS) as by_load:
        servers = (one, policy, by_load)
        onlooker = rounds.run_visitors(servers, script.text())
        log.write_text(one.access_log.read_text())
        return Run(*(measured.measure(s, onlooker) for s in servers), log)


def simulated(run, conf, workers, tmp_path):
    config = tmp_path / "policy.conf"
    config.write_text(conf + SIMULATED.format(n=workers), "ascii")
    return cli.report("simulate", "--config", config, "--log-format",
                      "kastats", "--timeout", TIMEOUT_S, run.log)["runs"][0]


def compare(one, seen, outcome, near):
    print(f"one timeout: held {one['held']['mean']:.2f}, opened "
          f"{one['opened']}; seen: held {seen['held']['mean']:.2f}, told "
          f"{outcome['held_mean']:.2f}; opened {seen['opened']}, told "
          f"{outcome['connections']}")
    assert seen["requests"] == one["requests"] == outcome["requests"]
    assert outcome["held_mean"] == pytest.approx(seen["held"]["mean"],
                                                 rel=near, abs=0.05)
    assert outcome["connections"] == pytest.approx(seen["opened"], rel=near)
    # Another matter than the one timeout that it was learned under.
    assert abs(one["held"]["mean"] / seen["held"]["mean"] - 1) > 0.2
    assert abs(one["opened"] / seen["opened"] - 1) > 0.1


def test_r16_a_policy_does_what_was_predicted(run, tmp_path):
    told = simulated(run, POLICY, 160, tmp_path)
    assert told["policy"]["static_timeout_s"] == TIMEOUT_S
    assert told["policy"]["dynamic_timeout_s"] == "off"
    assert told["wait"]["connections"] == 0
    compare(run.one, run.policy, told["outcome"], NEAR)


def test_r7_load_does_what_was_predicted(run, tmp_path):
    told = simulated(run, BY_LOAD, BY_LOAD_WORKERS, tmp_path)
    assert told["policy"]["adaptive"]["max_s"] == TIMEOUT_S
    assert told["policy"]["waits_cut"] > 10
    assert told["wait"]["p99_s"] == 0
    compare(run.one, run.by_load, told["outcome"], NEAR_BY_LOAD)
    assert told["outcome"]["held"]["peak"] <= BY_LOAD_WORKERS


def test_r16_nothing_went_wrong_for_the_visitors(run):
    for m in run[:3]:
        assert m["visitors"]["failed"] == 0
        assert m["visitors"]["completed"] == m["requests"]
    assert run.policy["closes"]["policy"] > 100
    assert run.by_load["closes"]["policy"] > 10

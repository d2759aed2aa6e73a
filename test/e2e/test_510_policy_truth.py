# Licensed under the Apache License, Version 2.0; see LICENSE.
"""A policy predicted from a log under one KeepAliveTimeout, against an httpd
that has it: pages close, their parts are kept (R16)."""
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
# Workers for everybody, in the simulation too.
WORKERS = """
<IfModule mpm_prefork_module>
    ServerLimit 160
    MaxRequestWorkers 160
    StartServers 160
    MinSpareServers 1
    MaxSpareServers 160
</IfModule>
MaxKeepAliveRequests 0
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


def server(name, conf):
    scenario = scenarios.Scenario(name, pages.__doc__, pages, conf=conf)
    return served.Served("prefork", TIMEOUT_S, scenario)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """What was measured with and without the policy, and the log of the
    latter."""
    script = scenarios.Script(3)
    pages(script, SECONDS)
    log = tmp_path_factory.mktemp("policy") / "access.log"
    policy = POLICY.replace("{", "{{")
    with server("one", "") as one, \
            server("policy", policy_env.LOAD + policy) as with_policy:
        onlooker = rounds.run_visitors([one, with_policy], script.text())
        log.write_text(one.access_log.read_text())
        return (measured.measure(one, onlooker),
                measured.measure(with_policy, onlooker), log)


def test_r16_a_policy_does_what_was_predicted(run, tmp_path):
    one, policy, log = run
    config = tmp_path / "policy.conf"
    config.write_text(POLICY + WORKERS, "ascii")
    told = cli.report("simulate", "--config", config, "--log-format",
                      "kastats", "--timeout", TIMEOUT_S, log)["runs"][0]
    assert told["policy"]["static_timeout_s"] == TIMEOUT_S
    assert told["policy"]["dynamic_timeout_s"] == "off"
    assert told["wait"]["connections"] == 0
    outcome = told["outcome"]
    print(f"one timeout: held {one['held']['mean']:.2f}, opened "
          f"{one['opened']}; policy: held {policy['held']['mean']:.2f}, told "
          f"{outcome['held_mean']:.2f}; opened {policy['opened']}, told "
          f"{outcome['connections']}")
    assert policy["requests"] == one["requests"] == outcome["requests"]
    assert outcome["held_mean"] == pytest.approx(policy["held"]["mean"],
                                                 rel=NEAR, abs=0.05)
    assert outcome["connections"] == pytest.approx(policy["opened"], rel=NEAR)
    # Another matter than the one timeout that it was learned under.
    assert abs(one["held"]["mean"] / policy["held"]["mean"] - 1) > 0.2
    assert abs(one["opened"] / policy["opened"] - 1) > 0.1


def test_r16_nothing_went_wrong_for_the_visitors(run):
    for m in run[:2]:
        assert m["visitors"]["failed"] == 0
        assert m["visitors"]["completed"] == m["requests"]
    assert run[1]["closes"]["policy"] > 100

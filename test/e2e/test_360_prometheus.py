# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Advice from Prometheus that scraped two private httpds: that of their
segments."""
import random
import re
import subprocess
import threading
import time
import urllib.request

import pytest

import cli
from kastats_env import Httpd, PATIENCE, ROOT, wait_for
from prometheus_env import PROMETHEUS, PROMTOOL, Prometheus

needs_prometheus = pytest.mark.skipif(
    not PROMETHEUS, reason="prometheus is not installed")
needs_promtool = pytest.mark.skipif(
    not PROMTOOL, reason="promtool is not installed (package prometheus)")

SAMPLES = ROOT / "conf-samples"

# ---- real traffic

T0 = {"event": 1, "prefork": 3}
NEAR = 0.05
# Shares of a bucket's width: bounds lie at the default timeouts, so only in
# between could they differ.
GAPS = (0.03, 0.15, 0.33, 0.8)
SECONDS = 25
USERS = 12

CONF = """
<VirtualHost 127.0.0.1:{{port}}>
    ServerName localhost
    KeepAliveTimeout {timeout}
</VirtualHost>
"""


def user(httpd, seed, until):
    """Connections of a few requests; some close at once, some after a while,
    some say so, the rest is left to time out."""
    dice = random.Random(seed)
    time.sleep(dice.uniform(0, 1))
    while time.monotonic() < until:
        client = httpd.client()
        n = dice.choice((1, 2, 4, 6))
        end = dice.random()
        for i in range(n):
            if i:
                time.sleep(dice.choice(GAPS))
            last = end < 0.2 and i == n - 1
            client.get(headers=["Connection: close"] if last else [])
        if 0.2 <= end < 0.5:
            time.sleep(dice.choice(GAPS))
            client.close()
        else:
            client.wait_closed()


def run_traffic(httpds):
    until = time.monotonic() + SECONDS
    threads = [threading.Thread(target=user, args=(h, 100 * k + i, until))
               for k, h in enumerate(httpds) for i in range(USERS * (k + 1))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for h in httpds:
        wait_for(lambda h=h: h.totals()["open"] == 0, "nothing is open")


@pytest.fixture(scope="module")
def fleet():
    """Two httpds with their traffic, and Prometheus, all of it scraped."""
    if not PROMETHEUS:
        pytest.skip("prometheus is not installed")
    more = ("ServerLimit 64\nMaxRequestWorkers 64\nStartServers 30\n"
            "MaxSpareServers 64\n")
    with Httpd("event", CONF.format(timeout=T0["event"])) as a, \
            Httpd("prefork", CONF.format(timeout=T0["prefork"]),
                  mpm_conf=more) as b:
        with Prometheus((a, b)) as prometheus:
            prometheus.wait_scraped(n=4)
            run_traffic((a, b))
            prometheus.wait_scraped(n=2)
            yield prometheus, {f"127.0.0.1:{h.admin}": h for h in (a, b)}


@pytest.fixture(scope="module")
def report(fleet):
    return cli.report("advise", fleet[0].url, "--window", "1h")


def segments_of(fleet):
    return {name: cli.report("advise", httpd.segment)
            for name, httpd in fleet[1].items()}


def near(a, b, share=NEAR, least=0.0):
    return a == pytest.approx(b, rel=share, abs=least)


def test_advise_prometheus__servers_and_the_group(fleet, report):
    assert report["source"]["kind"] == "prometheus"
    assert report["source"]["files"] == [fleet[0].url]
    assert [h["host"] for h in report["hosts"]] == sorted(fleet[1])
    hosts = report["hosts"]
    for key in ("requests", "connections"):
        assert report["traffic"][key] == sum(h["traffic"][key] for h in hosts)
    assert near(report["traffic"]["window_s"],
                sum(h["traffic"]["window_s"] for h in hosts), 1e-6)
    for reason, n in report["traffic"]["closes"].items():
        assert n == sum(h["traffic"]["closes"][reason] for h in hosts)


def test_advise_prometheus__traffic_is_that_of_the_segments(fleet, report):
    for host in report["hosts"]:
        own = segments_of(fleet)[host["host"]]["traffic"]
        theirs = host["traffic"]
        for key in ("requests", "connections", "closes"):
            assert theirs[key] == own[key]
        assert near(theirs["keepalive_requests_mean"],
                    own["keepalive_requests_mean"])
        assert near(theirs["service_s"]["mean"], own["service_s"]["mean"])
        assert near(theirs["gap_s"]["mean"], own["gap_s"]["mean"])
        # The segment's own is that of a bin, if seconds share it.
        assert near(theirs["requests_per_s"]["peak"],
                    own["requests_per_s"]["peak"], 1 / 16)
        # A segment leaves out the quiet seconds before and after.
        assert own["window_s"] <= theirs["window_s"] < own["window_s"] + 15


def test_advise_prometheus__m4_to_m6_within_5_percent(fleet, report):
    """At T0 and every usual timeout up to it."""
    for host in report["hosts"]:
        own = segments_of(fleet)[host["host"]]
        # The same connection-seconds over a longer window.
        w = host["traffic"]["window_s"] / own["traffic"]["window_s"]
        compared = 0
        for a, b in zip(host["timeouts"], own["timeouts"], strict=True):
            assert (a["timeout_s"], a["keep_alive"], a["measured"]) \
                == (b["timeout_s"], b["keep_alive"], b["measured"])
            if not b["measured"]:
                continue
            compared += 1
            assert near(a["connections"], b["connections"]), a
            assert near(a["reuse"], b["reuse"], least=0.01)
            assert near(a["idle_mean"] * w, b["idle_mean"])
            assert near(a["busy_mean"] * w, b["busy_mean"])
            assert near(a["held_mean"] * w, b["held_mean"])
            # Maxima of 5 s instead of single ones: the quantiles are looser.
            # Below T0 a segment knows each second's requests as well.
            if b["now"]:
                assert abs(a["held_peak"] - b["held_peak"]) <= 1
                assert a["held_p999"] >= b["held_p999"] - 1
        assert compared >= 4


def test_advise_prometheus__above_t0_as_clients_came_back(fleet, report):
    """Looser: Prometheus holds the mean of what each scrape said, the segment
    what is so at the end."""
    for host in report["hosts"]:
        own = segments_of(fleet)[host["host"]]
        for a, b in zip(host["timeouts"], own["timeouts"], strict=True):
            if not b["measured"] and b["timeout_s"] <= 10:
                assert near(a["connections"], b["connections"], 0.15)
                assert a["connections"] < own["traffic"]["connections"]


def test_advise_prometheus__facts_are_those_in_force(fleet, report):
    for host in report["hosts"]:
        httpd = fleet[1][host["host"]]
        server = host["server"]
        assert server["mpm"]["value"] == httpd.mpm
        assert server["keep_alive_timeout_s"]["value"] == T0[httpd.mpm]
        assert server["max_request_workers"]["value"] == 64
        assert server["max_keep_alive_requests"]["value"] == 0
        assert server["mpm"]["origin"].startswith("Prometheus")
    # The group's servers have different ones.
    assert not report["server"].get("mpm", {}).get("value")


def test_advise_prometheus__match_selects_one_server(fleet, report):
    name = sorted(fleet[1])[0]
    alone = cli.report("advise", fleet[0].url, "--window", "1h", "--match",
                       f'instance="{name}"')
    assert not alone.get("hosts")
    assert alone["host"] == name
    same = next(h for h in report["hosts"] if h["host"] == name)
    assert alone["traffic"]["requests"] == same["traffic"]["requests"]


def test_advise_prometheus__plays_the_block_on_draws(report):
    """Each server's own, and the group's under its busiest."""
    names = [host["host"] for host in report["hosts"]]
    for part in (report, *report["hosts"]):
        for answer in part["answers"]:
            played = answer["simulation"]
            assert played["traffic"]["drawn"] and played["decides"]
            assert "Prometheus" in played["traffic"]["how"]
            assert played["host"] in (names if part is report else [None])
            run = played["proposed"]
            assert run["connections"] > 0
            if run["wait"]["connections"] == run["evicted"] == 0:
                assert near(run["held_mean"], run["held_mean_expected"], 1e-3)


def test_advise_prometheus__vhost_selects_traffic(fleet):
    port = sorted(fleet[1].values(), key=lambda h: h.admin)[0].port
    one = cli.report("advise", fleet[0].url, "--window", "1h", "--vhost",
                     f"localhost:{port}")
    assert one["host"]
    assert "one virtual host" in one["intervals"]["why_not"]
    assert '"nobody"' in cli.fails(1, "advise", fleet[0].url, "--window", "1h",
                                   "--vhost", "nobody")


def test_advise_prometheus__a_week_is_asked_by_default(fleet, report):
    """Of which all but minutes is empty."""
    week = cli.report("advise", fleet[0].url)
    for a, b in zip(week["hosts"], report["hosts"], strict=True):
        for key in ("requests", "connections"):
            assert a["traffic"][key] == b["traffic"][key]
        assert a["traffic"]["held"]["peak"] == b["traffic"]["held"]["peak"]
    assert "less than an hour" in week["intervals"]["why_not"]


def test_advise_prometheus__a_window_within_the_scrapes(fleet, report):
    """Both ends were scraped: the difference of two samples each."""
    first = max(fleet[0].query(
        "min_over_time(timestamp(kastats_observed_seconds_total)[1h:1s])")
        .values())
    window = int(time.time() - first) - 1
    inside = cli.report("advise", fleet[0].url, "--window", f"{window}s")
    for a, b in zip(inside["hosts"], report["hosts"], strict=True):
        for key in ("requests", "connections", "closes"):
            assert a["traffic"][key] == b["traffic"][key]
        assert a["traffic"]["window_s"] == pytest.approx(window, abs=1.5)


def test_show_prometheus(fleet, report):
    shown = cli.report("show", fleet[0].url, "--window", "1h")
    assert shown["traffic"]["requests"] == report["traffic"]["requests"]
    assert "prometheus" in cli.done("show", fleet[0].url).lower()


def test_advise_prometheus__text_and_conf(fleet):
    text = cli.done("advise", fleet[0].url, "--window", "1h")
    for name in fleet[1]:
        assert name in text
    cli.done("advise", fleet[0].url, "--window", "1h", "--output", "conf")


def test_advise_prometheus__a_broken_matcher_in_their_words(fleet):
    said = cli.fails(1, "advise", fleet[0].url, "--match", "job==\"x\"")
    assert "Prometheus says: " in said and "parse error" in said


def test_advise_prometheus__nothing_there(fleet):
    said = cli.fails(1, "advise", fleet[0].url, "--match", 'job="none"')
    assert "is mod_kastats scraped" in said and 'job="none"' in said


@needs_prometheus
def test_advise_prometheus__counts_over_a_restart_of_httpd():
    """Counters begin at 0 again; what was before still counts.  increase()
    extrapolates to the edges of its samples, by up to a scrape on each side of
    each life, which here are a few scrapes long."""
    n = 60
    with Httpd("event", CONF.format(timeout=1)) as h, \
            Prometheus((h,), form="prometheus") as prometheus:
        for life in range(2):
            if life:
                h.stop()
                h.start()
            prometheus.wait_scraped()
            for _ in range(n):
                h.client().get(headers=["Connection: close"])
            wait_for(lambda: h.totals()["requests"] == n, "counted")
            prometheus.wait_scraped(n=2)
        report = cli.report("advise", prometheus.url, "--window", "1h")
    assert near(report["traffic"]["requests"], 2 * n, 0.4)


# ---- samples

def promtool(*args):
    done = subprocess.run([PROMTOOL, *args], cwd=SAMPLES, capture_output=True,
                          text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
@pytest.mark.parametrize("args", (
    ("check", "config", "prometheus-scrape.yml"),
    ("check", "rules", "prometheus-rules.yml"),
    ("test", "rules", "prometheus-rules-test.yml")))
def test_samples__promtool_agrees(args):
    promtool(*args)


def test_samples__every_alert_is_tested():
    rules = (SAMPLES / "prometheus-rules.yml").read_text("ascii")
    tests = (SAMPLES / "prometheus-rules-test.yml").read_text("ascii")
    names = re.findall(r"(?:alert|record): (\S+)", rules)
    assert len(names) >= 15
    for name in names:
        if name not in ("kastats_worker_memory:bytes",
                        "instance:kastats_workers_waiting:ratio",
                        "instance:kastats_connections_open:peak1m"):
            assert name in tests, name


def test_samples__metrics_of_the_rules_exist():
    """Only names that the module has."""
    with Httpd("event") as h:
        metrics = h.ask("/?format=prometheus")[2].decode()
    for name in ("prometheus-rules.yml", "prometheus-rules-test.yml"):
        text = (SAMPLES / name).read_text("ascii")
        used = set(re.findall(r"(?<![:\w])kastats_\w+(?![:\w])", text))
        assert len(used) > 5
        for metric in used:
            assert re.search(rf"^# TYPE {metric} ", metrics, re.M), metric


def test_samples__httpd_serves_metrics_on_a_port_of_its_own():
    text = (SAMPLES / "httpd-metrics.conf").read_text("ascii")
    assert text.count("8008") == 2
    with Httpd("event", text.replace("8008", "{extra[0]}"),
               modules=["authz_host"], extra_ports=1) as h:
        with urllib.request.urlopen(
                f"http://127.0.0.1:{h.extra[0]}/kastats?format=openmetrics",
                timeout=PATIENCE) as answer:
            assert b"kastats_observed_seconds_total" in answer.read()
        assert h.totals()["requests"] == 0

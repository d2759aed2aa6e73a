# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Advice from Prometheus that scraped two private httpds: that of their
segments."""
import json
import random
import re
import subprocess
import threading
import time
import urllib.request

import pytest

import cli
from kastats_env import PATIENCE, ROOT, Httpd, tls_files, wait_for
from prometheus_env import PROMETHEUS, PROMTOOL, Prometheus, StandIn, success

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


def test_advise_prometheus__vhost_selects_traffic(fleet):
    port = sorted(fleet[1].values(), key=lambda h: h.admin)[0].port
    one = cli.report("advise", fleet[0].url, "--window", "1h", "--vhost",
                     f"localhost:{port}")
    assert one["host"]
    assert '"nobody"' in cli.fails(1, "advise", fleet[0].url, "--window", "1h",
                                   "--vhost", "nobody")


def test_advise_prometheus__a_week_is_asked_by_default(fleet, report):
    """Of which all but minutes is empty."""
    week = cli.report("advise", fleet[0].url)
    for a, b in zip(week["hosts"], report["hosts"], strict=True):
        for key in ("requests", "connections"):
            assert a["traffic"][key] == b["traffic"][key]
        assert a["traffic"]["held"]["peak"] == b["traffic"]["held"]["peak"]


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


# ---- what else may answer

TOKEN = "s3cret-token"


def answering(status, kind, body, *more):
    return lambda path, form, headers: (status, kind, body, *more)


def times(form):
    return 200, "application/json", success("scalar", [1000, "1000"])


def vector(*samples):
    return success("vector", [{"metric": m, "value": [1000, v]}
                              for m, v in samples])


def only_time_covered(path, form, headers):
    """A module that is too old: it has none of the rest."""
    if form["query"] == "time()":
        return times(form)
    if "kastats_observed_seconds_total" in form["query"]:
        return 200, "application/json", vector(
            ({"job": "apache", "instance": "a"}, "500"))
    return 200, "application/json", vector()


def nothing(path, form, headers):
    if form["query"] == "time()":
        return times(form)
    return 200, "application/json", vector()


def error(status, text):
    return answering(status, "application/json", json.dumps(
        {"status": "error", "errorType": "x", "error": text}))


ANSWERS = {
    "html": (answering(200, "text/html", "<html>Welcome</html>"),
             ["text/html", "HTTP API v1"]),
    "none there": (answering(404, "text/plain", "404 page not found"),
                   ["/api/v1/query (HTTP 404)", "prefix"]),
    "no token": (answering(401, "text/plain", "who?"), ["--token-file"]),
    "forbidden": (answering(403, "text/plain", "no"), ["--token-file"]),
    "broken": (answering(200, "application/json", '{"status":'),
               ["HTTP API v1"]),
    "other type": (answering(200, "application/json",
                             success("string", [1, "x"])), ["HTTP API v1"]),
    "unavailable": (error(503, "TSDB not ready"), ["TSDB not ready"]),
    "odd words": (error(422, "\x1b[31mquery too \u202e long\n"),
                  ["Prometheus says", "\\x1b[31m"]),
    "old": (error(400, 'unknown function with name "last_over_time"'),
            ["2.26 or later"]),
    "empty": (nothing, ["is mod_kastats scraped", "--match", "--window"]),
    "old module": (only_time_covered,
                   ["kastats_closes_total", "older than this kaadvisor"]),
    "loop": (answering(302, "text/plain", "", {"Location": "/api/v1/query"}),
             ["redirects"]),
    "elsewhere": (answering(302, "text/plain", "",
                            {"Location": "file:///etc/passwd"}),
                  ["give the URL that it redirects to"]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_prometheus_errors__say_what_to_do(name):
    answer, says = ANSWERS[name]
    with StandIn(answer) as server:
        said = cli.fails(1, "advise", server.url)
    assert said.count("\n") == 1 and server.url in said
    for words in says:
        assert words in said, said


def test_prometheus_errors__unreachable():
    with StandIn(nothing) as server:
        url = server.url
    said = cli.fails(1, "advise", url)
    assert url in said and "check host and port" in said
    said = cli.fails(1, "advise", "http://no-such-host.invalid:9090")
    assert "check the host's name" in said


def test_prometheus_errors__an_answer_without_end_is_cut():
    with StandIn(answering(200, "application/json", b" " * (65 << 20))) as s:
        said = cli.fails(1, "advise", s.url)
    assert "larger than 64 MB" in said and "--match" in said


def test_prometheus_errors__stands_alone(tmp_path):
    log = tmp_path / "access.log"
    log.write_text(cli.combined(5))
    assert "give it alone" in cli.fails(1, "advise", "http://localhost:1", log)


@pytest.mark.parametrize("option", (("--since", "2026-01-01"),
                                    ("--log-format", "combined")))
def test_prometheus_errors__options_for_logs(option):
    said = cli.fails(1, "advise", "http://localhost:1", *option)
    assert option[0] in said and "--window" in said


@pytest.mark.parametrize("match", ('a="b"} or up{c="d"', '{a="b"}', 'a="b'))
def test_prometheus_errors__matchers_stay_in_their_braces(match):
    with StandIn(nothing) as server:
        said = cli.fails(1, "advise", server.url, "--match", match)
    assert "--match" in said and not server.asked


# ---- tokens and TLS

@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return path


def auth(server):
    return [h.get("Authorization") for _, _, h in server.asked]


def test_prometheus_token__is_sent_and_not_shown(token):
    with StandIn(nothing) as server:
        said = cli.fails(1, "advise", server.url, "--token-file", token)
    assert auth(server) and set(auth(server)) == {"Bearer " + TOKEN}
    assert TOKEN not in said
    assert "anybody on the way can read" in said


def test_prometheus_token__that_is_refused(token):
    with StandIn(answering(401, "text/plain", "no")) as server:
        said = cli.fails(1, "advise", server.url, "--quiet", "--token-file",
                         token)
    assert "refuses the token" in said and TOKEN not in said


def test_prometheus_token__goes_to_no_other_server(token):
    """Another port is another server, and so is another name."""
    with StandIn(nothing) as other:
        for host in ("localhost", "127.0.0.1"):
            to = f"http://{host}:{other.server_address[1]}/api/v1/query"
            with StandIn(answering(307, "text/plain", "",
                                   {"Location": to})) as server:
                cli.fails(1, "advise", server.url, "--token-file", token)
            assert set(auth(server)) == {"Bearer " + TOKEN}
        assert other.asked and set(auth(other)) == {None}
        # What was asked came along.
        assert other.asked[0][1]["query"] == "time()"


@pytest.mark.parametrize("content", ("", "\n", "two words", "x" * 20000))
def test_prometheus_token__file_that_holds_none(tmp_path, content):
    path = tmp_path / "token"
    path.write_text(content)
    with StandIn(nothing) as server:
        said = cli.fails(1, "advise", server.url, "--quiet", "--token-file",
                         path)
    assert "one bearer token" in said and not server.asked
    said = cli.fails(1, "advise", server.url, "--quiet", "--token-file",
                     tmp_path / "none")
    assert "No such file" in said


def test_prometheus_tls__is_checked(tmp_path, token):
    certificate = tls_files(tmp_path)
    with StandIn(nothing, certificate) as server:
        said = cli.fails(1, "advise", server.url, "--token-file", token)
        assert "--ca-file" in said and not server.asked
        said = cli.fails(1, "advise", server.url, "--token-file", token,
                         "--ca-file", str(certificate) + ".crt")
        assert "is mod_kastats scraped" in said
        assert "anybody on the way" not in said
        asked = len(server.asked)
        assert asked and set(auth(server)) == {"Bearer " + TOKEN}
        said = cli.fails(1, "advise", server.url, "--insecure")
        assert "is mod_kastats scraped" in said
        assert len(server.asked) > asked
        # The certificate is for localhost.
        said = cli.fails(1, "advise",
                         server.url.replace("localhost", "127.0.0.1"),
                         "--ca-file", str(certificate) + ".crt")
        assert "is mod_kastats scraped" not in said
        said = cli.fails(1, "advise", server.url, "--ca-file",
                         tmp_path / "none")
        assert "PEM" in said


def test_prometheus_tls__never_falls_back_to_http(tmp_path, token):
    certificate = tls_files(tmp_path)
    with StandIn(nothing) as plain, StandIn(
            answering(302, "text/plain", "", {"Location": plain.url + "/"}),
            certificate) as server:
        cli.fails(1, "advise", server.url, "--insecure", "--token-file", token)
    assert not plain.asked


def test_prometheus__environments_proxy_is_not_used():
    with StandIn(nothing) as server, StandIn(nothing) as proxy:
        env = cli.environment(http_proxy=proxy.url, HTTP_PROXY=proxy.url,
                              all_proxy=proxy.url)
        cli.fails(1, "advise", server.url, env=env)
    assert server.asked and not proxy.asked


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

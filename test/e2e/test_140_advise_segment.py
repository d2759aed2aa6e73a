# Licensed under the Apache License, Version 2.0; see LICENSE.
"""A live segment and the access log of the same run: the same advice."""
import json
import random
import shutil
import socket
import threading
import time

import pytest

import cli
from kastats_env import Client, Httpd, PATIENCE, wait_for

TIMEOUT = 1.0
# Between them and far from them lie the timeouts that are compared.
GAPS = (0.06, 0.13, 0.33, 0.7)
TIMEOUTS = (0.1, 0.2, 0.5, 1.0)
USERS = 24
VISITS = 3
NEAR = 0.02

CONF = """
LogFormat "%{{c}}a %{{remote}}p %a %{{begin:usec}}t %D %k %X %H %>s %O %P \
%{{tid}}P %v \\"%r\\" \\"%{{User-Agent}}i\\"" kastats
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    CustomLog "{root}/access.log" kastats
</VirtualHost>
"""


class User(Client):
    """A client with an address of its own, not taken for a health check."""

    AGENT = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) test"

    def __init__(self, port, number):
        self.sock = socket.create_connection(
            ("127.0.0.1", port), PATIENCE, (f"127.0.1.{number + 1}", 0))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def request(self, path="/", headers=(), **kwargs):
        return super().request(path, headers=[self.AGENT, *headers], **kwargs)


def visit(httpd, number, dice):
    """One connection: a few requests; then it is left to time out, or ended.
    None is closed by its client: a log could not tell when."""
    client = User(httpd.port, number)
    n = dice.choice((1, 2, 3, 5))
    ends = dice.random() < 0.25
    for i in range(n):
        if i:
            time.sleep(dice.choice(GAPS))
        last = ends and i == n - 1
        client.get(f"/{i}.html", headers=["Connection: close"] if last else [])
    client.wait_closed()


def user(httpd, seed):
    dice = random.Random(seed)
    time.sleep(dice.uniform(0, 1.5))
    for _ in range(VISITS):
        visit(httpd, seed, dice)
        time.sleep(dice.choice(GAPS))


def run_traffic(httpd):
    threads = [threading.Thread(target=user, args=(httpd, seed))
               for seed in range(USERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    wait_for(lambda: httpd.totals()["open"] == 0, "nothing is open")


@pytest.fixture(scope="module", params=("prefork", "event"))
def run(request):
    more = ("ServerLimit 64\nMaxRequestWorkers 64\nStartServers 30\n"
            "MaxSpareServers 64\n" if request.param == "prefork" else "")
    httpd = Httpd(request.param, CONF, mpm_conf=more)
    for i in range(5):
        httpd.file(f"{i}.html", "hello\n")
    with httpd:
        run_traffic(httpd)
        yield httpd


@pytest.fixture(scope="module")
def reports(run):
    """Of the segment, and of the log."""
    more = ("--timeouts", ",".join(map(str, TIMEOUTS)))
    return (cli.report("advise", run.segment, *more),
            cli.report("advise", run.root / "access.log", "--log-format",
                       "kastats", "--timeout", TIMEOUT, *more))


def near(a, b, least=0.0):
    return a == pytest.approx(b, rel=NEAR, abs=least)


def at(report, timeout_s):
    return next(t for t in report["timeouts"]
                if t["keep_alive"] and t["timeout_s"] == timeout_s)


def test_advise_segment__traffic_is_that_of_the_log(reports):
    segment, log = reports
    a, b = segment["traffic"], log["traffic"]
    assert a["requests"] == b["requests"]
    assert a["connections"] == b["connections"] == USERS * VISITS
    assert near(a["keepalive_requests_mean"], b["keepalive_requests_mean"])
    assert near(a["window_s"], b["window_s"])
    assert a["clients"] == b["clients"] == USERS
    assert near(a["service_s"]["mean"], b["service_s"]["mean"], least=3e-4)


@pytest.mark.parametrize("timeout_s", TIMEOUTS)
def test_advise_segment__m4_to_m6_within_2_percent(reports, timeout_s):
    segment, log = reports
    a, b = at(segment, timeout_s), at(log, timeout_s)
    assert a["measured"] and b["measured"]
    assert near(a["connections"], b["connections"])
    assert near(a["connections_per_s"], b["connections_per_s"])
    assert near(a["reuse"], b["reuse"])
    assert near(a["idle_mean"], b["idle_mean"])
    # A log knows neither accepts nor lingering closes: some milliseconds.
    assert near(a["held_mean"], b["held_mean"], least=0.05)


@pytest.mark.parametrize("timeout_s", (2.0, 5.0, 60.0))
def test_advise_segment__above_t0_as_the_log_links_clients(reports, timeout_s):
    segment, log = reports
    a, b = at(segment, timeout_s), at(log, timeout_s)
    assert not a["measured"] and not b["measured"]
    assert abs(a["connections"] - b["connections"]) <= 2
    assert near(a["idle_mean"], b["idle_mean"])


def test_advise_segment__m10_keepalive_off(reports):
    segment, log = reports
    a, b = segment["timeouts"][0], log["timeouts"][0]
    assert not a["keep_alive"] and not b["keep_alive"]
    assert a["connections"] == b["connections"] 
    assert a["idle_mean"] == b["idle_mean"] == 0


def test_recent_connections_simulate_like_the_log(run, tmp_path):
    """Each server's own, with too few workers: as many wait."""
    config = tmp_path / "few.conf"
    config.write_text("KeepAliveTimeout 1\n<IfModule mpm_prefork_module>\n"
                      "StartServers 12\nServerLimit 12\n"
                      "MaxRequestWorkers 12\n</IfModule>\n", "ascii")
    ring, log = (
        cli.report("simulate", "--config", config, "--mpm", "prefork", *more)
        for more in ([run.segment], ["--log-format", "kastats", "--timeout",
                                     TIMEOUT, run.root / "access.log"]))
    assert "rebuilt" in ring["traffic"]["how"]
    a, b = (r["runs"][0] for r in (ring, log))
    assert near(a["outcome"]["connections"], b["outcome"]["connections"], 1)
    assert a["outcome"]["requests"] == b["outcome"]["requests"]
    assert a["wait"]["connections"] > 10
    assert a["wait"]["connections"] == pytest.approx(b["wait"]["connections"],
                                                     rel=0.1, abs=3)
    assert a["outcome"]["held"]["mean"] == pytest.approx(
        b["outcome"]["held"]["mean"], rel=0.05)


def test_advise_segment__facts_are_those_in_force(run, reports):
    segment, _ = reports
    server = segment["server"]
    assert segment["source"]["kind"] == "segment"
    assert segment["source"]["identity"] == "live"
    assert server["mpm"]["value"] == run.mpm
    assert server["keep_alive_timeout_s"]["value"] == TIMEOUT
    assert server["max_request_workers"]["value"] == 64
    for fact in server.values():
        assert fact["origin"].startswith("segment: configuration in force")


def test_advise_segment__peak_is_that_of_the_history(run, reports):
    segment, log = reports
    history = run.stats("&history=60")["history"]
    assert at(segment, TIMEOUT)["held_peak"] == max(s["open"] for s in history)
    # A log knows no accepts and no closes: it may miss a few.
    assert at(segment, TIMEOUT)["held_peak"] \
        == pytest.approx(at(log, TIMEOUT)["held_peak"], abs=4)


@pytest.mark.parametrize("timeout_s", TIMEOUTS)
def test_advise_segment_m11__peaks_as_the_log_has_them(reports, timeout_s):
    """Below 0.2 s the segment has no count, and no estimate is as near."""
    segment, log = reports
    a, b = at(segment, timeout_s), at(log, timeout_s)
    least = 3 if timeout_s >= 0.2 else 5
    for key in ("held_p999", "held_peak"):
        assert a[key] == pytest.approx(b[key], rel=0.05, abs=least)


def test_show_segment__is_the_handlers_object(run):
    mine = cli.report("show", run.segment, "--connections")
    handlers = run.stats("&recent=100000")
    for report in (mine, handlers):
        for key in ("generated_at", "heartbeat_at", "children"):
            del report[key]
    assert mine == handlers
    assert len(mine["recent"]) == USERS * VISITS


def test_show_segment__copy_without_httpd_reads_the_same(run, tmp_path):
    copy = tmp_path / "copy.seg"
    shutil.copyfile(run.segment, copy)
    text = cli.done("show", copy)
    assert "idle_timeout" in text and "Virtual hosts" in text
    assert json.loads(cli.done("show", copy, "--output", "json"))["live"]


@pytest.mark.parametrize("command", ("show", "advise"))
def test_segment__truncated_is_refused_in_one_sentence(run, command, tmp_path):
    copy = tmp_path / "copy.seg"
    copy.write_bytes(run.segment.read_bytes()[:4096])
    said = cli.fails(1, command, copy)
    assert said.count("\n") == 1
    assert str(copy) in said and "truncated" in said and "cp" in said


def test_segment__beside_a_log_is_refused(run):
    said = cli.fails(1, "advise", run.segment, run.root / "access.log")
    assert "give it alone" in said


@pytest.mark.parametrize("option", (("--since", "2026-01-01"),
                                    ("--log-format", "combined")))
def test_segment__options_for_logs_are_refused(run, option):
    assert option[0] in cli.fails(1, "advise", run.segment, *option)


def test_segment__unknown_vhost_is_refused(run):
    said = cli.fails(1, "advise", run.segment, "--vhost", "nobody")
    assert '"nobody"' in said
    cli.report("advise", run.segment, "--vhost", "localhost")

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""`kaadvisor simulate`: configurations under the traffic of real logs."""
import json
import re

import pytest

import cli

DEMO = ("--log-format", cli.DEMO_FORMAT, "--timeout", "15", cli.DEMO)

AMPLE = """
KeepAlive On
KeepAliveTimeout {timeout}
MaxKeepAliveRequests 0
<IfModule mpm_{mpm}_module>
    ServerLimit 300
    StartServers {start}
    {spare}
    MaxRequestWorkers 300
</IfModule>
"""
SPARE = {
    "prefork": "MinSpareServers 100\n    MaxSpareServers 300",
    "worker": "ThreadsPerChild 25\n    MinSpareThreads 100\n"
              "    MaxSpareThreads 300",
    "event": "ThreadsPerChild 25\n    MinSpareThreads 100\n"
             "    MaxSpareThreads 300",
}
TIGHT = """
KeepAliveTimeout 60
<IfModule mpm_prefork_module>
    ServerLimit 4
    StartServers 1
    MinSpareServers 1
    MaxSpareServers 2
    MaxRequestWorkers 4
</IfModule>
"""


@pytest.fixture(name="config")
def config_fixture(tmp_path):
    def write(text, name="httpd-mpm.conf"):
        path = tmp_path / name
        path.write_text(text, "ascii")
        return path
    return write


def ample(mpm, timeout=15):
    return AMPLE.format(mpm=mpm, timeout=timeout, spare=SPARE[mpm],
                        start=100 if mpm == "prefork" else 4)


def simulated(config, *args):
    report = cli.report("simulate", "--config", config, *args)
    assert report["schema"] == "kaadvisor/simulate/1"
    return report


@pytest.mark.parametrize("mpm", ["prefork", "worker", "event"])
@pytest.mark.parametrize("timeout", ["2", "15", "300"])
def test_with_ample_workers_it_is_what_advise_says(config, mpm, timeout):
    advice = cli.report(*DEMO, "--timeouts", timeout)
    row = next(t for t in advice["timeouts"]
               if t["timeout_s"] == float(timeout))
    run = simulated(config(ample(mpm, timeout)), *DEMO)["runs"][0]
    outcome = run["outcome"]
    assert run["mpm"] == mpm
    assert outcome["requests"] == advice["traffic"]["requests"] == 626
    assert outcome["connections"] == row["connections"]
    assert outcome["reuse"] == pytest.approx(row["reuse"])
    assert outcome["idle_mean"] == pytest.approx(row["idle_mean"])
    assert outcome["held_mean"] == pytest.approx(row["held_mean"])
    assert outcome["held"]["p999"] == row["held_p999"]
    assert outcome["held"]["peak"] == row["held_peak"]
    assert run["wait"]["connections"] == run["refused"] == run["evicted"] == 0


def test_too_few_workers_make_connections_wait(config):
    report = simulated(config(TIGHT), *DEMO)
    run = report["runs"][0]
    wait = run["wait"]
    assert run["outcome"]["held"]["peak"] == 4
    assert run["children"]["peak"] == 4
    assert wait["connections"] > 0
    assert 0 < wait["p99_s"] <= wait["p999_s"] <= wait["max_s"]
    assert re.search(r"1 connection in \S+ waits for a worker", run["verdict"])
    assert run["outcome"]["requests"] + run["given_up"] == 626


def test_the_block_of_advice_makes_nobody_wait(config, tmp_path):
    block = tmp_path / "tuned.conf"
    cli.done(*DEMO, "--mpm", "prefork", "--memory", "4G", "--process-memory",
             "24M", "--output", "conf", "-o", block)
    both = simulated(block, "--against", config(TIGHT), *DEMO)["runs"]
    assert both[0]["wait"]["connections"] == 0
    assert both[1]["wait"]["connections"] > 0
    assert [run["config"] for run in both] == [str(block),
                                               str(tmp_path / "httpd-mpm.conf")]


def test_a_graceful_restart(config):
    """R10: event closes what is idle, and those clients come back."""
    path = config(ample("event", 60))
    calm, restarted = (simulated(path, *more, *DEMO) for more in
                       ((), ("--restart-at", "1h")))
    assert calm["runs"][0]["restart"] is None
    wave = restarted["runs"][0]["restart"]
    assert wave["at_s"] == 3600 and wave["window_s"] == 10
    assert restarted["runs"][0]["outcome"]["connections"] >= \
        calm["runs"][0]["outcome"]["connections"]
    assert restarted["runs"][0]["retired"] - calm["runs"][0]["retired"] == \
        wave["idle_closed"]
    text = cli.done("simulate", "--config", path, "--restart-at", "1h", *DEMO)
    assert "the restart: idle ones closed (event)" in text
    assert "the restart" not in cli.done("simulate", "--config", path, *DEMO)


def test_memory_and_series(config):
    report = simulated(config(TIGHT), "--process-memory", "25M",
                       "--shared-memory", "10M", *DEMO)
    run = report["runs"][0]
    points = run["series"]["points"]
    step = run["series"]["step_s"]
    assert run["memory_bytes"]["peak"] == (10 + 4 * 25) << 20
    assert max(p["memory_bytes"] for p in points) == run["memory_bytes"]["peak"]
    assert max(p["busy"] for p in points) == 4
    assert max(p["waiting"] for p in points) == run["wait"]["waiting_peak"]
    assert len(points) <= 3600
    assert (len(points) - 1) * step < report["traffic"]["window_s"]
    assert len(points) * step >= report["traffic"]["window_s"]


def test_text(config):
    text = cli.done("simulate", "--config", config(TIGHT), "--against",
                    config(ample("event"), "x" * 60 + ".conf"), *DEMO)
    assert "What would happen" in text
    assert "MaxRequestWorkers" in text
    assert "httpd-mpm.conf:8" in re.sub(r"\s+", "", text)
    assert max(map(len, text.splitlines())) <= 80


def test_same_seed_same_result(config):
    path = config(ample("event"))
    first, second = (cli.report("simulate", "--config", path, "--seed", "7",
                                *DEMO) for _ in range(2))
    first["generated_at"] = second["generated_at"] = None
    assert first == second


# One log of each kind: what matters is that its own clients are played.
@pytest.mark.parametrize("name", ["site-combined.log", "nasa-common.log",
                                  "vhost-combined.log", "preconnects.log",
                                  "ssl_request.log"])
def test_logs_without_ports_are_played_too(config, name):
    report = simulated(config(ample("prefork")), cli.DATA / name)
    advice = cli.report(cli.DATA / name)
    assert not report["traffic"]["drawn"]
    assert report["runs"][0]["outcome"]["requests"] == \
        advice["traffic"]["requests"]
    assert_model_and_simulation_agree(advice)


def assert_model_and_simulation_agree(advice):
    """Where nobody waits, the mean held of the busiest stretch is that of the
    closed form."""
    runs = [answer["simulation"]["proposed"] for answer in advice["answers"]
            if answer["simulation"]]
    for run in runs:
        if run["wait"]["connections"] == run["evicted"] == 0:
            assert run["held_mean"] == pytest.approx(
                run["held_mean_expected"], rel=1e-3)
    return len(runs)


def test_advice_plays_its_own_block():
    """The MPM is not known: three blocks."""
    advice = cli.report(*DEMO)
    assert assert_model_and_simulation_agree(advice) == 3
    for answer in advice["answers"]:
        played = answer["simulation"]
        assert not played["traffic"]["drawn"]
        assert not played["proposed"]["somebody_waits"]
        assert played["proposed"]["held_mean"] > 0.1
        assert played["now"] is None


def test_a_profile_is_drawn_from(config, tmp_path):
    log, profile = tmp_path / "day.log", tmp_path / "day.kap"
    log.write_text(cli.combined(40000, step=0.5, clients=200), "ascii")
    cli.done("profile", "--host", "web1", "-o", profile, log)
    path = config(ample("prefork", 5))
    drawn = simulated(path, profile)
    assert drawn["traffic"]["drawn"]
    assert drawn["traffic"]["window_s"] == 3600
    # Two requests a second, an hour of them.
    assert drawn["traffic"]["requests"] == pytest.approx(7200, rel=0.1)
    assert drawn["runs"][0]["wait"]["connections"] == 0


def test_httpds_whole_configuration_is_read(config, tmp_path):
    block = config(TIGHT, "block.conf")
    main = config("ServerRoot {0}\nLoadModule mpm_prefork_module x.so\n"
                  "LoadModule mime_module y.so\nInclude {1}\n"
                  "KeepAlive Off\nListenBacklog 20\n"
                  .format(tmp_path, block))
    run = simulated(main, *DEMO)["runs"][0]
    settings = run["settings"]
    assert settings["max_request_workers"]["value"] == 4
    assert settings["max_request_workers"]["origin"].startswith(str(block))
    assert settings["listen_backlog"]["value"] == 20
    assert settings["keep_alive"]["value"] is False
    assert run["outcome"]["timeout_s"] == "off"
    assert run["outcome"]["connections"] == 626


def test_old_names_and_a_bare_block(config):
    path = config("StartServers 2\nMinSpareServers 1\nMaxSpareServers 3\n"
                  "MaxClients 3\n")
    assert "--mpm" in cli.fails(1, "simulate", "--config", path, *DEMO)
    run = simulated(path, "--mpm", "prefork", *DEMO)["runs"][0]
    assert run["settings"]["max_request_workers"]["value"] == 3
    assert run["outcome"]["held"]["peak"] == 3


def test_linger_holds_workers_longer(config):
    path = config(ample("prefork"))
    prompt, silent = (simulated(path, *more, *DEMO)["runs"][0]["outcome"]
                      for more in ((), ("--linger", "2")))
    assert prompt["connections"] == silent["connections"]
    more = silent["held_mean"] - prompt["held_mean"]
    window = cli.report(*DEMO)["traffic"]["window_s"]
    assert more == pytest.approx(2 * prompt["timeout_closes"] / window)


@pytest.mark.parametrize("status, args, said", [
    (2, ("--config", "x.conf", "--output", "conf", cli.DEMO), "--output conf"),
    (2, ("--config", "x.conf", "--seed", "-1", cli.DEMO), "--seed -1"),
    (2, ("--config", "x.conf", "--linger", "99", cli.DEMO), "--linger 99"),
    (2, ("--config", "x.conf", "--restart-at", "-1", cli.DEMO), "--restart-at"),
    (1, ("--config", "/nonexistent/x.conf", cli.DEMO), "No such file"),
])
def test_errors(status, args, said):
    assert said in cli.fails(status, "simulate", *args)


def test_a_restart_after_the_end(config):
    text = cli.fails(1, "simulate", "--config", config(TIGHT), "--restart-at",
                     "99h", *DEMO)
    assert "the traffic lasts 23.8h" in text


def test_errors_of_files(config, tmp_path):
    good, empty = config(TIGHT), config("", "empty.conf")
    nothing = tmp_path / "empty.log"
    nothing.write_text("", "ascii")
    assert "--mpm" in cli.fails(1, "simulate", "--config", empty, *DEMO)
    assert "--mpm" in cli.fails(1, "simulate", "--config", good, "--against",
                                empty, *DEMO)
    cli.fails(1, "simulate", "--config", good, nothing)


def test_a_result_file_is_written_whole(config, tmp_path):
    path = tmp_path / "result.json"
    assert cli.done("simulate", "--config", config(TIGHT), "--output", "json",
                    "-o", path, *DEMO) == ""
    assert json.loads(path.read_text("ascii"))["runs"]

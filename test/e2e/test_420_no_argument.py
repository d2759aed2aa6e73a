# Licensed under the Apache License, Version 2.0; see LICENSE.
"""`kaadvisor` without a SOURCE: the httpd that runs, its logs, its segment."""
import gzip
import json
import os
import re
import subprocess

import pytest

import cli
import kastats_env
from httpd import LOGS, MPMS, PATIENCE, LogHttpd, Peer, wait_for
from kastats_env import APACHE

VISITORS = 12
REQUESTS = 3
SITE = """
KeepAliveTimeout 7
MaxKeepAliveRequests 55
"""


def visit(httpd):
    for i in range(VISITORS):
        peer = Peer(httpd.port, f"127.0.2.{i + 1}")
        for k in range(REQUESTS):
            peer.get(f"/{k}.html")
        peer.sock.close()


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    with LogHttpd(request.param, conf=SITE) as server:
        traffic = server.traffic()
        visit(server)
        for name in LOGS:
            traffic.lines(name, VISITORS * REQUESTS)
        yield server


def main_file(httpd):
    return httpd.root / "httpd.conf"


def line_of(httpd, directive):
    """file:line of a directive's last occurrence."""
    lines = main_file(httpd).read_text().splitlines()
    number = max(i for i, line in enumerate(lines, 1)
                 if line.strip().startswith(directive))
    return f"{main_file(httpd)}:{number}"


def advise(httpd, *args, **kwargs):
    return cli.report("--httpd-config", main_file(httpd), *args, **kwargs)


def warnings(report):
    return {w["id"]: w["text"] for w in report["warnings"]}


def test_facts_have_the_places_they_come_from(httpd):
    server = advise(httpd)["server"]
    for key, directive, value in (
            ("keep_alive_timeout_s", "KeepAliveTimeout", 7),
            ("max_keep_alive_requests", "MaxKeepAliveRequests", 55),
            ("max_request_workers", "MaxRequestWorkers",
             32 if httpd.mpm == "prefork" else 64)):
        assert server[key]["value"] == value
        assert server[key]["origin"] == line_of(httpd, directive), key
    assert server["mpm"]["value"] == httpd.mpm
    assert server["memory_limit_bytes"]["value"] > 0
    assert "/" in server["memory_limit_bytes"]["origin"]


def test_the_log_that_tells_most_is_read_with_its_own_format(httpd):
    report = advise(httpd)
    source = report["source"]
    assert source["identity"] == "port"
    assert source["skipped"] == 0
    # Several of LOGS have the port and service times; each is one file.
    assert source["files"] and len(source["files"]) == 1
    assert report["traffic"]["connections"] == VISITORS
    assert report["traffic"]["requests"] == VISITORS * REQUESTS
    found = "\n".join(source["found"])
    assert f"pid {httpd.process.pid}" in found
    assert str(main_file(httpd)) in found
    assert f"MPM: {httpd.mpm}" in found
    assert source["files"][0] in found
    assert "admin.invalid" in warnings(report)["vhosts_not_read"]


def test_what_was_found_is_told_to_people(httpd):
    result = cli.run("--httpd-config", main_file(httpd))
    assert result.status == 0
    text = cli.clean(result.out)
    assert re.search(rf"Found +httpd: .*pid {httpd.process.pid}", text)
    assert f"pid {httpd.process.pid}" in cli.clean(result.err)
    quiet = cli.run("--quiet", "--httpd-config", main_file(httpd))
    assert quiet.status == 0
    assert quiet.err == b""


def test_cold_children_are_not_measured(httpd):
    report = advise(httpd)
    assert "process_unique_bytes" not in report["server"]
    assert "process_shared_bytes" not in report["server"]
    assert "warm" in warnings(report)["memory_not_measured"]


def test_options_win(httpd):
    report = advise(httpd, "--timeout", "3", "--memory", "2G",
                    "--process-memory", "20M", "--mpm", "worker")
    server = report["server"]
    assert server["keep_alive_timeout_s"] == {
        "value": 3, "origin": "option --timeout", "assumed": False}
    assert server["memory_limit_bytes"]["value"] == 2 << 30
    assert server["process_unique_bytes"]["origin"] == \
        "option --process-memory"
    assert server["mpm"]["value"] == "worker"
    assert "memory_not_measured" not in warnings(report)


def test_rotated_siblings_are_read(httpd, tmp_path):
    name, = {os.path.basename(p) for p in advise(httpd)["source"]["files"]}
    log = httpd.root / name
    rotated = httpd.root / f"{name}.2.gz"
    lines = log.read_bytes().splitlines(keepends=True)
    # A day before, by the clock that this format stamps.
    rotated.write_bytes(gzip.compress(b"".join(lines)))
    try:
        source = advise(httpd)["source"]
        assert sorted(source["files"]) == sorted(map(str, (log, rotated)))
        assert source["parsed"] == 2 * len(lines)
    finally:
        rotated.unlink()


@pytest.fixture
def busy(httpd):
    """A day in a poor format, beside a minute in rich ones."""
    path = httpd.root / "combined.log.1"
    path.write_text(cli.combined(5000, step=5, clients=40))
    yield path
    path.unlink()


def test_much_in_a_poor_format_comes_before_little_in_a_rich_one(httpd, busy):
    source = advise(httpd)["source"]
    assert source["identity"] == "time"
    assert sorted(source["files"]) == sorted(
        (str(busy), str(httpd.log_path("combined"))))
    assert source["skipped"] == 0


def test_the_block_passes_configtest(httpd, busy, tmp_path):
    conf = tmp_path / "httpd-mpm.conf"
    result = cli.run("--httpd-config", main_file(httpd), "--process-memory",
                     "20M", "--output", "conf", "-o", conf)
    assert (result.status, result.out) == (0, b"")
    assert f"{conf}: httpd -t accepts" in cli.clean(result.err)
    assert re.search(r"^\s*MaxRequestWorkers \d", conf.read_text(), re.M)
    assert f"<IfModule mpm_{httpd.mpm}_module>" in conf.read_text()
    whole = tmp_path / "whole.conf"
    whole.write_text(main_file(httpd).read_text() + f'\nInclude "{conf}"\n')
    done = subprocess.run([APACHE, "-d", httpd.root, "-f", whole, "-t"],
                          capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert "Syntax OK" in done.stderr


def test_a_block_that_httpd_refuses(httpd, busy, tmp_path):
    """The configuration that runs no longer holds."""
    conf, original = tmp_path / "httpd-mpm.conf", main_file(httpd).read_text()
    main_file(httpd).write_text(original + "\nNoSuchDirective On\n")
    try:
        result = cli.run("--httpd-config", main_file(httpd), "--output",
                         "conf", "-o", conf)
    finally:
        main_file(httpd).write_text(original)
    assert result.status == 1
    text = cli.clean(result.err)
    assert "httpd refuses" in text and "exit 1" in text
    assert "NoSuchDirective" in text
    assert not conf.exists()


def test_no_request_counts_twice():
    """Two logs in one format, both of the same virtual host."""
    line = LOGS["kastats"].replace("{", "{{").replace("}", "}}")
    conf = "".join(f'CustomLog "{{root}}/{name}.log" {line}\n'
                   for name in ("twin", "again"))
    with LogHttpd("event", conf=conf) as server:
        visit(server)
        twin = server.log_path("twin")
        wait_for(lambda: twin.read_text().count("visitor")
                 == VISITORS * REQUESTS, "lines")
        report = cli.report("--httpd-config", main_file(server), "--vhost",
                            "localhost")
        assert report["traffic"]["requests"] == VISITORS * REQUESTS
        assert len(report["source"]["files"]) == 1


def test_a_named_source_stays(httpd):
    report = advise(httpd, "--log-format", cli.DEMO_FORMAT, cli.DEMO)
    assert report["source"]["files"] == [str(cli.DEMO)]
    assert report["server"]["max_request_workers"]["origin"] == \
        line_of(httpd, "MaxRequestWorkers")


# ---- simulate --------------------------------------------------------------

def test_simulate_takes_configuration_and_traffic_from_the_host(httpd):
    report = cli.report("simulate", "--httpd-config", main_file(httpd))
    run, = report["runs"]
    assert run["config"] == str(main_file(httpd))
    assert run["mpm"] == httpd.mpm
    assert run["settings"]["keep_alive_timeout_s"] == {
        "value": 7, "origin": line_of(httpd, "KeepAliveTimeout")}
    assert report["traffic"]["requests"] == VISITORS * REQUESTS
    assert run["outcome"]["requests"] == VISITORS * REQUESTS
    assert run["wait"]["connections"] == 0


def test_simulate_compares_what_is_in_force_with_a_file(httpd, tmp_path):
    """A block that names no MPM is for the server's."""
    block = tmp_path / "off.conf"
    block.write_text("KeepAlive Off\n")
    now, then = cli.report("simulate", "--httpd-config", main_file(httpd),
                           "--against", block)["runs"]
    assert (now["config"], then["config"]) == (str(main_file(httpd)),
                                               str(block))
    assert then["mpm"] == httpd.mpm
    assert now["outcome"]["connections"] == VISITORS
    assert then["outcome"]["connections"] == VISITORS * REQUESTS
    alone_run, = cli.report("simulate", "--config", block, "--httpd-config",
                            main_file(httpd))["runs"]
    assert alone_run["outcome"] == then["outcome"]


# ---- which one -------------------------------------------------------------

def alone(script, *args):
    """Runs a shell script among no other processes."""
    if os.geteuid() != 0 or subprocess.run(
            ["unshare", "-pf", "--mount-proc", "true"], check=False,
            capture_output=True).returncode:
        pytest.skip("needs a process namespace of its own: root, unshare")
    return subprocess.run(
        ["unshare", "-pf", "--mount-proc", "sh", "-c", script, "sh", *args],
        capture_output=True, timeout=PATIENCE, env=cli.environment(),
        check=False)


def test_none_runs():
    done = alone('exec "$@"', cli.KAADVISOR)
    text = done.stderr.decode("ascii")
    assert done.returncode == 2, text
    assert done.stdout == b""
    assert "no httpd runs here" in text and "access log" in text
    assert "doctor" in text and "`kaadvisor advise --help`" in text


def test_simulate_needs_a_configuration():
    done = alone('exec "$@"', cli.KAADVISOR, "simulate", "--log-format",
                 cli.DEMO_FORMAT, cli.DEMO)
    text = done.stderr.decode("ascii")
    assert done.returncode == 2, text
    assert "no --config, and no httpd runs here" in text


STARTED = """
"$1" -d "$2" -f "$2/httpd.conf" -k start || exit 9
until [ -s "$2/run/httpd.pid" ]; do :; done
shift 2
"$@"
"""


def test_the_only_one_needs_no_option():
    """No argument at all."""
    server = LogHttpd("event", conf=SITE)
    with server:
        traffic = server.traffic()
        visit(server)
        traffic.lines("kastats", VISITORS * REQUESTS)
        server.stop()
        done = alone(STARTED, APACHE, server.root, cli.KAADVISOR,
                     "--output", "json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["traffic"]["requests"] >= VISITORS * REQUESTS
        assert report["server"]["keep_alive_timeout_s"]["value"] == 7
        assert report["server"]["mpm"]["value"] == "event"


def test_several_are_told_apart(httpd):
    with LogHttpd("prefork") as other:
        text = cli.fails(2)
        for server in (httpd, other):
            assert re.search(
                rf"pid {server.process.pid}\b.*--httpd-config "
                rf"{re.escape(str(main_file(server)))}", text), text


def test_a_file_that_no_httpd_runs_with(httpd, tmp_path):
    copy = tmp_path / "copy.conf"
    copy.write_text(main_file(httpd).read_text().replace(
        "KeepAliveTimeout 7", "KeepAliveTimeout 9"))
    report = cli.report("--httpd-config", copy)
    assert report["server"]["keep_alive_timeout_s"]["value"] == 9
    assert "none runs with this configuration" in "\n".join(
        report["source"]["found"])


def test_no_such_file(tmp_path):
    path = tmp_path / "none.conf"
    text = cli.fails(1, "--httpd-config", path)
    assert str(path) in text and "No such file" in text


# ---- nothing to read -------------------------------------------------------

def test_no_log_with_lines(tmp_path):
    server = LogHttpd("event")
    with server:
        for name in LOGS:
            wait_for(lambda n=name: server.log_path(n).exists(), name)
        for name in LOGS:
            os.truncate(server.log_path(name), 0)
        text = cli.fails(1, "--httpd-config", main_file(server))
        assert "neither an access log nor a segment" in text
        for name in LOGS:
            assert f"{name}.log" in text
        assert "no lines are in it" in text


# ---- segment ---------------------------------------------------------------

def test_a_young_segment_is_used_where_there_is_no_log():
    with kastats_env.Httpd("event") as server:
        for _ in range(VISITORS):
            client = server.client()
            client.get()
            client.sock.close()
        wait_for(lambda: server.totals()["connections"] >= VISITORS,
                 "connections")
        result = cli.run("--httpd-config", main_file(server),
                         "--output", "json")
        assert result.status == 0, result.err
        source = json.loads(result.out)["source"]
        assert source["identity"] == "live"
        assert any("live segment" in text for text in source["found"])

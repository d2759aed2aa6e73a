# Licensed under the Apache License, Version 2.0; see LICENSE.
"""`kaadvisor` and nothing else on a fresh Debian web server."""
import json
import re
import struct
import time

import pytest

import cli
from box import VISIT_REQUESTS, Debian, day
from httpd import wait_for

VISITORS = 30
VISITS = 1440
LOGGED = VISITS * VISIT_REQUESTS
ENABLED = "/etc/apache2/mods-enabled"


@pytest.fixture(scope="module")
def debian():
    with Debian() as box:
        box.path("/var/log/apache2/access.log.1").write_text(
            day(VISITS, time.time() - 60))
        box.visit(VISITORS)
        log = box.path("/var/log/apache2/access.log")
        wait_for(lambda: log.read_text().count("visitor") == 3 * VISITORS,
                 "the visits' lines")
        yield box


def advised(box, *args, status=0):
    done = box.run(box.kaadvisor, "--output", "json", *args, status=status)
    return json.loads(done.stdout)


def line_of(box, path, directive):
    """file:line of a directive, as the server names it."""
    lines = box.path(path).read_text().splitlines()
    return path + ":" + str(next(
        i for i, line in enumerate(lines, 1)
        if re.match(rf"\s*{directive}\b", line)))


def test_advice_without_an_argument(debian):
    report = advised(debian)
    assert report["traffic"]["requests"] == LOGGED + 3 * VISITORS
    assert not report["verdict"]["refused"]
    assert {"KeepAliveTimeout", "MaxRequestWorkers", "StartServers"} <= {
        row["directive"] for row in report["advice"]}
    text = cli.clean(debian.run(debian.kaadvisor).stdout)
    assert "Proposed settings (MPM event)" in text


def test_facts_are_those_of_the_package(debian):
    server = advised(debian)["server"]
    main = "/etc/apache2/apache2.conf"
    mpm = f"{ENABLED}/mpm_event.conf"
    for key, value, path, directive in (
            ("keep_alive", True, main, "KeepAlive"),
            ("keep_alive_timeout_s", 5, main, "KeepAliveTimeout"),
            ("max_keep_alive_requests", 100, main, "MaxKeepAliveRequests"),
            ("max_request_workers", 150, mpm, "MaxRequestWorkers"),
            ("threads_per_child", 25, mpm, "ThreadsPerChild")):
        fact = server[key]
        assert fact["value"] == value, key
        # The file of the link, or the link: one place of the same line.
        wanted = {line_of(debian, path, directive),
                  line_of(debian, path, directive).replace("enabled",
                                                           "available")}
        assert fact["origin"] in wanted, (key, fact)
    assert server["mpm"]["value"] == "event"
    assert server["memory_limit_bytes"]["value"] > 0


def test_the_log_is_found_by_its_variable(debian):
    source = advised(debian)["source"]
    assert source["files"] == ["/var/log/apache2/access.log.1",
                               "/var/log/apache2/access.log"]
    assert source["skipped"] == 0
    found = "\n".join(source["found"])
    assert "000-default.conf:" in found and "LogFormat combined" in found
    assert "as httpd itself obeys it" in found
    site = debian.path("/etc/apache2/sites-enabled/000-default.conf")
    assert "CustomLog ${APACHE_LOG_DIR}/access.log" in site.read_text()


def test_the_block_is_accepted(debian):
    done = debian.run(debian.kaadvisor, "--process-memory", "20M",
                      "--output", "conf", "-o", "/run/httpd-mpm.conf")
    assert b"httpd -t accepts" in done.stderr
    conf = debian.path("/run/httpd-mpm.conf").read_text()
    assert "<IfModule mpm_event_module>" in conf
    assert re.search(r"^\s*MaxRequestWorkers \d", conf, re.M)
    debian.path("/etc/apache2/conf-enabled/zz-tuned.conf").symlink_to(
        "/run/httpd-mpm.conf")
    try:
        assert b"Syntax OK" in debian.run("apache2ctl", "configtest").stderr
    finally:
        debian.path("/etc/apache2/conf-enabled/zz-tuned.conf").unlink()


def test_check_tells_by_its_status(debian):
    changed = advised(debian)["verdict"]["change_advised"]
    debian.run(debian.kaadvisor, "--check", status=3 if changed else 0)


def test_doctor(debian):
    whole = json.loads(debian.run(debian.kaadvisor, "doctor", "--output",
                                  "json").stdout)
    mine, = whole["httpds"]
    assert mine["container"] is False
    assert mine["settings"]["mpm"]["value"] == "event"
    assert mine["settings"]["max_request_workers"]["value"] == 150
    assert mine["memory"]["children"] == 2
    assert mine["memory"]["measure"] == "smaps_rollup"
    assert 0 < mine["budget"]["bytes"] < \
        whole["host"]["memory"]["total_bytes"]
    assert {"files", "somaxconn", "listen_queue"} <= {
        row["id"] for row in mine["limits"]}


# ---- with mod_kastats ------------------------------------------------------

CONNECTIONS = 1100
AGE = 7200

# modules/core/ka_segment.h
STARTED_AT, SECTIONS, HISTORY = 48, 64, 2


def make_older(segment, seconds):
    """As if it had begun so long before, and had seen a request just now.
    The server's own view of its clock stays as it is, so there must be no
    traffic after this."""
    with open(segment, "r+b") as f:
        data = f.read(1024)
        started, = struct.unpack_from("=q", data, STARTED_AT)
        offset, size, n = struct.unpack_from("=QII", data,
                                             SECTIONS + 16 * HISTORY)
        started -= seconds * 1000000
        f.seek(STARTED_AT)
        f.write(struct.pack("=q", started))
        tag = int(time.time() - started / 1e6) - 2
        f.seek(offset + tag % n * size)
        f.write(struct.pack("=Q", tag << 32 | 1))


@pytest.fixture(scope="module")
def recorded():
    """Debian's, with mod_kastats as the README says."""
    with Debian(kastats=True) as box:
        box.path("/var/log/apache2/access.log.1").write_text(
            day(VISITS, time.time() - 60))
        yield box


def test_a_young_segment_is_named_and_logs_are_read(recorded):
    recorded.visit(VISITORS)
    report = advised(recorded)
    assert report["source"]["kind"] == "log"
    found = "\n".join(report["source"]["found"])
    assert re.search(r"segment of mod_kastats: /var/run/apache2/kastats.seg, "
                     r"with \d+ connections in .*used from 1,000 connections and "
                     r"an hour on", found), found


def test_a_segment_that_has_seen_enough_is_preferred(recorded):
    recorded.visit(CONNECTIONS, 2)
    segment = recorded.path("/run/apache2/kastats.seg")

    def closed():
        said = recorded.run(recorded.kaadvisor, "show", "--output", "json",
                            "/run/apache2/kastats.seg").stdout
        totals = json.loads(said)["totals"]
        return totals["connections"] >= CONNECTIONS and totals["open"] == 0

    wait_for(closed, "all closed")
    make_older(segment, AGE)
    report = advised(recorded)
    assert report["source"]["kind"] == "segment", report["source"]
    assert report["source"]["identity"] == "live"
    assert any("traffic: the live segment of mod_kastats, "
               "/var/run/apache2/kastats.seg" in text
               for text in report["source"]["found"])
    assert report["traffic"]["window_s"] >= AGE - 10
    assert not report["verdict"]["refused"]

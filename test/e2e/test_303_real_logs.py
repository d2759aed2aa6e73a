# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Real access logs: excerpts always, the whole files where KA_LOGS has them.

What is known of each was counted by hand and by scripts; the files' own line
numbers do not matter.
"""
import collections
import datetime
import gzip
import re

import pytest

import cli

EXTENDED = cli.DEMO_FORMAT
CSV = (r'%v,%p,%h,%l,%u,%t,%I,%O,%S,%B,%{ms}T,%D,%^FB,%>s,\"%H\",\"%m\",'
       r'\"%U\",\"%q\",\"%{Referer}i\",\"%{User-Agent}i\",\"%{app}C\",%L')
HONEYPOT = (r' %h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" '
            r'%p')
EVERY_FIELD = " ".join(rf'\"{item}\"' for item in (
    "%% %a %{c}a %A %B %b %D %f %h %H %k %l %L %m %p %{canonical}p %{local}p "
    "%{remote}p %P %{pid}P %{tid}P %{hextid}P %q %r %R %s %>s %t %{msec}t "
    "%{begin:msec}t %{end:msec}t %{usec}t %{begin:usec}t %{end:usec}t "
    "%{msec_frac}t %{begin:msec_frac}t %{end:msec_frac}t %{usec_frac}t "
    "%{begin:usec_frac}t %{end:usec_frac}t %T %u %U %v %V %X %I %O "
    "%{cookie}i %{set-cookie}o %{user-agent}i %{referer}i").split())

Known = collections.namedtuple(
    "Known", "file log_format detected lines parsed requests identity traffic",
    defaults=({},))

# `traffic` are dotted keys of the JSON's traffic object.
EXCERPTS = (
    Known("demo.log", EXTENDED, "extended", 628, 628, 626, "slot",
          {"excluded.no_request": 2, "http2_share": 0}),
    Known("every-field.log", EVERY_FIELD, "custom", 6, 6, 6, "port",
          {"connections": 4}),
    Known("site-combined.log", None, "combined", 51, 51, 47, "time",
          {"excluded.no_request": 4}),
    Known("pagespeed-combined.log", None, "combined", 40, 40, 3, "time",
          {"excluded.mod_pagespeed": 28,
           "excluded.internal_dummy_connection": 9}),
    Known("vhost-combined.log", None, "vhost_combined", 40, 40, 36, "time",
          {"excluded.internal_dummy_connection": 4}),
    Known("nasa-common.log", None, "common", 40, 40, 40, "time",
          {"connections": 40, "closes.http10": 40}),
    Known("csv.log", CSV, "custom", 45, 45, 45, "time",
          {"http2_share": pytest.approx(36 / 45)}),
    Known("ssl_request.log", None, "ssl_request", 36, 36, None, "time",
          {"tls_share": 1}),
    Known("preconnects.log", None, "combined", 40, 40, 24, "time",
          {"excluded.no_request": 16}),
    Known("honeypot.log", HONEYPOT, "custom", 30, 24, 24, "time",
          {"not_http": 22, "closes.http10": 2}),
    Known("gzip-inside-text.log", None, "combined", 51, None, None, "time"),
    Known("truncated.log", None, "combined", 48, 47, None, "time",
          {"not_http": 6}),
)

WHOLE = (
    Known("connections-truth.log.gz", EXTENDED, "extended", 10_000, 10_000,
          9959, "slot", {"excluded.no_request": 41}),
    Known("every-field.log", EVERY_FIELD, "custom", 6, 6, 6, "port",
          {"connections": 4}),
    Known("site-combined.log.gz", None, "combined", 8515, 8515, 8466, "time",
          {"excluded.no_request": 49}),
    Known("pagespeed-combined.log.gz", None, "combined", 40_000, 40_000,
          None, "time",
          {"excluded.mod_pagespeed": 25_637,
           "excluded.internal_dummy_connection": 576}),
    Known("vhost-combined.log.gz", None, "vhost_combined", 3353, 3353, None,
          "time", {"excluded.internal_dummy_connection": 296}),
    Known("nasa-common.log.gz", None, "common", 12_000, 12_000, 12_000,
          "time", {"connections": 12_000, "closes.http10": 12_000}),
    Known("csv.log", CSV, "custom", 1044, 1044, 1044, "time",
          {"http2_share": pytest.approx(1029 / 1044)}),
    Known("ssl_request.log", None, "ssl_request", 2000, 2000, None, "time"),
    Known("preconnects.log.gz", None, "combined", 6000, 6000, 4434, "time",
          {"excluded.no_request": 1566}),
    Known("honeypot.log", HONEYPOT, "custom", 1500, 1493, 1493, "time",
          {"not_http": 1491}),
    Known("gzip-inside-text.log", None, "combined", 200, None, None, "time"),
    Known("truncated.log.gz", None, "combined", 1294, 1293, None, "time",
          {"excluded.internal_dummy_connection": 70}),
)


def at(value, path):
    for key in path.split("."):
        value = value[key]
    return value


def read(directory, known):
    args = ["--log-format", known.log_format] if known.log_format else []
    report = cli.report(*args, directory / known.file)
    source, traffic = report["source"], report["traffic"]
    assert source["log_format"] == known.detected
    assert source["log_format_detected"] is (known.log_format is None)
    assert source["identity"] == known.identity
    assert source["lines"] == known.lines
    assert source["lines"] == source["parsed"] + source["skipped"]
    if known.parsed is not None:
        assert source["parsed"] == known.parsed
    if known.requests is not None:
        assert traffic["requests"] == known.requests
    for key, value in known.traffic.items():
        assert at(traffic, key) == value, key
    return report


@pytest.mark.parametrize("known", EXCERPTS, ids=lambda k: k.file)
def test_excerpt(known):
    read(cli.DATA, known)


@pytest.mark.parametrize("known", WHOLE, ids=lambda k: k.file)
def test_whole(known, whole_logs):
    read(whole_logs, known)


# ---- peculiarities ------------------------------------------------------------------

def test_lines_out_of_order():
    """httpd logs the start, and writes at the end."""
    assert read(cli.DATA, EXCERPTS[2])["source"]["out_of_order"] == 2


@pytest.mark.parametrize("file, n", [("connections-truth.log.gz", 893),
                                     ("site-combined.log.gz", 389)])
def test_whole_lines_out_of_order(file, n, whole_logs):
    known = next(k for k in WHOLE if k.file == file)
    assert read(whole_logs, known)["source"]["out_of_order"] == n


def test_cut_last_line():
    source = read(cli.DATA, EXCERPTS[-1])["source"]
    assert (source["cut"], source["skipped"]) == (1, 1)
    sample, = source["skipped_samples"]
    assert (sample["line"], sample["column"]) == (48, 74)
    assert "%>s" in sample["reason"]
    assert "ends in the middle" in sample["reason"]


def test_archive_within_a_text():
    """The text around it is read; not one byte of it gets out raw."""
    known = EXCERPTS[-2]
    report = read(cli.DATA, known)
    data = (cli.DATA / known.file).read_bytes().splitlines()
    text = sum(re.match(rb'\S+ - - \[[^]]+\] "[ -~]*$', line) is not None
               for line in data)
    assert text <= report["source"]["parsed"] <= text + 1
    assert report["source"]["skipped"] > 5
    cli.clean(cli.run(cli.DATA / known.file).out)


def test_second_address_in_front_is_told():
    """The excerpt holds lines with a forwarded-for address in front, which
    that format does not have."""
    source = read(cli.DATA, EXCERPTS[-3])["source"]
    assert source["skipped"] == 6
    assert all(sample["column"] == 1 for sample in source["skipped_samples"])


def test_time_blotted_out_in_one_item_of_many():
    """%{usec}t says 9999999999999999 here; %t and %{usec_frac}t are right."""
    source = read(cli.DATA, EXCERPTS[1])["source"]
    assert source["first"].startswith("2014-11-21T15:48:21")
    assert source["clock_resolution_s"] == pytest.approx(1e-6)


def test_http10_has_one_request_per_connection():
    """By protocol, without %k or a port: no bracket."""
    traffic = read(cli.DATA, EXCERPTS[5])["traffic"]
    assert traffic["requests_per_connection"]["mean"] == 1


# ---- connections: the truth is known -------------------------------------------------

TruthLine = collections.namedtuple("TruthLine", "begin end connection")


def truth_of(log, tsv):
    """Requests of a log whose connections are known, in order of start."""
    connection = dict(map(int, line.split()) for line in tsv.splitlines()
                      if not line.startswith("#"))
    lines = []
    for number, line in enumerate(log.splitlines(), 1):
        if number not in connection:
            continue
        stamp = re.search(r"\[(.{26})\]", line)[1]
        begin = datetime.datetime.strptime(
            stamp + "Z", "%Y-%m-%d %H:%M:%S.%f%z").timestamp()
        taken = int(line.split()[-6]) / 1e6
        lines.append(TruthLine(begin, begin + taken, connection[number]))
    return sorted(lines)


def gaps_of(truth):
    """Idle times between the requests of each connection, ascending."""
    last, gaps = {}, []
    for begin, end, connection in truth:
        if connection in last:
            gaps.append(max(0, begin - last[connection]))
        last[connection] = max(end, last.get(connection, 0))
    return sorted(gaps)


Case = collections.namedtuple("Case", "path text truth tolerance")


@pytest.fixture(scope="module", params=["excerpt", "whole"])
def case(request):
    if request.param == "excerpt":
        tsv = (cli.DATA / "demo-truth.tsv").read_text()
        path, text, tolerance = cli.DEMO, cli.DEMO.read_text(), 0.02
    else:
        logs = request.getfixturevalue("whole_logs")
        path, tolerance = logs / "connections-truth.log.gz", 0.01
        text = gzip.decompress(path.read_bytes()).decode()
        tsv = gzip.decompress(
            (logs / "connections-truth.tsv.gz").read_bytes()).decode()
    return Case(path, text, truth_of(text, tsv), tolerance)


def connections_of(case):
    return len({line.connection for line in case.truth})


def test_truth_is_what_it_is_said_to_be(case):
    """The helper against figures that were counted by hand."""
    known = {"demo.log": (626, 336), "connections-truth.log.gz": (9959, 4811)}
    assert (len(case.truth), connections_of(case)) == known[case.path.name]


@pytest.mark.parametrize("args", [(), ("--timeout", "15"),
                                  ("--timeout", "15", "--mpm", "prefork")])
def test_connections_by_slot(args, case):
    """UNIQUE_ID names the child process: one connection at a time."""
    report = cli.report(*args, "--log-format", EXTENDED, case.path)
    traffic, n = report["traffic"], connections_of(case)
    assert report["source"]["identity"] == "slot"
    assert traffic["connections"] == pytest.approx(n, rel=case.tolerance)
    assert traffic["requests_per_connection"]["mean"] == pytest.approx(
        len(case.truth) / n, rel=case.tolerance)


def test_requests_per_connection_of_the_whole_log(whole_logs):
    """4,811 connections, 2.07 requests each, without being told the timeout."""
    traffic = cli.report("--log-format", EXTENDED, whole_logs /
                         "connections-truth.log.gz")["traffic"]
    assert traffic["connections"] == pytest.approx(4811, rel=0.01)
    assert traffic["requests_per_connection"]["mean"] == pytest.approx(
        2.07, rel=0.01)
    assert traffic["requests_per_connection"]["p50"] == 1  # 59 % carry one
    assert traffic["parallel"]["max"] >= 6


def test_gaps_within_connections(case):
    """Measured gaps: those within connections, none above the timeout."""
    gaps = gaps_of(case.truth)
    gap = cli.report("--timeout", "15", "--log-format", EXTENDED,
                     case.path)["traffic"]["gap_s"]
    for key, q in (("p50", 0.5), ("p90", 0.9)):
        assert gap[key] == pytest.approx(gaps[int(q * len(gaps))], rel=0.2)
    assert gap["max"] <= 15.5
    assert gap["mean"] == pytest.approx(sum(gaps) / len(gaps), rel=0.1)


def test_no_slot_identity_on_event(case):
    """There a thread serves other connections between two requests of one."""
    report = cli.report("--mpm", "event", "--timeout", "15", "--log-format",
                        EXTENDED, case.path)
    assert report["source"]["identity"] == "time"
    assert report["source"]["identity_note"]


# The log again without what names a connection, and worse.
STAMP = re.compile(r"\[(\d+)-(\d+)-(\d+) (\d\d:\d\d:\d\d)\.\d+\]")
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def degraded(text, fine, service):
    """A combined log, perhaps with microseconds and %D at its end."""
    lines = []
    for line in text.splitlines():
        head, _, tail = line.partition('" www.example.com ')
        host, _, user, rest = head.split(" ", 3)
        if not fine:
            rest = STAMP.sub(lambda m: f"[{m[3]}/{MONTHS[int(m[2]) - 1]}/"
                                       f"{m[1]}:{m[4]} +0000]", rest, count=1)
        taken = " " + tail.split()[-6] if service else ""
        lines.append(f'{host} - {user} {rest}"{taken}\n')
    return "".join(lines)


@pytest.mark.parametrize("fine, service", [(False, False), (False, True),
                                           (True, False)])
def test_bracket_holds_the_truth(fine, service, case, tmp_path):
    path = tmp_path / "access.log"
    path.write_text(degraded(case.text, fine, service))
    stamp = "[%{%Y-%m-%d %H:%M:%S}t.%{usec_frac}t]" if fine else "%t"
    log_format = (rf'%h %l %u {stamp} \"%r\" %>s %b \"%{{Referer}}i\" '
                  rf'\"%{{User-Agent}}i\"' + (" %D" if service else ""))
    report = cli.report("--timeout", "15", "--log-format", log_format, path)
    assert report["source"]["identity"] == "time"
    assert report["source"]["skipped"] == 0
    connections = report["traffic"]["connections"]
    assert set(connections) == {"low", "high"}
    n = connections_of(case)
    assert connections["low"] <= n
    # The excerpt is a day of many clients that closed at once and came back,
    # which no time shows; over the month they do not weigh as much.
    assert n <= connections["high"] * (1.15 if case.path == cli.DEMO else 1)
    assert report["verdict"]["confidence"] == "low"
    assert "%{remote}p" in report["source"]["identity_note"]
    assert any("%{c}a %{remote}p" in step for step in report["next"])


def test_combined_is_detected_in_the_degraded_log(case, tmp_path):
    path = tmp_path / "access.log"
    path.write_text(degraded(case.text, False, False))
    assert cli.report(path)["source"]["log_format"] == "combined"


def test_connections_by_microseconds_and_service_time(case, tmp_path):
    """[MODEL 7.4] Times alone: never more connections than there were, and
    fewer by those whose client closed before the timeout and came back."""
    path = tmp_path / "access.log"
    path.write_text(degraded(case.text, True, True))
    report = cli.report(
        "--timeout", "15", "--log-format",
        r'%h %l %u [%{%Y-%m-%d %H:%M:%S}t.%{usec_frac}t] \"%r\" %>s %b '
        r'\"%{Referer}i\" \"%{User-Agent}i\" %D', path)
    assert report["source"]["identity"] == "time"
    n = connections_of(case)
    lowest = 0.8 if case.path == cli.DEMO else 0.9
    assert lowest * n <= report["traffic"]["connections"] <= 1.01 * n

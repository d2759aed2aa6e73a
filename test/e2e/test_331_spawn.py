# Licensed under the Apache License, Version 2.0; see LICENSE.
"""StartServers and spare workers from httpd's spawn loop on the traffic
(M15): from a log to the numbers, against the loop run by itself."""
import pytest

import cli
from spawning import model

FORMAT = ('%{c}a %{remote}p %{begin:usec}t %D %X %>s %O \\"%r\\" '
          '\\"%{User-Agent}i\\"').replace("\\", "")
HOUR = 3600
FIRST = 1767225600  # a whole hour
BURST, EVERY = 60, 60  # connections at once, each minute
WORKERS = 200
# A connection's two requests, and the idle time between: 3 s held at any
# timeout from 1 s on; then the client closes.
FIRST_S, IDLE_S, SECOND_S = 1.5, 0.5, 1.0
HELD_S = 3
SETTLED = 5 * 60  # more than any timeout's time to settle


def connections():
    """Begins in seconds: one every third second, and the bursts."""
    for second in range(0, HOUR - HELD_S, 3):
        yield second
    for second in range(EVERY // 2, HOUR, EVERY):
        yield from [second] * BURST


def bursty_log(path):
    requests = []
    for number, begin in enumerate(sorted(connections())):
        for at, service, end in ((0, FIRST_S, "+"),
                                 (FIRST_S + IDLE_S, SECOND_S, "-")):
            requests.append((FIRST + begin + at, number, service, end))
    requests.sort()
    path.write_text("".join(
        f"192.0.2.{n % 250} {1024 + n} {int(at * 1e6)} {int(service * 1e6)} "
        f'{end} 200 1000 "GET / HTTP/1.1" "test {n % 700}"\n'
        for at, n, service, end in requests))
    return path


def holders():
    held = [0] * HOUR
    for begin in connections():
        for second in range(begin, min(begin + HELD_S, HOUR)):
            held[second] += 1
    return held


def advice(log, mpm, *more):
    r = cli.report(log, "--log-format", FORMAT, "--mpm", mpm, "--timeout", 5,
                   *more)
    return {row["directive"]: row for row in r["advice"]}, r


def waited(tmp_path, spare):
    """Connections that wait, by the loop alone: those of each burst that do
    not find a worker in its second."""
    held = holders()
    seconds = model(tmp_path, "prefork",
                    (1, held[0] + spare, spare, 2 * spare, WORKERS), held)
    return sum(seconds[t].waiting
               for t in range(EVERY // 2, HOUR, EVERY))


@pytest.fixture(scope="module", name="log")
def fixture_log(tmp_path_factory):
    return bursty_log(tmp_path_factory.mktemp("spawn") / "bursty.log")


def test_bursts_wait_with_the_default_and_not_as_advised(log, tmp_path):
    rows, r = advice(log, "prefork", "--memory", "4000M",
                     "--process-memory", "20M")
    row = rows["MinSpareServers"]
    spare = int(row["to"])
    total = len(list(connections()))
    assert rows["MaxRequestWorkers"]["to"] == str(WORKERS)
    assert int(rows["KeepAliveTimeout"]["to"]) >= 1
    assert row["rule"] == "M15" and 5 < spare <= BURST
    assert waited(tmp_path, 5) > total / 100
    assert waited(tmp_path, spare) <= total / 1000
    assert waited(tmp_path, spare - 1) > total / 1000
    assert row["evidence"]["wait_p999_s"] == 0
    assert row["evidence"]["compared_with"] == 5
    assert row["evidence"]["compared_waited"] > total / 100
    assert total - SETTLED <= row["evidence"]["arrivals"] <= total
    assert int(rows["MaxSpareServers"]["to"]) == max(2 * spare, spare + 5)
    assert f"With {spare} spare nobody waits at p99.9" in row["because"]
    assert "with 5 (httpd's default) 58.3% wait, up to 6s" in row["because"]
    assert not [w for w in r["warnings"] if w["id"] == "proposed_waits"]


def test_the_result_does_not_depend_on_threads(log):
    one, _ = advice(log, "prefork", "--threads", 1)
    four, _ = advice(log, "prefork", "--threads", 4)
    assert one == four


def test_event_counts_requests_on_busy_workers(log):
    rows, _ = advice(log, "event")
    row = rows["MinSpareThreads"]
    requests = 2 * len(list(connections()))
    assert row["to"] == "75"  # httpd's default: a burst is 60
    assert requests - SETTLED <= row["evidence"]["arrivals"] <= requests
    assert rows["MaxSpareThreads"]["to"] == rows["MaxRequestWorkers"]["to"]


def test_too_few_workers_are_a_warning(log):
    """Memory for 30 processes, and bursts of 60."""
    rows, r = advice(log, "prefork", "--memory", "600M",
                     "--process-memory", "20M")
    warning, = [w for w in r["warnings"] if w["id"] == "proposed_waits"]
    assert "even with all 30 of MaxRequestWorkers there" in warning["text"]
    assert "More spare would not help" in rows["MinSpareServers"]["because"]


def test_growth_is_simulated(log):
    now, _ = advice(log, "prefork")
    grown, _ = advice(log, "prefork", "--growth", 2)
    assert int(grown["MinSpareServers"]["to"]) > \
        1.5 * int(now["MinSpareServers"]["to"])


def test_a_profile_has_no_single_seconds(log, tmp_path):
    profile = tmp_path / "web1.kaprofile"
    cli.done("profile", log, "--log-format", FORMAT, "--mpm", "prefork",
             "--timeout", 5, "-o", profile)
    r = cli.report(profile)
    row, = [a for a in r["advice"] if a["directive"] == "MinSpareServers"]
    assert "profiles keep no single seconds" in row["because"]
    assert "wait_p999_s" not in row["evidence"]


def test_a_real_log():
    """A day of a small site: httpd's defaults are enough for its busiest hour,
    whose 36 connections under the 50 s proposed all find a worker."""
    text = cli.DATA / "demo.format"
    r = cli.report(cli.DATA / "demo.log", "--log-format",
                   text.read_text().strip(), "--mpm", "prefork", "--timeout",
                   15, "--memory", "1G", "--process-memory", "25M")
    rows = {row["directive"]: row for row in r["advice"]}
    for directive, value in (("StartServers", "5"), ("MinSpareServers", "5"),
                             ("MaxSpareServers", "10")):
        assert rows[directive]["to"] == value
    assert rows["MinSpareServers"]["evidence"]["arrivals"] == 36
    assert rows["MinSpareServers"]["evidence"]["waited"] == 0

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""The model against a server: scripted visitors of known think times, and
[M4] N(T), [M5] H(T) by hand from the visitors' own clocks."""
import collections
import threading
import time

import pytest

import cli
from httpd import LogHttpd, Peer

TIMEOUT = 2

# Think times of each visitor, all far from the timeouts looked at (1 s and
# 2 s); above 2 s the server closes and the visitor comes back.
THINK = (
    (0.3, 0.5, 1.4, 0.2), (1.5, 0.1, 2.6, 0.4), (0.6, 0.6, 0.6),
    (2.7, 0.3), (1.3, 1.6), (0.0, 0.0, 0.7, 0.0, 1.5), (), (0.2, 2.5, 0.2),
)
SAYS_CLOSE = (2, 4)  # end with `Connection: close`; the others wait

Visit = collections.namedtuple("Visit", "gaps connections says_close")


class Visitor(threading.Thread):
    def __init__(self, port, number):
        super().__init__(daemon=True)
        self.port, self.number = port, number
        self.gaps, self.connections, self.error = [], 0, None

    def run(self):
        try:
            self.visit()
        except Exception as error:  # shown by the test
            self.error = error

    def connect(self):
        self.connections += 1
        return Peer(self.port, f"127.0.0.{20 + self.number}")

    def visit(self):
        think = THINK[self.number]
        peer, last = self.connect(), None
        for i in range(len(think) + 1):
            if last is not None:
                if think[i - 1] > TIMEOUT:
                    assert peer.wait_closed() == b""
                    time.sleep(max(0, last + think[i - 1] - time.monotonic()))
                    peer = self.connect()
                else:
                    time.sleep(think[i - 1])
                self.gaps.append(time.monotonic() - last)
            close = i == len(think) and self.number in SAYS_CLOSE
            status, _, _ = peer.get(
                headers=["Connection: close"] if close else [])
            assert status == 200
            last = time.monotonic()
        assert peer.wait_closed() == b""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The visitors after their visits, and the log."""
    with LogHttpd("prefork", f"KeepAliveTimeout {TIMEOUT}\n"
                  "MaxKeepAliveRequests 0\n") as httpd:
        traffic = httpd.traffic()
        visitors = [Visitor(httpd.port, i) for i in range(len(THINK))]
        for visitor in visitors:
            visitor.start()
        for visitor in visitors:
            visitor.join()
        for visitor in visitors:
            assert visitor.error is None, visitor.error
        n = sum(len(think) + 1 for think in THINK)
        log = traffic.log("kastats", n, tmp_path_factory.mktemp("log"))
    return visitors, log, n


def by_hand(visitors, timeout):
    """[M4] and [M5], tails included: who waits, waits for the timeout."""
    gaps = [gap for visitor in visitors for gap in visitor.gaps]
    tails = len(visitors) - len(SAYS_CLOSE)
    opened = len(visitors) + sum(gap > timeout for gap in gaps)
    held = sum(min(gap, timeout) for gap in gaps) + tails * timeout
    return opened, held


@pytest.fixture(scope="module")
def report(run):
    return cli.report("--mpm", "prefork", "--timeout", TIMEOUT, "--timeouts",
                      "1,2", run[1])


@pytest.mark.parametrize("timeout", [1, 2])
def test_N_and_H(timeout, run, report):
    visitors, _, n = run
    row, = (r for r in report["timeouts"] if r["timeout_s"] == timeout)
    opened, held = by_hand(visitors, timeout)
    assert row["connections"] == opened
    assert row["reuse"] == pytest.approx(1 - opened / n, rel=0.02)
    assert row["idle_mean"] * report["traffic"]["window_s"] == pytest.approx(
        held, rel=0.02)
    assert row["measured"] is True


def test_what_was_in_force_is_what_happened(run, report):
    visitors, _, n = run
    traffic = report["traffic"]
    assert report["source"]["identity"] == "port"
    assert traffic["requests"] == n
    assert traffic["connections"] == sum(v.connections for v in visitors)
    assert traffic["clients"] == len(visitors)
    assert by_hand(visitors, TIMEOUT)[0] == traffic["connections"]


def test_off_opens_one_connection_a_request(run, report):
    """[M4] N(0) = n, [M5] H(0) = 0."""
    row = report["timeouts"][0]
    assert (row["timeout_s"], row["connections"], row["idle_mean"]) == (
        0, run[2], 0)


def test_no_timeout_that_is_long_enough_opens_more_than_chains(run, report):
    """Above all gaps only N0 is left: one chain a visitor."""
    row, = (r for r in report["timeouts"] if r["timeout_s"] == 5)
    assert row["connections"] == len(run[0])
    assert row["measured"] is False


def test_peak_is_what_the_visitors_held(run, report):
    """[M11] No more than one connection each at a time."""
    row, = (r for r in report["timeouts"] if r["timeout_s"] == TIMEOUT)
    assert row["held_peak"] == len(run[0])

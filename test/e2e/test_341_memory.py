# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Logs that name connections are not kept when they are long: memory is that
of the connections at once, not of the log."""
import cli

LINES = 700_000
LIMIT_MB = 128  # kept, this log would take twice that


def distinct_clients():
    """The recommended LogFormat; each client comes once, 200 a second."""
    for start in range(0, LINES, 1000):
        yield "".join(
            f"10.{i >> 16}.{i >> 8 & 255}.{i & 255} {1024 + i % 60000} "
            f"10.{i >> 16}.{i >> 8 & 255}.{i & 255} "
            f"{1700000000000000 + i * 5000} {500 + i % 4000} 0 + HTTP/1.1 200 "
            f"{i % 90000} {1000 + i % 16} {2000 + i % 25} www.example.com "
            f'"GET /{i % 99} HTTP/1.1" "Browser"\n'
            for i in range(start, start + 1000)).encode("ascii")


def test_a_long_log_with_ports_is_counted_in_bounded_memory():
    report, peak = cli.measured("--timeout", "5s", "-",
                                lines=distinct_clients())
    assert peak < LIMIT_MB
    assert report["source"]["identity"] == "port"
    assert "requests decided how" in report["source"]["identity_note"]
    assert report["source"]["forgotten"] == 0
    assert report["traffic"]["requests"] == LINES
    assert report["traffic"]["connections"] == LINES

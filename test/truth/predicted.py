# Licensed under the Apache License, Version 2.0; see LICENSE.
"""What kaadvisor says of other timeouts, from one run at one timeout."""
import served
from served import cli

SOURCES = ("segment", "log")


def report(server, source, timeouts):
    more = ["--timeouts", ",".join(
        f"{t}" if t else "off" for t in timeouts)]
    if source == "segment":
        return cli.report("advise", server.segment, *more)
    timeout = server.timeout_s or "off"
    return cli.report("advise", server.access_log, "--log-format", "kastats",
                      "--timeout", timeout, "--mpm", server.mpm, *more)


def row_at(told, timeout_s):
    return next(r for r in told["timeouts"]
                if r["keep_alive"] == bool(timeout_s)
                and abs(r["timeout_s"] - timeout_s) < 1e-9)


def formula(told, timeout_s):
    """The document's, with the requests per connection that were counted: for
    the mean, p99.9 and peak alike; and the connections that they mean."""
    traffic = told["traffic"]
    rate, keep = traffic["requests_per_s"]["mean"], \
        traffic["keepalive_requests_mean"]
    if not timeout_s:
        return {"held": rate, "opened": traffic["requests"]}
    said = cli.report("formula", "--timeout", timeout_s, "--rps", rate,
                      "--keepalive-requests", keep, "--process-memory", "4M")
    return {"held": said["formula"]["processes"],
            "opened": traffic["requests"] / keep}


def predict(server, timeouts):
    """{source: {timeout: numbers}}, and the formula's."""
    out = {}
    for source in SOURCES:
        told = report(server, source, timeouts)
        out[source] = {}
        for t in timeouts:
            row = row_at(told, t)
            out[source][t] = {
                "mean": row["held_mean"], "p999": row["held_p999"],
                "peak": row["held_peak"], "opened": row["connections"],
                "busy_mean": row["busy_mean"], "busy_p999": row["busy_p999"],
                "busy_peak": row["busy_peak"]}
        if source == "segment":
            out["formula"] = {t: formula(told, t) for t in timeouts}
    return out


__all__ = ["predict", "SOURCES", "served"]

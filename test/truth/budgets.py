# Licensed under the Apache License, Version 2.0; see LICENSE.
"""How near a prediction must come, and where it is known not to."""
import collections

QUANTITIES = ("mean", "p999", "peak", "opened")
# Relative errors at or below the timeout that was learned from, and above it.
BUDGET = {"mean": (0.01, 0.03), "p999": (0.05, 0.10), "peak": (0.05, 0.10),
          "opened": (0.01, 0.03)}
# Clients that leave the server's close unanswered, from the segment.
BUDGET_LAZY = dict(BUDGET, mean=(0.03, 0.03))
# What is no error: two runs of one script differ by as much.  And a log shows
# nothing of what a worker does before a first request and after the last
# response: some 0.3 ms a connection.
FLOOR = {"mean": 0.05, "p999": 2.0, "peak": 2.0, "opened": 1.0}

Row = collections.namedtuple(
    "Row", "source quantity timeout_s predicted measured error formula "
           "formula_error budget verdict why", defaults=(None,))
# verdict of a Row: it is within its budget; nobody claims it; it misses, as is
# known and said why; it misses.
OK, UNTOLD, KNOWN, MISSED = "ok", "untold", "known", "missed"

# A miss whose reason is known is one up to this error.
Miss = collections.namedtuple("Miss", "name applies limit text")


def is_peak(row):
    return row.quantity in ("p999", "peak")


MISSES = (
    Miss("seconds", lambda run, row, plan:
         row.source == "segment" and is_peak(row)
         and row.timeout_s > plan.learn_s, 0.50,
         "Of longer timeouts a segment has no count, only the most of each "
         "second under the present one: peaks above it are scaled from those "
         "(advisor/model/levels.h). A log has each request: there they hold."),
    Miss("buffered", lambda run, row, plan:
         run["scenario"] == "slow" and not row.timeout_s
         and row.quantity != "opened", 0.20,
         "With KeepAlive Off httpd lingers until a slow reader has what is "
         "still in the sockets' buffers, up to 2 s. Under a timeout that is "
         "part of the idle time. A log does not tell it apart; mod_kastats "
         "looks at what is left in its own socket, not in the client's: these "
         "do not read what has come."),
    Miss("handshake", lambda run, row, plan:
         run["scenario"] == "tls" and row.source == "log"
         and row.quantity == "mean" and not row.timeout_s, 0.10,
         "A log begins with the request: what a handshake took before it is "
         "not there. With KeepAlive Off each request has one."),
    Miss("unanswered", lambda run, row, plan:
         run["scenario"] == "lazy" and row.source == "segment"
         and is_peak(row) and row.timeout_s < plan.learn_s, 0.15,
         "How many clients leave a close unanswered is known in the mean only: "
         "their peaks and those of the others are taken to come together."),
    Miss("event waits 30 s", lambda run, row, plan:
         run["scenario"] == "lazy" and run["mpm"] == "event"
         and not row.timeout_s and row.quantity != "opened", 3.0,
         "With KeepAlive Off event keeps an unanswered close for 30 s instead "
         "of 2 s, without a worker. How soon clients who do not come back look "
         "at their connections is not known, and most of those closes are "
         "theirs: an upper bound is printed, and said to be one."),
)


def error(predicted, measured):
    return predicted / measured - 1 if measured else 0.0


def measured_of(m, quantity):
    return m["opened"] if quantity == "opened" else m["held"][quantity]


def at(table, timeout_s):
    """Keys are text once they have been in JSON."""
    return table[timeout_s] if timeout_s in table else table[str(timeout_s)]


def budget_of(run, source, quantity, timeout_s, plan):
    """None: it is not one that this source can tell."""
    above = timeout_s > plan.learn_s
    if source == "log" and (quantity not in run["log"]
                            or (above and len(run["log"]) == 1)):
        return None
    budget = BUDGET_LAZY if run["scenario"] == "lazy" else BUDGET
    return budget[quantity][above]


def judge(run, row, plan):
    """The row with its verdict."""
    if row.budget is None:
        return row._replace(verdict=UNTOLD)
    off = abs(row.predicted - row.measured)
    if off <= max(FLOOR[row.quantity], row.budget * row.measured):
        return row
    for miss in MISSES:
        if miss.applies(run, row, plan) and off <= miss.limit * row.measured:
            return row._replace(verdict=KNOWN, why=miss.name)
    return row._replace(verdict=MISSED)


def row_of(run, plan, source, quantity, m):
    t = m["timeout_s"]
    told = at(run["predicted"][source], t)[quantity]
    old = at(run["predicted"]["formula"], t)[
        "opened" if quantity == "opened" else "held"]
    seen = measured_of(m, quantity)
    return judge(run, Row(source, quantity, t, told, seen, error(told, seen),
                          old, error(old, seen),
                          budget_of(run, source, quantity, t, plan), OK), plan)


def rows(run, plan):
    return [row_of(run, plan, source, quantity, m)
            for source in ("segment", "log") for quantity in QUANTITIES
            for m in run["measured"]]


def missed(run, plan):
    return [r for r in rows(run, plan) if r.verdict == MISSED]


def disagreements(run):
    """Where an onlooker saw another mean than mod_kastats: half a second between
    looks makes up for the little that is allowed."""
    for m in run["measured"]:
        held = m["held"]["mean"]
        seen = {"socket table": m["sockets"]}
        if run["scenario"] != "lazy":  # whose visitors wait longer than httpd
            seen["visitors"] = m["visitors"]["mean"]
        if run["mpm"] != "event":  # whose idle connections hold no worker
            seen["scoreboard"] = m["scoreboard"]
        for who, mean in seen.items():
            if abs(mean - held) > 0.5 + 0.02 * held:
                yield (f"{run['scenario']}, {run['mpm']}, {m['timeout_s']:g} s:"
                       f" {who} {mean:.2f}, mod_kastats {held:.2f}")

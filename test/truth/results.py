# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Tables of a run, and which budgets it missed."""
import collections

QUANTITIES = ("mean", "p999", "peak", "opened")
TITLES = {"mean": "mean held", "p999": "p99.9 held", "peak": "peak held",
          "opened": "opened"}
# Relative errors at or below the timeout that was learned from, and above it.
BUDGET = {"mean": (0.01, 0.03), "p999": (0.05, 0.10), "peak": (0.05, 0.10),
          "opened": (0.01, 0.03)}
# Clients that leave the server's close unanswered, from the segment.
BUDGET_LAZY = dict(BUDGET, mean=(0.03, 0.03))
# A count of whole workers cannot be told better than to one of them.
WHOLE = {"mean": 0.0, "p999": 1.0, "peak": 1.0, "opened": 1.0}

Row = collections.namedtuple(
    "Row", "source quantity timeout_s predicted measured error formula "
           "formula_error budget ok")


def error(predicted, measured):
    return predicted / measured - 1 if measured else 0.0


def measured_of(m, quantity):
    return m["opened"] if quantity == "opened" else m["held"][quantity]


def at(table, timeout_s):
    """Keys are text once they have been in JSON."""
    return table[timeout_s] if timeout_s in table else table[str(timeout_s)]


def budget_of(run, source, quantity, timeout_s, plan):
    """None: it is not one that this source can tell."""
    if source == "log" and quantity not in run["log"]:
        return None
    budget = BUDGET_LAZY if run["scenario"] == "lazy" else BUDGET
    return budget[quantity][timeout_s > plan.learn_s]


def rows(run, plan):
    for source in ("segment", "log"):
        for quantity in QUANTITIES:
            for m in run["measured"]:
                t = m["timeout_s"]
                told = at(run["predicted"][source], t)[quantity]
                seen = measured_of(m, quantity)
                old = at(run["predicted"]["formula"], t)[
                    "opened" if quantity == "opened" else "held"]
                budget = budget_of(run, source, quantity, t, plan)
                ok = budget is None or abs(told - seen) <= max(
                    WHOLE[quantity], budget * seen)
                yield Row(source, quantity, t, told, seen, error(told, seen),
                          old, error(old, seen), budget, ok)


def missed(run, plan):
    return [r for r in rows(run, plan) if not r.ok]


# ---- text -------------------------------------------------------------------

def timeout_text(s):
    return f"{s:g} s" if s else "Off"


def number(value):
    return f"{value:.0f}" if value >= 1000 or value == int(value) \
        else f"{value:.2f}"


def row_text(r):
    budget = "-" if r.budget is None else f"{r.budget:.0%}"
    return (f"| {timeout_text(r.timeout_s)} | {number(r.predicted)} "
            f"| {number(r.measured)} | {r.error:+.1%} | {budget} "
            f"| {'' if r.ok else 'MISSED'} | {number(r.formula)} "
            f"| {r.formula_error:+.0%} |")


HEAD = ("| KeepAliveTimeout | predicted | measured | error | budget | "
        "| formula | its error |\n|---|---:|---:|---:|---:|---|---:|---:|")


def table(run, plan, source):
    out = []
    for quantity in QUANTITIES:
        out += ["", f"{TITLES[quantity]}:", "", HEAD]
        out += [row_text(r) for r in rows(run, plan)
                if (r.source, r.quantity) == (source, quantity)]
    return out


def onlookers(run):
    """The mean held, as each saw it."""
    out = ["", "| KeepAliveTimeout | mod_kastats | socket table | scoreboard "
               "| visitors | requests | late |", "|---|---:|---:|---:|---:|---:|---:|"]
    for m in run["measured"]:
        v = m["visitors"]
        out.append(f"| {timeout_text(m['timeout_s'])} "
                   f"| {m['held']['mean']:.2f} | {m['sockets']:.2f} "
                   f"| {m['scoreboard']:.2f} | {v['mean']:.2f} "
                   f"| {m['requests']} | {v['late'] / 1000:.0f} ms |")
    return out


def run_text(run, plan):
    out = [f"## {run['scenario']}, {run['mpm']}"]
    out += ["", "Mean held, as four onlookers saw it:"] + onlookers(run)
    for source in ("segment", "log"):
        out += ["", f"### learned from the {source} at "
                    f"{timeout_text(plan.learn_s)}"]
        out += table(run, plan, source)
    return "\n".join(out) + "\n"


def document(runs, plan):
    return "\n".join(run_text(r, plan) for r in runs)

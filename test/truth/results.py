# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Tables of a run, as text."""
import platform
import subprocess

import budgets
import scenarios
from budgets import KNOWN, MISSED, QUANTITIES, UNTOLD
from served import kastats_env

TITLES = {"mean": "mean", "p999": "p99.9", "peak": "peak", "opened": "opened"}
HEAD = "| KeepAlive- |" + "".join(
    f" {TITLES[q]} | | |" for q in QUANTITIES) + " formula | |\n" + \
    "|---|" + "---:|" * (3 * len(QUANTITIES) + 2) + "\n" + \
    "| Timeout |" + " predicted | measured | error |" * len(QUANTITIES) + \
    " mean | error |"


def timeout_text(s):
    return f"{s:g} s" if s else "Off"


def number(value):
    return f"{value:.0f}" if value >= 1000 or value == int(value) \
        else f"{value:.2f}"


def error_text(row):
    text = f"{row.error:+.1%}"
    return {KNOWN: f"*{text}*", MISSED: f"**{text}**",
            UNTOLD: f"({text})"}.get(row.verdict, text)


def line(rows):
    """Of one timeout: its rows in the order of QUANTITIES."""
    cells = [timeout_text(rows[0].timeout_s)]
    for row in rows:
        cells += [number(row.predicted), number(row.measured),
                  error_text(row)]
    cells += [number(rows[0].formula), f"{rows[0].formula_error:+.0%}"]
    return "| " + " | ".join(cells) + " |"


def table(run, plan, source):
    rows = [r for r in budgets.rows(run, plan) if r.source == source]
    times = [m["timeout_s"] for m in run["measured"]]
    return [HEAD] + [line([r for r in rows if r.timeout_s == t])
                     for t in times]


def onlookers(run):
    out = ["| KeepAliveTimeout | mod_kastats | socket table | scoreboard "
           "| visitors | requests | latest |",
           "|---|---:|---:|---:|---:|---:|---:|"]
    for m in run["measured"]:
        v = m["visitors"]
        out.append(f"| {timeout_text(m['timeout_s'])} "
                   f"| {m['held']['mean']:.2f} | {m['sockets']:.2f} "
                   f"| {m['scoreboard']:.2f} | {v['mean']:.2f} "
                   f"| {m['requests']} | {v['late'] / 1000:.0f} ms |")
    return out


def run_text(run, plan):
    out = [f"### {run['scenario']}, {run['mpm']}"]
    for source in ("segment", "log"):
        out += ["", f"From the {source} at {timeout_text(plan.learn_s)}:", ""]
        out += table(run, plan, source)
    out += ["", "Mean held, as four onlookers saw it:", ""] + onlookers(run)
    return "\n".join(out) + "\n"


# ---- the document -------------------------------------------------------------

INTRO = """\
# Predictions against a measured httpd

Written by `make truth` (a quarter of an hour); a short version is
`test/e2e/test_500_truth.py`. Some of it, with other timeouts or seeds:
`test/truth/truth.py --help`.

{machine}

**How.** Scripted visitors (`visitors.h` says what a script is, `scenarios.py`
what is in them) play the same script at the same time to private httpds that
differ only in KeepAliveTimeout. The script holds think times, parallel
connections and habits of closing; when a connection opens or closes follows
from the server. kaadvisor then learns from **one** of these servers, the one
with {learn}, once from its segment and once from its access log in the
recommended format, and predicts all. Nothing is fitted: the tables below
compare what it printed with what the other servers did.

**What is measured.** Held: from accept to the end of the connection, as
mod_kastats lists each one. That is a worker on prefork and worker, an open
connection on event. The window is that of the requests, first to last; the mean
counts all held time, p99.9 and the peak are those of time within the window.
Three others look on: the kernel's socket table (five times a second), the
scoreboard (mod_status, every 0.6 s; on event it shows busy threads only) and
the visitors (who count from connect: deferred accept makes that longer, and
those of `lazy` wait longer than httpd). A run whose onlookers disagree fails.

**Budgets** (relative, at or below the timeout learned from / above it): mean
1 % / 3 %, p99.9 and peak 5 % / 10 %, opened 1 % / 3 %; `lazy` from the segment:
mean 3 %. No error: 0.05 in a mean, two in p99.9 and peak: two runs of one
script differ by as much.
*Italic*: misses, for a reason below. **Bold**: misses. (In brackets): a log does
not show it: how clients close, and what they leave unanswered.

**The document's formula**, KeepAliveTimeout x requests per second / requests
per connection, is put beside the mean, with what was measured at
{learn}; KeepAlive Off: the rate.

"""


def machine(plan):
    version = subprocess.run([kastats_env.APACHE, "-v"], capture_output=True,
                             text=True, check=False).stdout.split("\n")[0]
    return (f"Last run: {version.replace('Server version: ', '')}, Linux "
            f"{platform.release()}, seed {plan.seed}, visitors arriving for "
            f"{plan.seconds} s. httpd and visitors ran at realtime priority.")


def worst(run, plan, source, quantity):
    rows = [r for r in budgets.rows(run, plan)
            if (r.source, r.quantity) == (source, quantity)]
    return max(rows, key=lambda r: (r.verdict != UNTOLD, abs(r.error)))


def summary(runs, plan):
    """The largest error of each."""
    out = ["## Largest errors", "",
           "| scenario | MPM | learned from |" + "".join(
               f" {TITLES[q]} |" for q in QUANTITIES) + " formula, mean |",
           "|---|---|---|" + "---:|" * (len(QUANTITIES) + 1)]
    for run in runs:
        for source in ("segment", "log"):
            rows = [worst(run, plan, source, q) for q in QUANTITIES]
            old = max((r for r in budgets.rows(run, plan)
                       if r.quantity == "mean" and r.timeout_s),
                      key=lambda r: abs(r.formula_error))
            out.append(f"| {run['scenario']} | {run['mpm']} | {source} | "
                       + " | ".join(map(error_text, rows))
                       + f" | {old.formula_error:+.0%} |")
    return out + ["", "The formula's is that of the timeouts but Off.", ""]


def misses(runs, plan):
    used = {r.why for run in runs for r in budgets.rows(run, plan) if r.why}
    out = ["## Known misses", ""]
    for miss in budgets.MISSES:
        if miss.name in used:
            out += [f"- {miss.text}"]
    return out + [""]


def described(runs):
    names = list(dict.fromkeys(run["scenario"] for run in runs))
    return ["## Scenarios", ""] + [
        f"- **{n}**: {scenarios.SCENARIOS[n].text}" for n in names] + [""]


def document(runs, plan):
    learn = f"KeepAliveTimeout {timeout_text(plan.learn_s)}"
    parts = [INTRO.format(machine=machine(plan), learn=learn).rstrip("\n"),
             "", *summary(runs, plan), *misses(runs, plan), *described(runs),
             "## All numbers", ""]
    return "\n".join(parts) + "\n" + "\n".join(
        run_text(r, plan) for r in runs)

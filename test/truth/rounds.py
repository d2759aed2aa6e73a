# Licensed under the Apache License, Version 2.0; see LICENSE.
"""A round: one scenario against all MPMs and timeouts at the same time."""
import collections
import contextlib
import shutil

import measured
import predicted
import scenarios
import served

# Each server's visitors come so long after those of the one before: the same
# burst must not meet all servers in the same moment.
APART_S = 0.37

# keep: a directory for segments and logs; or None
Plan = collections.namedtuple("Plan", "timeouts learn_s seconds seed keep",
                              defaults=(None,))


def servers_of(scenario, mpms, plan):
    return [served.Served(mpm, t, scenario)
            for mpm in mpms for t in plan.timeouts]


def run_visitors(servers, script):
    for server in servers:
        server.wait_idle()
    with served.priority("onlooker"):
        onlooker = measured.Onlooker(servers)
        onlooker.start()
    try:
        for i, server in enumerate(servers):
            server.play(script, i * APART_S)
        for server in servers:
            server.finish()
    finally:
        onlooker.finish()
    return onlooker


# A run's files, as predicted.predict takes them: a Served, or what was kept.
Files = collections.namedtuple("Files", "mpm timeout_s segment access_log")


def kept(directory, scenario, mpm, timeout_s):
    name = f"{scenario}-{mpm}-{timeout_s:g}"
    return Files(mpm, timeout_s, directory / f"{name}.seg",
                 directory / f"{name}.log")


def keep_files(directory, scenario, server):
    to = kept(directory, scenario.name, server.mpm, server.timeout_s)
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(server.segment, to.segment)
    shutil.copyfile(server.access_log, to.access_log)


def predict_again(run, plan):
    """The same run with predictions of this kaadvisor from the kept files."""
    files = kept(plan.keep, run["scenario"], run["mpm"], plan.learn_s)
    return dict(run, predicted=predicted.predict(files, plan.timeouts))


def conclude(scenario, mpm, servers, onlooker, plan):
    if plan.keep:
        for server in servers:
            keep_files(plan.keep, scenario, server)
    learned = next(s for s in servers if s.timeout_s == plan.learn_s)
    return {"scenario": scenario.name, "mpm": mpm, "log": scenario.log,
            "measured": [measured.measure(s, onlooker) for s in servers],
            "predicted": predicted.predict(learned, plan.timeouts)}


def play(scenario, mpms, plan):
    """What was measured and predicted, for each MPM."""
    script = scenarios.script_of(scenario, plan.seed, plan.seconds)
    with contextlib.ExitStack() as stack:
        servers = servers_of(scenario, mpms, plan)
        for server in servers:
            stack.enter_context(server)
        onlooker = run_visitors(servers, script)
        return [conclude(scenario, mpm,
                         [s for s in servers if s.mpm == mpm], onlooker, plan)
                for mpm in mpms]

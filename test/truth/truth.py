#!/usr/bin/python3
# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Predictions against a measured httpd.

One scripted traffic is played to private httpds side by side that differ only
in KeepAliveTimeout.  kaadvisor learns from one of them, once from its segment
and once from its access log, and predicts the others; what was measured there
decides.  Exit status 1 if a budget is missed.

    truth.py [--scenarios NAME,...] [--mpms NAME,...] [--timeouts LIST]
             [--learn S] [--seconds S] [--seed N] [--rounds FILE] [--keep DIR]
             [--write FILE]
"""
import argparse
import json
import pathlib
import sys

import results
import rounds
from scenarios import SCENARIOS

MPMS = ("prefork", "worker", "event")
DEFAULT_TIMEOUTS = "0,1,2,5,10"


def names(text, known):
    chosen = text.split(",")
    for name in chosen:
        if name not in known:
            sys.exit(f"truth.py: unknown: {name}; known: {', '.join(known)}")
    return chosen


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--mpms", default=",".join(MPMS))
    parser.add_argument("--timeouts", default=DEFAULT_TIMEOUTS,
                        help="seconds; 0: KeepAlive Off")
    parser.add_argument("--learn", type=float, default=5)
    parser.add_argument("--seconds", type=int, default=60,
                        help="that visitors arrive for")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=pathlib.Path,
                        help="keep all numbers here, as JSON")
    parser.add_argument("--keep", type=pathlib.Path,
                        help="keep segments and access logs there")
    parser.add_argument("--write", type=pathlib.Path,
                        help="write the tables here, too")
    return parser.parse_args()


def main():
    args = arguments()
    plan = rounds.Plan(
        timeouts=[float(t) for t in args.timeouts.split(",")],
        learn_s=args.learn, seconds=args.seconds, seed=args.seed,
        keep=args.keep)
    done = []
    for name in names(args.scenarios, SCENARIOS):
        for run in rounds.play(SCENARIOS[name], names(args.mpms, MPMS), plan):
            print(results.run_text(run, plan), flush=True)
            done.append(run)
    if args.rounds:
        args.rounds.write_text(json.dumps(done, indent=1) + "\n")
    if args.write:
        args.write.write_text(results.document(done, plan))
    missed = [m for run in done for m in results.missed(run, plan)]
    print(f"{len(missed)} budgets missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

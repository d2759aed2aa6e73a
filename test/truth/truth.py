#!/usr/bin/python3
# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Predictions against a measured httpd.

One scripted traffic is played to private httpds side by side that differ only
in KeepAliveTimeout.  kaadvisor learns from one of them, once from its segment
and once from its access log, and predicts the others; what was measured there
decides.  Exit status 1 if a budget is missed.

    truth.py [--scenarios NAME,...] [--mpms NAME,...] [--timeouts LIST]
             [--learn S] [--seconds S] [--seed N] [--rounds FILE] [--keep DIR]
             [--again] [--write FILE]
"""
import argparse
import json
import pathlib
import signal
import sys

import budgets
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
    parser.add_argument("--seconds", type=int, default=45,
                        help="that visitors arrive for")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=pathlib.Path,
                        help="keep all numbers there, as JSON")
    parser.add_argument("--again", action="store_true",
                        help="measured numbers from there; predict again from "
                             "what --keep kept, if that is given")
    parser.add_argument("--keep", type=pathlib.Path,
                        help="keep segments and access logs there")
    parser.add_argument("--write", type=pathlib.Path,
                        help="write the tables there, too")
    return parser.parse_args()


def run_all(args, plan):
    done = []
    for name in names(args.scenarios, SCENARIOS):
        for run in rounds.play(SCENARIOS[name], names(args.mpms, MPMS), plan):
            print(results.run_text(run, plan), flush=True)
            done.append(run)
        if args.rounds:
            args.rounds.write_text(json.dumps(done, indent=1) + "\n")
    return done


def main():
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends servers, too
    plan = rounds.Plan(
        timeouts=[float(t) for t in args.timeouts.split(",")],
        learn_s=args.learn, seconds=args.seconds, seed=args.seed,
        keep=args.keep)
    if args.again:
        done = json.loads(args.rounds.read_text())
        done = [rounds.predict_again(r, plan) for r in done] \
            if args.keep else done
    else:
        done = run_all(args, plan)
    if args.write:
        args.write.write_text(results.document(done, plan))
    return verdict(done, plan)


def verdict(done, plan):
    """What is wrong, said; the exit status."""
    missed = [(run, r) for run in done for r in budgets.missed(run, plan)]
    apart = [text for run in done for text in budgets.disagreements(run)]
    for run, r in missed:
        print(f"budget missed: {run['scenario']}, {run['mpm']}, from the "
              f"{r.source}: {r.quantity} at "
              f"{results.timeout_text(r.timeout_s)}: {r.error:+.1%}")
    for text in apart:
        print(f"onlookers disagree: {text}")
    return 1 if missed or apart else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Fresh clients beside many that keep their connections, with
KAPolicyAdaptive and without, in one run on this machine.

50 workers; 30 clients that keep their connections and close late, growing to
200 in the first half of the run; 25 fresh clients a second, whose time to the
first byte is measured.  "Stock" is the same httpd at the same KeepAliveTimeout
without mod_kapolicy.

    adaptive.py [--seconds N] [--mpm prefork|worker] [--json]
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import adaptive_run as run  # noqa: E402

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1}
BOUND = 2  # p99 loaded, in unloaded ones
WORST = 1  # seconds that stock must take, or it was no load


def summary(times):
    return {name: 1000 * run.quantile(times, q)
            for name, q in QUANTILES.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--mpm", choices=run.MPM, default="prefork")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    unloaded, adaptive, before, after = run.measure(
        run.ADAPTIVE, args.seconds, 30, 200, mpm=args.mpm)
    _, stock, *_ = run.measure("", args.seconds, 30, 200, policy=False,
                               mpm=args.mpm, warm=False)
    rows = {"unloaded": summary(unloaded), "adaptive": summary(adaptive),
            "stock": summary(stock)}
    reused = {k: after[k] - before[k] for k in ("requests",
                                                "reused_requests")}
    if args.json:
        json.dump({"ms": rows, **reused}, sys.stdout, indent=1)
        print()
    else:
        print(f"{args.mpm}, {run.WORKERS} workers, KeepAliveTimeout "
              f"{run.TIMEOUT}, {run.ADAPTIVE.strip()}")
        print("time to first byte, ms" + "".join(f"{q:>10}"
                                                 for q in QUANTILES))
        for name, row in rows.items():
            print(f"{name:22}" + "".join(f"{v:10.1f}" for v in row.values()))
        print(f"adaptive: {reused['reused_requests']} of "
              f"{reused['requests']} requests on a kept connection")
    return int(rows["adaptive"]["p99"] > BOUND * rows["unloaded"]["p99"]
               or rows["stock"]["p99"] < 1000 * WORST)


if __name__ == "__main__":
    sys.exit(main())

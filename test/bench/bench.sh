#!/bin/sh
# kaadvisor beside grep and awk on the same generated log, in one run: the
# ratios are what counts, the machine's mood cancels.
#   LINES (default 300000) and CLIENTS (default 20000) set the size.
set -eu

: "${BUILD:=build}" "${PYTHON:=python3}" "${LINES_N:=300000}" "${CLIENTS:=20000}"
log=$BUILD/bench/access-$LINES_N-$CLIENTS.log
mkdir -p "$BUILD/bench"
[ -s "$log" ] || "$PYTHON" -B test/bench/gen_log.py "$LINES_N" "$CLIENTS" >"$log"

# Best of five, seconds; and the memory peak of the last run, in MB.
measure() {
    "$PYTHON" -B - "$@" <<'PY'
import os, resource, subprocess, sys, time
best = None
for _ in range(5):
    begin = time.monotonic()
    # Not to /dev/null: grep notices, and stops at its first match.
    subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True)
    spent = time.monotonic() - begin
    best = spent if best is None else min(best, spent)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print("%.3f %.0f" % (best, peak))
PY
}

bytes=$(wc -c <"$log")
echo "log: $LINES_N lines, $CLIENTS clients, $bytes bytes"
grep_s=$(measure grep -c Mozilla "$log")
awk_s=$(measure awk '{s += $10} END {print s}' "$log")
# shellcheck disable=SC2086
ka_s=$(measure "$BUILD/kaadvisor" --quiet --output json "$log")
printf '%-10s %8s %8s\n' tool seconds MB
for row in "grep:$grep_s" "awk:$awk_s" "kaadvisor:$ka_s"; do
    # shellcheck disable=SC2086
    printf '%-10s %8s %8s\n' "${row%%:*}" ${row#*:}
done
echo "$ka_s $grep_s $awk_s" |
    awk '{printf "kaadvisor/grep %.1f, kaadvisor/awk %.2f\n", $1/$3, $1/$5}'

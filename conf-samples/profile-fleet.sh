#!/bin/sh
# Licensed under the Apache License, Version 2.0; see LICENSE.
#
# Advice for a fleet, with GNU parallel over ssh.  Each server reads its own
# logs (the map); what crosses the network is one profile of at most 1 MB a
# server; the profiles together give advice for each server and for the group
# (the reduce).
#
#     profile-fleet.sh DIRECTORY HOST...
#     profile-fleet.sh profiles web1 web2 web3
#
# DIRECTORY gets HOST.kap of each server, and fleet.kap, their sum.  Run it
# again with a server that failed: the others' profiles stay.
#
#   LOG        the logs on each server, as its shell takes them; all of them
#              in one call, so that rotated sets and virtual hosts are put
#              together        (default /var/log/apache2/access.log)
#   OPTIONS    more of `kaadvisor profile --help`, such as --mpm event
#   SSH        how to run a command there (default ssh)
#   JOBS       servers at once  (default 16)
#
# Where kaadvisor is not installed on the servers, their logs can be sent
# instead, compressed on the way:
#     ssh HOST zstd -qc LOG | kaadvisor profile --host HOST - -o HOST.kap
#
# Any engine that runs commands can do the same, since profiles add up in any
# order: map `kaadvisor profile --host NAME -`, reduce `kaadvisor profile -`
# (Hadoop streaming, Spark's RDD.pipe).
set -eu

if [ $# -lt 2 ]; then
    echo "usage: profile-fleet.sh DIRECTORY HOST..." >&2
    exit 2
fi
directory=$1
shift
mkdir -p "$directory"
export directory LOG="${LOG:-/var/log/apache2/access.log}"
export OPTIONS="${OPTIONS:-}" SSH="${SSH:-ssh}" PARALLEL_SHELL=/bin/sh

# The map.  A profile is put in its place only when it is whole.
status=0
parallel --jobs "${JOBS:-16}" '
    $SSH {} kaadvisor profile --quiet --host {} $OPTIONS "$LOG" \
        >"$directory"/{}.part &&
    mv "$directory"/{}.part "$directory"/{}.kap ||
    { rm -f "$directory"/{}.part; echo "{}: no profile" >&2; exit 1; }
    ' ::: "$@" || status=1

# The reduce.
rm -f "$directory/fleet.kap"
kaadvisor profile "$directory"/*.kap -o "$directory/fleet.kap"
kaadvisor advise "$directory/fleet.kap"
exit $status

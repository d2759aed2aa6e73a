#!/bin/sh
# Licensed under the Apache License, Version 2.0; see LICENSE.
#
# The main job, twice.  From a log that comes with the project: a day of a real
# site (prefork, KeepAliveTimeout 15).  And live: a private httpd with
# mod_kastats on a free loopback port, sample traffic, and advice from what the
# module has counted.  Each writes a tuned httpd-mpm.conf that httpd checks.
#
# All is below $BUILD: results in $BUILD/demo, the rest in a directory that
# goes at the end.  What is started is stopped by its pid, however this ends;
# timeout(1) bounds its life even if this script is killed.
set -eu
umask 022

: "${BUILD:=build}" "${PYTHON:=python3}"
BUILD=$(cd "$BUILD" && pwd)
here=$(dirname "$0")
log=test/data/logs/demo.log
format=$(cat test/data/logs/demo.format)
kept=$BUILD/demo
# From less than a minute of a segment kaadvisor gives no advice.
seconds=61
dir=
httpd_pid=
visitors_pid=

# ---- ending -----------------------------------------------------------------
stop() {
    if [ -n "$1" ]; then
        kill -TERM "$1" 2>/dev/null || :
        wait "$1" 2>/dev/null || :
    fi
}

clean_up() {
    status=$?
    trap '' HUP INT TERM PIPE
    trap - EXIT
    stop "$visitors_pid"
    stop "$httpd_pid"
    [ -z "$dir" ] || rm -rf "$dir"
    exit "$status"
}

# A reader that went away (`| head`) would else end the shell without EXIT.
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM

fail() {
    echo "demo: $*" >&2
    exit 1
}

# ---- what must be there -----------------------------------------------------
find_httpd() {
    for name in apache2 httpd \
        "$(apxs -q SBINDIR 2>/dev/null)/$(apxs -q PROGNAME 2>/dev/null)" \
        /usr/sbin/apache2 /usr/sbin/httpd; do
        if command -v "$name"; then
            return
        fi
    done
    fail "no httpd found: install apache2-bin"
}

# As root, httpd runs as somebody else, who must get at its files.
find_user() {
    for name in www-data apache httpd daemon nobody; do
        if id "$name" >/dev/null 2>&1; then
            echo "$name"
            return
        fi
    done
    fail "no user for httpd found: www-data, apache, httpd, daemon or nobody"
}

check_needs() {
    if [ ! -x "$BUILD/kaadvisor" ] || [ ! -f "$BUILD/mod_kastats.so" ]; then
        fail "nothing built in $BUILD: run make first"
    fi
    command -v "$PYTHON" >/dev/null ||
        fail "no $PYTHON found: install python3"
    httpd=$(find_httpd)
    modules=$(apxs -q LIBEXECDIR) || fail "no apxs found: install apache2-dev"
    for mpm in prefork worker event; do
        [ -f "$modules/mod_mpm_$mpm.so" ] ||
            fail "no mod_mpm_$mpm.so in $modules"
    done
    user=
    if [ "$(id -u)" = 0 ]; then
        user=$(find_user)
    fi
}

# $BUILD may lie where httpd's user may not go (/root).
make_dir() {
    dir=$(mktemp -d "$BUILD/demo.XXXXXX")
    chmod 755 "$dir"
    if [ -n "$user" ] && ! runuser -u "$user" -- test -x "$dir" 2>/dev/null
    then
        rm -rf "$dir"
        dir=$(mktemp -d)
        chmod 755 "$dir"
    fi
    mkdir "$dir/run" "$dir/htdocs"
    [ -z "$user" ] || chown "$user" "$dir/run"
    mkdir -p "$kept"
    # What an earlier run wrote would be kept beside this one's.
    rm -f "$kept"/*-mpm.conf "$kept"/*-mpm.conf.bak*
}

# ---- what it says -----------------------------------------------------------
heading() {
    echo
    echo "== $*"
}

# The report as far as the table of timeouts; the whole of it is kept.
begin_of() {
    sed '/^Classic estimate/,$d' "$1"
    echo "The whole report: $1"
}

# What httpd says of configuration $2 with the tuned file $3.  A tuned file
# without directives would please any httpd.
check_conf() {
    grep -q '^ *MaxRequestWorkers ' "$3" ||
        fail "kaadvisor set no MaxRequestWorkers in $3"
    if "$httpd" -t -f "$2" >"$dir/check.txt" 2>&1; then
        printf '%-8s %s\n' "$1" "$(cat "$dir/check.txt")"
    else
        cat "$dir/check.txt" >&2
        fail "httpd does not accept the configuration for $1"
    fi
}

# ---- from the log -----------------------------------------------------------
advise_log() {
    "$BUILD/kaadvisor" --log-format "$format" --timeout 15 --memory 1G \
        --process-memory 25M "$@" "$log"
}

check_log_conf() {
    advise_log --quiet --mpm "$1" --output conf -o "$kept/$1-mpm.conf"
    cat >"$dir/$1.conf" <<CONF
ServerRoot "$dir"
ServerName localhost
PidFile "$dir/run/$1.pid"
ErrorLog "$dir/error.log"
LoadModule mpm_$1_module "$modules/mod_mpm_$1.so"
LoadModule authz_core_module "$modules/mod_authz_core.so"
Listen 127.0.0.1:8080
Include "$kept/$1-mpm.conf"
CONF
    check_conf "$1" "$dir/$1.conf" "$kept/$1-mpm.conf"
}

from_log() {
    heading "1. Advice from the log of a real site: $log"
    advise_log --mpm prefork -o "$kept/log-advice.txt"
    begin_of "$kept/log-advice.txt"
    heading "2. A tuned httpd-mpm.conf for each MPM, checked by httpd -t"
    for mpm in prefork worker event; do
        check_log_conf "$mpm"
    done
}

# ---- live -------------------------------------------------------------------
sized_file() {
    head -c "$2" /dev/zero | tr '\0' 'x' >"$dir/htdocs/$1"
}

write_site() {
    for i in 1 2 3 4; do
        sized_file "page$i.html" "$((i * 5000))"
    done
    for i in 1 2 3 4 5 6; do
        sized_file "photo$i.jpg" "$((i * 12000))"
    done
    sized_file style.css 14000
    sized_file script.js 60000
    sized_file film.mp4 8000000
}

# Some are built into other distributions' httpd, and some may be missing.
load_modules() {
    for name in mpm_event unixd authz_core authz_host log_config mime \
        status; do
        if [ -f "$modules/mod_$name.so" ]; then
            echo "LoadModule ${name}_module \"$modules/mod_$name.so\""
        fi
    done
    echo "LoadModule kastats_module \"$BUILD/mod_kastats.so\""
}

write_live_conf() {
    {
        load_modules
        [ -z "$user" ] || printf 'User %s\nGroup %s\n' "$user" \
            "$(id -gn "$user")"
        cat <<CONF
ServerRoot "$dir"
ServerName localhost
DefaultRuntimeDir "$dir/run"
PidFile "$dir/run/httpd.pid"
ErrorLog "$dir/error.log"
TypesConfig /dev/null
AddType text/html .html
Listen 127.0.0.1:$1
DocumentRoot "$dir/htdocs"

StartServers 2
ServerLimit 8
ThreadLimit 25
ThreadsPerChild 25
MinSpareThreads 25
MaxSpareThreads 75
MaxRequestWorkers 150
Timeout 10
KeepAlive On
KeepAliveTimeout 2
MaxKeepAliveRequests 100

KAStats On
<Location "/kastats">
    SetHandler kastats
</Location>
<IfModule status_module>
    <Location "/server-status">
        SetHandler server-status
    </Location>
</IfModule>
CONF
    } >"$dir/httpd.conf"
}

# NO_DETACH: httpd stays our child but leaves our process group, which it
# would signal when it stops.  It writes its pid once it listens.
try_port() {
    rm -f "$dir/run/httpd.pid"
    write_live_conf "$1"
    timeout -k 5 120 "$httpd" -DNO_DETACH -f "$dir/httpd.conf" \
        >"$dir/start.txt" 2>&1 &
    httpd_pid=$!
    for _ in $(seq 100); do
        [ ! -s "$dir/run/httpd.pid" ] || return 0
        kill -0 "$httpd_pid" 2>/dev/null || break
        sleep 0.1
    done
    stop "$httpd_pid"
    httpd_pid=
    return 1
}

# A port that was free may be taken by the time httpd asks for it.
start_httpd() {
    for _ in 1 2 3 4 5; do
        port=$("$PYTHON" -B "$here/demo/visitors.py" port)
        if try_port "$port"; then
            return
        fi
        grep -q 'Address already in use' "$dir/start.txt" || break
    done
    cat "$dir/start.txt" "$dir/error.log" >&2 2>/dev/null || :
    fail "httpd did not start"
}

# In the background, for a signal ends `wait` at once.
send_visitors() {
    timeout -k 5 90 "$PYTHON" -B "$here/demo/visitors.py" visit "$port" \
        "$seconds" &
    visitors_pid=$!
    status=0
    wait "$visitors_pid" || status=$?
    visitors_pid=
    [ "$status" = 0 ] || fail "the sample traffic failed"
}

check_live_conf() {
    "$BUILD/kaadvisor" --quiet "$kept/kastats.seg" --output conf \
        -o "$kept/httpd-mpm.conf"
    printf 'Include "%s"\nInclude "%s"\n' "$dir/httpd.conf" \
        "$kept/httpd-mpm.conf" >"$dir/tuned.conf"
    check_conf event "$dir/tuned.conf" "$kept/httpd-mpm.conf"
}

live() {
    heading "3. Live: a private httpd (event, KeepAliveTimeout 2)" \
        "with mod_kastats"
    write_site
    start_httpd
    page=http://127.0.0.1:$port/kastats
    echo "Its page, while this runs: $page"
    echo "Sample traffic for $seconds seconds ..."
    send_visitors
    printf 'The page: '
    "$PYTHON" -B "$here/demo/visitors.py" fetch "$page"

    heading "4. Advice from its live segment"
    "$BUILD/kaadvisor" "$dir/run/kastats.seg" -o "$kept/live-advice.txt"
    cp "$dir/run/kastats.seg" "$kept/kastats.seg"
    begin_of "$kept/live-advice.txt"

    heading "5. A tuned httpd-mpm.conf for it, checked by httpd -t"
    check_live_conf
}

check_needs
make_dir
from_log
live
stop "$httpd_pid"
httpd_pid=

heading "Done: httpd is stopped; kept in $kept:"
(cd "$kept" && ls)
echo "Next: $BUILD/kaadvisor show $kept/kastats.seg"

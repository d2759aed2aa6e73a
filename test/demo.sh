#!/bin/sh
# The main job on a log that comes with the project: a day of a real site
# (prefork, KeepAliveTimeout 15).  Writes a tuned httpd-mpm.conf, has httpd
# check it under each MPM, and ends with the advice.
set -eu

: "${BUILD:=build}"
log=test/data/logs/demo.log
format=$(cat test/data/logs/demo.format)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM

advise() {
    "$BUILD/kaadvisor" --log-format "$format" --timeout 15 --memory 1G \
        --process-memory 25M "$@" "$log"
}

find_httpd() {
    for httpd in apache2 httpd /usr/sbin/apache2 /usr/sbin/httpd; do
        if command -v "$httpd" >/dev/null 2>&1; then
            command -v "$httpd"
            return
        fi
    done
}

echo "== The classic estimate: 10 s, 50 requests/s, 1 request a connection"
"$BUILD/kaadvisor" formula --timeout 10 --rps 50 --keepalive-requests 1 \
    --process-memory 4M

echo
echo "== A tuned httpd-mpm.conf for each MPM, checked by httpd -t"
httpd=$(find_httpd)
modules=$(apxs -q LIBEXECDIR)
for mpm in prefork worker event; do
    advise --mpm "$mpm" --output conf -o "$dir/httpd-mpm.conf"
    cat >"$dir/httpd.conf" <<CONF
ServerRoot "$dir"
ServerName localhost
PidFile "$dir/httpd.pid"
ErrorLog "$dir/error.log"
LoadModule mpm_${mpm}_module "$modules/mod_mpm_$mpm.so"
LoadModule authz_core_module "$modules/mod_authz_core.so"
Listen 127.0.0.1:8080
Include "$dir/httpd-mpm.conf"
CONF
    printf '%-8s ' "$mpm"
    "$httpd" -t -f "$dir/httpd.conf" 2>&1
done

echo
echo "== The advice for prefork, from $log"
advise --mpm prefork

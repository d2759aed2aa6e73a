# Licensed under the Apache License, Version 2.0; see LICENSE.
"""PHP-FPM behind mod_proxy_fcgi: dynamic, and keep-alive as for files."""
import contextlib
import glob
import os
import shutil
import subprocess

import pytest

from kastats_env import MPMS, PATIENCE, Client, Httpd, wait_for

FPM = shutil.which("php-fpm") or next(
    iter(sorted(glob.glob("/usr/sbin/php-fpm*"), reverse=True)), None)

pytestmark = pytest.mark.skipif(
    not FPM, reason="no php-fpm: apt-get install php-fpm")

CONF = """
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    KeepAliveTimeout 60
    <FilesMatch "\\.php$">
        SetHandler "proxy:unix:{root}/run/php.sock|fcgi://localhost/"
    </FilesMatch>
    <Location "/gone">
        SetHandler "proxy:unix:{root}/run/no.sock|fcgi://localhost/"
    </Location>
</VirtualHost>
"""

FPM_CONF = """\
[global]
error_log = {root}/php.log
daemonize = no
[www]
{user}listen = {root}/run/php.sock
listen.mode = 0666
pm = static
pm.max_children = 2
"""

PAGES = {
    "ok.php": "<?php echo 'ok';",
    "flushed.php": "<?php echo 'a'; flush(); echo 'b';",
    "missing.php": "<?php http_response_code(404); echo 'no';",
    "post.php": "<?php echo strlen(file_get_contents('php://input'));",
    "big.php": "<?php for ($i = 0; $i < 4096; $i++) "
               "echo str_repeat('x', 4096);",
}


@contextlib.contextmanager
def fpm(root):
    """A private php-fpm on root/run/php.sock, ended by its pid."""
    user = "user = www-data\ngroup = www-data\n" if os.geteuid() == 0 else ""
    (root / "fpm.conf").write_text(FPM_CONF.format(root=root, user=user))
    process = subprocess.Popen(
        [FPM, "--nodaemonize", "--fpm-config", str(root / "fpm.conf"), "-n"],
        start_new_session=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: (root / "run" / "php.sock").exists()
                 or process.poll() is not None, "php-fpm")
        assert process.poll() is None, (root / "php.log").read_text()
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    h = Httpd(request.param, CONF, modules=("proxy", "proxy_fcgi"),
              allowed=[r"AH02454|AH01079"])
    for name, text in PAGES.items():
        h.file(name, text)
    with fpm(h.root), h:
        yield h


@pytest.mark.parametrize("path,status,body,served", [
    ("/ok.php", 200, b"ok", "dynamic"),
    ("/flushed.php", 200, b"ab", "dynamic"),
    ("/missing.php", 404, b"no", "dynamic"),
    ("/big.php", 200, b"x" * (16 << 20), "dynamic"),
    ("/index.html", 200, b"hello\n", "static"),
])
def test_class(httpd, path, status, body, served):
    before = httpd.totals()["classes"]
    watch = httpd.watch()
    c = httpd.client()
    for _ in range(3):
        got = c.get(path)
        assert (got[0], got[2]) == (status, body)
    c.close()
    watch.expect(connections=1, requests=3, reused_requests=2,
                 bytes_out=3 * len(body), closes={"client_closed": 1})
    after = httpd.totals()["classes"]
    assert {k: after[k]["requests"] - before[k]["requests"] for k in after} \
        == {**dict.fromkeys(after, 0), served: 3}
    r = httpd.recent()[0]
    assert (r["class"], r["protocol"]) == (served, "http/1.1")


def test_mixed_on_one_connection(httpd):
    """The class of a gap is that of the request before it."""
    before = httpd.totals()["classes"]
    watch = httpd.watch()
    c = httpd.client()
    for path in ("/ok.php", "/index.html", "/index.html", "/ok.php"):
        assert c.get(path)[0] == 200
        wait_for(lambda: httpd.totals()["idle"] == 1, "idle")
    c.close()
    change = watch.expect(connections=1, requests=4, reused_requests=3,
                          closes={"client_closed": 1})
    after = httpd.totals()["classes"]
    gaps = {k: after[k]["gap_s"]["count"] - before[k]["gap_s"]["count"]
            for k in after}
    # httpd looks for the next request just after it has sent a response: one
    # that is there by then is pipelined to it.
    assert sum(gaps.values()) + change["pipelined_requests"] == 3
    assert gaps["static"] <= 2 and gaps["dynamic"] <= 1
    assert gaps["proxied"] == 0


def test_post(httpd):
    watch = httpd.watch()
    c = httpd.client()
    for size in (0, 10, 1 << 20):
        c.request("/post.php", method="POST",
                  headers=[f"Content-Length: {size}"]).send(b"x" * size)
        assert c.response()[2] == b"%d" % size
    c.close()
    watch.expect(connections=1, requests=3, closes={"client_closed": 1})


def test_aborted_download(httpd):
    watch = httpd.watch()
    c = Client(httpd.port)
    c.request("/big.php").until(b"\r\n\r\n")
    c.reset()
    wait_for(lambda: watch.change()["closes"], "closed")
    change = watch.change()
    assert (change["connections"], change["requests"], change["open"],
            dict(change["closes"])) == (1, 1, 0, {"aborted": 1})


def test_php_fpm_is_down(httpd):
    """503 ends the connection; it would have been dynamic."""
    watch = httpd.watch()
    c = httpd.client()
    assert c.get("/gone")[0] == 503
    c.wait_closed()
    watch.expect(connections=1, requests=1, closes={"error_status": 1})
    assert httpd.recent()[0]["class"] == "dynamic"

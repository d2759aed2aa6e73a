# Licensed under the Apache License, Version 2.0; see LICENSE.
"""A web server in name spaces of its own, seen from outside and from inside,
as root and as somebody else."""
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile
import time

import pytest

import cli
from box import VISIT_REQUESTS, Debian, day, needs
from httpd import PATIENCE, LogHttpd

VISITS = 1440
LIMIT = 300 << 20
MAIN = "/etc/apache2/apache2.conf"
NOBODY = pwd.getpwnam("nobody")


def own_timeout(etc):
    """Another value than that of the machine's file of the same name."""
    main = etc / "apache2.conf"
    main.write_text(re.sub(r"^KeepAliveTimeout \d+", "KeepAliveTimeout 9",
                           main.read_text(), flags=re.M))


@pytest.fixture(scope="module", params=("other mounts", "other root"))
def container(request):
    with Debian(own_root=request.param == "other root", memory=LIMIT,
                setup=own_timeout) as box:
        box.path("/var/log/apache2/access.log.1").write_text(
            day(VISITS, time.time() - 60))
        yield box


def outside(box):
    """Its main file, as this process opens it."""
    return f"/proc/{box.pid()}/root{MAIN}"


def row_of(httpds, pid):
    row, = [h for h in httpds if h["pid"] == pid]
    return row


def warnings(report):
    return "\n".join(w["text"] for w in report["warnings"])


# ---- from outside ----------------------------------------------------------

def test_outside_its_own_files_are_read(container):
    report = cli.report("--httpd-config", outside(container))
    timeout = report["server"]["keep_alive_timeout_s"]
    assert timeout["value"] == 9
    assert re.fullmatch(rf"{MAIN}:\d+", timeout["origin"])
    workers = report["server"]["max_request_workers"]
    assert workers["value"] == 150
    assert "mods-" in workers["origin"]
    assert report["server"]["mpm"]["value"] == "event"
    source = report["source"]
    assert source["files"] == [
        f"/proc/{container.pid()}/root/var/log/apache2/access.log.1"]
    assert source["parsed"] == VISITS * VISIT_REQUESTS
    found = "\n".join(source["found"])
    assert f"pid {container.pid()}, in a container, /usr/sbin/apache2" in found
    assert "its binary is not run" in warnings(report)
    assert not report["verdict"]["refused"]


def test_outside_the_machines_file_is_another_one(container):
    """A file is told by what it is, not by its name."""
    report = cli.report("--httpd-config", MAIN, "--log-format",
                        cli.DEMO_FORMAT, cli.DEMO)
    assert report["server"]["keep_alive_timeout_s"]["value"] != 9
    assert f"pid {container.pid()}" not in "\n".join(report["source"]["found"])


def test_outside_memory_is_that_of_its_group(container):
    report = cli.report("--httpd-config", outside(container))
    fact = report["server"]["memory_limit_bytes"]
    assert 0 < fact["value"] < LIMIT
    assert container.group.path.name in fact["origin"]
    assert "300M" in fact["origin"]
    for row in report["timeouts"]:
        assert not row["fits"] or (row["memory_bytes"] or 0) <= LIMIT
    mine = row_of(cli.report("doctor")["httpds"], container.pid())
    assert mine["container"] is True
    bound = {b["name"]: b for b in mine["budget"]["bounds"]}[
        mine["budget"]["tightest"]]
    assert bound["limit_bytes"] == LIMIT
    assert bound["name"].endswith(container.group.path.name)
    assert mine["memory"]["measure"] == "smaps_rollup"
    assert mine["memory"]["children"] == 2


def test_outside_several_are_told_apart(container):
    with LogHttpd("prefork") as here, Debian() as other:
        text = cli.fails(2)
        for pid, file in (
                (container.pid(), outside(container)),
                (other.pid(), outside(other)),
                (here.process.pid, here.root / "httpd.conf")):
            assert re.search(rf"pid {pid}\b[^\n]*--httpd-config "
                             rf"{re.escape(str(file))}\n", text + "\n"), text
        report = cli.report("--httpd-config", outside(other), "--log-format",
                            cli.DEMO_FORMAT, cli.DEMO)
        assert report["server"]["keep_alive_timeout_s"]["value"] == 5
        assert f"pid {other.pid()}," in "\n".join(report["source"]["found"])
        httpds = cli.report("doctor")["httpds"]
        assert row_of(httpds, here.process.pid)["container"] is False
        assert row_of(httpds, other.pid())["container"] is True


# ---- from inside -----------------------------------------------------------

def test_inside_no_argument_is_needed(container):
    done = container.run(container.kaadvisor, "--output", "json")
    report = json.loads(done.stdout)
    assert report["server"]["keep_alive_timeout_s"]["value"] == 9
    assert "in a container" not in "\n".join(report["source"]["found"])
    assert "as httpd itself obeys it" in "\n".join(report["source"]["found"])
    assert report["source"]["files"] == ["/var/log/apache2/access.log.1"]
    if container.own_root:
        # Its groups are mounted from its own name space.
        fact = report["server"]["memory_limit_bytes"]
        assert fact["value"] < LIMIT and "300M of /" in fact["origin"]
    else:
        # Those mounted are the machine's, where its own has another name.
        assert "Whether a control group limits" in warnings(report)


def test_inside_the_block_is_accepted(container):
    done = container.run(container.kaadvisor, "--process-memory", "20M",
                         "--output", "conf", "-o", "/run/httpd-mpm.conf")
    assert b"httpd -t accepts" in done.stderr
    assert "MaxRequestWorkers" in container.path(
        "/run/httpd-mpm.conf").read_text()


# ---- as somebody else ------------------------------------------------------

def as_nobody(*args):
    """Away from what only root may enter."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        binary = shutil.copy(cli.KAADVISOR, directory)
        os.chmod(binary, 0o755)
        return subprocess.run([binary, *args], user=NOBODY.pw_uid,
                              group=NOBODY.pw_gid, extra_groups=[], cwd="/",
                              capture_output=True, timeout=PATIENCE,
                              env=cli.environment(), check=False)


def test_outside_nobody_does_not_take_our_files_for_its(container):
    done = as_nobody("doctor", "--output", "json")
    assert done.returncode == 0, done.stderr
    whole = json.loads(done.stdout)
    mine = row_of(whole["httpds"], container.pid())
    assert mine["container"] is True
    assert "keep_alive_timeout_s" not in mine["settings"]
    said = [m["help"] for m in whole["missing"]
            if m["pid"] == container.pid()]
    assert any("cannot be seen; run as root" in text for text in said)
    # What anybody may read is there.
    bounds = {b["name"]: b for b in mine["budget"]["bounds"]}
    assert LIMIT in {b["limit_bytes"] for b in bounds.values()}


def inside_as_nobody(box, *args):
    return subprocess.run(
        box.nsenter("setpriv", f"--reuid={NOBODY.pw_uid}",
                    f"--regid={NOBODY.pw_gid}", "--clear-groups",
                    box.kaadvisor, *args),
        capture_output=True, timeout=PATIENCE, env=cli.environment(),
        check=False)


def test_inside_nobody_reads_what_is_readable(container):
    log = container.path("/var/log/apache2")
    mode = log.stat().st_mode
    os.chmod(log, 0o755)
    try:
        done = inside_as_nobody(container, "--output", "json")
    finally:
        os.chmod(log, mode)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["server"]["keep_alive_timeout_s"]["value"] == 9
    assert "as read without asking httpd" in \
        "\n".join(report["source"]["found"])
    assert report["source"]["parsed"] == VISITS * VISIT_REQUESTS
    assert "process_unique_bytes" not in report["server"]
    assert warnings(report).count("run as root") >= 3


def test_inside_nobody_is_told_what_he_may_not_read(container):
    log = container.path("/var/log/apache2")
    mode = log.stat().st_mode
    os.chmod(log, 0o750)
    try:
        done = inside_as_nobody(container)
    finally:
        os.chmod(log, mode)
    text = cli.clean(done.stderr)
    assert done.returncode == 1 and done.stdout == b""
    assert re.search(r"000-default.conf:\d+: /var/log/apache2: Permission "
                     r"denied; run as root, or name the log", text), text


# ---- a service with a private /tmp -----------------------------------------

class PrivateTmp(LogHttpd):
    """As systemd starts it: other mounts, but the same files."""

    def __init__(self, mpm):
        super().__init__(mpm)
        made, self.root = self.root, pathlib.Path(
            tempfile.mkdtemp(prefix="ka-private-", dir="/var/lib"))
        self.root.rmdir()
        shutil.move(made, self.root)

    def command(self, *args):
        return ["unshare", "-m", "sh", "-c",
                'mount -t tmpfs tmpfs /tmp && exec "$@"', "sh",
                *super().command(*args)]


def test_a_private_tmp_is_no_container():
    needs()
    with PrivateTmp("event") as server:
        mine = row_of(cli.report("doctor")["httpds"], server.process.pid)
        assert mine["container"] is False
        report = cli.report("--httpd-config", server.root / "httpd.conf",
                            "--log-format", cli.DEMO_FORMAT, cli.DEMO)
        assert "as httpd itself obeys it" in \
            "\n".join(report["source"]["found"])

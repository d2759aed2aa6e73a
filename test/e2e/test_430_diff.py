# Licensed under the Apache License, Version 2.0; see LICENSE.
"""`advise --diff`: advice as edits of the configuration's own files."""
import os
import pathlib
import pty
import re
import shutil
import subprocess

import pytest

import cli
from httpd import MPMS, PATIENCE
from kastats_env import APACHE, MODULES

MAIN = """\
ServerRoot "{root}"
DefaultRuntimeDir "{root}"
PidFile "{root}/httpd.pid"
ErrorLog "{root}/error.log"
ServerName localhost
LoadModule mpm_{mpm}_module "{modules}/mod_mpm_{mpm}.so"
LoadModule authz_core_module "{modules}/mod_authz_core.so"
Listen 127.0.0.1:18080
{before}
Include enabled/*.conf
{after}
"""

# Present values that no advice for this traffic keeps.
BLOCKS = {
    "prefork": """\
# mpm_prefork_module
<IfModule mpm_prefork_module>
\tStartServers\t\t 77
\tMinSpareServers\t\t 70
\tMaxSpareServers\t\t 170
\tServerLimit\t\t 1777
\tMaxClients\t\t 1777
\tMaxRequestsPerChild\t 4711
</IfModule>
""",
    "worker": """\
<IfModule worker.c>
    StartServers             7
    ThreadsPerChild          7
    ServerLimit            171
    MaxClients            1197
    MaxRequestsPerChild   4711
</IfModule>
""",
    "event": """\
<IfModule !prefork.c>
    <IfModule mpm_event_module>
        StartServers             7
        ThreadsPerChild "7"
        ServerLimit            \\
                               171
        MaxRequestWorkers     1197
        MaxConnectionsPerChild   4711
    </IfModule>
</IfModule>
""",
}

# The timeout is that of the log, whatever a configuration has now.
FACTS = ("--memory", "1G", "--process-memory", "20M", "--timeout", "15")


class Site:
    """A configuration of three files, one of them a link."""

    def __init__(self, root, mpm, before="", after="", block=None):
        self.root = pathlib.Path(os.path.realpath(root)) / "etc"
        (self.root / "enabled").mkdir(parents=True)
        (self.root / "available").mkdir()
        self.mpm = mpm
        self.main = self.root / "httpd.conf"
        self.block = self.root / "available" / "mpm.conf"
        self.block.write_text(BLOCKS[mpm] if block is None else block)
        (self.root / "enabled" / "mpm.conf").symlink_to(self.block)
        self.main.write_text(MAIN.format(
            root=self.root, mpm=mpm, modules=MODULES, before=before,
            after=after))
        os.chmod(root, 0o755)

    def args(self, *more):
        return ("--httpd-config", self.main, "--log-format", cli.DEMO_FORMAT,
                *FACTS, *more, cli.DEMO)

    def diff(self, *more):
        """stdout and stderr of --diff."""
        result = cli.run("--diff", *self.args(*more))
        assert result.status == 0, result.err
        return result.out.decode("ascii"), cli.clean(result.err)

    def patch(self, text, directory="/", strip=0):
        done = subprocess.run(
            ["patch", "-d", directory, f"-p{strip}", "--no-backup-if-mismatch"],
            input=text, capture_output=True, text=True, timeout=PATIENCE,
            check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "fuzz" not in done.stdout and "offset" not in done.stdout
        return done.stdout

    def configtest(self):
        done = subprocess.run([APACHE, "-f", self.main, "-t"],
                              capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        assert "Syntax OK" in done.stderr
        # httpd says so where it would change a number.
        assert "WARNING" not in done.stderr, done.stderr

    def contents(self):
        return {p: p.read_text() for p in (self.main, self.block)}


def changed(text):
    return [line for line in text.splitlines()
            if line[:1] in "+-" and line[:3] not in ("+++", "---")]


KEEPALIVE = """\
KeepAlive Off
<IfDefine !Never>
  keepalivetimeout \\
      77
</IfDefine>
MaxKeepAliveRequests 3
"""


@pytest.mark.parametrize("mpm", MPMS)
def test_patched_it_is_what_is_advised(mpm, tmp_path):
    site = Site(tmp_path, mpm, before=KEEPALIVE)
    before = site.contents()
    text, err = site.diff()
    assert site.contents() == before
    assert str(site.main) in text and str(site.block) in text
    assert "enabled" not in "".join(
        line for line in text.splitlines() if line[:3] in ("---", "+++"))
    assert "patch -d / -p0" in err
    restart = any(row["change"] and row["applies"] == "restart"
                  for row in cli.report(*site.args())["advice"])
    assert ("stop and start" in err) == restart
    site.patch(text)
    site.configtest()
    after, err = site.diff()
    assert after == ""
    assert "nothing to change" in err
    report = cli.report(*site.args())
    for row in report["advice"]:
        if row["directive"] == "KeepAliveTimeout":
            assert f"  keepalivetimeout {row['to']}\n" in \
                site.main.read_text()
        if row["directive"] == "MaxRequestWorkers":
            assert re.search(rf"^\s+Max(RequestWorkers|Clients)\s+"
                             rf"{row['to']}$", site.block.read_text(), re.M)
    assert "ServerLimit" in site.block.read_text()


@pytest.mark.parametrize("strip, below", ((1, True), (0, False)))
def test_patch_on_a_copy_and_back(strip, below, tmp_path):
    """Of the whole tree, with -p1; in place with -p0; both ways."""
    site = Site(tmp_path, "event", before=KEEPALIVE)
    before = site.contents()
    text, _ = site.diff()
    directory = "/"
    if below:
        directory = tmp_path / "copy"
        copy = pathlib.Path(f"{directory}{site.root}")
        shutil.copytree(site.root, copy, symlinks=True)
    site.patch(text, directory, strip)
    paths = {p: pathlib.Path(f"{directory}{p}") if below else p
             for p in before}
    assert all(paths[p].read_text() != before[p] for p in before)
    if below:
        assert site.contents() == before
    done = subprocess.run(["patch", "-R", "-d", directory, f"-p{strip}"],
                          input=text, capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout
    assert {p: paths[p].read_text() for p in before} == before


@pytest.mark.parametrize("mpm", MPMS)
@pytest.mark.parametrize("end", ("\n", "", "\\"))
def test_what_is_nowhere_goes_to_the_end(mpm, end, tmp_path):
    """Also behind a last line without line feed, or that goes on."""
    site = Site(tmp_path, mpm, block="# nothing here\n")
    site.main.write_text(site.main.read_text().rstrip() + end)
    # So much traffic that the defaults of these do not do.
    growth = () if mpm == "prefork" else ("--growth", "60")
    text, _ = site.diff(*growth)
    assert re.search(rf"^\+<IfModule mpm_{mpm}_module>$", text, re.M)
    assert re.search(r"^\+KeepAliveTimeout ", text, re.M)
    assert str(site.block) not in text
    site.patch(text)
    site.configtest()
    assert site.diff(*growth)[0] == ""


def test_windows_line_ends_stay(tmp_path):
    site = Site(tmp_path, "prefork")
    site.block.write_bytes(
        BLOCKS["prefork"].replace("\n", "\r\n").encode())
    result = cli.run("--diff", *site.args())
    assert result.status == 0, result.err
    subprocess.run(["patch", "--binary", "-d", "/", "-p0"], input=result.out,
                   capture_output=True, timeout=PATIENCE, check=True)
    lines = site.block.read_bytes().split(b"\n")
    assert all(line.endswith(b"\r") for line in lines[:-1])
    site.configtest()
    assert site.diff()[0] == ""


def test_only_the_directive_that_holds_is_changed(tmp_path):
    site = Site(tmp_path, "event", block="", before="KeepAliveTimeout 66",
                after="# KeepAliveTimeout 1\nKeepAliveTimeout 77\n"
                      "<VirtualHost *:18080>\nServerName v.example\n"
                      "KeepAliveTimeout 88\n</VirtualHost>")
    text, _ = site.diff()
    assert [line for line in changed(text) if "KeepAliveTimeout" in line
            and line[0] == "-"] == ["-KeepAliveTimeout 77"]
    site.patch(text)
    assert site.diff()[0] == ""


def test_a_variable_is_left_to_a_person(tmp_path):
    site = Site(tmp_path, "event",
                before="Define KAT 77\nKeepAliveTimeout ${KAT}")
    text, err = site.diff()
    assert not [line for line in changed(text) if "KAT" in line]
    number = site.main.read_text().splitlines().index("Define KAT 77") + 1
    assert "by hand" in err
    assert f"${{KAT}} from {site.main}:{number}, Define KAT 77" in err
    site.patch(text)
    text, err = site.diff()
    assert text == ""
    assert "Define KAT 77" in err and "nothing else" in err


def test_a_macro_is_left_to_a_person(tmp_path):
    site = Site(tmp_path, "event", before=(
        f'LoadModule macro_module "{MODULES}/mod_macro.so"\n'
        "<Macro wait $s>\nKeepAliveTimeout $s\n</Macro>\nUse wait 77"))
    text, err = site.diff()
    assert not [line for line in changed(text)
                if "KeepAliveTimeout" in line]
    assert "by hand" in err and "KeepAliveTimeout" in err


def test_output_file_and_check(tmp_path):
    site = Site(tmp_path, "worker")
    out = tmp_path / "advice.diff"
    result = cli.run("--diff", "--check", "-o", out, *site.args())
    assert (result.status, result.out) == (3, b"")
    text = out.read_text()
    assert text == site.diff()[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["advice.diff", "etc"]


def test_colour_only_on_a_terminal(tmp_path):
    site = Site(tmp_path, "event")
    assert "\033" not in site.diff()[0]
    leader, follower = pty.openpty()
    with subprocess.Popen(
            [cli.KAADVISOR, "--diff", "--quiet",
             *map(str, site.args())], stdout=follower,
            stderr=subprocess.DEVNULL, env=cli.environment()) as process:
        os.close(follower)
        seen = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            seen += part
        process.wait(PATIENCE)
    os.close(leader)
    assert b"\033[31m-" in seen and b"\033[32m+" in seen
    plain = re.sub(rb"\033\[\d*m", b"", seen).replace(b"\r\n", b"\n")
    assert plain.decode() == site.diff()[0]


# ---- what gives none -------------------------------------------------------

def test_usage(day):
    assert "--httpd-config" in cli.fails(2, "--diff", day)
    assert "--output" in cli.fails(2, "--diff", "--output", "json", day)
    assert "no option --diff" in cli.fails(2, "doctor", "--diff")


def test_another_mpm(tmp_path):
    site = Site(tmp_path, "prefork")
    result = cli.run("--diff", "--mpm", "event", *site.args())
    assert (result.status, result.out) == (1, b"")
    assert "loads prefork" in cli.clean(result.err)


def test_too_little_to_advise(tmp_path):
    site = Site(tmp_path, "event")
    log = tmp_path / "short.log"
    log.write_text(cli.combined(3))
    result = cli.run("--diff", "--httpd-config", site.main, log)
    assert (result.status, result.out) == (0, b"")
    assert "no advice" in cli.clean(result.err)

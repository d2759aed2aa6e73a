# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Our own reading of a configuration is what httpd itself makes of it."""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from httpd import LOGS, MPMS, PATIENCE, LogHttpd
from kastats_env import APACHE, BUILD, ROOT, free_ports

DEBIAN = pathlib.Path("/etc/apache2")
PLACES = ("RUN_DIR", "LOCK_DIR", "LOG_DIR")


@pytest.fixture(scope="module")
def show():
    """Runs show_host, linked with the objects of the build; in a directory of
    its own, where another user can run it."""
    objects = [o for pattern in ("advisor/host/config*.o",
                                 "advisor/host/httpd*.o",
                                 "advisor/host/facts.o",
                                 "advisor/host/procfs.o",
                                 "modules/core/ka_mpm.o",
                                 "modules/core/ka_units.o")
               for o in glob.glob(str(BUILD / pattern))]
    flags = subprocess.run(
        ["apr-1-config", "--includes", "--cppflags", "--link-ld"],
        check=True, capture_output=True, text=True).stdout.split()
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        program = os.path.join(directory, "show_host")
        subprocess.run(
            ["cc", "-std=c11", "-D_GNU_SOURCE", f"-I{ROOT}/modules/core",
             f"-I{ROOT}/advisor", "-o", program,
             ROOT / "test/e2e/show_host.c", *objects, *flags, "-ljansson",
             "-lm"], check=True)

        def run(*args, **kwargs):
            done = subprocess.run([program, *map(str, args)], check=True,
                                  capture_output=True, text=True,
                                  timeout=PATIENCE, **kwargs)
            return json.loads(done.stdout)

        yield run


def values(settings):
    return {k: v and (v["value"], v["assumed"], v["origin"])
            for k, v in settings.items()}


def directives(nodes):
    """httpd prints a name as its module spells it."""
    return [{**node, "name": node["name"].lower()} for node in nodes]


def assert_same(seen):
    """Our tree and settings are those of DUMP_CONFIG, places included."""
    assert seen["dumped"], seen["missing"]
    assert directives(seen["own"]) == directives(seen["dumped"])
    assert values(seen["own_settings"]) == values(seen["settings"])
    assert seen["own_root"] == seen["server_root"]
    assert seen["told_vhosts"] == len(seen["vhosts"]) - 1


@pytest.fixture
def debian(tmp_path):
    """A private copy of the package's configuration, for an MPM."""
    if not (DEBIAN / "apache2.conf").exists():
        pytest.skip("the package apache2, whose default configuration is "
                    "read here, is not installed")
    port = free_ports(1)[0]

    def make(mpm):
        root = tmp_path / "apache2"
        shutil.copytree(DEBIAN, root, symlinks=True)
        for link in root.glob("mods-enabled/mpm_*"):
            link.unlink()
        for end in ("load", "conf"):
            (root / f"mods-enabled/mpm_{mpm}.{end}").symlink_to(
                f"../mods-available/mpm_{mpm}.{end}")
        conf = root / "apache2.conf"
        conf.write_text(f'ServerRoot "{root}"\nServerName localhost\n'
                        + conf.read_text())
        for path in (root / "ports.conf",
                     *root.glob("sites-available/*.conf")):
            path.write_text(re.sub(r"(Listen |\*:)80\b", rf"\g<1>{port}",
                                   path.read_text()))
        env = {"PATH": os.environ["PATH"],
               "APACHE_PID_FILE": str(tmp_path / "pid"),
               "APACHE_RUN_USER": "www-data", "APACHE_RUN_GROUP": "www-data"}
        for place in PLACES:
            (tmp_path / place).mkdir()
            env[f"APACHE_{place}"] = str(tmp_path / place)
        subprocess.run([APACHE, "-f", conf, "-t"], env=env, check=True,
                       capture_output=True, timeout=PATIENCE)
        return conf, env

    return make


@pytest.mark.parametrize("mpm", MPMS)
def test_config__debians_default_as_httpd_reads_it(mpm, debian, show, tmp_path):
    conf, env = debian(mpm)
    log = tmp_path / "LOG_DIR" / "access.log"
    for name in ("access.log", "access.log.1", "access.log.2.gz"):
        log.with_name(name).write_text("")
    seen = show("config", APACHE, conf, env=env)
    assert_same(seen)
    assert seen["missing"] == []
    assert seen["mpm"] == mpm
    assert seen["pid_file"] == env["APACHE_PID_FILE"]
    workers = seen["settings"]["max_request_workers"]
    line = re.search(r"MaxRequestWorkers\s+(\d+)", (
        conf.parent / f"mods-available/mpm_{mpm}.conf").read_text())
    assert workers["value"] == int(line[1])
    assert f"mods-enabled/mpm_{mpm}.conf:" in workers["origin"]
    files = {entry["path"]: entry["files"] for entry in seen["logs"]}
    assert sorted(files[str(log)]) == sorted(map(str, log.parent.glob("*")))


SITE = """
<IfModule !mpm_nonesuch_module>
  keepalivetimeout \\
     7
</IfModule>
<IfVersion >= 2.4.1>
  MaxKeepAliveRequests 55
</IfVersion>
<IfVersion ~ ^9>
  MaxKeepAliveRequests 1
</IfVersion>
Define SITE a.example
<IfDefine SITE>
  Include "{root}/more"
</IfDefine>
UnDefine SITE
<IfFile "{root}/nonesuch">
  KeepAlive Off
</IfFile>
<Directory "{root}/empty">
</Directory>
ListenBacklog 77
"""

MORE = {"b.conf": "<VirtualHost 127.0.0.1:{port}>\n"
                  "ServerName ${{SITE}}\nKeepAliveTimeout 400ms\n"
                  "CustomLog \"{root}/${{SITE}}.log\" \"%h \\\"%r\\\"\"\n"
                  "</VirtualHost>\n",
        "a.conf": "<VirtualHost 127.0.0.1:{port}>\nServerName first\n"
                  "KeepAliveTimeout 9\n</VirtualHost>\n"
                  "<VirtualHost 127.0.0.1:{port}>\nServerName third\n"
                  "</VirtualHost>\n"}


@pytest.fixture(params=MPMS)
def httpd(request):
    server = LogHttpd(request.param, conf=SITE)
    (server.root / "more").mkdir()
    for name, text in MORE.items():
        (server.root / "more" / name).write_text(
            text.format(root=server.root, port=server.port))
    with server:
        yield server


def test_config__running_server(httpd, show):
    pid = httpd.process.pid
    found = {server["pid"]: server for server in show("find")}
    assert found[pid]["children"] >= 1
    assert found[pid]["binary"] == os.path.realpath(APACHE)
    assert found[pid]["file"] == str(httpd.root / "httpd.conf")
    assert not found[pid]["container"]
    assert found[pid]["missing"] == []
    seen = show("inspect", pid)
    assert_same(seen)
    assert seen["missing"] == []
    assert seen["mpm"] == httpd.mpm
    facts = {k: v and v["value"] for k, v in seen["settings"].items()}
    assert facts["keep_alive_timeout_s"] == 7_000_000
    assert facts["max_keep_alive_requests"] == 55
    assert facts["keep_alive"] == 1
    assert facts["listen_backlog"] == 77
    assert facts["max_request_workers"] == (
        32 if httpd.mpm == "prefork" else 64)
    idle = {v["name"]: v["idle_timeout"]["value"] for v in seen["vhosts"]}
    assert (idle["first"], idle["third"], idle["a.example"]) == (
        9_000_000, 9_000_000, 400_000)
    logs = {entry["path"]: entry for entry in seen["logs"]}
    for name in LOGS:
        path = str(httpd.log_path(name))
        assert logs[path]["files"] == [path]
    assert logs[f"{httpd.root}/a.example.log"]["format"] == '%h "%r"'


def test_config__several_servers_and_another_name(show):
    """Found by what it has mapped, where the name says nothing."""
    if os.geteuid() != 0:
        pytest.skip("only root sees what another binary has mapped")
    one, two = LogHttpd("event"), LogHttpd("prefork")
    renamed = two.root / "webserver"
    shutil.copy(APACHE, renamed)
    command = two.command
    two.command = lambda *args: [str(renamed), *command(*args)[1:]]
    with one, two:
        found = {server["pid"]: server for server in show("find")}
        assert found[one.process.pid]["file"] == f"{one.root}/httpd.conf"
        assert found[two.process.pid]["binary"] == str(renamed)
        assert show("inspect", two.process.pid)["mpm"] == "prefork"


def test_config__another_users_server_is_named_as_such(show):
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    with LogHttpd("event") as server:
        found = {s["pid"]: s for s in show("find", user="nobody", group=65534,
                                           extra_groups=[])}
        seen = found[server.process.pid]
        assert seen["binary"] is None
        assert any("run as root" in text for text in seen["missing"])
        # What is readable is used: its arguments are.
        seen = show("inspect", server.process.pid, user="nobody", group=65534,
                    extra_groups=[])
        assert seen["config_file"] == f"{server.root}/httpd.conf"
        assert seen["own"] and not seen["dumped"]

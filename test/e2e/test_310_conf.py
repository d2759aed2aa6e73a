# Licensed under the Apache License, Version 2.0; see LICENSE.
"""The configuration that `--output conf` writes: httpd takes it as it is."""
import re
import subprocess

import pytest

import cli
import kastats_env
from httpd import MPMS, PATIENCE, LogHttpd
from kastats_env import APACHE, MODULES

DEMO = ("--log-format", cli.DEMO_FORMAT, cli.DEMO)
FACTS = ("--timeout", "15", "--memory", "4G", "--process-memory", "24M")

# Traffic that needs more than httpd's defaults allow, so that the limits
# must be raised with it.
HEAVY = ("--timeout", "15", "--memory", "900G", "--process-memory", "24M",
         "--max-request-workers", "3000")

# As in a distribution's file: what the Include comes behind.
DEFAULTS = """
KeepAlive On
KeepAliveTimeout 5
MaxKeepAliveRequests 100
<IfModule mpm_prefork_module>
    StartServers 5
    MinSpareServers 5
    MaxSpareServers 10
    MaxRequestWorkers 150
    MaxConnectionsPerChild 0
</IfModule>
<IfModule mpm_worker_module>
    StartServers 2
    MinSpareThreads 25
    MaxSpareThreads 75
    ThreadLimit 64
    ThreadsPerChild 25
    MaxRequestWorkers 150
</IfModule>
<IfModule mpm_event_module>
    StartServers 2
    MinSpareThreads 25
    MaxSpareThreads 75
    ThreadLimit 64
    ThreadsPerChild 25
    MaxRequestWorkers 150
</IfModule>
"""

MINIMAL = """
ServerRoot "{root}"
ServerName localhost
PidFile "{root}/httpd.pid"
ErrorLog "{root}/error.log"
Listen 127.0.0.1:{port}
LoadModule mpm_{mpm}_module "{modules}/mod_mpm_{mpm}.so"
LoadModule authz_core_module "{modules}/mod_authz_core.so"
{before}
Include "{conf}"
"""

# What MPMs say of a value that they will not take as it is.
CORRECTED = re.compile(
    r"AH\d{5}|WARNING|exceeds|not an integer multiple|increasing|decreasing|"
    r"must be|not be changed|deprecated", re.I)


def write(tmp_path, *args, name="httpd-mpm.conf"):
    path = tmp_path / name
    assert cli.done("--output", "conf", "-o", path, *args) == ""
    return path


def configtest(tmp_path, mpm, conf, before=""):
    """All that `httpd -t` says."""
    port, = kastats_env.free_ports(1)
    main = tmp_path / f"{mpm}.conf"
    main.write_text(MINIMAL.format(root=tmp_path, port=port, mpm=mpm,
                                   modules=MODULES, before=before, conf=conf))
    done = subprocess.run([APACHE, "-t", "-f", main], capture_output=True,
                          text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def directives(path, mpm):
    """Directive -> argument as they are in force for an MPM."""
    found, block = {}, None
    for line in path.read_text("ascii").splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        opening = re.fullmatch(r"<IfModule mpm_(\w+)_module>", line)
        if opening:
            block = opening[1]
        elif line == "</IfModule>":
            block = None
        elif block in (None, mpm):
            name, value = line.split()
            found[name] = value
    return found


def check(tmp_path, mpm, path, before):
    said = configtest(tmp_path, mpm, path, before)
    assert said.strip() == "Syntax OK"


# ---- httpd -t ------------------------------------------------------------------

@pytest.mark.parametrize("before", ["", DEFAULTS], ids=["alone", "behind"])
@pytest.mark.parametrize("legacy", [(), ("--legacy-names",)],
                         ids=["names", "legacy"])
@pytest.mark.parametrize("facts", [FACTS, HEAVY, ("--timeout", "15")],
                         ids=["facts", "heavy", "unknown"])
@pytest.mark.parametrize("mpm", [*MPMS, None])
def test_configtest(mpm, facts, legacy, before, tmp_path):
    args = ("--mpm", mpm) if mpm else ()
    path = write(tmp_path, *args, *facts, *legacy, *DEMO)
    for loaded in (mpm,) if mpm else MPMS:
        check(tmp_path, loaded, path, before)


@pytest.mark.parametrize("mpm", MPMS)
def test_block_of_another_mpm_is_ignored(mpm, tmp_path):
    for other in MPMS:
        path = write(tmp_path, "--mpm", other, *FACTS, *DEMO)
        check(tmp_path, mpm, path, DEFAULTS)


def test_configtest_would_find_a_wrong_value(tmp_path):
    """The test itself: httpd says something of what it corrects."""
    path = tmp_path / "wrong.conf"
    path.write_text("ServerLimit 10\nMaxRequestWorkers 500\n")
    assert CORRECTED.search(configtest(tmp_path, "prefork", path))


def test_refused_advice_sets_nothing(tmp_path):
    path = write(tmp_path, cli.DATA / "site-combined.log")
    assert directives(path, "prefork") == {}
    for mpm in MPMS:
        check(tmp_path, mpm, path, "")


def test_keepalive_off(tmp_path):
    """No connection is used twice: Off, and that loads too."""
    log = tmp_path / "log"
    log.write_text(cli.combined(4000, step=1, clients=4000,
                                client="host{c}.example").replace(
                                    "HTTP/1.1", "HTTP/1.0"))
    path = write(tmp_path, "--mpm", "prefork", *FACTS, log)
    assert directives(path, "prefork")["KeepAlive"] == "Off"
    check(tmp_path, "prefork", path, DEFAULTS)


# ---- consistent in itself (R8) ----------------------------------------------------

@pytest.mark.parametrize("facts", [FACTS, HEAVY], ids=["facts", "heavy"])
@pytest.mark.parametrize("mpm", MPMS)
def test_block_is_complete_and_consistent(mpm, facts, tmp_path):
    d = directives(write(tmp_path, "--mpm", mpm, *facts, *DEMO), mpm)
    common = {"KeepAlive", "KeepAliveTimeout", "MaxKeepAliveRequests",
              "ServerLimit", "StartServers", "MaxRequestWorkers",
              "MaxConnectionsPerChild"}
    workers = int(d["MaxRequestWorkers"])
    if mpm == "prefork":
        assert common | {"MinSpareServers", "MaxSpareServers"} == set(d)
        assert int(d["ServerLimit"]) >= workers
        assert int(d["MinSpareServers"]) < int(d["MaxSpareServers"])
        assert int(d["StartServers"]) <= workers
        return
    threaded = {"ThreadLimit", "ThreadsPerChild", "MinSpareThreads",
                "MaxSpareThreads"}
    if mpm == "event":
        threaded.add("AsyncRequestWorkerFactor")
    assert common | threaded == set(d)
    threads = int(d["ThreadsPerChild"])
    assert workers % threads == 0
    assert int(d["ServerLimit"]) * threads >= workers
    assert int(d["ThreadLimit"]) >= threads
    assert int(d["StartServers"]) * threads <= workers
    assert int(d["MaxSpareThreads"]) >= int(d["MinSpareThreads"]) + threads
    if mpm == "event":  # R4
        assert d["MaxSpareThreads"] == d["MaxRequestWorkers"]
        assert d["MaxConnectionsPerChild"] == "0"
        assert re.fullmatch(r"[1-9]\d*", d["AsyncRequestWorkerFactor"])


def test_conf_is_what_the_report_says(tmp_path):
    args = ("--mpm", "prefork", *FACTS, *DEMO)
    advice = {row["directive"]: row["to"]
              for row in cli.report(*args)["advice"]}
    assert directives(write(tmp_path, *args), "prefork") == advice


def test_legacy_names(tmp_path):
    args = ("--mpm", "prefork", *FACTS, *DEMO)
    new = directives(write(tmp_path, *args), "prefork")
    old = directives(write(tmp_path, *args, "--legacy-names"), "prefork")
    renamed = {"MaxRequestWorkers": "MaxClients",
               "MaxConnectionsPerChild": "MaxRequestsPerChild"}
    assert old == {renamed.get(name, name): value
                   for name, value in new.items()}


def test_unknown_sizes_are_not_invented(tmp_path):
    """Without the memory of a process, no number of workers rests on it."""
    path = write(tmp_path, "--mpm", "event", "--timeout", "15", *DEMO)
    assert "24M" not in path.read_text()
    assert "KeepAliveTimeout" in directives(path, "event")


# ---- what the comments say --------------------------------------------------------

def test_comments(tmp_path):
    """Formula, inputs, date, source, and how to go back."""
    path = write(tmp_path, "--mpm", "prefork", *FACTS, *DEMO)
    text = re.sub(r"\s*\n# *", " ", path.read_text("ascii"))
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d", text)
    assert "demo.log" in text
    assert "626 requests" in text
    assert "KeepAliveTimeout x requests per second / mean keep-alive" in text
    for value in ("--timeout", "--memory", "--process-memory", "4G", "24M"):
        assert value in text, value
    assert "-t" in text  # httpd -t
    assert "Go back" in text
    assert max(map(len, path.read_text().splitlines())) <= 80


def test_every_directive_has_a_reason(tmp_path):
    lines = write(tmp_path, "--mpm", "prefork", *FACTS,
                  *DEMO).read_text().splitlines()
    for i, line in enumerate(lines):
        if line.strip() and not line.lstrip().startswith(("#", "<")):
            assert lines[i - 1].lstrip().startswith("#"), line


@pytest.mark.parametrize("name", ["a\nServerLimit 1\n#", "b\\", "c\r", "d\x1b",
                                  "</IfModule>", "${x}", "%{x}"])
def test_name_of_a_log_cannot_become_a_directive(name, tmp_path):
    log = tmp_path / name.replace("/", "_")
    log.write_bytes(cli.DEMO.read_bytes())
    path = write(tmp_path, "--mpm", "prefork", *FACTS, *DEMO[:2], log)
    plain = write(tmp_path, "--mpm", "prefork", *FACTS, *DEMO, name="plain")
    assert directives(path, "prefork") == directives(plain, "prefork")
    check(tmp_path, "prefork", path, "")


# ---- in force ----------------------------------------------------------------------

@pytest.mark.parametrize("mpm", MPMS)
def test_in_force(mpm, tmp_path):
    """httpd really starts with it; what it runs with is what was written."""
    path = write(tmp_path, "--mpm", mpm, *FACTS, "--max-request-workers",
                 "300", *DEMO)
    d = directives(path, mpm)
    server = LogHttpd(
        mpm, modules=("info", "status"), mpm_conf=f'{DEFAULTS}\n'
        f'Include "{tmp_path / "in-force.conf"}"',
        admin_conf="<Location /info>\nSetHandler server-info\n</Location>\n"
                   "<Location /status>\nSetHandler server-status\n"
                   "</Location>")
    tmp_path.chmod(0o755)
    (tmp_path / "in-force.conf").write_text(path.read_text())
    with server:
        info = server.ask("/info?server")[2].decode()
        status = server.ask("/status?auto")[2].decode()
        dump = subprocess.run(server.command("-t", "-DDUMP_CONFIG"),
                              capture_output=True, text=True, check=True,
                              timeout=PATIENCE)
        log = server.log()
    # The startup says of no value that it was corrected.
    assert not CORRECTED.search(dump.stderr.replace("Syntax OK", ""))
    for line in log.splitlines():
        assert ":notice]" in line, line
    # mod_info: what it runs with.
    info = re.sub(r"<[^>]+>", "", info).replace("&nbsp;", " ")
    timeout = d["KeepAliveTimeout"]
    seconds = int(timeout[:-2]) // 1000 if timeout.endswith("ms") else \
        int(timeout)
    assert f"keep-alive: {seconds}" in info
    if mpm == "prefork":  # else the most that have run so far
        assert f"Max Daemons: {d['MaxRequestWorkers']} " in info, info
    # mod_status: as many places as there may be workers; event leaves out
    # the children beyond, which are for those of an old generation.
    board = re.search(r"^Scoreboard: (.*)$", status, re.M)[1]
    places = int(d["ServerLimit"]) * int(d.get("ThreadLimit", 1))
    assert len(board) == (int(d["MaxRequestWorkers"]) if mpm == "event"
                          else places)
    # The tree that httpd has read: the last one of each name counts.
    last = dict(re.findall(r"^ *(\w+) (\S+)$", dump.stdout, re.M))
    for name, value in d.items():
        assert last.get(name) == value, name

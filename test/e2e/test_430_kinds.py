# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Parts of the traffic by themselves: virtual hosts (R3), kinds of content
(R16), backends (R17), with a configuration that no httpd needs to run with."""
import glob
import re
import subprocess

import pytest

import cli
import kastats_env
import kinds
import policy_env
from httpd import MPMS, PATIENCE, LogHttpd, Peer
from kastats_env import APACHE, MODULES

SECONDS = 3600
FACTS = ("--memory", "16G", "--process-memory", "20M", "--log-format",
         kinds.FORMAT)
PHP_SOCKET = "/run/kaadvisor-none.sock"

CONF = """\
ServerRoot "{root}"
ServerName localhost
PidFile "{root}/httpd.pid"
ErrorLog "{root}/error.log"
Listen 127.0.0.1:{port}
LoadModule mpm_{mpm}_module "{modules}/mod_mpm_{mpm}.so"
LoadModule authz_core_module "{modules}/mod_authz_core.so"
LoadModule setenvif_module "{modules}/mod_setenvif.so"
LoadModule proxy_module "{modules}/mod_proxy.so"
LoadModule proxy_http_module "{modules}/mod_proxy_http.so"
LoadModule proxy_fcgi_module "{modules}/mod_proxy_fcgi.so"
KeepAliveTimeout 5
<VirtualHost 127.0.0.1:{port}>
    ServerName shop.example
    KeepAliveTimeout 8
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName img.example
    #img
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName www.api.example
    ServerAlias api.example
    #api
    ProxyPass /api http://127.0.0.1:{other}/ max=1 disablereuse=on
    <FilesMatch "\\.php$">
        SetHandler "proxy:unix:{socket}|fcgi://localhost/"
    </FilesMatch>
</VirtualHost>
#end
"""


class Site:
    """A configuration, the log of its traffic, and what is advised."""

    def __init__(self, root, mpm, log, socket=PHP_SOCKET):
        port, other = kastats_env.free_ports(2)
        self.mpm, self.log = mpm, log
        self.conf = root / "httpd.conf"
        self.conf.write_text(CONF.format(
            root=root, mpm=mpm, modules=MODULES, port=port, other=other,
            socket=socket))

    def args(self, *more):
        return ("--httpd-config", self.conf, *FACTS, *more, self.log)

    def place(self, text):
        lines = self.conf.read_text().splitlines()
        number, = (i for i, line in enumerate(lines, 1) if text in line)
        return f"{self.conf}:{number}"

    def add(self, mark, lines):
        """Lines at a mark of the configuration."""
        self.conf.write_text(self.conf.read_text().replace(
            mark, "\n".join(lines), 1))

    def accepted(self):
        done = subprocess.run([APACHE, "-t", "-f", self.conf],
                              capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        return True


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    traffic = kinds.Log(5, SECONDS)
    traffic.visits("shop.example", 0.4, kinds.pages)
    traffic.visits("img.example", 2, kinds.burst)
    traffic.visits("api.example", 2, kinds.call)
    traffic.visits("rare.example", 0.005, kinds.pages)
    return traffic.write(tmp_path_factory.mktemp("kinds") / "access.log")


@pytest.fixture(scope="module", params=MPMS)
def site(request, log, tmp_path_factory):
    return Site(tmp_path_factory.mktemp(request.param), request.param, log)


@pytest.fixture(scope="module")
def report(site):
    return cli.report(*site.args())


def of_vhosts(report):
    return {row["vhost"]: row for row in report["advice"] if row["vhost"]}


def warnings(report):
    return {w["id"]: w["text"] for w in report["warnings"]}


# ---- virtual hosts ---------------------------------------------------------

def test_r3_what_a_virtual_host_asks_for(site, report):
    rows = of_vhosts(report)
    if site.mpm == "event":  # idle connections hold no worker there
        assert rows == {}
        return
    assert set(rows) == {"img.example", "api.example"}
    img, api = rows["img.example"], rows["api.example"]
    assert (img["rule"], img["directive"]) == ("R3", "KeepAliveTimeout")
    # It takes the timeout of the first virtual host of its address.
    assert (img["from"], img["to"], img["change"]) == ("8", "1", True)
    assert img["evidence"]["from_origin"] == site.place("KeepAliveTimeout 8")
    assert img["evidence"]["section"] == section(site, "img.example")
    assert img["evidence"]["reuse"] == pytest.approx(
        img["evidence"]["reuse_common"], abs=0.01)
    assert img["evidence"]["idle_mean"] < img["evidence"]["idle_mean_common"]
    assert (api["rule"], api["directive"], api["to"]) == \
        ("R14", "KeepAlive", "Off")
    assert api["from"] == "On"
    assert api["evidence"]["reuse"] == 0
    assert api["evidence"]["section"] == section(site, "api.example")


def section(site, name):
    """file:line of the <VirtualHost> that holds a name."""
    opened = None
    for i, line in enumerate(site.conf.read_text().splitlines(), 1):
        opened = i if line.startswith("<VirtualHost") else opened
        if name in line:
            return f"{site.conf}:{opened}"
    raise AssertionError(name)


def test_r3_traps_of_the_configuration(site, report):
    told = warnings(report)
    assert "rare" not in told["several_vhosts"]
    assert "1 virtual host has under 1,000" in told["several_vhosts"]
    assert site.place("KeepAliveTimeout 8") in told["vhost_overrides"]
    assert f"img.example ({section(site, 'img.example')}) waits 8s" \
        in told["vhost_first_of_address"]
    assert "vhost_timeout_zero" not in told


def test_a_port_in_the_log_is_no_other_name(site, log, tmp_path):
    port = re.search(r"Listen 127.0.0.1:(\d+)", site.conf.read_text())[1]
    with_ports = tmp_path / "ports.log"
    with_ports.write_text(log.read_text().replace(
        " img.example ", f" img.example:{port} "))
    rows = of_vhosts(cli.report("--httpd-config", site.conf, *FACTS,
                                with_ports))
    if site.mpm != "event":
        assert rows["img.example"]["from"] == "8"


def test_without_a_configuration_nothing_is_known_of_them(log):
    report = cli.report("--mpm", "prefork", "--timeout", "5", *FACTS, log)
    row = of_vhosts(report)["img.example"]
    assert (row["from"], row["to"]) == (None, "1")
    assert "first virtual host" in warnings(report)["several_vhosts"]
    assert "vhost_overrides" not in warnings(report)


# ---- kinds of content -------------------------------------------------------

def test_r16_both_kinds_and_whether_it_pays(site, report):
    by = report["classes_advice"]
    static, dynamic = by["static"], by["dynamic"]
    seen = report["traffic"]["classes"]["dynamic"]
    assert static["requests_share"] + dynamic["requests_share"] == \
        pytest.approx(1)
    assert dynamic["busy_mean"] == pytest.approx(
        seen["requests_per_s"]["mean"] * seen["service_s"]["mean"], rel=1e-6)
    assert dynamic["busy_peak"] > dynamic["busy_mean"]
    assert dynamic["reuse"] == 0 and static["reuse"] > 0.5
    assert dynamic["alone_keep_alive"] is False
    assert static["alone_keep_alive"] is True
    at, = (t for t in report["timeouts"]
           if t["timeout_s"] == by["timeout_s"] and t["keep_alive"])
    assert static["idle_mean"] + dynamic["idle_mean"] == pytest.approx(
        at["idle_mean"], rel=0.01)
    assert dynamic["close_pays"] is (site.mpm != "event")
    assert bool(by["lines"]) is (site.mpm != "event")


def test_people_read_of_both_kinds(site):
    text = cli.done(*site.args("--quiet"))
    assert re.search(r"By kind of content \(T = \d+s\)", text)
    assert re.search(r"^  dynamic +\d", text, re.M)


def test_r16_lines_are_comments_that_httpd_takes(site, report, tmp_path):
    path = tmp_path / "httpd-mpm.conf"
    site_args = site.args("--quiet")
    assert cli.done("--output", "conf", "-o", path, *site_args) == ""
    text = path.read_text()
    lines = [line[6:] for line in text.splitlines()
             if line.startswith("#     SetEnvIf")]
    assert lines == report["classes_advice"]["lines"]
    assert "\nSetEnvIf" not in text
    copy = Site(tmp_path, site.mpm, site.log)
    copy.add("#end", lines)
    for vhost, row in of_vhosts(report).items():
        assert f"In the <VirtualHost> of {vhost} ({site.conf}:" \
            in text.replace("\n# ", " ")
        copy.add("#" + vhost.split(".")[0],
                 [f"{row['directive']} {row['to']}"])
    assert copy.accepted()


@pytest.mark.parametrize("mpm", MPMS)
def test_r16_lines_close_after_dynamic_requests_alone(mpm, log):
    lines = cli.report("--mpm", "prefork", "--timeout", "5", *FACTS,
                       log)["classes_advice"]["lines"]
    assert lines
    conf = "\n".join(lines).replace("{", "{{").replace("}", "}}")
    cases = (("/a.html", True), ("/a.css?v=3", True), ("/A.PNG", True),
             ("/", False), ("/api/search.php", False), ("/shop/cart", False),
             ("/x.html.php", False))
    with LogHttpd(mpm, conf=conf, modules=("setenvif",)) as server:
        for path, kept in cases:
            peer = Peer(server.port)
            _, headers, _ = peer.get(path)
            closed = headers.get("connection", "").lower() == "close"
            assert closed is not kept, (path, headers)
            if kept:
                peer.get(path)
            else:
                peer.wait_closed()
            peer.close()


# ---- the same by mod_kapolicy ------------------------------------------------

def block_of(conf):
    """The lines for mod_kapolicy, without the marks of a comment; whether they
    are in force."""
    lines = conf.splitlines()
    active = "<IfModule kapolicy_module>" in lines
    mark = "" if active else "# "
    begin = lines.index(mark + "<IfModule kapolicy_module>")
    end = max(i for i, line in enumerate(lines)
              if line == mark + "</IfModule>" and i < begin + 9)
    return [line[len(mark):] for line in lines[begin:end + 1]], active


def test_r16_a_policy_beside_one_timeout(site, report):
    policy = report["policy"]
    if site.mpm == "event":  # why not, its verdict says
        assert policy is None
        assert "On event" in report["classes_advice"]["text"]
        return
    by = policy["by_class"]
    one, other = by["one"], by["policy"]
    chosen = report["answers"][0]["choice"]["timeout_s"]
    row, = (t for t in report["timeouts"] if t["timeout_s"] == chosen
            and t["keep_alive"])
    assert policy["lines"] == [
        f"KAPolicy keep timeout={by['static_timeout_s']:g} "
        "served=static,error", "KAPolicy close served=dynamic,proxy"]
    assert not by["estimated"] and not policy["active"]
    for key in ("connections", "held_mean", "held_p999", "held_peak",
                "workers_needed", "memory_bytes"):
        assert one[key] == row[key], key
    freed = one["held_mean"] - other["held_mean"]
    assert freed == pytest.approx(
        report["classes_advice"]["dynamic"]["idle_mean"], rel=0.01)
    assert other["connections"] == one["connections"]  # none is followed
    assert other["held_p999"] < one["held_p999"]
    assert other["workers_needed"] < one["workers_needed"]


def test_r16_simulate_says_the_same(site, report, tmp_path):
    if site.mpm == "event":
        return
    conf = tmp_path / "policy.conf"
    conf.write_text("\n".join(
        ["KeepAliveTimeout 5", "MaxKeepAliveRequests 0",
         f"<IfModule mpm_{site.mpm}_module>", "ServerLimit 200",
         "StartServers 100", "MaxRequestWorkers 200", "</IfModule>",
         *report["policy"]["lines"]]) + "\n")
    run = cli.report("simulate", "--config", conf, "--timeout", "5",
                     "--log-format", kinds.FORMAT, site.log)["runs"][0]
    by = report["policy"]["by_class"]
    assert run["policy"]["static_timeout_s"] == by["static_timeout_s"]
    assert run["policy"]["dynamic_timeout_s"] == "off"
    assert run["outcome"]["connections"] == by["policy"]["connections"]
    assert run["outcome"]["held_mean"] == pytest.approx(
        by["policy"]["held_mean"])
    assert run["outcome"]["held"]["peak"] == by["policy"]["held_peak"]


def test_r16_the_block_is_one_that_httpd_takes(site, report, tmp_path):
    conf = cli.done("--output", "conf", *site.args("--quiet"))
    if site.mpm == "event":
        assert "kapolicy" not in conf
        return
    lines, active = block_of(conf)
    assert not active and "take the # away" in conf.replace("\n# ", " ")
    assert [line.strip() for line in lines[1:-1]] == report["policy"]["lines"]
    copy = Site(tmp_path, site.mpm, site.log)
    copy.add("#end", [policy_env.LOAD, *lines])
    assert copy.accepted()


def test_r16_in_force_where_httpd_has_the_module(log, tmp_path):
    site = Site(tmp_path, "prefork", log)
    site.add("#end", [policy_env.LOAD, "#end"])
    path = tmp_path / "httpd-mpm.conf"
    done = cli.run("--output", "conf", "-o", path, *site.args())
    assert done.status == 0, done.err  # with it, httpd -t is content
    assert b"accepts the configuration" in done.err
    lines, active = block_of(path.read_text())
    assert active
    # Once they are in force, the next file has them too.
    site.add("#end", [f'Include "{path}"'])
    assert block_of(cli.done("--output", "conf", *site.args("--quiet"))) == \
        (lines, True)


@pytest.fixture(scope="module")
def blocks(log):
    """Without --mpm; by load; behind a proxy."""
    at = ("--timeout", "5", "--process-memory", "20M", "--log-format",
          kinds.FORMAT, "--output", "conf", "--quiet")
    asked = (("--memory", "16G"), ("--memory", "500M", "--mpm", "prefork"),
             ("--memory", "16G", "--mpm", "prefork", "--proxy-idle", "60"))
    return [block_of(cli.done(*at, *more, log))[0] for more in asked]


@pytest.mark.parametrize("mpm", MPMS)
def test_r16_r1_r7_every_block_is_one_that_its_mpm_takes(mpm, blocks,
                                                         tmp_path):
    text = "\n".join(sum(blocks, []))
    assert "close served=dynamic" in text and "KAPolicyAdaptive 2 4" in text
    assert "-ipmatch '10.0.0.0/8'" in text
    assert "<IfModule !mpm_event_module>" in blocks[0]
    copy = Site(tmp_path, mpm, None)
    copy.add("#end", [policy_env.LOAD, *blocks[0]] if mpm == "event"
             else [policy_env.LOAD, *sum(blocks, [])])
    assert copy.accepted()


def test_r7_by_load_is_played(log):
    by = cli.report("--timeout", "5", "--process-memory", "20M", "--memory",
                    "500M", "--mpm", "prefork", "--log-format", kinds.FORMAT,
                    log)["policy"]["by_load"]
    assert (by["min_s"], by["max_s"]) == (2, 4)
    assert by["not_predicted"] is None
    assert by["wanted"]["wait_p99_s"] > 1
    assert by["by_load"]["wait_p99_s"] == 0
    assert by["fixed"]["reuse"] < by["by_load"]["reuse"] < by["wanted"]["reuse"]
    assert by["by_load"]["waits_cut"] + by["by_load"]["closed_full"] > 0


# ---- backends ----------------------------------------------------------------

def test_r17_backends_of_the_configuration(site, report):
    told = warnings(report)
    assert site.place("ProxyPass /api") in told["backend_not_reused"]
    row, = (r for r in report["advice"]
            if r["directive"] == "ProxyPass max=")
    assert row["rule"] == "R17" and row["from"] == "1"
    assert row["evidence"]["dynamic_busy_peak"] == \
        report["classes_advice"]["dynamic"]["busy_peak"]
    if site.mpm == "prefork":
        assert row["to"] == "1"  # a child has one request at a time
    else:
        assert 1 < int(row["to"]) <= 25


def pools():
    """(socket, pm.max_children) of the pools that are installed here."""
    for path in sorted(glob.glob("/etc/php/*/fpm/pool.d/*.conf")):
        text = open(path, encoding="utf-8").read()
        listen = re.search(r"^listen *= *(/\S+)", text, re.M)
        children = re.search(r"^pm.max_children *= *(\d+)", text, re.M)
        if listen and children:
            line = text[:children.start()].count("\n") + 1
            yield listen[1], int(children[1]), f"{path}:{line}"


@pytest.mark.skipif(not list(pools()), reason="no php-fpm: apt-get install "
                                              "php-fpm")
@pytest.mark.parametrize("mpm", MPMS)
def test_r17_the_pool_of_php_fpm_is_found(mpm, log, tmp_path):
    socket, children, place = next(pools())
    report = cli.report(*Site(tmp_path, mpm, log, socket).args())
    row, = (r for r in report["advice"]
            if r["directive"] == "pm.max_children")
    assert row["from"] == str(children)
    need = report["classes_advice"]["dynamic"]["busy_peak"]
    assert row["to"] == str(max(children, int(need)))
    assert row["mpm"] is None
    conf = cli.done("--output", "conf", *Site(tmp_path, mpm, log,
                                              socket).args("--quiet"))
    assert (f"pm.max_children {row['to']} at {place}"
            in re.sub(r"\n# ", " ", conf)) is row["change"]

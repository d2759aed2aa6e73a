# Licensed under the Apache License, Version 2.0; see LICENSE.
"""One script against one private httpd under one KeepAliveTimeout, and what
four onlookers saw of it.

The truth is mod_kastats' list of connections, each from accept to the end of
its pool: the time that a worker is held on prefork and worker, and that a
connection is open on event.  The others see the same from outside: the
scoreboard (mod_status) how many workers are busy, the kernel's socket table
what belongs to httpd, the visitors when they opened and closed."""
import contextlib
import http.client
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "e2e"))
import cli  # noqa: E402
import kastats_env  # noqa: E402

VISITORS = (ROOT / cli.BUILD / "test" / "truth" / "visitors").resolve()
OFF = 0.0
PATIENCE = 240  # for a whole run, a limit for a broken one

CONF = """
LogFormat "%%{{c}}a %%{{remote}}p %%a %%{{begin:usec}}t %%D %%k %%X %%H %%>s %%O %%P \
%%{{tid}}P %%v \\"%%r\\" \\"%%{{User-Agent}}i\\"" kastats
ExtendedStatus On
KAStatsRecent 65536
ListenBacklog 1024
<Location "/server-status">
    SetHandler server-status
</Location>
%(more)s
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    LuaMapHandler ^/sleep {root}/sleep.lua
    LuaScope thread
    LuaCodeCache forever
    CustomLog "{root}/access.log" kastats
    MaxKeepAliveRequests 0
    %(keep)s
    %(tls)s
</VirtualHost>
"""

CACHE = "SSLSessionCache shmcb:{root}/run/ssl(512000)\n"
TLS = """
    SSLEngine on
    SSLCertificateFile "{root}/server.pem"
"""

# usleep takes the time where others of its kind take r.
SLEEP = """\
function handle(r)
    r.usleep(tonumber(r.args))
    r:puts("<p>slept</p>")
    return apache2.OK
end
"""

# All workers are there from the start: how fast httpd adds them is another
# matter.  prefork has room for the most that a timeout holds here.
PREFORK = ("ServerLimit {n}\nMaxRequestWorkers {n}\nStartServers {n}\n"
           "MinSpareServers 1\nMaxSpareServers {n}\n")
# Few large children: event drops idle connections of one that has no free
# thread.
THREADED = ("ServerLimit 3\nThreadLimit 128\nThreadsPerChild 128\n"
            "MaxRequestWorkers {n}\nStartServers 3\nMinSpareThreads 1\n"
            "MaxSpareThreads {n}\n")


def workers_of(mpm, timeout_s):
    return 384 if mpm != "prefork" else round(100 + 30 * timeout_s)


# Hundreds of children do not all end within httpd's first second.
SLOW_STOP = [r"AH00045: child process \d+ still did not exit"]


class Served(kastats_env.Httpd):
    """A private httpd of one scenario, MPM and timeout (seconds; 0: Off)."""

    def __init__(self, mpm, timeout_s, scenario):
        keep = (f"KeepAliveTimeout {round(timeout_s * 1000)}ms" if timeout_s
                else "KeepAlive Off")
        modules = ("lua", "status") + (
            ("ssl", "socache_shmcb") if scenario.tls else ())
        super().__init__(
            mpm, CONF % {"keep": keep, "tls": TLS if scenario.tls else "",
                         "more": scenario.conf + (CACHE if scenario.tls else "")},
            modules, allowed=SLOW_STOP)
        self.workers = workers_of(mpm, timeout_s)
        self.mpm_conf = (PREFORK if mpm == "prefork" else THREADED).format(
            n=self.workers)
        self.timeout_s = timeout_s
        self.tls = scenario.tls
        self.visitors = None
        self.file("part.html", "x" * 2000)
        self.file("big.bin", "x" * 200_000)
        (self.root / "sleep.lua").write_text(SLEEP)
        if self.tls:
            kastats_env.tls_files(self.root)

    @property
    def access_log(self):
        return self.root / "access.log"

    # ---- the run

    def start(self):
        with priority("httpd"):
            try:
                return super().start()
            except BaseException:  # interrupted: nobody else would end it
                self.stop()
                raise

    def wait_idle(self):
        """Until all workers are there."""
        kastats_env.wait_for(
            lambda: self.status("IdleWorkers") >= self.workers - 1,
            "all workers")

    def play(self, script, delay_s=0):
        (self.root / "script").write_text(script)
        with (self.root / "visitors.out").open("w") as out, \
                priority("visitors"):
            self.visitors = subprocess.Popen(
                [VISITORS, str(self.port), "tls" if self.tls else "plain",
                 str(PATIENCE), str(round(delay_s * 1e6)),
                 self.root / "script"], stdout=out,
                stderr=subprocess.PIPE, text=True)

    def finish(self):
        _, said = self.visitors.communicate(timeout=PATIENCE + 10)
        assert self.visitors.returncode == 0, \
            f"{self.mpm}, {self.timeout_s} s: {said[:300]}"
        kastats_env.wait_for(lambda: self.totals()["open"] == 0,
                             "nothing is open")

    def __exit__(self, *how):
        if self.visitors and self.visitors.poll() is None:
            self.visitors.kill()
            self.visitors.wait()
        return super().__exit__(*how)

    # ---- the onlookers

    def status(self, key):
        """A number of mod_status."""
        connection = http.client.HTTPConnection("127.0.0.1", self.admin,
                                                timeout=PATIENCE)
        try:
            connection.request("GET", "/server-status?auto",
                               headers={"Connection": "close"})
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        return int(re.search(rf"^{key}: (\d+)", text, re.M)[1])

    def scoreboard(self):
        """Busy workers, but for the one that answers this."""
        return self.status("BusyWorkers") - 1

    def connections(self):
        """(from, to, requests) of each, as mod_kastats lists them, s."""
        recent = self.stats("&recent=65536")["recent"]
        totals = self.totals()
        assert len(recent) == totals["connections"], "not all are listed"
        return [(r["started_at"], r["started_at"] + r["life_s"],
                 r["requests"]) for r in recent]

    def told(self):
        """The visitors' own: (from, to) of each connection, and the sums."""
        *lines, last = (self.root / "visitors.out").read_text().splitlines()
        spans = []
        for line in lines:
            _, _, _, opened, _, closed, served = line.split()
            if int(served):
                spans.append((int(opened) / 1e6, int(closed) / 1e6))
        words = last.split()
        return spans, dict(zip(words[::2], map(int, words[1::2])))

    def requests(self):
        """(begin, end) of each, from the access log, s."""
        spans = []
        for line in self.access_log.read_text().splitlines():
            words = line.split(" ", 5)
            spans.append((int(words[3]) / 1e6,
                          (int(words[3]) + int(words[4])) / 1e6))
        return spans


def sockets(ports):
    """{port: sockets that belong to httpd}, from the kernel's table."""
    counts = dict.fromkeys(ports, 0)
    with open("/proc/net/tcp", encoding="ascii") as table:
        next(table)
        for line in table:
            words = line.split(None, 10)
            # Of state LISTEN, or of nobody: not accepted, or TIME_WAIT.
            if words[3] == "0A" or words[9] == "0":
                continue
            port = int(words[1][9:], 16)
            if port in counts:
                counts[port] += 1
    return counts


# Ahead of whatever else the machine does: visitors first, who keep the time,
# then httpd, then who looks on.
PRIORITY = {"visitors": 30, "httpd": 20, "onlooker": 10, None: 0}


@contextlib.contextmanager
def priority(of):
    """What is started within inherits it; without the right to, nothing."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR if PRIORITY[of] else
                              os.SCHED_OTHER, os.sched_param(PRIORITY[of]))
    except PermissionError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, *before)

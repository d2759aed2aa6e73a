# Licensed under the Apache License, Version 2.0; see LICENSE.
"""A private httpd with mod_kastats, and scripted clients.

Each Httpd has a directory and ports of its own, is stopped by its pid, and is
waited for by conditions.  The status handler lives on a port where nothing is
recorded, so that looking does not change what is seen.
"""
import collections
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time

APACHE = os.environ.get("KA_HTTPD", "/usr/sbin/apache2")
MODULES = os.environ.get("KA_HTTPD_MODULES", "/usr/lib/apache2/modules")
ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("KA_BUILD", "build")
MODULE = os.environ.get("KA_KASTATS", str(BUILD / "mod_kastats.so"))
MPMS = ("prefork", "worker", "event")
PATIENCE = float(os.environ.get("KA_PATIENCE", 60))  # a limit for a broken run, never a wait

BASE_MODULES = ("authz_core", "mime", "dir", "env", "setenvif",
                "headers", "alias", "rewrite")

MPM_CONF = {
    "prefork": "StartServers 4\nMinSpareServers 2\nMaxSpareServers 16\n"
               "ServerLimit 32\nMaxRequestWorkers 32\n",
    "worker": "StartServers 1\nServerLimit 8\nThreadLimit 16\n"
              "ThreadsPerChild 16\nMaxRequestWorkers 64\n"
              "MinSpareThreads 4\nMaxSpareThreads 64\n",
    "event": "StartServers 1\nServerLimit 8\nThreadLimit 16\n"
             "ThreadsPerChild 16\nMaxRequestWorkers 64\n"
             "MinSpareThreads 4\nMaxSpareThreads 64\n",
}

CONF = """\
ServerRoot "{root}"
DefaultRuntimeDir "{root}/run"
PidFile "{root}/run/httpd.pid"
ErrorLog "{root}/error.log"
LogLevel warn
ServerName localhost
{user}
LoadModule mpm_{mpm}_module "{modules}/mod_mpm_{mpm}.so"
{load}
LoadModule kastats_module "{module}"
TypesConfig /dev/null
{mpm_conf}
Listen 127.0.0.1:{admin}
Listen 127.0.0.1:{port}
Timeout 20
KeepAliveTimeout 1
MaxKeepAliveRequests 0
DocumentRoot "{root}/htdocs"
<Directory "{root}">
    Require all granted
</Directory>
<VirtualHost 127.0.0.1:{admin}>
    ServerName admin.invalid
    KAStats Off
    SetHandler kastats
</VirtualHost>
{conf}
"""

BAD_LINE = re.compile(r":(warn|error|crit|alert|emerg)\]|exit signal")
# On SIGTERM event's main thread closes sockets that a worker may be letting go
# of: either side can trip over it (seen in a core: close_worker_sockets there,
# apr_allocator_destroy here).  Only what comes after our own SIGTERM is meant.
STOP_NOISE = re.compile(r"Bad file descriptor: AH0309[0-9]: .*pollset|"
                        r"exit signal Segmentation fault")


# The system gives outgoing connections the ports above, by default: one that
# was free would be taken while a server starts.
PORTS = range(10000, 32000)


def is_free(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(n):
    """Ports that were free just now; other runs choose as well, so they are
    drawn."""
    ports = []
    while len(ports) < n:
        port = random.choice(PORTS)
        if port not in ports and is_free(port):
            ports.append(port)
    return ports


def wait_for(condition, what, patience=PATIENCE):
    """Waits until condition() is true; returns its value."""
    end = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.01)


class Httpd:
    def __init__(self, mpm, conf="", modules=(), mpm_conf="", allowed=(),
                 extra_ports=0):
        self.mpm = mpm
        self.conf = conf
        self.modules = modules
        self.mpm_conf = mpm_conf
        self.allowed = list(allowed)  # patterns of log lines that may be
        self.stopped_at = None  # size of the log when we stopped it
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="kastats-"))
        self.root.chmod(0o755)
        for name in ("run", "htdocs", "cgi-bin"):
            (self.root / name).mkdir()
        self.port, self.admin, *self.extra = free_ports(2 + extra_ports)
        self.file("index.html", "hello\n")
        self.process = None

    # ---- files

    def file(self, name, content):
        path = self.root / "htdocs" / name
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return path

    @property
    def segment(self):
        return self.root / "run" / "kastats.seg"

    def write_conf(self):
        names = list(BASE_MODULES) + list(self.modules)
        load = "\n".join(f'LoadModule {n}_module "{MODULES}/mod_{n}.so"'
                         for n in names)
        user = ("User www-data\nGroup www-data" if os.geteuid() == 0 else "")
        text = CONF.format(
            root=self.root, user=user, mpm=self.mpm, modules=MODULES,
            load=load, module=MODULE, port=self.port, admin=self.admin,
            mpm_conf=MPM_CONF[self.mpm] + self.mpm_conf,
            conf=self.conf.format(root=self.root, port=self.port,
                                  extra=self.extra))
        (self.root / "httpd.conf").write_text(text)

    # ---- life

    def command(self, *args):
        return [APACHE, "-d", str(self.root), "-f",
                str(self.root / "httpd.conf"), *args]

    def configtest(self):
        """Exit status and what `httpd -t` says."""
        self.write_conf()
        done = subprocess.run(self.command("-t"), capture_output=True,
                              text=True, timeout=PATIENCE)
        return done.returncode, done.stdout + done.stderr

    def start(self):
        self.write_conf()
        # A session of its own: httpd ends its whole process group.
        with open(self.root / "stderr.log", "w") as said:
            self.process = subprocess.Popen(
                self.command("-DFOREGROUND"), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=said,
                start_new_session=True)
        wait_for(self.answers, "httpd answers")
        return self

    def answers(self):
        assert self.process.poll() is None, "httpd ended: " + self.log() \
            + (self.root / "stderr.log").read_text(errors="replace")
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.ask_once("/")
            return True
        return False

    def signal(self, number):
        self.process.send_signal(number)

    def generations(self):
        """Times that httpd has (re)started, by its own log."""
        return self.log().count("resuming normal operations")

    def restart(self, number):
        before = self.generations()
        self.signal(number)
        wait_for(lambda: self.generations() > before, "restarted")
        wait_for(self.answers, "httpd answers again")

    def graceful(self):
        self.restart(signal.SIGUSR1)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.stopped_at = len(self.log())
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise

    def log(self):
        path = self.root / "error.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def bad_lines(self):
        log = self.log()
        before, after = log[:self.stopped_at], log[self.stopped_at:] \
            if self.stopped_at is not None else ""
        lines = before.splitlines() + [
            line for line in after.splitlines()
            if self.mpm != "event" or not STOP_NOISE.search(line)]
        return [line for line in lines if BAD_LINE.search(line)
                and not any(re.search(p, line) for p in self.allowed)]

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        self.stop()
        bad = self.bad_lines()
        if kind is None:
            assert not bad, "error log:\n" + "\n".join(bad)
            shutil.rmtree(self.root, ignore_errors=True)

    # ---- looking

    def ask(self, path, method="GET"):
        """(status, headers, body) from the admin port; again if the child
        that was asked died over it."""
        def asked():
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self.ask_once(path, method)
            assert self.process.poll() is None, "httpd ended: " + self.log() \
            + (self.root / "stderr.log").read_text(errors="replace")
            return None

        return wait_for(asked, "an answer")

    def ask_once(self, path, method="GET"):
        conn = http.client.HTTPConnection("127.0.0.1", self.admin,
                                          timeout=PATIENCE)
        try:
            conn.request(method, path, headers={"Connection": "close"})
            response = conn.getresponse()
            return response.status, response.headers, response.read()
        finally:
            conn.close()

    def stats(self, query=""):
        status, _, body = self.ask("/?format=json" + query)
        assert status == 200, body
        return json.loads(body)

    def totals(self):
        return self.stats()["totals"]

    def recent(self, n=1):
        """The last n connections, latest first."""
        return self.stats(f"&recent={n}")["recent"]

    def children(self):
        return [c["pid"] for c in self.stats()["children"]]

    # ---- clients

    def client(self, **kwargs):
        return Client(self.port, **kwargs)

    def watch(self, settled=True):
        """Counts from now on; waits until nothing is open, if settled."""
        if settled:
            wait_for(lambda: self.totals()["open"] == 0, "nothing open")
        return Watch(self)


COUNTED = ("connections", "requests", "reused_requests",
           "pipelined_requests", "dropped_requests", "bytes_out")


class Watch:
    """What changes in the totals from now on."""

    def __init__(self, httpd):
        self.httpd = httpd
        self.before = httpd.totals()

    def change(self):
        now = self.httpd.totals()
        change = {k: now[k] - self.before[k] for k in COUNTED}
        change["closes"] = collections.Counter(
            {k: n - self.before["closes"][k]
             for k, n in now["closes"].items()
             if n != self.before["closes"][k]})
        for key in ("busy", "idle", "closing", "open"):
            change[key] = now[key]
        return change

    def expect(self, **wanted):
        """Waits for exactly these changes, and for nothing to be open."""
        wanted.setdefault("open", 0)
        wanted["closes"] = collections.Counter(wanted.get("closes", {}))
        last = {}

        def reached():
            nonlocal last
            last = self.change()
            return all(last[k] == v for k, v in wanted.items())

        try:
            wait_for(reached, "counts")
        except AssertionError:
            raise AssertionError(f"wanted {wanted}\n   got {last}\n"
                                 + self.httpd.log()) from None
        return last


class Client:
    """A socket, and HTTP/1 by hand."""

    def __init__(self, port, tls=None, patience=PATIENCE):
        self.sock = socket.create_connection(("127.0.0.1", port), patience)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.sock = tls.wrap_socket(self.sock, server_hostname="localhost")
        self.buffer = b""

    def send(self, text):
        self.sock.sendall(text.encode() if isinstance(text, str) else text)
        return self

    def request(self, path="/", version="1.1", headers=(), method="GET",
                host="localhost"):
        lines = [f"{method} {path} HTTP/{version}", f"Host: {host}", *headers]
        return self.send("\r\n".join(lines) + "\r\n\r\n")

    def fill(self):
        data = self.sock.recv(65536)
        self.buffer += data
        return bool(data)

    def until(self, mark):
        while mark not in self.buffer:
            assert self.fill(), f"closed before {mark!r}: {self.buffer!r}"
        head, _, self.buffer = self.buffer.partition(mark)
        return head

    def exactly(self, n):
        while len(self.buffer) < n:
            assert self.fill(), "closed within a body"
        body, self.buffer = self.buffer[:n], self.buffer[n:]
        return body

    def chunked(self):
        body = b""
        while True:
            size = int(self.until(b"\r\n").split(b";")[0], 16)
            body += self.exactly(size)
            self.until(b"\r\n")
            if size == 0:
                return body

    def response(self, body=True):
        """(status, headers, body) of one response."""
        status_line, *lines = self.until(b"\r\n\r\n").decode().split("\r\n")
        status = int(status_line.split()[1])
        headers = {k.strip().lower(): v.strip()
                   for k, _, v in (line.partition(":") for line in lines)}
        if not body or status in (204, 304) or status < 200:
            return status, headers, b""
        if headers.get("transfer-encoding") == "chunked":
            return status, headers, self.chunked()
        if "content-length" in headers:
            return status, headers, self.exactly(int(headers["content-length"]))
        return status, headers, self.to_end()

    def get(self, path="/", **kwargs):
        return self.request(path, **kwargs).response()

    def to_end(self):
        with contextlib.suppress(ConnectionResetError, ssl.SSLError):
            while self.fill():
                pass
        rest, self.buffer = self.buffer, b""
        return rest

    def wait_closed(self):
        """Until the server closes; what else came."""
        rest = self.to_end()
        self.close()
        return rest

    def close(self):
        self.sock.close()

    def reset(self):
        """Closes with RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             b"\1\0\0\0\0\0\0\0")
        self.sock.close()


def tls_files(directory):
    """A self-signed certificate and its key, in one file."""
    path = pathlib.Path(directory) / "server.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-addext",
                    "basicConstraints=critical,CA:FALSE", "-keyout", path,
                    "-out", str(path) + ".crt"],
                   check=True, capture_output=True)
    with open(path, "a", encoding="ascii") as f:
        f.write(pathlib.Path(str(path) + ".crt").read_text("ascii"))
    path.chmod(0o600)
    return path


def tls_client(version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if version:
        context.minimum_version = context.maximum_version = version
    return context

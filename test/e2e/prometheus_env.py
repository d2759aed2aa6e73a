# Licensed under the Apache License, Version 2.0; see LICENSE.
"""A private Prometheus that scrapes private httpds, and stand-ins for one.

Like kastats_env: a directory and a port of its own, stopped by its pid, waited
for by conditions.
"""
import contextlib
import http.server
import json
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request

from kastats_env import PATIENCE, free_ports, wait_for

PROMETHEUS = shutil.which("prometheus")
PROMTOOL = shutil.which("promtool")

CONF = """\
global:
  scrape_interval: {interval}
  scrape_timeout: {interval}
scrape_configs:
  - job_name: apache
    metrics_path: /
    params:
      format: [{format}]
    static_configs:
      - targets: [{targets}]
"""


class Prometheus:
    """Scrapes the status ports of httpds."""

    def __init__(self, httpds, interval="1s", form="openmetrics", rules=None):
        self.targets = [f"127.0.0.1:{h.admin}" for h in httpds]
        self.interval, self.form, self.rules = interval, form, rules
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="kaprom-"))
        self.port = free_ports(1)[0]
        self.process = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def write_conf(self):
        text = CONF.format(interval=self.interval, format=self.form,
                           targets=", ".join(f'"{t}"' for t in self.targets))
        if self.rules:
            text += f'rule_files: ["{self.rules}"]\n'
        (self.root / "prometheus.yml").write_text(text)

    def start(self):
        self.write_conf()
        with open(self.root / "log", "wb") as log:
            self.process = subprocess.Popen(
                [PROMETHEUS, f"--config.file={self.root}/prometheus.yml",
                 f"--storage.tsdb.path={self.root}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        wait_for(self.is_ready, "Prometheus is ready")
        return self

    def is_ready(self):
        assert self.process.poll() is None, (self.root / "log").read_text()
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(self.url + "/-/ready", timeout=5):
                return True
        return False

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    # ---- looking

    def query(self, text):
        """{instance: value} of an instant query."""
        url = self.url + "/api/v1/query?" + urllib.parse.urlencode(
            {"query": text})
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            data = json.load(answer)["data"]["result"]
        return {r["metric"].get("instance", ""): float(r["value"][1])
                for r in data}

    def wait_scraped(self, metric="kastats_observed_seconds_total", n=1):
        """Until every target was scraped n times more than now."""
        text = f"count_over_time({metric}[1h])"
        before = self.query(text)
        wait_for(lambda: all(self.query(text).get(t, 0)
                             >= before.get(t, 0) + n for t in self.targets),
                 "scraped")


# ---- stand-ins

class Answers(http.server.BaseHTTPRequestHandler):
    """What a test wants to be answered: server.answer(path, form, headers) ->
    (status, content type, body, more headers)."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
        self.server.asked.append((self.path, form, dict(self.headers)))
        status, kind, body, *more = self.server.answer(self.path, form,
                                                       self.headers)
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (more[0] if more else {}).items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *_):
        pass


class StandIn(http.server.ThreadingHTTPServer):
    """Answers as it is told, with TLS if given a certificate and key."""

    daemon_threads = True

    def __init__(self, answer, certificate=None):
        super().__init__(("127.0.0.1", 0), Answers)
        self.answer, self.asked = answer, []
        self.scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)

    @property
    def url(self):
        return f"{self.scheme}://localhost:{self.server_address[1]}"

    def handle_error(self, *_):
        pass  # clients that do not trust us leave

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
        self.thread.join(PATIENCE)


def success(kind, result):
    return json.dumps({"status": "success",
                       "data": {"resultType": kind, "result": result}})

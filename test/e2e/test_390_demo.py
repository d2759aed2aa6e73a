# Licensed under the Apache License, Version 2.0; see LICENSE.
"""`make demo`: a stranger's first minute.  The whole of it runs once here (61 s
of traffic: from less than a minute there is no advice); the rest is how it
ends early."""
import contextlib
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import pytest

from kastats_env import BUILD, ROOT, wait_for

LIMIT = 90  # seconds for the whole demo

HEADINGS = [
    "1. Advice from the log of a real site: test/data/logs/demo.log",
    "2. A tuned httpd-mpm.conf for each MPM, checked by httpd -t",
    "3. Live: a private httpd (event, KeepAliveTimeout 2) with mod_kastats",
    "4. Advice from its live segment",
    "5. A tuned httpd-mpm.conf for it, checked by httpd -t"]


class Demo:
    """The demo in a build directory of its own, as make calls it."""

    def __init__(self, module=None):
        self.build = pathlib.Path(tempfile.mkdtemp(prefix="kademo-"))
        self.build.chmod(0o755)
        shutil.copy(BUILD / "kaadvisor", self.build)
        shutil.copy(module or BUILD / "mod_kastats.so",
                    self.build / "mod_kastats.so")
        self.said = ""

    def __enter__(self):
        # SIGINT as at a terminal, also if whoever runs pytest ignores it.
        self.process = subprocess.Popen(
            ["sh", "test/demo.sh"], cwd=ROOT, text=True,
            env={**os.environ, "BUILD": str(self.build),
                 "PYTHON": sys.executable},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(LIMIT)
        self.process.stdout.close()
        shutil.rmtree(self.build, ignore_errors=True)

    def until(self, pattern):
        """What pattern finds in the first line that has it."""
        for line in self.process.stdout:
            self.said += line
            found = re.search(pattern, line)
            if found:
                return found
        raise AssertionError(f"no {pattern} in:\n{self.said}")

    def end(self):
        """The exit status."""
        rest, _ = self.process.communicate(timeout=LIMIT)
        self.said += rest
        return self.process.returncode

    def running(self):
        """Command lines of all that has this demo in its environment."""
        found = []
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"BUILD={self.build}\0".encode() in \
                        (proc / "environ").read_bytes():
                    found.append((proc / "cmdline").read_bytes())
        return found

    def assert_nothing_left(self):
        assert self.running() == []
        assert sorted(p.name for p in self.build.iterdir()) \
            == ["demo", "kaadvisor", "mod_kastats.so"]


def page(port):
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    with contextlib.closing(conn):
        conn.request("GET", "/kastats")
        answer = conn.getresponse()
        assert answer.status == 200
        return answer.read().decode()


@pytest.fixture(scope="module")
def whole():
    """A whole run; its page is read while it is up."""
    with Demo() as demo:
        demo.port = int(demo.until(
            r"Its page, while this runs: http://127.0.0.1:(\d+)/kastats$")[1])
        demo.page = page(demo.port)
        assert any(b"httpd.conf" in line for line in demo.running())
        demo.status = demo.end()
        yield demo


def section(demo, number):
    return re.split(r"^== ", demo.said, flags=re.M)[number]


def test_demo__ends_by_itself_with_status_0(whole):
    assert whole.status == 0, whole.said


def test_demo__sections_in_order(whole):
    assert re.findall(r"^== (\d.*)$", whole.said, re.M) == HEADINGS


@pytest.mark.parametrize("number,mpm", ((1, "prefork"), (4, "event")))
def test_demo__advice_from_log_and_segment(whole, number, mpm):
    text = section(whole, number)
    assert f"Proposed settings (MPM {mpm})" in text
    assert "What if: this traffic under other timeouts" in text
    assert "No advice" not in text
    kept = pathlib.Path(re.search(r"^The whole report: (.*)$", text, re.M)[1])
    assert "Classic estimate" in kept.read_text()


def test_demo__httpd_accepts_every_configuration(whole):
    assert re.findall(r"^(\w+) +Syntax OK$", section(whole, 2), re.M) \
        == ["prefork", "worker", "event"]
    assert re.findall(r"^(\w+) +Syntax OK$", section(whole, 5), re.M) \
        == ["event"]
    conf = (whole.build / "demo" / "httpd-mpm.conf").read_text()
    assert re.search(r"^KeepAliveTimeout \d", conf, re.M)


def test_demo__traffic_ends_connections_in_many_ways(whole):
    text = (whole.build / "demo" / "live-advice.txt").read_text()
    ended = " ".join(text[text.index("  Ended "):].split())
    for reason in ("idle_timeout", "client_closed", "client_close_header",
                   "http10", "max_requests", "aborted", "no_request"):
        assert re.search(rf"\b{reason} \d", ended), (reason, ended[:300])


def test_demo__page_answers_while_it_runs(whole):
    assert "<title>" in whole.page
    assert re.search(r"^The page: 200 OK, ", whole.said, re.M)


def test_demo__nothing_is_left_running(whole):
    whole.assert_nothing_left()
    with socket.socket() as s:
        assert s.connect_ex(("127.0.0.1", whole.port)) != 0


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM,
                                    signal.SIGHUP))
def test_demo__signal_stops_everything(number):
    with Demo() as demo:
        demo.until("^Sample traffic")
        wait_for(lambda: any(b"visitors.py" in line
                             for line in demo.running()), "visitors")
        demo.process.send_signal(number)
        assert demo.end() == 128 + number
        demo.assert_nothing_left()


def test_demo__httpd_that_does_not_start_fails_it(tmp_path):
    broken = tmp_path / "mod_kastats.so"
    broken.write_text("no module\n")
    with Demo(module=broken) as demo:
        assert demo.end() == 1
        assert "demo: httpd did not start" in demo.said
        demo.assert_nothing_left()

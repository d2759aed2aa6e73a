# Licensed under the Apache License, Version 2.0; see LICENSE.
"""What httpd's access log says of connections, on every MPM: the facts that
the advisor stands on, and that it reads them so."""
import collections
import itertools
import json
import re
import shutil
import subprocess
import time

import pytest

import cli
from httpd import DUMMY, LOGS, MPMS, PATIENCE, Client, LogHttpd, Peer, \
    wait_for

CONF = """
KeepAliveTimeout 5
MaxKeepAliveRequests 0
Protocols h2c http/1.1
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName max
    MaxKeepAliveRequests 3
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName short
    KeepAliveTimeout 400ms
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName off
    KeepAlive Off
</VirtualHost>
RequestReadTimeout header=1
"""


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    modules = ["reqtimeout"]
    conf = CONF
    if request.param == "prefork":  # mod_http2 does not serve there
        conf = conf.replace("Protocols h2c http/1.1", "")
    else:
        modules.append("http2")
    with LogHttpd(request.param, conf, modules) as h:
        yield h


def on(*mpms):
    """For a test that is about some MPMs only."""
    return pytest.mark.parametrize("httpd", mpms, indirect=True)


def visits(httpd, lengths, addresses=("127.0.0.1",)):
    """One connection for each of lengths, with so many requests, by turns.

    The client ends every third connection with `Connection: close`, closes
    the others.  Returns the (address, port) of each request.
    """
    peers = [(Peer(httpd.port, address), length, i % 3 == 0)
             for i, (length, address) in enumerate(
                 zip(lengths, itertools.cycle(addresses)))]
    sent = []
    for turn in range(max(lengths)):
        for peer, length, says_close in peers:
            if turn >= length:
                continue
            last = turn == length - 1
            close = ["Connection: close"] if last and says_close else []
            status, _, body = peer.get(headers=close)
            assert (status, body) == (200, b"hello\n")
            sent.append((peer.address, peer.port))
            if last:
                if says_close:
                    assert peer.wait_closed() == b""
                peer.close()
    return sent


def read(httpd, name, path, *args):
    """The report on a log, its format taken from the configuration."""
    report = cli.report("--timeout", "5", *args, "--log-format",
                        httpd.log_line(name), path)
    assert report["source"]["skipped"] == 0
    assert report["source"]["log_format_detected"] is False
    return report


LENGTHS = (1, 2, 3, 1, 5, 8, 2, 1, 13, 4, 1, 1)


# ---- identity: the remote port ---------------------------------------------------

def test_client_and_log_count_the_same(httpd, tmp_path):
    traffic = httpd.traffic()
    sent = visits(httpd, LENGTHS)
    path = traffic.log("kastats", len(sent), tmp_path)
    logged = [tuple(line.split()[:2]) for line in path.read_text().splitlines()
              if DUMMY not in line]
    assert collections.Counter(logged) == collections.Counter(
        (address, str(port)) for address, port in sent)
    # Two connections can have had the same port only if one was closed.
    connections = len(LENGTHS)
    assert len(set(sent)) == connections
    report = cli.report("--timeout", "5", path)
    assert report["source"]["log_format"] == "kastats"
    assert report["source"]["log_format_detected"] is True
    assert report["source"]["identity"] == "port"
    assert report["traffic"]["connections"] == connections
    assert report["traffic"]["requests"] == len(sent)
    assert report["traffic"]["requests_per_connection"]["max"] == max(LENGTHS)


@pytest.mark.parametrize("name", ["kastats", "json", "comma", "tab"])
def test_format_as_it_stands_in_the_configuration(name, httpd, tmp_path):
    traffic = httpd.traffic()
    sent = visits(httpd, LENGTHS[:6])
    report = read(httpd, name, traffic.log(name, len(sent), tmp_path))
    assert report["source"]["identity"] == "port"
    assert report["traffic"]["connections"] == 6
    assert report["traffic"]["requests"] == len(sent)
    assert report["source"]["clock_resolution_s"] == pytest.approx(1e-6)
    assert 0 < report["traffic"]["service_s"]["mean"] < PATIENCE


def test_text_that_httpd_escapes(httpd, tmp_path):
    """Quotes, backslashes, bytes and separators inside of text items."""
    agent = 'a"b\\c\t,"d",\xe9 "%r" - 200'
    traffic = httpd.traffic()
    for target in ("/index.html?a,b\"c", "/index.html?\\\"", "/index.html"):
        client = Client(httpd.port)
        client.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n"
                    f"User-Agent: {agent}\r\n\r\n".encode("latin-1"))
        client.response()
        client.close()
    for name in LOGS:
        report = read(httpd, name, traffic.log(name, 3, tmp_path))
        assert report["traffic"]["requests"] == 3, name


# ---- what %k, %X and the limits say ----------------------------------------------

def k_and_x(line):
    """%k and %X of a line of kastats.log."""
    return tuple(line.split()[5:7])


def test_max_keepalive_requests_serves_one_more(httpd):
    traffic = httpd.traffic()
    client = Peer(httpd.port)
    said = [client.get(host="max")[1].get("connection") for _ in range(4)]
    assert client.wait_closed() == b""
    assert ["close" in (value or "") for value in said] == [
        False, False, False, True]
    lines = traffic.lines("kastats", 4)
    # %X says `-` one request early.
    assert [k_and_x(line) for line in lines] == [
        ("0", "+"), ("1", "+"), ("2", "-"), ("3", "-")]


def test_connection_survives_the_early_minus(httpd, tmp_path):
    """One connection, although %X ends it one request before."""
    traffic = httpd.traffic()
    client = Peer(httpd.port)
    for _ in range(4):
        client.get(host="max")
    client.wait_closed()
    report = cli.report("--timeout", "5",
                        traffic.log("kastats", 4, tmp_path))
    assert report["traffic"]["connections"] == 1


def test_k_repeats_on_a_closing_request(httpd):
    traffic = httpd.traffic()
    client = Peer(httpd.port)
    client.get()
    client.get(headers=["Connection: close"])
    client.wait_closed()
    assert [k_and_x(line) for line in traffic.lines("kastats", 2)] == [
        ("0", "+"), ("0", "-")]


def test_k_gives_a_range(httpd, tmp_path):
    traffic = httpd.traffic()
    sent = visits(httpd, LENGTHS)
    report = read(httpd, "k", traffic.log("k", len(sent), tmp_path))
    assert report["source"]["identity"] == "k"
    connections = report["traffic"]["connections"]
    low, high = ((connections["low"], connections["high"])
                 if isinstance(connections, dict) else
                 (connections, connections))
    assert low <= len(LENGTHS) <= high


def test_timeout_below_a_second(httpd):
    """In force, though the header says timeout=0."""
    client = Peer(httpd.port)
    _, headers, _ = client.get(host="short",
                               headers=["Connection: keep-alive"])
    start = time.monotonic()
    assert "timeout=0" in headers["keep-alive"]
    assert client.wait_closed() == b""
    assert 0.35 <= time.monotonic() - start < 4


def test_keepalive_off(httpd, tmp_path):
    """One request a connection; %X tells the advisor so."""
    traffic = httpd.traffic()
    for _ in range(10):
        client = Peer(httpd.port)
        assert "close" in client.get(host="off")[1]["connection"]
        assert client.wait_closed() == b""
    path = traffic.log("kastats", 10, tmp_path)
    report = cli.report(path)
    assert report["traffic"]["connections"] == 10
    assert report["server"]["keep_alive"]["value"] is False
    assert report["formula"]["timeout_s"] == 0
    assert "%X" in report["server"]["keep_alive"]["origin"]


# ---- lines that are no requests of visitors ---------------------------------------

def test_408_is_a_connection_without_a_request(httpd, tmp_path):
    traffic = httpd.traffic()
    silent = [Peer(httpd.port).send("GET /index.ht") for _ in range(3)]
    sent = visits(httpd, (2, 1))
    for client in silent:
        client.wait_closed()
    path = traffic.log("kastats", len(sent) + 3, tmp_path)
    assert len(re.findall(r' 408 .* "-" "-"$', path.read_text(), re.M)) == 3
    report = cli.report("--timeout", "5", path)
    assert report["traffic"]["requests"] == 3
    assert report["traffic"]["connections"] == 2
    assert report["traffic"]["excluded"]["no_request"] == 3
    assert report["traffic"]["closes"]["no_request"] == 3


def test_bytes_that_are_no_http(httpd, tmp_path):
    """A line of their own, no request of a visitor, no line skipped."""
    traffic = httpd.traffic()
    client = Peer(httpd.port).send(b"\x16\x03\x01\x02\x00\x01\r\n\r\n")
    assert b"400 Bad Request" in client.wait_closed()
    sent = visits(httpd, (2, 2))
    path = traffic.log("kastats", len(sent) + 1, tmp_path)
    assert r'"\x16\x03\x01\x02"' in path.read_text()
    report = cli.report("--timeout", "5", path)
    assert (report["source"]["lines"], report["source"]["skipped"]) == (5, 0)
    assert report["traffic"]["requests_per_connection"]["max"] == 2


def test_httpds_own_wake_ups(tmp_path):
    """A parent with too many idle children wakes them, one by one, by
    `OPTIONS *`, to have them end."""
    with LogHttpd("prefork", mpm_conf="StartServers 12\nMinSpareServers 1\n"
                                      "MaxSpareServers 2\n") as httpd:
        traffic = httpd.traffic()
        sent = visits(httpd, (3, 2, 1))
        wait_for(lambda: sum(DUMMY in line for line in
                             httpd.lines("kastats")) >= 2, "two wake-ups")
        path = traffic.log("kastats", len(sent), tmp_path)
    dummies = path.read_text().count('"OPTIONS * HTTP/1.0"')
    assert dummies >= 2
    report = cli.report("--timeout", "5", path)
    assert report["traffic"]["excluded"]["internal_dummy_connection"] == \
        dummies
    assert report["traffic"]["requests"] == len(sent)
    assert report["traffic"]["connections"] == 3


# ---- identity: process and thread ---------------------------------------------------

ADDRESSES = tuple(f"127.0.0.{i}" for i in range(11, 11 + len(LENGTHS)))


@on("prefork")
@pytest.mark.parametrize("name", ["unique", "process", "thread"])
def test_slot_on_prefork(name, httpd, tmp_path):
    """UNIQUE_ID, %P, and %P with %{tid}P: each child one connection."""
    traffic = httpd.traffic()
    sent = visits(httpd, LENGTHS, ADDRESSES)
    path = traffic.log(name, len(sent), tmp_path)
    report = read(httpd, name, path, "--mpm", "prefork")
    assert report["source"]["identity"] == "slot"
    assert report["traffic"]["connections"] == len(LENGTHS)
    assert report["traffic"]["requests"] == len(sent)


@on("prefork")
def test_unique_id_needs_no_mpm_on_prefork(httpd, tmp_path):
    traffic = httpd.traffic()
    sent = visits(httpd, LENGTHS, ADDRESSES)
    report = read(httpd, "unique", traffic.log("unique", len(sent),
                                                 tmp_path))
    assert report["source"]["identity"] == "slot"
    assert report["traffic"]["connections"] == len(LENGTHS)


@on("worker")
@pytest.mark.parametrize("name", ["unique", "thread", "threadk"])
def test_slot_on_worker(name, httpd, tmp_path):
    traffic = httpd.traffic()
    sent = visits(httpd, LENGTHS, ADDRESSES)
    path = traffic.log(name, len(sent), tmp_path)
    report = read(httpd, name, path, "--mpm", "worker")
    assert report["source"]["identity"] == "slot"
    assert report["traffic"]["connections"] == len(LENGTHS)


@on("worker")
def test_threads_of_worker_hold_one_connection(httpd):
    """The fact itself: no line of another connection in between."""
    traffic = httpd.traffic()
    sent = visits(httpd, LENGTHS, ADDRESSES)
    slots = collections.defaultdict(list)
    for line in traffic.lines("threadk", len(sent)):
        host, pid, tid = line.split()[:3]
        slots[pid, tid].append(host)
    for hosts in slots.values():
        runs = [host for host, _ in itertools.groupby(hosts)]
        assert len(runs) == len(set(runs)), hosts


@on("event")
@pytest.mark.parametrize("name", ["unique", "thread", "threadk"])
def test_no_slot_on_event(name, httpd, tmp_path):
    """Told the MPM, or by the traffic: threads serve connections by turns."""
    traffic = httpd.traffic()
    sent = visits(httpd, LENGTHS, ADDRESSES)
    path = traffic.log(name, len(sent), tmp_path)
    for args in (("--mpm", "event"), ()):
        report = read(httpd, name, path, *args)
        assert report["source"]["identity"] != "slot"
        assert "%{remote}p" in report["source"]["identity_note"]


# ---- HTTP/2 --------------------------------------------------------------------------

def h2load(httpd, connections, streams):
    if not shutil.which("h2load"):
        pytest.skip("no h2load (package nghttp2-client)")
    subprocess.run(["h2load", "-c", str(connections), "-n",
                    str(connections * streams), "-m", "2",
                    f"http://127.0.0.1:{httpd.port}/index.html"],
                   check=True, capture_output=True, timeout=PATIENCE)


@on("worker", "event")
def test_http2_connections_by_port(httpd, tmp_path):
    traffic = httpd.traffic()
    h2load(httpd, 3, 7)
    path = traffic.log("kastats", 21, tmp_path)
    lines = path.read_text().splitlines()
    # Neither counts there: %k is 0 or 1, and %X may be `X` although nothing
    # was aborted.
    assert {k_and_x(line) for line in lines} <= set(
        itertools.product("01", "-X"))
    assert max(int(k_and_x(line)[0]) for line in lines) == 1
    assert all(" HTTP/2.0 " in line for line in lines)
    assert len({line.split()[1] for line in lines}) == 3
    report = cli.report("--timeout", "5", path)
    assert report["source"]["identity"] == "port"
    assert report["traffic"]["connections"] == 3
    assert report["traffic"]["requests"] == 21
    assert report["traffic"]["http2_share"] == 1
    closes = report["traffic"]["closes"]
    assert not closes.get("aborted")
    assert sum(closes.values()) <= 3


@on("worker", "event")
@pytest.mark.parametrize("name", ["threadk", "k", "combined"])
def test_http2_without_a_port_is_said_to_be_unsure(name, httpd, tmp_path):
    traffic = httpd.traffic()
    h2load(httpd, 3, 7)
    report = read(httpd, name, traffic.log(name, 21, tmp_path), "--mpm",
                  httpd.mpm)
    assert report["source"]["identity"] == "time"
    assert report["verdict"]["confidence"] == "low"
    assert "%{remote}p" in report["source"]["identity_note"]


# ---- the log itself ------------------------------------------------------------------

def test_json_log_is_json(httpd):
    """That the shape is right, before we claim to read it."""
    traffic = httpd.traffic()
    sent = visits(httpd, (2, 1))
    for line in traffic.lines("json", len(sent)):
        assert json.loads(line)["request"] == "GET /index.html HTTP/1.1"


def test_start_is_logged_not_the_end(httpd, tmp_path):
    """The time of a request is its start, %D its service time: a connection
    that another one overtakes stands behind it in the log."""
    big = httpd.file("big.bin", b"x" * (24 << 20))
    traffic = httpd.traffic()
    slow = Peer(httpd.port)
    slow.request("/big.bin")
    slow.until(b"\r\n\r\n")  # begun, and far from its end
    visits(httpd, (1,))
    slow.exactly(big.stat().st_size)
    slow.close()
    first, last = (line.split() for line in traffic.lines("kastats", 2))
    assert int(last[3]) < int(first[3])
    assert int(last[3]) + int(last[4]) > int(first[3])
    report = cli.report("--timeout", "5", traffic.log("kastats", 2, tmp_path))
    assert report["source"]["out_of_order"] == 1
    assert report["traffic"]["connections"] == 2

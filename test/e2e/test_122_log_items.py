# Licensed under the Apache License, Version 2.0; see LICENSE.
"""%{NAME}^KA in access logs."""
import time

import pytest

from kastats_env import MPMS, Httpd, wait_for

CONF = """
MaxKeepAliveRequests 3
ErrorDocument 404 /index.html
CustomLog "{root}/ka.log" "%U %{{connection}}^KA %{{requests}}^KA %{{gap}}^KA \
%{{reason}}^KA %{{nonsense}}^KA %{{}}^KA"
"""


def lines(httpd, n):
    """The log without httpd's own wake-ups: connection, requests, gap,
    reason; n lines are waited for."""
    def read():
        path = httpd.root / "ka.log"
        text = path.read_text("ascii") if path.exists() else ""
        found = [line.split() for line in text.splitlines()
                 if not line.startswith("* ")]
        assert all(len(f) == 7 and f[5:] == ["-", "-"] for f in found)
        return [f[1:5] for f in found] if len(found) >= n else None

    found = wait_for(read, f"{n} log lines")
    assert len(found) == n
    return found


@pytest.fixture(params=MPMS)
def httpd(request):
    # The status handler's vhost logs nothing.
    with Httpd(request.param, "<VirtualHost 127.0.0.1:{port}>"
               + CONF + "</VirtualHost>") as h:
        yield h


def test_one_connection(httpd):
    c = httpd.client()
    c.get()
    since = time.monotonic()
    time.sleep(0.2)
    c.get()
    most = (time.monotonic() - since) * 1e6
    c.get("/missing")  # answered by an internal redirect
    c.get()
    assert c.wait_closed() == b""
    first, second, third, last = lines(httpd, 4)
    assert first[1:] == ["1", "-", "-"]
    # a response's end is logged a little after the client has it
    assert second[1] == "2" and 100000 <= int(second[2]) <= most
    assert third[1] == "3" and 0 <= int(third[2]) < 200000
    assert last[1] == "4" and last[3] == "max_requests"
    assert {line[0] for line in (first, second, third, last)} == {first[0]}


@pytest.mark.parametrize("kwargs, reason", [
    ({"headers": ["Connection: close"]}, "client_close_header"),
    ({"version": "1.0"}, "http10"),
    ({"path": "http://["}, "error_status"),
])
def test_reason_of_a_single_request(httpd, kwargs, reason):
    c = httpd.client()
    c.get(**kwargs)
    c.wait_closed()
    assert [line[1:] for line in lines(httpd, 1)] == [["1", "-", reason]]


def test_pipelined(httpd):
    c = httpd.client()
    c.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
    for _ in range(3):
        assert c.response()[0] == 200
    c.close()
    got = lines(httpd, 3)
    assert [line[1:] for line in got] == [
        ["1", "-", "-"], ["2", "0", "-"], ["3", "0", "-"]]
    assert len({line[0] for line in got}) == 1


def test_connections_have_numbers_of_their_own(httpd):
    clients = [httpd.client() for _ in range(4)]
    for c in clients * 2:
        c.get()
    for c in clients:
        c.close()
    numbers = [int(line[0]) for line in lines(httpd, 8)]
    assert len(set(numbers)) == 4
    httpd.graceful()
    httpd.client().get()
    assert int(lines(httpd, 9)[-1][0]) > max(numbers)


def test_nothing_recorded_prints_nothing():
    with Httpd("event", "KAStats Off\n" + CONF.replace(
            "%{{nonsense}}", "%{{reason}}")) as h:
        h.client().get()
        path = h.root / "ka.log"
        wait_for(lambda: any(line.startswith("/index.html")
                             for line in path.read_text().splitlines()),
                 "a log line")
        assert all(line.split()[1:] == ["-"] * 6
                   for line in path.read_text().splitlines())

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""The simulation against a server: how many idle connections a child of event
takes before it stops accepting."""
import pytest

import cli
from kastats_env import Client, Httpd

MPM = """
ServerLimit 1
StartServers 1
ThreadLimit {threads}
ThreadsPerChild {threads}
MaxRequestWorkers {threads}
MinSpareThreads 1
MaxSpareThreads 64
AsyncRequestWorkerFactor {factor}
"""
VHOST = """
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
    KeepAliveTimeout 60
</VirtualHost>
"""
MORE = 2            # clients beyond the limit
UNANSWERED_S = 0.5  # an answer takes about a millisecond

LOG_FORMAT = "%{c}a %{remote}p %a %{begin:usec}t %D %k %X %H %>s \"%r\""


def answered(httpd, n):
    """Clients come one after the other and stay: how many get an answer."""
    clients = []
    for i in range(n):
        client = Client(httpd.port, patience=UNANSWERED_S)
        clients.append(client)
        client.request("/")
        try:
            assert client.response()[0] == 200
        except TimeoutError:
            return i
    return n


def simulated(tmp_path, n, settings):
    """The most connections open, of n that come every 20 ms and stay."""
    log, config = tmp_path / "access.log", tmp_path / "event.conf"
    log.write_text("".join(
        f"192.0.2.{i} {2000 + i} 192.0.2.{i} {1772323200_000000 + i * 20000} "
        f'1000 0 + HTTP/1.1 200 "GET / HTTP/1.1"\n' for i in range(n)), "ascii")
    config.write_text("KeepAliveTimeout 60\n<IfModule mpm_event_module>\n"
                      f"{settings}</IfModule>\n", "ascii")
    run = cli.report("simulate", "--config", config, "--timeout", "60",
                     "--log-format", LOG_FORMAT, log)["runs"][0]
    assert run["evicted"] == 0
    assert run["wait"]["connections"] == MORE
    return run["outcome"]["held"]["peak"]


@pytest.mark.parametrize("threads, factor, limit", [
    (2, 1, 4), (4, 1, 8), (4, 3, 16), (8, 2, 24)])
def test_event_stops_accepting_at_its_limit(tmp_path, threads, factor, limit):
    settings = MPM.format(threads=threads, factor=factor)
    httpd = Httpd("event", VHOST, mpm_conf=settings,
                  allowed=["AH00484", "AH10159"])
    with httpd:
        # The worker of the last answer may not be idle yet as the next client
        # comes; then it counts for one idle worker less.
        assert limit - factor <= answered(httpd, limit + MORE) <= limit
    assert simulated(tmp_path, limit + MORE, settings) == limit

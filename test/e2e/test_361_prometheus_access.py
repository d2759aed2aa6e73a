# Licensed under the Apache License, Version 2.0; see LICENSE.
"""What may answer instead of Prometheus, and how it is reached: errors that say
what to do, tokens, TLS."""
import json

import pytest

import cli
from kastats_env import tls_files
from prometheus_env import StandIn, success

# ---- what else may answer

TOKEN = "s3cret-token"


def answering(status, kind, body, *more):
    return lambda path, form, headers: (status, kind, body, *more)


def times(form):
    return 200, "application/json", success("scalar", [1000, "1000"])


def vector(*samples):
    return success("vector", [{"metric": m, "value": [1000, v]}
                              for m, v in samples])


def only_time_covered(path, form, headers):
    """A module that is too old: it has none of the rest."""
    if form["query"] == "time()":
        return times(form)
    if "kastats_observed_seconds_total" in form["query"]:
        return 200, "application/json", vector(
            ({"job": "apache", "instance": "a"}, "500"))
    return 200, "application/json", vector()


def nothing(path, form, headers):
    if form["query"] == "time()":
        return times(form)
    return 200, "application/json", vector()


def error(status, text):
    return answering(status, "application/json", json.dumps(
        {"status": "error", "errorType": "x", "error": text}))


ANSWERS = {
    "html": (answering(200, "text/html", "<html>Welcome</html>"),
             ["text/html", "HTTP API v1"]),
    "none there": (answering(404, "text/plain", "404 page not found"),
                   ["/api/v1/query (HTTP 404)", "prefix"]),
    "no token": (answering(401, "text/plain", "who?"), ["--token-file"]),
    "forbidden": (answering(403, "text/plain", "no"), ["--token-file"]),
    "broken": (answering(200, "application/json", '{"status":'),
               ["HTTP API v1"]),
    "other type": (answering(200, "application/json",
                             success("string", [1, "x"])), ["HTTP API v1"]),
    "unavailable": (error(503, "TSDB not ready"), ["TSDB not ready"]),
    "odd words": (error(422, "\x1b[31mquery too \u202e long\n"),
                  ["Prometheus says", "\\x1b[31m"]),
    "old": (error(400, 'unknown function with name "last_over_time"'),
            ["2.26 or later"]),
    "empty": (nothing, ["is mod_kastats scraped", "--match", "--window"]),
    "old module": (only_time_covered,
                   ["kastats_closes_total", "older than this kaadvisor"]),
    "loop": (answering(302, "text/plain", "", {"Location": "/api/v1/query"}),
             ["redirects"]),
    "elsewhere": (answering(302, "text/plain", "",
                            {"Location": "file:///etc/passwd"}),
                  ["give the URL that it redirects to"]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_prometheus_errors__say_what_to_do(name):
    answer, says = ANSWERS[name]
    with StandIn(answer) as server:
        said = cli.fails(1, "advise", server.url)
    assert said.count("\n") == 1 and server.url in said
    for words in says:
        assert words in said, said


def test_prometheus_errors__unreachable():
    with StandIn(nothing) as server:
        url = server.url
    said = cli.fails(1, "advise", url)
    assert url in said and "check host and port" in said
    said = cli.fails(1, "advise", "http://no-such-host.invalid:9090")
    assert "check the host's name" in said


def test_prometheus_errors__an_answer_without_end_is_cut():
    with StandIn(answering(200, "application/json", b" " * (65 << 20))) as s:
        said = cli.fails(1, "advise", s.url)
    assert "larger than 64 MB" in said and "--match" in said


def test_prometheus_errors__stands_alone(tmp_path):
    log = tmp_path / "access.log"
    log.write_text(cli.combined(5))
    assert "give it alone" in cli.fails(1, "advise", "http://localhost:1", log)


@pytest.mark.parametrize("option", (("--since", "2026-01-01"),
                                    ("--log-format", "combined")))
def test_prometheus_errors__options_for_logs(option):
    said = cli.fails(1, "advise", "http://localhost:1", *option)
    assert option[0] in said and "--window" in said


@pytest.mark.parametrize("match", ('a="b"} or up{c="d"', '{a="b"}', 'a="b'))
def test_prometheus_errors__matchers_stay_in_their_braces(match):
    with StandIn(nothing) as server:
        said = cli.fails(1, "advise", server.url, "--match", match)
    assert "--match" in said and not server.asked


# ---- tokens and TLS

@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return path


def auth(server):
    return [h.get("Authorization") for _, _, h in server.asked]


def test_prometheus_token__is_sent_and_not_shown(token):
    with StandIn(nothing) as server:
        said = cli.fails(1, "advise", server.url, "--token-file", token)
    assert auth(server) and set(auth(server)) == {"Bearer " + TOKEN}
    assert TOKEN not in said
    assert "anybody on the way can read" in said


def test_prometheus_token__that_is_refused(token):
    with StandIn(answering(401, "text/plain", "no")) as server:
        said = cli.fails(1, "advise", server.url, "--quiet", "--token-file",
                         token)
    assert "refuses the token" in said and TOKEN not in said


def test_prometheus_token__goes_to_no_other_server(token):
    """Another port is another server, and so is another name."""
    with StandIn(nothing) as other:
        for host in ("localhost", "127.0.0.1"):
            to = f"http://{host}:{other.server_address[1]}/api/v1/query"
            with StandIn(answering(307, "text/plain", "",
                                   {"Location": to})) as server:
                cli.fails(1, "advise", server.url, "--token-file", token)
            assert set(auth(server)) == {"Bearer " + TOKEN}
        assert other.asked and set(auth(other)) == {None}
        # What was asked came along.
        assert other.asked[0][1]["query"] == "time()"


@pytest.mark.parametrize("content", ("", "\n", "two words", "x" * 20000))
def test_prometheus_token__file_that_holds_none(tmp_path, content):
    path = tmp_path / "token"
    path.write_text(content)
    with StandIn(nothing) as server:
        said = cli.fails(1, "advise", server.url, "--quiet", "--token-file",
                         path)
    assert "one bearer token" in said and not server.asked
    said = cli.fails(1, "advise", server.url, "--quiet", "--token-file",
                     tmp_path / "none")
    assert "No such file" in said


def test_prometheus_tls__is_checked(tmp_path, token):
    certificate = tls_files(tmp_path)
    with StandIn(nothing, certificate) as server:
        said = cli.fails(1, "advise", server.url, "--token-file", token)
        assert "--ca-file" in said and not server.asked
        said = cli.fails(1, "advise", server.url, "--token-file", token,
                         "--ca-file", str(certificate) + ".crt")
        assert "is mod_kastats scraped" in said
        assert "anybody on the way" not in said
        asked = len(server.asked)
        assert asked and set(auth(server)) == {"Bearer " + TOKEN}
        said = cli.fails(1, "advise", server.url, "--insecure")
        assert "is mod_kastats scraped" in said
        assert len(server.asked) > asked
        # The certificate is for localhost.
        said = cli.fails(1, "advise",
                         server.url.replace("localhost", "127.0.0.1"),
                         "--ca-file", str(certificate) + ".crt")
        assert "is mod_kastats scraped" not in said
        said = cli.fails(1, "advise", server.url, "--ca-file",
                         tmp_path / "none")
        assert "PEM" in said


def test_prometheus_tls__never_falls_back_to_http(tmp_path, token):
    certificate = tls_files(tmp_path)
    with StandIn(nothing) as plain, StandIn(
            answering(302, "text/plain", "", {"Location": plain.url + "/"}),
            certificate) as server:
        cli.fails(1, "advise", server.url, "--insecure", "--token-file", token)
    assert not plain.asked


def test_prometheus__environments_proxy_is_not_used():
    with StandIn(nothing) as server, StandIn(nothing) as proxy:
        env = cli.environment(http_proxy=proxy.url, HTTP_PROXY=proxy.url,
                              all_proxy=proxy.url)
        cli.fails(1, "advise", server.url, env=env)
    assert server.asked and not proxy.asked

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""What the handler shows: page, JSON, metrics; who gets which."""
import contextlib
import http.client
import json
import re
import shutil
import subprocess

import pytest

from kastats_env import MPMS, PATIENCE, Httpd

CONF = """
<VirtualHost 127.0.0.1:{port}>
    ServerName a<b>&'c
    KeepAliveTimeout 3
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName plain.example.org
    KeepAlive Off
</VirtualHost>
"""
TYPES = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "openmetrics":
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
    "prometheus": "text/plain; version=0.0.4; charset=utf-8",
}
PROMETHEUS_ACCEPTS = ("application/openmetrics-text;version=1.0.0,"
                      "application/openmetrics-text;version=0.0.1;q=0.75,"
                      "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
BROWSER_ACCEPTS = ("text/html,application/xhtml+xml,application/xml;q=0.9,"
                   "image/avif,*/*;q=0.8")


def traffic(httpd):
    """Three connections with 3, 1 and 1 requests."""
    watch = httpd.watch()
    c = httpd.client()
    for _ in range(3):
        assert c.get()[0] == 200
    c.close()
    httpd.client().get(headers=["Connection: close"])
    httpd.client().get(host="plain.example.org")
    watch.expect(connections=3, requests=5, reused_requests=2,
                 closes={"client_closed": 1, "client_close_header": 1,
                         "keepalive_off": 1})


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    with Httpd(request.param, CONF) as h:
        traffic(h)
        yield h


def fetch(httpd, path="/", method="GET", accept=None):
    conn = http.client.HTTPConnection("127.0.0.1", httpd.admin,
                                      timeout=PATIENCE)
    with contextlib.closing(conn):
        headers = {"Connection": "close"}
        if accept is not None:
            headers["Accept"] = accept
        conn.request(method, path, headers=headers)
        response = conn.getresponse()
        return response.status, response.headers, response.read().decode()


# ---- who gets which

@pytest.mark.parametrize("accept, wanted", [
    (None, "html"),
    ("", "html"),
    ("*/*", "html"),
    ("text/*;q=0.5", "html"),
    ("image/png", "html"),
    (BROWSER_ACCEPTS, "html"),
    (PROMETHEUS_ACCEPTS, "openmetrics"),
    ("text/plain;version=0.0.4;q=1,*/*;q=0.1", "prometheus"),
    ("application/json", "json"),
    ("Application/JSON ; q=0.9 , text/html;q=0.899", "json"),
    ("application/json;q=0, */*;q=0.001", "html"),
    ("application/json;q=x", "json"),
    (",;,;q=;,=,application/json", "json"),
    (";" * 5000, "html"),
])
def test_accept(httpd, accept, wanted):
    status, headers, _ = fetch(httpd, accept=accept)
    assert (status, headers["Content-Type"]) == (200, TYPES[wanted])
    assert "Accept" in headers["Vary"]


@pytest.mark.parametrize("name", TYPES)
def test_format_goes_before_accept(httpd, name):
    accept = "application/json" if name != "json" else "text/html"
    status, headers, body = fetch(httpd, f"/?format={name}", accept=accept)
    assert (status, headers["Content-Type"]) == (200, TYPES[name])
    assert headers["Cache-Control"] == "no-store" and body
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Vary" not in headers


@pytest.mark.parametrize("name", TYPES)
def test_head(httpd, name):
    status, headers, body = fetch(httpd, f"/?format={name}", "HEAD")
    assert (status, headers["Content-Type"], body) == (200, TYPES[name], "")
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("query", ["xml", "", "HTML", "html%00",
                                   "<script>alert(1)</script>"])
def test_unknown_format_gets_a_sentence(httpd, query):
    conn = http.client.HTTPConnection("127.0.0.1", httpd.admin)
    with contextlib.closing(conn):
        conn.request("GET", f"/?format={query}")
        response = conn.getresponse()
        body = response.read().decode()
    assert response.status == 400
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-store"
    assert body == ("This format is not known; use format=html, json, "
                    "openmetrics or prometheus.\n")


@pytest.mark.parametrize("query", ["&history=-5", "&recent=x",
                                   "&history=99999999999999999999",
                                   "&recent=99999999999999999999", "&&=&x="])
def test_silly_queries_get_the_page(httpd, query):
    status, _, body = fetch(httpd, "/?format=html" + query)
    assert status == 200 and body.endswith("</html>\n")
    assert body.count('<section id="recent">') <= 1


# ---- the page

def test_page(httpd):
    _, headers, body = fetch(httpd)
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "5 requests on 3 connections" in body
    assert "40.0% of the requests came on a connection" in body
    for reason in ("client_closed", "client_close_header", "keepalive_off"):
        assert re.search(rf"<code>{reason}</code></th><td>1</td>", body)
    assert "KeepAliveTimeout is 1s to 3s" in body
    assert f"MPM {httpd.mpm}" in body
    assert "script" not in body and "://" not in body


def test_page_escapes_names(httpd):
    _, _, body = fetch(httpd)
    assert f"a&lt;b&gt;&amp;&#39;c:{httpd.port}" in body
    assert "a<b>" not in body


def test_page_recent(httpd):
    assert "Recent connections" not in fetch(httpd)[2]
    body = fetch(httpd, "/?recent=2")[2]
    assert len(re.findall(r"<code>[0-9a-f]{16}</code>", body)) == 2


# ---- metrics

def test_promtool(httpd):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed (package prometheus)")
    for name in ("openmetrics", "prometheus"):
        text = fetch(httpd, f"/?format={name}")[2]
        done = subprocess.run(["promtool", "check", "metrics"], input=text,
                              capture_output=True, text=True,
                              timeout=PATIENCE)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def families(httpd, name):
    """By family: {(sample, labels but vhost): sum}."""
    if name == "openmetrics":
        parser = pytest.importorskip(
            "prometheus_client.openmetrics.parser",
            reason="package python3-prometheus-client is not installed")
    else:
        parser = pytest.importorskip(
            "prometheus_client.parser",
            reason="package python3-prometheus-client is not installed")
    found = {}
    text = fetch(httpd, f"/?format={name}")[2]
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, *(v for k, v in sorted(sample.labels.items())
                                  if k != "vhost"))
            found[key] = found.get(key, 0) + sample.value
    return found


@pytest.mark.parametrize("name", ["openmetrics", "prometheus"])
def test_metrics_say_what_json_says(httpd, name):
    m = families(httpd, name)
    totals = json.loads(fetch(httpd, "/?format=json")[2])["totals"]
    assert m["kastats_connections_total",] == totals["connections"] == 3
    assert m["kastats_reused_requests_total",] == 2
    for served, of in totals["classes"].items():
        assert m["kastats_requests_total", served] == of["requests"]
        assert m["kastats_service_seconds_count", served] == of["requests"]
        assert m["kastats_service_seconds_sum", served] == pytest.approx(
            of["service_s"]["sum"], abs=1e-9)
    for reason, n in totals["closes"].items():
        assert m["kastats_closes_total", reason] == n
    # A quick client may be at the door before the server has looked: such a
    # request counts as pipelined.
    gaps = 2 - totals["pipelined_requests"]
    assert m["kastats_gap_seconds_count",] == totals["gap_s"]["count"] == gaps
    assert m["kastats_gap_seconds_bucket", "+Inf"] == gaps
    assert m["kastats_idle_tail_seconds_count",] == 1
    assert m["kastats_requests_per_connection_bucket", "1.0"] == 2
    assert m["kastats_requests_per_connection_bucket", "2.0"] == 2
    assert m["kastats_requests_per_connection_bucket", "3.0"] == 3
    assert m["kastats_requests_per_connection_sum",] == 5
    assert [m["kastats_connections", state]
            for state in ("busy", "idle", "closing")] == [0, 0, 0]
    free = 32 if httpd.mpm == "prefork" else 64
    assert m["kastats_workers", "free"] == free
    # The main server's 1 s, 3 s and Off.
    assert m["kastats_keepalive_timeout_seconds",] == 4


def test_buckets_never_fall(httpd):
    text = fetch(httpd, "/?format=openmetrics")[2]
    series = {}
    for name, le, n in re.findall(r'^(.*_bucket.*),le="(.*)"} (\d+)$', text,
                                  re.M):
        series.setdefault(name, []).append((float(le), int(n)))
    assert len(series) >= 3 * 6
    for points in series.values():
        assert points == sorted(points)
        assert [n for _, n in points] == sorted(n for _, n in points)


# ---- in a browser

@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip(
        "selenium.webdriver",
        reason="package python3-selenium is not installed")
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        pytest.skip("chromium and chromium-driver are not installed")
    options = webdriver.ChromeOptions()
    for switch in ("headless", "no-sandbox", "disable-gpu", "no-first-run",
                   "disable-background-networking", "disable-sync",
                   "disable-component-update", "disable-dev-shm-usage",
                   f"user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument("--" + switch)
    options.add_experimental_option("prefs", {
        "profile.managed_default_content_settings.javascript": 2})
    options.add_experimental_option("mobileEmulation", {
        "deviceMetrics": {"width": 400, "height": 800, "pixelRatio": 1.0}})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options)
    yield driver
    driver.quit()


def test_page_in_a_narrow_browser_without_scripts(httpd, browser):
    browser.get(f"http://127.0.0.1:{httpd.admin}/?recent=3")
    shown = browser.find_elements("css selector", "section h2")
    assert len(shown) >= 6 and all(h.is_displayed() for h in shown)
    # Tables scroll by themselves: the page is no wider than the screen.
    for section in browser.find_elements("css selector", "section"):
        assert section.rect["x"] + section.rect["width"] <= 400
    assert browser.get_log("browser") == []

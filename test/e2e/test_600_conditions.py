# Licensed under the Apache License, Version 2.0; see LICENSE.
"""KAPolicy by what served the response: each condition, where it holds and
where it does not, under each MPM; with mod_kastats and without."""
import pytest

from policy_env import MPMS, PolicyHttpd, kept

# condition, request that meets it, request that does not
CASES = [
    ("served=static", "/f.html", "/status"),
    ("served=dynamic", "/status", "/f.html"),
    ("served=proxy", "/proxied/f.html", "/status"),
    ("served=error", "/denied/f.html", "/f.html"),
    ("served=Static,PROXY", "/proxied/f.html", "/status"),
    ("status=404", "/missing", "/f.html"),
    ("status=4xx", "/missing", "/f.html"),
    ("status=403,500-599", "/denied/f.html", "/missing"),
    ("status=200-299", "/f.html", "/missing"),
    ("type=text/css", "/f.css", "/f.html"),
    ("type=TEXT/html", "/f.html", "/f.css"),  # ;charset= follows
    ("type=image/*,text/css", "/f.png", "/f.html"),
    ("type=*/*", "/f.html", "/untyped"),
    ("size=1M-", "/big.css", "/f.css"),
    ("size=-10", "/f.css", "/big.css"),
    ("size=6-6", "/f.html", "/f.png"),
    ("size=1K-2M", "/big.css", "/f.css"),
    ("handler=server-status", "/status", "/f.html"),
    ("handler=nothing,SERVER-*", "/status", "/f.html"),
    ("env=marked", "/f.html?mark", "/f.html"),
    ("env=!marked", "/f.html", "/f.html?mark"),
    ('"expr=%{{REQUEST_URI}} =~ /css$/"', "/f.css", "/f.html"),
    ('"expr=-R \'127.0.0.0/8\'"', "/f.html", None),
    ('"expr=-R \'192.0.2.0/24\'"', None, "/f.html"),
    ("type=text/css size=-10", "/f.css", "/big.css"),
    ("size=-10 type=text/css", "/f.css", "/f.html?x"),
    ("served=static status=200 type=text/css env=marked", "/f.css?mark",
     "/f.css"),
    ("", "/f.html", None),
]

PLACE = """
Alias "/{i}" "{{root}}/htdocs"
<Location "/{i}/">
    KAPolicy close {condition}
</Location>
<Location "/{i}/status">
    SetHandler server-status
</Location>
<Location "/{i}/denied">
    Require all denied
</Location>
ProxyPass "/{i}/proxied" "http://127.0.0.1:{{port}}"
"""

CONF = """
KeepAliveTimeout 20
ExtendedStatus Off
AddType text/html .html
AddType text/css .css
AddType image/png .png
AddDefaultCharset utf-8
SetEnvIf Request_URI . plain
RewriteEngine On
RewriteCond %{{QUERY_STRING}} =mark
RewriteRule . - [E=marked:1]
RewriteOptions InheritDown
"""


def conf():
    return CONF + "".join(PLACE.format(i=i, condition=case[0])
                          for i, case in enumerate(CASES))


@pytest.fixture(scope="module", params=[(m, k) for m in MPMS
                                        for k in (True, False)],
                ids=lambda p: p[0] + ("" if p[1] else "-alone"))
def httpd(request):
    mpm, kastats = request.param
    h = PolicyHttpd(mpm, conf(), kastats=kastats,
                    modules=("status", "proxy", "proxy_http"),
                    allowed=["AH01630: client denied"])
    for name, size in (("f.html", 6), ("f.css", 6), ("f.png", 60),
                       ("big.css", 1 << 20), ("untyped", 60)):
        h.file(name, b"x" * size)
    with h:
        yield h


@pytest.mark.parametrize("case", range(len(CASES)),
                         ids=lambda i: CASES[i][0] or "always")
def test_condition(httpd, case):
    _, hit, miss = CASES[case]
    for path, wanted in ((hit, False), (miss, True)):
        if path is None:
            continue
        client = httpd.client()
        _, headers, _ = client.get(f"/{case}{path}")
        assert kept(headers, client) == wanted, path
        client.close()


def test_size_of_what_comes_in_one_piece(httpd):
    """A page of httpd's own has no declared length when we see it."""
    case = next(i for i, c in enumerate(CASES) if c[0] == "size=1K-2M")
    small = next(i for i, c in enumerate(CASES) if c[0] == "size=-10")
    for place in (case, small):  # an error page has some 200 bytes
        client = httpd.client()
        status, headers, _ = client.get(f"/{place}/missing")
        assert status == 404 and kept(headers, client)
        client.close()


def test_no_rule_no_change(httpd):
    client = httpd.client()
    for path in ("/f.html", "/missing", "/big.css"):
        _, headers, _ = client.get(path)
        assert "connection" not in headers and "keep-alive" not in headers
    status, headers, _ = client.get(
        "/f.html", headers=["Connection: keep-alive"])
    assert status == 200 and headers["keep-alive"] == "timeout=20"
    client.close()

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""KAPolicy in every context, and in which order they are asked."""
import pytest

from policy_env import MPMS, PolicyHttpd, kept

CONF = """
KeepAliveTimeout 20
AddType text/css .css
AddType text/html .html
Listen 127.0.0.1:{extra[0]}
<VirtualHost 127.0.0.1:{port}>
    ServerName plain
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName closing
    KAPolicy close
    <Location "/kept">
        KAPolicy keep
    </Location>
    <Directory "{root}/htdocs/d">
        KAPolicy keep served=static
        <Files "shut.html">
            KAPolicy close
        </Files>
    </Directory>
    <Directory "{root}/htdocs/d/inner">
        KAPolicy close type=text/css
    </Directory>
    <Location "/d/inner/last.css">
        KAPolicy timeout=10
    </Location>
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName files
    <Files "*.css">
        KAPolicy close
    </Files>
    <LocationMatch "^/d/inner/last">
        KAPolicy keep
    </LocationMatch>
    <If "%{{QUERY_STRING}} == 'shut'">
        KAPolicy close
    </If>
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName access
    <Directory "{root}/htdocs">
        AllowOverride FileInfo
    </Directory>
</VirtualHost>
<VirtualHost 127.0.0.1:{extra[0]}>
    ServerName redirects
    KAPolicy close served=dynamic
    ErrorDocument 404 /d/f.html
    <Directory "{root}/htdocs/d">
        KAPolicy close status=404
    </Directory>
    DirectoryIndex f.css f.html
</VirtualHost>
"""
HTACCESS = "KAPolicy close type=text/css\n"


@pytest.fixture(scope="module", params=MPMS)
def httpd(request):
    h = PolicyHttpd(request.param, CONF, kastats=False, extra_ports=1)
    for name in ("d/inner", "kept", "h"):
        (h.root / "htdocs" / name).mkdir(parents=True)
    for name in ("f.html", "f.css", "kept/f.html", "d/f.html", "d/f.css",
                 "d/shut.html", "d/inner/f.css", "d/inner/f.html",
                 "d/inner/last.css", "h/f.css", "h/f.html"):
        h.file(name, "hello\n")
    h.file("h/.htaccess", HTACCESS)
    with h:
        yield h


@pytest.mark.parametrize("host,path,wanted", [
    ("plain", "/f.html", True),
    ("closing", "/f.html", False),
    ("closing", "/kept/f.html", True),
    ("closing", "/d/f.html", True),
    ("closing", "/d/missing", True),
    ("closing", "/d/shut.html", False),
    ("closing", "/d/inner/f.html", True),
    ("closing", "/d/inner/f.css", False),
    ("closing", "/d/inner/last.css", True),
    ("files", "/f.html", True),
    ("files", "/f.css", False),
    ("files", "/d/inner/last.css", True),
    ("files", "/d/inner/last.css?shut", False),
    ("files", "/f.html?shut", False),
    ("access", "/h/f.html", True),
    ("access", "/h/f.css", False),
    ("access", "/f.css", True),
])
def test_context(httpd, host, path, wanted):
    client = httpd.client()
    _, headers, _ = client.get(path, host=host)
    assert kept(headers, client) == wanted
    client.close()


@pytest.mark.parametrize("path,wanted", [
    ("/missing", False),  # the error document's place decides
    ("/d/f.html", True), ("/d/", True), ("/d/inner/", True),
    ("/kept", True),      # 301 to /kept/: no rule
])
def test_internal_redirects(httpd, path, wanted):
    client = httpd.client()
    client.close()
    client = type(client)(httpd.extra[0])
    _, headers, _ = client.get(path, host="redirects")
    assert kept(headers, client) == wanted
    client.close()


def test_htaccess_with_a_mistake_is_httpds_to_refuse(httpd):
    httpd.file("kept/.htaccess", "KAPolicy sometimes\n")
    httpd.allowed.append("sometimes")
    client = httpd.client()
    status, _, _ = client.get("/kept/f.html", host="access")
    client.close()
    (httpd.root / "htdocs/kept/.htaccess").unlink()
    assert status == 500
    assert "KAPolicy: 'sometimes' is neither an action" in httpd.log()

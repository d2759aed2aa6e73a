# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Directives of mod_kapolicy: what is refused, and with which words."""
import re

import pytest

from policy_env import ROOT, PolicyHttpd, waited

VHOST = "<VirtualHost *:80>\n{}\n</VirtualHost>"


@pytest.mark.parametrize("conf", [
    "KAPolicy keep", "KAPolicy close served=dynamic", "KAPolicy timeout=1",
    "KAPolicy timeout=400ms max=1", "KAPolicy served=static timeout=.5",
    "KAPolicy max=0", "KAPolicy KEEP Timeout=1 MAX=1000000000",
    'KAPolicy close "expr=%{{REQUEST_METHOD}} == \'GET\'"',
    VHOST.format("KAPolicy close"),
    '<Location "/">\nKAPolicy close\n</Location>',
    '<Files "x">\nKAPolicy close\n</Files>',
    "KAPolicyAdaptive 0 1", "KAPolicyAdaptive 1 1 0% 100%",
    "KAPolicyAdaptive 400ms 1 50 90",
    "KeepAliveTimeout 90\nKAPolicy timeout=90\nKAPolicyAdaptive 5 90",
])
def test_good(conf):
    assert PolicyHttpd("event", conf).configtest() == (0, "Syntax OK\n")


@pytest.mark.parametrize("conf,words", [
    ("KAPolicy", ["only conditions", "keep, close, timeout=SECONDS"]),
    ("KAPolicy served=static", ["only conditions", "max=REQUESTS"]),
    ("KAPolicy closed", ["'closed'", "neither an action", "condition"]),
    ("KAPolicy close=1", ["'close=1'", "neither"]),
    ("KAPolicy timeout", ["'timeout'", "timeout=SECONDS"]),
    ("KAPolicy close timeout=5", ["'close'", "leaves nothing to keep"]),
    ("KAPolicy close keep", ["'close'", "leaves nothing to keep"]),
    ("KAPolicy close close", ["twice"]),
    ("KAPolicy close status=404 status=500", ["'status=500'", "twice"]),
    ("KAPolicy timeout=0", ["'timeout=0'", "'close' for none"]),
    ("KAPolicy timeout=-1", ["'timeout=-1'", "400ms"]),
    ("KAPolicy timeout=2d", ["'timeout=2d'", "at most 24h"]),
    ("KAPolicy timeout=soon", ["'timeout=soon'", "seconds such as 5"]),
    ("KAPolicy timeout=", ["'timeout='", "seconds such as 5"]),
    ("KAPolicy timeout=1e300", ["timeout=1e300", "seconds such as 5"]),
    ("KAPolicy max=-1", ["'max=-1'", "whole number"]),
    ("KAPolicy max=1000000001", ["'max=1000000001'", "1000000000"]),
    ("KAPolicy max=99999999999999999999", ["max=", "whole number"]),
    ("KAPolicy max=1.5", ["'max=1.5'", "whole number"]),
    ("KAPolicy close served=php", ["'php'", "static, dynamic, proxy"]),
    ("KAPolicy close served=", ["'served='", "comma"]),
    ("KAPolicy close served=static,,proxy", ["comma"]),
    ("KAPolicy close status=20", ["'20'", "404, 5xx or 400-499"]),
    ("KAPolicy close status=0xx", ["'0xx'", "5xx"]),
    ("KAPolicy close status=500-400", ["'500-400'", "400-499"]),
    ("KAPolicy close status=200-", ["'200-'", "400-499"]),
    ("KAPolicy close status=1000", ["'1000'", "404"]),
    ("KAPolicy close type=html", ["'html'", "TYPE/SUBTYPE"]),
    ('KAPolicy close "type=text/html; charset=x"', ["without parameters"]),
    ("KAPolicy close size=5", ["'size=5'", "1M- (from)"]),
    ("KAPolicy close size=-", ["'size=-'", "-10K (to)"]),
    ("KAPolicy close size=2M-1M", ["'size=2M-1M'", "10K-1M"]),
    ("KAPolicy close size=x-1", ["'size=x-1'", "10K-1M"]),
    ("KAPolicy close handler=", ["'handler='", "comma"]),
    ("KAPolicy close env=", ["'env='", "env=!NAME"]),
    ("KAPolicy close env=!", ["'env=!'", "env=!NAME"]),
    ("KAPolicy close env=a=b", ["'env=a=b'", "env=NAME"]),
    ('KAPolicy close "expr=%{{"', ["is not an expression"]),
    ("KAPolicyAdaptive", ["two times", "1 15 50% 90%"]),
    ("KAPolicyAdaptive 1", ["two times"]),
    ("KAPolicyAdaptive 1 2 3", ["two shares or none"]),
    ("KAPolicyAdaptive 1 2 3 4 5", ["two shares or none"]),
    ("KAPolicyAdaptive x 5", ["'x'", "0.5, 400ms"]),
    ("KAPolicyAdaptive 1 25h", ["'25h'", "24h"]),
    ("KAPolicyAdaptive 5 1", ["not be longer", "MIN MAX"]),
    ("KAPolicyAdaptive 0 0", ["not 0"]),
    ("KAPolicyAdaptive 1 2 90% 50%", ["first share", "50% 90%"]),
    ("KAPolicyAdaptive 1 2 50% 50%", ["first share"]),
    ("KAPolicyAdaptive 1 2 50% 101%", ["'101%'", "per cents"]),
    ("KAPolicyAdaptive 1 2 -1 50", ["'-1'", "per cents"]),
    ("KAPolicyAdaptive 1 2 1.5 50", ["'1.5'", "whole per cents"]),
    (VHOST.format("KAPolicyAdaptive 1 2"), ["VirtualHost"]),
    ('<Location "/">\nKAPolicyAdaptive 1 2\n</Location>', ["Location"]),
])
def test_bad(conf, words):
    status, said = PolicyHttpd("worker", conf).configtest()
    said = " ".join(said.split())
    assert status == 1
    for word in words:
        assert word in said, said


TOO_LONG = [
    ("KeepAliveTimeout 5\nKAPolicy timeout=60\n", "60s", "5s", True),
    ("KeepAliveTimeout 5\nKAPolicyAdaptive 1 15\n", "15s", "5s", False),
    ("KeepAliveTimeout 60\n<VirtualHost 127.0.0.1:{port}>\n"
     "KeepAliveTimeout 2500ms\n<Location />\nKAPolicy timeout=2.6\n</Location>"
     "\n</VirtualHost>\n", "2.6s", "2.5s", True),
    ("KeepAliveTimeout 60\n<VirtualHost 127.0.0.1:{port}>\n"
     "KeepAliveTimeout 2\n</VirtualHost>\n<VirtualHost 127.0.0.1:{port}>\n"
     "ServerName second\nKAPolicy timeout=3\n</VirtualHost>\n",
     "3s", "2s", True),
]


@pytest.mark.parametrize("conf,wanted,there,is_rule", TOO_LONG)
def test_event_refuses_what_it_cannot_do(conf, wanted, there, is_rule):
    h = PolicyHttpd("event", conf, kastats=False)
    status, said = h.configtest()
    said = " ".join(said.split())
    assert status == 1
    assert re.search(rf"waits {wanted}, but .* KeepAliveTimeout, which is "
                     rf"{there} there.*; set .*KeepAliveTimeout.* to {wanted}",
                     said)
    assert f"KAPolicy timeout={there} before" in said
    if is_rule:
        text = (h.root / "httpd.conf").read_text().splitlines()
        at = next(i for i, row in enumerate(text, 1)
                  if row.startswith("KAPolicy timeout"))
        assert f"httpd.conf:{at} waits" in said
    with pytest.raises(AssertionError, match="httpd ended"):
        h.start()


@pytest.mark.parametrize("mpm", ["prefork", "worker"])
@pytest.mark.parametrize("conf", [c[0] for c in TOO_LONG])
def test_others_can(mpm, conf):
    status, said = PolicyHttpd(mpm, conf, kastats=False).configtest()
    assert status == 0, said


SECOND = """KeepAliveTimeout {main}
<VirtualHost 127.0.0.1:{{port}}>
KeepAliveTimeout {first}
</VirtualHost>
<VirtualHost 127.0.0.1:{{port}}>
ServerName second
{own}
KAPolicy timeout={rule}
</VirtualHost>
"""


@pytest.mark.parametrize("main,first,own,rule,good", [
    (5, 15, "", 15, True),   # httpd applies the first one's
    (5, 15, "", 16, False),
    (60, 15, "", 16, False),
    (5, 15, "KeepAliveTimeout 20", 20, True),
    (5, 15, "KeepAliveTimeout 10", 15, False),
])
def test_event_compares_with_what_httpd_applies(main, first, own, rule, good):
    conf = SECOND.format(main=main, first=first, own=own, rule=rule)
    status, said = PolicyHttpd("event", conf, kastats=False).configtest()
    assert (status == 0) == good, said
    assert ("first virtual host" in " ".join(said.split())) \
        == (not good and not own)


def test_a_first_vhosts_timeout_is_really_the_limit():
    """What the check relies on: the second one's rule is met in full."""
    conf = SECOND.format(main=1, first=60, own="", rule=2)
    with PolicyHttpd("event", conf, kastats=False) as h:
        h.file("x", "x")
        client = h.client()
        _, headers, _ = client.get("/x", host="second",
                                   headers=["Connection: keep-alive"])
        assert headers["keep-alive"].startswith("timeout=2")
        assert 2 <= waited(client) + 0.01 < 2.7


def test_event_tells_which_vhost_cuts_a_rule_of_the_server():
    conf = ("KeepAliveTimeout 60\nKAPolicy timeout=60\n"
            "<VirtualHost 127.0.0.1:{port}>\nServerName short\n"
            "KeepAliveTimeout 2\n</VirtualHost>\n")
    status, said = PolicyHttpd("event", conf, kastats=False).configtest()
    said = " ".join(said.split())
    assert status == 0
    assert "waits 60s, but in the virtual host short" in said
    assert "only 2s, its KeepAliveTimeout" in said


def test_what_the_sentence_says_helps():
    with PolicyHttpd("event", "KeepAliveTimeout 60\nKAPolicy timeout=5\n"
                     '<Location "/api">\nKAPolicy timeout=60\n</Location>\n',
                     kastats=False) as h:
        h.file("api", "x")
        client = h.client()
        keep = ["Connection: keep-alive"]
        assert client.get("/", headers=keep)[1]["keep-alive"] == "timeout=5"
        assert client.get("/api", headers=keep)[1]["keep-alive"] \
            == "timeout=60"
        client.close()


def test_readme_names_every_word():
    text = (ROOT / "README.md").read_text()
    section = text[text.index("## mod_kapolicy"):]
    section = section[:section.index("\n## ", 5)]
    source = (ROOT / "modules/kapolicy/rule.c").read_text()
    table = source[source.index("} words[] = {"):]
    names = re.findall(r'\{"(\w+)", (true|false)', table[:table.index("};")])
    assert len(names) == 11
    for name, has_value in names:
        assert f"`{name}{'=' if has_value == 'true' else ''}" in section, name

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Directives: what is refused, and with which words; the samples load."""
import pytest

from kastats_env import MODULE, ROOT, Httpd

VHOST = "<VirtualHost *:80>\n{}\n</VirtualHost>"


@pytest.mark.parametrize("conf", [
    "KAStats On", "KAStats Off", VHOST.format("KAStats Off"),
    "KAStatsFile other.seg", "KAStatsFile /tmp/abs.seg",
    "KAStatsMode 0600", "KAStatsMode 640", "KAStatsMode 0644",
    "KAStatsVhosts 2", "KAStatsVhosts 256",
    "KAStatsHistory 0", "KAStatsHistory 3600", "KAStatsHistory 7d",
    "KAStatsRecent 0", "KAStatsRecent 65536",
])
def test_good(conf):
    h = Httpd("event", conf)
    status, said = h.configtest()
    assert status == 0, said


@pytest.mark.parametrize("conf,words", [
    ("KAStats maybe", ["KAStats", "On or Off"]),
    ("KAStatsFile /", ["KAStatsFile", "'/'", "absolute path"]),
    ("KAStatsFile dir/", ["KAStatsFile", "'dir/'", "kastats.seg"]),
    ("KAStatsMode 0666", ["KAStatsMode", "'0666'", "0640"]),
    ("KAStatsMode 0400", ["KAStatsMode", "'0400'", "0600"]),
    ("KAStatsMode 0755", ["KAStatsMode", "'0755'", "0644"]),
    ("KAStatsMode rw", ["KAStatsMode", "'rw'", "0640"]),
    ("KAStatsMode 06400", ["KAStatsMode", "'06400'", "0640"]),
    ("KAStatsVhosts 1", ["KAStatsVhosts", "'1'", "from 2 to 256"]),
    ("KAStatsVhosts 257", ["KAStatsVhosts", "'257'", "from 2 to 256"]),
    ("KAStatsVhosts 5x", ["KAStatsVhosts", "'5x'", "from 2 to 256"]),
    ("KAStatsHistory 8d", ["KAStatsHistory", "'8d'", "seven days"]),
    ("KAStatsHistory 400ms", ["KAStatsHistory", "'400ms'", "24h"]),
    ("KAStatsHistory -1", ["KAStatsHistory", "'-1'", "0 for none"]),
    ("KAStatsRecent -1", ["KAStatsRecent", "'-1'", "from 0 to 65536"]),
    ("KAStatsRecent 99999999999999999999",
     ["KAStatsRecent", "from 0 to 65536"]),
    (VHOST.format("KAStatsFile x"), ["KAStatsFile", "VirtualHost"]),
    (VHOST.format("KAStatsRecent 5"), ["KAStatsRecent", "VirtualHost"]),
])
def test_bad(conf, words):
    h = Httpd("event", conf)
    status, said = h.configtest()
    assert status == 1
    for word in words:
        assert word in said


def test_samples():
    samples = ROOT / "conf-samples"
    load = (samples / "kastats.load").read_text("ascii")
    assert load.split()[:2] == ["LoadModule", "kastats_module"]
    assert load.split()[2].endswith("/mod_kastats.so")
    with Httpd("event", f'Include "{samples}/kastats.conf"\n'
               "LoadModule authz_host_module "
               f'"/usr/lib/apache2/modules/mod_authz_host.so"\n') as h:
        c = h.client()
        status, headers, body = c.get("/kastats?format=json")
        c.close()
        assert status == 200 and body.startswith(b'{"schema":"kastats/1"')
        assert headers["content-type"] == "application/json"
    assert MODULE

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""The configuration samples load as they are, but for the module's path."""
import http.client

import pytest

from kastats_env import APACHE, MODULE, MODULES, PATIENCE, ROOT, Httpd, wait_for

SAMPLES = ROOT / "conf-samples"
LOAD = {"debian": ("kastats.load", "kastats.conf"),
        "plain": ("httpd-kastats.conf",)}
PATHS = ("/usr/lib/apache2/modules/mod_kastats.so", "modules/mod_kastats.so")


class SampleHttpd(Httpd):
    """Without a line of ours on mod_kastats."""

    def __init__(self, names):
        super().__init__("event", "".join(
            f'Include "{{root}}/{name}"\n' for name in names)
            + 'CustomLog "{root}/plain.log" kastats\n'
              'CustomLog "{root}/full.log" kastats_full\n',
            modules=["authz_host"])
        for name in names:
            (self.root / name).write_text(self.sample(name))

    @staticmethod
    def sample(name):
        text = (SAMPLES / name).read_text("ascii")
        if "\nLoadModule" in "\n" + text:
            assert sum(text.count(f"kastats_module {p}\n")
                       for p in PATHS) == 1
            for path in PATHS:
                text = text.replace(f"kastats_module {path}\n",
                                    f"kastats_module {MODULE}\n")
        return text

    def write_conf(self):
        super().write_conf()
        path = self.root / "httpd.conf"
        text = path.read_text()
        ours = (f'LoadModule kastats_module "{MODULE}"\n',
                "    KAStats Off\n    SetHandler kastats\n")
        for line in ours:
            assert text.count(line) == 1
            text = text.replace(line, "")
        path.write_text(text)


@pytest.mark.parametrize("kind", LOAD)
def test_samples(kind):
    names = (*LOAD[kind], "kastats-log.conf")
    h = SampleHttpd(names)
    status, said = h.configtest()
    assert (status, said) == (0, "Syntax OK\n")
    with h:
        conn = http.client.HTTPConnection("127.0.0.1", h.port,
                                          timeout=PATIENCE)
        conn.request("GET", "/kastats?format=json")
        response = conn.getresponse()
        assert response.status == 200
        assert response.read().startswith(b'{"schema":"kastats/1"')
        conn.close()
        wait_for(lambda: "/kastats?format=json" in
                 (h.root / "full.log").read_text(), "a log line")
        line = (h.root / "full.log").read_text().splitlines()[-1]
        assert line.split('"')[-1].split()[1:] == ["1", "-", "-"]
        assert h.segment.exists()


def test_every_sample_is_tested():
    tested = {name for names in LOAD.values() for name in names}
    assert {p.name for p in SAMPLES.glob("*kastats*")} == tested | {
        "kastats-log.conf"}
    assert APACHE and MODULES  # what the others are run with

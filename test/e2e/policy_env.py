# Licensed under the Apache License, Version 2.0; see LICENSE.
"""A private httpd with mod_kapolicy, with mod_kastats beside it or without.

Life, ports and sockets are those of kastats_env.  Times are measured where
they are what is tested: a wait is never shorter than its timeout, and how much
longer it may be is said with a generous bound.
"""
import os
import time

import kastats_env
from kastats_env import BUILD, MPMS, PATIENCE, ROOT, Client, wait_for

__all__ = ["BUILD", "MPMS", "PATIENCE", "ROOT", "Client", "PolicyHttpd",
           "POLICY", "kept", "waited", "wait_for"]

POLICY = os.environ.get("KA_KAPOLICY", str(BUILD / "mod_kapolicy.so"))
LOAD = f'LoadModule kapolicy_module "{POLICY}"\n'
KASTATS_LINES = (f'LoadModule kastats_module "{kastats_env.MODULE}"\n',
                 "    KAStats Off\n    SetHandler kastats\n")


class PolicyHttpd(kastats_env.Httpd):
    def __init__(self, mpm, conf="", kastats=True, policy=True, **kwargs):
        super().__init__(mpm, (LOAD if policy else "") + conf, **kwargs)
        self.kastats = kastats

    def write_conf(self):
        super().write_conf()
        if self.kastats:
            return
        path = self.root / "httpd.conf"
        text = path.read_text()
        for line in KASTATS_LINES:
            assert text.count(line) == 1
            text = text.replace(line, "")
        path.write_text(text)


def kept(headers, client):
    """Whether the connection is kept: as the response says, and in truth."""
    says = "close" not in headers.get("connection", "").lower()
    if says:
        status, _, _ = client.get("/index.html")
        assert status == 200
    else:
        assert client.wait_closed() == b""
    return says


def waited(client):
    """Seconds until the server ends the idle connection."""
    start = time.monotonic()
    assert client.wait_closed() == b""
    return time.monotonic() - start

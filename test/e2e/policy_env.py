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
           "POLICY", "ask_at_the_end", "close", "kept", "waited", "wait_for"]

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


def close(clients):
    for client in clients:
        client.close()


def ask_at_the_end(httpd, pauses):
    """A client for each pause asks again after it, around the moment at which
    its wait is ended: it hears, or its connection was closed before it sent.
    No request is lost."""
    answered = ended = 0
    for pause in pauses:
        client = httpd.client()
        client.get("/")
        time.sleep(pause)
        try:
            client.request("/")
            client.response()
            answered += 1
        except (OSError, AssertionError):
            ended += 1
        client.close()
    wait_for(lambda: httpd.totals()["open"] == 0, "closed")
    totals = httpd.totals()
    assert answered and ended
    assert totals["requests"] == answered + ended + answered
    assert totals["closes"]["aborted"] == 0


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

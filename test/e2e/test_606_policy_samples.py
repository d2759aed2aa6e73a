# Licensed under the Apache License, Version 2.0; see LICENSE.
"""The samples for mod_kapolicy load under every MPM, and do what they say."""
import pytest

from policy_env import MPMS, ROOT, PolicyHttpd, kept

SAMPLES = ROOT / "conf-samples"
KEEP = ["Connection: keep-alive"]
NAMES = ("content", "proxy", "adaptive")


def started(mpm, name, more=""):
    text = (SAMPLES / f"kapolicy-{name}.conf").read_text("ascii")
    h = PolicyHttpd(mpm, 'Include "{root}/sample.conf"\n' + more,
                    kastats=False, modules=("status",))
    (h.root / "sample.conf").write_text(
        text.replace("10.0.0.0/8", "127.0.0.2/32"))
    (h.root / "htdocs/api").mkdir()
    return h


def test_every_sample_is_tested():
    assert {p.name for p in SAMPLES.glob("kapolicy*")} == {
        "kapolicy.load", *(f"kapolicy-{name}.conf" for name in NAMES)}
    load = (SAMPLES / "kapolicy.load").read_text("ascii").split()
    assert load[:2] == ["LoadModule", "kapolicy_module"]
    assert load[2].endswith("/mod_kapolicy.so")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mpm", MPMS)
def test_loads_as_it_is(mpm, name):
    h = PolicyHttpd(mpm, f'Include "{SAMPLES}/kapolicy-{name}.conf"\n',
                    kastats=False)
    assert h.configtest() == (0, "Syntax OK\n")


@pytest.mark.parametrize("name", NAMES)
def test_loads_without_the_module(name):
    h = PolicyHttpd("event", f'Include "{SAMPLES}/kapolicy-{name}.conf"\n',
                    kastats=False, policy=False)
    assert h.configtest() == (0, "Syntax OK\n")


@pytest.mark.parametrize("mpm", MPMS)
def test_content(mpm):
    places = "".join(f'<Location "{p}/status">\nSetHandler server-status\n'
                     "</Location>\n" for p in ("", "/api"))
    h = started(mpm, "content", places)
    h.file("big", b"x" * (10 << 20))
    with h:
        for path, timeout in (("/", "5"), ("/api/status", "60")):
            client = h.client()
            _, headers, _ = client.get(path, headers=KEEP)
            assert headers["keep-alive"].startswith(f"timeout={timeout}")
            client.close()
        for path in ("/status", "/big"):
            client = h.client()
            _, headers, _ = client.get(path)
            assert not kept(headers, client)


@pytest.mark.parametrize("mpm", MPMS)
def test_proxy(mpm):
    with started(mpm, "proxy") as h:
        client = h.client()
        _, headers, _ = client.get("/", headers=KEEP)
        assert headers["keep-alive"] == "timeout=5, max=100"
        client.close()
    h = started(mpm, "proxy")
    path = h.root / "sample.conf"
    path.write_text(path.read_text().replace("127.0.0.2/32", "127.0.0.1"))
    with h:
        client = h.client()
        for _ in range(103):
            _, headers, _ = client.get("/", headers=KEEP)
            assert headers["keep-alive"] == "timeout=75"
        client.close()


@pytest.mark.parametrize("mpm", MPMS)
def test_adaptive(mpm):
    with started(mpm, "adaptive") as h:
        client = h.client()
        _, headers, _ = client.get("/", headers=KEEP)
        assert headers["keep-alive"].startswith("timeout=15")
        client.close()

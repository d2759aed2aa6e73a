# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Runs kaadvisor, with a time limit, away from any terminal."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("KA_BUILD") or ROOT / "build")
KAADVISOR = (ROOT / BUILD / "kaadvisor").resolve()
DATA = ROOT / "test" / "data" / "logs"
PATIENCE = 120  # for a machine that builds at the same time, never a wait

Result = collections.namedtuple("Result", "status out err")

# What no output may hold: control bytes other than newline, and their 8-bit
# forms, which some terminals obey.
CONTROL = frozenset(bytes(range(0x20)) + b"\x7f") - frozenset(b"\n")


def environment(**more):
    """No locale, terminal or preference of the one who runs the tests."""
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C",
           "TERM": "xterm-256color", "TZ": "UTC"}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"):
        if name in os.environ:
            env[name] = os.environ[name]
    env.update(more)
    return env


def run(*args, stdin=b"", cwd=None, env=None):
    """Status, stdout and stderr, as bytes."""
    assert KAADVISOR.exists(), f"{KAADVISOR}: not built; run make first"
    done = subprocess.run([KAADVISOR, *map(os.fspath, map(_text, args))],
                          input=stdin, capture_output=True, timeout=PATIENCE,
                          cwd=cwd, env=env or environment(), check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def _text(arg):
    return arg if isinstance(arg, (str, bytes, os.PathLike)) else str(arg)


def done(*args, status=0, **kwargs):
    """The text of a run that must end with this status."""
    result = run(*args, **kwargs)
    assert result.status == status, result.err.decode(errors="replace")
    return result.out.decode("ascii")


def report(*args, status=0, **kwargs):
    """The JSON of a run, as an object."""
    return json.loads(done(*args, "--output", "json", status=status, **kwargs))


def fails(status, *args, **kwargs):
    """What stderr says of a run that must fail with an empty stdout."""
    result = run(*args, **kwargs)
    assert result.status == status, (result.status, result.err)
    assert result.out == b""
    assert not CONTROL & set(result.err), result.err
    text = result.err.decode("ascii")
    assert text.startswith("kaadvisor: "), text
    assert text.endswith("\n"), text
    return text


def clean(data):
    """Asserts that bytes may go to a terminal; returns them as text."""
    bad = sorted(CONTROL & set(data))
    assert not bad, [hex(b) for b in bad]
    return data.decode("ascii")


def combined(n, start=0, step=1.0, client="192.0.2.{c}", clients=5,
             agent="test", path="/{i}.html", status=200):
    """n lines of a combined log, one each `step` seconds."""
    lines = []
    for i in range(n):
        t = start + int(i * step)
        lines.append(
            f"{client.format(c=i % clients + 1)} - - "
            f"[0{1 + t // 86400}/Mar/2026:{t // 3600 % 24:02}:"
            f"{t // 60 % 60:02}:{t % 60:02} +0000] "
            f'"GET {path.format(i=i)} HTTP/1.1" {status} 512 "-" "{agent}"\n')
    return "".join(lines)


DEMO = DATA / "demo.log"
DEMO_FORMAT = (DATA / "demo.format").read_text("ascii").strip() \
    if (DATA / "demo.format").exists() else ""


# Runs a command and tells its memory peak in kB.  By a process of its own: what
# a child has at most includes what its parent had when it was forked.
_PEAK = """
import os, resource, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
with open(sys.argv[1], "w") as out:
    out.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status)
"""


def measured(*args, stdin=subprocess.DEVNULL, lines=()):
    """The JSON of a run that must succeed, and its memory peak in MB; `lines`
    are written to its standard input."""
    with tempfile.NamedTemporaryFile() as peak:
        command = [sys.executable, "-c", _PEAK, peak.name, KAADVISOR,
                   "--quiet", "--output", "json", *map(_text, args)]
        with subprocess.Popen(command, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=environment(),
                              stdin=subprocess.PIPE if lines else stdin
                              ) as process:
            for part in lines:
                process.stdin.write(part)
            if lines:
                process.stdin.close()
                process.stdin = None
            out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err.decode(errors="replace")
        with open(peak.name, encoding="ascii") as told:
            return json.loads(out), int(told.read()) / 1024


DAY = combined(24 * 60, step=60)


def same(report):
    """A report without what may differ: when, and where it came from."""
    report = json.loads(json.dumps(report))
    report["generated_at"] = report["source"]["files"] = None
    for sample in report["source"]["skipped_samples"]:
        sample["file"] = None
    return report

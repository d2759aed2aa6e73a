# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Where the result goes, and how it looks there: files, pipes, terminals."""
import json
import os
import pty
import stat
import subprocess

import pytest

import cli

DEMO_ARGS = ("--log-format", cli.DEMO_FORMAT)

# ---- where the result goes -----------------------------------------------------------

def test_output_file(day, tmp_path):
    out = tmp_path / "out.json"
    assert cli.done("--output", "json", "-o", out, day) == ""
    assert cli.same(json.loads(out.read_text())) == cli.same(cli.report(day))


def test_output_file_dash_is_standard_output(day):
    assert cli.done("-o", "-", day) == cli.done(day)


def test_output_file_keeps_its_permissions(day, tmp_path):
    out = tmp_path / "out"
    out.write_text("old")
    out.chmod(0o604)
    cli.done("-o", out, day)
    assert stat.S_IMODE(out.stat().st_mode) == 0o604
    assert out.read_text() != "old"


def test_new_output_file_follows_the_umask(day, tmp_path):
    out = tmp_path / "out"
    old = os.umask(0o027)
    try:
        cli.done("-o", out, day)
    finally:
        os.umask(old)
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


def test_output_file_is_kept_on_failure(tmp_path):
    out = tmp_path / "out"
    out.write_text("old")
    cli.fails(1, "-o", out, tmp_path / "none.log")
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]


def test_output_file_is_whole_or_not_at_all(day, tmp_path):
    """A file size limit breaks the write: the old file stays."""
    out = tmp_path / "out"
    out.write_text("old")
    limited = ["bash", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$0" "$@"',
               cli.KAADVISOR, "--output", "json", "-o", out, day]
    done = subprocess.run(limited, capture_output=True, timeout=cli.PATIENCE,
                          env=cli.environment(), check=False)
    assert done.returncode == 1, done.stderr
    assert str(out) in done.stderr.decode()
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["day.log", "out"]


def test_output_file_may_be_a_source(day):
    """The log is read before its name is written over."""
    expected = cli.done(day)
    assert cli.done("-o", day, day) == ""
    assert day.read_text() == expected


def test_broken_pipe(day):
    """`kaadvisor ... | head -1` ends well and says nothing."""
    command = ["bash", "-c",
               '"$0" "$@" --verbose | head -1; exit "${PIPESTATUS[0]}"',
               cli.KAADVISOR, day]
    done = subprocess.run(command, capture_output=True, timeout=cli.PATIENCE,
                          env=cli.environment(), check=False)
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1


def test_reader_that_is_gone_before_the_first_byte(day):
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen([cli.KAADVISOR, day], stdout=write,
                          stderr=subprocess.PIPE,
                          env=cli.environment()) as process:
        os.close(write)
        _, err = process.communicate(timeout=cli.PATIENCE)
    assert (process.returncode, err) == (0, b"")


# ---- colour, quiet -------------------------------------------------------------------

def on_terminal(*args, **env):
    """stdout of a run on a terminal of its own."""
    parent, child = pty.openpty()
    with subprocess.Popen([cli.KAADVISOR, *args], stdin=subprocess.DEVNULL,
                          stdout=child, stderr=subprocess.DEVNULL,
                          env=cli.environment(**env)) as process:
        os.close(child)
        out = b""
        while True:
            try:
                data = os.read(parent, 65536)
            except OSError:  # EIO: the other end is closed
                break
            if not data:
                break
            out += data
        process.wait(cli.PATIENCE)
    os.close(parent)
    assert process.returncode == 0
    return out


def test_colour_only_on_a_terminal(day, tmp_path):
    assert b"\x1b[" in on_terminal(day)
    assert b"\x1b" not in on_terminal(day, NO_COLOR="1")
    assert b"\x1b" not in on_terminal(day, TERM="dumb")
    assert b"\x1b[" in on_terminal(day, NO_COLOR="")
    assert "\x1b" not in cli.done(day)
    out = tmp_path / "out"
    cli.done("-o", out, day)
    assert b"\x1b" not in out.read_bytes()
    assert b"\x1b" not in on_terminal("--output", "json", day)
    assert b"\x1b" not in on_terminal("--output", "conf", day)


@pytest.mark.parametrize("command", ["advise", "show"])
def test_fits_80_columns(command):
    text = cli.done(command, *DEMO_ARGS, cli.DEMO)
    wide = [line for line in text.splitlines()
            if len(line) > 80 and "LogFormat" not in line]
    assert not wide


@pytest.mark.parametrize("output", ["text", "json", "conf"])
def test_quiet_says_nothing_but_the_result(output, day):
    result = cli.run("--quiet", "--output", output, day)
    assert (result.status, result.err) == (0, b"")
    assert result.out


def test_verbose_says_more():
    plain = cli.done(*DEMO_ARGS, cli.DEMO)
    verbose = cli.done("--verbose", *DEMO_ARGS, cli.DEMO)
    assert len(verbose.splitlines()) > len(plain.splitlines())


def test_no_progress_where_stderr_is_no_terminal(tmp_path):
    path = tmp_path / "log"
    path.write_text(cli.DAY * 20)
    assert cli.run(path).err == b""

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""What kaadvisor says when it cannot do what it was asked, and its status."""
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

import cli

FORMULA = ("formula", "--timeout", "10", "--rps", "50", "--keepalive-requests",
           "1")


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "access.log"
    path.write_text(cli.combined(300))
    return path


# ---- usage: status 2 -------------------------------------------------------

@pytest.mark.parametrize("command", ["show", "profile"])
def test_no_source(command):
    text = cli.fails(2, command)
    assert "no SOURCE" in text and "access log" in text
    assert f"`kaadvisor {command} --help`" in text


@pytest.mark.parametrize("args, said", [
    (("--frobnicate",), "unknown option --frobnicate"),
    (("--frobnicate=5",), "unknown option --frobnicate"),
    (("-x",), "unknown option -x"),
    (("-qx",), "unknown option -x"),
    (("show", "--check"), "`kaadvisor show` has no option --check"),
    (("advise", "--rps", "5"), "`kaadvisor advise` has no option --rps"),
    (("formula", "--vhost", "a"), "`kaadvisor formula` has no option --vhost"),
    (("--output",), "--output needs a value"),
    (("-o",), "-o needs a value"),
    (("formula", "access.log"), 'takes no SOURCE, but got "access.log"'),
])
def test_options(args, said):
    text = cli.fails(2, *args)
    assert said in text
    if "SOURCE" not in text:
        assert "--help`" in text


def test_option_that_is_not_unique():
    """--time is --timeout or --timeouts: refused, not guessed."""
    assert "--time" in cli.fails(2, "--time", "5", "access.log")


@pytest.mark.parametrize("option, value, expected", [
    ("--output", "xml", "text, json or conf"),
    ("--output", "", "text, json or conf"),
    ("--output-file", "", "not an empty string"),
    ("--log-format", "", "not an empty string"),
    ("--vhost", "", "not an empty string"),
    ("--mpm", "itk", "prefork, worker or event"),
    ("--timeout", "soon", "such as 5, 400ms or off"),
    ("--timeout", "-1", "such as 5, 400ms or off"),
    ("--timeout", "5 apples", "such as 5, 400ms or off"),
    ("--timeout", "9999999999999999999", "such as 5, 400ms or off"),
    ("--memory", "much", "512K, 64M or 2G"),
    ("--memory", "0", "512K, 64M or 2G"),
    ("--process-memory", "4X", "512K, 64M or 2G"),
    ("--process-memory", "0", "512K, 64M or 2G"),
    ("--shared-memory", "-4M", "512K, 64M or 2G"),
    ("--proxy-idle", "0", "such as 60 or 350"),
    ("--proxy-idle", "x", "such as 60 or 350"),
    ("--max-request-workers", "0", "a whole number from 1 to 1000000"),
    ("--max-request-workers", "2.5", "a whole number from 1 to 1000000"),
    ("--max-request-workers", "1000001", "a whole number from 1 to 1000000"),
    ("--max-keepalive-requests", "-1", "0 for no limit"),
    ("--threads-per-child", "0", "a whole number from 1 to 1000000"),
    ("--reuse-loss", "51", "a percentage from 0 to 50"),
    ("--reuse-loss", "nan", "a percentage from 0 to 50"),
    ("--growth", "0", "a factor from 0.1 to 1000"),
    ("--growth", "inf", "a factor from 0.1 to 1000"),
    ("--timeouts", "1,two", "up to 64 timeouts"),
    ("--timeouts", ",", "up to 64 timeouts"),
    ("--timeouts", ",".join(["1"] * 65), "up to 64 timeouts"),
    ("--since", "yesterday", "a time such as"),
    ("--since", "2026-02-30", "a time such as"),
    ("--until", "2026-01-01T25:00", "a time such as"),
])
def test_values(option, value, expected, log):
    text = cli.fails(2, option, value, log)
    assert f"{option} {value or chr(34) * 2}: expected" in text
    assert expected in text


@pytest.mark.parametrize("option, value, expected", [
    ("--rps", "fast", "requests per second"),
    ("--rps", "-1", "requests per second"),
    ("--keepalive-requests", "x", "requests per connection")])
def test_values_of_formula(option, value, expected):
    text = cli.fails(2, "formula", option, value)
    assert f"{option} {value}: expected" in text and expected in text


@pytest.mark.parametrize("left_out, said", [
    ("--timeout", "formula needs --timeout S"),
    ("--rps", "formula needs --rps R"),
    ("--keepalive-requests", "formula needs --keepalive-requests K")])
def test_formula_misses_an_option(left_out, said):
    args = list(FORMULA)
    at = args.index(left_out)
    del args[at:at + 2]
    text = cli.fails(2, *args)
    assert said in text and "for example" in text


def test_formula_divides_by_nothing():
    assert "above 0" in cli.fails(2, "formula", "--timeout", "10", "--rps",
                                  "50", "--keepalive-requests", "0")


def test_show_has_no_configuration(log):
    text = cli.fails(2, "show", "--output", "conf", log)
    assert "--output conf" in text and "text or json" in text


def test_formula_has_no_configuration():
    text = cli.fails(2, *FORMULA, "--output", "conf")
    assert "--output conf" in text and "text or json" in text


@pytest.mark.parametrize("args", [("--help",), ("-h",), ("advise", "--help"),
                                  ("formula", "--help"), ("show", "-h"),
                                  ("--version",), ("show", "-V")])
def test_help_and_version_are_results(args):
    result = cli.run(*args)
    assert (result.status, result.err) == (0, b"")
    text = cli.clean(result.out)
    assert text.startswith("kaadvisor" if args[-1] in ("-h", "--help")
                           and len(args) == 1 or "-V" in args
                           or "--version" in args else "Usage: kaadvisor")
    assert max(map(len, text.splitlines())) <= 80 + 24


def test_help_lists_every_option_that_is_taken():
    text = cli.done("advise", "--help")
    for option in ("--output", "-o", "--log-format", "--vhost", "--mpm",
                   "--timeout", "--memory", "--process-memory", "--proxy-idle",
                   "--reuse-loss", "--timeouts", "--growth", "--since",
                   "--until", "--check", "--quiet", "--verbose", "--help",
                   "--version"):
        assert re.search(rf"(^|\s|,){option}\b", text, re.M), option


# ---- files: status 1 ---------------------------------------------------------

@pytest.mark.parametrize("command", ["advise", "show"])
def test_file_that_is_not_there(command, tmp_path):
    path = tmp_path / "none.log"
    text = cli.fails(1, command, path)
    assert str(path) in text and "No such file" in text


def test_file_that_may_not_be_read(log):
    """Root may read everything: then another user tries."""
    user = 65534 if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        program = shutil.copy(cli.KAADVISOR, directory)
        path = shutil.copy(log, directory)
        os.chmod(path, 0)
        done = subprocess.run([program, path], capture_output=True, user=user,
                              timeout=cli.PATIENCE, env=cli.environment(),
                              check=False)
    text = done.stderr.decode()
    assert (done.returncode, done.stdout) == (1, b"")
    assert path in text and "Permission denied" in text and "adm" in text


def test_directory(tmp_path):
    text = cli.fails(1, tmp_path)
    assert f"{tmp_path}: is a directory" in text
    assert f"{tmp_path}/access.log*" in text


def test_socket_is_no_log(tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))
        assert str(path) in cli.fails(1, path)


def test_one_of_several_files_is_not_there(log, tmp_path):
    assert "gone.log" in cli.fails(1, log, tmp_path / "gone.log")


@pytest.mark.parametrize("content", [b"", b"\n\n\r\n\n"])
def test_nothing_to_read(content, tmp_path):
    path = tmp_path / "empty.log"
    path.write_bytes(content)
    text = cli.fails(1, path)
    assert "no line to read" in text and "empty" in text


def test_nothing_on_standard_input():
    assert "no line to read" in cli.fails(1, "-")


def test_binary_garbage(tmp_path):
    path = tmp_path / "garbage"
    path.write_bytes(random.Random(1).randbytes(200_000))
    text = cli.fails(1, path)
    assert "--log-format 'LogFormat" in text


@pytest.mark.parametrize("command", ["advise", "show"])
def test_no_preset_fits(command, tmp_path):
    """File, line, column, what was expected, what stands there, what to do."""
    path = tmp_path / "app.log"
    path.write_text("".join(
        f'192.0.2.1 - - [01/Mar/2026:00:00:{i:02}] "GET / HTTP/1.1" 200 5\n'
        for i in range(30)))
    text = cli.fails(1, command, path)
    where = re.search(rf"{re.escape(str(path))}:(\d+):(\d+): (.*)", text)
    assert where, text
    assert where[1] == "1"
    assert where[2] == "15"
    assert "expected %t, a time" in where[3]
    assert 'found "[01/Mar/2026:00:00:00] ' in where[3]
    assert "Tried: " in text
    for preset in ("common", "combined", "combinedio", "vhost_common",
                   "vhost_combined", "ssl_request"):
        assert re.search(rf"\b{preset}\b", text), preset
    assert "--log-format 'LogFormat \"...\"'" in text


def test_given_format_does_not_fit(log):
    text = cli.fails(1, "--log-format", "vhost_combined", log)
    assert "300 of 300 lines do not follow the log format vhost_combined" in \
        text
    samples = re.findall(rf"{re.escape(str(log))}:(\d+):(\d+): expected", text)
    assert [line for line, _ in samples] == ["1", "2", "3", "4", "5"]
    assert "--log-format" in text and "detected" in text


def test_over_half_skipped(tmp_path):
    """100 lines fit; 100 others may be skipped, 101 may not."""
    path = tmp_path / "mixed.log"
    good = cli.combined(100)
    path.write_text(good + "other\n" * 100)
    assert cli.run("--log-format", "combined", path).status == 0
    path.write_text(good + "other\n" * 101)
    text = cli.fails(1, "--log-format", "combined", path)
    assert "101 of 201 lines" in text
    assert f"{path}:101:" in text


def test_detected_on_the_first_lines_but_not_the_rest(tmp_path):
    path = tmp_path / "changed.log"
    path.write_text(cli.combined(1000) + "something else\n" * 1100)
    text = cli.fails(1, path)
    assert "1100 of 2100 lines" in text
    assert "The first lines follow it" in text


def test_all_lines_are_kept_apart(log):
    text = cli.fails(1, "--since", "2030-01-01", log)
    assert "no request is left" in text and "outside_window 300" in text
    assert "--since" in text


# ---- formats -------------------------------------------------------------------

@pytest.mark.parametrize("text, column, named", [
    ("%h %Z %t", 4, "%Z"),
    ("%h %{Referer", 5, "brace"),
    ("%t %", 4, "%"),
    ("%h %>s", 7, "add %t"),
    ("%t %r%{User-Agent}i", 6, "%r"),
    ('LogFormat "%h %Q %t" mine', 15, "%Q"),
    ('LogFormat "%h %t', 11, "quote"),
    ("%{%Y-%m-%d %Q}t", 12, "%Q"),
    ("combinde", 1, "combinde"),
])
def test_wrong_format(text, column, named, log):
    said = cli.fails(1, "--log-format", text, log)
    place = re.search(r"column (\d+): (.*)", said)
    assert place, said
    assert int(place[1]) == column, said
    assert named in place[2]


def test_wrong_format_is_found_before_the_log_is_read(tmp_path):
    path = tmp_path / "big.log"
    path.write_text(cli.combined(10))
    assert "%Z" in cli.fails(1, "--log-format", "%t %Z", path)


# ---- output --------------------------------------------------------------------

def test_output_into_a_directory_that_is_not_there(log, tmp_path):
    text = cli.fails(1, "-o", tmp_path / "no" / "out.txt", log)
    assert "no/out.txt" in text and "No such file" in text


def test_full_disk(log):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    text = cli.fails(1, "-o", "/dev/full", log)
    assert "/dev/full" in text and "No space left" in text


# ---- what a log holds never reaches the terminal -------------------------------

EVIL = b"\x1b]0;owned\x07\x1b[31m\x9b1m\x00\x08\x7f\xe2\x80\xae\r"


def evil_log(path):
    """Escapes in requests and user agents, which are read, and lines that are
    nothing else, which are shown as skipped."""
    path = path / "access.log"
    lines = cli.combined(300).encode()
    path.write_bytes(lines.replace(b"GET /1", b"GET /" + EVIL).replace(
        b'"test"', b'"' + EVIL + b'"') + (EVIL + b"bad\n") * 20)
    return path


@pytest.mark.parametrize("command, output", [
    ("advise", "text"), ("advise", "json"), ("advise", "conf"),
    ("show", "text"), ("show", "json")])
def test_escapes_of_a_log(command, output, tmp_path):
    path = evil_log(tmp_path)
    result = cli.run(command, "--verbose", "--output", output, path)
    assert result.status == 0, result.err
    text = cli.clean(result.out)
    cli.clean(result.err)
    if output != "conf":
        assert "1b" in text  # shown, but as text


def test_escapes_in_an_error(tmp_path):
    path = tmp_path / "access.log"
    path.write_bytes((b"\x1b[2J" + EVIL + b"words\n") * 30)
    assert "expected" in cli.fails(1, path)
    assert "1b" in cli.fails(1, "--log-format", "combined", path)


@pytest.mark.parametrize("output", ["text", "json", "conf"])
def test_escapes_in_the_name_of_a_file(output, tmp_path):
    path = tmp_path / "a\x1b[31mlog\n"
    path.write_text(cli.combined(300))
    result = cli.run("--output", output, path)
    assert result.status == 0
    cli.clean(result.out)
    cli.clean(result.err)


def test_escapes_in_the_name_of_a_file_that_fails(tmp_path):
    path = tmp_path / "b\x1b[31mlog\n"
    assert "No such file" in cli.fails(1, path)
    path.write_text("words\n" * 30)
    assert "LogFormat" in cli.fails(1, path)
    path.unlink()
    path.mkdir()
    assert "directory" in cli.fails(1, path)


@pytest.mark.parametrize("option", ["--mpm", "--timeout", "--log-format",
                                    "--\x1b[31m", "--since"])
def test_escapes_in_an_argument(option, log):
    value = "\x1b[31m%"
    status = 1 if option == "--log-format" else 2
    cli.fails(status, option, value, log)

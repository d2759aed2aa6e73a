# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Files of any compression, in any order, damaged or not."""
import bz2
import gzip
import itertools
import json
import lzma
import os
import random
import shutil
import subprocess

import pytest

import cli

DEMO = cli.DEMO.read_bytes()
DEMO_ARGS = ("--log-format", cli.DEMO_FORMAT)


def zstd(data):
    if not shutil.which("zstd"):
        pytest.skip("no zstd command here")
    return subprocess.run(["zstd", "-q", "-c"], input=data, check=True,
                          capture_output=True, timeout=cli.PATIENCE).stdout


def xz(data):
    return lzma.compress(data, preset=0)


COMPRESSIONS = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress,
                "xz": xz, "zst": zstd}


@pytest.fixture(scope="module")
def demo():
    return cli.same(cli.report(*DEMO_ARGS, cli.DEMO))


def source(*args, **kwargs):
    return cli.report(*args, **kwargs)["source"]


# ---- compression ---------------------------------------------------------------

@pytest.mark.parametrize("name", ["access.log", "access.log.gz", "log.xz"])
@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_by_content_not_by_name(kind, name, tmp_path, demo):
    path = tmp_path / name
    path.write_bytes(COMPRESSIONS[kind](DEMO))
    assert cli.same(cli.report(*DEMO_ARGS, path)) == demo


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_standard_input(kind, demo):
    assert cli.same(cli.report(*DEMO_ARGS, "-",
                           stdin=COMPRESSIONS[kind](DEMO))) == demo


def test_standard_input_is_detected_too():
    text = cli.combined(3000).encode()
    assert source("-", stdin=text)["log_format"] == "combined"
    assert source("-", stdin=text)["parsed"] == 3000


def test_fifo(tmp_path, demo):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with subprocess.Popen(["cp", cli.DEMO, path]) as writer:
        report = cli.report(*DEMO_ARGS, path)
        assert writer.wait(cli.PATIENCE) == 0
    assert cli.same(report) == demo


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_concatenated_members(kind, tmp_path, demo):
    compress = COMPRESSIONS[kind]
    path = tmp_path / "log"
    middle = DEMO.index(b"\n", len(DEMO) // 2) - 30  # in the middle of a line
    path.write_bytes(compress(DEMO[:middle]) + compress(DEMO[middle:]))
    assert cli.same(cli.report(*DEMO_ARGS, path)) == demo


@pytest.fixture(scope="module")
def large():
    """2.8 MB that do not compress to nothing; bzip2 has blocks of 0.9 MB."""
    rng = random.Random(7)
    return "".join(line.replace('"test"', f'"{rng.getrandbits(200):x}"')
                   for line in cli.combined(20_000, step=0.1).splitlines(True)
                   ).encode()


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_truncated_archive(kind, large, tmp_path):
    """What came before the cut is read, and the cut is told."""
    data = COMPRESSIONS[kind](large)
    path = tmp_path / "access.log.gz"
    path.write_bytes(data[:len(data) * 3 // 4])
    report = cli.report(path)
    assert 5000 < report["source"]["parsed"] < 20_000
    damaged, = report["source"]["damaged"]
    assert str(path) in damaged and "cut or damaged" in damaged
    shown = cli.done(path)
    assert "cut or damaged" in " ".join(shown.split())


@pytest.mark.parametrize("kind", ["bz2", "xz"])
def test_damaged_archive(kind, large, tmp_path):
    data = bytearray(COMPRESSIONS[kind](large))
    data[len(data) * 3 // 4] ^= 0xff
    path = tmp_path / "access.log.gz"
    path.write_bytes(data)
    s = source(path)
    assert s["damaged"]
    assert 1000 < s["parsed"] < 20_000


def test_archive_cut_to_nothing(tmp_path):
    path = tmp_path / "access.log.gz"
    path.write_bytes(gzip.compress(DEMO)[:15])
    assert str(path) in cli.fails(1, *DEMO_ARGS, path)


# ---- several files -------------------------------------------------------------

def rotated(tmp_path):
    """Four files of one log, as logrotate leaves them."""
    lines = DEMO.splitlines(True)
    cuts = [0, 100, 301, 303, len(lines)]
    paths = []
    for i, (a, b) in enumerate(itertools.pairwise(cuts)):
        kind = ("gz", "bz2", "xz", "plain")[i]
        path = tmp_path / f"access.log.{i}"
        path.write_bytes(COMPRESSIONS[kind](b"".join(lines[a:b])))
        paths.append(path)
    return paths


def test_rotated_set_in_any_order(tmp_path, demo):
    paths = rotated(tmp_path)
    first = cli.report(*DEMO_ARGS, *paths)
    assert first["source"]["files"] == list(map(str, paths))  # by time
    # Where the cuts lie tells how many lines stand behind a later one.
    assert first["source"]["out_of_order"] <= demo["source"]["out_of_order"]
    for key in set(demo) - {"source"}:
        assert cli.same(first)[key] == demo[key], key
    for order in itertools.permutations(paths):
        assert cli.same(cli.report(*DEMO_ARGS, *order)) == cli.same(first), order


def test_file_and_standard_input(tmp_path, demo):
    lines = DEMO.splitlines(True)
    path = tmp_path / "old"
    path.write_bytes(b"".join(lines[:200]))
    report = cli.report(*DEMO_ARGS, "-", path, stdin=b"".join(lines[200:]))
    assert report["traffic"]["requests"] == demo["traffic"]["requests"]
    assert report["traffic"]["connections"] == demo["traffic"]["connections"]


def test_file_named_twice_is_read_once(tmp_path, demo):
    link = tmp_path / "link.log"
    link.symlink_to(cli.DEMO)
    assert cli.same(cli.report(*DEMO_ARGS, cli.DEMO, cli.DEMO, link)) == demo


def test_empty_file_in_a_set(tmp_path, demo):
    empty = tmp_path / "access.log"
    empty.write_bytes(b"")
    report = cli.report(*DEMO_ARGS, empty, cli.DEMO)
    assert cli.same(report)["traffic"] == demo["traffic"]


def test_many_files_need_few_descriptors(tmp_path):
    lines = cli.combined(600).splitlines(True)
    paths = []
    for i in range(300):
        paths.append(tmp_path / f"log.{i}")
        paths[-1].write_text("".join(lines[2 * i:2 * i + 2]))
    limited = ["sh", "-c", 'ulimit -n 32; exec "$0" "$@"', cli.KAADVISOR,
               "--output", "json", *paths]
    done = subprocess.run(limited, capture_output=True, timeout=cli.PATIENCE,
                          env=cli.environment(), check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["source"]["parsed"] == 600


# ---- lines -----------------------------------------------------------------------

@pytest.mark.parametrize("change", [
    lambda text: text.replace(b"\n", b"\r\n"),
    lambda text: text.replace(b"\n", b"\n\n"),
    lambda text: b"\n\r\n" + text.replace(b"\n", b"\r\n\r\n") + b"\n\n",
    lambda text: text[:-1],
], ids=["crlf", "blank", "both", "no-last-newline"])
def test_line_ends(change, tmp_path, demo):
    path = tmp_path / "log"
    path.write_bytes(change(DEMO))
    assert cli.same(cli.report(*DEMO_ARGS, path)) == demo


def test_cut_last_line(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(DEMO[:-60])
    s = source(*DEMO_ARGS, path)
    assert (s["lines"], s["parsed"], s["skipped"], s["cut"]) == (628, 627, 1,
                                                                 1)
    sample, = s["skipped_samples"]
    assert sample["line"] == 628
    assert "ends in the middle" in sample["reason"]


def test_file_that_begins_in_the_middle(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(DEMO[70:])
    s = source(*DEMO_ARGS, path)
    assert (s["lines"], s["parsed"], s["skipped"]) == (628, 627, 1)
    assert s["skipped_samples"][0]["line"] == 1


@pytest.mark.parametrize("length, fits", [(65536, True), (65537, False),
                                          (70_000, False), (3_000_000, False)])
def test_long_line(length, fits, tmp_path):
    line = cli.combined(1).replace("test", "{agent}").rstrip("\n")
    line = line.replace("{agent}", "x" * (length - len(line) + 7))
    assert len(line) == length
    path = tmp_path / "log"
    path.write_text(cli.combined(200) + line + "\n" + cli.combined(200, 300))
    s = source(path)
    assert (s["lines"], s["parsed"]) == (401, 401 if fits else 400)
    assert (s["skipped"], s["overlong"]) == ((0, 0) if fits else (1, 1))
    if not fits:
        sample, = s["skipped_samples"]
        assert sample["line"] == 201
        assert "longer than 65536 bytes" in sample["reason"]


def test_long_line_without_an_end(tmp_path):
    path = tmp_path / "log"
    path.write_text(cli.combined(200) + "x" * 200_000)
    s = source(path)
    assert (s["lines"], s["parsed"], s["overlong"]) == (201, 200, 1)


def test_nul_bytes(tmp_path):
    """A crash of the machine leaves blocks of NUL in a log."""
    path = tmp_path / "log"
    path.write_bytes(cli.combined(200).encode() + bytes(4096) + b"\n"
                     + cli.combined(200, 300).encode())
    s = source(path)
    assert (s["lines"], s["parsed"], s["skipped"]) == (401, 400, 1)
    assert "\\x00" in s["skipped_samples"][0]["reason"]


def test_nul_within_a_text_item(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(cli.combined(200).encode().replace(b"test", b"te\0st"))
    assert source(path)["parsed"] == 200


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(cli.combined(200).encode().replace(
        b"test", bytes(range(0x80, 0x100))))
    assert source(path)["parsed"] == 200


def test_byte_order_mark(tmp_path):
    """It costs at most the first line, never the log."""
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbf" + cli.combined(200).encode())
    s = source(path)
    assert s["lines"] == 200
    assert s["parsed"] >= 199


def test_lines_in_any_order_of_time(tmp_path):
    """httpd logs the start of a request and writes at its end."""
    lines = DEMO.splitlines(True)
    shuffled = []
    rng = random.Random(3)
    for i in range(0, len(lines), 8):
        block = lines[i:i + 8]
        rng.shuffle(block)
        shuffled += block
    path = tmp_path / "log"
    path.write_bytes(b"".join(shuffled))
    ordered, report = (cli.report(*DEMO_ARGS, p) for p in (cli.DEMO, path))
    assert report["source"]["out_of_order"] > 100
    late = report["source"]["late"]
    if late == 0:
        assert report["traffic"] == ordered["traffic"]
    assert report["traffic"]["requests"] == 626


# ---- what is read ------------------------------------------------------------------


@pytest.mark.parametrize("args, requests", [
    (("--since", "2026-03-01T12:00"), 720),
    (("--until", "2026-03-01T12:00"), 720),
    (("--since", "2026-03-01T06:00:00Z", "--until", "2026-03-01T18:00"), 720),
    (("--since", "2026-03-01T06:00:00+01:00", "--until",
      "2026-03-01T06:00:00Z"), 60),
    (("--since", "2026-03-01", "--until", "2026-03-02"), 1440),
    (("--since", "@1772323200", "--until", "@1772323260"), 1),
])
def test_since_until(args, requests, day):
    report = cli.report(*args, day)
    assert report["traffic"]["requests"] == requests
    assert report["traffic"]["excluded"]["outside_window"] == 1440 - requests
    assert report["source"]["lines"] == 1440


def test_since_moves_first_and_last(day):
    s = source("--since", "2026-03-01T06:00", "--until", "2026-03-01T07:00",
               day)
    assert (s["first"], s["last"]) == ("2026-03-01T06:00:00Z",
                                       "2026-03-01T06:59:00Z")


@pytest.mark.parametrize("vhost", ["a.example", "A.Example", "a.example:80"])
def test_vhost(vhost, tmp_path):
    path = tmp_path / "log"
    path.write_text("".join(
        ("a.example" if i % 3 else "b.example") + ":80 " + line
        for i, line in enumerate(cli.combined(300).splitlines(True))))
    report = cli.report("--vhost", vhost, path)
    assert report["traffic"]["requests"] == 200
    assert report["traffic"]["excluded"]["other_vhost"] == 100


def test_vhost_that_is_not_in_the_log(tmp_path):
    path = tmp_path / "log"
    path.write_text("".join("a.example:80 " + line for line in
                            cli.combined(300).splitlines(True)))
    assert "--vhost" in cli.fails(1, "--vhost", "c.example", path)


def test_every_vhost_is_told(tmp_path):
    path = tmp_path / "log"
    path.write_text("".join(
        ("a.example" if i % 3 else "b.example") + ":80 " + line
        for i, line in enumerate(cli.combined(300).splitlines(True))))
    vhosts = {v["name"]: v["requests"]
              for v in cli.report(path)["traffic"]["vhosts"]}
    assert vhosts == {"a.example": 200, "b.example": 100}

# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Large logs: threads change nothing, compression neither, memory is bounded."""
import os
import pathlib
import shutil
import subprocess

import pytest

import cli

HERE = pathlib.Path(__file__).resolve().parent
GENERATOR = HERE.parent / "bench" / "gen_log.c"


@pytest.fixture(scope="module")
def generate(tmp_path_factory):
    """Writes a log of a shape (gen_log.c) and returns its path."""
    place = tmp_path_factory.mktemp("large")
    binary = place / "gen_log"
    subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-o", binary, GENERATOR,
                    "-lm"], check=True)

    def make(lines, clients, shape="sorted", seed=1):
        path = place / f"{shape}-{lines}-{clients}-{seed}.log"
        if not path.exists():
            with open(path, "wb") as out:
                subprocess.run([binary, str(lines), str(clients), str(seed),
                                shape], stdout=out, check=True)
        return path
    return make


def advise(*args, stdin=subprocess.DEVNULL):
    """The report as an object, without what the clock says; and the memory
    peak in MB."""
    report, peak = cli.measured(*args, stdin=stdin)
    del report["generated_at"]
    return report, peak


def without_files(report):
    del report["source"]["files"]
    return report


@pytest.mark.parametrize("shape", ["sorted", "shuffled", "distinct"])
def test_threads_change_nothing(generate, shape):
    log = generate(120000, 5000, shape)
    one, _ = advise("--threads", "1", log)
    for threads in ("2", "3", "8"):
        assert advise("--threads", threads, log)[0] == one


def test_no_thread_is_refused(generate):
    assert "--threads" in cli.fails(2, "--threads", "0", generate(1000, 100))


@pytest.mark.parametrize("tool, suffix", [("gzip", ".gz"), ("zstd", ".zst"),
                                          ("xz", ".xz"), ("bzip2", ".bz2")])
def test_compression_changes_nothing(generate, tool, suffix):
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    log = generate(60000, 3000)
    packed = log.with_suffix(".log" + suffix)
    subprocess.run([tool, "-k", "-f", "-1", log], check=True)
    plain, _ = advise(log)
    assert without_files(advise(packed)[0]) == without_files(plain)


def test_standard_input_changes_nothing(generate):
    log = generate(60000, 3000)
    plain, _ = advise(log)
    with open(log, "rb") as stdin:
        assert without_files(advise("-", stdin=stdin)[0]) == \
            without_files(plain)


def test_two_pipes_are_one_log(generate, tmp_path):
    """Where the second one begins is not known while the first is read."""
    log = generate(60000, 3000)
    lines = log.read_bytes().splitlines(keepends=True)
    halves = [tmp_path / "odd", tmp_path / "even"]
    for i, half in enumerate(halves):
        half.write_bytes(b"".join(lines[i::2]))
    pipes = [half.with_suffix(".pipe") for half in halves]
    writers = []
    for half, pipe in zip(halves, pipes):
        os.mkfifo(pipe)
        writers.append(subprocess.Popen(["sh", "-c", 'cat "$0" > "$1"', half,
                                         pipe]))
    piped, _ = advise(*pipes)
    for writer in writers:
        assert writer.wait(timeout=cli.PATIENCE) == 0
    files, _ = advise(*halves)
    assert piped["source"]["late"] == files["source"]["late"] == 0
    assert piped["timeouts"] == files["timeouts"]


def test_lines_out_of_order_change_no_request(generate):
    """Lines 5,000 places from theirs in the mean.  All are counted; those that
    come over ten minutes late are told, and can be a connection more each."""
    sorted_, _ = advise(generate(120000, 5000))
    shuffled, _ = advise(generate(120000, 5000, "shuffled"))
    assert shuffled["traffic"]["requests"] == sorted_["traffic"]["requests"]
    assert shuffled["source"]["parsed"] == 120000
    late = shuffled["source"]["late"]
    assert late < 0.05 * 120000
    opened = [report["timeouts"][8]["connections"]["high"]
              for report in (sorted_, shuffled)]
    assert abs(opened[1] - opened[0]) <= late


@pytest.mark.parametrize("shape, clients", [("sorted", 400000),
                                            ("distinct", 1)])
def test_memory_does_not_grow_with_the_log(generate, shape, clients):
    """The second log has four times the lines and clients of the first."""
    small = advise(generate(200000, max(clients // 4, 1), shape))[1]
    large = advise(generate(800000, clients, shape))[1]
    # Of `distinct`, 800,000 clients are there at once: 112 bytes each.
    assert large < 200
    if shape == "sorted":
        assert large < 1.5 * small


def test_clients_forgotten_early_are_told(generate):
    """1.2 million clients at once are more than there is room for."""
    report, memory = advise(generate(1200000, 1, "distinct"))
    assert memory < 256
    assert report["source"]["forgotten"] > 100000
    assert "clients_forgotten" in [w["id"] for w in report["warnings"]]
    assert report["traffic"]["requests"] == 1200000
    assert report["traffic"]["clients_estimated"]
    clients = report["traffic"]["clients"]
    assert abs(clients - 1200000) < 0.06 * 1200000

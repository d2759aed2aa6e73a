# Licensed under the Apache License, Version 2.0; see LICENSE.
"""`advise --output conf -o FILE`: asked of httpd first, what was there kept,
and told how to apply it and to go back."""
import os
import re
import subprocess

import pytest

import cli
from httpd import MPMS, PATIENCE, LogHttpd, wait_for
from kastats_env import APACHE

# An advice that is the same whatever the configuration has.
FACTS = ("--log-format", cli.DEMO_FORMAT, "--memory", "1G",
         "--process-memory", "20M", "--timeout", "15", "--output", "conf")


def write(out, *args, status=0):
    """What stderr says."""
    result = cli.run(*FACTS, "-o", out, *args, cli.DEMO)
    assert (result.status, result.out) == (status, b""), result.err
    return cli.clean(result.err)


def names(directory):
    return sorted(p.name for p in directory.iterdir())


def commands(text):
    """The commands that stand on lines of their own, in order."""
    return re.findall(r"^    (\S.*)$", text, re.M)


def head_commands(conf):
    """Those in the file's head."""
    return re.findall(r"^# {18}(\S.*)$", conf.read_text(), re.M)


def shell(command):
    done = subprocess.run(["sh", "-c", command], capture_output=True,
                          text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, (command, done.stderr)
    return done.stderr


# ---- what is kept ----------------------------------------------------------

def test_each_content_is_kept_once(tmp_path):
    out = tmp_path / "mpm.conf"
    for i, old in enumerate(("KeepAlive Off\n", "# mine\n", "KeepAlive Off\n")):
        out.write_text(old)
        name = ("mpm.conf.bak", "mpm.conf.bak.1", "mpm.conf.bak")[i]
        text = write(out)
        assert f"{'already in' if i == 2 else 'kept as'} " \
               f"{tmp_path / name}\n" in text
        assert (tmp_path / name).read_text() == old
        assert "KeepAliveTimeout" in out.read_text()
    assert names(tmp_path) == ["mpm.conf", "mpm.conf.bak", "mpm.conf.bak.1"]


def test_the_same_settings_are_not_written_again(tmp_path):
    out = tmp_path / "mpm.conf"
    write(out)
    before = out.stat()
    text = write(out)
    assert "it stays as it is, and nothing is kept" in text
    assert out.stat() == before
    assert names(tmp_path) == ["mpm.conf"]


def test_what_cannot_be_kept_is_not_written_over(tmp_path):
    out = tmp_path / "mpm.conf"
    with out.open("wb") as f:
        f.truncate(9 << 20)
    text = write(out, status=1)
    assert "cannot be kept" in text
    assert out.stat().st_size == 9 << 20
    assert names(tmp_path) == ["mpm.conf"]


def test_other_outputs_keep_nothing(day, tmp_path):
    out = tmp_path / "out.json"
    out.write_text("old")
    cli.done("--output", "json", "-o", out, day)
    assert names(tmp_path) == ["day.log", "out.json"]


def test_no_file_is_no_place(tmp_path):
    """A device, standard output: as ever."""
    write("/dev/null")
    result = cli.run(*FACTS, "-o", "-", cli.DEMO)
    assert result.status == 0
    assert b"KeepAliveTimeout" in result.out
    assert b"Apply:" in result.out


def test_without_a_server_it_is_said_that_nothing_was_checked(tmp_path):
    text = write(tmp_path / "mpm.conf")
    assert "not checked by httpd" in text and "--httpd-config" in text
    assert cli.run("--quiet", *FACTS, "-o", tmp_path / "q.conf",
                   cli.DEMO).err == b""


# ---- a server that runs ----------------------------------------------------

@pytest.fixture(params=MPMS)
def httpd(request):
    with LogHttpd(request.param, conf="KeepAliveTimeout 3") as server:
        yield server


def main(httpd):
    return httpd.root / "httpd.conf"


def test_the_commands_do_what_they_say(httpd, tmp_path):
    """Include, check, way back, each as told."""
    out = tmp_path / "mpm.conf"
    os.chmod(tmp_path, 0o755)
    text = write(out, "--httpd-config", main(httpd))
    assert f"{out}: httpd -t accepts" in text
    line, check, *_ = commands(text)
    assert commands(text)[:2] == head_commands(out)[:2]
    assert f"at the end of {main(httpd)}:" in text
    assert line == f'Include "{out}"'
    assert check.startswith(f"{APACHE} ") and check.endswith(" -t")
    assert str(httpd.root) in check
    original = main(httpd).read_text()
    main(httpd).write_text(f"{original}\n{line}\n")
    assert "Syntax OK" in shell(check)
    facts = cli.report("--httpd-config", main(httpd), "--log-format",
                       cli.DEMO_FORMAT, cli.DEMO)["server"]
    timeout = facts["keep_alive_timeout_s"]
    assert timeout["origin"].startswith(f"{out}:")
    assert timeout["value"] != 3
    # Now it is included: other settings come, and go again.
    out.write_text("KeepAliveTimeout 4\n")
    text = write(out, "--httpd-config", main(httpd))
    assert "reads this file already" in text
    back = commands(text)[-1]
    assert back == f"cp {out}.bak {out}"
    assert head_commands(out)[-1] == back
    shell(back)
    assert out.read_text() == "KeepAliveTimeout 4\n"
    assert "Syntax OK" in shell(check)


def test_what_comes_behind_wins_and_is_named(httpd, tmp_path):
    out = tmp_path / "mpm.conf"
    os.chmod(tmp_path, 0o755)
    out.write_text("# nothing yet\nKeepAlive On\n")
    original = main(httpd).read_text()
    main(httpd).write_text(f'Include "{out}"\n{original}')
    number = main(httpd).read_text().splitlines().index(
        "KeepAliveTimeout 3") + 1
    text = write(out, "--httpd-config", main(httpd))
    assert "come behind it and win" in text
    assert f"KeepAliveTimeout 3 ({main(httpd)}:{number})" in text
    head = re.sub(r"\n# +", " ", out.read_text())
    assert f"KeepAliveTimeout 3 ({main(httpd)}:{number})" in head


def test_a_pattern_reads_a_file_that_is_new(httpd, tmp_path):
    os.chmod(tmp_path, 0o755)
    with main(httpd).open("a") as f:
        f.write(f'\nIncludeOptional "{tmp_path}/*.conf"\n')
    out = tmp_path / "mpm.conf"
    text = write(out, "--httpd-config", main(httpd))
    assert "reads this file already" in text
    assert commands(text)[-1] == f"rm {out}"


def test_what_httpd_refuses_takes_no_place(httpd, tmp_path):
    """The configuration of the server no longer holds."""
    out = tmp_path / "mpm.conf"
    os.chmod(tmp_path, 0o755)
    original = main(httpd).read_text()
    for old in (None, "KeepAlive Off\n"):
        if old:
            out.write_text(old)
        main(httpd).write_text(original + "\nNoSuchDirective On\n")
        try:
            text = write(out, "--httpd-config", main(httpd), status=1)
        finally:
            main(httpd).write_text(original)
        assert "as it is, before anything is added" in text
        assert "NoSuchDirective" in text
        assert f"{out} {'stays as it was' if old else 'is not written'}" \
            in text
        rejected = tmp_path / "mpm.conf.rejected"
        assert "KeepAliveTimeout" in rejected.read_text()
        assert names(tmp_path) == \
            (["mpm.conf"] if old else []) + ["mpm.conf.rejected"]
        if old:
            assert out.read_text() == old


@pytest.mark.parametrize("mpm", MPMS)
def test_the_reload_command_reloads(mpm, tmp_path):
    """Where the limits are those advised and only a timeout changes."""
    os.chmod(tmp_path, 0o755)
    out = tmp_path / "mpm.conf"
    with LogHttpd(mpm, conf=f'IncludeOptional "{tmp_path}/*.conf"') as httpd:
        text = write(out, "--httpd-config", main(httpd))
        # Of these, prefork alone has the ServerLimit that is advised.
        assert ("Reload:" in text) == (mpm == "prefork")
        httpd.stop()
        out.write_text(re.sub(r"^KeepAliveTimeout .*", "KeepAliveTimeout 2",
                              out.read_text(), flags=re.M))
        httpd.start()
        text = write(out, "--httpd-config", main(httpd))
        assert "Reload:" in text
        _, reload, _ = commands(text)
        before = httpd.generations()
        shell(reload)
        wait_for(lambda: httpd.generations() > before, "a reload")

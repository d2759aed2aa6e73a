# Licensed under the Apache License, Version 2.0; see LICENSE.
"""The model of httpd's spawning (advisor/model/spawn.c), run by itself."""
import collections
import subprocess

import cli

Second = collections.namedtuple("Second", "children waiting")


def model(tmp_path, mpm, numbers, holders):
    """Each second's Second; numbers: threads, StartServers, MinSpare,
    MaxSpare, MaxRequestWorkers."""
    flags = subprocess.run(["apr-1-config", "--includes", "--cppflags",
                            "--link-ld", "--libs"], capture_output=True,
                           text=True, check=True).stdout.split()
    binary = tmp_path / "spawn_run"
    sources = ("test/e2e/spawn_run.c", "advisor/model/spawn.c",
               "modules/core/ka_mpm.c")
    if not binary.exists():
        subprocess.run(
            ["cc", "-std=c11", "-D_GNU_SOURCE", "-O1",
             f"-I{cli.ROOT}/advisor", f"-I{cli.ROOT}/modules/core",
             *(cli.ROOT / s for s in sources), "-o", binary, *flags],
            check=True)
    done = subprocess.run([binary, mpm, *map(str, numbers)],
                          input=" ".join(map(str, holders)),
                          capture_output=True, text=True, check=True)
    return [Second(*map(int, line.split()))
            for line in done.stdout.splitlines()]

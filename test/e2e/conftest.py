# Licensed under the Apache License, Version 2.0; see LICENSE.
"""Fixtures of all end-to-end tests."""
import os
import pathlib

import pytest

import cli


@pytest.fixture(scope="session")
def whole_logs():
    """The directory of the whole real logs; only excerpts are shipped."""
    path = os.environ.get("KA_LOGS")
    if not path:
        pytest.skip("KA_LOGS is not set: it names a directory with the whole "
                    "real logs, of which test/data/logs holds excerpts")
    path = pathlib.Path(path)
    assert path.is_dir(), f"KA_LOGS={path}: no such directory"
    return path


@pytest.fixture
def day(tmp_path):
    """1 March 2026, a request each minute."""
    path = tmp_path / "day.log"
    path.write_text(cli.DAY)
    return path

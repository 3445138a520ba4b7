"""The tests of a ledger's files again, without `fcntl`, `/proc` and what else only POSIX has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ledger import without_posix

ROOT = Path(__file__).parents[2]
FILES = ("test_ledger_sqlite.py", "test_ledger_place.py")


@pytest.mark.skipif(without_posix.NAME in os.environ, reason="this is that run")
@pytest.mark.parametrize(
    ("files", "chosen", "least"),
    [
        (
            FILES,
            "not postgres and not fresh_file_system and not this_system and not every_process",
            60,
        ),
        (("test_ledger_load.py",), "killed_anywhere and sqlite", 1),
    ],
    ids=["suite", "load"],
)
def test_a_ledger_needs_nothing_of_posix(files, chosen, least):
    paths = [f"tests/ledger/{name}" for name in files]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", *paths, "-k", chosen],
        cwd=ROOT,
        env={**os.environ, without_posix.NAME: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(last.split(" passed")[0].split()[-1]) >= least, last

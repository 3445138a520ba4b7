"""The command opens the paper's room when it is asked for, and not before."""

import json
import subprocess
import sys

import pytest
from pyarrow import csv

from discreet.errors import InputError
from discreet.paper.data import load
from tests.cohorts import cohort
from tests.test_cli import SCHEMA

ASK = "fit people.csv --schema schema.toml --epsilon 1 --no-ledger --out {0}.json --mechanism {0}"
CODE = """
import sys
from discreet.cli import main
sys.argv = ["discreet", *sys.argv[1:]]
try:
    main()
finally:
    print("opened" if "discreet.paper" in sys.modules else "closed", file=sys.stderr)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("paper")
    (place / "schema.toml").write_text(SCHEMA)
    csv.write_csv(cohort(people=30), place / "people.csv")
    return place


def command(folder, arguments):
    """Exit status, what was said, and whether the room was opened, in a process of its own."""
    asked = [sys.executable, "-c", CODE, *arguments.split()]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
    said, _, door = done.stderr.rstrip().rpartition("\n")
    return done.returncode, done.stdout + said, door


def test_the_sampler_is_released_with_consent_and_its_release_audited(folder):
    status, said, _ = command(folder, ASK.format("sampler"))
    assert status == 2
    assert "--accept-approximate" in said
    status, said, door = command(folder, f"{ASK.format('sampler')} --accept-approximate")
    assert (status, door) == (0, "opened"), said
    release = json.loads((folder / "sampler.json").read_text())
    assert release["guarantee"]["status"] == "ideal-draw-only"
    assert release["mechanism"]["sampler"]["variant"] == "corrected"
    status, said, _ = command(folder, "audit sampler.json")
    assert status == 0, said


def test_nothing_else_opens_the_room(folder):
    asked = (
        ASK.format("newton"),
        "plan --schema schema.toml --persons 900 --events 90 --epsilon 1",
    )
    for arguments in asked:
        status, said, door = command(folder, arguments)
        assert (status, door) == (0, "closed"), said
        assert "sampler" not in said


def test_an_unknown_data_set_is_one_sentence():
    with pytest.raises(InputError, match="no data set 'XX'; there are FL, TB, WT, SB, hdfail"):
        load("XX")

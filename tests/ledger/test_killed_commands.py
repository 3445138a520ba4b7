"""SIGKILL of the real `discreet fit` and `discreet curves` at every named point of a release."""

import json
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import csv as arrow_csv

from discreet.documents.read import read_document
from discreet.ledger import Ledger
from discreet.ledger.book import Head
from discreet.ledger.stored import ReleaseClaim
from discreet.points import ReleasePoint
from tests.cohorts import cohort

SCRIPT = Path(__file__).with_name("killed_commands.py")
SCHEMA = """
time = { duration = "time", event = "status", horizon = 24.0, intervals = 6 }
covariate = [{ name = "arm", levels = ["a", "b", "c"] }]
"""
COMMANDS = {
    "fit": "fit people.csv --schema schema.toml --epsilon 0.5",
    "curves": "curves people.csv --schema schema.toml --by arm --epsilon 0.5",
}
UNPAID = (ReleasePoint.RESERVE_ASKED, ReleasePoint.RESERVE_LOCKED, ReleasePoint.RESERVE_APPENDED)
PUBLISHED = list(ReleasePoint)[list(ReleasePoint).index(ReleasePoint.RELEASE_RENAMED) :]
SETTLED = (ReleasePoint.SETTLE_COMMITTED, ReleasePoint.SETTLE_WITNESSED)


@pytest.fixture(scope="module", params=COMMANDS)
def killed(request, tmp_path_factory):
    """The folder after all kills, and how each process ended."""
    folder = tmp_path_factory.mktemp(request.param)
    arrow_csv.write_csv(cohort(people=60), folder / "people.csv")
    (folder / "schema.toml").write_text(SCHEMA)
    Ledger(folder / "budget.db").initialise("people", 30, "1e-6")
    settings = {"folder": str(folder), "words": COMMANDS[request.param].split()}
    done = subprocess.run(
        [sys.executable, SCRIPT, json.dumps(settings)], capture_output=True, text=True, check=True
    )
    return folder, json.loads(done.stdout.splitlines()[-1])


def test_every_point_is_reached_and_kills(killed):
    _, ends = killed
    assert ends.pop("warm") == [0]
    assert {point: first for point, (first, _) in ends.items()} == dict.fromkeys(
        ReleasePoint, -signal.SIGKILL
    )


def test_what_was_not_charged_can_be_asked_again_and_nothing_else_is_drawn_again(killed):
    """Exit status 4 is the ledger's refusal: one charge pays for one draw."""
    _, ends = killed
    expected = {point: 0 if point in UNPAID else 4 for point in ReleasePoint}
    assert {point: ends[point][1] for point in ReleasePoint} == expected


def test_nothing_is_published_that_was_not_charged_first(killed):
    folder, _ = killed
    ledger = Ledger(folder / "budget.db")
    lines = {line.request.release_id: line for line in ledger.show().charges}
    assert len(lines) == len(
        ReleasePoint
    )  # each is charged once: by the first attempt or by the second
    for number, point in enumerate(ReleasePoint):
        path, line = folder / f"{number}.json", lines[f"release-{number}"]
        assert path.exists() == (point in UNPAID or point in PUBLISHED)
        assert (line.digest is not None) == (point in UNPAID or point in SETTLED)
        if path.exists():
            found = read_document(path)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert found.guarantee == line.request.guarantee
            claim = ReleaseClaim(
                found.release_id, Head.parse(found.ledger), found.guarantee, found.digest
            )
            assert ledger.verify(claim).problems == ()
    assert ledger.verify().sound


def test_what_a_kill_leaves_half_written_has_no_name_and_is_private(killed):
    folder, _ = killed
    left = list(folder.glob(".*.part"))
    assert len(left) <= 2  # written and not named; named and not yet freed of its first name
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in left)

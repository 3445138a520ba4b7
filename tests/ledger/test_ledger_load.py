"""Real processes at once, killed with SIGKILL at every named point: nothing overspent or unpaid.

Reduced counts; `evidence/ledger.py` runs 10,000 requests with 16 processes on each backend.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from discreet.ledger import Ledger
from discreet.points import ReleasePoint, reach
from tests.ledger.ledger_load import MUST_BE_ZERO, Load

ROOT = Path(__file__).parents[2]


def run(location, folder, epsilon, **settings):
    """The harness in a process of its own: it forks, which a test runner must not."""
    Ledger(location).initialise("load", epsilon, "1e-6")
    load = Load(location=location, folder=str(folder), **settings)
    path = folder / "settings.json"
    path.write_text(json.dumps(asdict(load)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.ledger.ledger_load", str(path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    return json.loads(done.stdout)


def test_killed_anywhere_the_ledger_holds(location, tmp_path):
    found = run(location, tmp_path, 0.5, processes=4, requests=150, kill_share=0.5, blind_kills=4)
    assert {name: found[name] for name in MUST_BE_ZERO} == dict.fromkeys(MUST_BE_ZERO, 0)
    assert found["problems"] == []
    assert found["requests"] == 150
    assert found["refused"] > 0
    assert all(found["killed"][point] > 0 for point in ReleasePoint)
    assert found["sigkills"] >= sum(found["killed"].values())


@pytest.mark.parametrize(
    ("sabotage", "symptoms"),
    [
        ("retries may draw", {"releases of one charge twice"}),
        ("nothing is written", {"uncharged releases", "lost reserves"}),
        ("the budget is not looked at", {"overspends"}),
        ("half the budget is kept back", {"wrong refusals"}),
    ],
)
def test_the_harness_notices_a_broken_ledger(tmp_path, sabotage, symptoms):
    settings = {"processes": 2, "requests": 30, "kill_share": 0.3, "sabotage": sabotage}
    found = run(str(tmp_path / "x.ledger"), tmp_path, 0.2, **settings)
    assert symptoms <= {name for name in MUST_BE_ZERO if found[name]}


def test_points_are_silent_unless_a_test_listens(monkeypatch):
    monkeypatch.setenv("DISCREET_POINTS", "reserve: asked")
    for point in ReleasePoint:
        assert reach(point) is None

"""Tables of pages are what their results files say."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def study(monkeypatch):
    """A study by name, with those beside it importable."""
    monkeypatch.syspath_prepend(str(STUDIES))

    def load(name):
        sys.modules.pop(name, None)
        return importlib.import_module(name)

    return load


@pytest.mark.parametrize("name", ["plan", "cox"])
def test_a_table_is_made_from_its_results(study, name):
    made = study(name)
    assert made.tables() in made.PAGE.read_text()


def test_four_in_five_standard_errors_are_predicted_within_a_factor(study):
    plan = study("plan")
    chosen = [row for row in plan.rows() if row["kind"] == "development" and plan.reached(row)]
    assert len({row["set"] for row in chosen}) == 8
    found = plan.ratios(chosen)
    assert plan.share(found) >= 0.8
    assert 0.8 < np.median(found) < 1.25

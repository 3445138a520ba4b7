"""The table of docs/schema.md on private strata is made of the committed draws."""

import importlib
from pathlib import Path

import pytest

from discreet import Schema

ROOT = Path(__file__).parents[2]


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "studies")
    return importlib.import_module("strata")


def test_the_guide_has_the_table_of_the_results(study):
    guide = (ROOT / "docs" / "schema.md").read_text()
    assert "\n".join(study.table(study.read())) in guide


def test_strata_stay_within_reach_of_one_baseline(study):
    """Medians: noise grows with the root of d; a small stratum may cost as much again."""
    rows = study.read()
    for name in study.SETS:
        for epsilon in study.EPSILONS:
            cell = [r for r in rows if r["set"] == name and float(r["epsilon"]) == epsilon]
            one, each = (study.summary(cell, strata=strata) for strata in (False, True))
            grown = (int(each[0]) / int(one[0])) ** 0.5
            assert float(each[1]) < 2.0 * grown * float(one[1])
            assert float(each[2].rstrip("%")) >= 85


def test_groups_become_strata(study):
    sample = study.hospitals(1.0, people=50)
    schema = Schema.from_mapping(study.stratified(sample).schema)
    assert schema.strata.levels == ("A", "B", "C")
    assert [item.name for item in schema.covariates] == ["age", "sex", "stage"]

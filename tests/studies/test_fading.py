"""The guide's numbers of effects that fade are those of the committed draws."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import discreet as ds

ROOT = Path(__file__).parents[2]


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "studies")
    return importlib.import_module("fading")


def test_the_guide_has_the_tables_of_the_results(study):
    guide = (ROOT / "docs" / "guide.md").read_text()
    assert "\n".join(study.table(study.read())) in guide
    assert "\n".join(study.real_table(study.read(study.REAL))) in guide


def test_intervals_hold_the_truth_as_often_as_they_say(study):
    """0.93 to 0.98 on average; one effect for all time holds no period's."""
    rows = study.read()
    for kind in study.KINDS:
        for epsilon in {row["epsilon"] for row in rows if row["registry"] == kind}:
            cell = [r for r in rows if r["registry"] == kind and r["epsilon"] == epsilon]
            inside, survival, lasting = study.summary(cell)
            assert len(cell) >= 100
            assert 0.93 <= inside.mean() <= 0.98
            assert 0.93 <= survival <= 0.98
            assert lasting < 0.5
            assert inside.min() > 0.95 - 4 * np.sqrt(0.95 * 0.05 / len(cell))


def test_the_guides_reading_of_the_real_set(study):
    """The sign of the receptor's effect turns; the tumour's size stays within its intervals."""
    found = study.powered(study.read(study.REAL))
    one, early, _, late = (
        found[name]
        for name in ("log(receptor)", *(f"log(receptor) {word}" for word in study.WORDS))
    )
    assert early[2] < one[1]
    assert late[1] > 1.0
    assert round(one[0], 2) == 0.84
    large = found["size[>50mm]"][0]
    for word in study.WORDS:
        _, lower, upper = found[f"size[>50mm] {word}"]
        assert lower < large < upper


@pytest.mark.parametrize("kind", ["one row", "late entry", "several rows", "smooth"])
def test_registries_are_what_they_say(study, kind):
    people = study.registry(kind, 400, seed=1)
    schema = ds.Schema.from_mapping(study.schema(kind))
    assert schema.changing == ("stage",)
    assert ds.check(people, schema).report.repairs == ()
    rows = people.num_rows
    assert rows > 400 if kind == "several rows" else rows == 400


@pytest.mark.filterwarnings("ignore")
def test_the_real_numbers_are_made_again(study):
    pytest.importorskip("SurvSet")
    assert list(study.real_rows()) == study.read(study.REAL)

"""Tables of pages are what their results files say."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
TABLES = {
    "plan": lambda study: (study.PAGE, [study.tables()]),
    "cox": lambda study: (study.PAGE, [study.tables()]),
    "curves": lambda study: (study.PAGE, [study.page()]),
    "causes": lambda study: ("docs/accuracy.md", [study.table()]),
    "questions": lambda study: (study.PAGE, [study.page(study.RESULTS.rows())]),
    "strata": lambda study: ("docs/accuracy.md", ["\n".join(study.table(study.read()))]),
    "fading": lambda study: ("docs/accuracy.md", ["\n".join(study.table(study.read()))]),
}


@pytest.fixture
def study(monkeypatch):
    """A study by name, with those beside it importable."""
    monkeypatch.syspath_prepend(str(ROOT / "studies"))

    def load(name):
        sys.modules.pop(name, None)
        return importlib.import_module(name)

    return load


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_made_from_its_results(study, name):
    page, tables = TABLES[name](study(name))
    text = (ROOT / page).read_text(encoding="utf-8")
    assert all(table in text for table in tables)


def test_the_effects_of_a_real_set_are_those_of_its_results(study):
    fading = study("fading")
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert "\n".join(fading.real_table(fading.read(fading.REAL))) in text


def test_every_cell_of_curves_has_its_draws(study):
    assert len(study("curves").rows()) >= 16 * 20


def test_an_older_tree_answers_alike_and_several_causes_are_faster(study):
    rows = study("questions").RESULTS.rows()
    assert {row["same"] for row in rows} == {"yes"}
    assert len({row["question"] for row in rows}) > 300
    ratios = {row["question"]: float(row["ratio"]) for row in rows if row["ratio"]}
    one, two = (
        [v for name, v in ratios.items() if f"levels/{n}/" in name and "scores" in name]
        for n in (1, 2)
    )
    assert len(one) == len(two) == 4
    assert max(one) <= 1.1
    assert max(two) <= 1 / 5


def test_another_integer_or_sensitivity_is_noticed(study, tmp_path):
    """Both answers of a question are of this tree, but for one integer, or one sensitivity."""
    questions = study("questions")
    questions.golden.write_data(tmp_path)
    asked = questions.Asked("exits", "", "late", 2)
    answer, _ = questions.answered(questions.setting_of(asked, tmp_path))
    told = questions.told(answer, 900, 0.0)
    assert questions.row(asked, "base", [[told, told]])[6] == "yes"
    answer.integers[3] += 1
    for other in (questions.told(answer, 900, 0.0), told | {"squared": told["squared"] + 1}):
        assert questions.row(asked, "base", [[told, other]])[6] == "no"


def test_intervals_of_causes_hold_the_truth_and_errors_are_about_one(study):
    """Over all cells: 95 % intervals hold the truth at least nine times of ten."""
    rows = study("causes").read()
    held, asked = (sum(int(row[name]) for row in rows) for name in ("inside", "intervals"))
    assert held > 0.9 * asked
    assert sum(int(row["incidence"]) for row in rows) > 0.9 * 2 * len(rows)
    assert sorted(float(row["err"]) for row in rows)[len(rows) // 2] < 1.0


def test_strata_stay_within_reach_of_one_baseline(study):
    """Medians: noise grows with the root of d; a small stratum may cost as much again."""
    strata = study("strata")
    rows = strata.read()
    for name in strata.SETS:
        for epsilon in strata.EPSILONS:
            cell = [r for r in rows if r["set"] == name and float(r["epsilon"]) == epsilon]
            one, each = (strata.summary(cell, strata=several) for several in (False, True))
            grown = (int(each[0]) / int(one[0])) ** 0.5
            assert float(each[1]) < 2.0 * grown * float(one[1])
            assert float(each[2].rstrip("%")) >= 85


def test_intervals_of_fading_effects_hold_the_truth_as_often_as_they_say(study):
    """0.93 to 0.98 on average, as far as draws say; one effect for all time holds no period's."""
    fading = study("fading")
    rows = fading.read()
    for kind in fading.KINDS:
        for epsilon in {row["epsilon"] for row in rows if row["registry"] == kind}:
            cell = [r for r in rows if r["registry"] == kind and r["epsilon"] == epsilon]
            inside, survival, lasting = fading.summary(cell)
            assert len(cell) >= (100 if epsilon == "-" else 8)
            error = 2 * np.sqrt(0.95 * 0.05 / len(cell) / 2)  # eight effects are worth about two
            assert 0.93 - error <= inside.mean() <= 0.98 + error
            assert 0.93 - error <= survival <= 0.98 + error
            assert (lasting < 0.5) == (kind != "no change")
            assert inside.min() > 0.95 - 4 * np.sqrt(0.95 * 0.05 / len(cell))
    for epsilon in ("1", "4"):
        drawn = [row for row in rows if row["epsilon"] == epsilon]
        inside, survival, _ = fading.summary(drawn)
        assert len(drawn) >= 80
        assert 0.93 <= inside.mean() <= 0.98
        assert 0.93 <= survival <= 0.98


@pytest.mark.filterwarnings("ignore")
def test_the_real_numbers_of_fading_effects_are_made_again(study):
    pytest.importorskip("SurvSet")
    fading = study("fading")
    assert list(fading.real_rows()) == fading.read(fading.REAL)


@pytest.mark.xfail(reason="measured again in 0.3.0: 74 %, median ratio 0.81", strict=True)
def test_four_in_five_standard_errors_are_predicted_within_a_factor(study):
    plan = study("plan")
    chosen = [row for row in plan.rows() if row["kind"] == "development" and plan.reached(row)]
    assert len({row["set"] for row in chosen}) == 8
    found = plan.ratios(chosen)
    assert plan.share(found) >= 0.8
    assert 0.8 < np.median(found) < 1.25

"""The study on real data: sets and designs are what they say, measures are right, runs resume."""

import dataclasses
import importlib
from pathlib import Path

import numpy as np
import pytest

from discreet import Schema

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def study(monkeypatch):
    """A script of the folder by its name."""
    monkeypatch.syspath_prepend(STUDIES)
    return importlib.import_module


@pytest.fixture
def simulated(study):
    return study("simulated")


@pytest.fixture
def summary(study):
    return study("real_summary")


def test_every_design_has_a_schema_for_its_table_and_its_truth(simulated):
    for name, make in simulated.DESIGNS.items():
        sample = make(3)
        schema = Schema.from_mapping(sample.schema)
        assert set(schema.columns) <= set(sample.frame), name
        baseline = {f"baseline[{k}]" for k in (1, 2, 3)}
        assert set(sample.truth) <= set(schema.coefficient_names), name
        assert set(sample.unreached) <= set(schema.coefficient_names) | baseline, name
        assert name not in simulated.RIGHT or sample.truth


@pytest.mark.parametrize("name", ["treatment", "treatment_late", "measured"])
def test_rows_of_a_person_follow_each_other_and_only_the_last_has_an_event(simulated, name):
    frame = simulated.DESIGNS[name](5).frame
    assert frame["id"].duplicated().any()
    for _, rows in list(frame.groupby("id"))[:300]:
        assert np.all(rows["entry"].to_numpy()[1:] - rows["t"].to_numpy()[:-1] == 0.5)
        assert not rows["e"].to_numpy()[:-1].any()


def test_the_truth_of_a_right_design_is_what_the_exact_fit_finds(study, simulated):
    real = study("real")
    for name in ("line30", "calendar", "treatment", "measured"):
        sample = simulated.DESIGNS[name](7)
        exact = real.exact_fit(sample)
        found = dict(zip(exact.names, zip(exact.estimate, exact.errors, strict=True), strict=True))
        for coefficient, truth in sample.truth.items():
            estimate, error = found[coefficient]
            assert abs(estimate - truth) < 4 * error, (name, coefficient)


@pytest.mark.filterwarnings("ignore:numpy.core.numeric is deprecated")  # within SurvSet
def test_sets_are_prepared_by_the_rule(study):
    real_sets = study("real_sets")
    sizes = {"acath": (3504, 3), "Aids2": (2839, 5), "scania": (1931, 8), "rott2": (2982, 9)}
    assert [item["name"][:4] for item in real_sets.load("rott2n").schema["covariate"]][:5] == [
        "num_"
    ] * 5
    for name, (people, width) in sizes.items():
        sample = real_sets.load(name)
        schema = Schema.from_mapping(sample.schema)
        assert (len(sample.frame), len(schema.coefficient_names)) == (people, width)
        assert sample.frame["t"].max() <= schema.time.horizon


def row(gaps, ratios, flags="00", truth=". .", err="1", unreached=". ."):
    return {
        "gaps": gaps, "ratios": ratios, "flags": flags, "truth": truth, "err": err,
        "unreached": unreached, "seconds": "1",
    }  # fmt: skip


def test_measures_of_a_cell(summary):
    rows = [
        row("1.0 2.5", "1.2 1.5", truth="0.5 -1", err="1"),
        row("0.1 5.0", "1.2 1.5", truth="3 4", err="2"),
        row("0.1 9.0", "1.2 1.5", flags="01", truth="0 0", err="9"),
    ]
    cell = summary.Cell.of(rows)
    assert (cell.draws, cell.err, cell.largest) == (3, 2.0, 9.0)
    assert cell.inside == pytest.approx(4 / 5)  # 5.0 > 1.96 * 1.5; the flagged one is left out
    assert cell.worst == pytest.approx(1 / 2)
    # 1.96 sqrt(1.2^2 - 1) = 1.30 and 1.96 sqrt(1.5^2 - 1) = 2.19
    assert cell.noise_alone == pytest.approx(3 / 5)
    assert cell.truth == pytest.approx(3 / 5)  # 3.5 and 2.9 are too far
    assert cell.ratio == pytest.approx(1.2)
    assert cell.flagged == pytest.approx(1 / 3)


def test_failures_name_the_target_and_the_cell(summary):
    good = summary.Cell(60, 1.0, 2.0, 0.97, 0.9, 0.93, 1.5, 0.0, 0.95, float("nan"), 1.0)
    key = ("rhc", 1.0, 1e-6)
    assert list(summary.failures({key: good}, {})) == []
    changes = {
        "inside": 0.94, "worst": 0.8, "noise_alone": 0.5, "significant": 0.2, "ratio": 2.0,
        "err": 2.4, "largest": 4.1,
    }  # fmt: skip
    for measure, value in changes.items():
        bad = dataclasses.replace(good, **{measure: value})
        missed = list(summary.failures({key: bad}, {}))
        assert missed, measure
        assert "epsilon 1" in missed[0]
    worse = dataclasses.replace(good, err=1.2)
    assert any("1.20 times" in line for line in summary.failures({key: worse}, {key: good}))
    assert list(summary.failures({("rhc", 1000.0, 0.0): dataclasses.replace(good, err=0.21)}, {}))
    right = {("right10", 4.0, 1e-6): dataclasses.replace(good, truth=0.99)}
    assert list(summary.failures(right, {})) == [
        "truth covered: right10, epsilon 4: 0.990 (0.93 to 0.98)"
    ]


def test_a_run_resumes_and_its_rows_can_be_repeated(study, summary, tmp_path, monkeypatch):
    real = study("real")
    results = tmp_path / "real.csv"
    command = [
        "real.py", "--label", "now", "--sets", "small30", "--epsilons", "1", "--deltas", "1e-6",
        "--seeded", "--results", str(results),
    ]  # fmt: skip
    for draws in ("1", "1", "2"):
        monkeypatch.setattr("sys.argv", [*command, "--draws", draws])
        real.main()
    rows = summary.read(results)
    assert [item["draw"] for item in rows] == ["0", "1"]
    monkeypatch.setattr("sys.argv", [*command[:-1], str(tmp_path / "again.csv"), "--draws", "1"])
    real.main()
    again = summary.read(tmp_path / "again.csv")[0]
    assert {**again, "seconds": ""} == {**rows[0], "seconds": ""}
    assert len(summary.read(tmp_path / "real-sets.csv")) == 1


def test_the_page_names_every_failure_first_and_every_cell_once(study, summary):
    page = study("real_page")
    rows = summary.read()
    label = rows[-1]["label"]
    now, before = page.newest(rows), summary.cells(rows, page.BASE)
    text = page.page()
    failures = list(summary.failures(now, before if label != page.BASE else {}))
    introduction, _, rest = text.partition("\n### What fails\n")
    named, _, sets = rest.partition("\n### Real sets\n")
    assert all(line.partition(": ")[2] in named for line in failures)
    assert "|---|" not in introduction
    assert sets
    for name, epsilon, delta in now:
        if epsilon == 1.0 and delta > 0 and name != "no_information":
            assert f"| {name} |" in text, name

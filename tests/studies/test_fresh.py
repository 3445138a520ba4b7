"""Random registries: functions of (seed, number), measured once, reported as the rows say."""

import importlib
import itertools
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import discreet as ds

STUDIES = Path(__file__).parents[2] / "studies"
REAL = (
    "mgus2", "transplant", "myeloid", "pbcseq", "kidtran", "pneumon", "channing", "thoro", "nickel",
    "sire", "sibr", "prt", "paquid", "dd",
)  # fmt: skip
SMALL = 162
"""The first registry of this seed has 695 people, three covariates and one cause."""


@pytest.fixture
def study(monkeypatch):
    """A module of the package `fresh`."""
    monkeypatch.syspath_prepend(str(STUDIES))
    yield lambda name: importlib.import_module(f"fresh.{name}")
    for name in [name for name in sys.modules if name.split(".")[0] == "fresh"]:
        del sys.modules[name]


def test_a_registry_is_a_function_of_its_seed_and_number(study):
    registry = study("family").registry
    first, again, other = registry(3, 4), registry(3, 4), registry(3, 5)
    assert first.digest == again.digest != other.digest
    assert first.schema == again.schema
    assert first.traits == again.traits


def test_registries_have_valid_schemas_and_the_people_and_events_they_say(study):
    family = study("family")
    for number in range(8):
        made = family.registry(11, number)
        schema = ds.Schema.from_mapping(made.schema)
        assert {*schema.time.columns} <= {*made.frame}
        assert family.COVARIATES[0] <= len(made.schema["covariate"]) <= family.COVARIATES[1]
        assert family.PEOPLE[0] <= made.people <= family.PEOPLE[1]
        assert 0.01 < made.event_share < 1.0
        if schema.time.entry:
            assert (made.frame["time"] > made.frame["entry"]).all()
        if schema.person:
            assert (made.frame.groupby("id")["event"].sum() <= 3).all()


@pytest.mark.evidence
def test_a_family_has_every_trait_that_its_page_names(study):
    registry = study("family").registry
    traits = set(itertools.chain.from_iterable(registry(5, number).traits for number in range(40)))
    asked = {
        "strata", "causes", "rows", "late", "0/1 as a number", "rare level", "heavy tails",
        "near-collinear", "wide bounds", "fading", "growing", "crossing", "bends",
        "informed censoring", "end of study", "smooth baseline", "early baseline", "late baseline",
        "bump baseline", "steps baseline", "yearly baseline",
    }  # fmt: skip
    assert traits == asked


@pytest.mark.parametrize(
    ("first", "last", "span"),
    [(0, 12, "until 365"), (12, 36, "365 to 1095"), (36, 72, "from 1095")],
)
def test_fading_effects_are_those_that_were_declared(study, first, last, span):
    """Within a period effects are constant: a fit of it alone finds them."""
    changing = study("changing")
    made = changing.fading(1, 20_000, declared=False)
    edges = changing.HORIZON * np.arange(first, last + 1) / changing.INTERVALS
    time = {"duration": "time", "event": "event", "edges": edges.tolist()}
    frame = made.frame.assign(event=made.frame["event"].where(made.frame["time"] < edges[-1], 0))
    frame = frame[frame["time"] > edges[0]]
    fitted = ds.SurvivalRegression({**made.schema, "time": time}, **made.model).fit(frame)
    names = ["age", "sex[m]", "stage[II]", "stage[III]"]
    truth = [made.truth[name if name in made.truth else f"{name} {span}"] for name in names]
    errors = np.sqrt(np.diag(fitted.model_.covariance))[-4:]
    estimates = np.array([fitted.model_.coefficients.covariates[name] for name in names])
    assert (np.abs(estimates - truth) < 3.5 * errors).all()
    assert (errors < 0.3).all()


def test_what_a_ridge_decides_is_not_measured(study):
    """A level whose people have no event has no estimate, and the others keep theirs."""
    family, fits = study("family"), study("fits")
    made = study("changing").fading(2, 1_500, declared=False)
    frame = made.frame.assign(event=made.frame["event"].where(made.frame["stage"] != "II", 0))
    exact = fits.exact_fit(family.Registry("", frame, made.schema, made.model))
    assert [name for name, use in zip(exact.names, exact.determined, strict=True) if not use] == [
        "stage[II]"
    ]


def test_a_run_writes_each_draw_once_and_keeps_its_seed(study, monkeypatch, tmp_path):
    run = study("__main__")
    monkeypatch.setattr(run, "_source", lambda _: ("abc", "def"))
    command = ["fresh", "--seed", str(SMALL), "--registries", "1", "--epsilons", "4"]
    for draws in ("1", "1", "2"):
        monkeypatch.setattr("sys.argv", [*command, "--results", str(tmp_path), "--draws", draws])
        run.main()
    rows = run.read(tmp_path / "fresh.csv")
    assert [row["draw"] for row in rows] == ["0", "1"]
    facts = run.read(tmp_path / "fresh-registries.csv")
    assert [row["registry"] for row in facts] == ["0000"]
    assert len(rows[0]["gaps"].split()) == len(facts[0]["coefficients"].split("|"))
    (seed,) = run.read(tmp_path / "fresh-seeds.csv")
    assert (seed["seed"], seed["drawn"], seed["source"]) == (str(SMALL), "given", "abc")
    assert 0 < float(rows[0]["err"]) < 20


def test_a_seed_from_entropy_needs_a_freeze_and_is_kept(study, monkeypatch, tmp_path):
    run = study("__main__")
    command = ["fresh", "--seed", "entropy", "--registries", "0", "--results", str(tmp_path)]
    monkeypatch.setattr("sys.argv", command)
    monkeypatch.setattr(run, "_source", lambda _: ("abc+", "def"))
    with pytest.raises(SystemExit, match="commit the changes"):
        run.main()
    monkeypatch.setattr(run, "_source", lambda _: ("abc", "def"))
    run.main()
    run.main()
    seeds = run.read(tmp_path / "fresh-seeds.csv")
    assert len({row["seed"] for row in seeds}) == 2
    assert {row["drawn"] for row in seeds} == {"entropy"}


# each starts R; these sets are kept for the end, and a run would say what is wrong
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.evidence) for n in REAL])
def test_a_real_set_has_the_columns_and_levels_of_its_schema(study, name):
    """Nothing is fitted: these sets are kept for the end."""
    pytest.importorskip("lifelines")
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    real = study("real")
    assert set(real.SETS) == set(REAL)
    try:
        made = real.load(name)
    except SystemExit as absent:
        pytest.skip(str(absent))
    schema = ds.Schema.from_mapping(made.schema)
    wanted = {*schema.time.columns, *(item.name for item in schema.covariates)}
    assert {*made.frame} == wanted | ({schema.person} if schema.person else set())
    for item in made.schema["covariate"]:
        values = made.frame[item["name"]].dropna()
        if "levels" in item:
            assert set(values) <= set(item["levels"])
        else:
            assert values.between(item["low"], item["high"]).mean() > 0.9
    assert 0 < made.event_share <= 1


def row(gaps, ratios, cautions="", **further):
    fixed = {"seed": "1", "registry": "0000", "source": "s", "commit": "c", "label": "new"}
    fixed |= {
        "people": "random",
        "epsilon": "1",
        "draw": "0",
        "err": "1",
        "codes": "",
        "seconds": "1",
    }
    return {**fixed, "gaps": gaps, "ratios": ratios, "cautions": cautions, **further}


def test_measures_of_rows_that_were_counted_by_hand(study):
    """Two draws, three coefficients: one inside, one missed and named once, one not determined."""
    report = study("report")
    rows = [
        row("1 5 .", "1.5 2 .", "varying:1", draw="0"),
        row("1 -5 .", "1.5 2 .", "unreached:0", draw="1"),
    ]
    found = report.Measures.of([report.Draw.of(item) for item in rows])
    assert found.inside == (0.5, pytest.approx(1 / 3))
    assert found.low == (0.5, 0.5)
    assert found.named == 0.5
    assert found.noise_alone == 0.5
    assert (found.registries, found.draws, found.fewest) == (1, 2, 2)
    (low,) = found.lows
    assert (low.place, low.misses, low.named) == (1, 2, 1)


def test_only_seeds_from_entropy_are_held_to_the_size_that_is_asked(study):
    report = study("report")
    facts = [
        {"seed": seed, "registry": "0000", "failure": "", "events": "9", "traits": "late"}
        for seed in "12"
    ]
    facts = [{**item, "coefficients": "x"} for item in facts]
    seeds = [{"seed": "1", "drawn": "entropy", "source": "s", "commit": "c", "at": ""}]
    seeds += [{"seed": "2", "drawn": "given", "source": "s", "commit": "c", "at": ""}]
    text = report.page([row("1", "1"), row("1", "1", seed="2")], facts, seeds)
    assert f"size: {report.FROZEN}, ε = 1" in text
    assert "size: random, seed given" not in text
    assert "| random, seed given | new | 1 | 1 | 1 |" in text


def test_a_row_is_frozen_only_with_the_source_that_drew_its_seed(study):
    report = study("report")
    seeds = [{"seed": "1", "drawn": "entropy", "source": "s", "commit": "c", "at": ""}]
    rows = [row("1", "1"), row("1", "1", source="later"), row("1", "1", seed="2")]
    ends = [line.split("|")[-2].strip() for line in list(report._seed_table(rows, seeds))[2:]]
    assert ends == ["yes", "no", "no"]


def test_the_page_is_what_the_results_say_with_failures_first(study):
    report = study("report")
    files = ("fresh", "fresh-registries", "fresh-seeds")
    text = report.page(*(report.read(report.RESULTS / f"{name}.csv") for name in files))
    assert text in report.PAGE.read_text(encoding="utf-8")
    assert text.index("## Failures") < text.index("## Measures")

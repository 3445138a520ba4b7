"""Strata: one baseline each and shared effects, as statsmodels' GLM with a column for each."""

import json
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import statsmodels.api as sm

from discreet import SurvivalRegression, load, metrics
from discreet.base import simulate
from discreet.design.baseline import NaturalSpline, parse_baseline
from discreet.design.design import Design
from discreet.design.link import Logit
from discreet.design.schema import Schema
from discreet.documents.read import document_of
from discreet.engine.local import LocalEngine
from discreet.errors import ArtefactError, DataFormError, SchemaError, SettingsError
from discreet.estimate import _near, estimate, starting_point
from discreet.likelihood import sums
from discreet.likelihood.problem import Problem
from discreet.mechanisms import ObjectivePerturbation, OutputPerturbation
from discreet.people.encode import to_episodes
from tests.cohorts import HORIZON, at_risk, cohort, episodic

pytestmark = pytest.mark.filterwarnings("ignore:.*not fit the schema.*:UserWarning")
LINKS = {"logit": sm.families.links.Logit(), "cloglog": sm.families.links.CLogLog()}
DATA = {"one row a person": cohort, "episodes": episodic}
LEVELS = ["A", "B", "C"]


def people(data):
    """Hospitals that differ by person, in some rows by mistake; some unknown, which is A."""
    table = DATA[data]()
    person = table["id"].to_pylist() if data == "episodes" else list(range(len(table)))
    random = np.random.default_rng(5)
    own = random.choice(["A", "B", "B", "C", "?"], max(person) + 1)
    seen, hospital = set(), []
    for number in person:
        hospital.append(str(own[number]) if number not in seen else str(random.choice(LEVELS)))
        seen.add(number)
    table = table.append_column("hospital", pa.array(hospital))
    time = {"duration": "time", "event": "status", "horizon": HORIZON, "intervals": 6}
    mapping = {
        "time": time | ({"entry": "start"} if data == "episodes" else {}),
        "covariate": [
            {"name": "age", "low": 20, "high": 90},
            {"name": "arm", "levels": ["a", "b", "c"]},
        ],
        "strata": {"name": "hospital", "levels": LEVELS},
    }
    return table, mapping | ({"person": "id"} if data == "episodes" else {})


def oracle(table, schema, link, baseline):
    """The stratum is that of the person's first row at risk."""
    basis = parse_baseline(baseline).basis(6)
    first, design, outcome = {}, [], []
    for place, (row, s, event) in enumerate(at_risk(table, Schema.from_mapping(schema))):
        key = row.get("id", place) if "person" in schema else place
        level = row["hospital"] if row["hospital"] in LEVELS else "A"
        if "person" in schema:
            level = first.setdefault(key, level)
        own = np.zeros((3, basis.shape[1]))
        own[LEVELS.index(level)] = basis[s]
        design.append([*own.ravel(), row["age"], row["arm"] == "b", row["arm"] == "c"])
        outcome.append(event)
    family = sm.families.Binomial(link=LINKS[link])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        glm = sm.GLM(np.array(outcome, float), np.array(design, float), family=family)
        return glm.fit(tol=1e-15, maxiter=100)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(
    ("link", "baseline"),
    [
        ("logit", "natural-spline:3"),
        ("cloglog", "natural-spline:2"),
        ("logit", "piecewise-constant:2"),
    ],
)
def test_strata_equal_the_glm_of_the_person_period_table(data, link, baseline):
    table, schema = people(data)
    ours = SurvivalRegression(schema, link=link, baseline=baseline).fit(table)
    theirs = oracle(table, schema, link, baseline)
    np.testing.assert_allclose(ours.coefficients_.vector, theirs.params, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.standard_errors_.vector, theirs.bse, rtol=1e-6)
    assert list(ours.coefficients_.baseline) == LEVELS
    assert ours.summary().names[:2] == ("baseline[hospital=A][1]", "baseline[hospital=A][2]")


def test_streams_and_files_give_the_same_model(tmp_path):
    table, schema = people("episodes")
    pq.write_table(table.slice(0, 240), tmp_path / "a.parquet")
    pq.write_table(table.slice(240), tmp_path / "b.parquet")
    ours = SurvivalRegression(schema, link="logit").fit(table)
    streamed = SurvivalRegression(schema, link="logit").fit(str(tmp_path / "*.parquet"))
    np.testing.assert_allclose(streamed.coefficients_.vector, ours.coefficients_.vector, rtol=1e-7)
    ours.save(tmp_path / "model.json")
    written = json.loads((tmp_path / "model.json").read_text())
    assert list(written["coefficients"]["baseline"]) == LEVELS
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_survival(table), ours.predict_survival(table))
    assert len(ours.plot().axes[0].patches) >= 3
    ours.plot(table)
    names = list(written["coefficients"]["baseline"].items())
    written["coefficients"]["baseline"] = dict(reversed(names))
    with pytest.raises(ArtefactError, match="not those that the schema"):
        document_of(written)


def test_predictions_are_those_of_each_stratum():
    table, schema = people("one row a person")
    ours = SurvivalRegression(schema, link="logit").fit(table)
    hazard = ours.predict_hazard(table, [1.0])[:, 0]
    for place in range(20):
        row = table.slice(place, 1).to_pylist()[0]
        level = row["hospital"] if row["hospital"] in LEVELS else "A"
        alpha = np.array(ours.coefficients_.baseline[level])
        beta = np.array(list(ours.coefficients_.covariates.values()))
        x = np.array([row["age"], row["arm"] == "b", row["arm"] == "c"], dtype=float)
        eta = parse_baseline("natural-spline:3").basis(6)[0] @ alpha + x @ beta
        assert hazard[place] == pytest.approx(1 / (1 + np.exp(-eta)), rel=1e-9)
    assert ours.predict_quantile(table).shape == (len(table),)
    assert 0 < metrics.brier_score(ours, table, [6.0])[0] < 1
    with pytest.raises(DataFormError, match="no column 'hospital'"):
        ours.predict_survival(table.drop_columns(["hospital"]))


def test_a_persons_stratum_is_that_of_the_first_row_at_risk():
    rows = [("x", 0, 2, "B"), ("x", 2, 5, "A"), ("y", 0, 3, "C"), ("z", 1, 4, "?")]
    columns = dict(zip(("id", "start", "time", "hospital"), zip(*rows, strict=True), strict=True))
    table = pa.table({key: list(value) for key, value in columns.items()} | {"status": [0] * 4,
                     "age": [30.0] * 4, "arm": ["a"] * 4})  # fmt: skip
    _, schema = people("episodes")
    found = to_episodes(table, Schema.from_mapping(schema))
    assert found.stratum.tolist() == [1, 1, 2, 0]
    assert [found.of_stratum(g).persons for g in range(3)] == [1, 1, 1]
    assert found.of_stratum(1).offsets.tolist() == [0, 2]


def problem_of(table, schema):
    declared = Schema.from_mapping(schema)
    engine = LocalEngine(to_episodes(table, declared), threads=1)
    return Problem(engine, Design(declared, NaturalSpline(3)), Logit())


def test_all_strata_of_a_block_are_compiled_or_none(monkeypatch):
    total, asked = problem_of(*people("episodes")), []
    accumulate = sums._accumulate_compiled
    monkeypatch.setattr(
        sums, "_accumulate_compiled", lambda *panel: asked.append(1) or accumulate(*panel)
    )
    for few, compiled in ((0, False), (1, True)):
        monkeypatch.setattr(sums, "COMPILED_FROM", total.engine.episodes.rows + 1 - few)
        asked.clear()
        total(np.zeros(total.dimension))
        assert (len(asked) >= 3) is compiled
        assert compiled or not asked


def test_a_sample_of_many_people_has_one_baseline():
    """Its estimate is where every stratum begins; the fit itself has a baseline for each."""
    table, schema = people("one row a person")
    many = problem_of(pa.concat_tables([table] * 40), schema)
    begin = starting_point(many.design, many.link, 100, 1000)
    found = _near(many, 0.0, begin)
    assert len({tuple(found[many.design.columns(g)]) for g in range(3)}) == 1
    one = {key: value for key, value in schema.items() if key != "strata"}
    pooled = estimate(problem_of(table, one)).point
    np.testing.assert_allclose(found[many.design.columns(0)], pooled, atol=0.3)
    np.testing.assert_allclose(
        estimate(many).point, estimate(problem_of(table, schema)).point, atol=1e-6
    )


def test_what_is_refused():
    table, schema = people("one row a person")
    more = schema | {"strata": {"name": "hospital", "levels": [*LEVELS, "D"]}}
    with pytest.raises(DataFormError, match="no person at risk is in stratum 'D' of 'hospital'"):
        SurvivalRegression(more, link="logit").fit(table)
    for mechanism in (OutputPerturbation(epsilon=1.0), ObjectivePerturbation(epsilon=1.0)):
        with pytest.raises(SettingsError, match="no proof for strata: use newton"):
            simulate(SurvivalRegression(schema, link="logit"), table, mechanism=mechanism, seed=1)


@pytest.mark.parametrize(
    ("strata", "says"),
    [
        ({"name": "age", "levels": ["a", "b"]}, "column 'age' is used twice"),
        ({"name": "h", "levels": ["a"]}, r"key 'levels' in \[strata\] needs at least two"),
        ({"name": "h", "levels": ["1", "1.0"]}, r"^\[strata\] has the level '1' twice"),
        (
            {"name": "h", "levels": ["a", "b"], "labels": ["x"]},
            r"^\[strata\] needs one of the labels",
        ),
        ({"name": "h", "level": ["a", "b"]}, r"key 'levels' in \[strata\] is missing"),
        ({"name": "h", "levels": ["a", "b"], "titel": 1}, r"unknown key 'titel' in \[strata\]"),
        ("h", "key 'strata' must be a table"),
    ],
)
def test_bad_strata_are_named(strata, says):
    _, schema = people("one row a person")
    with pytest.raises(SchemaError, match=says):
        Schema.from_mapping(schema | {"strata": strata})

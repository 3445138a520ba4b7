"""Effects that change with time, as statsmodels' GLM with a column for each period, and R's survSplit."""

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import statsmodels.api as sm

import discreet as ds
from discreet import SurvivalRegression, load
from discreet.design.baseline import parse_baseline
from discreet.design.design import Design
from discreet.design.schema import Schema
from discreet.design.terms import user_columns
from discreet.documents.read import document_of
from tests.cohorts import HORIZON, at_risk, cohort, episodic, points

pytestmark = pytest.mark.filterwarnings("ignore:.*not fit the schema.*:UserWarning")
LINKS = {
    "logit": sm.families.links.Logit(),
    "cloglog": sm.families.links.CLogLog(),
    "probit": sm.families.links.Probit(),
}
DATA = {"one row a person": cohort, "episodes": episodic}
CUTS = {"age": [4.1], "arm": [4.1, 11.0]}
FOLDER = Path(__file__).parent


def mapping(data, *, intervals=24, strata=False, scale=None, grid=None):
    """Age changes once, arm twice; a time between two points acts from the next one on."""
    age = {"name": "age", "low": 20, "high": 90, "changes_at": CUTS["age"]}
    time = {"duration": "time", "event": "status"}
    found = {
        "time": time | (grid or {"horizon": HORIZON, "intervals": intervals}),
        "covariate": [
            age | ({} if scale is None else {"scale": scale, "missing": "indicator"}),
            {"name": "arm", "levels": ["a", "b", "c"], "changes_at": CUTS["arm"]},
        ],
    }
    if data == "episodes":
        found["person"], found["time"]["entry"] = "id", "start"
    if strata:
        found["strata"] = {"name": "site", "levels": ["x", "y"]}
    return found


def oracle(table, schema, link, baseline, own):
    """A column for each covariate's column in each of its periods; `own` are its columns of a row."""
    basis = Design(schema, parse_baseline(baseline)).baseline.basis(schema.time.intervals)
    edges, design, outcome = points(schema.time), [], []
    for row, s, event in at_risk(table, schema):
        level = 1 if schema.strata and row["site"] == "y" else 0
        time = np.zeros((1 if schema.strata is None else 2, basis.shape[1]))
        time[level] = basis[s]
        x = [
            value * (sum(cut <= edges[s] for cut in cuts) == period)
            for value, cuts in own(row)
            for period in range(len(cuts) + 1)
        ]
        design.append([*time.ravel(), *x])
        outcome.append(event)
    family = sm.families.Binomial(link=LINKS[link])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        glm = sm.GLM(np.array(outcome, float), np.array(design, float), family=family)
        return glm.fit(tol=1e-15, maxiter=100)


def plain(row):
    """Age, and an indicator of each arm but the first."""
    return [
        (row["age"], CUTS["age"]),
        (row["arm"] == "b", CUTS["arm"]),
        (row["arm"] == "c", CUTS["arm"]),
    ]


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("baseline", ["natural-spline:3", "piecewise-constant:2", "log-time:2"])
@pytest.mark.parametrize("link", LINKS)
def test_the_glm_has_the_same_coefficients_errors_and_survival(data, baseline, link):
    table, schema = DATA[data](), Schema.from_mapping(mapping(data))
    ours = SurvivalRegression(schema, link=link, baseline=baseline).fit(table)
    theirs = oracle(table, schema, link, baseline, plain)
    np.testing.assert_allclose(ours.coefficients_.vector, theirs.params, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.standard_errors_.vector, theirs.bse, rtol=1e-6)
    np.testing.assert_allclose(ours.model_.fit.log_likelihood, theirs.llf, rtol=1e-10)
    between = np.kron(np.eye(2), np.eye(3)[:2] - np.eye(3)[1:])
    contrast = np.hstack([np.zeros((4, len(theirs.params) - 6)), between])
    test, expected = ours.change_test("arm"), theirs.wald_test(contrast, use_f=False, scalar=True)
    np.testing.assert_allclose(test.statistic, expected.statistic, rtol=1e-5)
    np.testing.assert_allclose(test.p_value, expected.pvalue, rtol=1e-5)
    people = table.slice(0, 7)
    found = ours.predict_survival(people, points(schema.time), interval=True)
    basis = Design(schema, parse_baseline(baseline)).baseline.basis(24)
    for place, row in enumerate(people.to_pylist()):
        rows = np.array(
            [
                [*basis[s], *(
                    value * (sum(cut <= HORIZON * s / 24 for cut in cuts) == period)
                    for value, cuts in plain(row)
                    for period in range(len(cuts) + 1)
                )]
                for s in range(24)
            ]
        )  # fmt: skip
        hazard = theirs.predict(rows)
        survival = np.concatenate([[1.0], np.cumprod(1 - hazard)])
        np.testing.assert_allclose(found.estimate[place], survival, rtol=1e-6)
        inverse = LINKS[link].inverse_deriv(rows @ theirs.params) / (1 - hazard)
        slopes = np.cumsum(inverse[:, None] * rows, axis=0)
        error = np.sqrt(np.einsum("sd,de,se->s", slopes, theirs.cov_params(), slopes))
        total = -np.log(survival[1:])
        lower = np.exp(-total * np.exp(1.959963984540054 * error / total))
        np.testing.assert_allclose(found.lower[place][1:], lower, rtol=1e-5)


@pytest.mark.parametrize("scale", ["log", "spline:3"])
def test_logs_splines_and_missing_values_change_too(scale):
    table = cohort(people=700, seed=4)
    ages = [None if place % 9 == 0 else age for place, age in enumerate(table["age"].to_pylist())]
    table = table.set_column(2, "age", pa.array(ages))
    schema = Schema.from_mapping(mapping("one row a person", scale=scale))
    ours = SurvivalRegression(schema, link="logit").fit(table)

    def own(row):
        age = 55.0 if row["age"] is None else row["age"]
        columns = user_columns(schema, [age, ["a", "b", "c"].index(row["arm"])])
        size = 1 if scale == "log" else 2
        columns[size] = row["age"] is None
        cuts = [CUTS["age"]] * (size + 1) + [CUTS["arm"]] * 2
        return zip(columns, cuts, strict=True)

    theirs = oracle(table, schema, "logit", "natural-spline:3", own)
    np.testing.assert_allclose(ours.coefficients_.vector, theirs.params, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.standard_errors_.vector, theirs.bse, rtol=1e-6)


@pytest.mark.parametrize("data", DATA)
def test_strata_have_a_baseline_each(data):
    table = DATA[data]()
    keys = table["id"].to_pylist() if data == "episodes" else range(len(table))
    table = table.append_column("site", pa.array(["xy"[key % 3 == 0] for key in keys]))
    schema = Schema.from_mapping(mapping(data, strata=True))
    ours = SurvivalRegression(schema, link="cloglog", baseline="natural-spline:2").fit(table)
    theirs = oracle(table, schema, "cloglog", "natural-spline:2", plain)
    np.testing.assert_allclose(ours.coefficients_.vector, theirs.params, rtol=1e-6, atol=1e-7)
    names = ours.summary().names[:6]
    assert names[2] == "baseline[site=x] from 5"
    assert names[3] == "baseline[site=x] from 11"


@pytest.mark.parametrize(
    "grid",
    [
        {"horizon": 24.0, "intervals": 17, "first": 0.3},
        {"edges": [0, 1, 2.5, 4.1, 6, 9, 11, 14, 24]},
    ],
)
def test_grids_whose_intervals_differ(grid):
    table = cohort(people=600, seed=5)
    schema = Schema.from_mapping(mapping("one row a person", grid=grid))
    ours = SurvivalRegression(schema, link="logit").fit(table)
    theirs = oracle(table, schema, "logit", "natural-spline:3", plain)
    np.testing.assert_allclose(ours.coefficients_.vector, theirs.params, rtol=1e-6, atol=1e-7)


def test_streams_and_files_give_the_same_model(tmp_path):
    table = episodic()
    pq.write_table(table.slice(0, 240), tmp_path / "a.parquet")
    pq.write_table(table.slice(240), tmp_path / "b.parquet")
    schema = mapping("episodes")
    ours = SurvivalRegression(schema, link="logit").fit(table)
    streamed = SurvivalRegression(schema, link="logit").fit(str(tmp_path / "*.parquet"))
    np.testing.assert_allclose(streamed.coefficients_.vector, ours.coefficients_.vector, rtol=1e-7)
    ours.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_survival(table), ours.predict_survival(table))
    written = ours.model_.to_mapping()
    assert list(written["coefficients"]["covariates"])[:2] == ["age until 4.1", "age from 4.1"]
    assert written["schema"]["covariate"][0]["changes_at"] == [4.1]
    assert document_of(written) == ours.model_


def test_the_zero_of_a_number_and_the_reference_level_change_no_prediction():
    """The baseline has a step wherever an effect changes."""
    table = cohort(seed=6)
    moved = table.set_column(2, "age", pa.array(np.array(table["age"]) + 1000.0))
    one = mapping("one row a person")
    other = mapping("one row a person")
    other["covariate"][0] |= {"low": 1020, "high": 1090}
    other["covariate"][1]["levels"] = ["c", "a", "b"]
    first = SurvivalRegression(one, link="logit").fit(table).predict_survival(table)
    second = SurvivalRegression(other, link="logit").fit(moved).predict_survival(moved)
    np.testing.assert_allclose(first, second, rtol=1e-7)


# ------------------------------------------------------------------- R

FROZEN = {
    (model, what): np.array([float(value) for value in values])
    for model, what, *values in (
        line.split(",") for line in (FOLDER / "changes.csv").read_text().splitlines()
    )
}


@pytest.mark.parametrize(
    ("name", "file"), [("one row", "people.csv"), ("several rows", "rows.csv")]
)
def test_coxph_on_split_rows_is_the_limit_of_a_fine_grid(name, file):
    schema = mapping("episodes" if file == "rows.csv" else "one row a person", intervals=4800)
    schema["covariate"][0].pop("changes_at")
    schema["covariate"][1]["changes_at"] = [5, 12]
    model = ds.SurvivalRegression(schema, link="cloglog", baseline="natural-spline:10")
    ours = model.fit(FOLDER / file)
    errors = FROZEN[name, "standard error"]
    difference = (ours.coef_ - FROZEN[name, "coefficient"]) / errors
    assert np.abs(difference).max() < 0.05
    found = np.array(list(ours.standard_errors_.covariates.values()))
    np.testing.assert_allclose(found / errors, 1.0, atol=0.015)
    test = ours.change_test("arm")
    statistic, p_value = FROZEN[name, "wald"]
    assert (test.degrees, test.hypothesis) == (4, "one effect of arm for all time")
    assert abs(test.statistic - statistic) < 0.1 * max(1.0, np.sqrt(statistic))
    assert abs(test.p_value - p_value) < 0.02

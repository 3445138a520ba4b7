"""Every term equals statsmodels' GLM on the person-period table, wherever people come from."""

import warnings
from functools import cache

import numpy as np
import patsy
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import statsmodels.api as sm

from discreet import NaturalSpline, SurvivalRegression, load
from tests.cohorts import HORIZON, at_risk, cohort, episodic

pytestmark = pytest.mark.filterwarnings("ignore:.*not fit the schema.*:UserWarning")

AGE = {"name": "age", "low": 20, "high": 90}
ARM = {"name": "arm", "levels": ["a", "b", "c"]}
CREA = {"name": "crea", "low": 0.3, "high": 15}
MIDDLE = (0.3 + 15) / 2


def between(value, low=0.3, high=15.0):
    return MIDDLE if value is None else min(max(value, low), high)


def levels(row):
    return [row["arm"] == "b", row["arm"] == "c"]


@cache
def spline(value, low, high, knots):
    """The columns of another natural spline on the same knots."""
    inner = np.linspace(low, high, knots)[1:-1].tolist()
    build = patsy.dmatrix(
        f"cr(x, knots={inner}, lower_bound={low}, upper_bound={high}) - 1",
        {"x": [low, value, high]},
    )
    return np.asarray(build)[1, 1:].tolist()  # the constant is in the baseline


# name: covariates, interactions, the columns of a row, the coefficients' names (None: another basis)
TERMS = {
    "log": (
        [CREA | {"scale": "log"}, ARM],
        [],
        lambda row: [np.log(between(row["crea"])), *levels(row)],
        ["log(crea)", "arm[b]", "arm[c]"],
    ),
    "indicator of a number": (
        [CREA | {"missing": "indicator"}, AGE],
        [],
        lambda row: [between(row["crea"]), row["crea"] is None, row["age"]],
        ["crea", "crea[missing]", "age"],
    ),
    "indicator after a logarithm": (
        [CREA | {"missing": "indicator", "scale": "log"}],
        [],
        lambda row: [np.log(between(row["crea"])), row["crea"] is None],
        ["log(crea)", "crea[missing]"],
    ),
    "indicator of a level": (
        [ARM | {"missing": "indicator"}],
        [],
        lambda row: [*levels(row), row["arm"] not in "abc"],
        ["arm[b]", "arm[c]", "arm[missing]"],
    ),
    "number by category": (
        [AGE, ARM],
        [["age", "arm"]],
        lambda row: [row["age"], *levels(row), *(row["age"] * np.array(levels(row)))],
        ["age", "arm[b]", "arm[c]", "age:arm[b]", "age:arm[c]"],
    ),
    "category by logarithm": (
        [ARM | {"missing": "indicator"}, CREA | {"scale": "log"}],
        [["arm", "crea"]],
        lambda row: [
            *levels(row), row["arm"] not in "abc", np.log(between(row["crea"])),
            *(np.log(between(row["crea"])) * np.array(levels(row))),
        ],
        ["arm[b]", "arm[c]", "arm[missing]", "log(crea)", "arm[b]:log(crea)", "arm[c]:log(crea)"],
    ),
    "number by number": (
        [AGE, CREA],
        [["age", "crea"]],
        lambda row: [row["age"], between(row["crea"]), row["age"] * between(row["crea"])],
        ["age", "crea", "age:crea"],
    ),
    "spline": (
        [AGE | {"scale": "spline:5"}, ARM],
        [],
        lambda row: [*spline(row["age"], 20, 90, 5), *levels(row)],
        None,
    ),
    "spline by category": (
        [AGE | {"scale": "spline:4"}, ARM],
        [["age", "arm"]],
        lambda row: [
            *spline(row["age"], 20, 90, 4), *levels(row),
            *np.kron(spline(row["age"], 20, 90, 4), levels(row)),
        ],
        None,
    ),
    "indicator before a spline": (
        [CREA | {"missing": "indicator", "scale": "spline:3"}],
        [],
        lambda row: [*spline(between(row["crea"]), 0.3, 15, 3), row["crea"] is None],
        None,
    ),
}  # fmt: skip
DATA = {"one row a person": cohort, "episodes": episodic}


def people(data, name):
    """Creatinine beside age, partly missing or out of bounds; arms partly of an unknown level."""
    table = DATA[data]()
    random = np.random.default_rng(4)
    crea = np.exp(random.normal(0.3, 0.8, len(table))).round(2)
    gaps = random.random(len(table)) < 0.15
    values = [None if gap else float(value) for gap, value in zip(gaps, crea, strict=True)]
    arm = ["?" if random.random() < 0.1 else str(value) for value in table["arm"].to_pylist()]
    table = table.append_column("crea", pa.array(values, pa.float64()))
    table = table.set_column(table.schema.get_field_index("arm"), "arm", pa.array(arm))
    several = data == "episodes"
    covariates, interactions, _, _ = TERMS[name]
    time = {"duration": "time", "event": "status", "horizon": HORIZON, "intervals": 8}
    mapping = {
        "time": time | ({"entry": "start"} if several else {}),
        "covariate": covariates,
        "interaction": [{"of": pair} for pair in interactions],
    }
    return table, mapping | ({"person": "id"} if several else {})


def oracle(table, model, name):
    columns, basis = TERMS[name][2], NaturalSpline(3).basis(8)
    rows, places, outcome = zip(*at_risk(table, model.schema_), strict=True)
    design = np.array([[*basis[s], *columns(row)] for row, s in zip(rows, places, strict=True)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        glm = sm.GLM(np.array(outcome, float), design.astype(float), family=sm.families.Binomial())
        return glm.fit(tol=1e-15, maxiter=100), rows, places


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", TERMS)
def test_a_term_equals_the_glm_of_the_person_period_table(name, data):
    table, schema = people(data, name)
    ours = SurvivalRegression(schema, link="logit").fit(table)
    theirs, rows, places = oracle(table, ours, name)
    names = TERMS[name][3]
    if names is not None:
        assert list(ours.coefficients_.covariates) == names
        np.testing.assert_allclose(ours.coefficients_.vector, theirs.params, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(ours.standard_errors_.vector, theirs.bse, rtol=1e-6)
    times = HORIZON * (np.arange(8) + 0.5) / 8
    hazard = ours.predict_hazard(pa.Table.from_pylist(list(rows)), times)
    found = hazard[np.arange(len(rows)), places]
    np.testing.assert_allclose(found, theirs.fittedvalues, rtol=1e-6)
    assert ours.model_.fit.log_likelihood == pytest.approx(theirs.llf, rel=1e-9)


@pytest.mark.parametrize("name", ["spline by category", "category by logarithm"])
def test_streams_and_files_give_the_same_model(name, tmp_path):
    table, schema = people("episodes", name)
    pq.write_table(table.slice(0, 240), tmp_path / "a.parquet")
    pq.write_table(table.slice(240), tmp_path / "b.parquet")
    ours = SurvivalRegression(schema, link="logit").fit(table)
    streamed = SurvivalRegression(schema, link="logit").fit(str(tmp_path / "*.parquet"))
    np.testing.assert_allclose(
        streamed.model_.internal.vector, ours.model_.internal.vector, rtol=1e-6, atol=1e-8
    )
    ours.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_survival(table), ours.predict_survival(table))
    np.testing.assert_allclose(
        again.predict_risk(table), again._rows(table)[0] @ again.model_.curves.slopes[0]
        - again.model_.design.covariates.offset @ again.model_.curves.slopes[0],
    )  # fmt: skip
    assert len(ours.plot().axes) == 3

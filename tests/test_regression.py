"""The estimator: data in any form, scikit-learn's conventions, predictions."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sksurv.util import Surv

import discreet as ds
from discreet.errors import DataFormError, SchemaError, SettingsError
from discreet.mechanisms import OutputPerturbation
from tests.cohorts import HORIZON, cohort, episodic, schema

TABLE = cohort()
FITTED = ds.SurvivalRegression(schema(), link="logit").fit(TABLE)


def forms(folder):
    csv.write_csv(TABLE, folder / "people.csv")
    parquet.write_table(TABLE, folder / "people.parquet")
    return {
        "pandas": TABLE.to_pandas(),
        "polars": pl.from_arrow(TABLE),
        "lazy": pl.from_arrow(TABLE).lazy(),
        "csv": folder / "people.csv",
        "csv as text": str(folder / "people.csv"),
        "parquet": folder / "people.parquet",
    }


@pytest.mark.parametrize("form", ["pandas", "polars", "lazy", "csv", "csv as text", "parquet"])
def test_every_form_of_data_gives_the_same_model(tmp_path, form):
    found = ds.SurvivalRegression(schema(), link="logit").fit(forms(tmp_path)[form])
    assert found.model_ == FITTED.model_


def test_schemas_come_in_every_form(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(
        '[time]\nduration = "time"\nevent = "status"\nhorizon = 24.0\nintervals = 12\n'
        '[[covariate]]\nname = "age"\nlow = 20.0\nhigh = 90.0\n'
        '[[covariate]]\nname = "arm"\nlevels = ["a", "b", "c"]\n'
    )
    for form in (path, str(path), schema().to_mapping()):
        assert ds.SurvivalRegression(form, link="logit").fit(TABLE).model_ == FITTED.model_


def test_bounds_may_be_left_out_without_privacy():
    found = ds.SurvivalRegression(schema(bounded=False), link="logit").fit(TABLE)
    np.testing.assert_allclose(found.coefficients_.vector, FITTED.coefficients_.vector, rtol=1e-7)
    assert found.schema_.is_bounded


def test_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(TABLE.num_rows)
    found = ds.SurvivalRegression(schema(), link="logit").fit(TABLE.take(order))
    np.testing.assert_allclose(found.coefficients_.vector, FITTED.coefficients_.vector, rtol=1e-9)


def test_one_parameter_and_no_covariates():
    public = ds.Schema(time=schema().time)
    found = ds.SurvivalRegression(public, baseline=ds.NaturalSpline(1), link="logit").fit(TABLE)
    fit = found.model_.fit
    rate = fit.events / fit.intervals_at_risk
    np.testing.assert_allclose(found.coefficients_.baseline[0], np.log(rate / (1 - rate)))
    assert found.predict_risk(TABLE).shape == (400,)
    assert found.score(TABLE) == 0.5


# --- scikit-learn's conventions


def outcome():
    return Surv.from_arrays(
        TABLE["status"].to_numpy(zero_copy_only=False), TABLE["time"].to_numpy()
    )


def covariates():
    return TABLE.select(["age", "arm"]).to_pandas()


def test_fit_takes_covariates_and_a_structured_outcome():
    found = ds.SurvivalRegression(schema(), link="logit").fit(covariates(), outcome())
    assert found.model_ == FITTED.model_
    assert found.score(covariates(), outcome()) == FITTED.score(TABLE)
    assert list(found.feature_names_in_) == ["age", "arm"]
    assert found.n_features_in_ == 2


def test_without_a_schema_it_is_taken_from_the_data():
    found = ds.SurvivalRegression(intervals=12, link="logit").fit(covariates(), outcome())
    assert found.schema_.time.intervals == 12
    assert list(found.coefficients_.covariates) == ["age", "arm[b]", "arm[c]"]
    array = np.random.default_rng(0).normal(size=(400, 3))
    found = ds.SurvivalRegression(link="logit").fit(array, outcome())
    assert list(found.coefficients_.covariates) == ["x0", "x1", "x2"]


def test_settings_are_stored_as_given_and_cloned():
    given = {"schema": "nowhere.toml", "link": "nonsense", "ridge": -1, "baseline": "odd:1"}
    model = ds.SurvivalRegression(**given)
    assert given.items() <= model.get_params().items()
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert repr(model) == (
        "SurvivalRegression(schema='nowhere.toml', link='nonsense', baseline='odd:1', ridge=-1)"
    )
    assert model.set_params(link="logit").link == "logit"
    with pytest.raises(SettingsError, match="unknown setting 'lnik'"):
        model.set_params(lnik="logit")


def test_cross_validation_grids_and_pipelines():
    model = ds.SurvivalRegression(schema(), link="logit")
    scores = cross_val_score(model, covariates(), outcome(), cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.5
    grid = GridSearchCV(model, {"link": ["logit", "cloglog"], "ridge": [0.0, 0.1]}, cv=2)
    assert grid.fit(covariates(), outcome()).best_params_["link"] in {"logit", "cloglog"}
    pipe = make_pipeline(FunctionTransformer(lambda frame: frame.assign(age=frame["age"])), model)
    assert pipe.fit(covariates(), outcome()).score(covariates(), outcome()) > 0.5


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError, match="not fitted"):
        ds.SurvivalRegression(schema(), link="logit").predict_risk(TABLE)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"link": "log"}, "unknown link"),
        ({"baseline": "spline:3"}, "unknown baseline"),
        ({"baseline": ds.NaturalSpline(20)}, "more parameters"),
        ({"solver": "adam"}, "solver must be one of newton, bfgs"),
        ({"information": "both"}, "information must be one of"),
        ({"ridge": -0.1}, "ridge must be a finite number at least 0"),
        ({"ridge": float("nan")}, "ridge must be"),
        ({"ridge": True}, "ridge must be"),
        ({"tolerance": 0}, "tolerance must be a finite number greater than 0"),
        ({"schema": None}, "give a schema"),
    ],
)
def test_wrong_settings_are_named(settings, words):
    with pytest.raises(SettingsError, match=words):
        ds.SurvivalRegression(**{"schema": schema(), **settings}).fit(TABLE)


def test_wrong_data_are_named(tmp_path):
    with pytest.raises(DataFormError, match="no column 'arm'"):
        ds.SurvivalRegression(schema(), link="logit").fit(TABLE.drop(["arm"]))
    with pytest.raises(DataFormError, match="no rows"):
        ds.SurvivalRegression(schema(), link="logit").fit(TABLE.slice(0, 0))
    with pytest.raises(SchemaError, match="cannot be read"):
        ds.SurvivalRegression(tmp_path / "none.toml", link="logit").fit(TABLE)


def test_repairs_are_counted_and_told():
    age = TABLE["age"].to_numpy().copy()
    age[:5], age[5:7] = np.nan, 200.0
    data = TABLE.set_column(2, "age", pa.array(age))
    with pytest.warns(ds.warnings.RepairWarning, match="age: 5 missing .*; age: 2 above high"):
        found = ds.SurvivalRegression(schema(), link="logit").fit(data)
    assert found.repairs_.total == 7
    assert FITTED.repairs_.total == 0


def test_warnings_point_at_the_line_that_asked_for_the_fit():
    odd = TABLE.set_column(2, "age", pa.array(np.full(len(TABLE), 1e6)))
    same = TABLE.set_column(1, "status", pa.array(np.zeros(len(TABLE), dtype=np.int64)))
    for category, ridge, table in (
        (ds.warnings.RepairWarning, 0.1, odd),
        (ds.warnings.SeparationWarning, 0.0, same),
    ):
        with pytest.warns(category) as caught:
            ds.SurvivalRegression(schema(), ridge=ridge, link="logit").fit(table)
        assert {item.filename for item in caught} == {__file__}


def test_an_estimator_is_shown_without_the_address_of_its_cluster():
    location = "tls://clerk:canary@host:8786"
    model = ds.SurvivalRegression("schema.toml", scheduler=location)
    assert repr(model) == "SurvivalRegression(schema='schema.toml', scheduler='tls://...')"
    assert model.get_params()["scheduler"] == location


def test_a_fit_of_another_kind_leaves_nothing_of_the_one_before():
    model = ds.SurvivalRegression(schema(), link="logit").fit(TABLE)
    model.publish(TABLE, mechanism=OutputPerturbation(epsilon=1.0), ledger=ds.NO_LEDGER)
    assert model.model_ is model.release_
    assert model.standard_errors_ is None
    assert not hasattr(model, "repairs_")
    model.fit(TABLE)
    assert model.standard_errors_
    assert not hasattr(model, "release_")


# --- predictions


def test_predictions_agree_with_each_other():
    times = [0.0, 3.0, 12.0, HORIZON]
    survival = FITTED.predict_survival(TABLE, times)
    assert survival.shape == (400, 4)
    assert np.all(survival[:, 0] == 1)
    assert np.all(np.diff(survival, axis=1) < 0)
    np.testing.assert_allclose(
        FITTED.predict_cumulative_hazard(TABLE, times), -np.log(survival), atol=1e-14
    )
    grid = FITTED.predict_survival(TABLE)
    assert grid.shape == (400, 13)
    hazards = FITTED.predict_hazard(TABLE, np.arange(12) * 2.0)
    np.testing.assert_allclose(np.cumprod(1 - hazards, axis=1), grid[:, 1:], rtol=1e-12)
    median = FITTED.predict_quantile(TABLE)
    assert median.shape == (400,)
    assert FITTED.predict_quantile(TABLE, [0.1, 0.5]).shape == (400, 2)


def test_risk_is_the_sum_of_coefficient_times_covariate():
    beta = FITTED.coefficients_.covariates
    frame = TABLE.to_pandas()
    expected = (
        beta["age"] * frame["age"]
        + beta["arm[b]"] * (frame["arm"] == "b")
        + beta["arm[c]"] * (frame["arm"] == "c")
    )
    np.testing.assert_allclose(FITTED.predict_risk(TABLE), expected, rtol=1e-10)
    np.testing.assert_array_equal(FITTED.predict(TABLE), FITTED.predict_risk(TABLE))


def test_new_people_are_read_by_the_same_rules():
    people = pd.DataFrame({"age": [55.0, None, 500.0, 90.0], "arm": ["a", "a", "unknown", "a"]})
    found = FITTED.predict_survival(people, [12.0])[:, 0]
    assert found[0] == found[1]
    assert found[2] == found[3]


def test_a_loaded_model_predicts_the_same(tmp_path):
    FITTED.save(tmp_path / "model.json")
    loaded = ds.load(tmp_path / "model.json")
    assert loaded.model_.private is False
    assert loaded.coefficients_ == FITTED.coefficients_
    np.testing.assert_array_equal(
        loaded.predict_survival(TABLE, [6.0]), FITTED.predict_survival(TABLE, [6.0])
    )
    assert loaded.score(TABLE) == FITTED.score(TABLE)
    assert str(loaded.summary()) == str(FITTED.summary())


def test_summary_shows_and_exports():
    table = FITTED.summary(confidence=0.9)
    text = str(table)
    assert "Not private" in text
    assert "arm[c]" in text
    frame = table.to_pandas()
    assert list(frame)[:6] == ["coefficient", "standard error", "z", "p", "lower", "upper"]
    assert list(frame)[6:] == ["odds ratio", "odds ratio lower", "odds ratio upper"]
    assert np.all(frame["upper"] - frame["lower"] < np.ptp(FITTED.summary(0.99).columns()["upper"]))
    with pytest.raises(SettingsError, match="confidence"):
        FITTED.summary(confidence=1.0)


def test_episodes_score_within_intervals():
    data, public = episodic(), schema(person=True, entry=True)
    found = ds.SurvivalRegression(public, link="logit").fit(data)
    assert 0.4 < found.score(data) < 0.9
    assert found.model_.fit.persons == 250


def test_a_plain_fit_loads_nothing_it_does_not_need(tmp_path):
    csv.write_csv(TABLE, tmp_path / "people.csv")
    (tmp_path / "fit.py").write_text(
        "import sys, discreet as ds\n"
        f"public = ds.Schema.from_mapping({schema().to_mapping()!r})\n"
        "ds.SurvivalRegression(public).fit('people.csv')\n"
        "print(*(name for name in sys.modules if '.' not in name))\n"
    )
    done = subprocess.run(
        [sys.executable, "fit.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    heavy = {"numba", "pandas", "sklearn", "matplotlib", "typer", "rich", "opendp", "sqlite3"}
    assert not heavy & set(done.stdout.split())

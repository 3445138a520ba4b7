"""Special cases that other packages fit, and the paper's own numbers."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as ds
from discreet.paper.data import load


def test_one_interval_is_plain_logistic_regression():
    random = np.random.default_rng(11)
    covariates = random.uniform(-3, 5, (500, 3))
    happens = random.random(500) < 1 / (1 + np.exp(-(covariates @ [0.4, -0.3, 0.0] - 0.2)))
    names = ["u", "v", "w"]
    public = ds.Schema.from_mapping(
        {
            "time": {"duration": "time", "event": "event", "horizon": 1, "intervals": 1},
            "covariate": [{"name": name, "low": -3, "high": 5} for name in names],
        }
    )
    table = pa.table(
        {
            "time": np.ones(500),
            "event": happens,
            **dict(zip(names, covariates.T.copy(), strict=True)),
        }
    )
    ours = ds.SurvivalRegression(public, baseline=ds.NaturalSpline(1), link="logit").fit(table)
    theirs = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(
        covariates, happens
    )
    np.testing.assert_allclose(ours.coefficients_.baseline[0], theirs.intercept_[0], rtol=1e-7)
    np.testing.assert_allclose(
        list(ours.coefficients_.covariates.values()), theirs.coef_[0], rtol=1e-7
    )
    np.testing.assert_allclose(
        ours.predict_hazard(table, 0.5)[:, 0], theirs.predict_proba(covariates)[:, 1], rtol=1e-7
    )


def as_in_the_paper(name):
    """A set of the paper as a table, and a schema that leaves its numbers as they are."""
    data = load(name)
    columns = {f"x{place}": column for place, column in enumerate(data.covariates.T, start=1)}
    time = {"duration": "time", "event": "status", "horizon": 1, "intervals": 200}
    covariates = [{"name": name, "low": -1, "high": 1} for name in columns]
    public = ds.Schema.from_mapping({"time": time, "covariate": covariates})
    return pa.table({"time": data.time, "status": data.event, **columns}), public


@pytest.mark.usefixtures("data_folder")
def test_third_births_as_in_the_paper():
    table, public = as_in_the_paper("TB")
    found = ds.SurvivalRegression(public, link="logit").fit(table)
    beta = list(found.coefficients_.covariates.values())
    np.testing.assert_allclose(beta, [0.012, -0.850, -0.240], atol=5e-4)
    np.testing.assert_allclose(np.linalg.norm(found.coefficients_.vector), 27.1, atol=0.05)


@pytest.mark.usefixtures("data_folder")
def test_the_norms_of_the_other_sets():
    for name, norm in (("FL", 10.50), ("WT", 5.914)):
        table, public = as_in_the_paper(name)
        found = ds.SurvivalRegression(public, link="logit").fit(table)
        np.testing.assert_allclose(np.linalg.norm(found.coefficients_.vector), norm, rtol=1e-3)

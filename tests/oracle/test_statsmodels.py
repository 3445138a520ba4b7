"""Coefficients and standard errors equal statsmodels' GLM on the person-period expansion."""

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from pyarrow import csv

from discreet import LogTime, NaturalSpline, PiecewiseConstant, Schema, SurvivalRegression
from tests.cohorts import cohort, episodic, expand, schema

LINKS = {
    "logit": sm.families.links.Logit(),
    "cloglog": sm.families.links.CLogLog(),
    "probit": sm.families.links.Probit(),
}
BASELINES = [NaturalSpline(3), PiecewiseConstant(3), LogTime(2)]
DATA = {
    "one row a person": (cohort(), schema()),
    "episodes": (episodic(), schema(person=True, entry=True)),
}


def oracle(table, public, baseline, link):
    design, outcome = expand(table, public, baseline)
    model = sm.GLM(outcome, design, family=sm.families.Binomial(link=LINKS[link]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model, model.fit(tol=1e-15, maxiter=100)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("baseline", BASELINES, ids=lambda item: item.spelling)
@pytest.mark.parametrize("link", LINKS)
def test_coefficients_and_standard_errors(data, baseline, link):
    table, public = DATA[data]
    ours = SurvivalRegression(public, link=link, baseline=baseline).fit(table)
    _, theirs = oracle(table, public, baseline, link)
    np.testing.assert_allclose(ours.coefficients_.vector, theirs.params, rtol=1e-7)
    np.testing.assert_allclose(ours.standard_errors_.vector, theirs.bse, rtol=1e-7)
    np.testing.assert_allclose(ours.model_.fit.log_likelihood, theirs.llf, rtol=1e-10)
    table = ours.summary()
    np.testing.assert_allclose(table.z, theirs.tvalues, rtol=1e-6)
    np.testing.assert_allclose(table.p, theirs.pvalues, rtol=1e-5, atol=1e-300)
    interval = np.column_stack([table.lower, table.upper])
    np.testing.assert_allclose(interval, theirs.conf_int(), rtol=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_observed_information(link):
    table, public = DATA["episodes"]
    ours = SurvivalRegression(public, link=link, information="observed").fit(table)
    model, theirs = oracle(table, public, NaturalSpline(3), link)
    hessian = model.hessian(theirs.params, scale=1.0, observed=True)
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    np.testing.assert_allclose(ours.standard_errors_.vector, errors, rtol=1e-7)


def test_covariance_between_coefficients():
    table, public = DATA["one row a person"]
    ours = SurvivalRegression(public, link="logit").fit(table).model_.covariance
    _, theirs = oracle(table, public, NaturalSpline(3), "logit")
    expected = theirs.cov_params()
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(ours / scale, expected / scale, atol=1e-7)


def test_the_papers_data(data_folder):
    table = csv.read_csv(data_folder / "tb.csv")
    columns = {
        name: table[name].to_numpy() for name in ("time", "status", "age", "spacing", "sibs")
    }
    time, status, *values = columns.values()
    names = list(columns)[2:]
    public = Schema.from_mapping(
        {
            "time": {
                "duration": "time",
                "event": "status",
                "horizon": float(time.max()),
                "intervals": 20,
            },
            "covariate": [
                {"name": name, "low": float(value.min()), "high": float(value.max())}
                for name, value in zip(names, values, strict=True)
            ],
        }
    )
    ours = SurvivalRegression(public, link="logit").fit(table)
    last = np.minimum((time / time.max() * 20).astype(int) + 1, 20)
    person = np.repeat(np.arange(len(last)), last)
    interval = np.concatenate([np.arange(count) for count in last])
    design = np.hstack([NaturalSpline(3).basis(20)[interval], np.column_stack(values)[person]])
    outcome = np.zeros(len(person))
    outcome[np.cumsum(last) - 1] = status
    theirs = sm.GLM(outcome, design, family=sm.families.Binomial()).fit(tol=1e-15, maxiter=100)
    np.testing.assert_allclose(ours.coefficients_.vector, theirs.params, rtol=1e-7)
    np.testing.assert_allclose(ours.standard_errors_.vector, theirs.bse, rtol=1e-7)


@pytest.mark.parametrize("link", sorted(LINKS))
def test_wald_tests_of_any_coefficients(link):
    table, public = DATA["one row a person"]
    _, found = oracle(table, public, BASELINES[1], link)
    ours = SurvivalRegression(public, link=link, baseline=BASELINES[1]).fit(table)
    for names, places in ((("arm",), (4, 5)), (("age", "arm[c]"), (3, 5)), (("age",), (3,))):
        theirs = found.wald_test(np.eye(6)[list(places)], use_f=False, scalar=True)
        test = ours.wald_test(*names)
        assert test.degrees == len(places)
        np.testing.assert_allclose(test.statistic, theirs.statistic, rtol=1e-6)
        np.testing.assert_allclose(test.p_value, theirs.pvalue, rtol=1e-5, atol=1e-300)

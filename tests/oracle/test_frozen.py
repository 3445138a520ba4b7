"""Values frozen from R (glm and survival::coxph); frozen.R makes them again from people.csv."""

from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.design.link import LINKS
from tests.cohorts import schema

FOLDER = Path(__file__).parent
FROZEN = {
    (model, what): np.array([float(value) for value in values])
    for model, what, *values in (
        line.split(",") for line in (FOLDER / "frozen.csv").read_text().splitlines()
    )
}


def fit(link, baseline, intervals=12):
    model = ds.SurvivalRegression(schema(intervals), link=link, baseline=baseline)
    return model.fit(FOLDER / "people.csv")


@pytest.mark.parametrize("baseline", ["natural-spline:3", "piecewise-constant:4"])
@pytest.mark.parametrize("link", sorted(LINKS))
def test_glm(link, baseline):
    ours, name = fit(link, baseline), f"{link} {baseline}"
    np.testing.assert_allclose(ours.coefficients_.vector, FROZEN[name, "coefficient"], rtol=1e-7)
    np.testing.assert_allclose(
        ours.standard_errors_.vector, FROZEN[name, "standard error"], rtol=1e-7
    )
    np.testing.assert_allclose(
        ours.model_.fit.log_likelihood, FROZEN[name, "log-likelihood"][0], rtol=1e-12
    )


@pytest.mark.parametrize("baseline", ["natural-spline:3", "piecewise-constant:4"])
@pytest.mark.parametrize("link", sorted(LINKS))
def test_covariance_intervals_and_the_test_of_a_factor_are_those_of_r(link, baseline):
    ours, name = fit(link, baseline), f"{link} {baseline}"
    covariance = ours.vcov(frame=True).loc[["arm[b]", "arm[c]"], ["arm[b]", "arm[c]"]]
    np.testing.assert_allclose(covariance.to_numpy().ravel(), FROZEN[name, "covariance"], rtol=1e-6)
    limits = ours.confint(frame=True).loc[["arm[b]", "arm[c]"]]
    np.testing.assert_allclose(limits.to_numpy().T.ravel(), FROZEN[name, "interval"], rtol=1e-6)
    test = ours.wald_test("arm")
    np.testing.assert_allclose((test.statistic, test.p_value), FROZEN[name, "wald"], rtol=1e-6)
    assert (test.names, test.degrees) == (("arm[b]", "arm[c]"), 2)


def test_cox_is_the_limit_of_a_fine_grid():
    ours = fit("cloglog", "natural-spline:4", intervals=4000)
    errors = FROZEN["cox", "standard error"]
    difference = (
        np.array(list(ours.coefficients_.covariates.values())) - FROZEN["cox", "coefficient"]
    )
    assert np.abs(difference / errors).max() < 0.05
    ratio = np.array(list(ours.standard_errors_.covariates.values())) / errors
    np.testing.assert_allclose(ratio, 1.0, atol=0.01)


def test_concordance_of_the_cox_coefficients():
    ours = fit("cloglog", "natural-spline:4", intervals=4000)
    assert abs(ours.score(FOLDER / "people.csv") - FROZEN["cox", "concordance"][0]) < 1e-3

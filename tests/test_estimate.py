"""Where there is no maximum the user gets a statement and finite numbers."""

import warnings

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.design.link import LINKS, get_link
from discreet.estimate import RESCUE_RIDGE, starting_point
from tests.support import make_design

RANDOM = np.random.default_rng(21)
PEOPLE = 200
TIME = RANDOM.uniform(0, 10, PEOPLE)
X = RANDOM.uniform(0, 1, PEOPLE)
EVENT = RANDOM.random(PEOPLE) < 0.4


def public(*names, low=0.0, high=1.0):
    time = {"duration": "time", "event": "event", "horizon": 10, "intervals": 10}
    covariates = [{"name": name, "low": low, "high": high} for name in names]
    return ds.Schema.from_mapping({"time": time, "covariate": covariates})


def table(event=EVENT, time=TIME, **columns):
    return pa.table({"time": time, "event": event, **columns})


CASES = {
    "no events": (table(EVENT & False, x=X), {}, "no events"),
    "separated": (table(X > 0.5, x=(X > 0.5).astype(float)), {}, "'x'.*keeps growing"),
    "one side": (table(EVENT & (X < 0.9), x=(X >= 0.9).astype(float)), {}, "'x'.*keeps growing"),
    "constant column": (table(x=np.full(PEOPLE, 0.3)), {}, "'x'.*does not change"),
    "a stretch without events": (
        table(EVENT & (TIME < 5), x=X),
        {"baseline": ds.PiecewiseConstant(5)},
        "the baseline.*keeps growing",
    ),
    "a stretch without anybody": (
        table(time=TIME / 2, x=X),
        {"baseline": ds.PiecewiseConstant(5)},
        "the baseline.*does not change",
    ),
}


@pytest.mark.parametrize("link", sorted(LINKS))
@pytest.mark.parametrize("name", CASES)
def test_no_maximum(name, link):
    data, settings, words = CASES[name]
    with pytest.warns(ds.warnings.SeparationWarning, match=words):
        found = ds.SurvivalRegression(public("x"), link=link, **settings).fit(data)
    fit = found.model_.fit
    assert fit.ridge == RESCUE_RIDGE / PEOPLE
    assert f"{fit.ridge:.3g}" in fit.notes[0]
    assert fit.gradient_norm <= 1e-10
    assert np.all(np.isfinite(found.coefficients_.vector))
    assert np.all(np.isfinite(found.standard_errors_.vector))
    assert np.all(np.abs(found.coefficients_.vector) < 60)
    assert fit.notes[0] in " ".join(str(found.summary()).split())


def test_columns_that_repeat_each_other_are_both_named():
    with pytest.warns(ds.warnings.SeparationWarning, match="'x', 'z'"):
        found = ds.SurvivalRegression(public("x", "z"), link="logit").fit(table(x=X, z=X))
    alone = ds.SurvivalRegression(public("x"), link="logit").fit(table(x=X))
    both = sum(found.coefficients_.covariates.values())
    assert abs(both - alone.coefficients_.covariates["x"]) < 1e-3


def test_everybody_has_the_event_at_once():
    with pytest.warns(ds.warnings.SeparationWarning, match="estimated as 1"):
        ds.SurvivalRegression(public("x"), link="logit").fit(table(EVENT | True, TIME * 0, x=X))


@pytest.mark.parametrize("width", [1.0, 1e3, 1e6, 1e9])
def test_wide_bounds_are_not_taken_for_separation(width):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wide = ds.SurvivalRegression(public("x", low=-width, high=width), link="logit").fit(
            table(x=X)
        )
    exact = ds.SurvivalRegression(public("x"), link="logit").fit(table(x=X))
    np.testing.assert_allclose(wide.coefficients_.vector, exact.coefficients_.vector, rtol=1e-6)
    np.testing.assert_allclose(
        wide.standard_errors_.vector, exact.standard_errors_.vector, rtol=1e-6
    )


def test_a_ridge_of_the_users_own_needs_no_rescue():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ds.SurvivalRegression(public("x"), ridge=0.01, link="logit").fit(
            table(EVENT & False, x=X)
        )
    assert found.model_.fit.ridge == 0.01
    assert found.model_.fit.notes == ()


def test_the_ridge_is_on_the_mean_loss_in_internal_coordinates():
    found = ds.SurvivalRegression(public("x"), ridge=0.01, link="logit").fit(table(x=X))
    free = ds.SurvivalRegression(public("x"), link="logit").fit(table(x=X))
    penalty = 0.005 * np.sum(found.model_.internal.vector**2)
    free_penalty = 0.005 * np.sum(free.model_.internal.vector**2)
    mean = -found.model_.fit.log_likelihood / PEOPLE
    free_mean = -free.model_.fit.log_likelihood / PEOPLE
    assert free_mean < mean
    assert mean + penalty < free_mean + free_penalty


def test_solvers_agree():
    newton = ds.SurvivalRegression(public("x"), link="logit").fit(table(x=X))
    bfgs = ds.SurvivalRegression(public("x"), solver="bfgs", link="logit").fit(table(x=X))
    np.testing.assert_allclose(bfgs.coefficients_.vector, newton.coefficients_.vector, rtol=1e-5)
    unfinished = bfgs.model_.fit.gradient_norm > 1e-10
    assert unfinished == any("stopped" in note for note in bfgs.model_.fit.notes)


@pytest.mark.parametrize("link", sorted(LINKS))
@pytest.mark.parametrize("baseline", [ds.NaturalSpline(4), ds.PiecewiseConstant(3)])
def test_the_start_is_the_pooled_hazard(link, baseline):
    design = make_design(12, 2, baseline)
    point = starting_point(design, get_link(link), 30, 1000)
    hazards = get_link(link).hazard(design.basis @ point[: baseline.dimension])
    np.testing.assert_allclose(hazards, 0.03, rtol=1e-9)
    assert not point[baseline.dimension :].any()


def curved(shape, people=4000):
    """People of a Weibull hazard: far from constant where the shape is far from 1."""
    random = np.random.default_rng(5)
    time = 6.0 * random.weibull(shape, people)
    return table(event=time < 10, time=np.minimum(time, 10.0), x=random.uniform(0, 1, people))


def test_a_baseline_that_misses_the_times_is_told_and_another_proposed():
    schema = public("x").to_mapping()
    schema["time"]["intervals"] = 100
    poor = ds.SurvivalRegression(schema, baseline=ds.LogTime(1)).fit(curved(3.0))
    (note,) = poor.model_.fit.notes
    assert "log-time:1 follows the times poorly" in note
    proposed = note.rsplit("Try baseline ", 1)[1].rstrip(".")
    better = ds.SurvivalRegression(schema, baseline=proposed).fit(curved(3.0))
    assert better.model_.fit.notes == ()
    assert better.model_.fit.log_likelihood > poor.model_.fit.log_likelihood + 50
    assert note in " ".join(str(poor.summary()).split())
    constant = ds.SurvivalRegression(schema, baseline=ds.LogTime(1)).fit(curved(1.0))
    assert constant.model_.fit.notes == ()


@pytest.mark.parametrize(("horizon", "reached"), [(40, True), (10, False)])
def test_a_baseline_beyond_the_last_event_is_said_to_be_unknown(horizon, reached):
    """There is a maximum and no separation, but coefficients in the hundreds mean nothing."""
    time = {"duration": "time", "event": "event", "horizon": horizon, "intervals": 60}
    covariates = [{"name": "x", "low": 0, "high": 1}]
    schema = ds.Schema.from_mapping({"time": time, "covariate": covariates})
    found = ds.SurvivalRegression(schema).fit(table(x=X))
    notes = "".join(found.model_.fit.notes)
    assert ("about the baseline between 22.67 and 40, where few people" in notes) == reached
    assert (np.abs(found.coefficients_.baseline).max() > 100.0) == reached

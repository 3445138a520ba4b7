"""Incidence frozen from R's survival::survfit with a factor status; causes.R makes it again."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as ds

FOLDER = Path(__file__).parent
FROZEN = {
    (group, state): np.array([float(value) for value in values])
    for group, state, *values in (
        line.split(",") for line in (FOLDER / "causes.csv").read_text().splitlines()
    )
}
CAUSES = ("first", "second")


def schema(*covariates):
    time = {"duration": "time", "event": "cause", "horizon": 24, "intervals": 6}
    return {"time": {**time, "causes": {"first": [1], "second": [2]}}, "covariate": covariates}


@pytest.fixture(scope="module")
def people():
    frame = pd.read_csv(FOLDER / "people.csv")
    frame["cause"] = frame.status * (1 + np.round(frame.age * 10).astype(int) % 2)
    return frame


def test_a_saturated_model_has_survfits_incidence(people):
    model = ds.SurvivalRegression(schema(), baseline="piecewise-constant:6", link="logit").fit(
        people
    )
    ends = np.arange(4, 25, 4)
    for cause in CAUSES:
        found = model.predict_incidence(people.iloc[:1], cause, ends)[0]
        np.testing.assert_allclose(found, FROZEN["all", cause], atol=1e-6)
    alive = model.predict_survival(people.iloc[:1], ends)[0]
    np.testing.assert_allclose(alive, FROZEN["all", "alive"], atol=1e-6)


def exact_incidence(people, cause, ends):
    """Aalen and Johansen's estimate from exact times, by definition."""
    surviving, incidence, found = 1.0, 0.0, []
    events = people[people.cause > 0].sort_values("time")
    for time, kind in zip(events.time, events.cause, strict=True):
        at_risk = (people.time >= time).sum()
        incidence += surviving * (kind == cause) / at_risk
        surviving *= 1.0 - 1.0 / at_risk
        found.append(incidence)
    return np.append(0.0, found)[np.searchsorted(events.time, ends, side="right")]


def test_curves_by_group_without_noise_are_those_of_exact_times(people):
    """A release has counts by stretch: who is censored in one misses half of it on average."""
    arms = {"name": "arm", "levels": ["a", "b", "c"]}
    found = ds.simulate(
        ds.GroupCurves(schema(arms), by="arm"), people, mechanism=ds.GroupCounts(1e9), seed=0
    ).model_
    ends = np.arange(4.0, 25.0, 4.0)
    for group, curve in zip("abc", found.estimates, strict=True):
        for place in range(len(CAUSES)):
            expected = exact_incidence(people[people.arm == group], place + 1, ends)
            estimate = curve.incidence[place].estimate
            np.testing.assert_allclose(estimate, expected, atol=0.012)
            coarse = FROZEN[group, CAUSES[place]]  # as if people were censored at a stretch's end
            assert np.abs(estimate - expected).mean() < np.abs(coarse - expected).mean()


def test_the_life_table_of_a_release_without_noise_is_that_of_exact_times(people):
    mechanism = ds.PrivateNewton(1e7, 1e-6)
    model = ds.simulate(ds.SurvivalRegression(schema()), people, mechanism=mechanism, seed=1).model_
    for place in range(len(CAUSES)):
        found = model.aalen_johansen.incidence[place].estimate
        expected = exact_incidence(people, place + 1, model.times[1:])
        np.testing.assert_allclose(found, expected, atol=0.012)

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
    model = ds.CompetingRisks(schema(), baseline="piecewise-constant:6", link="logit").fit(people)
    ends = np.arange(4, 25, 4)
    for cause in CAUSES:
        found = model.predict_incidence(people.iloc[:1], cause, ends)[0]
        np.testing.assert_allclose(found, FROZEN["all", cause], atol=1e-6)
    alive = model.predict_survival(people.iloc[:1], ends)[0]
    np.testing.assert_allclose(alive, FROZEN["all", "alive"], atol=1e-6)


def test_curves_by_group_without_noise_are_survfits(people):
    arms = {"name": "arm", "levels": ["a", "b", "c"]}
    found = ds.Curves(schema(arms), by="arm").simulate(people, epsilon=1e9)
    for group, curve in zip("abc", found.estimates, strict=True):
        for place, cause in enumerate(CAUSES):
            expected = FROZEN[group, cause]
            np.testing.assert_allclose(curve.incidence[place].estimate, expected, atol=1e-4)


def test_the_life_table_of_a_release_without_noise_is_survfits(people):
    """Where a stretch is one interval; in longer ones those censored count by half."""
    mechanism = ds.PrivateNewton(1e7, 1e-6)
    model = (
        ds.CompetingRisks(schema(), link="logit")
        .simulate(people, mechanism=mechanism, seed=1)
        .model_
    )
    ends = model.exits[:, 1].astype(int) - 1
    for place, cause in enumerate(CAUSES):
        found = model.aalen_johansen.incidence[place].estimate
        np.testing.assert_allclose(found, FROZEN["all", cause][ends], atol=2e-3)

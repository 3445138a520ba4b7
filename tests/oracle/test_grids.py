"""Every time grid equals statsmodels' GLM on the person-period table, wherever people come from."""

import warnings
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
import statsmodels.api as sm

from discreet import NaturalSpline, PiecewiseConstant, PrivateNewton, SurvivalRegression, load
from discreet.base import simulate
from tests.cohorts import HORIZON, at_risk, cohort, episodic, expand, points, schema

GRIDS = {
    "edges": {"edges": [0, 0.5, 1, 2.5, 4, 6, 8, 9.75, 15, HORIZON]},
    "first": {"first": 0.4, "intervals": 14, "horizon": HORIZON},
    "origin": {"origin": 2.0, "intervals": 9, "horizon": HORIZON},
    "origin and first": {
        "origin": 1.5,
        "first": 0.25,
        "intervals": 11,
        "horizon": 20,
        "unit": "weeks",
    },
    "edges from 3": {"edges": [3, 4, 8, 16, 21]},
}
# events beyond a shorter horizon are censored, and reported
pytestmark = pytest.mark.filterwarnings("ignore:.*event after the horizon:UserWarning")
DATA = {"one row a person": cohort, "episodes": episodic}


def people(data, grid):
    several = data == "episodes"
    return DATA[data](), schema(person=several, entry=several, grid=GRIDS[grid])


def oracle(table, public, baseline):
    design, outcome = expand(table, public, baseline)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sm.GLM(outcome, design, family=sm.families.Binomial()).fit(tol=1e-15, maxiter=100)


@pytest.mark.parametrize("baseline", [NaturalSpline(3), PiecewiseConstant(3)], ids=str)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("grid", GRIDS)
def test_coefficients_equal_those_of_the_person_period_table(grid, data, baseline):
    table, public = people(data, grid)
    ours = SurvivalRegression(public, baseline=baseline, link="logit").fit(table)
    theirs = oracle(table, public, baseline)
    np.testing.assert_allclose(ours.coefficients_.vector, theirs.params, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.standard_errors_.vector, theirs.bse, rtol=1e-6)


@pytest.mark.parametrize("grid", GRIDS)
def test_streams_and_files_give_the_same_model(grid, tmp_path):
    table, public = people("episodes", grid)
    pq.write_table(table.slice(0, 240), tmp_path / "a.parquet")
    pq.write_table(table.slice(240), tmp_path / "b.parquet")
    ours = SurvivalRegression(public, link="logit").fit(table)
    streamed = SurvivalRegression(public, link="logit").fit(str(tmp_path / "*.parquet"))
    np.testing.assert_allclose(streamed.coefficients_.vector, ours.coefficients_.vector, rtol=1e-8)
    ours.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.model_.public_schema == public
    np.testing.assert_array_equal(again.predict_survival(table), ours.predict_survival(table))


@pytest.mark.parametrize("grid", GRIDS)
def test_survival_is_a_product_over_the_grids_own_intervals(grid):
    table, public = people("one row a person", grid)
    ours = SurvivalRegression(public, link="logit").fit(table)
    edges = points(public.time)
    hazard = ours.predict_hazard(table, [(a + b) / 2 for a, b in pairwise(edges)])
    expected = np.hstack([np.ones((len(hazard), 1)), np.cumprod(1 - hazard, axis=1)])
    np.testing.assert_allclose(ours.predict_survival(table), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=f"between {public.time.zero:g} and the horizon"):
        ours.predict_survival(table, [public.time.zero - 1])


@pytest.mark.parametrize("grid", ["first", "origin", "edges from 3"])
def test_a_private_life_table_ends_its_stretches_at_the_grids_points(grid):
    table, public = people("one row a person", grid)
    drawn = simulate(
        SurvivalRegression(public, link="logit"),
        table,
        mechanism=PrivateNewton(epsilon=500.0),
        seed=3,
    )
    life = drawn.life_table_
    edges = points(public.time)
    assert life.zero == edges[0]
    assert set(np.round(life.time, 9)) <= set(np.round(edges, 9))
    left = [0] * public.time.intervals
    for _, s, event in at_risk(table, public):
        left[s] += event
    assert life.events.sum() == pytest.approx(sum(left), abs=3)


def dated(table, name):
    """A column of times as texts of days since 29 February 2000."""
    start = datetime(2000, 2, 29)  # noqa: DTZ001 - a wall clock
    return [(start + timedelta(days=time)).isoformat() for time in table[name].to_pylist()]


@pytest.mark.parametrize("data", DATA)
def test_dates_and_words_give_the_fit_of_the_durations(data):
    table, public = people(data, "first")
    words = ["Dead" if event else "alive" for event in table["status"].to_pylist()]
    texts = table.append_column("born", [["2000-02-29"] * len(table)])
    texts = texts.append_column("seen", [dated(table, "time")]).append_column("was", [words])
    time = GRIDS["first"] | {"start": "born", "end": "seen", "event": "was"}
    if data == "episodes":
        texts, time = (
            texts.append_column("since", [dated(table, "start")]),
            time | {"entry": "since"},
        )
    mapping = public.to_mapping() | {"time": time | {"event_values": ["dead", "Dead"]}}
    ours = SurvivalRegression(mapping, link="logit").fit(texts)
    theirs = oracle(table, public, NaturalSpline(3))
    np.testing.assert_allclose(ours.coefficients_.vector, theirs.params, rtol=1e-6, atol=1e-9)

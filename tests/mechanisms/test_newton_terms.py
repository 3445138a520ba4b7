"""Private mechanisms on schemas with terms: leads are counted and drawn, the rest is derived."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet import PrivateNewton, SurvivalRegression
from discreet.base import simulate
from discreet.core.bins import Columns, Stretches, gaps_of, marginals_of
from discreet.core.cells import block_marginals, block_moments
from discreet.core.released import Released
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.estimator.picture import field_of
from discreet.estimator.transcript import Transcript
from discreet.forecast import forecasts, outlook_for
from discreet.mechanisms import OutputPerturbation
from discreet.mechanisms.contract import Facts
from discreet.people.encode import to_episodes

SCHEMA = Schema.from_mapping(
    {
        "time": {"duration": "t", "event": "e", "horizon": 24, "intervals": 24},
        "covariate": [
            {"name": "age", "low": 20, "high": 90, "scale": "spline:4"},
            {"name": "crea", "low": 0.3, "high": 15, "scale": "log", "missing": "indicator"},
            {"name": "arm", "levels": ["a", "b", "c"], "missing": "indicator"},
        ],
        "interaction": [{"of": ["crea", "arm"]}],
    }
)
DESIGN = Design(SCHEMA, NaturalSpline(3))
LEADS = DESIGN.covariates.leads
WHOLE = Stretches((0, 24))


def people(count, seed=0):
    random = np.random.default_rng(seed)
    age, arm = random.uniform(15, 95, count), random.choice(["a", "b", "c", "?"], count)
    crea = np.where(random.random(count) < 0.15, np.nan, np.exp(random.normal(0.3, 0.8, count)))
    known = np.log(np.clip(np.nan_to_num(crea, nan=7.65), 0.3, 15))
    risk = 0.02 * np.exp(0.7 * known + 0.001 * (age - 50) ** 2 - 1 + 0.4 * (arm == "b"))
    time, end = random.exponential(1 / risk), random.uniform(4, 40, count)
    event = (time <= end) & (time <= 24)
    return pa.table({"t": np.minimum(time, end), "e": event, "age": age, "crea": crea, "arm": arm})


def test_counts_see_leads_alone_and_move_by_their_sensitivity():
    marginals = marginals_of(DESIGN, 8)
    assert [item.bins for item in marginals] == [8, 8, 2, 4]
    assert [item.columns for item in marginals] == [(0,), (1,), (2,), (3, 4, 5)]
    assert LEADS.tolist() == [0, 3, 4, 5, 6, 7]
    one, other = (to_episodes(people(60, seed), SCHEMA) for seed in (1, 2))
    for place in range(60):
        (here,) = block_marginals(one.slice(place, place + 1), marginals, WHOLE, LEADS)
        (there,) = block_marginals(other.slice(place, place + 1), marginals, WHOLE, LEADS)
        assert here.sum() == there.sum() == len(marginals)
        assert np.sum((here - there) ** 2) <= 2 * len(marginals)
    limit = 9 * 2**20
    (half,) = block_moments(one, np.zeros(6), np.full(6, 0.1), limit, WHOLE, Columns(LEADS))
    assert len(half) == 6 * 7 // 2


def test_a_missing_number_counts_as_the_centre_in_second_moments():
    assert gaps_of(DESIGN) == ((1, 2),)
    block = to_episodes(people(400), SCHEMA)
    place = (np.zeros(6), np.full(6, 0.1), 9 * 2**20, WHOLE)
    missing = block.covariates[:, LEADS[2]] > 0
    assert 20 < missing.sum() < 200
    gone = replace(block, covariates=block.covariates.copy())
    gone.covariates[missing, LEADS[1]] = 0.0
    (expected,) = block_moments(gone, *place, Columns(LEADS))
    (found,) = block_moments(block, *place, Columns(LEADS, gaps_of(DESIGN)))
    assert np.array_equal(found, expected)
    assert not np.array_equal(found, block_moments(block, *place, Columns(LEADS))[0])


def test_the_cohort_draws_leads_and_derives_the_rest():
    marginals = marginals_of(DESIGN, 8)
    (counts,) = block_marginals(to_episodes(people(3000), SCHEMA), marginals, WHOLE, LEADS)
    exits = Released(np.array([[[1500.0], [1500.0]]]), 1.0)
    facts = DESIGN, get_link("logit"), 3000, 1, np.array([0, 24]), exits
    counted = Released(counts.astype(float), 1.0)
    cohort = field_of(Transcript(*facts, marginals=marginals, counts=counted)).members.columns[:, 0]
    assert cohort.shape == (512, DESIGN.covariates.dimension)
    np.testing.assert_array_equal(DESIGN.complete(cohort[:, LEADS]), cohort)
    assert np.all(np.linalg.norm(cohort, axis=1) <= 1.0 + 1e-9)
    missing = cohort[:, 4] > 0
    assert 0.1 < missing.mean() < 0.2
    assert len(np.unique(cohort[missing, 3])) == 1  # the fill, and its logarithm
    filled = np.isclose(cohort[~missing, 3], cohort[missing, 3][0])
    assert filled.mean() < 0.02  # who is not missing is not drawn at the fill


@pytest.mark.filterwarnings("ignore:.*not fit the schema.*:UserWarning")
def test_private_newton_finds_the_terms_effects():
    table = people(6000)
    plain = SurvivalRegression(SCHEMA, link="logit").fit(table)
    drawn = simulate(
        SurvivalRegression(SCHEMA, link="logit"),
        table,
        mechanism=PrivateNewton(epsilon=50.0),
        seed=2,
    )
    gap = drawn.coefficients_.vector - plain.coefficients_.vector
    precision = np.linalg.inv(plain.model_.covariance)
    assert np.sqrt(gap @ precision @ gap / len(gap)) < 0.6
    assert list(drawn.coefficients_.covariates) == list(SCHEMA.coefficient_names)
    assert drawn.predict_survival(table.slice(0, 3)).shape == (3, 25)


def test_perturbation_rests_on_the_ball_alone():
    table = people(300)
    simulate(
        SurvivalRegression(SCHEMA, link="logit"),
        table,
        mechanism=OutputPerturbation(epsilon=1.0),
        seed=1,
    )


def test_a_plan_counts_leads():
    facts = Facts(5000, DESIGN, get_link("logit"))
    assert (facts.leads, facts.covariates) == (6, 10)
    found = forecasts(outlook_for(SCHEMA, 5000, 1500, "logit", "natural-spline:3"), 1.0, None)
    newton = next(item for item in found if item.mechanism == "newton")
    assert 0 < newton.error < 10
    assert len(newton.standard_errors) == 10

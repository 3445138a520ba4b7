"""Black-box audit in one dimension: the epsilon that outcomes show is never above the claim."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from discreet.base import simulate
from discreet.mechanisms import ObjectivePerturbation, OutputPerturbation
from discreet.mechanisms.perturbation import coordinates_from
from discreet.privacy.testing import SeededNoise
from discreet.regression import SurvivalRegression
from tests.conftest import FALSE_ALARM
from tests.mechanisms.cases import LinearLoss, make_constants

RUNS = 1000
EPSILON = 1.0


def shown_epsilon(first, second, alarm=FALSE_ALARM):
    """A lower confidence bound on log P(S)/P'(S), S the half line that half of them choose on."""
    train, test = len(first) // 3, len(first) - len(first) // 3
    cuts = np.quantile(np.concatenate([first[:train], second[:train]]), [0.2, 0.35, 0.5, 0.65, 0.8])
    best = -math.inf
    for cut in cuts:
        for a, b in ((first, second), (second, first)):
            for side in (1, -1):
                hits = int(np.sum(side * a[train:] > side * cut))
                others = int(np.sum(side * b[train:] > side * cut))
                level = alarm / 40
                low = stats.beta.ppf(level, hits, test - hits + 1) if hits else 0.0
                high = (
                    stats.beta.ppf(1 - level, others + 1, test - others) if others < test else 1.0
                )
                best = max(best, math.log(low / high) if low else -math.inf)
    return best


def outcomes(mechanism, plan, slope, runs, seed):
    noise, centre = SeededNoise(seed), coordinates_from(plan.details).centre
    loss = LinearLoss(np.array([slope]))
    return np.array([(mechanism.draw(plan, loss, noise).point - centre)[0] for _ in range(runs)])


def audit(mechanism, runs=RUNS, seed=1):
    """Two losses at the bound of the claimed sensitivity, through plan and draw."""
    constants = make_constants(persons=1, intervals=5, covariates=0, knots=1)
    plan = mechanism.plan(constants)
    gap = plan.number("gradient_sensitivity") / float(coordinates_from(plan.details).scale[0])
    first = outcomes(mechanism, plan, 0.5 * gap, runs, seed)
    second = outcomes(mechanism, plan, -0.5 * gap, runs, seed + 1)
    return shown_epsilon(first, second)


def user_audit(mechanism, runs, seed=0):
    """Shown epsilon of two tables of one person: alive to the end, or dead at once."""
    schema = {"time": {"duration": "t", "event": "e", "horizon": 5.0, "intervals": 5}}
    model = SurvivalRegression(schema, baseline="natural-spline:1", link="logit")
    sides = []
    for side, row in enumerate(((5.0, 0), (0.5, 1))):
        table = pd.DataFrame([row], columns=["t", "e"])
        noise = SeededNoise(seed + side)
        drawn = (
            simulate(model, table, mechanism=mechanism, seed=noise, persons=1) for _ in range(runs)
        )
        sides.append([found.model_.internal.baseline[0] for found in drawn])
    return shown_epsilon(np.array(sides[0]), np.array(sides[1]))


@pytest.mark.parametrize("kind", [OutputPerturbation, ObjectivePerturbation])
def test_a_canary_at_the_bound_shows_much_of_epsilon_and_never_more(kind):
    shown = audit(kind(epsilon=EPSILON))
    assert 0.2 * EPSILON < shown <= EPSILON


def test_the_audit_would_notice_half_the_noise():
    """The same audit on a mechanism that claims half of what it spends."""
    assert audit(OutputPerturbation(epsilon=2 * EPSILON)) > EPSILON


def test_an_audit_through_users_fits_never_shows_more_and_has_the_power_to():
    assert user_audit(OutputPerturbation(epsilon=EPSILON), 100) <= EPSILON
    assert user_audit(OutputPerturbation(epsilon=200 * EPSILON), 100) > EPSILON

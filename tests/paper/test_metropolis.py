"""The reference sampler on laws that are known."""

import numpy as np
import pytest
from scipy import stats

from discreet.paper.diagnostics import compare
from discreet.paper.metropolis import metropolis
from tests.conftest import FALSE_ALARM

COVARIANCE = np.array([[1.0, 0.8], [0.8, 2.0]])
MEAN = np.array([1.0, -3.0])


def energy(point):
    away = np.linalg.solve(COVARIANCE, point - MEAN)
    return 0.5 * float((point - MEAN) @ away), away


def sample(preconditioner, function=energy, draws=6000):
    found = [
        metropolis(
            function, MEAN, preconditioner, np.random.default_rng(seed), draws=draws, burn_in=300
        )
        for seed in range(3)
    ]
    moved = np.any(np.diff(found[0], axis=0) != 0.0, axis=1)
    return np.stack(found), moved.mean()


@pytest.mark.parametrize("preconditioner", [COVARIANCE, np.diag([0.5, 0.5])])
def test_a_gaussian_is_sampled_whatever_the_preconditioner(preconditioner):
    points, acceptance = sample(preconditioner)
    exact = np.random.default_rng(9).multivariate_normal(MEAN, COVARIANCE, (3, 6000))
    assert compare(points, exact, FALSE_ALARM).accepted
    assert 0.3 < acceptance < 0.98
    assert not compare(points, MEAN + (exact - MEAN) * 1.2, FALSE_ALARM).accepted


def test_a_law_that_is_not_gaussian():
    def logistic(point):
        """The logistic law: E = x + 2 log(1 + e^-x)."""
        value = float(np.sum(point + 2.0 * np.logaddexp(0.0, -point)))
        return value, np.tanh(0.5 * point)

    points, _ = sample(np.eye(2) * 3.0, logistic)
    thinned = points[:, ::20, 0].ravel()
    assert stats.kstest(thinned, "logistic").pvalue > FALSE_ALARM
    assert stats.kstest(thinned, stats.norm.cdf).pvalue < FALSE_ALARM

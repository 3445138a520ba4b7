"""Minimisers against minima known in closed form."""

import numpy as np
import pytest
from scipy import special

from discreet.errors import SettingsError
from discreet.solve import Evaluation, minimise


def quadratic(point):
    """(x - c)'H(x - c)/2 with c = (1, -2, 3)."""
    hessian = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 100.0]])
    offset = point - np.array([1.0, -2.0, 3.0])
    return Evaluation(float(offset @ hessian @ offset) / 2, hessian @ offset, hessian)


def softplus_pair(point):
    """log(1 + e^x) - x/4: minimum at log(1/3), far too flat for undamped steps from 30."""
    hazard = special.expit(point)
    value = float(np.sum(np.logaddexp(0, point) - point / 4))
    return Evaluation(value, hazard - 0.25, np.diag(hazard * (1 - hazard)))


@pytest.mark.parametrize("method", ["newton", "bfgs"])
def test_known_minima(method):
    found = minimise(quadratic, np.zeros(3), method=method, tolerance=1e-9)
    assert found.converged
    assert found.gradient_norm <= 1e-9
    np.testing.assert_allclose(found.point, [1.0, -2.0, 3.0], atol=1e-8)
    found = minimise(softplus_pair, np.array([30.0]), method=method, tolerance=1e-9)
    assert found.converged
    np.testing.assert_allclose(found.point, np.log(1 / 3), atol=1e-7)


def test_the_certificate_is_the_gradient_at_the_point_returned():
    found = minimise(softplus_pair, np.array([3.0]), tolerance=1e-12)
    again = softplus_pair(found.point)
    assert found.gradient_norm == np.linalg.norm(again.gradient)


def test_no_minimum_is_said_not_hidden():
    def falling(point):
        return Evaluation(float(np.exp(-point[0])), -np.exp(-point), np.diag(np.exp(-point)))

    found = minimise(falling, np.zeros(1), tolerance=1e-300, limit=20)
    assert not found.converged
    assert found.status == "iteration limit"


def test_unknown_solver():
    with pytest.raises(SettingsError, match="newton, bfgs"):
        minimise(quadratic, np.zeros(3), method="adam")

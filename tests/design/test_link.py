"""Links against 60-digit arithmetic, from deep tails to saturation."""

import mpmath
import numpy as np
import pytest

from discreet.design.link import LINKS, get_link
from discreet.errors import SettingsError

mpmath.mp.dps = 60
ETAS = np.array([-600.0, -80.0, -36.5, -35.5, -9.0, -3.0, -0.7, -1e-9, 0.0, 0.4, 1.0, 2.5, 5.8])
# Beyond these the losses themselves leave the float range.
LARGE = {"logit": [40.0, 600.0], "probit": [12.0, 35.0, 49.0, 51.0], "cloglog": [5.9, 6.4]}
TAIL = {"logit": -600.0, "cloglog": -600.0, "probit": -36.0}


def _hazard(name):
    return {
        "logit": lambda u: 1 / (1 + mpmath.exp(-u)),
        "probit": lambda u: mpmath.erfc(-u / mpmath.sqrt(2)) / 2,
        "cloglog": lambda u: -mpmath.expm1(-mpmath.exp(u)),
    }[name]


def _complement(name):
    return {
        "logit": lambda u: 1 / (1 + mpmath.exp(u)),
        "probit": lambda u: mpmath.erfc(u / mpmath.sqrt(2)) / 2,
        "cloglog": lambda u: mpmath.exp(-mpmath.exp(u)),
    }[name]


def _exact(name, quantity, eta):
    """The quantity from its definition, derivatives by 60-digit differences."""
    hazard, complement = _hazard(name), _complement(name)
    point = mpmath.mpf(float(eta))
    survival = lambda u: -mpmath.log(complement(u))  # noqa: E731
    event = lambda u: -mpmath.log(hazard(u))  # noqa: E731
    formulas = {
        "hazard": lambda: hazard(point),
        "survival_loss": lambda: survival(point),
        "survival_loss_derivative": lambda: mpmath.diff(survival, point),
        "survival_loss_curvature": lambda: mpmath.diff(survival, point, 2),
        "event_loss": lambda: event(point),
        "event_loss_derivative": lambda: mpmath.diff(event, point),
        "event_loss_curvature": lambda: mpmath.diff(event, point, 2),
        "information": lambda: (
            mpmath.diff(hazard, point) ** 2 / (hazard(point) * complement(point))
        ),
    }
    return formulas[quantity]()


QUANTITIES = (
    "hazard",
    "survival_loss",
    "survival_loss_derivative",
    "survival_loss_curvature",
    "event_loss",
    "event_loss_derivative",
    "event_loss_curvature",
    "information",
)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_links_equal_their_definitions(name, quantity):
    # Differences of the definition need far more digits than the values in a tail like 1e-260.
    etas = np.array([u for u in ETAS if u >= TAIL[name]] + LARGE[name])
    if quantity == "information":
        etas = etas[np.abs(etas) < 36.0]  # quotients of differences lose twice the digits
    with mpmath.workdps(450 if name == "probit" else 400):
        exact = np.array([float(_exact(name, quantity, eta)) for eta in etas])
    found = getattr(get_link(name), quantity)(etas)
    np.testing.assert_allclose(found, exact, rtol=2e-12, atol=1e-300)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("hazard", [1e-12, 1e-3, 0.3, 0.5, 0.9, 0.999])
def test_the_predictor_of_a_hazard_has_that_hazard(name, hazard):
    link = get_link(name)
    assert link.hazard(np.array(link.predictor(hazard))) == pytest.approx(hazard, rel=1e-11)


def test_probit_far_beyond_where_the_difference_cancels():
    eta = np.array([1e4, 1e8])
    np.testing.assert_allclose(LINKS["probit"].survival_loss_curvature(eta), 1 - eta**-2.0)


def test_stated_constants_are_suprema():
    grid = np.linspace(-40, 40, 200_001)
    for link in LINKS.values():
        slope = np.maximum(
            np.abs(link.survival_loss_derivative(grid)), np.abs(link.event_loss_derivative(grid))
        )
        bend = np.maximum(link.survival_loss_curvature(grid), link.event_loss_curvature(grid))
        assert slope.max() <= link.lipschitz
        assert bend.max() <= link.curvature * (1 + 1e-12)
    assert LINKS["logit"].survival_loss_curvature(np.zeros(1))[0] == 0.25
    assert LINKS["probit"].survival_loss_derivative(np.array([1e4]))[0] > 9999.0


def test_unknown_link_names_the_choices():
    with pytest.raises(SettingsError, match="logit, cloglog, probit"):
        get_link("loglog")

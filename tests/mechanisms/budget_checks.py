"""What must hold of budgets and composition, as functions: seeded bugs must make them fail."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import SettingsError
from discreet.privacy import accountant, scales
from discreet.privacy import gaussian as gaussian_curve
from discreet.privacy.accountant import (
    PrivacyFilter,
    Totals,
    promised,
    rho_for,
    zcdp_epsilon,
)
from discreet.privacy.guarantee import Guarantee
from tests.privacy.composition import compose, totals_of

DELTA = 1e-6
HAIR = 1 + Fraction(1, 10**9)


def zcdp_guarantee(rho, delta):
    """A release whose rho is that of zCDP and no more, as those of 0.1."""
    return Guarantee(zcdp_epsilon(rho, delta), delta, rho)


def gaussian(epsilon, delta=DELTA):
    return promised(epsilon, delta)


def zcdp(epsilon, delta=DELTA):
    """A guarantee of rho alone, as ledgers of 0.1 hold them, a little inside epsilon."""
    low, high = 0.0, 10 * rho_for(epsilon, delta)
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_epsilon(middle, delta) <= epsilon else (low, middle)
    return Guarantee(epsilon, delta, low)


def check_a_budget_takes_gaussian_noise_of_its_size():
    """A Gaussian request of the budget's size fills it: not a hair more."""
    for epsilon in (0.1, 1.0, 8.0):
        budget, filled = PrivacyFilter(epsilon, DELTA), totals_of([gaussian(epsilon)])
        assert budget.covers(filled)
        assert not budget.covers(replace(filled, rho=filled.rho * HAIR))


def check_mixtures_have_a_part_of_delta_of_their_own():
    """After Gaussian noise, what (B) admits must hold at a 16th of delta: the rest is (G)'s."""
    budget, spent = PrivacyFilter(2.0, DELTA), totals_of([gaussian(1.6)])
    left = budget.left(spent)
    assert (
        compose([zcdp_guarantee(float(spent.rho), DELTA), Guarantee(left)], DELTA / 16).epsilon
        <= 2.0
    )


def check_mixtures_do_not_use_the_gaussian_curve():
    """One release without delta, and rho is counted as zCDP: the two curves do not add up."""
    budget = PrivacyFilter(1.0, DELTA)
    spent = totals_of([Guarantee(0.001)])
    assert not budget.admits(spent, gaussian(0.999))
    assert not budget.admits(totals_of([zcdp(0.1)]), gaussian(0.99))


def check_delta_is_divided():
    """Mixtures and Gaussian noise have one delta between them, and a 1024th is not used."""
    parts = accountant.gaussian_share(Fraction(1)), accountant.MIXED_SHARE, accountant.UNUSED_SHARE
    assert sum(parts) == 1


def check_rounding_is_paid_for():
    """What all of delta would keep, and not what is left after 2^-20 of it, is not kept."""
    rho = Fraction(1, 40)
    needed = Fraction(float(gaussian_curve.gaussian_delta(Fraction(1), rho)))
    assert not gaussian_curve.satisfies(Fraction(1), needed * (1 + Fraction(1, 2**21)), rho)


def check_gaussian_noise_keeps_its_variance():
    """delta of the noise that is drawn, by its masses, is not above what is promised."""
    for epsilon in (8.0, 40.0, 100.0):
        promise = gaussian(epsilon)
        assert discrete_delta(scales.gaussian_scale(1, promise.rho), epsilon) <= DELTA


def discrete_delta(scale, epsilon):
    """P(S) - e^epsilon Q(S) of integer noise at 0 and at 1, by its masses, S the worst set."""
    k = np.arange(-200, 201)
    p, q = (np.exp(-((k - centre) ** 2) / (2 * scale**2)) for centre in (0, 1))
    return float(np.maximum(p - np.exp(epsilon) * q, 0.0).sum() / p.sum())


def check_the_curve_is_that_of_gaussian_noise():
    """What is kept lies on the curve of Balle and Wang: not below it, and hardly above."""
    for epsilon, mu in ((0.1, 0.05), (1.0, 0.2), (8.0, 1.5)):
        upper, lower = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        delta = stats.norm.cdf(upper) - math.exp(epsilon) * stats.norm.cdf(lower)
        exact, rho = Fraction(epsilon), Fraction(mu) ** 2 / 2
        assert gaussian_curve.satisfies(exact, Fraction(1.00001 * delta), rho)
        assert not gaussian_curve.satisfies(exact, Fraction(0.99999 * delta), rho)


def check_rho_and_epsilon_have_one_budget():
    """What Gaussian noise has used up is not there for releases without delta."""
    budget = PrivacyFilter(1.0, DELTA)
    assert not budget.admits(totals_of([gaussian(1.0)]), Guarantee(0.01))


def check_a_request_is_charged_what_its_rho_costs():
    """A guarantee that states less than its rho gives is not believed."""
    with pytest.raises(SettingsError):
        PrivacyFilter(2.0, DELTA).admits(Totals(), promised_less())


def promised_less():
    return replace(gaussian(1.0), epsilon=0.9)

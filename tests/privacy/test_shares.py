"""Noise that sites draw together: its law, its size, and what is paid for it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import exp, log, mp, mpf, sqrt
from scipy import stats

from discreet.core.question import SCORES, of_exits
from discreet.core.split import Sensitivity
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import Logit
from discreet.errors import EntropyError, SettingsError
from discreet.mechanisms.contract import Facts
from discreet.mechanisms.newton.layout import Layout
from discreet.mechanisms.newton.mechanism import PrivateNewton
from discreet.privacy.noise import SystemNoise
from discreet.privacy.shared_noise import SharedNoise, SimulatedShares
from discreet.privacy.shares import (
    ALONE,
    LEAST_RHO,
    MOST_COORDINATES,
    MOST_RHO,
    MOST_SITES,
    SET_ASIDE,
    SMALLEST_SHARE,
    NoiseShares,
)
from discreet.privacy.testing import SeededNoise
from tests.cohorts import schema

ALPHA = 1e-6
DESIGN = Design(schema(), NaturalSpline(3))


def divergence_bound(scale, summands):
    """The lemma's a, of the log masses of a sum and of one discrete Gaussian."""
    bound = 0.0
    for k in range(1, summands):
        variance = scale**2 * k / (k + 1)
        eta = 2 * sum(math.exp(-2 * (math.pi * j) ** 2 * variance) for j in range(1, 40))
        bound += math.inf if eta >= 1 else math.log1p(eta) - math.log1p(-eta)
    return bound


def masses(scale, reach):
    """The discrete Gaussian in 60 digits."""
    weights = {x: exp(-mpf(x * x) / (2 * mpf(scale) ** 2)) for x in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def largest_difference(scale, summands):
    """Of the logs of the masses: a sum of discrete Gaussians against one, where mass is."""
    reach = int(30 * scale) + 12
    one = masses(scale, reach)
    found = one
    for _ in range(summands - 1):
        found = {
            z: sum(found[x] * one[z - x] for x in range(max(-reach, z - reach), min(reach, z + reach) + 1))
            for z in range(-reach, reach + 1)
        }  # fmt: skip
    single = masses(scale * sqrt(summands), 2 * reach)
    return max(abs(log(found[z] / single[z])) for z in range(-6, 7))


@pytest.mark.parametrize("summands", [2, 3])
@pytest.mark.parametrize("scale", [0.5, 0.75, 1.0, 1.5])
def test_masses_of_the_sum_are_within_the_bound(scale, summands):
    with mp.workdps(60):
        assert largest_difference(scale, summands) <= divergence_bound(scale, summands)


def test_the_bound_is_not_idle():
    """Of two summands it is at most about twice what is found."""
    with mp.workdps(60):
        assert divergence_bound(1.0, 2) <= 2.01 * largest_difference(1.0, 2)


@pytest.mark.parametrize(("scale", "two", "many"), [
    (1, 2.1e-4, 2.2e-4), (2, 2.9e-17, 2.9e-17), (3, 1.1e-38, 1.1e-38), (4, 1.0e-68, 1.0e-68),
])  # fmt: skip
def test_the_table_of_the_proof(scale, two, many):
    assert divergence_bound(scale, 2) == pytest.approx(two, rel=0.05)
    assert divergence_bound(scale, 33) == pytest.approx(many, rel=0.05)


def test_what_is_set_aside_pays_for_the_sum():
    """The theorem's rest, at the ends of the ranges that are checked, against 2^-40 of rho."""
    distance = MOST_COORDINATES * divergence_bound(SMALLEST_SHARE, MOST_SITES)
    rest = 2 * distance + math.expm1(distance) * (
        math.exp(2 * MOST_RHO) + 1 + MOST_RHO + math.sqrt(2 * MOST_RHO)
    )
    assert rest < SET_ASIDE * LEAST_RHO
    shares = NoiseShares.among(3)
    assert shares.spendable(Fraction(1, 50)) == Fraction(1, 50) * (1 - SET_ASIDE)
    assert ALONE.spendable(Fraction(1, 50)) == Fraction(1, 50)
    for rho in (LEAST_RHO / 2, Fraction(MOST_RHO + 1)):
        with pytest.raises(SettingsError, match="epsilon is out of the range"):
            shares.spendable(rho)


@pytest.mark.parametrize(("sites", "colluding"), [(3, 1), (4, 1), (5, 2), (7, 3), (10, 4), (10, 1)])
def test_honest_shares_have_the_scale_of_the_plan(sites, colluding):
    """Never less than sigma^2 without the colluding sites' noise, and hardly more."""
    shares = NoiseShares(sites, colluding)
    sigma = Fraction(1000, 3)
    honest = shares.honest * shares.share(sigma) ** 2
    assert sigma**2 <= honest <= sigma**2 * (1 + Fraction(1, 2**60))
    assert shares.noise_factor == Fraction(sites, sites - colluding)
    assert shares.excess**2 == pytest.approx(float(shares.noise_factor))


def test_the_default_is_the_largest_minority():
    assert [NoiseShares.among(sites).colluding for sites in (3, 4, 5, 6, 7)] == [1, 1, 2, 2, 3]


@pytest.mark.parametrize(("sites", "colluding"), [(2, 0), (2, 1), (3, 0), (3, 2), (4, 2), (65, 1), (1, 1)])  # fmt: skip
def test_numbers_without_a_protocol_are_refused(sites, colluding):
    with pytest.raises(SettingsError):
        NoiseShares(sites, colluding)


def test_shares_add_up_to_the_stated_variance():
    """All m draws together: m sigma^2 / (m - t), by a chi-square test that 5 % would fail."""
    shares, sigma, draws = NoiseShares.among(3), Fraction(40), 20_000
    parts = [
        SharedNoise(shares, SystemNoise(), list).discrete_gaussian([7] * draws, sigma)
        for _ in range(3)
    ]
    total = sum(parts).astype(float) - 21
    expected = float(sigma**2 * shares.noise_factor)
    statistic = float(np.sum(total**2)) / expected
    assert stats.chi2.ppf(ALPHA, draws) < statistic < stats.chi2.isf(ALPHA, draws)
    assert statistic * 1.1 > stats.chi2.isf(ALPHA, draws)
    assert statistic / 1.1 < stats.chi2.ppf(ALPHA, draws)


def test_only_noisy_sums_are_handed_to_the_opening():
    opened = []

    def opening(values):
        opened.append(values)
        return [value * 3 for value in values]

    noise = SimulatedShares(NoiseShares.among(3), SeededNoise(1), opening)
    found = noise.discrete_gaussian([10**6] * 50, Fraction(1000))
    assert [value * 3 for value in opened[0]] == found.tolist()
    assert 10**6 not in opened[0]


def test_pure_epsilon_is_refused():
    noise = SharedNoise(NoiseShares.among(3), SystemNoise(), list)
    for draw in (lambda: noise.l1_laplace([1], 5.0), lambda: noise.lattice_laplace(2, 5.0)):
        with pytest.raises(SettingsError, match="pure epsilon is not offered across sites"):
            draw()
    facts = Facts(5000, DESIGN, Logit(), NoiseShares.among(3))
    with pytest.raises(SettingsError, match="pure epsilon"):
        PrivateNewton(epsilon=1.0, delta=0.0).plan(facts)


def test_a_seeded_share_is_never_private():
    with pytest.raises(SettingsError, match="no private share"):
        SharedNoise(NoiseShares.among(3), SeededNoise(1), list)
    with pytest.raises(SettingsError, match="no private share"):
        SimulatedShares(NoiseShares.among(3), SystemNoise(), list)


def test_scales_and_numbers_that_were_not_proved_are_refused():
    noise = SharedNoise(NoiseShares.among(3), SystemNoise(), list)
    for scale in (Fraction(5), Fraction(2**58)):
        with pytest.raises(SettingsError, match="out of the range"):
            noise.discrete_gaussian([1], scale)
    noise._opened = MOST_COORDINATES
    with pytest.raises(SettingsError, match="too many covariates"):
        noise.discrete_gaussian([1], Fraction(100))


def test_a_draw_at_the_end_of_the_integers_stops_the_run():
    class Broken(SystemNoise):
        def discrete_gaussian(self, values, scale):  # noqa: ARG002
            return np.array([2**63 - 1] * len(values), dtype=object)

    noise = SharedNoise(NoiseShares.among(3), Broken(), list)
    with pytest.raises(EntropyError):
        noise.discrete_gaussian([1, 2], Fraction(100))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_a_joint_plan_prints_and_counts_the_true_noise(epsilon):
    """The guarantee is that of one place; deviations, which standard errors use, are wider."""
    mechanism, shares = PrivateNewton(epsilon=epsilon, delta=1e-6), NoiseShares.among(3)
    alone = mechanism.plan(Facts(5000, DESIGN, Logit()))
    joint = mechanism.plan(Facts(5000, DESIGN, Logit(), shares))
    assert joint.guarantee == alone.guarantee
    assert joint.details["noise_factor"] == "3/2"
    assert "sites" not in alone.details
    split, single = Layout.read(joint).budget, Layout.read(alone).budget
    assert split.sites == shares
    assert single.sites == ALONE
    assert split.spent == 1
    share = split.steps[-1]
    assert split.scale(share, SCORES) >= single.scale(share, SCORES)
    wider = split.deviation(share, SCORES, 5) / single.deviation(share, SCORES, 5)
    assert wider == pytest.approx(math.sqrt(1.5), rel=1e-9)
    counts = of_exits(late=True)
    assert split.deviation(share, counts) >= single.deviation(share, counts) * 1.22


def test_a_tiny_scale_is_raised_until_the_sum_is_gaussian():
    mechanism, shares = PrivateNewton(epsilon=40.0, delta=1e-6), NoiseShares.among(5)
    budget = Layout.read(mechanism.plan(Facts(5000, DESIGN, Logit(), shares))).budget
    scale = budget.scale(budget.steps[-1], Sensitivity(2))
    assert shares.share(scale) >= SMALLEST_SHARE
    assert float(scale) == pytest.approx(SMALLEST_SHARE * math.sqrt(3))

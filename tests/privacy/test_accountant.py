"""Conversions and compositions: known values, OpenDP's curve, and the direction of rounding."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st
from opendp.combinators import make_zCDP_to_approxDP
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from scipy import stats

from discreet.errors import SettingsError
from discreet.privacy import noise
from discreet.privacy.accountant import (
    PRECISION,
    PrivacyFilter,
    Totals,
    compose,
    conversion,
    epsilon_of,
    from_nano,
    pure_divergence,
    rho_for,
    rho_of_pure,
    to_nano,
    zcdp_guarantee,
)
from discreet.privacy.guarantee import Guarantee

EPSILONS = st.floats(1e-3, 50).map(lambda x: float(f"{x:.6g}"))
DELTAS = st.floats(1e-12, 1e-2).map(lambda x: float(f"{x:.6g}"))


def opendp_epsilon(rho, delta):
    """OpenDP's conversion of a Gaussian release with this rho."""
    assert noise.LARGEST_VALUE  # importing noise is what enables OpenDP's features
    space = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
    release = make_gaussian(*space, scale=1 / math.sqrt(2 * rho))
    return make_zCDP_to_approxDP(release).map(1.0).epsilon(delta)


def gaussian_delta(rho, epsilon):
    """The exact delta of Gaussian noise (Balle and Wang 2018): no valid bound lies below it."""
    mu = math.sqrt(2 * rho)
    upper = stats.norm.cdf(mu / 2 - epsilon / mu)
    return upper - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)


def zcdp(epsilon, delta):
    return Guarantee(epsilon, delta, rho_for(epsilon, delta))


def test_the_known_value():
    assert rho_for(1.0, 1e-6) == pytest.approx(0.0244, abs=1e-4)


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("rho", [1e-5, 1e-3, 0.0244, 0.3, 2.0, 20.0])
def test_the_curve_is_opendps(rho, delta):
    assert epsilon_of(rho, delta) == pytest.approx(opendp_epsilon(rho, delta), rel=1e-5)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("rho", [1e-3, 0.0244, 0.3, 2.0])
def test_the_curve_is_valid_for_the_gaussian(rho, delta):
    assert gaussian_delta(rho, epsilon_of(rho, delta)) <= delta
    assert gaussian_delta(rho, 0.8 * epsilon_of(rho, delta)) > delta  # and not far from tight


@given(EPSILONS, DELTAS)
def test_rho_and_epsilon_are_inverse_and_rounded_against_the_user(epsilon, delta):
    rho = rho_for(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(1.01 * rho, delta) > epsilon * 0.999
    assert zcdp_guarantee(rho, delta).epsilon <= epsilon


@given(EPSILONS, DELTAS)
def test_more_budget_allows_more(epsilon, delta):
    assert rho_for(epsilon, delta) < rho_for(1.01 * epsilon, delta)
    assert rho_for(epsilon, delta) < rho_for(epsilon, 1.1 * delta)


@given(st.floats(1e-3, 20), st.floats(1.01, 30))
def test_a_pure_guarantee_is_dominated_by_randomised_response(epsilon, order):
    likely = 1 / (1 + math.exp(-epsilon))
    moment = likely * math.exp((order - 1) * epsilon) + (1 - likely) * math.exp(
        (1 - order) * epsilon
    )
    with ctx.workprec(PRECISION):
        divergence = float(pure_divergence(Fraction(order), Fraction(epsilon)))
    assert divergence == pytest.approx(math.log(moment) / (order - 1), rel=1e-9)
    assert divergence <= min(epsilon, order * rho_of_pure(epsilon)) * (1 + 1e-12)


def test_a_pure_guarantee_in_zcdp():
    assert rho_of_pure(1.0) == pytest.approx(math.tanh(0.5), rel=1e-15)
    assert rho_of_pure(0.01) == pytest.approx(0.01**2 / 2, rel=1e-4)
    assert rho_of_pure(1.0) < 0.5
    assert Fraction(repr(rho_of_pure(1.0))) >= Fraction(math.tanh(0.5))


def test_huge_epsilons_are_counted_in_full():
    with ctx.workprec(PRECISION):
        assert pure_divergence(Fraction(2), Fraction(10**9)) == 10**9


def response_delta(epsilons, epsilon):
    """The exact delta at `epsilon` of randomised responses, by enumeration of all answers."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        pairs = list(zip(signs, epsilons, strict=True))
        mass = math.prod(1 / (1 + math.exp(-sign * size)) for sign, size in pairs)
        loss = sum(sign * size for sign, size in pairs)
        total += mass * max(0.0, 1 - math.exp(epsilon - loss))
    return total


@pytest.mark.parametrize("epsilons", [[0.5] * 10, [0.1] * 14, [1.0, 0.3, 0.2, 0.1, 2.0]])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_composed_pure_guarantees_cover_randomised_response(epsilons, delta):
    composed = compose([Guarantee(e) for e in epsilons], delta)
    assert composed.epsilon <= sum(epsilons) + 1e-9
    assert response_delta(epsilons, composed.epsilon) <= delta


def test_pure_guarantees_add_up_exactly():
    assert compose([Guarantee(0.1)] * 3, 0.0) == Guarantee(0.3)
    assert compose([Guarantee(0.1)] * 10, 0.0) == Guarantee(1.0)


def test_zcdp_guarantees_add_their_rho():
    composed = compose([zcdp(1.0, 1e-6)] * 4, 1e-6)
    assert composed.epsilon == epsilon_of(4 * rho_for(1.0, 1e-6), 1e-6)
    assert composed.rho == pytest.approx(4 * rho_for(1.0, 1e-6), rel=1e-15)
    assert composed.epsilon < 2.2


@given(st.lists(st.floats(0.01, 2), min_size=1, max_size=6), st.floats(0.001, 1), DELTAS)
def test_a_mixture_is_never_worse_than_either_currency(epsilons, rho, delta):
    parts = [Guarantee(e) for e in epsilons] + [zcdp_guarantee(rho, delta)]
    mixed = compose(parts, delta)
    added = sum(epsilons) + epsilon_of(rho, delta)
    converted = epsilon_of(rho + sum(rho_of_pure(e) for e in epsilons), delta)
    assert mixed.epsilon <= min(added, converted) * (1 + 1e-6) + 1e-8
    assert mixed.epsilon >= epsilon_of(rho, delta) * (1 - 1e-6)
    assert epsilon_of(mixed.rho, delta) >= mixed.epsilon * (1 - 1e-9)


def test_approximate_guarantees_bring_their_deltas():
    parts = [Guarantee(0.5, 4e-7), Guarantee(0.25, 4e-7)]
    assert compose(parts, 8e-7).epsilon == 0.75
    assert compose(parts, 8e-7).rho is None
    with pytest.raises(SettingsError, match="too small"):
        compose(parts, 7e-7)
    mixed = [*parts, zcdp(1.0, 1e-6)]
    assert compose(mixed, 2e-6).epsilon <= 1.75
    with pytest.raises(SettingsError, match="too small"):
        compose(mixed, 8e-7)


def test_what_is_unproved_or_mixed_is_said():
    unproved = Guarantee(1.0, status="ideal-draw-only")
    assert compose([Guarantee(1.0), unproved], 0.0).status == "ideal-draw-only"
    worst = Guarantee(1.0, status="unproved")
    assert compose([worst, Guarantee(1.0), unproved], 0.0).status == "unproved"
    with pytest.raises(SettingsError, match="different neighbouring relations"):
        compose([Guarantee(1.0), Guarantee(1.0, relation="add-remove")], 0.0)
    with pytest.raises(SettingsError, match="no guarantees"):
        compose([], 0.0)


@given(st.fractions(0, 1000))
def test_charges_are_rounded_up(value):
    assert 0 <= to_nano(value) - value * 10**9 < 1


def test_nano_units_are_the_decimals_shown():
    assert to_nano(0.1) == 100_000_000
    assert to_nano(1e-9) == 1
    assert to_nano(1.0000000001) == 1_000_000_001
    assert from_nano(300_000_000) == 0.3
    assert Fraction(repr(from_nano(10**18 + 1))) >= Fraction(10**18 + 1, 10**9)


def test_the_conversion_is_the_formula():
    with ctx.workprec(PRECISION):
        value = float(conversion(Fraction(20), Fraction(1, 10**6)))
    expected = math.log(1 - 1 / 20) + (math.log(1e6) - math.log(20)) / 19
    assert value == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_zcdp_needs_a_delta(delta):
    for call in (lambda: rho_for(1.0, delta), lambda: epsilon_of(0.1, delta)):
        with pytest.raises(SettingsError, match="delta"):
            call()


# --- budgets -------------------------------------------------------------------------------------


def test_a_request_of_the_size_of_the_budget_fills_it():
    for epsilon, delta in ((1.0, 1e-6), (4.0, 1e-6), (0.1, 1e-9), (10.0, 1e-5)):
        budget = PrivacyFilter(epsilon, delta)
        assert budget.left(Totals(), delta) == epsilon
        assert budget.admits(Totals(), zcdp(epsilon, delta))
        spent = Totals.of([zcdp(epsilon, delta)])
        assert not budget.admits(spent, zcdp(0.01 * epsilon, delta))
        assert not budget.admits(spent, Guarantee(0.01 * epsilon))


def test_pure_requests_fill_a_budget_exactly():
    for budget in (PrivacyFilter(1.0), PrivacyFilter(1.0, 1e-6)):
        spent = Totals.of([Guarantee(0.1)] * 9)
        assert budget.left(Totals.of([Guarantee(0.1)] * 3)) >= 0.7
        assert budget.admits(spent, Guarantee(0.1))
    assert PrivacyFilter(1.0).left(spent) == 0.1
    assert not PrivacyFilter(1.0).admits(spent, Guarantee(0.100000001))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_what_is_left_is_admitted_and_not_more(epsilon):
    budget = PrivacyFilter(epsilon, 1e-6)
    spent = Totals.of([zcdp(0.1, 1e-6), Guarantee(0.05), Guarantee(0.02, 1e-12)])
    pure = budget.left(spent)
    assert budget.admits(spent, Guarantee(pure))
    assert not budget.admits(spent, Guarantee(pure + 1e-9))
    gaussian = budget.left(spent, 1e-6)
    assert budget.admits(spent, zcdp(gaussian, 1e-6))
    assert not budget.admits(spent, zcdp(gaussian + 1e-6, 1e-6))


def test_a_pure_budget_takes_nothing_else():
    budget = PrivacyFilter(1.0)
    assert not budget.admits(Totals(), zcdp(0.01, 1e-6))
    assert not budget.admits(Totals(), Guarantee(0.01, 1e-12))


def test_small_releases_compose_better_than_by_adding():
    budget = PrivacyFilter(4.0, 1e-6)
    spent = Totals.of([Guarantee(0.05)] * 200)
    assert spent.pure_epsilon == 10
    assert budget.admits(spent, Guarantee(0.05))
    mixed = Totals.of([zcdp(1.0, 1e-6)] * 4)
    assert budget.admits(mixed, Guarantee(1.0))


def test_everything_admitted_stays_within_the_budget():
    budget = PrivacyFilter(2.0, 1e-6)
    generator = np.random.default_rng(1)
    spent, admitted = Totals(), []
    for _ in range(200):
        size = float(f"{generator.uniform(0.01, 0.6):.3g}")
        request = zcdp(size, 1e-6) if generator.random() < 0.5 else Guarantee(size)
        if budget.admits(spent, request):
            spent, admitted = spent.plus(request), [*admitted, request]
    assert len(admitted) > 5
    assert compose(admitted, 1e-6).epsilon <= 2.0
    assert budget.left(spent) < 0.1


def test_leaks_come_out_of_their_own_share():
    budget = PrivacyFilter(2.0, 1e-6)
    spent = Totals.of([zcdp(0.5, 1e-6)])
    assert budget.admits(spent, Guarantee(0.1, 1e-6 / 1024))
    assert not budget.admits(spent, Guarantee(0.1, 1e-6 / 1000))


def test_a_budget_that_begins_with_an_approximate_request_counts_what_is_stated():
    budget = PrivacyFilter(1.0, 1e-6)
    half = Guarantee(0.5, 5e-7)
    assert budget.admits(Totals(), half)
    assert budget.admits(Totals.of([half]), half)
    assert budget.admits(Totals.of([half]), zcdp(0.5, 5e-7))
    assert not budget.admits(Totals.of([half]), Guarantee(0.5, 5.1e-7))
    assert not budget.admits(Totals.of([half]), Guarantee(0.500000001))
    assert not budget.admits(Totals.of([half, half]), Guarantee(1e-9))


def test_a_request_that_understates_its_epsilon_is_refused():
    rho = rho_for(1.0, 1e-6)
    with pytest.raises(SettingsError, match="below the one its rho"):
        PrivacyFilter(2.0, 1e-6).admits(Totals(), Guarantee(0.9, 1e-6, rho))


def test_a_request_under_another_relation_is_refused():
    with pytest.raises(SettingsError, match="relation"):
        PrivacyFilter(1.0).admits(Totals(), Guarantee(0.1, relation="add-remove"))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (math.inf, 0.0), (1.0, 1.0)])
def test_a_budget_that_is_none_is_refused(epsilon, delta):
    with pytest.raises(SettingsError):
        PrivacyFilter(epsilon, delta)

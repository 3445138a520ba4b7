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
    MIXED_SHARE,
    PRECISION,
    UNUSED_SHARE,
    PrivacyFilter,
    Totals,
    conversion,
    epsilon_of,
    from_nano,
    gaussian_share,
    promised,
    pure_divergence,
    rho_for,
    to_nano,
    zcdp_epsilon,
)
from discreet.privacy.gaussian import gaussian_delta, satisfies
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.scales import SMOOTHING, gaussian_scale
from tests.mechanisms.budget_checks import zcdp_guarantee
from tests.privacy.composition import compose, composed_rho, totals_of

EPSILONS = st.floats(1e-3, 50).map(lambda x: float(f"{x:.6g}"))
DELTAS = st.floats(1e-12, 1e-2).map(lambda x: float(f"{x:.6g}"))


def rho_of_pure(epsilon):
    return composed_rho(totals_of([Guarantee(epsilon)]))


def opendp_epsilon(rho, delta):
    """OpenDP's conversion of a Gaussian release with this rho."""
    assert noise.LARGEST_VALUE  # importing noise is what enables OpenDP's features
    space = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
    release = make_gaussian(*space, scale=1 / math.sqrt(2 * rho))
    return make_zCDP_to_approxDP(release).map(1.0).epsilon(delta)


def exact_delta(rho, epsilon):
    """The exact delta of Gaussian noise (Balle and Wang 2018): no valid bound lies below it."""
    mu = math.sqrt(2 * rho)
    upper = stats.norm.cdf(mu / 2 - epsilon / mu)
    return upper - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)


def test_the_known_values():
    assert rho_for(1.0, 1e-6) == pytest.approx(0.0278, abs=1e-4)
    assert zcdp_epsilon(0.0244, 1e-6) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("rho", [1e-5, 1e-3, 0.0244, 0.3, 2.0, 20.0])
def test_the_curve_is_opendps(rho, delta):
    assert zcdp_epsilon(rho, delta) == pytest.approx(opendp_epsilon(rho, delta), rel=1e-5)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("rho", [1e-3, 0.0244, 0.3, 2.0])
def test_the_curve_is_valid_for_the_gaussian(rho, delta):
    assert exact_delta(rho, zcdp_epsilon(rho, delta)) <= delta
    assert exact_delta(rho, 0.8 * zcdp_epsilon(rho, delta)) > delta  # and not far from tight


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("rho", [1e-5, 1e-3, 0.0244, 0.3, 2.0])
def test_gaussian_noise_has_its_own_curve(rho, delta):
    epsilon = epsilon_of(rho, delta)
    assert delta * (1 - 1e-5) <= exact_delta(rho, epsilon) <= delta
    assert epsilon < zcdp_epsilon(rho, delta)


@given(EPSILONS, st.floats(1e-6, 20).map(lambda x: Fraction(f"{x:.6g}")))
def test_the_ball_holds_the_integral(epsilon, rho):
    """delta = E (1 - e^(epsilon - L))_+ with L ~ N(rho, 2 rho), by quadrature."""
    mu, points = math.sqrt(2 * rho), np.linspace(0.0, 40.0, 400_001)
    loss = points * mu  # above epsilon
    where = (epsilon + loss - float(rho)) / mu
    inner = -np.expm1(-loss) * np.exp(-(where**2) / 2) / math.sqrt(2 * math.pi)
    integral = float(np.trapezoid(inner, points))
    with ctx.workprec(PRECISION):
        found = float(gaussian_delta(Fraction(epsilon), rho))
    assert found == pytest.approx(integral, rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("gaps", [(1,), (3,), (1000,), (1, 1), (2, 5)])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (4.0, 1e-6), (60.0, 1e-9)])
def test_the_curve_holds_of_integer_noise(epsilon, delta, gaps):
    """Exact masses of one or two sums, with noise planned from rho: delta is not exceeded."""
    mass = ratio = np.ones(1)
    for gap in gaps:
        scale = gaussian_scale(gap, rho_for(epsilon, delta) / len(gaps))
        k = np.arange(-int(40 * scale), int(40 * scale) + 1)
        other = np.exp((2 * gap * k - gap**2) / (2 * scale**2))
        mass = np.outer(mass, masses(scale, k)).ravel()
        ratio = np.outer(ratio, other).ravel()
    found = float(mass @ np.maximum(1 - math.exp(epsilon) * ratio, 0.0))
    assert found <= delta
    assert max(gaps) < 1000 or found > 0.9 * delta


def masses(scale, k):
    weights = np.exp(-(k**2) / (2 * scale**2))
    return weights / weights.sum()


def test_integer_noise_is_rounded_continuous_noise():
    """The lemma's factor: N(0, sigma^2 - s^2), rounded by discrete Gaussian noise of variance s^2."""
    sigma, smoothing = 3.0, float(SMOOTHING)
    y = np.linspace(-40, 40, 80_001)
    density = np.exp(-(y**2) / (2 * (sigma**2 - smoothing)))
    near = np.arange(-60, 61)
    kernel = np.exp(-((near[:, None] - y[None, :]) ** 2) / (2 * smoothing))
    rounded = (kernel / kernel.sum(axis=0)) @ density
    law = masses(sigma, near)
    seen = slice(45, 76)
    assert np.abs(rounded[seen] / rounded.sum() / law[seen] - 1).max() < 1e-10
    rough = np.exp(-((near[:, None] - y[None, :]) ** 2) / 0.1)
    rough = (rough / rough.sum(axis=0)) @ np.exp(-(y**2) / (2 * (sigma**2 - 0.05)))
    assert np.abs(rough[seen] / rough.sum() / law[seen] - 1).max() > 1e-3


def test_a_part_of_delta_pays_for_the_rounding():
    """2^-20 of delta: what is kept by all of delta, and not by the rest, counts as not kept."""
    rho, epsilon = Fraction(1, 40), Fraction(1)
    needed = Fraction(float(gaussian_delta(epsilon, rho)))
    assert satisfies(epsilon, needed * (1 + Fraction(2, 2**20)), rho)
    assert not satisfies(epsilon, needed * (1 + Fraction(1, 2**21)), rho)


def test_delta_is_divided_and_not_used_twice():
    delta = Fraction(1, 10**6)
    assert gaussian_share(delta) + delta * MIXED_SHARE + delta * UNUSED_SHARE == delta
    rho = Fraction(repr(rho_for(1.0, 1e-6)))
    assert satisfies(Fraction(1), gaussian_share(delta), rho)
    assert not satisfies(Fraction(1), gaussian_share(delta), rho * (1 + Fraction(1, 10**9)))


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1e3, 1e12, 1e20])
@pytest.mark.parametrize("delta", [1e-18, 1e-6, 0.5])
def test_every_epsilon_has_a_rho(epsilon, delta):
    rho = rho_for(epsilon, delta)
    assert 0 < rho < max(epsilon, 1.0)
    assert epsilon_of(rho, delta) <= epsilon


@pytest.mark.parametrize("epsilon", [1e39, 1e300])
def test_an_epsilon_beyond_all_arithmetic_is_refused(epsilon):
    with pytest.raises(SettingsError, match="out of the range"):
        rho_for(epsilon, 1e-6)


def test_adaptive_sums_have_the_curve_of_their_total():
    """The second sum is chosen by the first; what they show together is that of one sum."""
    random = np.random.default_rng(3)
    rho, count = 0.5, 2_000_000
    first = random.normal(size=count) + math.sqrt(rho)  # half the total: mu^2 / 2 = rho
    loss = math.sqrt(rho) * first - rho / 2
    bold = loss > 0.3  # spend the rest in one sum where the first said much, in five where not
    for _ in range(5):
        size = np.where(bold, 0.0, math.sqrt(rho / 5))
        loss += size * (random.normal(size=count) + size) - size**2 / 2
    size = np.where(bold, math.sqrt(rho), 0.0)
    loss += size * (random.normal(size=count) + size) - size**2 / 2
    for epsilon in (0.5, 1.0, 2.0):
        found = np.maximum(1 - np.exp(epsilon - loss), 0.0)
        error = found.std() / math.sqrt(count)
        allowed = float(gaussian_delta(Fraction(epsilon), Fraction(rho)))
        assert found.mean() == pytest.approx(allowed, abs=5 * error)


@given(EPSILONS, DELTAS)
def test_rho_and_epsilon_are_inverse_and_rounded_against_the_user(epsilon, delta):
    rho = rho_for(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(1.2 * rho, delta) > epsilon * 0.999
    assert zcdp_guarantee(rho, delta).epsilon > epsilon
    assert promised(epsilon, delta) == Guarantee(epsilon, delta, rho, gaussian=True)


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


def test_gaussian_guarantees_add_their_rho():
    composed = compose([promised(1.0, 1e-6)] * 4, 1e-6)
    assert composed.epsilon == epsilon_of(4 * rho_for(1.0, 1e-6), 1e-6)
    assert composed.rho == pytest.approx(4 * rho_for(1.0, 1e-6), rel=1e-15)
    assert composed.gaussian
    assert composed.epsilon < 2.2


def test_gaussian_noise_beyond_the_proof_is_zcdp():
    """At deltas that the rounding is not paid for at, and at 0."""
    assert not PrivacyFilter(1.0, 1e-20).admits(Totals(), promised(1.0, 1e-6))
    assert zcdp_epsilon(rho_for(1.0, 1e-6), 1e-30) > 1.0
    with pytest.raises(SettingsError, match="at least 1e-18"):
        epsilon_of(rho_for(1.0, 1e-6), 1e-30)
    assert epsilon_of(1e-6, 0.5) <= 1e-9


def test_zcdp_guarantees_add_their_rho():
    composed = compose([zcdp_guarantee(0.02, 1e-6)] * 4, 1e-6)
    assert composed.epsilon == zcdp_epsilon(0.08, 1e-6)
    assert not composed.gaussian


@given(st.lists(st.floats(0.01, 2), min_size=1, max_size=6), st.floats(0.001, 1), DELTAS)
def test_a_mixture_is_never_worse_than_either_currency(epsilons, rho, delta):
    parts = [Guarantee(e) for e in epsilons] + [zcdp_guarantee(rho, delta)]
    mixed = compose(parts, delta)
    added = sum(epsilons) + zcdp_epsilon(rho, delta)
    converted = zcdp_epsilon(rho + sum(rho_of_pure(e) for e in epsilons), delta)
    assert mixed.epsilon <= min(added, converted) * (1 + 1e-6) + 1e-8
    assert mixed.epsilon >= zcdp_epsilon(rho, delta) * (1 - 1e-6)
    assert zcdp_epsilon(mixed.rho, delta) >= mixed.epsilon * (1 - 1e-9)


def test_guarantees_of_two_relations_do_not_add_up():
    with pytest.raises(SettingsError, match="different neighbouring relations"):
        totals_of([Guarantee(1.0), Guarantee(1.0, relation="add-remove")])


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


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, 9e-19, math.nan])
def test_gaussian_noise_needs_a_delta(delta):
    for call in (lambda: rho_for(1.0, delta), lambda: epsilon_of(0.1, delta)):
        with pytest.raises(SettingsError, match="delta"):
            call()


# --- budgets -------------------------------------------------------------------------------------


def test_a_request_of_the_size_of_the_budget_fills_it():
    for epsilon, delta in ((1.0, 1e-6), (4.0, 1e-6), (0.1, 1e-9), (10.0, 1e-5)):
        budget = PrivacyFilter(epsilon, delta)
        assert budget.left(Totals(), delta) == epsilon
        assert budget.admits(Totals(), promised(epsilon, delta))
        spent = totals_of([promised(epsilon, delta)])
        assert not budget.admits(spent, promised(0.01 * epsilon, delta))
        assert not budget.admits(spent, Guarantee(0.01 * epsilon))


def test_pure_requests_fill_a_budget_exactly():
    for budget in (PrivacyFilter(1.0), PrivacyFilter(1.0, 1e-6)):
        spent = totals_of([Guarantee(0.1)] * 9)
        assert budget.left(totals_of([Guarantee(0.1)] * 3)) >= 0.7
        assert budget.admits(spent, Guarantee(0.1))
    assert PrivacyFilter(1.0).left(spent) == 0.1
    assert not PrivacyFilter(1.0).admits(spent, Guarantee(0.100000001))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_what_is_left_is_admitted_and_not_more(epsilon):
    budget = PrivacyFilter(epsilon, 1e-6)
    spent = totals_of([promised(0.1, 1e-6), Guarantee(0.05)])
    pure = budget.left(spent)
    assert budget.admits(spent, Guarantee(pure))
    assert not budget.admits(spent, Guarantee(pure + 1e-9))
    gaussian = budget.left(spent, 1e-6)
    assert budget.admits(spent, promised(gaussian, 1e-6))
    assert not budget.admits(spent, promised(gaussian + 1e-6, 1e-6))


def test_a_pure_budget_takes_nothing_else():
    budget = PrivacyFilter(1.0)
    assert not budget.admits(Totals(), promised(0.01, 1e-6))
    assert not budget.admits(Totals(), zcdp_guarantee(1e-9, 1e-12))


def test_small_releases_compose_better_than_by_adding():
    budget = PrivacyFilter(4.0, 1e-6)
    spent = totals_of([Guarantee(0.05)] * 200)
    assert spent.pure_epsilon == 10
    assert budget.admits(spent, Guarantee(0.05))
    mixed = totals_of([promised(1.0, 1e-6)] * 4)
    assert budget.admits(mixed, Guarantee(1.0))


def test_a_budget_of_gaussian_noise_is_a_sum_of_rho():
    """Sixteen requests that each have a 16th of the budget's rho fill it, and no seventeenth fits."""
    budget, rho = PrivacyFilter(1.0, 1e-6), rho_for(1.0, 1e-6)
    each = float(f"{0.999999 * rho / 16:.12g}")
    part = Guarantee(epsilon_of(each, 1e-6), 1e-6, each, gaussian=True)
    assert budget.more_like(Totals(), part) == 16
    assert budget.spent_share(totals_of([part] * 8), part) == pytest.approx(0.5, abs=1e-5)


def test_a_budget_that_began_without_the_curve_never_uses_it():
    """Ledgers of 0.1 hold rho without the mark: their budgets are counted as they were."""
    budget = PrivacyFilter(1.0, 1e-6)
    spent = totals_of([zcdp_guarantee(0.001, 1e-6)])
    left = budget.left(spent, 1e-6)
    assert zcdp_epsilon(rho_for(left, 1e-6) + 0.001, 1e-6) <= 1.0
    assert left < 0.95
    assert budget.left(totals_of([promised(0.1, 1e-6)]), 1e-6) > 0.97


def test_everything_admitted_stays_within_the_budget():
    budget = PrivacyFilter(2.0, 1e-6)
    generator = np.random.default_rng(1)
    spent, admitted = Totals(), []
    for _ in range(200):
        size = float(f"{generator.uniform(0.01, 0.6):.3g}")
        request = promised(size, 1e-6) if generator.random() < 0.5 else Guarantee(size)
        if budget.admits(spent, request):
            spent, admitted = spent.plus(request), [*admitted, request]
    assert len(admitted) > 5
    assert compose(admitted, 1e-6).epsilon <= 2.0
    assert budget.left(spent) < 0.1


def test_a_request_that_understates_its_epsilon_is_refused():
    rho = rho_for(1.0, 1e-6)
    with pytest.raises(SettingsError, match="less than a ledger counts"):
        PrivacyFilter(2.0, 1e-6).admits(Totals(), Guarantee(0.9, 1e-6, rho, gaussian=True))


def test_a_request_under_another_relation_is_refused():
    with pytest.raises(SettingsError, match="relation"):
        PrivacyFilter(1.0).admits(Totals(), Guarantee(0.1, relation="add-remove"))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (math.inf, 0.0), (1.0, 1.0)])
def test_a_budget_that_is_none_is_refused(epsilon, delta):
    with pytest.raises(SettingsError):
        PrivacyFilter(epsilon, delta)

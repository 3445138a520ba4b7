"""The noise has the stated law exactly, and the sources refuse what would weaken it."""

import math
import random
import sys
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.instruments import (
    direction_p_value,
    l1_laplace_p_value,
    lattice_p_value,
    normal_p_value,
    radius_p_value,
)
from discreet.errors import DataFormError, SettingsError
from discreet.privacy import exact
from discreet.privacy.exact import Enclosure, LazyUniform, RealLaplace
from discreet.privacy.noise import SystemNoise
from discreet.privacy.scales import (
    NoiseGrid,
    laplace_scale,
    upper_square_root,
)
from discreet.privacy.testing import SeededNoise
from tests.conftest import FALSE_ALARM

DIMENSIONS = (1, 2, 5, 10)
DRAWS = 3_000  # enough to reject a scale that is 20% off in one dimension, the hardest case
SCALE = Fraction(2**20)
WRONG = (Fraction(4, 5), Fraction(6, 5))


@pytest.fixture
def source():
    return SystemNoise()


def seeded_bits(seed):
    return random.Random(seed).getrandbits  # noqa: S311  # repeatable on purpose


def lattice_draws(source, dimension, scale, count=DRAWS):
    return [source.lattice_laplace(dimension, scale) for _ in range(count)]


def continuous_draws(source, dimension, scale, count=DRAWS):
    return [source.continuous_laplace(dimension, scale).vector for _ in range(count)]


def gaussian_draws(source, dimension, scale, count=DRAWS):
    return source.discrete_gaussian([0] * (count * dimension), scale).reshape(-1, dimension)


def l1_draws(source, dimension, scale, count=DRAWS):
    return source.l1_laplace([0] * (count * dimension), scale).reshape(-1, dimension)


LAWS = {
    "lattice": (lattice_draws, radius_p_value),
    "continuous": (continuous_draws, radius_p_value),
    "gaussian": (gaussian_draws, normal_p_value),
    "l1": (l1_draws, l1_laplace_p_value),
}


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("law", LAWS)
def test_the_law_holds(law, dimension, source):
    draw, p_value = LAWS[law]
    draws = draw(source, dimension, SCALE)
    assert p_value(draws, float(SCALE)) > FALSE_ALARM
    assert law in {"gaussian", "l1"} or direction_p_value(draws) > FALSE_ALARM


@pytest.mark.parametrize("factor", WRONG)
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("law", LAWS)
def test_a_scale_that_is_off_by_a_fifth_is_noticed(law, dimension, factor):
    draw, p_value = LAWS[law]
    draws = draw(SeededNoise(7), dimension, SCALE * factor)
    assert p_value(draws, float(SCALE)) < FALSE_ALARM


@pytest.mark.parametrize("dimension", [2, 5, 10])
def test_a_direction_that_prefers_an_axis_is_noticed(dimension):
    draws = np.array(lattice_draws(SeededNoise(8), dimension, SCALE), dtype=float)
    draws[:, 0] *= 1.5
    assert direction_p_value(draws) < FALSE_ALARM


SMALL_CASES = [(1, Fraction(3, 2), 6), (2, Fraction(3, 2), 3), (3, Fraction(6, 5), 1)]
SMALL_DRAWS = 5_000


@pytest.mark.parametrize(("dimension", "scale", "reach"), SMALL_CASES)
def test_every_lattice_point_has_its_probability(dimension, scale, reach, source):
    draws = lattice_draws(source, dimension, scale, SMALL_DRAWS)
    assert lattice_p_value(draws, scale, reach) > FALSE_ALARM


@pytest.mark.parametrize(("dimension", "scale", "reach"), [(1, "1/2", 2), (2, "3/4", 1)])
def test_the_law_holds_on_the_coarsest_grids_allowed(dimension, scale, reach):
    draws = lattice_draws(SeededNoise(13), dimension, Fraction(scale), 3 * SMALL_DRAWS)
    assert lattice_p_value(draws, Fraction(scale), reach) > FALSE_ALARM


@pytest.mark.parametrize(("point", "radius"), [([0], 0.49), ([3, -4], 4.4), ([2, 0, 1], 3.0)])
def test_a_proposal_is_accepted_with_the_probability_of_the_proof(point, radius):
    scale = Fraction(5, 4)
    gap = math.hypot(*point) + math.sqrt(len(point)) / 2 - radius
    threshold = math.exp(-gap / 1.25)
    draw = Enclosure(arb(radius), [])
    assert exact._accept(point, draw, scale, arb(threshold * (1 - 1e-12)), 128) is True
    assert exact._accept(point, draw, scale, arb(threshold * (1 + 1e-12)), 128) is False
    assert exact._accept(point, draw, scale, arb(threshold, 1e-9), 128) is None


@pytest.mark.parametrize(("dimension", "scale", "reach"), SMALL_CASES)
@pytest.mark.parametrize("factor", WRONG)
def test_the_lattice_test_notices_a_wrong_scale(dimension, scale, reach, factor):
    draws = lattice_draws(SeededNoise(9), dimension, scale * factor, SMALL_DRAWS)
    assert lattice_p_value(draws, scale, reach) < FALSE_ALARM


def test_precision_decides_the_cost_never_the_law(monkeypatch):
    monkeypatch.setattr(exact, "first_precision", lambda _scale: 2)
    rounds = []
    enclose = RealLaplace.enclose
    monkeypatch.setattr(
        RealLaplace, "enclose", lambda self, bits: rounds.append(bits) or enclose(self, bits)
    )
    draws = lattice_draws(SeededNoise(10), 2, Fraction(3, 2), SMALL_DRAWS)
    assert lattice_p_value(draws, Fraction(3, 2), 3) > FALSE_ALARM
    assert sum(bits > 2 for bits in rounds) > SMALL_DRAWS  # two bits hardly ever decide


def test_rounding_without_the_correction_is_noticed(monkeypatch):
    monkeypatch.setattr(exact, "_accept", lambda *_: True)
    draws = lattice_draws(SeededNoise(11), 1, Fraction(1, 2), SMALL_DRAWS)
    assert lattice_p_value(draws, Fraction(1, 2), 2) < FALSE_ALARM


def test_one_dimension_is_the_discrete_laplace_law(source):
    scale = Fraction(5, 2)
    ours = np.concatenate(lattice_draws(source, 1, scale, SMALL_DRAWS)).astype(int)
    ratio = math.exp(-1 / 2.5)
    zero, one = (1 - ratio) / (1 + ratio), (1 - ratio) / (1 + ratio) * ratio
    for value, mass in ((0, zero), (1, one), (-1, one)):
        error = 4.9 * math.sqrt(mass * (1 - mass) / ours.size)  # two-sided 1e-6
        assert abs(np.mean(ours == value) - mass) < error


@given(
    st.integers(1, 6).flatmap(
        lambda d: st.tuples(*[st.lists(st.integers(-50, 50), min_size=d, max_size=d)] * 3)
    )
)
def test_the_lattice_law_never_exceeds_epsilon(vectors):
    point, value, neighbour = (np.array(vector, dtype=float) for vector in vectors)
    distance = np.linalg.norm(value - neighbour)
    if distance == 0:
        return
    squared = Fraction(round(distance**2))
    scale = laplace_scale(upper_square_root(squared), Fraction(3, 4))
    ratio = (np.linalg.norm(point - neighbour) - np.linalg.norm(point - value)) / float(scale)
    assert ratio <= 0.75 + 1e-12


@pytest.mark.parametrize("shift", [(1,), (3, -4), (1, 1, 1), (2, 0, -5, 1, 7, 1)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_lattice_law_attains_epsilon(shift, epsilon):
    squared = sum(step * step for step in shift)
    scale = laplace_scale(upper_square_root(Fraction(squared)), epsilon)
    for multiple in (0, 1, 10):
        # the released point k = v + m (v - v'), on the ray away from the neighbour v'
        near, far = multiple * math.sqrt(squared), (multiple + 1) * math.sqrt(squared)
        assert abs((far - near) / float(scale) - epsilon) < 1e-9


def test_the_acceptance_is_high_in_every_dimension():
    for dimension in (1, 20, 66):
        source = SeededNoise(12)
        proposals = []
        bits = source.uniform_bits
        for _ in range(200):
            while exact._propose(dimension, Fraction(2**10), bits) is None:
                proposals.append(dimension)
        assert len(proposals) < 10  # exp(-sqrt(66)/1024) is 0.992


def test_a_grid_coarser_than_the_noise_is_refused(source):
    with pytest.raises(SettingsError, match="too small for the grid"):
        source.lattice_laplace(9, Fraction(29, 20))
    assert len(source.lattice_laplace(9, Fraction(3, 2))) == 9


@pytest.mark.parametrize("dimension", [1, 2, 5, 66])
def test_the_continuous_draw_lies_within_its_error_of_a_finer_replay(dimension):
    for seed in range(20):
        scale = Fraction(10**6 + seed, 7)
        draw = exact.sample_continuous_laplace(dimension, scale, seeded_bits(seed))
        replay = RealLaplace(dimension, scale, seeded_bits(seed))
        replay.enclose(exact.PRECISION)
        fine = replay.enclose(1024).vector  # the same leading bits, eight times as many
        with ctx.workprec(1024):
            squares = sum((ball - x) ** 2 for ball, x in zip(fine, draw.vector, strict=True))
            assert squares.sqrt() <= draw.error
            gap = float(squares.sqrt())
        assert draw.error == exact.continuous_error(scale)
        assert gap < draw.error / 16  # the public bound is not met by luck


def test_the_certified_error_takes_over_where_the_public_bound_fails(monkeypatch):
    monkeypatch.setattr(exact, "RELATIVE_ERROR", Fraction(1, 2**60))
    scale = Fraction(3)
    draw = exact.sample_continuous_laplace(4, scale, seeded_bits(1))
    assert draw.error > float(scale) * 2.0**-60
    replay = RealLaplace(4, scale, seeded_bits(1))
    replay.enclose(exact.PRECISION)
    with ctx.workprec(512):
        pairs = zip(replay.enclose(512).vector, draw.vector, strict=True)
        assert sum((ball - x) ** 2 for ball, x in pairs).sqrt() <= draw.error


def test_the_real_draw_is_the_formula_of_the_proof():
    draw = RealLaplace(5, Fraction(2), seeded_bits(5))
    middles = [float(ball.mid()) for ball in draw.enclose(128).vector]
    bits = seeded_bits(5)
    radial = [bits(128) / 2**128 for _ in range(5)]
    pairs = [(bits(128) / 2**128, bits(128) / 2**128) for _ in range(3)]
    angles = [(math.cos(2 * math.pi * w), math.sin(2 * math.pi * w)) for _, w in pairs]
    lengths = [math.sqrt(-2 * math.log(v)) for v, _ in pairs]
    gaussian = np.ravel([[r * c, r * s] for r, (c, s) in zip(lengths, angles, strict=True)])[:5]
    expected = -2 * math.log(math.prod(radial)) * gaussian / np.linalg.norm(gaussian)
    np.testing.assert_allclose(middles, expected, rtol=1e-12)


def test_a_uniform_keeps_its_bits():
    uniform = LazyUniform(seeded_bits(3))
    coarse, fine = uniform.enclose(10), uniform.enclose(200)
    assert coarse.contains(fine)
    assert uniform.enclose(100).contains(fine)
    # a library may round a radius up, never down
    assert 2.0**-11 <= float(coarse.rad()) < 2.0**-11 * (1.0 + 1e-6)


def test_all_zero_bits_ask_for_more():
    calls = []

    def bits(count):
        calls.append(count)
        return 0 if len(calls) <= 3 else seeded_bits(len(calls))(count)

    draw = exact.sample_continuous_laplace(1, Fraction(1), bits)
    assert math.isfinite(draw.vector[0])
    assert len(calls) > 3


# --- no floats leave -----------------------------------------------------------------------------


def inversion_hits(outputs, value, neighbour, scale):
    """Outputs that a textbook float Laplace can make from `value` but not from `neighbour`."""
    return np.count_nonzero(
        reachable(outputs, value, scale) & ~reachable(outputs, neighbour, scale)
    )


def reachable(outputs, value, scale):
    """Whether value +- scale * log(U), U a multiple of 2^-53, gives the output in floats."""
    guess = np.floor(np.exp(-np.abs(outputs - value) / scale) * 2.0**53)
    found = np.zeros(outputs.shape, dtype=bool)
    for step in range(-8, 9):
        uniform = np.clip(guess + step, 1, 2.0**53) * 2.0**-53
        noise_size = -scale * np.log(uniform)
        found |= (value + noise_size == outputs) | (value - noise_size == outputs)
    return found


def test_the_low_bits_tell_nothing(source):
    grid, value, neighbour = NoiseGrid(-20), 0.1, 0.7
    scale = laplace_scale(grid.to_integers(1.0).item(), 1.0)
    base = grid.to_integers([value])
    outputs = np.concatenate([grid.to_floats(base + d) for d in lattice_draws(source, 1, scale)])
    assert np.all(np.ldexp(outputs, 20) == np.rint(np.ldexp(outputs, 20)))
    # every output is a multiple of the grid, and those are all possible under both values
    support = NoiseGrid(-20).to_integers(outputs)
    assert np.array_equal(grid.to_floats(support), outputs)
    generator = np.random.default_rng(4)
    uniform = generator.integers(1, 2**53, DRAWS) * 2.0**-53
    naive = value - generator.choice([-1.0, 1.0], DRAWS) * np.log(uniform)
    assert inversion_hits(naive, value, neighbour, 1.0) > DRAWS // 100
    assert np.count_nonzero(np.ldexp(naive, 20) != np.rint(np.ldexp(naive, 20))) > DRAWS // 2


@given(st.floats(-1e6, 1e6), st.integers(-30, 5))
def test_the_grid_rounds_to_the_nearest_multiple(value, exponent):
    grid = NoiseGrid(exponent)
    integer = int(grid.to_integers([value])[0])
    assert abs(Fraction(value) / Fraction(2) ** exponent - integer) <= Fraction(1, 2)
    assert Fraction(grid.to_floats([integer])[0]) == integer * Fraction(2) ** exponent


def test_the_grid_keeps_large_integers_on_the_grid():
    grid = NoiseGrid(-3)
    wide = 2**70 + 1
    assert grid.to_floats([wide])[0] == 2.0**67
    assert grid.to_floats([10**400, -(10**400)]).tolist() == [
        sys.float_info.max,
        -sys.float_info.max,
    ]
    with pytest.raises(DataFormError):
        grid.to_integers([math.nan])
    with pytest.raises(DataFormError):
        NoiseGrid(-1000).to_integers([1e30])
    with pytest.raises(SettingsError):
        NoiseGrid(2000)

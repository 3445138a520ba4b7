"""The integer inequalities that the proof pages rest on, decided by a solver or exhaustively.

Where a bound holds for all numbers, z3 is asked for a counterexample and finds none; where it is
about code, the code runs on every input of a small domain.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import z3

from discreet.core.bins import DIAGONAL, OFF_DIAGONAL, UNIT, Stretches, stretches_of
from discreet.core.cells import row_weights
from discreet.core.covariate_sums import shorten
from discreet.core.information import LARGEST_FACTOR, cut_sum
from discreet.core.question import INFORMATION, SCORES, half_weights, moment_limit, of_moments
from discreet.core.scores import LARGEST
from discreet.core.walk import quantise
from discreet.design.groups import strategy
from discreet.mechanisms.contract import MOST_PERSONS
from discreet.mechanisms.newton.layout import FIRST_SHARES, split
from discreet.people.episodes import Episodes
from discreet.privacy.noise import LARGEST_VALUE

MILLISECONDS = 60_000


def assert_always(claim, *given):
    """No numbers satisfy what is given and break the claim."""
    solver = z3.Solver()
    solver.set("timeout", MILLISECONDS)
    solver.add(*given, z3.Not(claim))
    assert solver.check() == z3.unsat


def test_a_claim_that_is_wrong_is_noticed():
    x, y = z3.Reals("x y")
    with pytest.raises(AssertionError):
        assert_always((x - y) ** 2 <= 3, x**2 <= 1, y**2 <= 1)


# ------------------------------------------------------------ private-newton, section 2: the ball


def test_two_vectors_of_a_ball_are_at_most_its_diameter_apart():
    """|u - v|^2 <= (2 L)^2 for |u|, |v| <= L, in the plane that two vectors span."""
    u, v, w, bound = z3.Reals("u v w bound")
    apart = (u - v) ** 2 + w**2
    assert_always(apart <= 4 * bound**2, u**2 <= bound**2, v**2 + w**2 <= bound**2, bound > 0)
    assert SCORES.squared == 4 * LARGEST**2


def test_the_check_of_the_norm_leaves_no_vector_that_is_too_long():
    """Every vector of a small grid, and what is not a number."""
    values = [0.0, 0.4, -1.0, 2.49, -2.51, 7.0, np.inf, -np.inf, np.nan, 1e308]
    for bound, largest in ((1.0, 2), (2.5, 5), (0.1, 7)):
        total = np.array(list(itertools.product(values, repeat=3))).T.copy()
        found = np.ones(total.shape, dtype=np.int64)
        quantise(total, bound, largest, found)
        assert np.all(np.sum(found**2, axis=0) <= largest**2)


@pytest.mark.parametrize("largest", [LARGEST, LARGEST_FACTOR])
def test_sums_of_squares_that_are_cut_compare_as_whole_ones(largest):
    """min(s, 2 L^2) + q is beyond L^2 just where s + q is, and it does not wrap around."""
    s, q = z3.Ints("s q")
    most = largest**2
    cut = z3.If(s < 2 * most, s, 2 * most)
    assert_always((cut + q > most) == (s + q > most), s >= 0, q >= 0, q <= most)
    assert 3 * most < 2**63
    word, square = z3.BitVecs("word square", 64)
    small = [z3.ULE(word, 2 * most), z3.ULE(square, most)]
    assert_always(z3.UGE(word + square, word), *small)
    for begun, added in itertools.product((0, most - 1, most, most + 1, 2 * most), (0, 1, most)):
        found = cut_sum(float(begun), float(added), largest)
        assert (found > most) == (begun + added > most)


# --------------------------------------------------------- section 3: counts, weights, half-vectors


def test_counts_without_a_sign_are_no_further_apart_than_their_squares_say():
    """|c - d|^2 <= |c|^2 + |d|^2 and |c|^2 <= w^2 for entries that are not negative, of sum w."""
    c, d, e, f, weight = z3.Ints("c d e f weight")
    natural = [value >= 0 for value in (c, d, e, f)]
    apart = (c - e) ** 2 + (d - f) ** 2
    assert_always(apart <= c**2 + d**2 + e**2 + f**2, *natural)
    assert_always(c**2 + d**2 <= weight**2, *natural, c + d <= weight)


def test_the_rows_of_a_person_share_one_weight():
    """sum floor(w o_r / o) <= w, for all numbers, and by the code for every short record."""
    weight, first, second, one, other = z3.Reals("weight first second one other")
    total = first + second
    given = [weight >= 0, first >= 0, second >= 0, total > 0]
    floors = [total * one <= weight * first, total * other <= weight * second]
    assert_always(one + other <= weight, *given, *floors)
    for held in itertools.product(range(4), repeat=3):
        ends = np.cumsum(held).astype(np.int32)
        begun = (ends - held).astype(np.int32)
        rows = Episodes(np.zeros((3, 1)), begun, ends, np.zeros(3, bool), np.array([0, 3]), 1)
        for stretches in (Stretches((0, 9), 64), Stretches((0, 2, 9), 7)):
            found = row_weights(rows, stretches)
            assert found.min() >= 0
            assert np.all(found.sum(axis=1) <= stretches.weight)


def test_stretches_weigh_no_more_than_one_unit():
    for number in range(1, 200):
        fine = stretches_of(1000, number, pure=False)
        assert fine.square <= UNIT**2
        assert stretches_of(1000, number, pure=True).mass <= UNIT


def test_a_half_vector_is_shorter_than_its_matrix():
    """181^2 < 2 * 128^2: each entry off the diagonal stands in a matrix twice."""
    assert OFF_DIAGONAL**2 < 2 * DIAGONAL**2
    entry = z3.Int("entry")
    assert_always(OFF_DIAGONAL**2 * entry**2 <= 2 * DIAGONAL**2 * entry**2)
    for values in itertools.product(range(-2, 3), repeat=6):
        matrix = np.zeros((3, 3), dtype=np.int64)
        matrix[np.tril_indices(3)] = values
        matrix += np.tril(matrix, -1).T
        half = half_weights(3) * np.array(values)
        assert np.sum(half**2) <= DIAGONAL**2 * np.sum(matrix**2)


def test_squares_of_vectors_are_at_most_the_root_of_two_apart():
    """|v v' - u u'|_F^2 = |v|^4 + |u|^4 - 2 (v'u)^2 <= 2 R^2 for |v|^2, |u|^2 <= R."""
    v, w, u, limit = z3.Reals("v w u limit")  # v along the first axis, u in the plane of both
    first = (v**2 - w**2) ** 2 + 2 * (w * u) ** 2 + u**4
    assert_always(first == v**4 + (w**2 + u**2) ** 2 - 2 * (v * w) ** 2)
    length, other, inner = z3.Reals("length other inner")
    apart = length**2 + other**2 - 2 * inner**2
    bounded = [length >= 0, other >= 0, length <= limit, other <= limit]
    assert_always(apart <= 2 * limit**2, *bounded)
    for columns in (1, 3, 7):
        bound = moment_limit(columns)
        assert of_moments(columns, 64).squared == 2 * (DIAGONAL * 64 * bound) ** 2


def test_inner_products_of_positive_semidefinite_matrices_are_not_negative():
    """<C C', D D'> = |C'D|_F^2 >= 0 and |C C'|_F <= |C|_F^2, every pair of small integer factors."""
    factors = [np.array(one).reshape(2, 2) for one in itertools.product(range(-2, 3), repeat=4)]
    squares = np.array([factor @ factor.T for factor in factors]).reshape(-1, 4)
    traces = np.array([np.sum(factor**2) for factor in factors])
    assert np.all(squares @ squares.T >= 0)
    assert np.all(np.sum(squares**2, axis=1) <= traces**2)
    apart = np.sum((squares[:, None] - squares[None]) ** 2, axis=2)
    assert np.all(apart <= traces[:, None] ** 2 + traces[None] ** 2)
    entries = z3.Reals("a b c d e f g h")
    a, b, c, d, e, f, g, h = entries
    product = (
        (a * a + b * b) * (e * e + f * f)
        + 2 * (a * c + b * d) * (e * g + f * h)
        + (c * c + d * d) * (g * g + h * h)
    )
    crossed = (a * e + c * g, a * f + c * h, b * e + d * g, b * f + d * h)
    assert_always(product == z3.Sum([one * one for one in crossed]))
    assert INFORMATION.squared == 2 * (DIAGONAL * LARGEST_FACTOR**2) ** 2


def test_vectors_of_moments_are_shortened_to_their_bound():
    values = [0.0, 1.0, -2.0, 3.9, 50.0, -(2.0**30), np.nan, np.inf]
    for limit in (1, 7, 20):
        for vector in itertools.product(values, repeat=3):
            found = np.zeros(3, dtype=np.int64)
            shorten(np.array(vector), limit, found)
            assert int(np.sum(found**2)) <= limit


# ------------------------------------------------------------------ section 4: shares; group-curves


def test_shares_add_up_to_exactly_the_budget():
    names = list(FIRST_SHARES)
    for size in range(len(names) + 1):
        for without in itertools.combinations(names, size):
            for steps, pure in itertools.product(range(1, 10), (False, True)):
                made = split(Fraction(1), steps, pure=pure, without=without)
                assert made.spent == 1
                assert min(part for _, part in made.shares) >= 0


@pytest.mark.parametrize("pure", [False, True])
def test_the_first_column_of_the_strategy_bounds_every_pair(pure):
    """|M_a - M_b|^2 <= 2 |M_1|^2 for every pair of columns, and no sum leaves 62 bits."""
    for places in range(1, 42):
        matrix = strategy(places, pure=pure)
        gram = matrix.T @ matrix
        apart = np.diag(gram)[:, None] + np.diag(gram)[None] - 2 * gram
        assert gram.min() >= 0
        assert apart.max() <= 2 * gram[0, 0]
        assert MOST_PERSONS * int(matrix[:, 0].sum()) <= LARGEST_VALUE


def test_sums_of_so_many_people_stay_within_64_bits():
    assert MOST_PERSONS * LARGEST < 2**63
    persons = 2**36
    assert persons * LARGEST < 2**63

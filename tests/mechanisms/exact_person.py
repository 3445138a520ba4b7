"""One person's integers, slowly and written down a second time: exact rationals, 50 digits.

Nothing is shared with the package but the rule itself (docs/proofs/private-newton.md, sections 2
and 3). A person is a list of rows; a row is (covariates, entry, exit, event), at risk in the
intervals entry + 1, ..., exit. Every number is the exact value of a double.

Rounding toward zero is not continuous: where an exact value lies within ``NEAR`` of an integer the
package's floating point may fall on the other side of it, so every reference also says whether it
is `sure`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import mpmath

NEAR = Fraction(1, 10**12)
UNIT, DIAGONAL, OFF_DIAGONAL = 1024, 128, 181


@dataclass(frozen=True)
class Row:
    """A row of a person."""

    covariates: tuple[float, ...]
    entry: int
    exit: int
    event: bool = False


@dataclass(frozen=True)
class Answer:
    """Integers, and whether floating point must find the same."""

    integers: list[int]
    sure: bool = True


def exits(rows: Sequence[Row], edges: Sequence[int]) -> Answer:
    """Cells (censored, event) by bin of the last exit, then the bin of the first entry."""
    bins = len(edges) - 1
    cells = [0] * (3 * bins)
    if rows:
        last, first = rows[-1], rows[0]
        place = next(k for k in range(bins) if edges[k] < last.exit <= edges[k + 1])
        began = next(k for k in range(bins) if edges[k] <= first.entry < edges[k + 1])
        cells[bins * last.event + place] += 1
        cells[2 * bins + began] += 1
    return Answer(cells)


def weights(rows: Sequence[Row], low: int, high: int, weight: int) -> list[int]:
    """floor(weight o / sum o), o the intervals of a row in low < s <= high."""
    held = [sum(low < s <= high for s in range(row.entry + 1, row.exit + 1)) for row in rows]
    return [math.floor(Fraction(weight * part, sum(held))) if sum(held) else 0 for part in held]


def marginals(
    rows: Sequence[Row],
    cells: Sequence[tuple[tuple[int, ...], int, tuple[float, ...]]],
    edges: Sequence[int],
    weight: int,
) -> Answer:
    """Of each covariate (columns, bins, edges of a number) the weight in its bins, by stretch."""
    found = []
    for columns, bins, borders in cells:
        for low, high in pairwise(edges):
            counts = [0] * bins
            for row, share in zip(rows, weights(rows, low, high, weight), strict=True):
                values = [_within(row.covariates[column]) for column in columns]
                counts[_bin(values, borders)] += share
            found += counts
    return Answer(found)


def _bin(values: list[Fraction], borders: tuple[float, ...]) -> int:
    if borders:
        return sum(Fraction(border) <= values[0] for border in borders[1:-1])
    return next((level + 1 for level, value in enumerate(values) if value > 0), 0)


def _within(value: float) -> Fraction:
    """A number of size at most 1, whatever was there."""
    if math.isnan(value):
        return Fraction(0)
    return Fraction(max(-1.0, min(1.0, value)))


def moments(
    rows: Sequence[Row],
    centre: Sequence[float],
    spread: Sequence[float],
    limit: int,
    span: tuple[int, int, int],
) -> Answer:
    """The weighted half-vector of sum w v v', v shortened to |v|^2 <= limit; span: low, high, weight."""
    size, sure = len(centre), True
    square = [[0] * size for _ in range(size)]
    for row, share in zip(rows, weights(rows, *span), strict=True):
        vector = []
        for value, middle, scale in zip(row.covariates, centre, spread, strict=True):
            exact = (_within(value) - Fraction(middle)) * UNIT / Fraction(scale)
            whole, near = _toward_zero(max(-(2**30), min(2**30, exact)))
            vector.append(whole)
            sure &= not near
        vector, certain = _shortened(vector, limit)
        sure &= certain
        for i in range(size):
            for j in range(size):
                square[i][j] += share * vector[i] * vector[j]
    factor = {True: DIAGONAL, False: OFF_DIAGONAL}
    half = [square[i][j] * factor[i == j] for i in range(size) for j in range(i + 1)]
    return Answer(half, sure)


def _toward_zero(exact: Fraction | int) -> tuple[int, bool]:
    """trunc, and whether a little error could change it; an integer is reached exactly or not."""
    whole = int(exact)
    distance = abs(exact - round(exact))
    return whole, 0 < distance < NEAR * max(1, abs(whole))


def _shortened(vector: list[int], limit: int) -> tuple[list[int], bool]:
    """v sqrt(limit / |v|^2) toward zero, by integer square roots."""
    square = sum(value * value for value in vector)
    if square <= limit:
        return vector, True
    result, sure = [], True
    for value in vector:
        size = math.isqrt(value * value * limit // square)
        # near: the exact root lies just above size or just below size + 1
        exact = mpmath.sqrt(mpmath.mpf(value * value * limit) / square)
        sure &= value == 0 or float(abs(exact - mpmath.nint(exact))) > float(NEAR) * max(size, 1)
        result.append(size if value > 0 else -size)
    return result, sure


def score(
    rows: Sequence[Row],
    link: str,
    basis: Sequence[Sequence[float]],
    point: Sequence[float],
    mapping: Sequence[Sequence[float]],
    bound: float,
    largest: int,
) -> list[int]:
    """The predictable ball in 50 digits, then V L / B toward zero."""
    with mpmath.workdps(50):
        real = mpmath.mpf
        f, ball = [real(value) for value in point], real(bound)
        matrix = [[real(value) for value in line] for line in mapping]
        total = [real(0)] * len(matrix[0])
        for row in rows:
            for s in range(row.entry, row.exit):
                z = [real(value) for value in (*basis[s], *row.covariates)]
                eta = mpmath.fdot(f, z)
                eta = max(real(-40), min(real(40), eta))
                image = [mpmath.fdot(z, column) for column in zip(*matrix, strict=True)]
                survive, happen = slopes(link, eta)
                step = _weight(total, image, survive, happen, ball)
                step *= -happen if row.event and s == row.exit - 1 else survive
                total = [v + step * w for v, w in zip(total, image, strict=True)]
        return [int(value * largest / ball) for value in total]


def slopes(link: str, eta: "mpmath.mpf") -> tuple["mpmath.mpf", "mpmath.mpf"]:
    """(h k, (1 - h) k), k = h' / (h (1 - h)): slopes of -log(1 - h), and of log h."""
    if link == "logit":
        hazard = 1 / (1 + mpmath.exp(-eta))
        return hazard, 1 / (1 + mpmath.exp(eta))
    if link == "cloglog":
        rate = mpmath.exp(eta)
        return rate, rate / mpmath.expm1(rate)
    density = mpmath.npdf(eta)
    return density / mpmath.ncdf(-eta), density / mpmath.ncdf(eta)


def _weight(total, image, survive, happen, bound):
    """The largest w in [0, 1] with |V + a w z| <= B and |V - b w z| <= B, by the quadratic's roots."""
    square, norm = mpmath.fdot(total, total), mpmath.fdot(image, image)
    inner, room = mpmath.fdot(total, image), bound * bound - mpmath.fdot(total, total)
    if norm == 0:
        return mpmath.mpf(1)
    if room <= 0 or square > bound * bound:
        return mpmath.mpf(0)
    root = mpmath.sqrt(inner * inner + norm * room)
    up, down = (root - inner) / norm, (root + inner) / norm
    return max(mpmath.mpf(0), min(mpmath.mpf(1), up / survive, down / happen))

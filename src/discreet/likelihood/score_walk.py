"""The compiled half of the bounded scores: what one person is in one interval, and in the end.

Every person's result is a function of that person's rows and of released numbers only, and it is
an integer vector whose norm is checked in integers, so neither blocks nor threads can change a sum.
Proof: docs/proofs/private-newton.md, sections 2 and 3.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SettingsError
from discreet.likelihood.jit import compiled
from discreet.types import Array, Flags, Integers

LOGIT, CLOGLOG, PROBIT = 0, 1, 2
NUMBERS = {"logit": LOGIT, "cloglog": CLOGLOG, "probit": PROBIT}
"""Compiled code knows links by number; `slopes` has a branch for each."""
LARGEST_PREDICTOR = 40.0
"""Predictors are cut to +-40: beyond, hazards differ from 0 and 1 by less than rounding."""

SAFE_EXPONENT = 300.0
"""e^x and the product of two such are numbers."""
SAFE_POSITION = SAFE_EXPONENT - LARGEST_PREDICTOR
"""Where predictor + c is cut to +-40, a c of this size leaves the predictor a safe one."""

SHRINK, ATTEMPTS = 1.0 - 2.0**-20, 8
"""A vector that is too long by rounding is made shorter by this, then by halves, so often in all."""

FAR = 6.0
FRACTIONS = 40
"""Terms of the continued fraction: at 6 more than double precision needs."""


class Records(NamedTuple):
    """Encoded people; the rows of person i are starts[i] ... starts[i + 1] - 1."""

    starts: Integers
    covariates: Array
    entry: NDArray[np.int32]
    exit: NDArray[np.int32]
    event: Flags


class Point(NamedTuple):
    """Where scores are taken: f = (alpha, beta), whitened coordinates z~ = W'z, the ball.

    `mapping` is W, (e + p, d); `predictor` alpha'B_s; `basis` B_s, (q, e); `baseline` its image
    in whitened coordinates, (q, d). `link` is the link's number, `bound` the radius B.
    """

    link: int
    beta: Array
    mapping: Array
    predictor: Array
    basis: Array
    baseline: Array
    bound: float
    clipped: bool


class Grid(NamedTuple):
    """By interval: predictor, e^predictor, basis B, its images M M'B and the squares |M'B|^2."""

    link: int
    predictor: Array
    odds: Array
    basis: Array
    images: Array
    squares: Array


class Table(NamedTuple):
    """Prefix sums at positions origin + k spacing of c = beta'x; no rows: everybody walks.

    `steepest` is the largest event slope of each prefix.
    """

    origin: float
    spacing: float
    sums: Array
    steepest: Array


def link_number(name: str) -> int:
    """The link's number in compiled code."""
    if name not in NUMBERS:
        raise SettingsError(f"compiled code does not have the slopes of the link {name}.")
    return NUMBERS[name]


@compiled
def mills_ratio(eta: float) -> float:
    """pdf(eta) / Phi(-eta); by its continued fraction where the error function underflows."""
    if eta < FAR:
        tail = math.erfc(eta / math.sqrt(2.0))
        return math.sqrt(2.0 / math.pi) * math.exp(-0.5 * eta * eta) / tail
    value = eta
    for term in range(FRACTIONS, 0, -1):
        value = eta + term / value
    return value


@compiled
def slopes(kind: int, predictor: float) -> tuple[float, float]:
    """(a, b) = (h k, (1 - h) k): slopes of the survival loss and, negated, of the event loss."""
    eta = min(max(predictor, -LARGEST_PREDICTOR), LARGEST_PREDICTOR)
    if kind == LOGIT:
        if eta > 0.0:
            small = math.exp(-eta)
            return 1.0 / (1.0 + small), small / (1.0 + small)
        small = math.exp(eta)
        return small / (1.0 + small), 1.0 / (1.0 + small)
    if kind == CLOGLOG:
        rate = math.exp(eta)
        return rate, rate / math.expm1(rate) if rate < 700.0 else 0.0
    return mills_ratio(eta), mills_ratio(-eta)


@compiled
def ball_weight(
    inner: float, square: float, norm: float, survive: float, event: float, bound: float
) -> float:
    """The largest w in [0, 1] with |V + a w z| <= B and |V - b w z| <= B.

    `inner` = V'z, `square` = |V|^2, `norm` = |z|^2.
    """
    room = bound * bound - square
    if room <= 0.0 or norm <= 0.0:
        return 0.0 if norm > 0.0 else 1.0
    if math.sqrt(square) + max(survive, event) * math.sqrt(norm) <= bound:
        return 1.0
    root = math.sqrt(inner * inner + norm * room)
    weight = 1.0
    # (root - inner)(root + inner) = norm room: the quotient without cancellation
    up = (room if inner > 0.0 else root - inner) / (root + inner if inner > 0.0 else norm)
    down = (room if inner < 0.0 else root + inner) / (root - inner if inner < 0.0 else norm)
    if survive > 0.0:
        weight = min(weight, up / survive)
    if event > 0.0:
        weight = min(weight, down / event)
    return max(weight, 0.0)


@compiled
def interval_slopes(
    kind: int, predictor: float, position: float, odds: float, factor: float
) -> tuple[float, float]:
    """`slopes` at predictor + position; the logit's by odds e^predictor times e^position."""
    eta = predictor + position
    if kind == LOGIT and abs(eta) < LARGEST_PREDICTOR and abs(position) < SAFE_POSITION:
        share = 1.0 / (1.0 + odds * factor)
        return odds * factor * share, share
    return slopes(kind, eta)


@compiled
def quantise(total: Array, bound: float, largest: int, result: Integers) -> None:
    """V L / B toward zero, as integers of norm at most L: checked in integers, not believed.

    A person is a column. Whoever is too long is made shorter and tried again; in the end it is 0.
    """
    scale, shrink, most = largest / bound, np.ones(total.shape[1]), largest * largest
    squares = np.zeros(total.shape[1], dtype=np.int64)
    for attempt in range(ATTEMPTS):
        toward_zero(total, scale, shrink, largest, result, squares)
        if squares.max() <= most:
            return
        for column in range(len(squares)):
            if squares[column] > most:
                shrink[column] *= 0.5 if attempt > 0 else SHRINK
    for column in range(len(squares)):
        if squares[column] > most:
            result[:, column] = 0


@compiled
def toward_zero(
    total: Array, scale: float, shrink: Array, largest: int, result: Integers, squares: Integers
) -> None:
    """Write V scale shrink as integers of size at most L; sums of their squares, cut at 2 L^2."""
    squares[:] = 0
    for k in range(total.shape[0]):
        for column in range(total.shape[1]):
            value = total[k, column] * scale * shrink[column]
            # a comparison with NaN is false: anything that is not a number in range becomes 0
            whole = int(value) if abs(value) <= largest else 0
            result[k, column] = whole
            # beyond the bound it does not matter by how much, and a sum of many would wrap around
            squares[column] = min(squares[column] + whole * whole, 2 * largest * largest)


@compiled
def length_of(vector: Array) -> float:
    """|v|, in a loop: for a few numbers the call of a library would take longer."""
    square = 0.0
    for k in range(len(vector)):
        square += vector[k] * vector[k]
    return math.sqrt(square)


@compiled
def clip(total: Array, bound: float) -> None:
    """V times min(1, B / |V|), of every column."""
    square = np.zeros(total.shape[1])
    for k in range(total.shape[0]):
        for column in range(total.shape[1]):
            square[column] += total[k, column] * total[k, column]
    for column in range(total.shape[1]):
        length = math.sqrt(square[column])
        if length > bound:
            for k in range(total.shape[0]):
                total[k, column] *= bound / length


@compiled
def hermite(lower: float, upper: float, left: float, right: float, place: float) -> float:
    """The cubic with these values and (scaled) slopes at 0 and 1."""
    rest = 1.0 - place
    return rest * rest * ((1.0 + 2.0 * place) * lower + place * left) + place * place * (
        (1.0 + 2.0 * rest) * upper - rest * right
    )


@compiled
def prefix_sums(
    table: Array, entry: int, last: int, node: int, place: float, sums: Array, column: int
) -> None:
    """A row's sums (a, a |B~|, a B) over intervals entry < s <= last, interpolated, to a column."""
    columns = sums.shape[0]
    for k in range(columns):
        at, slope = k, columns + k
        late = hermite(
            table[last, node, at],
            table[last, node + 1, at],
            table[last, node, slope],
            table[last, node + 1, slope],
            place,
        )
        early = 0.0
        if entry > 0:
            early = hermite(
                table[entry, node, at],
                table[entry, node + 1, at],
                table[entry, node, slope],
                table[entry, node + 1, slope],
                place,
            )
        sums[k, column] = late - early


@compiled
def locate(covariates: Array, row: int, beta: Array, mapping: Array, tilt: Array) -> float:
    """Write the covariates' part of z~ into `tilt`; c = beta'x."""
    width = covariates.shape[1]
    time = mapping.shape[0] - width
    position = 0.0
    tilt[:] = 0.0
    for j in range(width):
        position += covariates[row, j] * beta[j]
        for k in range(len(tilt)):
            tilt[k] += covariates[row, j] * mapping[time + j, k]
    return position


@compiled
def add_prefix(sums: Array, mapping: Array, tilt: Array, total: Array) -> None:
    """total += sum of a z~ = M_b' (sum a B) + (sum a) x~."""
    for k in range(len(total)):
        value = sums[0] * tilt[k]
        for j in range(len(sums) - 2):
            value += sums[2 + j] * mapping[j, k]
        total[k] += value


@compiled
def longest(vectors: Array) -> float:
    """The largest norm of a row."""
    result = 0.0
    for row in range(vectors.shape[0]):
        result = max(result, length_of(vectors[row]))
    return result


@compiled
def interval_grid(point: Point) -> Grid:
    """What a walk needs of every interval."""
    predictor, basis, baseline = point.predictor, point.basis, point.baseline
    images, squares = np.zeros(basis.shape), np.zeros(len(predictor))
    for interval in range(len(predictor)):
        for k in range(baseline.shape[1]):
            squares[interval] += baseline[interval, k] * baseline[interval, k]
            for j in range(basis.shape[1]):
                images[interval, j] += point.mapping[j, k] * baseline[interval, k]
    within = np.minimum(np.maximum(predictor, -SAFE_EXPONENT), SAFE_EXPONENT)
    return Grid(point.link, predictor, np.exp(within), basis, images, squares)


@compiled
def add_quantised(
    total: Array, cut: float, bound: float, largest: int, people: Integers, result: Integers
) -> None:
    """Add people's scores, columns, as integers of norm at most `largest`, left in `people`.

    `cut` is the length to which V is clipped: infinite where its weights have bounded it.
    """
    if cut < math.inf:
        clip(total, cut)
    quantise(total, bound, largest, people)
    for k in range(total.shape[0]):
        added = 0
        for column in range(total.shape[1]):
            added += people[k, column]
        result[k] += added

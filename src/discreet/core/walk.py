"""Walks of bounded scores, people side by side: what touches one person, in compiled code.

A person's score V is the concatenation of V_1, ..., V_R over R causes; one cause is R = 1. In each
interval s at risk one weight w keeps all R + 1 outcomes inside the ball of radius B,

    |V + w (a_1 z_1, ..., a_R z_R)| <= B  (no event),    |V - w (0, ..., b_k z_k, ..., 0)| <= B  (cause k),

with a_r, b_r the slopes at eta_rs = predictor_rs + beta_r'x and z_rs = W_r'(B_s, x) = baseline_rs + x~_r.
Within a row V_r = V_r0 + M_r'm_r + u_r x~_r, M_r the baseline's rows of W_r, so that inner products need
the e + 1 numbers (m_r, u_r), not the d of V_r: with c_r = M_r x~_r and images g_rs = M_r M_r'B_s,

    V_r'z_rs = (M_r V_r0 + c_r u_r)'B_s + m_r'(g_rs + c_r) + V_r0'x~_r + u_r |x~_r|^2.

Where effects change with time, W_r has rows for the effects of each period, and x is placed in those
in force: a row at risk across the end of a period is walked as one row before it and another after
it. Periods are public, so z_rs is a function of s and of the row.

Conventions. Axes, in this order: R causes, q intervals, d whitened coordinates (or e baseline
functions, or p covariates), N = LANES people. Intervals count from 0 here: a row is at risk in
first ... last - 1. Units are those of B.

Every lane's numbers are a function of that lane's rows and of released numbers only: nothing is added
across lanes, and no operation is reordered. In the end V is an integer vector whose norm is checked in
integers, so neither company, blocks nor threads can change a sum. Proofs:
docs/proofs/private-newton.md, section 2; docs/proofs/competing-risks.md, section 2.
"""

import math
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from discreet.core.slopes import LARGEST_PREDICTOR, LOGIT, slopes
from discreet.likelihood.jit import compiled, compiled_into_callers
from discreet.types import Array, Integers

LANES = 32
"""N, people at a time: a few vectors of the processor, and all of it stays in its nearest cache."""

ZERO = cast("int", np.int64(0))
"""Not a literal, which has a type of its own: functions that take it would be compiled once more."""

SAFE_EXPONENT = 300.0
"""e^x and the product of two such are numbers."""
SAFE_POSITION = SAFE_EXPONENT - LARGEST_PREDICTOR
"""Where |predictor + c| < 40, a c of this size leaves e^predictor a number."""

SHRINK, ATTEMPTS = 1.0 - 2.0**-20, 8
"""If rounding leaves the norm too large, shrink by SHRINK, then halve; at most ATTEMPTS tries."""


class Records(NamedTuple):
    """Encoded people: the rows of person i are starts[i] ... starts[i + 1] - 1.

    `covariates` (rows, p); `entry`, `exit` (rows): at risk in entry ... exit - 1; `cause` (rows): the
    event in the last of these, 1 ... R, or 0.
    """

    starts: Integers
    covariates: Array
    entry: NDArray[np.int32]
    exit: NDArray[np.int32]
    cause: NDArray[np.int8]


class Point(NamedTuple):
    """Where scores are taken: f_r = (alpha_r, beta_r) and W_r of every cause, and the ball.

    `link` has the link's number once for every cause: compiled code is specialised for the length R, so that
    one cause has no loops over causes. `beta` (R, p); `mapping` W (R, e + p, d); `predictor` alpha_r'B_s (R, q);
    `basis` B_s (q, e); `baseline` its images W_r'(B_s, 0) (R, q, d); `bound` the radius B; `clipped`:
    every weight is 1, and V is cut to the norm B in the end.

    `periods` (K, 2 + columns): the first interval of each period of effects, the one after its last, and
    the place of each column of the covariates among the p effects of all periods.
    """

    link: tuple[int, ...]
    beta: Array
    mapping: Array
    predictor: Array
    basis: Array
    baseline: Array
    bound: float
    clipped: bool
    periods: Integers


class Grid(NamedTuple):
    """What a walk needs of every interval, of all people the same.

    `predictor`, `odds` = e^predictor (R, q); `basis` B_s (q, e); `images` g (R, q, e); `squares`
    |M_r'B_s|^2 (R, q).
    """

    link: tuple[int, ...]
    predictor: Array
    odds: Array
    basis: Array
    images: Array
    squares: Array


class Span(NamedTuple):
    """Of each lane's row the intervals first ... last - 1, and the cause of the last one's event, or 0."""

    first: Integers
    last: Integers
    cause: Integers


class Lanes(NamedTuple):
    """V and what is known of each lane's row.

    `total` V_r, `tilt` x~_r (R, d, N); `position` beta_r'x (R, N); slopes `survive` a, `happen` b
    (R, q, N); `weight` w (q, N); `factor` e^position of one cause (N).
    """

    total: Array
    tilt: Array
    position: Array
    survive: Array
    happen: Array
    weight: Array
    factor: Array


class Steps(NamedTuple):
    """Room for the walk of each lane's row: (R, e, N), then (R, N), then (N).

    At its start c_r, M_r V_r0, |x~_r|^2, V_r0'x~_r; so far m_r, u_r, m_r'c_r; in the interval c_r'B_s, the
    step and squared lengths of what may come.
    """

    cross: Array
    begin: Array
    moved: Array
    spread: Array
    begun: Array
    along: Array
    crossing: Array
    meeting: Array
    step: Array
    stay: Array
    leave: Array


class Reached(NamedTuple):
    """Where each lane is in an interval: V_r'z_rs, |z_rs|^2 (R, N), |V|^2 (N).

    Where `tight` is 0 (N) no outcome can leave the ball, and w is 1. `ahead`, `length` are room (N) for
    V'z and |z|^2 of the outcome without an event.
    """

    link: tuple[int, ...]
    inner: Array
    norm: Array
    square: Array
    tight: Array
    ahead: Array
    length: Array


def interval_grid(point: Point) -> Grid:
    """Make what a walk needs of every interval, each sum in the order of its terms."""
    mapping, baseline = point.mapping, point.baseline
    causes, intervals, size = baseline.shape
    images = np.zeros((causes, intervals, point.basis.shape[1]))
    squares = np.zeros((causes, intervals))
    for k in range(size):
        squares += baseline[:, :, k] * baseline[:, :, k]
        images += mapping[:, None, : images.shape[2], k] * baseline[:, :, k, None]
    cut = np.clip(point.predictor, -SAFE_EXPONENT, SAFE_EXPONENT)
    odds = np.array([[math.exp(value) for value in row] for row in cut])
    return Grid(point.link, point.predictor, odds, point.basis, images, squares)


def lanes_room(causes: int, size: int, intervals: int) -> Lanes:
    """Make room for the rows of all lanes; every weight is 1."""
    place, interval = (causes, size, LANES), (causes, intervals, LANES)
    v, tilt, position, survive, happen = map(
        np.zeros, (place, place, place[::2], interval, interval)
    )
    return Lanes(v, tilt, position, survive, happen, np.ones(interval[1:]), np.zeros(LANES))


def walk_room(link: tuple[int, ...], parts: int) -> tuple[Steps, Reached]:
    """Make room for the walks of all lanes."""
    lane: tuple[int, ...] = (LANES,)
    cause, part = (len(link), *lane), (len(link), parts, *lane)
    steps = *[part] * 3, *[cause] * 5, *[lane] * 3
    reached = cause, cause, *[lane] * 4
    return Steps(*map(np.zeros, steps)), Reached(link, *map(np.zeros, reached))


def span_room() -> Span:
    """Make room for the rows of all lanes."""
    return Span(*(np.zeros(LANES, dtype=np.int64) for _ in Span._fields))


@compiled
def locate(values: Array, beta: Array, mapping: Array, places: Integers, lanes: Lanes) -> None:
    """Write beta_r'x and x~_r of every lane; `values` are the columns of x (columns, N)."""
    position, tilt = lanes.position, lanes.tilt
    causes, size, count = tilt.shape
    width = values.shape[0]
    time = mapping.shape[1] - beta.shape[1]
    for r in range(causes):
        for lane in range(count):
            position[r, lane] = 0.0
        for k in range(size):
            for lane in range(count):
                tilt[r, k, lane] = 0.0
        for j in range(width):
            place = places[j]
            for lane in range(count):
                position[r, lane] += values[j, lane] * beta[r, place]
            for k in range(size):
                entry = mapping[r, time + place, k]
                for lane in range(count):
                    tilt[r, k, lane] += values[j, lane] * entry


@compiled
def write_slopes(grid: Grid, start: int, stop: int, lanes: Lanes) -> None:
    """Write a, b of every cause and lane in the intervals start ... stop - 1.

    The logit's are products of odds where |eta| < 40 and c is not too large, by `slopes` elsewhere: this
    depends on the lane alone. The loop over those elsewhere is left out where it would change none.
    """
    link, predictor, odds = grid.link[0], grid.predictor, grid.odds
    position, survive, happen = lanes.position, lanes.survive, lanes.happen
    factor, count = lanes.factor, position.shape[1]
    for r in range(len(grid.link)):
        farthest, near = 0.0, link == LOGIT
        for lane in range(count):
            factor[lane] = math.exp(position[r, lane])
            farthest = max(farthest, abs(position[r, lane]))
            # a comparison with NaN is false: such a lane is looked at
            near = near and abs(position[r, lane]) < LARGEST_PREDICTOR
        for s in range(start, stop):
            if link == LOGIT:
                for lane in range(count):
                    share = 1.0 / (1.0 + odds[r, s] * factor[lane])
                    survive[r, s, lane] = odds[r, s] * factor[lane] * share
                    happen[r, s, lane] = share
                if near and abs(predictor[r, s]) + farthest < LARGEST_PREDICTOR:
                    continue
            for lane in range(count):
                c = position[r, lane]
                eta = predictor[r, s] + c
                inside = abs(eta) < LARGEST_PREDICTOR and abs(c) < SAFE_POSITION
                if not (link == LOGIT and inside):
                    survive[r, s, lane], happen[r, s, lane] = slopes(link, eta)


@compiled
def ball_weight(
    inner: float, square: float, norm: float, survive: float, happen: float, bound: float
) -> float:
    """The largest w in [0, 1] with |V + a w z| <= B and |V - b w z| <= B.

    `inner` = V'z, `square` = |V|^2, `norm` = |z|^2.
    """
    room = bound * bound - square
    if room <= 0.0 or norm <= 0.0:
        return 0.0 if norm > 0.0 else 1.0
    if math.sqrt(square) + max(survive, happen) * math.sqrt(norm) <= bound:
        return 1.0
    root = math.sqrt(inner * inner + norm * room)
    weight = 1.0
    # (root - inner)(root + inner) = norm room: the quotient without cancellation
    up = (room if inner > 0.0 else root - inner) / (root + inner if inner > 0.0 else norm)
    down = (room if inner < 0.0 else root + inner) / (root - inner if inner < 0.0 else norm)
    if survive > 0.0:
        weight = min(weight, up / survive)
    if happen > 0.0:
        weight = min(weight, down / happen)
    return max(weight, 0.0)


@compiled
def write_weights(reached: Reached, s: int, bound: float, lanes: Lanes) -> None:
    """Write the largest w in [0, 1] that keeps all R + 1 outcomes of interval s in the ball."""
    survive, happen, weight = lanes.survive, lanes.happen, lanes.weight
    link, inner, norm, square, tight, ahead, length = reached
    causes, count = len(link), len(square)
    for r in range(causes):
        for lane in range(count):
            a = survive[r, s, lane] if causes == 1 else 0.0
            b = happen[r, s, lane]
            w = ball_weight(inner[r, lane], square[lane], norm[r, lane], a, b, bound)
            weight[s, lane] = min(weight[s, lane], w if tight[lane] > 0.0 else 1.0)
    if causes > 1:
        for lane in range(count):
            ahead[lane], length[lane] = 0.0, 0.0
        for r in range(causes):
            for lane in range(count):
                a = survive[r, s, lane]
                ahead[lane] += a * inner[r, lane]
                length[lane] += a * a * norm[r, lane]
        for lane in range(count):
            w = ball_weight(ahead[lane], square[lane], length[lane], 1.0, 0.0, bound)
            weight[s, lane] = min(weight[s, lane], w if tight[lane] > 0.0 else 1.0)


@compiled_into_callers
def start_row(mapping: Array, lanes: Lanes, steps: Steps, square: Array) -> None:
    """Write c_r, M_r V_r0, |x~_r|^2, V_r0'x~_r and |V|^2 at the row's start; no step is taken so far."""
    total, tilt, count = lanes.total, lanes.tilt, len(square)
    for lane in range(count):
        square[lane] = 0.0
    for r in range(total.shape[0]):
        for lane in range(count):
            steps.spread[r, lane], steps.begun[r, lane] = 0.0, 0.0
            steps.along[r, lane], steps.crossing[r, lane] = 0.0, 0.0
        for j in range(steps.cross.shape[1]):
            for lane in range(count):
                steps.cross[r, j, lane], steps.begin[r, j, lane] = 0.0, 0.0
                steps.moved[r, j, lane] = 0.0
        for k in range(total.shape[1]):
            for lane in range(count):
                steps.spread[r, lane] += tilt[r, k, lane] * tilt[r, k, lane]
                steps.begun[r, lane] += total[r, k, lane] * tilt[r, k, lane]
                square[lane] += total[r, k, lane] * total[r, k, lane]
            for j in range(steps.cross.shape[1]):
                for lane in range(count):
                    steps.cross[r, j, lane] += mapping[r, j, k] * tilt[r, k, lane]
                    steps.begin[r, j, lane] += mapping[r, j, k] * total[r, k, lane]


@compiled_into_callers
def finish_row(mapping: Array, lanes: Lanes, steps: Steps) -> None:
    """V_r = V_r0 + u_r x~_r + M_r'm_r of every lane."""
    total, tilt = lanes.total, lanes.tilt
    for r in range(total.shape[0]):
        for k in range(total.shape[1]):
            for lane in range(total.shape[2]):
                total[r, k, lane] += steps.along[r, lane] * tilt[r, k, lane]
            for j in range(steps.moved.shape[1]):
                for lane in range(total.shape[2]):
                    total[r, k, lane] += steps.moved[r, j, lane] * mapping[r, j, k]


@compiled
def ends_of(span: Span) -> tuple[int, int]:
    """The intervals start ... stop - 1 hold every lane's row."""
    start, stop = span.first[0], span.last[0]
    for lane in range(len(span.first)):
        start, stop = min(start, span.first[lane]), max(stop, span.last[lane])
    return start, stop


@compiled
def walk(
    span: Span,
    mapping: Array,
    grid: Grid,
    bound: float,
    lanes: Lanes,
    steps: Steps,
    reached: Reached,
) -> None:
    """Take every lane through its row: add the weighted scores to V, and write the weights."""
    survive, happen, weight = lanes.survive, lanes.happen, lanes.weight
    (first, last, cause), (start, stop) = span, ends_of(span)
    basis, images, squares = grid.basis, grid.images, grid.squares
    causes, parts, count = len(grid.link), basis.shape[1], len(first)
    cross, begin, moved, spread, begun, along, crossing, meeting, step, stay, leave = steps
    _, inner, norm, square, tight, _, _ = reached
    start_row(mapping, lanes, steps, square)
    for s in range(start, stop):
        for r in range(causes):
            for lane in range(count):
                meeting[r, lane] = 0.0
                inner[r, lane] = begun[r, lane] + crossing[r, lane]
            for j in range(parts):
                for lane in range(count):
                    meeting[r, lane] += cross[r, j, lane] * basis[s, j]
                    inner[r, lane] += (
                        begin[r, j, lane] * basis[s, j] + moved[r, j, lane] * images[r, s, j]
                    )
            for lane in range(count):
                inner[r, lane] += along[r, lane] * (meeting[r, lane] + spread[r, lane])
                length = squares[r, s] + 2.0 * meeting[r, lane] + spread[r, lane]
                norm[r, lane] = max(length, 0.0)
                a, b = survive[r, s, lane], happen[r, s, lane]
                stay[lane] = (stay[lane] if r > 0 else 0.0) + a * a * norm[r, lane]
                leave[lane] = max(leave[lane] if r > 0 else 0.0, b * b * norm[r, lane])
                free = 2.0 * (square[lane] + max(stay[lane], leave[lane])) <= bound * bound
                tight[lane] = 0.0 if free else 1.0
                weight[s, lane] = 1.0
        if tight.any():  # w is 1 for the others either way: most of a walk's time
            write_weights(reached, s, bound, lanes)
        for r in range(causes):
            for lane in range(count):
                here = first[lane] <= s < last[lane]
                own = -happen[r, s, lane] if cause[lane] == r + 1 else 0.0
                slope = own if cause[lane] > 0 and s == last[lane] - 1 else survive[r, s, lane]
                step[lane] = weight[s, lane] * slope if here else 0.0
                gain = step[lane] * (2.0 * inner[r, lane] + step[lane] * norm[r, lane])
                square[lane] += gain if here else 0.0
                along[r, lane] += step[lane]
                crossing[r, lane] += step[lane] * meeting[r, lane] if here else 0.0
            for j in range(parts):
                for lane in range(count):
                    moved[r, j, lane] += step[lane] * basis[s, j]
    finish_row(mapping, lanes, steps)


@compiled
def quantise(total: Array, bound: float, largest: int, result: Integers) -> None:
    """V L / B toward zero, as integers of norm at most L: checked in integers, not believed.

    A person is a column, whose rows are the coordinates of all causes. A vector that is too long is
    shortened and tried again; in the end it is 0.
    """
    scale, most, people = largest / bound, largest * largest, total.shape[1]
    shrink, squares = np.empty(people), np.empty(people, dtype=np.int64)
    for column in range(people):
        shrink[column] = 1.0
    for attempt in range(ATTEMPTS):
        for column in range(people):
            squares[column] = 0
        for k in range(total.shape[0]):
            for column in range(people):
                value = total[k, column] * scale * shrink[column]
                # a comparison with NaN is false: anything that is not a number in range becomes 0
                whole = int(value) if abs(value) <= largest else 0
                result[k, column] = whole
                # beyond the bound it does not matter by how much, and a sum of many would wrap around
                squares[column] = min(squares[column] + whole * whole, 2 * most)
        long = 0
        for column in range(people):
            if squares[column] > most:
                long += 1
                shrink[column] *= 0.5 if attempt > 0 else SHRINK
        if long == 0:
            return
    for column in range(people):
        if squares[column] > most:
            for k in range(total.shape[0]):
                result[k, column] = 0


@compiled
def clip(total: Array, bound: float) -> None:
    """V times min(1, B / |V|), of every column."""
    square = np.empty(total.shape[1])
    for column in range(total.shape[1]):
        square[column] = 0.0
    for k in range(total.shape[0]):
        for column in range(total.shape[1]):
            square[column] += total[k, column] * total[k, column]
    for column in range(total.shape[1]):
        length = math.sqrt(square[column])
        if length > bound:
            for k in range(total.shape[0]):
                total[k, column] *= bound / length


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

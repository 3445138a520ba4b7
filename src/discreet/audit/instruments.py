"""Instruments that the audits of all mechanisms share.

    KnownNoise    zero or a fixed shift: a draw shows what noise would have hidden
    ForcedNoise   the second of two runs: every noisy number comes out as in the first
    TapedNoise    seeded noise with a record, or the outcomes of an earlier record
    SitesNoise    the same of several sites, each of which draws its share
    Sample        draws and the law that they are said to follow: Kolmogorov-Smirnov, with controls
    shown         a lower bound on epsilon from outcomes alone

What the record of `ForcedNoise` holds are two neighbours' values for the same outcome, and so the
privacy loss of that outcome. Draws are the rows of a matrix of integers or floats, scales in the same
units. Away from `lattice_p_value` the grid must be much finer than the scale, so that the law is as
good as continuous for the number of draws at hand.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from discreet.audit.findings import FALSE_ALARM, Finding, judged, not_applicable
from discreet.mechanisms.contract import Draw, Plan
from discreet.privacy.exact import ContinuousDraw
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.noise import NoiseSource, SystemNoise
from discreet.privacy.scales import IntegerVector, integer_vector
from discreet.privacy.shared_noise import SimulatedShares
from discreet.privacy.shares import NoiseShares
from discreet.privacy.testing import SeededNoise
from discreet.types import Array

BITS, GAUSSIAN, L1, LATTICE, CONTINUOUS = "bits", "gaussian", "l1", "lattice", "continuous"


@dataclass
class Call:
    """One request for noise: law, dimension and scale, the integers it was added to, the noise."""

    law: str
    dimension: int
    scale: Fraction
    values: list[int] = field(default_factory=list)
    noise: list[int] = field(default_factory=list)

    @property
    def outcome(self) -> list[int]:
        """What the source returned, where the noise was noted."""
        return [value + noise for value, noise in zip(self.values, self.noise, strict=True)]

    @property
    def shape(self) -> tuple[str, int, Fraction]:
        """What must not depend on the data."""
        return self.law, self.dimension, self.scale


class NotedInteger(int):
    """Lattice noise that notes what it is added to (the sum happens outside the source)."""

    call: Call
    forced: int | None

    def __radd__(self, other: SupportsIndex) -> int:
        value = int(other)
        self.call.values.append(value)
        return value + int(self) if self.forced is None else self.forced

    __hash__ = int.__hash__


@dataclass
class KnownNoise(NoiseSource):
    """A tilt of `tilt` scales along the diagonal, lattice noise of `shift` steps a coordinate."""

    private: ClassVar[bool] = False
    tilt: float = 0.0
    shift: int = 0
    calls: list[Call] = field(default_factory=list)

    @property
    def trace(self) -> list[tuple[str, int, Fraction]]:
        """The requests in order, without values."""
        return [call.shape for call in self.calls]

    def scales(self, law: str) -> list[Fraction]:
        """The scales asked for under one law."""
        return [call.scale for call in self.calls if call.law == law]

    def uniform_bits(self, count: int) -> int:
        """Zeros."""
        self.calls.append(Call(BITS, count, Fraction(1)))
        return 0

    def discrete_gaussian(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """The values, moved by the shift."""
        return self._known(GAUSSIAN, values, scale)

    def l1_laplace(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """The values, moved by the shift."""
        return self._known(L1, values, scale)

    def lattice_laplace(self, dimension: int, scale: float | Fraction) -> IntegerVector:
        """The shift in every coordinate; what it is added to is noted where that is possible."""
        call = Call(LATTICE, dimension, Fraction(scale))
        self.calls.append(call)
        return self._noted(call, self._outcome(len(self.calls) - 1))

    def continuous_laplace(self, dimension: int, scale: float | Fraction) -> ContinuousDraw:
        """The tilt."""
        self.calls.append(Call(CONTINUOUS, dimension, Fraction(scale)))
        size = self.tilt * float(scale) / math.sqrt(dimension)
        return ContinuousDraw(np.full(dimension, size), 0.0)

    def _known(self, law: str, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        integers = _integers(values)
        self.calls.append(Call(law, len(integers), Fraction(scale), integers))
        forced = self._outcome(len(self.calls) - 1)
        return integer_vector(
            [value + self.shift for value in integers] if forced is None else forced
        )

    def _outcome(self, place: int) -> list[int] | None:  # noqa: ARG002 - for `ForcedNoise`
        """The outcome that request must have; None: value plus shift."""
        return None

    def _noted(self, call: Call, outcome: Sequence[int] | None) -> IntegerVector:
        noise = [NotedInteger(self.shift) for _ in range(call.dimension)]
        for index, item in enumerate(noise):
            item.call = call
            item.forced = None if outcome is None else outcome[index]
        return integer_vector(list(noise))


@dataclass
class ForcedNoise(KnownNoise):
    """The second of two runs: every noisy number comes out as it did in the first."""

    first: KnownNoise = field(default_factory=KnownNoise)

    def _outcome(self, place: int) -> list[int] | None:
        before = self.first.calls
        if place >= len(before) or len(before[place].values) != before[place].dimension:
            return None
        return [value + self.first.shift for value in before[place].values]


def privacy_loss(first: KnownNoise, second: KnownNoise) -> tuple[float, float]:
    """(epsilon, rho) that the two runs' values spend at their common outcome.

    Discrete Gaussian: rho = |v - v'|^2 / (2 (sigma^2 - 5)).  Laplace: epsilon = |v - v'| / s, in the norm
    of its law.  Infinite where the requests differ: then the noise itself tells the two apart.
    """
    if first.trace != second.trace:
        return math.inf, math.inf
    pure, concentrated = 0.0, 0.0
    for one, other in zip(first.calls, second.calls, strict=True):
        gap = np.array([a - b for a, b in zip(one.values, other.values, strict=True)], dtype=float)
        if one.law == GAUSSIAN:
            concentrated += gaussian_cost(float(gap @ gap), float(one.scale))
        elif one.law in {L1, LATTICE}:
            norm = np.abs(gap).sum() if one.law == L1 else np.linalg.norm(gap)
            pure += float(norm) / float(one.scale)
    return pure, concentrated


ROUNDED = 5.0
"""So much less than its variance integer noise is worth: the proof page's number, not the code's."""


def gaussian_cost(squared: float, scale: float) -> float:
    """The rho of a gap at a scale."""
    if squared == 0:
        return 0.0
    worth = scale**2 - ROUNDED
    return squared / (2.0 * worth) if worth > 0 else math.inf


def _integers(values: ArrayLike) -> list[int]:
    return [int(value) for value in np.atleast_1d(np.asarray(values, dtype=object))]


class TapedNoise(SeededNoise):
    """Seeded noise with a record; with the record of a first draw, the outcomes of that draw."""

    def __init__(self, seed: int, before: Sequence[Call] = ()) -> None:
        super().__init__(seed)
        self.calls: list[Call] = []
        self._before = before

    def discrete_gaussian(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """Rounded normal noise."""
        return self._taped(GAUSSIAN, values, scale, super().discrete_gaussian(values, scale))

    def l1_laplace(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """Differences of geometric numbers."""
        return self._taped(L1, values, scale, super().l1_laplace(values, scale))

    def lattice_laplace(self, dimension: int, scale: float | Fraction) -> IntegerVector:
        """Lattice noise that notes what it is added to."""
        drawn = [int(value) for value in super().lattice_laplace(dimension, scale)]
        call, forced = self._next(LATTICE, dimension, scale), self._forced(dimension)
        call.noise = drawn
        noted = [NotedInteger(value) for value in drawn]
        for place, item in enumerate(noted):
            item.call, item.forced = call, None if forced is None else forced[place]
        return integer_vector(list(noted))

    def _next(self, law: str, dimension: int, scale: float | Fraction) -> Call:
        self.calls.append(Call(law, dimension, Fraction(scale)))
        return self.calls[-1]

    def _forced(self, dimension: int) -> list[int] | None:
        place = len(self.calls) - 1
        if place >= len(self._before) or self._before[place].dimension != dimension:
            return None
        return self._before[place].outcome

    def _taped(
        self, law: str, values: ArrayLike, scale: float | Fraction, noisy: IntegerVector
    ) -> IntegerVector:
        call = self._next(law, len(noisy), scale)
        call.values = _integers(values)
        forced = self._forced(len(noisy))
        call.noise = [int(b) - a for a, b in zip(call.values, noisy, strict=True)]
        return noisy if forced is None else integer_vector(forced)


class SitesNoise(TapedNoise):
    """The noise of several sites: the record has the scale of the shares that the claim counts."""

    def __init__(self, shares: NoiseShares, seed: int, before: Sequence[Call] = ()) -> None:
        super().__init__(seed, before)
        self._shares = shares
        self._sources = [TapedNoise(1000 * seed + site) for site in range(shares.sites)]
        self._masked: list[list[int]] = []
        self._sites = [SimulatedShares(shares, one, self._opened) for one in self._sources]

    def _opened(self, masked: list[int]) -> list[int]:
        self._masked.append(masked)
        return masked

    def discrete_gaussian(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """The first site has the values, the others zeros; the sum of what all of them open."""
        integers, counted = _integers(values), []
        self._masked = []
        for number, (site, source) in enumerate(zip(self._sites, self._sources, strict=True)):
            own, before = [0] * len(integers) if number else integers, len(source.calls)
            site.discrete_gaussian(own, scale)
            made = source.calls[before:]
            hidden = [a - b for a, b in zip(self._masked[-1], own, strict=True)]
            # a share counts once, and only where it is in what is opened
            alone = len(made) == 1 and made[0].noise == hidden
            counted.append(float(made[0].scale) if alone else 0.0)
        noisy = integer_vector([sum(column) for column in zip(*self._masked, strict=True)])
        # the sites that collude know their own shares: what is left are the smallest of the others
        together = math.sqrt(sum(one**2 for one in sorted(counted)[: self._shares.honest]))
        return self._taped(GAUSSIAN, integers, together, noisy)


def radius_p_value(draws: ArrayLike, scale: float) -> float:
    """Is |X| / s a Gamma variable of shape d?  Kolmogorov-Smirnov."""
    points = _points(draws)
    radius = np.linalg.norm(points, axis=1) / scale
    return float(stats.kstest(radius, stats.gamma(points.shape[1]).cdf).pvalue)


def direction_p_value(draws: ArrayLike) -> float:
    """Is X / |X| uniform on the sphere?  Projections on the axes and a diagonal, corrected.

    The projection t of a uniform direction on a unit vector has (t + 1)/2 ~ Beta(b, b) with
    b = (d - 1)/2; in one dimension the sign is a fair coin.
    """
    points = _points(draws)
    moved = points[np.any(points != 0, axis=1)]
    if moved.shape[1] == 1:
        heads = int(np.count_nonzero(moved > 0))
        return float(stats.binomtest(heads, moved.shape[0]).pvalue)
    dimension = moved.shape[1]
    units = np.vstack([np.eye(dimension), np.full(dimension, dimension**-0.5)])
    projections = moved @ units.T / np.linalg.norm(moved, axis=1, keepdims=True)
    law = stats.beta((dimension - 1) / 2, (dimension - 1) / 2)
    p_values = [stats.kstest((t + 1) / 2, law.cdf).pvalue for t in projections.T]
    return min(1.0, len(p_values) * float(min(p_values)))


def normal_p_value(draws: ArrayLike, scale: float) -> float:
    """Are the coordinates independent normal numbers?  Each alone, and the squared radius."""
    points = _points(draws) / scale
    squares = np.sum(points**2, axis=1)
    coordinates = stats.kstest(points.ravel(), stats.norm.cdf).pvalue
    radius = stats.kstest(squares, stats.chi2(points.shape[1]).cdf).pvalue
    return min(1.0, 2 * float(min(coordinates, radius)))


def l1_laplace_p_value(draws: ArrayLike, scale: float) -> float:
    """Are the coordinates independent Laplace numbers?  Each alone, and the L1 radius."""
    points = _points(draws) / scale
    sums = np.sum(np.abs(points), axis=1)
    coordinates = stats.kstest(points.ravel(), stats.laplace.cdf).pvalue
    radius = stats.kstest(sums, stats.gamma(points.shape[1]).cdf).pvalue
    return min(1.0, 2 * float(min(coordinates, radius)))


def lattice_masses(dimension: int, scale: Fraction, reach: int) -> dict[tuple[int, ...], float]:
    """P(k) for |k_i| <= reach, normalised over |k_i| <= reach + 40 scales."""
    wide = reach + int(40 * scale)
    axes = np.meshgrid(*[np.arange(-wide, wide + 1)] * dimension, indexing="ij")
    total = np.exp(-np.sqrt(sum(axis.astype(float) ** 2 for axis in axes)) / float(scale)).sum()
    box = itertools.product(range(-reach, reach + 1), repeat=dimension)
    return {k: float(np.exp(-np.linalg.norm(k) / float(scale)) / total) for k in box}


def lattice_p_value(draws: ArrayLike, scale: Fraction, reach: int) -> float:
    """Chi-square test of every lattice point within reach, and one cell for the rest."""
    points = np.asarray(draws, dtype=np.int64)
    masses = lattice_masses(points.shape[1], scale, reach)
    cells, counts = np.unique(points, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, cells.tolist()), counts.tolist(), strict=True))
    observed = [seen.get(point, 0) for point in masses]
    expected = np.array([*masses.values(), 1 - sum(masses.values())]) * len(points)
    rest = len(points) - sum(observed)
    return float(stats.chisquare([*observed, rest], expected).pvalue)


def _points(draws: ArrayLike) -> Array:
    return np.asarray(draws, dtype=np.float64)


@dataclass(frozen=True)
class Sample:
    """Draws, one a row, and the scale they are said to have."""

    name: str
    draws: Array
    scale: float
    p_value: Callable[[Array, float], float]


CONTROLS = (0.8, 1.2)
FEWEST_ROWS = 500
LONG = 6
"""Vectors of so many numbers are not alike by chance."""
FEW_STEPS = 16
"""Up to this scale Laplace noise is tested integer by integer: a continuous law is too far away."""


def judge(sample: Sample) -> Finding:
    """Accepted at the claimed scale, rejected at 0.8 and 1.2 times."""
    found = sample.p_value(sample.draws, sample.scale)
    controls = [sample.p_value(sample.draws, sample.scale * factor) for factor in CONTROLS]
    count, dimension = sample.draws.shape
    return judged(
        "law",
        f"{sample.name}, d = {dimension}",
        f"scale {sample.scale:.4g}",
        f"p = {found:.2g}; controls {max(controls):.1g}",
        sound=found > FALSE_ALARM and max(controls) < FALSE_ALARM,
        note=f"{count} draws with system entropy; scales 20% off are rejected",
        numbers={"p_value": found, "control": max(controls), "draws": float(count)},
    )


def rows_of(count: int, dimension: int) -> int:
    """A wide vector shows its scale in fewer rows."""
    if dimension <= 5:
        return count if dimension == 1 else count // 2
    return max(FEWEST_ROWS, 2 * count // dimension)


def asked_of(calls: Sequence[Call], count: int) -> list[Finding]:
    """The source's law at one request of every law and dimension that is among the calls."""
    laws = {CONTINUOUS, GAUSSIAN, L1, LATTICE}
    kinds = {(call.law, call.dimension): call for call in calls if call.law in laws}
    return [*(judge(_drawn(call, count)) for call in kinds.values()), _independent(calls)]


def _independent(calls: Sequence[Call]) -> Finding:
    """No two requests to one source of the system have the same noise."""
    noise, drawn = SystemNoise(), []
    for call in calls:
        if call.law in {GAUSSIAN, L1} and call.dimension >= LONG:
            zeros = [0] * call.dimension
            law = noise.discrete_gaussian if call.law == GAUSSIAN else noise.l1_laplace
            drawn += [list(law(zeros, call.scale)) for _ in range(2)]
        elif call.law == LATTICE and call.dimension >= LONG:
            drawn += [list(noise.lattice_laplace(call.dimension, call.scale)) for _ in range(2)]
    same = sum(one == other for one, other in itertools.combinations(drawn, 2))
    return judged(
        "law",
        "requests to one source",
        "no two alike",
        f"{same} pairs alike",
        sound=same == 0,
        note=f"{len(drawn)} vectors of noise with system entropy",
    )


def _drawn(call: Call, count: int) -> Sample:
    """Draws of the system's source under a law that was asked for."""
    noise = SystemNoise()
    rows = rows_of(count, call.dimension)
    size, zeros = (rows, call.dimension), np.zeros(rows * call.dimension, dtype=np.int64)
    if call.law == GAUSSIAN:
        drawn = noise.discrete_gaussian(zeros, call.scale).astype(float).reshape(size)
        return Sample("discrete Gaussian", drawn, float(call.scale), _spread_normal)
    if call.law == L1:
        drawn = noise.l1_laplace(zeros, call.scale).astype(float).reshape(size)
        test = _spread_laplace if call.scale > FEW_STEPS else _few_steps
        return Sample("discrete Laplace", drawn, float(call.scale), test)
    if call.law == LATTICE:
        steps = [noise.lattice_laplace(call.dimension, call.scale) for _ in range(rows)]
        return Sample("lattice Laplace", np.array(steps, float), float(call.scale), sphere)
    tilts = [noise.continuous_laplace(call.dimension, call.scale).vector for _ in range(rows)]
    return Sample("tilt", np.array(tilts), float(call.scale), sphere)


def sphere(draws: Array, scale: float) -> float:
    """Radius and direction."""
    return min(1.0, 2.0 * min(radius_p_value(draws, scale), direction_p_value(draws)))


def _few_steps(draws: Array, scale: float) -> float:
    """Every integer within three scales by its own probability."""
    return lattice_p_value(draws.reshape(-1, 1), Fraction(scale), math.ceil(3 * scale))


def _spread_laplace(draws: Array, scale: float) -> float:
    return l1_laplace_p_value(_spread(draws), scale)


def _spread_normal(draws: Array, scale: float) -> float:
    return normal_p_value(_spread(draws), scale)


def _spread(draws: Array) -> Array:
    """Integers spread over their cells by uniform numbers.

    Noise of counts is a few dozen steps wide: a continuous law's test would see the steps. The
    variance grows by 1/12, far below what the test can tell.
    """
    return draws + np.random.default_rng(5).uniform(-0.5, 0.5, draws.shape)


# --------------------------------------------------------------------- outcomes of neighbours

TAILS = np.linspace(0.02, 0.98, 49)
LOW_BITS = 8
FINEST_GRID = -60


class HalfLine(NamedTuple):
    """Outcomes on one side of a cut, as likely as possible under the one or the other table."""

    cut: float
    side: int
    swapped: bool


def shown(
    family: str, check: str, sides: tuple[Array, Array], claim: Guarantee, note: str
) -> Finding:
    """The bound against the claim; too few outcomes to contradict the claim are no check.

    Half-lines S are chosen on a third of the outcomes; on the rest  log (low(P(S)) - delta) / high(P'(S))
    with Clopper and Pearson's bounds is above the true epsilon with probability at most 1e-6.
    """
    runs = len(sides[0]) - len(sides[0]) // 3
    most = _bound(runs, 0, runs, claim.delta)
    if most <= claim.epsilon:
        return not_applicable(family, check, f"{note}: too few to show more than {most:.2g}")
    found = shown_epsilon(*sides, claim.delta)
    return judged(
        family,
        check,
        f"at most {claim.epsilon:g}",
        f"{found:.3g}",
        sound=found <= claim.epsilon,
        note=f"{note}; could show {most:.2g}, false alarm 1e-6",
        numbers={"claimed": claim.epsilon, "measured": found, "could_show": most},
    )


def shown_epsilon(first: Array, second: Array, delta: float = 0.0) -> float:
    """The lower confidence bound; it is not above the true epsilon but with chance 1e-6."""
    third = len(first) // 3
    chosen = _choose(first[:third], second[:third], len(first) - third)
    one, other = (second, first) if chosen.swapped else (first, second)
    hits, others = (_hits(side[third:], chosen) for side in (one, other))
    return _bound(hits, others, len(first) - third, delta)


def _choose(first: Array, second: Array, runs: int) -> HalfLine:
    """The half-line whose bound would be best, were the rest of the fits like these."""
    cuts = np.quantile(np.concatenate([first, second]), TAILS)
    lines = [
        HalfLine(float(cut), side, swapped)
        for cut in cuts for side in (1, -1) for swapped in (False, True)
    ]  # fmt: skip
    scale = runs / len(first)

    def promise(line: HalfLine) -> float:
        one, other = (second, first) if line.swapped else (first, second)
        return _bound(round(scale * _hits(one, line)), round(scale * _hits(other, line)), runs, 0.0)

    return max(lines, key=promise)


def _hits(outcomes: Array, line: HalfLine) -> int:
    return int(np.count_nonzero(line.side * outcomes > line.side * line.cut))


def _bound(hits: int, others: int, runs: int, delta: float) -> float:
    """log (low - delta) / high, each bound at half the false-alarm rate."""
    level = FALSE_ALARM / 2
    low = float(stats.beta.ppf(level, hits, runs - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - level, others + 1, runs - others)) if others < runs else 1.0
    return max(math.log((low - delta) / high), 0.0) if low > delta else 0.0


def seen_through(sides: tuple[list[Draw], list[Draw]], plan: Plan) -> list[Finding]:
    """Numbers off the grid, what the last bits show, and the control."""
    count = len(sides[0])
    off = sum(_off_grid(draw, plan) for side in sides for draw in side)
    first, second = (np.array([_low_bits(draw) for draw in side]) for side in sides)
    note = f"{2 * count} draws with system entropy, two neighbours"
    return [
        judged(
            "low bits",
            "numbers off the grid",
            "0",
            f"{off}",
            sound=off == 0,
            note=note,
            numbers={"hits": float(off), "draws": 2.0 * count},
        ),
        shown("low bits", "epsilon in the last bits", (first, second), plan.guarantee, note),
        _control(count, plan),
    ]


def _off_grid(draw: Draw, plan: Plan) -> int:
    """How many numbers of a release are no multiples of the grid that the plan declared."""
    steps = np.ldexp(draw.point, -plan.grid_exponent)
    wrong_grid = draw.grid_exponent != plan.grid_exponent or plan.grid_exponent < FINEST_GRID
    return draw.point.size if wrong_grid else int(np.count_nonzero(steps != np.rint(steps)))


def _low_bits(draw: Draw) -> float:
    """The last bits of the first number, as a number."""
    return float(int(np.ldexp(draw.point[0], -draw.grid_exponent)) % 2**LOW_BITS)


def _control(count: int, plan: Plan) -> Finding:
    """Ordinary floating-point Laplace noise: nearly every number is off the grid."""
    random = np.random.default_rng(3)
    noisy = 1.0 / 3.0 + random.laplace(0.0, 1.0, count)
    steps = np.ldexp(noisy, -min(plan.grid_exponent, -20))
    caught = int(np.count_nonzero(steps != np.rint(steps)))
    return judged(
        "low bits",
        "control: floating-point noise",
        "caught",
        f"{caught} of {count} caught",
        sound=caught > 0.5 * count,
        note="the same test on noise that is not on the grid",
        numbers={"caught": caught / count},
    )

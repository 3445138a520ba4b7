"""Instruments that the audits of all mechanisms share.

    KnownNoise    noise with a record: zero, a fixed shift or from a seed, or the outcomes of an
                  earlier record, whatever the sums are now
    SitesNoise    the same of several sites, each of which draws its share
    judge         draws and the law that they are said to follow: Kolmogorov-Smirnov, with controls
    shown         a lower bound on epsilon from outcomes alone

Draws are the rows of a matrix of integers or floats, scales in the same units. Away from
`lattice_p_value` the grid must be much finer than the scale, so that the law is as good as
continuous for the number of draws at hand.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from discreet.audit.findings import FALSE_ALARM, Finding, at_most, judged, not_applicable
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
        """The integers that the source returned."""
        return [value + noise for value, noise in zip(self.values, self.noise, strict=True)]

    @property
    def shape(self) -> tuple[str, int, Fraction]:
        """The parts that must not depend on the data."""
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
    """A tilt of `tilt` scales along the diagonal, and noise of `shift` steps in a coordinate.

    With a seed all noise is drawn from it. Where a request is as long as that at the same place of
    the record `before`, its outcome is the one of that record.
    """

    private: ClassVar[bool] = False
    tilt: float = 0.0
    shift: int = 0
    seed: int | None = None
    before: Sequence[Call] = ()
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the source of what is drawn."""
        self._source = None if self.seed is None else SeededNoise(self.seed)

    @property
    def trace(self) -> list[tuple[str, int, Fraction]]:
        """The requests in order, without values."""
        return [call.shape for call in self.calls]

    def scales(self, law: str) -> list[Fraction]:
        """The scales asked for under one law."""
        return [call.scale for call in self.calls if call.law == law]

    def uniform_bits(self, count: int) -> int:
        """Zeros, or bits of the seed."""
        self.calls.append(Call(BITS, count, Fraction(1)))
        return 0 if self._source is None else self._source.uniform_bits(count)

    def discrete_gaussian(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """The values with noise."""
        return self._added(GAUSSIAN, values, scale)

    def l1_laplace(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """The values with noise."""
        return self._added(L1, values, scale)

    def lattice_laplace(self, dimension: int, scale: float | Fraction) -> IntegerVector:
        """Noise that notes what it is added to."""
        call = self._next(LATTICE, dimension, scale)
        forced, noted = self._forced(call), [NotedInteger(value) for value in call.noise]
        for place, item in enumerate(noted):
            item.call, item.forced = call, None if forced is None else forced[place]
        return integer_vector(list(noted))

    def continuous_laplace(self, dimension: int, scale: float | Fraction) -> ContinuousDraw:
        """The tilt."""
        self.calls.append(Call(CONTINUOUS, dimension, Fraction(scale)))
        if self._source is not None:
            return self._source.continuous_laplace(dimension, scale)
        size = self.tilt * float(scale) / math.sqrt(dimension)
        return ContinuousDraw(np.full(dimension, size), 0.0)

    def _added(self, law: str, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        integers = [int(value) for value in np.atleast_1d(np.asarray(values, dtype=object))]
        call = self._next(law, len(integers), scale)
        call.values = integers
        return integer_vector(self._forced(call) or call.outcome)

    def _next(self, law: str, dimension: int, scale: float | Fraction) -> Call:
        """Another request, with its noise."""
        self.calls.append(Call(law, dimension, Fraction(scale)))
        if self._source is None:
            drawn: Sequence[int] | IntegerVector = [self.shift] * dimension
        elif law == LATTICE:
            drawn = self._source.lattice_laplace(dimension, scale)
        else:
            source, zeros = self._source, [0] * dimension
            add = source.discrete_gaussian if law == GAUSSIAN else source.l1_laplace
            drawn = add(zeros, scale)
        self.calls[-1].noise = [int(value) for value in drawn]
        return self.calls[-1]

    def _forced(self, call: Call) -> list[int] | None:
        place = len(self.calls) - 1
        known = place < len(self.before) and self.before[place].dimension == call.dimension
        return self.before[place].outcome if known else None


class SitesNoise(KnownNoise):
    """The noise of several sites: the record has the scale of the shares that the claim counts."""

    def __init__(self, shares: NoiseShares, seed: int, before: Sequence[Call] = ()) -> None:
        super().__init__(seed=seed, before=before)
        self._shares = shares
        self._sources = [KnownNoise(seed=1000 * seed + site) for site in range(shares.sites)]
        self._masked: list[list[int]] = []
        self._sites = [SimulatedShares(shares, one, self._opened) for one in self._sources]

    def _opened(self, masked: list[int]) -> list[int]:
        self._masked.append(masked)
        return masked

    def discrete_gaussian(self, values: ArrayLike, scale: float | Fraction) -> IntegerVector:
        """The first site has the values, the others zeros; the sum of what all of them open."""
        integers = [int(value) for value in np.atleast_1d(np.asarray(values, dtype=object))]
        counted, self._masked = [], []
        for number, (site, source) in enumerate(zip(self._sites, self._sources, strict=True)):
            own, before = [0] * len(integers) if number else integers, len(source.calls)
            site.discrete_gaussian(own, scale)
            made = source.calls[before:]
            hidden = [a - b for a, b in zip(self._masked[-1], own, strict=True)]
            # a share counts once, and only where it is in what is opened
            alone = len(made) == 1 and made[0].noise == hidden
            counted.append(float(made[0].scale) if alone else 0.0)
        noisy = [sum(column) for column in zip(*self._masked, strict=True)]
        # the sites that collude know their own shares: what is left are the smallest of the others
        together = math.sqrt(sum(one**2 for one in sorted(counted)[: self._shares.honest]))
        noise = [a - b for a, b in zip(noisy, integers, strict=True)]
        self.calls.append(Call(GAUSSIAN, len(noisy), Fraction(together), integers, noise))
        return integer_vector(self._forced(self.calls[-1]) or noisy)


# --------------------------------------------------------------------- laws


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
    return _product_p_value(points, stats.norm, np.sum(points**2, axis=1), stats.chi2)


def l1_laplace_p_value(draws: ArrayLike, scale: float) -> float:
    """Are the coordinates independent Laplace numbers?  Each alone, and the L1 radius."""
    points = _points(draws) / scale
    return _product_p_value(points, stats.laplace, np.sum(np.abs(points), axis=1), stats.gamma)


def _product_p_value(points: Array, law: Any, radius: Array, of_radius: Any) -> float:
    coordinates = stats.kstest(points.ravel(), law.cdf).pvalue
    whole = stats.kstest(radius, of_radius(points.shape[1]).cdf).pvalue
    return min(1.0, 2 * float(min(coordinates, whole)))


def lattice_p_value(draws: ArrayLike, scale: Fraction, reach: int) -> float:
    """Chi-square test of every lattice point within reach, and one cell for the rest."""
    points = np.asarray(draws, dtype=np.int64)
    dimension, wide = points.shape[1], reach + int(40 * scale)
    # P(k) for |k_i| <= reach, normalised over |k_i| <= reach + 40 scales
    axes = np.meshgrid(*[np.arange(-wide, wide + 1)] * dimension, indexing="ij")
    total = np.exp(-np.sqrt(sum(axis.astype(float) ** 2 for axis in axes)) / float(scale)).sum()
    box = itertools.product(range(-reach, reach + 1), repeat=dimension)
    masses = {k: float(np.exp(-np.linalg.norm(k) / float(scale)) / total) for k in box}
    cells, counts = np.unique(points, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, cells.tolist()), counts.tolist(), strict=True))
    observed = [seen.get(point, 0) for point in masses]
    expected = np.array([*masses.values(), 1 - sum(masses.values())]) * len(points)
    rest = len(points) - sum(observed)
    return float(stats.chisquare([*observed, rest], expected).pvalue)


def apart_p_value(draws: ArrayLike) -> float:
    """Do numbers of one request, and of those that follow each other, have their own signs?  Coins."""
    signs = np.sign(_points(draws))
    p_values = [1.0]
    for one, other in ((signs[1:], signs[:-1]), (signs[:, 1:], signs[:, :-1])):
        alike = (one * other)[one * other != 0]
        if alike.size:
            heads = int(np.count_nonzero(alike > 0))
            p_values.append(float(stats.binomtest(heads, alike.size).pvalue))
    return min(1.0, 2 * min(p_values))


def low_bits_p_value(steps: ArrayLike, scale: float) -> float:
    """Are the last four bits of integers uniform?  A wide law does not see noise in multiples of some."""
    if scale < 1000 or np.any(np.rint(_points(steps)) != _points(steps)):
        return 1.0 if scale < 1000 else 0.0
    last = np.array([int(step) % 16 for step in np.ravel(steps)])
    return float(stats.chisquare(np.bincount(last, minlength=16)).pvalue)


def sphere(draws: Array, scale: float) -> float:
    """Radius and direction."""
    return min(1.0, 2.0 * min(radius_p_value(draws, scale), direction_p_value(draws)))


def _points(draws: ArrayLike) -> Array:
    return np.asarray(draws, dtype=np.float64)


CONTROLS = (0.8, 1.2)
FEWEST_ROWS = 500
TILT = "tilt"
"""The one law of real numbers; all others are of integers."""
COUNTS, FEW_STEPS = "counts", 16
"""Up to this scale Laplace noise is tested integer by integer: a continuous law is too far away."""


def judge(
    name: str, draws: Array, scale: float, p_value: Callable[[Array, float], float]
) -> Finding:
    """Accepted at the claimed scale, rejected at 0.8 and 1.2 times; places and last bits are coins."""
    bits = 1.0 if name == TILT else low_bits_p_value(draws, scale)
    found = min(1.0, 3 * min(p_value(draws, scale), apart_p_value(draws), bits))
    control = max(p_value(draws, scale * factor) for factor in CONTROLS)
    return judged(
        f"{name}, d = {draws.shape[1]}",
        f"scale {scale:.4g}",
        f"p = {found:.2g}; controls {control:.1g}",
        sound=found > FALSE_ALARM and control < FALSE_ALARM,
        note=f"{len(draws)} requests for noise of the system; scales 20% off are rejected",
        numbers={"p_value": found, "control": control},
    )


def rows_of(count: int, dimension: int) -> int:
    """A wide vector shows its scale in fewer rows."""
    if dimension <= 5:
        return count if dimension == 1 else count // 2
    return max(FEWEST_ROWS, 2 * count // dimension)


def asked_of(calls: Sequence[Call], count: int) -> list[Finding]:
    """The law of one source of the system at a request of every law and size among the calls."""
    names = {GAUSSIAN: "discrete Gaussian", L1: "discrete Laplace", LATTICE: "lattice Laplace"}
    kinds = {(call.law, call.dimension): call for call in calls if call.law != BITS}
    found, noise = [], SystemNoise()
    for (law, size), call in kinds.items():
        zeros, rows = [0] * size, range(rows_of(count, size))
        if law == CONTINUOUS:
            draws: list[Any] = [noise.continuous_laplace(size, call.scale).vector for _ in rows]
        elif law == LATTICE:
            draws = [noise.lattice_laplace(size, call.scale) for _ in rows]
        else:
            add = noise.discrete_gaussian if law == GAUSSIAN else noise.l1_laplace
            draws = [add(zeros, call.scale) for _ in rows]
        kind = COUNTS if law == L1 and call.scale <= FEW_STEPS else law
        test, scale = partial(_law_p_value, kind), float(call.scale)
        found.append(judge(names.get(law, TILT), _points(draws), scale, test))
    return found


def _law_p_value(law: str, draws: Array, scale: float) -> float:
    if law == COUNTS:  # every integer within three scales by its own probability
        return lattice_p_value(draws.reshape(-1, 1), Fraction(scale), math.ceil(3 * scale))
    if law in {LATTICE, CONTINUOUS}:
        return sphere(draws, scale)
    # A continuous law's test would see the steps of noise that is a few of them wide, so integers
    # are spread over their cells by uniform numbers. The variance grows by 1/12, which is a normal
    # law's again (Sheppard), and next to nothing for a wide one.
    spread = draws + np.random.default_rng(5).uniform(-0.5, 0.5, draws.shape)
    if law == L1:
        return l1_laplace_p_value(spread, scale)
    return normal_p_value(spread, math.sqrt(scale**2 + 1.0 / 12.0))


# --------------------------------------------------------------------- outcomes of neighbours

TAILS = np.linspace(0.02, 0.98, 49)


def shown(check: str, sides: tuple[Array, Array], claim: Guarantee, note: str) -> Finding:
    """The bound against the claim; too few outcomes to contradict the claim are no check.

    Half-lines S are chosen on a third of the outcomes; on the rest  log (low(P(S)) - delta) / high(P'(S))
    with Clopper and Pearson's bounds is above the true epsilon with probability at most 1e-6.
    """
    runs = len(sides[0]) - len(sides[0]) // 3
    most = _bound(runs, 0, runs, claim.delta)
    if most <= claim.epsilon:
        return not_applicable(check, f"{note}: too few to show more than {most:.2g}")
    found = shown_epsilon(*sides, claim.delta)
    return at_most(check, claim.epsilon, found, f"{note}; could show {most:.2g}, false alarm 1e-6")


def shown_epsilon(first: Array, second: Array, delta: float = 0.0) -> float:
    """The lower confidence bound; it is not above the true epsilon but with chance 1e-6."""
    third = len(first) // 3
    runs, cuts = len(first) - third, np.quantile([*first[:third], *second[:third]], TAILS)

    def hits(line: tuple[float, int, int], part: slice) -> list[int]:
        cut, side, order = line
        tables = (first[part], second[part])[::order]
        return [int(np.count_nonzero(side * x > side * cut)) for x in tables]

    def promise(line: tuple[float, int, int]) -> float:
        one, other = (round(runs / third * count) for count in hits(line, slice(third)))
        return _bound(one, other, runs, 0.0)

    # the side of a cut and the order of the tables whose bound would be best, were the rest like these
    chosen = max(itertools.product(cuts.tolist(), (1, -1), (1, -1)), key=promise)
    one, other = hits(chosen, slice(third, None))
    return _bound(one, other, runs, delta)


def _bound(hits: int, others: int, runs: int, delta: float) -> float:
    """log (low - delta) / high, each bound at half the false-alarm rate."""
    level = FALSE_ALARM / 2
    low = float(stats.beta.ppf(level, hits, runs - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - level, others + 1, runs - others)) if others < runs else 1.0
    return max(math.log((low - delta) / high), 0.0) if low > delta else 0.0

"""Bases for the baseline effect gamma(t) = alpha'A(t), time scaled to [0, 1].

A baseline is a public basis of e functions on [0, 1] whose span contains the constants. It declares
where it breaks, so that sums over time need a few nodes instead of every interval
(`likelihood.panels`); one that declares nothing is summed interval by interval.

References: Nguyen and Hui, section 3.2; Hastie, Tibshirani and Friedman (2009), section 5.2.1;
Singer and Willett (2003), section 12.1 (powers and the logarithm of time).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from discreet.errors import SettingsError
from discreet.types import Array

MOST_PARAMETERS = 1000
MOST_POWERS = 4
"""Limit on powers of the logarithm of time: more would bend in the first intervals, where there is no event."""
EARLIEST = 2.0**-40
"""Replaces time 0, which has no logarithm; interval 1 of any grid is later."""

Breaks = tuple[Fraction, ...]


class Baseline(ABC):
    """A public basis A(t) of e functions of time, the first of them 1 unless `constant` differs."""

    kind: ClassVar[str]
    degree: ClassVar[int] = 0

    @property
    @abstractmethod
    def dimension(self) -> int:
        """e, the number of functions."""

    @abstractmethod
    def evaluate(self, times: Array) -> Array:
        """A(t), one row per time.

        Parameters
        ----------
        times
            Fractions of the horizon, from 0 to 1.
        """

    @property
    def spelling(self) -> str:
        """The baseline as written on the command line."""
        return f"{self.kind}:{self.dimension}"

    @property
    def constant(self) -> Array:
        """v with v'A(t) = 1 for every t."""
        return np.eye(self.dimension)[0]

    @property
    def breaks(self) -> Breaks | None:
        """0 = t_0 < t_1 < ... < t_m = 1, exactly; None declares nothing.

        On every stretch (t_j, t_{j+1}] each function is a polynomial of at most `degree`, at most 3.
        """
        return None

    def basis(self, intervals: int) -> Array:
        """A_s = A(s/q) for s = 1 ... q.

        Parameters
        ----------
        intervals
            q, the number of intervals.
        """
        return self.evaluate(np.arange(1, intervals + 1) / intervals)


@dataclass(frozen=True)
class NaturalSpline(Baseline):
    """The paper's natural cubic spline with e equidistant knots 0 = k_1 < ... < k_e = 1.

    ``b_1 = 1, b_2 = t, b_{i+2} = d_i - d_{e-1}`` with
    ``d_j(t) = (max(t - k_j, 0)^3 - max(t - k_e, 0)^3) / (k_e - k_j)``.
    One knot is a constant, two are a straight line.

    Parameters
    ----------
    knots
        How many, from 1 to 1000; as many coefficients.

    Raises
    ------
    SettingsError
        ``knots`` is not such a number.

    Examples
    --------
    >>> NaturalSpline(3).spelling
    'natural-spline:3'
    """

    knots: int = 3
    kind: ClassVar[str] = "natural-spline"
    degree: ClassVar[int] = 3

    def __post_init__(self) -> None:
        _check_count(self.kind, "knots", self.knots)

    @property
    def dimension(self) -> int:
        """e, the number of knots."""
        return self.knots

    @property
    def breaks(self) -> Breaks:
        """The knots; of one or two, the whole of time."""
        return _equal_breaks(max(self.knots - 1, 1))

    def evaluate(self, times: Array) -> Array:
        """A(t), one row per time."""
        columns = [np.ones_like(times), times]
        if self.knots > 2:
            knots = np.linspace(0.0, 1.0, self.knots)
            last = np.maximum(times - 1.0, 0.0) ** 3
            cubes = [(np.maximum(times - k, 0.0) ** 3 - last) / (1.0 - k) for k in knots[:-1]]
            columns += [cube - cubes[-1] for cube in cubes[:-1]]
        return np.column_stack(columns[: self.knots])


@dataclass(frozen=True)
class PiecewiseConstant(Baseline):
    """K indicators of equal stretches of time: interval s lies in piece ceil(K s / q).

    Parameters
    ----------
    pieces
        How many, from 1 to 1000; as many coefficients.

    Raises
    ------
    SettingsError
        ``pieces`` is not such a number.

    Examples
    --------
    >>> PiecewiseConstant(12).spelling
    'piecewise-constant:12'
    """

    pieces: int
    kind: ClassVar[str] = "piecewise-constant"

    def __post_init__(self) -> None:
        _check_count(self.kind, "pieces", self.pieces)

    @property
    def dimension(self) -> int:
        """K, the number of pieces."""
        return self.pieces

    @property
    def constant(self) -> Array:
        """v with v'A(t) = 1 for every t."""
        return np.ones(self.pieces)

    @property
    def breaks(self) -> Breaks:
        """The ends of the pieces."""
        return _equal_breaks(self.pieces)

    def evaluate(self, times: Array) -> Array:
        """Indicators of ((j-1)/K, j/K], the first piece closed at 0."""
        piece = np.ceil(np.asarray(times) * self.pieces).astype(np.int64) - 1
        return np.eye(self.pieces)[np.clip(piece, 0, self.pieces - 1)]

    def basis(self, intervals: int) -> Array:
        """A_s in integer arithmetic, so that no interval slips into its neighbour's piece."""
        steps = np.arange(1, intervals + 1)
        return np.eye(self.pieces)[(self.pieces * steps + intervals - 1) // intervals - 1]


@dataclass(frozen=True)
class LogTime(Baseline):
    """Powers of the logarithm of time, ``b_i = (log t)^(i-1)``.

    Two are a hazard that goes with a power of time, e^(a + b log t) = e^a t^b, as the Weibull
    model's (with the cloglog link); three can rise and then fall, or fall and then rise.  No
    polynomial in t, so it is summed interval by interval.

    Parameters
    ----------
    powers
        How many, from 1 to 4; as many coefficients.

    Raises
    ------
    SettingsError
        ``powers`` is not such a number.

    Examples
    --------
    >>> LogTime(2).spelling
    'log-time:2'
    """

    powers: int = 2
    kind: ClassVar[str] = "log-time"

    def __post_init__(self) -> None:
        _check_count(self.kind, "powers", self.powers, MOST_POWERS)

    @property
    def dimension(self) -> int:
        """e, the number of powers."""
        return self.powers

    def evaluate(self, times: Array) -> Array:
        """A(t), one row per time. Time 0 counts as 2^-40."""
        return np.vander(np.log(np.maximum(times, EARLIEST)), self.powers, increasing=True)


SPANNED = 1e-6
"""A step is left out if its part outside the span of the functions is shorter than this share."""


@dataclass(frozen=True)
class Stepped(Baseline):
    """A baseline whose level may change where effects do: A(t), then 1{t > t_k} for later periods.

    The baseline is the main effect of time, and a product of a covariate with the periods needs the
    main effect of the periods too. Without the steps the hazard at a covariate's zero would be smooth
    and jump at every other value: the fit would depend on the zero of a number and on the reference
    level, and a test of equal effects would be one of the baseline's form. Steps that A spans on the
    grid are left out, such as those at the ends of its pieces.

    `ends` are the last intervals of the periods, without q; `steps` are those of which A has a step.
    """

    inner: Baseline
    intervals: int
    ends: tuple[int, ...]
    steps: tuple[int, ...]
    kind: ClassVar[str] = "stepped"

    @classmethod
    def of(cls, inner: Baseline, intervals: int, ends: tuple[int, ...]) -> "Stepped":
        """Return the baseline with the steps that it does not span, of q = `intervals`."""
        span, _ = np.linalg.qr(inner.basis(intervals))
        steps = []
        for end in ends:
            step = (np.arange(1, intervals + 1) > end).astype(np.float64)
            rest = step - span @ (span.T @ step)
            rest -= span @ (span.T @ rest)
            if np.linalg.norm(rest) > SPANNED * np.linalg.norm(step):
                span = np.column_stack([span, rest / np.linalg.norm(rest)])
                steps.append(end)
        return cls(inner, intervals, ends, tuple(steps))

    @property
    def degree(self) -> int:  # type: ignore[override]  # that of an instance
        """The degree of A."""
        return self.inner.degree

    @property
    def dimension(self) -> int:
        """e and the number of steps."""
        return self.inner.dimension + len(self.steps)

    @property
    def spelling(self) -> str:
        """The spelling of A: the steps follow from the schema."""
        return self.inner.spelling

    @property
    def constant(self) -> Array:
        """v with v'A(t) = 1 for every t."""
        return np.append(self.inner.constant, np.zeros(len(self.steps)))

    @property
    def breaks(self) -> Breaks | None:
        """The breaks of A, and the ends of the periods."""
        if self.inner.breaks is None:
            return None
        ends = (Fraction(end, self.intervals) for end in self.ends)
        return tuple(sorted({*self.inner.breaks, *ends}))

    @cached_property
    def levels(self) -> Array:
        """v_k with v_k'A_s = 1 in the intervals s of period k, and 0 in others; one row a period."""
        basis = self.basis(self.intervals)
        # w_k with w_k'A_s = 1 from period k on; 0 after the last
        begun = np.zeros((len(self.ends) + 2, self.dimension))
        begun[0] = self.constant
        for row, end in enumerate(self.ends, start=1):
            if end in self.steps:
                begun[row, self.inner.dimension + self.steps.index(end)] = 1.0
            else:
                step = (np.arange(1, self.intervals + 1) > end).astype(np.float64)
                begun[row] = np.linalg.lstsq(basis, step, rcond=None)[0]
        return begun[:-1] - begun[1:]

    def evaluate(self, times: Array) -> Array:
        """A(t) and the steps, one row per time."""
        steps = [np.asarray(times) > end / self.intervals for end in self.steps]
        return np.column_stack([self.inner.evaluate(times), *steps])

    def basis(self, intervals: int) -> Array:
        """A_s and the steps, for s = 1 ... q."""
        steps = [np.arange(1, intervals + 1) > end for end in self.steps]
        return np.column_stack([self.inner.basis(intervals), *steps])


BASELINES: dict[str, Callable[[int], Baseline]] = {
    NaturalSpline.kind: NaturalSpline,
    PiecewiseConstant.kind: PiecewiseConstant,
    LogTime.kind: LogTime,
}
"""By the first word of their spelling; called with the number after it."""


def parse_baseline(spelling: str | Baseline) -> Baseline:
    """Return the baseline of a spelling such as ``natural-spline:3``; an object passes through."""
    if not isinstance(spelling, str):
        return spelling
    kind, _, count = spelling.partition(":")
    if kind in BASELINES and count.isdecimal():
        return BASELINES[kind](int(count))
    raise SettingsError(
        f"unknown baseline {spelling!r}: write natural-spline:KNOTS, piecewise-constant:PIECES "
        "or log-time:POWERS"
    )


@lru_cache(maxsize=64)
def _equal_breaks(stretches: int) -> Breaks:
    return tuple(Fraction(index, stretches) for index in range(stretches + 1))


def _check_count(kind: str, what: str, count: object, most: int = MOST_PARAMETERS) -> None:
    if type(count) is not int or not 1 <= count <= most:
        raise SettingsError(f"{kind}: {what} must be a whole number from 1 to {most}")

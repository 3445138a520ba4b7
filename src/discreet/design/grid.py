"""The public time grid, with comparisons that agree at its points in spite of rounding."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.text import with_unit
from discreet.types import Array

Counts = NDArray[np.int32]


@dataclass(frozen=True)
class TimeGrid:
    """Points zero = a_0 < ... < a_q = horizon; interval s is [a_{s-1}, a_s), the last one closed.

    Equal intervals unless ``first`` (growing by one factor r) or ``declared`` points are given, see
    `discreet.design.axis.TimeAxis`. All methods compare times with these floating-point numbers, so a
    time computed as ``s * horizon / intervals`` is a_s of an equal grid from 0 and lies in interval
    s + 1.  Times are not NaN, and before zero only if zero is not 0.
    """

    horizon: float
    intervals: int
    zero: float = 0.0
    first: float | None = None
    declared: tuple[float, ...] | None = None
    unit: str | None = None

    @property
    def horizon_words(self) -> str:
        """The horizon with its unit, if it has one: ``10 years``."""
        return with_unit(f"{self.horizon:g}", self.unit)

    @cached_property
    def edges(self) -> Array:
        """a_0, ..., a_q, with a_q the horizon itself."""
        if self.declared is not None:
            return np.array(self.declared, dtype=np.float64)
        length = self.horizon - self.zero
        steps = np.arange(self.intervals + 1, dtype=np.float64)
        if self.first is None:
            edges = self.zero + steps * length / self.intervals
        elif excess := _excess(self.intervals, self.first, length):
            widths = np.expm1(steps * math.log1p(excess))
            edges = self.zero + self.first * widths / excess
        else:
            edges = self.zero + steps * self.first
        edges[-1] = self.horizon
        return edges

    def begun(self, times: Array) -> Counts:
        """Count the points a_0, ..., a_{q-1} at or before each time: the intervals that have begun.

        This is the interval that contains a time in [zero, horizon], and q beyond.
        """
        return self._count(times, self.edges[:-1])

    def begun_before(self, times: Array) -> Counts:
        """Count the intervals that began strictly before each time."""
        begun = self.begun(times)
        begun -= self.edges[begun - 1] == times  # before zero: edges[-1], which is later
        return begun

    def ended(self, times: Array) -> Counts:
        """Count the points a_1, ..., a_q at or before each time: the intervals that have ended."""
        return self._count(times, self.edges[1:])

    def _count(self, times: Array, points: Array) -> Counts:
        """Number of points at or before each time."""
        if self.first is None and self.declared is None and self.zero == 0.0:
            padded = np.concatenate([[-np.inf], points, [np.inf]])
            within = np.clip(times, 0.0, self.horizon)
            shift = 1 if points[0] == 0.0 else 0
            guess = (within * (self.intervals / self.horizon)).astype(np.int32) + np.int32(shift)
            np.minimum(guess, len(points), out=guess)
            guess -= padded[guess] > within
            guess += padded[guess + 1] <= within
            return guess
        return np.searchsorted(points, times, side="right").astype(np.int32)


def _excess(intervals: int, first: float, length: float) -> float:
    """r - 1 >= 0 with first (r^q - 1) / (r - 1) = length, by bisection.

    The sum of widths grows with r; its last term alone, first r^(q-1), must not exceed the length,
    which bounds r from above.
    """
    if intervals == 1 or first * intervals >= length:
        return 0.0
    low, high = 0.0, math.expm1(math.log(length / first) / (intervals - 1))
    while low < (middle := low / 2 + high / 2) < high:
        reached = first * math.expm1(intervals * math.log1p(middle)) / middle
        low, high = (middle, high) if reached < length else (low, middle)
    return low

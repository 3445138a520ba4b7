"""The public time grid, with comparisons that agree at its points in spite of rounding."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.types import Array

Counts = NDArray[np.int32]


@dataclass(frozen=True)
class TimeGrid:
    """Points a_s = horizon * s / intervals; interval s is [a_{s-1}, a_s), the last one closed.

    Every question is a comparison with these floating-point numbers, so a time computed as
    ``s * horizon / intervals`` is a_s and lies in interval s + 1.  Times are neither
    negative nor NaN.
    """

    horizon: float
    intervals: int

    @cached_property
    def edges(self) -> Array:
        """a_0, ..., a_q, with a_q the horizon itself."""
        edges = np.arange(self.intervals + 1) * self.horizon / self.intervals
        edges[-1] = self.horizon
        return edges

    def begun(self, times: Array) -> Counts:
        """How many intervals have begun: the number of a_0, ..., a_{q-1} at or before the time.

        This is the interval that contains a time in [0, horizon], and q beyond.
        """
        return self._count(times, self.edges[:-1])

    def begun_before(self, times: Array) -> Counts:
        """How many intervals began strictly before the time."""
        begun = self.begun(times)
        begun -= self.edges[begun - 1] == times  # times are not negative, so one has begun
        return begun

    def ended(self, times: Array) -> Counts:
        """How many intervals have ended: the number of a_1, ..., a_q at or before the time."""
        return self._count(times, self.edges[1:])

    def _count(self, times: Array, points: Array) -> Counts:
        """Number of points at or before each time: a guess by division, put right by comparison.

        Division errs by a few units in the last place and neighbours are further apart than that,
        so the guess is wrong by one at most.
        """
        padded = np.concatenate([[-np.inf], points, [np.inf]])
        within = np.clip(times, 0.0, self.horizon)
        shift = 1 if points[0] == 0.0 else 0
        guess = (within * (self.intervals / self.horizon)).astype(np.int32) + np.int32(shift)
        np.minimum(guess, len(points), out=guess)
        guess -= padded[guess] > within
        guess += padded[guess + 1] <= within
        return guess

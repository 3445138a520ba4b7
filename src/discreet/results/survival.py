"""Hazard and survival curves of encoded covariates: S(u) = prod over intervals ended by u of 1 - h.

Everything is a function of c = beta'x alone, of one c for each period where effects change with time, so a
row costs one pass over the intervals; rows are taken in blocks to keep the memory flat.

With competing risks, h_r is the cause's own (conditional) hazard and o_r = h_r / (1 - h_r) its odds
against no event:

    P(none) = 1 / (1 + sum_k o_k),    P(cause r) = o_r / (1 + sum_k o_k)    in every interval,
    S(u) = prod P(none),    F_r(u) = sum over intervals ended by u of S before it x P(cause r).

With the logit link this is the multinomial logit; with the complementary log-log link it is
cause-specific proportional hazards in the limit of a fine grid.

Reference: Begg and Gray (1984); Tutz and Schmid (2016), chapter 8.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.design.design import Design
from discreet.design.grid import TimeGrid
from discreet.design.link import Link
from discreet.errors import SettingsError
from discreet.types import Array, Integers

Strata = NDArray[np.integer] | None

# Numbers held at a time: rows of a block times intervals.
BLOCK = 1 << 21


LARGEST_LOSS = 700.0
"""-log(1 - h) beyond which exp overflows: the event is certain."""


class SurvivalCurves(ABC):
    """S and what follows from -log S, for one event or several causes.

    ``stratum`` is the number of each row's stratum; the first where it is None.
    """

    grid: TimeGrid

    @abstractmethod
    def hazard(self, encoded: Array, times: ArrayLike, stratum: Strata = None) -> Array:
        """Return P(event | none before) in the interval that contains each time, (rows, times)."""

    @abstractmethod
    def risks(self, encoded: Array) -> Array:
        """Return a number for each period that grows with the hazards in it, (rows, K)."""

    @abstractmethod
    def losses(self, encoded: Array, needed: int, stratum: Strata = None) -> Array:
        """Return -log P(no event) of the first intervals, (rows, needed)."""

    def cumulative_hazard(self, encoded: Array, times: ArrayLike, stratum: Strata = None) -> Array:
        """-log S(u) = sum over intervals ended by u of -log P(no event), (rows, times)."""
        ended = self.grid.ended(self.checked_times(times))
        needed = int(ended.max(initial=0))
        result = np.zeros((len(encoded), len(ended)))
        for part, total in self._blocks(encoded, needed, stratum):
            result[part] = np.where(ended > 0, total[:, np.maximum(ended, 1) - 1], 0.0)
        return result

    def survival(self, encoded: Array, times: ArrayLike, stratum: Strata = None) -> Array:
        """S(u), right-continuous, (rows, times)."""
        return np.asarray(np.exp(-self.cumulative_hazard(encoded, times, stratum)))

    def quantile(self, encoded: Array, probabilities: ArrayLike, stratum: Strata = None) -> Array:
        """The first grid point u with S(u) <= 1 - p; infinite where the horizon comes first."""
        wanted = np.atleast_1d(np.asarray(probabilities, dtype=np.float64))
        if wanted.ndim != 1 or not np.all((wanted > 0) & (wanted < 1)):
            raise SettingsError("probabilities of quantiles must lie strictly between 0 and 1.")
        ends = np.append(self.grid.edges[1:], np.inf)
        result = np.empty((len(encoded), len(wanted)))
        for part, total in self._blocks(encoded, len(ends) - 1, stratum):
            for column, level in enumerate(-np.log1p(-wanted)):
                result[part, column] = ends[np.count_nonzero(total < level, axis=1)]
        return result

    def checked_times(self, times: ArrayLike) -> Array:
        """Times within the public axis; there is no model beyond the horizon."""
        try:
            wanted = np.atleast_1d(np.asarray(times, dtype=np.float64))
        except (TypeError, ValueError):
            raise SettingsError("times must be numbers.") from None
        zero, horizon = self.grid.zero, self.grid.horizon
        if wanted.ndim != 1 or not np.all((wanted >= zero) & (wanted <= horizon)):
            end = self.grid.horizon_words
            raise SettingsError(f"times must lie between {zero:g} and the horizon, {end}.")
        return wanted

    def _blocks(
        self, encoded: Array, needed: int, stratum: Strata
    ) -> Iterator[tuple[slice, Array]]:
        """Running sums of -log P(no event) over the first intervals, block of rows by block."""
        size = max(1, BLOCK // max(needed, 1))
        for start in range(0, len(encoded) if needed else 0, size):
            part = slice(start, start + size)
            losses = self.losses(encoded[part], needed, None if stratum is None else stratum[part])
            yield part, np.cumsum(losses, axis=1, out=losses)


@dataclass(frozen=True, eq=False)
class Curves(SurvivalCurves):
    """Curves of one event: a_s = alpha'B_s for every stratum and interval, beta of every period, link.

    ``period`` is that of every interval, a row of ``slopes``.
    """

    effects: Array
    slopes: Array
    period: Integers
    link: Link
    grid: TimeGrid

    @classmethod
    def of(cls, design: Design, link: Link, point: Array) -> Self:
        """The curves of internal coefficients f = (alpha, beta)."""
        time = design.time_dimension
        baselines = point[:time].reshape(design.strata, -1)
        grid = design.schema.time.grid
        # one product for each, so that a stratum's numbers do not depend on how many there are
        effects = np.array([design.basis @ alpha for alpha in baselines])
        slopes = point[time + design.periods.places]
        return cls(effects, slopes, design.periods.of_interval, link, grid)

    def hazard(self, encoded: Array, times: ArrayLike, stratum: Strata = None) -> Array:
        """h of the interval that contains each time, (rows, times)."""
        interval = self.grid.begun(self.checked_times(times)) - 1
        effects = self.effects[_numbers(stratum)][:, interval]
        return self.link.hazard(self.risks(encoded)[:, self.period[interval]] + effects)

    def risks(self, encoded: Array) -> Array:
        """beta'x of every period, (rows, K)."""
        # one product for each, so that a period's numbers do not depend on how many there are
        return np.column_stack([encoded @ own for own in self.slopes])

    def losses(self, encoded: Array, needed: int, stratum: Strata = None) -> Array:
        """-log(1 - h) of the first intervals, (rows, needed)."""
        own = self.risks(encoded)[:, self.period[:needed]]
        return self.link.survival_loss(own + self.effects[_numbers(stratum)][:, :needed])


@dataclass(frozen=True, eq=False)
class CausesCurves(SurvivalCurves):
    """Curves of competing risks, from the curves of each cause; there are no strata."""

    parts: tuple[Curves, ...]

    @property
    def grid(self) -> TimeGrid:  # type: ignore[override]  # a property where the parent has a field
        """The time grid, which all causes share."""
        return self.parts[0].grid

    def hazard(self, encoded: Array, times: ArrayLike, stratum: Strata = None) -> Array:
        """Return P(event of any cause | none before) in the interval of each time, (rows, times)."""
        interval = self.grid.begun(self.checked_times(times)) - 1
        return -np.expm1(-self.losses(encoded, len(self.grid.edges) - 1, stratum)[:, interval])

    def risks(self, encoded: Array) -> Array:
        """Return log of the cumulative hazard within every period, (rows, K)."""
        period = self.parts[0].period
        ends = np.flatnonzero(np.diff(period, prepend=-1, append=period[-1] + 1))
        losses = self.losses(encoded, len(period))
        return np.column_stack([np.log(losses[:, a:b].sum(axis=1)) for a, b in pairwise(ends)])

    def incidence(self, encoded: Array, cause: int, times: ArrayLike) -> Array:
        """F_r(u): the probability of an event of the cause by each time, (rows, times)."""
        ended = self.grid.ended(self.checked_times(times))
        intervals = len(self.grid.edges) - 1
        result = np.zeros((len(encoded), len(ended)))
        for part, total in self._blocks(encoded, intervals, None):
            # S after the interval is S before it times P(none), so S before x P(r) = S after x o_r
            found = np.cumsum(np.exp(-total) * self.odds(encoded[part], cause), axis=1)
            result[part] = np.where(ended > 0, found[:, np.maximum(ended, 1) - 1], 0.0)
        return result

    def odds(self, encoded: Array, cause: int, needed: int | None = None) -> Array:
        """o_r of a cause, (rows, intervals)."""
        part = self.parts[cause]
        losses = part.losses(encoded, len(part.period) if needed is None else needed)
        return np.asarray(np.expm1(np.minimum(losses, LARGEST_LOSS)))

    def losses(self, encoded: Array, needed: int, stratum: Strata = None) -> Array:  # noqa: ARG002
        """log(1 + sum of o_r) of the first intervals, (rows, needed)."""
        odds = (self.odds(encoded, cause, needed) for cause in range(len(self.parts)))
        return np.asarray(np.log1p(sum(odds)))


def _numbers(stratum: Strata) -> NDArray[np.integer]:
    return np.zeros(1, dtype=np.int16) if stratum is None else stratum

"""Hazard and survival curves of encoded covariates: S(u) = prod over intervals ended by u of 1 - h.

Everything is a function of c = beta'x alone, of one c for each period where effects change with time, so a
row costs one pass over the intervals; rows are taken in blocks to keep the memory flat.
"""

from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class Curves:
    """a_s = alpha'B_s for every stratum and interval, beta of every period, and the link.

    ``stratum`` is the number of each row's stratum; the first where it is None. ``period`` is that of
    every interval, a row of ``slopes``.
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
        grid = TimeGrid.of(design.schema.time)
        # one product for each, so that a stratum's numbers do not depend on how many there are
        effects = np.array([design.basis @ alpha for alpha in baselines])
        slopes = point[time + design.periods.places]
        return cls(effects, slopes, design.periods.of_interval, link, grid)

    def hazard(self, encoded: Array, times: ArrayLike, stratum: Strata = None) -> Array:
        """h of the interval that contains each time, (rows, times)."""
        interval = self.grid.begun(self.checked_times(times)) - 1
        effects = self.effects[_numbers(stratum)][:, interval]
        return self.link.hazard(self.positions(encoded)[:, self.period[interval]] + effects)

    def cumulative_hazard(self, encoded: Array, times: ArrayLike, stratum: Strata = None) -> Array:
        """-log S(u) = sum over intervals ended by u of -log(1 - h), (rows, times)."""
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
        for part, total in self._blocks(encoded, self.effects.shape[1], stratum):
            for column, level in enumerate(-np.log1p(-wanted)):
                result[part, column] = ends[np.count_nonzero(total < level, axis=1)]
        return result

    def positions(self, encoded: Array) -> Array:
        """beta'x of every period, (rows, K)."""
        # one product for each, so that a period's numbers do not depend on how many there are
        return np.column_stack([encoded @ own for own in self.slopes])

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
        """Running sums of -log(1 - h) over the first intervals, block of rows by block."""
        size = max(1, BLOCK // max(needed, 1))
        positions, numbers = self.positions(encoded), _numbers(stratum)
        for start in range(0, len(positions) if needed else 0, size):
            part = slice(start, start + size)
            here = numbers if stratum is None else numbers[part]
            own = positions[part][:, self.period[:needed]]
            losses = self.link.survival_loss(own + self.effects[here][:, :needed])
            yield part, np.cumsum(losses, axis=1, out=losses)


def _numbers(stratum: Strata) -> NDArray[np.integer]:
    return np.zeros(1, dtype=np.int16) if stratum is None else stratum

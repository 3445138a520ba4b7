"""The model against the private life table: events that it expects, and events that were released.

Both are computed from released numbers: the counts of exits with their noise, and the model's hazard
averaged over the people that the released counts describe. So the comparison costs no budget.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet.errors import ArtefactError
from discreet.results.life_table import LifeTable
from discreet.results.normal import normal_quantile
from discreet.types import Array


@dataclass(frozen=True, eq=False)
class Calibration:
    """One entry per stretch of the life table.

    Parameters
    ----------
    table : LifeTable
        The released life table.
    observed : array
        Released events, noise included; they may be negative.
    expected : array
        The model's events among those at risk.
    deviation : array
        Standard deviation of the privacy noise of a released count.
    """

    table: LifeTable
    observed: Array
    expected: Array
    deviation: Array

    @classmethod
    def of(cls, rows: Array, table: LifeTable) -> Self:
        """From rows (first interval, last interval, observed, expected, deviation)."""
        if rows.shape != (len(table.time), 5) or not np.all(np.isfinite(rows)):
            raise ArtefactError("the calibration has not one row of five numbers for each stretch.")
        return cls(table, rows[:, 2], rows[:, 3], np.abs(rows[:, 4]))

    @property
    def edges(self) -> Array:
        """Where the stretches begin and end."""
        return np.concatenate([[self.table.zero], self.table.time])

    @property
    def widths(self) -> Array:
        """Their lengths."""
        return np.diff(self.edges)

    @property
    def spread(self) -> Array:
        """Standard deviation of observed - expected were the model right: noise and chance."""
        return np.asarray(np.sqrt(self.deviation**2 + np.maximum(self.expected, 1.0)))

    @property
    def supported(self) -> int:
        """Number of first stretches that begin with more people at risk than two deviations of their noise.

        Those at risk are what all earlier counts leave over, of two outcomes each.
        """
        earlier = 2.0 * np.arange(len(self.deviation))
        clear = self.table.at_risk > 2.0 * self.deviation * np.sqrt(earlier)
        return len(clear) if clear.all() else int(np.argmin(clear))

    @property
    def survival(self) -> Array:
        """The model's survival of all persons together, at the ends of the stretches."""
        return self.table.survival_with(self.expected)

    def band(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Around the life table's survival: privacy noise and sampling (Greenwood), pointwise."""
        exposed, events = self.table.exposed, self.table.events
        chance = events / np.maximum(exposed * (exposed - events), 1.0)
        variance = np.cumsum(chance + (self.deviation / exposed) ** 2)
        margin = normal_quantile(confidence) * np.sqrt(variance)
        with np.errstate(over="ignore"):
            factor = np.exp(margin)
        return self.table.survival / factor, np.minimum(self.table.survival * factor, 1.0)

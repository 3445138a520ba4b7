"""The released life table: survival of all persons together from private counts of exits.

A mechanism may release, for consecutive stretches of intervals, how many people left by censoring
and by an event (and how many entered late), with noise. Everything here is post-processing:
counts below 0 are raised to 0, no person is at risk twice, and

    at risk R_b = present before b,   hazard e_b / (R_b - c_b / 2),   S = prod (1 - hazard)

is the actuarial life table.

Reference: Kalbfleisch and Prentice (2002), section 1.4.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from discreet.errors import ArtefactError
from discreet.results.normal import normal_quantile
from discreet.results.tables import Tabular
from discreet.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


EARLY = 3.0
"""Events come early where half of them come before this part of the time axis."""


@dataclass(frozen=True, eq=False)
class LifeTable(Tabular):
    """One entry a stretch of time, which ends at ``time``."""

    time: Array
    at_risk: Array
    censored: Array
    events: Array
    zero: float = 0.0
    label: str = "time"

    @classmethod
    def of(cls, rows: Array, persons: int, edges: Array, label: str = "time") -> Self:
        """From rows (first interval, last interval, censored, events[, entered]) on a grid."""
        if rows.ndim != 2 or rows.shape[1] not in {4, 5}:
            raise ArtefactError("the life table has rows of four or five numbers.")
        last = rows[:, 1]
        if not np.all((last == np.rint(last)) & (last >= 1) & (last < len(edges))):
            raise ArtefactError("a row of the life table ends at no interval of the time axis.")
        counts = np.maximum(rows[:, 2:], 0.0)
        censored, events = counts[:, 0], counts[:, 1]
        present = np.full(len(rows), float(persons))
        if rows.shape[1] == 5:  # those who entered late were not there from the start
            present += np.cumsum(counts[:, 2]) - counts[:, 2].sum()
        gone = np.concatenate([[0.0], np.cumsum(censored + events)[:-1]])
        at_risk = np.maximum(present - gone, 0.0)
        time = edges[last.astype(np.int64)]
        return cls(time, at_risk, censored, events, float(edges[0]), label)

    @property
    def exposed(self) -> Array:
        """People exposed in each stretch: who is censored within it misses half of it on average."""
        return np.asarray(np.maximum(self.at_risk - 0.5 * self.censored, 1.0))

    @cached_property
    def survival(self) -> Array:
        """S at the end of each stretch."""
        return self.survival_with(self.events)

    def survival_with(self, events: Array) -> Array:
        """S at the end of each stretch, had the same people these events."""
        hazard = np.clip(events / self.exposed, 0.0, 1.0)
        return np.asarray(np.cumprod(1.0 - hazard), dtype=np.float64)

    @property
    def half_time(self) -> float:
        """The time by which half of the released events have happened, by linear interpolation."""
        reached = np.concatenate([[0.0], np.cumsum(self.events)])
        times = np.concatenate([[self.zero], self.time])
        return float(np.interp(0.5 * reached[-1], reached, times))

    def proposed_first(self, intervals: int) -> float | None:
        """The first of this many growing intervals that puts half of the events into each half of them.

        With factor r the middle of the grid is at 1/(r^(q/2) + 1) of its length; None where half of
        the events come late enough for equal intervals. Rounded down to two digits.
        """
        length, half = float(self.time[-1]) - self.zero, self.half_time - self.zero
        if not 0 < half < length / EARLY:
            return None
        factor = (length / half - 1.0) ** (2.0 / intervals)
        first = length * (factor - 1.0) / (factor**intervals - 1.0)
        unit = 10.0 ** (math.floor(math.log10(first)) - 1)
        return float(f"{math.floor(first / unit) * unit:.6g}")

    def columns(self) -> dict[str, list[float]]:
        """Columns by name, with the start of time in front."""
        return {
            "time": [self.zero, *self.time.tolist()],
            "survival": [1.0, *self.survival.tolist()],
            "at_risk": [
                float(self.at_risk[0]) if len(self.at_risk) else 0.0,
                *self.at_risk.tolist(),
            ],
        }

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """The survival curve of all persons, with numbers at risk under it; on new axes if none."""
        from discreet.plots import Figure, life_table  # noqa: PLC0415 - matplotlib is slow to load

        if axes is None:
            axes = Figure(figsize=(6.0, 4.2), layout="constrained").subplots()
        return life_table(self, axes)


@dataclass(frozen=True, eq=False)
class Calibration:
    """The model against the life table: events that it expects, and events that were released.

    The model's are its hazard averaged over the people that the released counts describe, so the
    comparison costs no budget. Released events have noise of this standard deviation; they may be
    negative. There is one entry per stretch.
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

"""The released life table: survival of everybody together from private counts of exits.

A mechanism may release, for consecutive stretches of intervals, how many people left by censoring
and by an event (and how many entered late), with noise. Everything here is post-processing:
counts below 0 are raised to 0, nobody is at risk twice, and

    at risk R_b = present before b,   hazard e_b / (R_b - c_b / 2),   S = prod (1 - hazard)

is the actuarial life table.

Reference: Kalbfleisch and Prentice (2002), section 1.4.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet.errors import ArtefactError
from discreet.results.tables import Tabular
from discreet.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


EARLY = 3.0
"""Events come early where half of them come before this part of the time axis."""
COLOUR, INK = "#0072B2", "#333333"
COUNTS_SHOWN = 6
"""How many numbers at risk are written under the curve."""


@dataclass(frozen=True, eq=False)
class LifeTable(Tabular):
    """One entry a stretch of time, which ends at ``time``."""

    time: Array
    at_risk: Array
    censored: Array
    events: Array
    survival: Array
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
        exposed = np.maximum(at_risk - 0.5 * censored, 1.0)
        hazard = np.clip(events / exposed, 0.0, 1.0)
        time, survival = edges[last.astype(np.int64)], np.cumprod(1.0 - hazard)
        return cls(time, at_risk, censored, events, survival, float(edges[0]), label)

    @property
    def half_time(self) -> float:
        """The time by which half of the released events have happened, by linear interpolation."""
        reached = np.concatenate([[0.0], np.cumsum(self.events)])
        times = np.concatenate([[self.zero], self.time])
        return float(np.interp(0.5 * reached[-1], reached, times))

    def proposed_first(self, intervals: int) -> float | None:
        """The first of so many growing intervals that puts half of the events into each half of them.

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
        """The survival curve of everybody, with numbers at risk under it; on new axes if none."""
        if axes is None:
            from matplotlib.figure import Figure  # noqa: PLC0415 - a table alone needs no pictures

            axes = Figure(figsize=(6.0, 4.2), layout="constrained").subplots()
        columns = self.columns()
        axes.plot(
            columns["time"], columns["survival"], drawstyle="steps-post", color=COLOUR, lw=1.8
        )
        axes.set_xlim(self.zero, columns["time"][-1])
        axes.set_ylim(0.0, 1.02)
        axes.set_title("Life table", loc="left", fontsize="medium", fontweight="bold", color=INK)
        axes.set_ylabel("share without an event so far")
        axes.set_xlabel(self.label)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#DDDDDD", linewidth=0.6)
        self._write_counts(axes)
        return axes

    def _write_counts(self, axes: "Axes") -> None:
        """Numbers at risk, from released counts, at the starts of a few stretches."""
        starts = np.concatenate([[self.zero], self.time[:-1]])
        chosen = np.unique(np.linspace(0, len(starts) - 1, COUNTS_SHOWN).round().astype(int))
        place: Any = axes.get_xaxis_transform()
        style = {"transform": place, "fontsize": "small", "color": "#666666", "va": "bottom"}
        for index in chosen:
            side = "left" if index == 0 else "center"
            text = f"{self.at_risk[index]:.0f}"
            axes.text(starts[index], 0.02, f" {text}" if index == 0 else text, ha=side, **style)
        axes.text(self.zero, 0.08, " at risk", ha="left", **style)

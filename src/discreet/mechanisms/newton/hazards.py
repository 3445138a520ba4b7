"""The released exits as one life table: numbers at risk and events that could have been.

Exits of a bin are counts with noise, and late in time they are less than it. Made non-negative one by
one, they would keep the noise above zero and lose what is below: the numbers at risk, sums of the
exits that follow, would be too large, by half and more where few are left. So hazards are fitted, of
censoring and of each event, A_kr summed over bin k, by which people leave as

    exits_kr = (N_k + entries_k / 2) (1 - exp(-A_k)) A_kr / A_k,   A_k = sum over r of A_kr,
    N_{k+1} = N_k + entries_k - sum over r of exits_kr,

and whoever is left at the horizon is censored there: least squares in units of the noise, with log
hazards per interval that walk at random from bin to bin. Where noise is small the table is the released
one. Post-processing of released numbers.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from discreet.likelihood.jit import compiled
from discreet.types import Array, Integers

CENSORING_WALK, EVENT_WALK = 1.0, 0.7
"""Standard deviations of the change of a log hazard from bin to bin."""
AROUND = 3.0
"""Standard deviation of a log hazard around that of all time together."""
ROUNDS, SETTLED = 60, 1e-4
LONGEST, FIRM = 2.0, 1e6
"""A round moves a log hazard by at most so much; where it is held more firmly than that, it is the end."""
FARTHEST = 2.0
"""Standard deviations of the posterior beyond which no table is drawn."""
SHARPEST = 0.1
"""Noise of a tenth of a person is as good as none."""
LOWEST, HIGHEST = math.log(1e-7), 3.0
"""Log hazards per interval."""


def parts_of_bins(widths: Integers) -> Array:
    """How much of its bin has passed when an interval begins."""
    return _parts_of_bins(tuple(widths.tolist()))


@lru_cache(maxsize=16)
def _parts_of_bins(each: tuple[int, ...]) -> Array:
    """The same, kept: every life table of a run has the same bins."""
    widths = np.array(each)
    ends = np.cumsum(widths)
    found = np.asarray(
        (np.arange(ends[-1]) - np.repeat(ends - widths, widths)) / np.repeat(widths, widths)
    )
    found.setflags(write=False)
    return found


class LifeTable(NamedTuple):
    """By bin: who is at risk when it begins, exits (censored, events), and its summed hazard."""

    begun: Array
    exits: Array
    hazard: Array

    def by_interval(self, entries: Array, widths: Integers) -> Array:
        """People at risk in every interval: hazards are even within a bin, and so are late entries."""
        part = parts_of_bins(widths)
        begun, hazard = np.repeat(self.begun, widths), np.repeat(self.hazard, widths) * part
        late = np.repeat(np.concatenate([[0.0], entries[1:]]), widths) * part
        return np.asarray(begun * np.exp(-hazard) + late * np.exp(-hazard / 2.0))


class Exits(NamedTuple):
    """What is fitted: noisy exits (kinds, K), censored first; who enters, by bin; widths; noise.

    Whoever is there from the start, or enters in the first bin, is counted in the first.
    """

    counts: Array
    entries: Array
    widths: Array
    deviation: float

    def prior(self) -> tuple[Array, Array]:
        """Mean and precision of the log hazards: about those of all time together."""
        kinds, bins = self.counts.shape
        least = self.deviation * math.sqrt(bins)
        exposure = max(float(np.sum(np.cumsum(self.entries) * self.widths)) / 2.0, 1.0)
        level = np.log(np.maximum(self.counts.sum(axis=1), least) / exposure)
        step, precision = np.diff(np.eye(bins), axis=0), np.zeros((kinds, bins, kinds, bins))
        for kind in range(kinds):
            walk = EVENT_WALK if kind else CENSORING_WALK
            precision[kind, :, kind] = step.T @ step / walk**2 + np.eye(bins) / AROUND**2
        return np.repeat(level, bins), precision.reshape(kinds * bins, kinds * bins)


@dataclass(frozen=True, eq=False)
class Hazards:
    """Log hazards per interval by kind and bin, and their posterior precision."""

    exits: Exits
    logs: Array
    precision: Array

    def table(self, logs: Array | None = None) -> LifeTable:
        """The table of these hazards, or of others."""
        chosen = self.logs if logs is None else logs
        shape, widths = self.exits.counts.shape, self.exits.widths
        exits, _, begun = foreseen(chosen, self.exits.entries, widths)
        hazard = np.exp(chosen.reshape(shape)).sum(axis=0) * widths
        return LifeTable(begun, exits.reshape(shape), hazard)

    @cached_property
    def root(self) -> Array:
        """L with precision = L L'."""
        return np.asarray(np.linalg.cholesky(self.precision), dtype=np.float64)

    def another(self, random: np.random.Generator) -> LifeTable:
        """A table that could be the people's as well, drawn from the posterior."""
        return self.others(random, 1)[0]

    def others(self, random: np.random.Generator, count: int) -> list[LifeTable]:
        """So many of them."""
        drawn = np.clip(random.normal(size=(count, len(self.logs))), -FARTHEST, FARTHEST)
        moves = np.linalg.solve(self.root.T, drawn[:, :, None])[:, :, 0]
        return [self.table(logs) for logs in np.clip(self.logs + moves, LOWEST, HIGHEST)]


def fitted_hazards(exits: Exits) -> Hazards:
    """The largest posterior density: Gauss-Newton, held back where a step would not descend."""
    centre, precision = exits.prior()
    here, hold = _Round.at(centre, exits, centre, precision), 0.0
    for _ in range(ROUNDS):
        trial = _Round.at(here.moved(hold), exits, centre, precision)
        gain = here.loss - trial.loss
        if gain < 0.0:
            hold = 4.0 * hold + 1.0
        else:
            here, hold = trial, max(hold / 4.0 - 0.25, 0.0)
        if 0.0 <= gain < SETTLED or hold > FIRM:
            break
    return Hazards(exits, here.logs, here.curvature)


class _Round(NamedTuple):
    """The loss at some logs, half its derivative downhill, and its curvature."""

    logs: Array
    loss: float
    gradient: Array
    curvature: Array

    @classmethod
    def at(cls, logs: Array, exits: Exits, centre: Array, precision: Array) -> "_Round":
        found, slope, _ = foreseen(logs, exits.entries, exits.widths)
        left, away = (exits.counts.ravel() - found) / exits.deviation, logs - centre
        slope = slope / exits.deviation
        pull = precision @ away
        loss = float(left @ left + away @ pull)
        return cls(logs, loss, slope.T @ left - pull, slope.T @ slope + precision)

    def moved(self, hold: float) -> Array:
        """The next logs."""
        held = self.curvature.copy()
        held.flat[:: len(held) + 1] += hold * self.curvature.diagonal()
        move = np.linalg.solve(held, self.gradient)
        move = move * min(1.0, LONGEST / max(float(np.abs(move).max()), 1e-300))
        return np.asarray(np.minimum(np.maximum(self.logs + move, LOWEST), HIGHEST))


@compiled
def foreseen(logs: Array, entries: Array, widths: Array) -> tuple[Array, Array, Array]:
    """Exits by kind and bin, their slopes by the logs, and who is at risk as bins begin."""
    bins = len(widths)
    kinds = len(logs) // bins
    begun, found, hazards = np.zeros(bins), np.zeros(kinds * bins), np.zeros(kinds)
    slope, carried = np.zeros((kinds * bins, kinds * bins)), np.zeros(kinds * bins)
    left = entries[0]
    for k in range(bins):
        late = entries[k] if k > 0 else 0.0
        begun[k], exposed = left, left + late / 2.0
        for kind in range(kinds):
            hazards[kind] = math.exp(logs[kind * bins + k]) * widths[k]
        both = hazards.sum()
        ratio = -math.expm1(-both) / both  # the share who leave, over the hazard
        bend = (math.exp(-both) - ratio) / both
        left, kept = left + late, carried.copy()
        for kind in range(kinds):
            row = kind * bins + k
            found[row] = exposed * hazards[kind] * ratio
            slope[row] = hazards[kind] * ratio * kept
            for other in range(kinds):
                own = hazards[kind] * bend + (ratio if kind == other else 0.0)
                slope[row, other * bins + k] += exposed * own * hazards[other]
            left -= found[row]
            carried -= slope[row]
    found[bins - 1] += left  # at the horizon everybody is censored
    slope[bins - 1] += carried
    return found, slope, begun

"""What the released life table shows of the hazard that the baseline cannot follow.

delta(t), constant in each bin of the table, is added to the predictor so that the events expected of
the released numbers at risk, at the cohort's mean hazard, match the released ones, as far as these
are not noise: a ridge and a random walk hold it back. Under f + delta the full score at f is u(f), zero where f is the maximum of the likelihood.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.design.design import Design
from discreet.design.link import Link
from discreet.likelihood.score import Whitened
from discreet.likelihood.score_expected import Rates
from discreet.mechanisms.newton.bound import Cohort
from discreet.mechanisms.newton.cohort import Profile
from discreet.types import Array, Integers

RIDGE, WALK = 1.5, 0.4
"""Prior standard deviations of delta and of its change from bin to bin."""
CONTRADICTED = 3.0
"""A contradiction (chi-square over its degrees of freedom) up to which the life table may be chance."""
ROUNDS = 8
SETTLED = 1e-3


class Residual(NamedTuple):
    """delta by interval (and stratum), the full score at f under f + delta, and the information at f.

    `wrong` is how much of the life table's contradiction of the model is not chance, from 0 to 1.
    """

    shift: Array
    score: Array
    information: Array
    wrong: float


@dataclass(frozen=True, eq=False)
class Shape:
    """The life table against the model, at any f; with strata one for each."""

    design: Design
    link: Link
    people: Cohort
    profiles: tuple[Profile, ...]
    known: dict[bytes, Residual] = field(default_factory=dict)

    def at(self, f: Array) -> Residual:
        """The residual at f, kept: several steps ask for the same."""
        key = f.tobytes()
        if key not in self.known:
            self.known[key] = self._residual(f)
        return self.known[key]

    def rates(self, f: Array, stratum: int = 0) -> Rates:
        """The mean hazards of a stratum's cohort under f, slopes at its own places of f."""
        return self._plain(f).strata[stratum].rates(self.people.of_stratum(stratum))

    def _hazards(self, f: Array, shift: Array | None, stratum: int) -> tuple[Array, Array]:
        """The same hazards under f + shift, and their slopes by the predictor."""
        people = self.people.of_stratum(stratum)
        found = self._plain(f).strata[stratum].rates(people, shift, sloped=False)
        return found.hazard, found.steepness

    def contradiction(self, f: Array) -> float:
        """Chi-square of the released events by bin against the model's, over its degrees of freedom.

        About 1 where the baseline follows the hazard, whatever the noise.
        """
        found = [self._chi_square(f, stratum) for stratum in range(len(self.profiles))]
        free = self.bins - self.design.baseline.dimension
        return float(np.sum(found)) / max(free * len(found), 1)

    def _chi_square(self, f: Array, stratum: int) -> float:
        profile = self.profiles[stratum]
        hazard, _ = self._hazards(f, None, stratum)
        events = np.bincount(self.places, profile.at_risk * hazard, self.bins)
        return float(np.sum((profile.table[1] - events) ** 2 / (profile.deviation**2 + events)))

    def _plain(self, f: Array) -> Whitened:
        return Whitened(self.design, self.link, f, np.eye(len(f)), np.inf)

    @cached_property
    def bins(self) -> int:
        """Number of bins of the life table."""
        return len(self.edges) - 1

    @property
    def edges(self) -> Integers:
        """The edges of the bins, the same for every stratum."""
        return self.profiles[0].edges

    @cached_property
    def places(self) -> Integers:
        """The bin of every interval."""
        return np.repeat(np.arange(self.bins), np.diff(self.edges))

    def _residual(self, f: Array) -> Residual:
        shifts = [self._shift(f, stratum)[self.places] for stratum in range(len(self.profiles))]
        shift = shifts[0] if len(shifts) == 1 else np.stack(shifts)
        plain = self.people.seen(self._plain(f))
        score, _, _, information = plain.foreseen(self.people, f, shift)
        wrong = max(0.0, 1.0 - CONTRADICTED / max(self.contradiction(f), 1e-300))
        return Residual(shift, score, information, wrong)

    def _shift(self, f: Array, stratum: int) -> Array:
        """Newton's method for delta, steps of at most 1."""
        profile = self.profiles[stratum]
        step = np.diff(np.eye(self.bins), axis=0)
        precision = np.eye(self.bins) / RIDGE**2 + step.T @ step / WALK**2
        variance = profile.deviation**2 + 1.0
        delta = np.zeros(self.bins)
        for _ in range(ROUNDS):
            hazard, steep = self._hazards(f, delta[self.places], stratum)
            events = np.bincount(self.places, profile.at_risk * hazard, self.bins)
            slope = np.bincount(self.places, profile.at_risk * steep, self.bins)
            gradient = slope * (profile.table[1] - events) / variance - precision @ delta
            move = np.linalg.solve(np.diag(slope**2 / variance) + precision, gradient)
            delta = delta + move / max(1.0, float(np.abs(move).max()))
            if np.abs(move).max() < SETTLED:
                break
        return np.asarray(delta)

"""The released life table as equations for the baseline.

At the maximum of the likelihood the baseline's part of the score is zero: sum_s B_s (E_s(f) - D_s) = 0,
E_s the expected events among the people at risk and D_s the events. The release has D by bin and the
people at risk up to noise, and the cohort gives the mean hazard at any f, so

    u(f) = sum_k b_k (1 - D_k / E_k(f)),   b_k = sum of B_s E_s over the intervals of bin k,

is zero up to noise of known size: what the life tables that could be the people's make of it, and
what a cohort that is not the people gets wrong. Unlike the steps it has no bound and no bias.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from discreet.mechanisms.newton.cohort import Profile
from discreet.mechanisms.newton.shape import Shape
from discreet.mechanisms.newton.steps import Pin, Prior
from discreet.types import Array

LEVEL, DRIFT, SHAPE = 0.08, 0.25, 0.05
"""The cohort's mean hazard may be off by these parts: at all times alike, as a random walk from the
start to the end (whoever leaves early may be different), and in each bin for itself; and by up to
twice as much where the life table contradicts the model."""
AT_A_TIME = 1 << 16
"""Numbers of the basis, times life tables, that are worked on at a time."""
WITHIN = 0.6
"""People at risk in a bin may be off by this part of its exits: it is not known where in it they leave."""


@dataclass(frozen=True, eq=False)
class Pinned:
    """A prior to which the life table's equations are added around any estimate."""

    prior: Prior
    shape: Shape

    def around(self, estimate: Array) -> Prior:
        """The prior times the normal density that the equations are around the estimate."""
        prior = self.prior.around(estimate)
        score, slope, noise = self._equations(estimate)
        precision = np.asarray(np.linalg.inv(noise), dtype=np.float64)
        pull = slope.T @ precision
        total = prior.precision + pull @ slope
        load = prior.precision @ prior.centre + pull @ (slope @ estimate - score)
        centre = np.asarray(np.linalg.solve(total, load), dtype=np.float64)
        return Prior(centre, total, Pin(slope, precision))

    def _equations(self, f: Array) -> tuple[Array, Array, Array]:
        """u, its derivative by f, and the covariance of its noise, stratum after stratum."""
        found = [self._of_stratum(f, number) for number in range(len(self.shape.profiles))]
        scores, slopes, noises = zip(*found, strict=True)
        return np.concatenate(scores), np.vstack(slopes), block_diag(*noises)

    def _of_stratum(self, f: Array, stratum: int) -> tuple[Array, Array, Array]:
        """The same for the baseline of one stratum."""
        shape, profile = self.shape, self.shape.profiles[stratum]
        places, bins, basis = shape.places, shape.bins, shape.design.basis
        rates, _, own = shape.rates(f, stratum=stratum)
        steep = np.zeros((len(basis), len(f)))
        steep[:, shape.design.columns(stratum)] = own
        if shape.people.lens is not None:
            steep = steep @ shape.people.lens.T
        slopes = np.zeros((bins, len(f)))
        np.add.at(slopes, places, steep * profile.at_risk[:, None])
        expected, loads = self._expected(profile.at_risk * rates)
        scores = self._scores(profile, rates)
        spread = scores - scores.mean(axis=0)
        noise = spread.T @ spread / max(len(spread) - 1, 1)
        allowed = (1.0 + shape.at(f).wrong) ** 2 * self._cohort(stratum, expected, loads)
        return scores.mean(axis=0), loads.T @ slopes, noise + allowed

    def _expected(self, events: Array) -> tuple[Array, Array]:
        """Expected events by bin, and b_k over them, of every table of events by interval."""
        edges, basis = self.shape.edges[:-1], self.shape.design.basis
        expected = np.maximum(np.add.reduceat(events, edges, axis=-1), 1e-9)
        loads = np.add.reduceat(basis * events[..., None], edges, axis=-2)
        return expected, loads / expected[..., None]

    def _scores(self, profile: Profile, rates: Array) -> Array:
        """u(f) of every life table that could be the people's, as many at a time as fit."""
        at_risk, events = profile.others
        most = max(1, AT_A_TIME // self.shape.design.basis.size)
        found = []
        for start in range(0, len(events), most):
            some = slice(start, start + most)
            expected, loads = self._expected(at_risk[some] * rates)
            found.append(((expected - events[some])[:, None] @ loads)[:, 0])
        return np.concatenate(found)

    @cached_property
    def _wrong(self) -> tuple[Array, ...]:
        """What the cohort gets wrong by bin, of every stratum: the same at any estimate."""
        return tuple(_wrong(profile) for profile in self.shape.profiles)

    def _cohort(self, stratum: int, expected: Array, loads: Array) -> Array:
        """What the cohort may get wrong, in parts of the events that were released.

        Parts of an expectation that runs away are no bound.
        """
        profile = self.shape.profiles[stratum]
        seen = np.minimum(expected, np.maximum(profile.table[1], profile.deviation))
        whole = loads * seen[:, None]
        total = whole.T @ self._wrong[stratum] @ whole
        return np.asarray(total + 1e-9 * np.eye(loads.shape[1]))


def _wrong(profile: Profile) -> Array:
    """The covariance of what the cohort gets wrong by bin, in parts.

    In a bin of one interval those at risk are those at its start.
    """
    edges, width = profile.edges, np.diff(profile.edges)
    at_risk = np.maximum(np.add.reduceat(profile.at_risk, edges[:-1]) / width, 0.5)
    place = (edges[1:] + edges[:-1]) / (2.0 * edges[-1])
    exits = np.maximum(profile.table.sum(axis=0), 0.0)
    several = 1.0 - 1.0 / width
    unplaced = WITHIN * several * np.minimum(exits / at_risk, 2.0)
    walk = LEVEL**2 + DRIFT**2 * np.minimum.outer(place, place)
    return np.asarray(walk + np.diag(SHAPE**2 + unplaced**2))

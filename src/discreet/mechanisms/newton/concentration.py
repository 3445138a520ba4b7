"""How concentrated the people's information is, and the limit on each person's, as a cohort shows them.

A person's information is cut to the trace R. With T_m(s) the trace that member m has gathered when it
leaves after interval s, g = min(1, R / T) is kept of it, so that interval u counts by

    G_m(u) = E(g | at risk in u) = leaving(u) g(u) + staying(u) G(u + 1),

and what is left of the cohort's information is the sum over intervals with these weights. Who enters
late has gathered less: T(s) = there(s) T(s - 1) + trace(s), `there` the part of those at risk who were
so before. Post-processing of released numbers; proof page: docs/proofs/private-newton.md, section 5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from discreet.mechanisms.newton.bound import Cohort
from discreet.mechanisms.newton.foreseen import CohortScores, stretches_of
from discreet.mechanisms.newton.steps import power
from discreet.types import Array, Integers

MULTIPLES = (
    2.0, 3.0, 4.0, 6.0, 8.0, 11.0, 15.0, 20.0, 30.0, 45.0, 70.0, 100.0, 150.0, 225.0, 340.0, 600.0,
)  # fmt: skip
"""A person's information may be cut to the trace of so many persons' average."""
LOSS, TAIL = 0.7, 0.6
"""What is lost counts by this part of it, for some is put back; and TAIL / multiple is lost to tails
that counts cannot show."""
RESTORED = 1.25
"""What the cut took of a direction's information is put back up to this many times what it left."""
NOTHING = 1e-3
"""Eigenvalues of an information in whitened coordinates are at least this before a root is taken."""
LARGEST_COHORT = 1 << 23
"""Members times intervals beyond which nothing is said of a cut: it would take hundreds of megabytes."""


@dataclass(frozen=True)
class Concentration:
    """A cohort's information at a step's point, and what a limit leaves of it, whitened."""

    scores: CohortScores
    people: Cohort

    @cached_property
    def full(self) -> Array:
        """Without a limit."""
        return replace(self.scores, bound=math.inf).expected(self.people)[2]

    def cut(self, limit: float) -> Array:
        """With everybody's cut to the trace `limit`."""
        if len(self.people.cohort) * self.scores.design.intervals > LARGEST_COHORT:
            return self.full
        left = [part.left(limit) for part in self._strata]
        return np.asarray(sum(left[1:], left[0]))

    def lost(self, limit: float) -> float:
        """The part of its information that the direction loses which loses most."""
        left = self._whitening @ self.cut(limit) @ self._whitening
        if not np.all(np.isfinite(left)):
            return 1.0
        return 1.0 - float(np.linalg.eigvalsh(left)[0])

    @cached_property
    def _whitening(self) -> Array:
        """The same for every limit."""
        return power(self.full, -0.5, NOTHING)

    def restored(self, left: Array) -> Array:
        """What a limit left, with RESTORED times as much of a direction at most, the full at most."""
        root, inverse = power(left, 0.5, NOTHING), power(left, -0.5, NOTHING)
        values, vectors = np.linalg.eigh(inverse @ self.full @ inverse)
        return np.asarray(root @ (vectors * np.minimum(values, RESTORED)) @ vectors.T @ root)

    @cached_property
    def _strata(self) -> "tuple[_Stratum, ...]":
        each = enumerate(self.scores.strata)
        return tuple(_Stratum(own, self.people.of_stratum(number)) for number, own in each)


@dataclass(frozen=True)
class _Stratum:
    """The members of one stratum, at its own rows of the point."""

    scores: CohortScores
    people: Cohort

    def left(self, limit: float) -> Array:
        """The sum over intervals, each weighted by G."""
        parts = np.minimum(1.0, limit / np.maximum(self._gathered, 1e-300))
        return self.scores.weighted(self.people, _averaged(self._at_risk, parts))

    @cached_property
    def _gathered(self) -> Array:
        """T by interval and member: of all causes together, which share one limit."""
        every = self.scores.others or (self.scores,)
        traces: Array = np.sum([self._traces(one) for one in every], axis=0)
        before = np.vstack([np.zeros_like(self._at_risk[:1]), self._at_risk[:-1]])
        there = np.minimum(1.0, before / np.maximum(self._at_risk, 1e-300))
        for s in range(1, len(traces)):
            traces[s] += there[s] * traces[s - 1]
        return traces

    def _traces(self, scores: CohortScores) -> Array:
        """a b |z~|^2 by interval and member."""
        time, baseline = scores.design.basis.shape[1], scores.baseline
        tilts = self.people.cohort @ scores.mapping[time:]
        squares = np.sum(tilts**2, axis=2)[:, self._stretch].T
        squares += np.sum(baseline**2, axis=1)[:, None]
        for k, (first, last) in enumerate(pairwise(self.people.edges)):
            squares[first:last] += 2.0 * baseline[first:last] @ tilts[:, k].T
        return np.asarray(scores.link.information(self._predictors(scores)) * squares)

    @cached_property
    def _at_risk(self) -> Array:
        """How many are at risk, by interval and member."""
        hazards = self.scores.link.hazard(self._predictors(self.scores))
        alive = np.cumprod(np.vstack([np.ones_like(hazards[:1]), 1.0 - hazards[:-1]]), axis=0)
        masses = self.people.counts[:, self._stretch].T * self.people.present[:, None] * alive
        remaining = self.people.remaining
        return np.asarray(masses if remaining is None else masses * remaining.T)

    def _predictors(self, scores: CohortScores) -> Array:
        return scores.predictors(self.people.cohort, self.people.edges).T

    @cached_property
    def _stretch(self) -> Integers:
        return stretches_of(self.people.edges)


def _averaged(at_risk: Array, parts: Array) -> Array:
    """G: the mean of what is kept of those who leave later, by interval and member."""
    result = parts.copy()
    staying = np.minimum(1.0, at_risk[1:] / np.maximum(at_risk[:-1], 1e-300))
    for s in range(len(parts) - 2, -1, -1):
        result[s] += staying[s] * (result[s + 1] - result[s])
    return result


def chosen_limit(seen: Sequence[Concentration], average: float, noise: float) -> float:
    """R: the multiple m of the average trace with the smallest (m noise)^2 + (LOSS lost(m))^2.

    `noise` is that of the released information at one average, in parts of it; of several causes the
    one counts that loses most.
    """
    best, chosen = math.inf, MULTIPLES[0]
    for multiple in MULTIPLES:
        if (multiple * noise) ** 2 > best:
            break  # from here on the noise alone is worse
        lost = max(one.lost(multiple * average) for one in seen) + TAIL / multiple
        error = (multiple * noise) ** 2 + (LOSS * lost) ** 2
        if error < best:
            best, chosen = error, multiple
    return chosen * average

"""Choosing the bound B by predicted error: post-processing of released numbers.

    predicted^2(B) = noise^2(B) + (L sqrt(E) (loss(B) + TAIL / c))^2,   B = c sqrt(d / E)

noise^2(B) is what the prior lets pass of the sum's noise, loss(B) the share of the score's slope that
the ball's weights take away, on the synthetic cohort. Where the model is wrong, what is down-weighted
pulls the estimate: how far, without any noise, is in studies/results/newton-root.csv; of the pairs in
studies/results/newton-bound.csv LAMBDA = 0.15, TAIL = 0.05 has the smallest errors. TAIL stands for
tails that counts cannot show.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.newton.expected import Members
from discreet.mechanisms.newton.foreseen import CohortScores, members_of
from discreet.types import Array, Integers

if TYPE_CHECKING:
    from discreet.mechanisms.newton.shape import Residual

LAMBDA, CALM = 0.15, 0.06
"""The latter where no number has a tail, and nothing speaks against the model or a bound takes next to
nothing away."""
MUCH = 0.2
"""A lost part of the information with which a model that the life table contradicts is doubted fully:
what little a wide bound takes away of a wrong model moves its root by less than in proportion, for the
life table's correction takes care of most."""
LIGHT, HEAVY = 0.2, 0.4
"""Parts of a number's variance that are in its tail: up to the first bounds grow to LAMBDA's, from the
second on the tail outweighs the rest and they grow further."""
TAIL = 0.05
MULTIPLES = tuple(2.0 ** (sixth / 6.0) for sixth in range(37))
"""From 1 to 64, each an eighth more than the one before: coarser ones would make plans jump."""
TOLERATED = 0.13
"""Noise of so few standard errors is as good as none: the bound is then as large as it allows, and
more budget leads to the maximum of the likelihood whatever the model gets wrong."""
CHANGED = 2.0
"""And up to this many times itself more where effects are seen to change with time: bounds take
late times away first, and what they take away is then not like what they leave."""
OUTWEIGHED = 6.0
"""And so many times more where a number's tail outweighs the rest of it: bounds take the tail away first."""
NOTHING = 1e-4
"""A loss of information that is none."""
DOUBTED = 0.5
"""The part of the life table's correction that is taken to be possibly wrong."""
RIDGE = 1e-3
"""Added to an information in whitened coordinates before it is inverted."""
FLOOR = 0.02
"""The least slope of a direction: one that the bound takes away entirely still has it."""


@dataclass(frozen=True)
class Cohort:
    """What is known of the people: the cohort, how many each stands for, how long they are observed.

    With strata `stratum` is the number of each member's, and `present` has a row for each.
    `remaining` has by member and interval the chances of no event of another cause and, in parts of
    everybody's, of not being censored; `staying` the latter alone.
    """

    cohort: Array
    counts: Array
    edges: Integers
    present: Array
    events: float
    lens: Array | None = None
    remaining: Array | None = None
    stratum: Integers | None = None
    staying: Array | None = None

    def of_stratum(self, number: int) -> "Cohort":
        """The members of one stratum, as they are."""
        return self if self.stratum is None else self._strata[number]

    @cached_property
    def _strata(self) -> "tuple[Cohort, ...]":
        """The members of every stratum: each is asked for many times."""
        return tuple(self._of(number) for number in range(len(self.present)))

    def _of(self, number: int) -> "Cohort":
        own, present = self.stratum == number, self.present[number]
        remaining = None if self.remaining is None else self.remaining[own]
        staying = None if self.staying is None else self.staying[own]
        return replace(
            self,
            cohort=self.cohort[own],
            counts=self.counts[own],
            present=present,
            remaining=remaining,
            lens=None,
            stratum=None,
            staying=staying,
        )

    @cached_property
    def members(self) -> Members:
        """As compiled code takes them."""
        return members_of(self)

    @cached_property
    def mean(self) -> Array:
        """The people's mean of every internal column, over all stretches of time."""
        return np.asarray(np.average(self.cohort, axis=(0, 1), weights=self.counts))

    def seen(self, scores: CohortScores) -> CohortScores:
        """The scores as the cohort is asked for them: its vectors z are taken for A z."""
        if self.lens is None:
            return scores
        return replace(scores, mapping=self.lens.T @ scores.mapping)

    def through(self, point: Array, truth: Array) -> Array:
        """The truth as the cohort sees it from a point: f_t + A'(f - f_t)."""
        return truth if self.lens is None else point + self.lens.T @ (truth - point)


def correction(score: Array, slope: Array, residual: Array, information: Array) -> Array:
    """The bounded score expected at the maximum of the likelihood: S - J I^-1 u.

    Where the model cannot follow the hazard, f + delta is the truth, and S the bounded score expected
    under it; u is the full score at f. Errors of delta within the model's reach cancel.
    """
    size = len(score)
    return np.asarray(score - slope @ np.linalg.solve(information + RIDGE * np.eye(size), residual))


def sloped(jacobian: Array) -> Array:
    """The Jacobian with eigenvalues of at least FLOOR; itself where it is no number."""
    if not np.all(np.isfinite(jacobian)):
        return jacobian
    values, vectors = np.linalg.eigh(jacobian)
    return np.asarray((vectors * np.maximum(values, FLOOR)) @ vectors.T)


def choose_bound(
    scores: CohortScores, people: Cohort, unit_noise: float, residual: "Residual", prior: Array
) -> tuple[float, float]:
    """The B with the smallest predicted error, and its predicted bias squared.

    `unit_noise` is the noise of a sum over B, `prior` the prior's precision in whitened coordinates;
    errors are in standard errors.
    """
    size = len(scores.point)
    unit = np.sqrt(size / people.events)
    best, chosen, doubt = np.inf, MULTIPLES[0] * unit, 0.0
    lost, slope, load = 1.0, np.eye(size), 0.0
    unmet = scores.mapping.T @ residual.score
    truth = people.through(scores.point, scores.point + residual.offset)
    given = people, truth, residual.shift, residual.bend
    _, whole, _, full = people.seen(replace(scores, bound=np.inf)).foreseen(*given)
    for multiple in MULTIPLES:
        if lost > NOTHING:  # a larger bound takes no more than nothing
            bounded = people.seen(replace(scores, bound=multiple * unit))
            score, matrix, _, _ = bounded.foreseen(*given)
            lost = max(0.0, 1.0 - np.trace(matrix) / max(np.trace(whole), 1e-300))
            slope = sloped(matrix)
            bent = np.linalg.solve(slope, correction(score, matrix, unmet, full))
            load = DOUBTED**2 * float(bent @ bent) / size
        noise = squared_noise(slope, unit_noise * multiple * unit, prior)
        if noise > 2.0 * best:
            break  # from here on the noise alone is worse
        pull = _steepness(residual, lost) * (lost + TAIL / multiple)
        bias = pull**2 * people.events + load
        if noise + bias < best:
            best, chosen, doubt = noise + bias, multiple * unit, bias
    return max(float(chosen), _tolerated(unit_noise * unit) * unit), float(doubt)


def squared_noise(slope: Array, deviation: float, prior: Array) -> float:
    """The mean square of an estimate's noise: trace (J'J / sigma^2 + P)^-1 / d.

    Where the noise is larger than what the prior lets pass it cannot move the estimate further.
    """
    precision = slope @ slope / deviation**2 + prior
    return float(np.trace(np.linalg.inv(precision))) / len(slope)


def _steepness(residual: "Residual", lost: float) -> float:
    """L = l (1 + CHANGED k + OUTWEIGHED h), l from CALM to LAMBDA as far as the model is doubted."""
    wrong = residual.wrong * min(1.0, lost / MUCH)
    calm = (1.0 - wrong) * max(0.0, 1.0 - residual.tail / LIGHT)
    usual = LAMBDA + (CALM - LAMBDA) * calm
    heavy = max(residual.tail - HEAVY, 0.0) / (1.0 - HEAVY)
    return usual * (1.0 + CHANGED * residual.changed + OUTWEIGHED * heavy)


def _tolerated(noise: float) -> float:
    """The largest multiple whose noise is as good as none, 0 where there is no such multiple."""
    return max((multiple for multiple in MULTIPLES if noise * multiple <= TOLERATED), default=0.0)

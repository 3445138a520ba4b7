"""The life of each member of the cohort: means, covariances and derivatives of what it adds to a sum.

Conventions
-----------
    M members, P pieces of time (piece j has L_j intervals with one hazard), R causes, C sums
    eta      (R, M, P)  predictor of each cause's hazard
    leave    (M, P)     log rate of censoring by interval
    entry    (M,)       the piece with which a member's time at risk begins
    values   (M, R + 1, P, C)  what a member that leaves in the piece, by an event of each cause or last
             by censoring, has added to each sum

In one interval cause r happens with probability o_r / (1 + sum o), o_r = h_r / (1 - h_r), so that h_r is
the hazard among intervals without an event of another cause; otherwise the member is censored with
probability 1 - exp(-exp(leave)). In the last piece all are censored. One backward recursion gives the
mean E(t | at risk at j), and with it for each way to leave psi = t(leaves so) - E(t | goes on). Means,
derivatives and covariances follow: a life is a sequence of independent choices, of which psi is the
effect.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from discreet.design.link import Link
from discreet.estimator.numerical import FASTEST, LARGEST_LOSS
from discreet.types import Array, Integers


def within_reach(link: Link, eta: Array) -> Array:
    """Predictors cut where hazards are 0 or 1 to rounding."""
    return np.clip(eta, -LARGEST_LOSS, _largest_predictor(link))


@cache
def _largest_predictor(link: Link) -> float:
    low, high = 0.0, LARGEST_LOSS + 1.0
    while low < (middle := (low + high) / 2.0) < high:
        short = link.survival_loss(np.array([middle]))[0] < LARGEST_LOSS
        low, high = (middle, high) if short else (low, middle)
    return high


@dataclass(frozen=True)
class Pieces:
    """Public pieces of time: piece j holds the intervals edges[j] < s <= edges[j + 1].

    `bins` and `stretches` are the numbers of each piece's bin and stretch, `spans` those of its span: a
    stretch's part in a period of effects. `basis` (P, e) is the mean of the baseline's functions over
    the piece.
    """

    edges: Integers
    bins: Integers
    stretches: Integers
    spans: Integers
    basis: Array

    @classmethod
    def of(
        cls, basis: Array, bins: Integers, stretches: Integers, periods: Integers, most: int
    ) -> "Pieces":
        """The bins, stretches and periods, the longest piece halved until there are `most`."""
        spans = np.union1d(stretches, periods)
        edges = np.union1d(bins, spans)
        while len(edges) - 1 < most and np.diff(edges).max() > 1:
            longest = int(np.argmax(np.diff(edges)))
            edges = np.insert(edges, longest + 1, (edges[longest] + edges[longest + 1]) // 2)
        mean = np.add.reduceat(basis, edges[:-1], axis=0) / np.diff(edges)[:, None]
        bin_of, stretch_of, span_of = (
            np.searchsorted(one, edges[1:]) - 1 for one in (bins, stretches, spans)
        )
        return cls(edges, bin_of, stretch_of, span_of, mean)

    @cached_property
    def lengths(self) -> Array:
        """L."""
        return np.diff(self.edges).astype(np.float64)


@dataclass(frozen=True)
class Chances:
    """Probabilities of leaving in each piece given at risk when it begins, and their derivatives.

    happen (R, M, P), leave (M, P), stay (M, P); `spent` (M, P) is the expected number of intervals at
    risk in the piece, `before` (M, P) that of whole intervals before leaving, given that one leaves;
    `slope` (R, R + 1, M, P) has d(cause k, censoring)/d eta_r, `pull` (R + 1, M, P) the same by the log
    rate of censoring.
    """

    happen: Array
    leave: Array
    stay: Array
    spent: Array
    before: Array
    slope: Array
    pull: Array

    @classmethod
    def of(cls, link: Link, eta: Array, leave: Array, entry: Integers, lengths: Array) -> "Chances":
        """From predictors and log rates of censoring."""
        eta = within_reach(link, eta)
        loss, rise = link.survival_loss(eta), link.survival_loss_derivative(eta)
        odds = np.expm1(np.minimum(loss, 2.0 * LARGEST_LOSS))
        alone = 1.0 / (1.0 + odds.sum(axis=0))  # no event of any cause
        each = odds * alone
        weight = alone * (1.0 + odds) * rise
        rate = np.exp(np.minimum(leave, FASTEST))
        rate[:, -1] = np.inf
        gone = -np.expm1(-rate)
        fall = -np.log(alone) + rate
        loss_once, loss_all = -np.expm1(-fall), -np.expm1(-fall * lengths)
        goes_on = np.exp(-fall)
        spent = loss_all / np.maximum(loss_once, 1e-300)
        small = fall < 1e-7
        spent = np.where(small, lengths, spent)
        # d spent / d log(goes_on): sum of j goes_on^j
        ends = lengths * np.exp(-fall * lengths)
        passed = np.where(
            small,
            lengths * (lengths - 1.0) / 2.0,
            (goes_on * spent - ends) / np.maximum(loss_once, 1e-300),
        )
        passed = np.where(lengths == 1.0, 0.0, np.maximum(passed, 0.0))
        slope = np.empty((len(eta), len(eta) + 1, *leave.shape))
        for r in range(len(eta)):
            for k in range(len(eta)):
                slope[r, k] = weight[r] * ((k == r) * spent - each[k] * (spent + passed))
            slope[r, -1] = -weight[r] * alone * gone * (spent + passed)
        finite = np.where(np.isinf(rate), 0.0, rate)
        thinned = np.where(np.isinf(rate), 0.0, finite * np.exp(-finite))
        pull = np.empty((len(eta) + 1, *leave.shape))
        pull[:-1] = -each * passed * finite
        pull[-1] = alone * (thinned * spent - gone * passed * finite)
        absent = np.arange(len(lengths)) < entry[:, None]
        happen, out = each * spent, alone * gone * spent
        for part in (happen, out, slope, pull, spent):
            part[..., absent] = 0.0
        stay = np.where(absent, 1.0, np.maximum(1.0 - happen.sum(axis=0) - out, 0.0))
        stay[:, -1] = 0.0
        return cls(happen, out, stay, spent, passed / np.maximum(spent, 1e-300), slope, pull)

    @cached_property
    def at_risk(self) -> Array:
        """The probability of being at risk when each piece begins, (M, P); 1 before the entry."""
        gone = np.cumprod(self.stay, axis=1)
        return np.hstack([np.ones((len(gone), 1)), gone[:, :-1]])

    @cached_property
    def ways(self) -> Array:
        """Probabilities of all ways to leave, censoring last, (M, R + 1, P)."""
        return np.concatenate([self.happen, self.leave[None]]).transpose(1, 0, 2)

    @cached_property
    def turns(self) -> Array:
        """(M, R + 1, R + 1, P): at_risk times the derivatives of `ways` by each eta, last by the log rate."""
        both = np.concatenate([self.slope, self.pull[None]]) * self.at_risk
        return np.ascontiguousarray(both.transpose(2, 0, 1, 3))

    @property
    def tries(self) -> Array:
        """Expected intervals at risk without an event of another cause, (R, M, P)."""
        others = self.happen.sum(axis=0) - self.happen
        return np.asarray(self.at_risk * np.maximum(self.spent - others, 0.0))


@dataclass(frozen=True)
class Lives:
    """mean (M, C) and, of every way to leave, its `effect` (M, R + 1, P, C): psi, censoring last."""

    chances: Chances
    mean: Array
    effect: Array

    @classmethod
    def of(cls, chances: Chances, values: Array) -> "Lives":
        """The backward recursion; `values` (M, R + 1, P, C) become the effects in their place."""
        going = np.zeros((len(values), values.shape[3]))
        for j in range(values.shape[2] - 1, -1, -1):
            effect = values[:, :, j]
            effect -= going[:, None]
            for k in range(values.shape[1]):
                going = going + chances.ways[:, k, j, None] * effect[:, k]
        return cls(chances, going, values)

    def choices(self, sums: int, mass: Array) -> Array:
        """Independent contributions of mean 0 to the first sums, times mass^1/2: (M, (R + 1) P, sums).

        choices' choices is the covariance of the sums of so many like the member: in each piece it is
        chosen first whether cause 1 happens, then cause 2 if not, and last censoring.
        """
        chances, effect = self.chances, self.effect[..., :sums]
        left = np.maximum(1.0 - np.cumsum(chances.happen, axis=0), 1e-300)  # after causes 1..r
        before = np.concatenate([np.ones_like(left[:1]), left])
        ways = np.concatenate([chances.happen, chances.leave[None]])
        chance = np.clip(ways / before, 0.0, 1.0)
        scale = mass[:, None] * chances.at_risk * before * chance * (1.0 - chance)
        scale = np.sqrt(np.maximum(scale, 0.0))
        found = np.empty(effect.shape)
        for j in range(effect.shape[2]):
            rest = np.zeros_like(effect[:, 0, j])  # of going on to the later choices
            for k in range(len(ways) - 1, -1, -1):
                own = effect[:, k, j] - rest
                np.multiply(scale[k, :, j, None], own, out=found[:, k, j])
                rest += chance[k, :, j, None] * own
        return found.reshape(len(effect), -1, sums)

"""The life of each member of the cohort: means, covariances and derivatives of what it adds to a sum.

Conventions
-----------
    M members, P pieces of time (piece j has L_j intervals with one hazard), R causes, C sums
    eta      (R, M, P)  predictor of each cause's hazard
    leave    (M, P)     log rate of censoring by interval
    entry    (M,)       the piece with which a member's time at risk begins
    at_event (R, M, P, C), at_exit (M, P, C)  what a sum has had of a member that leaves in the piece by
             an event of each cause, or by censoring

In one interval cause r happens with probability o_r / (1 + sum o), o_r = h_r / (1 - h_r), so that h_r is
the hazard among intervals without an event of another cause; otherwise the member is censored with
probability 1 - exp(-exp(leave)). In the last piece all are censored. One backward recursion gives the
mean E(t | at risk at j), and with it for each way to leave phi = t(leaves so) - E(t | goes on). Means,
derivatives and covariances follow: a life is a sequence of independent choices, of which phi is the
effect.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq

from discreet.design.link import Link
from discreet.types import Array, Integers

LARGEST_LOSS = 30.0
"""Predictors are cut where no event has the probability e^-30, and at minus as much: beyond, hazards
differ from 1 and 0 by less than rounding, while slopes (of cloglog) would still grow without limit."""
FASTEST = 3.0
"""Log rates of censoring are cut here: all leave within the interval."""


def within_reach(link: Link, eta: Array) -> Array:
    """Predictors cut where hazards are 0 or 1 to rounding."""
    return np.clip(eta, -LARGEST_LOSS, _largest_predictor(link))


@cache
def _largest_predictor(link: Link) -> float:
    return float(
        brentq(lambda eta: link.survival_loss(np.array([eta]))[0] - LARGEST_LOSS, 0.0, 31.0)
    )


@dataclass(frozen=True)
class Pieces:
    """Public pieces of time: piece j holds the intervals edges[j] < s <= edges[j + 1].

    `bins` and `stretches` are the numbers of each piece's bin and stretch; `basis` (P, e) is the mean
    of the baseline's functions over the piece.
    """

    edges: Integers
    bins: Integers
    stretches: Integers
    basis: Array

    @classmethod
    def of(cls, basis: Array, bins: Integers, stretches: Integers, most: int) -> "Pieces":
        """The bins and stretches, the longest halved until there are `most`."""
        edges = np.union1d(bins, stretches)
        while len(edges) - 1 < most and np.diff(edges).max() > 1:
            longest = int(np.argmax(np.diff(edges)))
            edges = np.insert(edges, longest + 1, (edges[longest] + edges[longest + 1]) // 2)
        mean = np.add.reduceat(basis, edges[:-1], axis=0) / np.diff(edges)[:, None]
        bin_of = np.searchsorted(bins, edges[1:], side="left") - 1
        stretch_of = np.searchsorted(stretches, edges[1:], side="left") - 1
        return cls(edges, bin_of, stretch_of, mean)

    @property
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

    @property
    def at_risk(self) -> Array:
        """The probability of being at risk when each piece begins, (M, P); 1 before the entry."""
        gone = np.cumprod(self.stay, axis=1)
        return np.hstack([np.ones((len(gone), 1)), gone[:, :-1]])


@dataclass(frozen=True)
class Lives:
    """mean (M, C); slope (R, M, P, C) of the mean by eta, pull (M, P, C) by the log rate of censoring.

    `choices` (M, (R + 1) P, C) are independent contributions of mean 0: the covariance of the sums of one
    member is choices' choices.
    """

    mean: Array
    slope: Array
    pull: Array
    choices: Array

    @classmethod
    def of(cls, chances: Chances, at_event: Array, at_exit: Array, within: int) -> "Lives":
        """The backward recursion; covariances are made of the first `within` sums."""
        causes, members, pieces, sums = at_event.shape
        left = np.maximum(1.0 - np.cumsum(chances.happen, axis=0), 1e-300)  # after causes 1..r
        before = np.concatenate([np.ones((1, members, pieces)), left[:-1]])
        chance = np.clip(chances.happen / before, 0.0, 1.0)
        out = np.clip(chances.leave / left[-1], 0.0, 1.0)
        alive = chances.at_risk
        scale = np.sqrt(np.maximum(alive * before * chance * (1.0 - chance), 0.0))
        scale_out = np.sqrt(np.maximum(alive * left[-1] * out * (1.0 - out), 0.0))
        slope = np.empty((causes, pieces, members, sums))
        pull = np.empty((pieces, members, sums))
        choices = np.empty((causes + 1, pieces, members, within))
        weights = chances.slope * alive
        weight_out = chances.pull * alive
        going = np.zeros((members, sums))
        for j in range(pieces - 1, -1, -1):
            events = at_event[:, :, j] - going
            exits = at_exit[:, j] - going
            for r in range(causes):
                slope[r, j] = weights[r, causes, :, j, None] * exits
                for k in range(causes):
                    slope[r, j] += weights[r, k, :, j, None] * events[k]
            pull[j] = weight_out[causes, :, j, None] * exits
            for k in range(causes):
                pull[j] += weight_out[k, :, j, None] * events[k]
            choices[causes, j] = scale_out[:, j, None] * exits[:, :within]
            rest = out[:, j, None] * exits  # all relative to going on
            for r in range(causes - 1, -1, -1):
                effect = events[r] - rest
                choices[r, j] = scale[r, :, j, None] * effect[:, :within]
                rest = rest + chance[r, :, j, None] * effect
            going = going + rest
        rows = choices.reshape(-1, members, within).transpose(1, 0, 2)
        return cls(going, slope.transpose(0, 2, 1, 3), pull.transpose(1, 0, 2), rows)

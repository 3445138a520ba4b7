"""What a member has added to bounded scores, counts and information by the time it leaves.

Conventions
-----------
    M members, P pieces, R causes, H strata, e baseline functions, p columns
    S spans of time: in each of them a member's columns and the places of their effects stay the same
    d = H e + the effects of all columns, in all periods where effects change with time
    carriers (P, c), c = e + S: a score's sums over time are those of a w B_s and, for the covariates of
    each span, of a w; what multiplies them is constant in a member's life

The walk of the ball is that of `core.walk` piece by piece: w is the largest weight in [0, 1]
with |V + w L a z| <= B if no event comes in the L intervals of the piece, and |V - w b z| <= B if one does.
"""

from dataclasses import dataclass

import numpy as np

from discreet.design.link import Link
from discreet.estimator.lives import Pieces, within_reach
from discreet.estimator.numerical import INFINITE
from discreet.estimator.transcript import ScoreSum
from discreet.types import Array, Integers


@dataclass(frozen=True)
class Members:
    """The cohort: columns (M, S, p), weights (M,) that sum to 1, stratum and piece of entry (M,).

    `places` (S, p): of each column in each span its effect among those of all periods.
    """

    columns: Array
    places: Integers
    weights: Array
    stratum: Integers
    entry: Integers
    strata: int

    @property
    def indicators(self) -> Array:
        """(M, H)."""
        return np.asarray(np.eye(self.strata)[self.stratum])

    def only(self, chosen: Integers) -> "Members":
        """Some of them."""
        weights, stratum = self.weights[chosen], self.stratum[chosen]
        return Members(
            self.columns[chosen], self.places, weights, stratum, self.entry[chosen], self.strata
        )

    def times(self, effects: Array) -> Array:
        """The columns times the effects in force, (M, S) of (all effects), (M, S, d) of (all effects, d)."""
        begun = np.flatnonzero(np.diff(self.places, axis=0).any(axis=1)) + 1
        spans = zip([0, *begun], [*begun, len(self.places)], strict=True)
        parts = [self.columns[:, a:b] @ effects[self.places[a]] for a, b in spans]
        return np.concatenate(parts, axis=1)


def predictors(points: Array, members: Members, pieces: Pieces) -> Array:
    """f'z by cause, member and piece, (R, M, P)."""
    size = pieces.basis.shape[1]
    time = members.strata * size
    found = np.empty((len(points), len(members.weights), len(pieces.bins)))
    for one, f in zip(found, points, strict=True):
        baseline = pieces.basis @ f[:time].reshape(members.strata, size).T
        one[:] = baseline.T[members.stratum] + members.times(f[time:])[:, pieces.spans]
    return found


def slopes(link: Link, eta: Array) -> tuple[Array, Array]:
    """a and b: derivatives of the survival loss and, negated, of the event loss."""
    eta = within_reach(link, eta)
    return link.survival_loss_derivative(eta), -link.event_loss_derivative(eta)


def carriers(pieces: Pieces) -> Array:
    """(P, e + S): the baseline's functions and an indicator of each span."""
    return np.hstack([pieces.basis, np.eye(pieces.spans[-1] + 1)[pieces.spans]])


@dataclass(frozen=True)
class Walk:
    """A score along the pieces: `survive` = w a and `happen` = w b, (R, M, P), and the sums before each."""

    survive: Array
    happen: Array
    passed: Array

    @classmethod
    def of(
        cls, link: Link, step: ScoreSum, members: Members, pieces: Pieces, carried: Array
    ) -> "Walk":
        """Weighted by the ball; all weights are 1 where the bound is infinite or scores are clipped."""
        survive, happen = slopes(link, predictors(step.points, members, pieces))
        if step.bounds[0] < INFINITE and not step.clipped:
            weights = ball(step, members, pieces, (survive, happen))
            survive, happen = survive * weights, happen * weights
        begun = np.arange(len(pieces.bins)) >= members.entry[:, None]
        survive = survive * begun
        return cls(survive, happen, passed_sums(survive, pieces, carried))

    def only(self, chosen: Integers) -> "Walk":
        """Of some members."""
        return Walk(self.survive[:, chosen], self.happen[:, chosen], self.passed[:, chosen])

    def write(self, before: Array, carried: Array, values: Array) -> None:
        """What a member has added to the score when it leaves, into `values` (M, R + 1, P, R c).

        `before` (M, P) are the whole intervals at risk before leaving.
        """
        causes, members, pieces = self.survive.shape
        values = values.reshape(members, causes + 1, pieces, causes, -1)
        for k in range(causes):
            lost = (self.survive[k] * before)[:, :, None] * carried
            run = self.passed[k] - lost
            values[:, :causes, :, k] = run[:, None]
            values[:, k, :, k] += self.happen[k][:, :, None] * carried
            values[:, causes, :, k] = run - self.survive[k][:, :, None] * carried


def passed_sums(survive: Array, pieces: Pieces, carried: Array) -> Array:
    """The sum of -L w a (B, 1) over the pieces before each, (R, M, P, c)."""
    moves = (survive * pieces.lengths)[..., None] * carried
    found = np.zeros_like(moves)
    np.cumsum(-moves[:, :, :-1], axis=2, out=found[:, :, 1:])
    return found


def images(step: ScoreSum, members: Members, pieces: Pieces) -> Array:
    """W_r'z / B_r by cause, member and piece, (R, M, P, d)."""
    size = pieces.basis.shape[1]
    time = members.strata * size
    found = []
    for mapping, bound in zip(step.mappings, step.bounds, strict=True):
        rows = mapping[:time].reshape(members.strata, size, -1)
        baseline = np.einsum("pe,hed->hpd", pieces.basis, rows)[members.stratum]
        found.append((baseline + members.times(mapping[time:])[:, pieces.spans]) / bound)
    return np.array(found)


def ball(step: ScoreSum, members: Members, pieces: Pieces, slope: tuple[Array, Array]) -> Array:
    """w by member and piece, one for all causes."""
    survive, happen = slope
    z = images(step, members, pieces)
    total, weights = np.zeros_like(z[:, :, 0]), np.ones_like(survive[0])
    for j in range(len(pieces.bins)):
        here, present = z[:, :, j], members.entry <= j
        move = (pieces.lengths[j] * survive[:, :, j])[..., None] * here
        room = np.maximum(1.0 - np.einsum("rmd,rmd->m", total, total), 0.0)
        along = np.einsum("rmd,rmd->rm", total, here)
        norm = np.einsum("rmd,rmd->rm", here, here)
        ahead = pieces.lengths[j] * survive[:, :, j]
        w = largest_weight((ahead * along).sum(axis=0), (ahead**2 * norm).sum(axis=0), room)
        for r in range(len(z)):
            b = happen[r, :, j]
            w = np.minimum(w, largest_weight(-b * along[r], b**2 * norm[r], room))
        weights[:, j] = w
        total += (w * present)[:, None] * move
    return np.asarray(weights)


def largest_weight(inner: Array, norm: Array, room: Array) -> Array:
    """The largest w in [0, 1] with |V + w u|^2 <= B^2; inner = V'u, norm = |u|^2, room = B^2 - |V|^2."""
    root = np.sqrt(inner**2 + norm * room)
    forward = room / np.maximum(root + inner, 1e-300)
    backward = (root - inner) / np.maximum(norm, 1e-300)
    return np.clip(np.where(inner > 0.0, forward, backward), 0.0, 1.0)

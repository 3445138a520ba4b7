"""What a member's bounded scores, counts and information have come to when it leaves.

Conventions
-----------
    M members, P pieces, R causes, H strata, V stretches, e baseline functions, p columns, d = H e + p
    carriers (P, c), c = e + V: a score's sums over time are those of a w B_s and, for the covariates of
    each stretch, of a w; what multiplies them is constant in a member's life

The walk of the ball is that of `core.walk` piece by piece: w is the largest weight in [0, 1]
with |V + w L a z| <= B if no event comes in the L intervals of the piece, and |V - w b z| <= B if one does.
"""

from dataclasses import dataclass

import numpy as np

from discreet.design.link import Link
from discreet.estimator.lives import Chances, Pieces, within_reach
from discreet.estimator.transcript import ScoreSum
from discreet.types import Array, Integers

INFINITE = 1e100
"""Bounds from here on are none."""


@dataclass(frozen=True)
class Members:
    """The cohort: columns (M, V, p), weights (M,) that sum to 1, stratum and piece of entry (M,)."""

    columns: Array
    weights: Array
    stratum: Integers
    entry: Integers
    strata: int

    @property
    def indicators(self) -> Array:
        """(M, H)."""
        return np.asarray(np.eye(self.strata)[self.stratum])


def predictors(points: Array, members: Members, pieces: Pieces) -> Array:
    """f'z by cause, member and piece, (R, M, P)."""
    size = pieces.basis.shape[1]
    time = members.strata * size
    found = np.empty((len(points), len(members.weights), len(pieces.bins)))
    for one, f in zip(found, points, strict=True):
        baseline = pieces.basis @ f[:time].reshape(members.strata, size).T
        one[:] = baseline.T[members.stratum] + (members.columns @ f[time:])[:, pieces.stretches]
    return found


def slopes(link: Link, eta: Array) -> tuple[Array, Array]:
    """a and b: derivatives of the survival loss and, negated, of the event loss."""
    eta = within_reach(link, eta)
    return link.survival_loss_derivative(eta), -link.event_loss_derivative(eta)


def carriers(pieces: Pieces, stretches: int) -> Array:
    """(P, e + V): the baseline's functions and an indicator of each stretch."""
    return np.hstack([pieces.basis, np.eye(stretches)[pieces.stretches]])


@dataclass(frozen=True)
class Walk:
    """A score along the pieces: `survive` = w a and `happen` = w b, (R, M, P), and what was summed before.

    With clipped scores w = 1 and `length` is the norm (of a whole person's score) by which they are cut.
    """

    survive: Array
    happen: Array
    passed: Array
    step: ScoreSum | None = None

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
        return cls(survive, happen, passed_sums(survive, pieces, carried), step)

    def values(self, chances: Chances, carried: Array) -> tuple[Array, Array]:
        """At an event of each cause (R, M, P, R c) and at censoring (M, P, R c)."""
        causes, members, pieces = self.survive.shape
        size = carried.shape[1]
        at_exit = np.empty((members, pieces, causes, size))
        at_event = np.empty((causes, members, pieces, causes, size))
        for k in range(causes):
            run = self.passed[k]
            lost = (self.survive[k] * chances.before)[:, :, None] * carried
            at_event[:, :, :, k] = run - lost
            at_event[k, :, :, k] += self.happen[k][:, :, None] * carried
            at_exit[:, :, k] = run - lost - self.survive[k][:, :, None] * carried
        return at_event.reshape(*at_event.shape[:3], -1), at_exit.reshape(members, pieces, -1)


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
        found.append((baseline + (members.columns @ mapping[time:])[:, pieces.stretches]) / bound)
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

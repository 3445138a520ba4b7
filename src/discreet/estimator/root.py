"""The estimate from the picture: where the full score, predicted from the released sums, has its root.

Conventions
-----------
    U_hat(f) = E_U + D_U step + S_Uy alpha = sum over members and pieces z [ b(f) events - a(f) time ]
    events, time   what the released sums predict: the same prediction of each, which does not depend on f
    b_i      (M,) alpha times what a member adds to the released sums, less the mean of all
    g_i      alpha times the scores and exits of a member, by the way to leave
    step     mu - phi + Pi D_y' alpha, next to nothing where the picture is fitted
    I        (R, d, d) expected information at f, members weighed by exp(n b_i / KAPPA); P the prior's

References: Powell (1978), a fast algorithm for nonlinearly constrained optimization (the damping);
Ortega and Rheinboldt (1970), chapter 12 (Newton and Kantorovich).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.estimator.constants import KANTOROVICH, KAPPA, MOVED
from discreet.estimator.expected import parts
from discreet.estimator.field import Field
from discreet.estimator.lives import Chances
from discreet.estimator.numerical import DAMPED, LONGEST, OVERSHOT, ROOT_ROUNDS, SETTLED
from discreet.types import Array


@dataclass(frozen=True, eq=False)
class Prediction:
    """U_hat as a function of f: `events` (R, M, P), `time` (M, P) and `tries` (R, M, P) of the members.

    `weights` (M,) are those of I.
    """

    field: Field
    events: Array
    time: Array
    tries: Array
    weights: Array

    @classmethod
    def of(cls, field: Field, phi: Array, step: Array, alpha: Array, shift: Array) -> "Prediction":
        """From the solution of the picture at phi; `shift` is b."""
        n, first = field.persons, field.observed[: len(field.mix)]
        (eta, leave), (ahead, later) = field.hazards(phi), field.hazards(phi + step)
        given = field.members.entry, field.pieces.lengths
        chances = Chances.of(field.transcript.link, eta, leave, *given)
        ways, own = chances.ways, np.empty(chances.ways.shape)
        sums = alpha[: int(first.sum())] @ field.mix[first]
        for part in parts(field):
            own[part.chosen] = part.effects(part.lives(phi, own_points(field, phi)), sums)
        rest = np.sum(ways * own, axis=1, keepdims=True)
        moves = np.concatenate([ahead - eta, (later - leave)[None]])
        # how many more leave in each way than are expected: along the step, and with g
        change = np.einsum("mbkp,bmp->mkp", chances.turns, moves)
        change += chances.at_risk[:, None] * ways * (own - rest)
        at_risk = 1.0 + (1.0 + n / KAPPA) * shift  # then those that leave, piece by piece
        left = np.empty_like(change)
        for j in range(left.shape[2]):
            left[:, :, j] = change[:, :, j] + at_risk[:, None] * ways[:, :, j]
            at_risk = at_risk - left[:, :, j].sum(axis=1)
        left *= n * field.members.weights[:, None, None]
        gone = left.sum(axis=1)
        later = np.cumsum(gone[:, ::-1], axis=1)[:, ::-1] - gone
        time = field.pieces.lengths * later + chances.before * gone + left[:, -1]
        time[np.arange(left.shape[2]) < field.members.entry[:, None]] = 0.0
        logs = np.clip(n / KAPPA * shift, -MOVED, MOVED)
        weights = n * field.members.weights * np.exp(logs)
        return cls(field, left[:, :-1].transpose(1, 0, 2), time, chances.tries, weights)

    def at(self, f: Array) -> tuple[Array, Array]:
        """U_hat (R, d) and I (R, d, d)."""
        field = self.field
        survive, happen = field.slopes(f)
        found = (happen * self.events - survive * self.time) @ field.carried
        carrier, times = field.score_rows
        rows = [np.sum(one[:, carrier] * times, axis=0) for one in found]
        whole = field.mapped(np.eye(field.layout.size))
        information = field.informations(self.tries * survive * happen, self.weights)
        return np.array(rows) @ whole.T, information


def own_points(field: Field, phi: Array) -> Array:
    """The picture's own parameters of the model (R, d)."""
    return np.array([phi[field.layout.f(r)] for r in range(field.layout.causes)])


def root(prediction: Prediction, starts: Sequence[Array], held: Array) -> tuple[Array, Array]:
    """f with U_hat(f) = P (f - f_0), f_0 the start with the least predicted score, and I + P; `held` is P.

    Minus U_hat is the gradient of a loss, that of the people as the released sums would have them: BFGS
    from I + P, for each cause, a step beyond the root along it cut by the secant rule. Along a direction
    of which the cohort has no information the exact fit is as far from the start as the prior allows.
    A linear prediction may be of fewer than no events, where few people are: U_hat then has no root. By
    the theorem of Newton and Kantorovich one that the first step leads to lies within twice that step,
    in units of I + P: f goes no further.
    """

    def at(f: Array) -> tuple[Array, Array]:
        score, information = prediction.at(f)
        return score - np.einsum("rij,rj->ri", held, f - start), information + held

    tried = [(*prediction.at(one), one) for one in starts]
    sizes = [
        float(np.sum(np.linalg.solve(own + held, score[:, :, None])[:, :, 0] * score))
        for score, own, _ in tried
    ]
    score, own, start = tried[int(np.argmin(sizes))]
    f, first = start, own + held
    bend, information, furthest = first.copy(), first, np.inf
    for number in range(ROOT_ROUNDS):
        move = np.asarray(np.linalg.solve(bend, score[:, :, None])[:, :, 0], dtype=np.float64)
        if np.sum(move * score) < SETTLED**2 * move.size:
            break
        if number == 0:
            furthest = KANTOROVICH * _length(first, move)
        move *= min(1.0, LONGEST / max(reach(prediction.field, move), 1e-300))
        ahead, information = at(f + move)
        before, after = np.sum(move * score, axis=1), np.sum(move * ahead, axis=1)
        if np.any(after < -OVERSHOT * before):
            part = np.where(after < 0.0, before / np.maximum(before - after, 1e-300), 1.0)
            move *= part[:, None]
            ahead, information = at(f + move)
        whole = _length(first, f + move - start)
        if whole > furthest:
            f = start + furthest / whole * (f + move - start)
            return f, at(f)[1]
        for r in range(len(f)):
            s, y, seen = move[r], score[r] - ahead[r], bend[r] @ move[r]
            size = s @ seen
            if s @ y < DAMPED * size:
                part = (1.0 - DAMPED) * size / (size - s @ y)
                y = part * y + (1.0 - part) * seen
            bend[r] += np.outer(y, y) / (s @ y) - np.outer(seen, seen) / size
        f, score = f + move, ahead
    return f, information


def _length(metric: Array, move: Array) -> float:
    return float(np.sqrt(np.einsum("ri,rij,rj->", move, metric, move)))


def reach(field: Field, move: Array) -> float:
    """By how much a move of f changes predictors: in root mean square, and along the baseline."""
    lay, pieces = field.layout, field.pieces
    time = lay.strata * pieces.basis.shape[1]
    effects = np.mean(field.members.times(move[:, time:].T) ** 2, axis=1)
    level = pieces.basis @ move[:, :time].reshape(lay.causes * lay.strata, -1).T
    spread = np.sqrt(np.max(field.members.weights @ effects))
    return float(max(spread, np.abs(level).mean(axis=0).max()))

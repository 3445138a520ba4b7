"""The estimate: the root of the predicted full score, with its covariance.

Conventions
-----------
    phi ~ N(mu, Pi); y = E(phi) + noise; rows of y and of the full score U as in `field`

    S      = D Pi D' + (n + n^2 / KAPPA) Cov_p E(t | x) + n E_p Cov(t | x)
    V      = S_yy + N,  gap = y - E_y - D_y (mu - phi),  alpha = V^-1 gap
    phi   <- mu + Pi D_y' alpha                                 (the step halved until the misfit falls)
    U_hat  = E_U + D_U (mu - phi) + S_Uy alpha,   f its root (`root`)
    cov    = I^-1 + c I^-1 MSE(U) I^-1,           c = max(1, gap'alpha / number of y)

Cov_p E(t | x) has rank M - 1 and D Pi D' at most len(phi), so V is a block for scores and exits, a
diagonal, and a matrix of low rank: solving costs rows times rank^2, not rows^3.

References: Harville (1976), Goldberger (1962), best linear unbiased prediction; Searle, Casella and
McCulloch (1992), chapter 7.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve

from discreet.estimator.constants import CAUCHY, KAPPA
from discreet.estimator.expected import Expected, expectations
from discreet.estimator.field import Field
from discreet.estimator.numerical import HALVINGS, JITTER, LONGEST, RANK, RISE, ROUNDS, STILL
from discreet.estimator.root import Prediction, own_points, reach, root
from discreet.types import Array


@dataclass(frozen=True)
class Prior:
    """phi ~ N(mean, covariance); `effects` (d,) are precisions of Cauchy densities, 0 for none."""

    mean: Array
    covariance: Array
    effects: Array

    def pulled(self, field: Field, f: Array) -> Array:
        """The covariance of the normal density that pulls at f as it and the Cauchy densities do.

        With the scale CAUCHY p^-1/2 these have the slope -2 p f / (CAUCHY^2 + p f^2): most effects are
        small and are held back, and large ones hardly more than by the normal density.
        """
        found, lay = self.covariance.copy(), field.layout
        for r in range(lay.causes):
            own, times = lay.f(r), 2.0 / (CAUCHY**2 + self.effects * f[r] ** 2)
            held = np.linalg.inv(found[own, own]) + np.diag(self.effects * times)
            found[own, own] = np.linalg.inv(held)
        return found


class Solver:
    """V^-1 for V = block + diagonal + Q Q': by Woodbury's identity where that is cheaper."""

    def __init__(self, block: Array, diagonal: Array, low: Array) -> None:
        size = len(block)
        square = np.sum(low**2, axis=1)
        block = block + JITTER * np.diag(np.diag(block) + square[:size])
        diagonal = diagonal + JITTER * square[size:]
        self.size, self.low, self.dense = size, low, low.shape[1] >= low.shape[0]
        if self.dense:
            whole = low @ low.T
            whole[:size, :size] += block
            rest = np.arange(size, len(low))
            whole[rest, rest] += diagonal
            self.whole = cho_factor(whole)
            return
        self.block, self.diagonal = cho_factor(block), diagonal
        self.half = self._plain(low)
        self.core = cho_factor(np.eye(low.shape[1]) + low.T @ self.half)

    def _plain(self, right: Array) -> Array:
        top = cho_solve(self.block, right[: self.size])
        return np.concatenate([top, (right[self.size :].T / self.diagonal).T])

    def __call__(self, right: Array) -> Array:
        """V^-1 right."""
        if self.dense:
            return np.asarray(cho_solve(self.whole, right), dtype=np.float64)
        plain = self._plain(right)
        found = plain - self.half @ cho_solve(self.core, self.low.T @ plain)
        return np.asarray(found, dtype=np.float64)


def root_of(matrix: Array) -> Array:
    """The symmetric root of a matrix, of its eigenvalues that are positive."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


@dataclass(frozen=True, eq=False)
class Linear:
    """All sums linearised at a picture, with a covariance of phi."""

    field: Field
    expected: Expected
    covariance: Array

    @cached_property
    def root(self) -> Array:
        """Pi^1/2."""
        return root_of(self.covariance)

    @cached_property
    def low(self) -> Array:
        """Q of all rows: [sqrt(n + n^2 / KAPPA) (between sqrt p), D Pi^1/2]."""
        n = self.field.persons
        weights = np.sqrt((n + n**2 / KAPPA) * self.field.members.weights)
        across = (self.expected.between * weights[:, None]).T
        return np.hstack([across, self.expected.slope @ self.root])

    @cached_property
    def block(self) -> Array:
        """n E_p Cov(t | x) of the observed scores and exits, with their noise."""
        own = self.field.observed[: len(self.expected.within)]
        within = self.expected.within[np.ix_(own, own)]
        return np.asarray(within + np.diag(self.field.noise[: len(within)] ** 2))

    def solver(self, columns: slice = slice(None)) -> Solver:
        """V^-1, of Q some columns."""
        low = self.low[self.field.observed][:, columns]
        return Solver(self.block, self.field.noise[len(self.block) :] ** 2, low)

    @cached_property
    def inverse(self) -> Solver:
        """V^-1."""
        return self.solver()

    @cached_property
    def fixed(self) -> Solver:
        """V^-1 were phi known: what a misfit is measured by."""
        return self.solver(slice(0, len(self.field.members.weights)))

    @cached_property
    def across(self) -> Array:
        """S_Uy."""
        observed, within = self.field.observed, self.expected.within
        found = self.low[~observed] @ self.low[observed].T
        own = observed[: len(within)]
        found[:, : int(own.sum())] += within[np.ix_(~own, own)]
        return np.asarray(found)

    @cached_property
    def gain(self) -> Array:
        """G = S_Uy V^-1."""
        return np.asarray(self.inverse(self.across.T).T)

    def error(self, gain: Array) -> Array:
        """MSE(U) = S_UU - G S_yU - S_Uy G' + G V G' of a linear prediction with the gain G.

        As the covariance of U - G y, part by part: where U varies without limit, differences of these
        products would be rounding alone.
        """
        own, within = self.field.observed, self.expected.within
        first = own[: len(within)]
        turn = np.zeros((len(gain), len(within)))
        turn[:, first], turn[:, ~first] = -gain[:, : int(first.sum())], np.eye(len(gain))
        low = self.low[~own] - gain @ self.low[own]
        noise = gain * self.field.noise
        return np.asarray(low @ low.T + turn @ within @ turn.T + noise @ noise.T)

    def gap(self, away: Array) -> Array:
        """y - E_y - D_y (mu - phi), with mu - phi = away."""
        own, expected = self.field.observed, self.expected
        return np.asarray(self.field.released - expected.mean[own] - expected.slope[own] @ away)

    def misfit(self, away: Array, mean: Array) -> float:
        """Squared distance of the released sums from `mean`, and of phi from its prior by `away`."""
        left = self.field.released - mean[self.field.observed]
        held = np.linalg.solve(self.covariance, away)
        return float(left @ self.fixed(left) + away @ held)


@dataclass(frozen=True, eq=False)
class EstimatePoint:
    """f (R, d) and the picture phi, of which the next question is made.

    `informations` (R, d, d) are I; `misfit` is gap'alpha over the number of released sums, about 1 where
    the picture is right.
    """

    f: Array
    phi: Array
    informations: Array
    misfit: float

    @property
    def finite(self) -> bool:
        """Whether all numbers are."""
        return all(np.all(np.isfinite(one)) for one in vars(self).values())


@dataclass(frozen=True, eq=False)
class Estimate(EstimatePoint):
    """With the covariance of f (R d, R d), the part of it that is sampling, and the `spread` of phi."""

    covariance: Array
    sampling: Array
    spread: Array


def point(field: Field, prior: Prior, phi: Array, f: Array, rounds: int = ROUNDS) -> EstimatePoint:
    """The root of the predicted full score, from a start; the prior's mean where linear algebra fails."""
    with np.errstate(all="ignore"):
        try:
            found, _ = _rooted(field, prior, phi, f, rounds)
        except np.linalg.LinAlgError:
            return _unknown(field, prior)
    return found if found.finite else _unknown(field, prior)


def estimate(field: Field, prior: Prior, phi: Array, f: Array) -> Estimate:
    """The same, and how far off it may be.

    A budget is spent by now, so there is an estimate whatever the released numbers are: where linear
    algebra fails it is the prior's.
    """
    with np.errstate(all="ignore"):
        try:
            found, pulled = _rooted(field, prior, phi, f, ROUNDS)
            linear = Linear(field, expectations(field, found.phi, found.f), pulled)
            numbers = found.f, found.phi, found.informations, found.misfit
            errors = _covariance(linear, prior, found.informations, max(1.0, found.misfit))
            whole = Estimate(*numbers, *errors, _spread(linear, prior))
        except np.linalg.LinAlgError:
            return _unknown(field, prior)
    return whole if whole.finite else _unknown(field, prior)


def _unknown(field: Field, prior: Prior) -> Estimate:
    """The prior alone: nothing was learned."""
    lay = field.layout
    own = [prior.covariance[lay.f(r), lay.f(r)] for r in range(lay.causes)]
    covariance, f = block_diag(*own), np.array([prior.mean[lay.f(r)] for r in range(lay.causes)])
    known = f, prior.mean, np.linalg.inv(np.array(own)), np.inf
    return Estimate(*known, covariance, covariance, prior.covariance)


def _rooted(
    field: Field, prior: Prior, phi: Array, f: Array, rounds: int
) -> tuple[EstimatePoint, Array]:
    """The point, and the covariance of phi with which it was predicted."""
    phi, linear, alpha = _fitted(field, prior, phi, f, rounds)
    away = prior.mean - phi
    gap = linear.gap(away)
    misfit = float(gap @ alpha) / len(gap)
    step = away + linear.covariance @ (linear.expected.slope[field.observed].T @ alpha)
    shift = linear.expected.between[:, field.observed] @ alpha
    prediction = Prediction.of(field, phi, step, alpha, shift)
    starts = own_points(field, phi), f
    f, informations = root(prediction, starts, precisions(field, prior))
    return EstimatePoint(f, phi, informations, misfit), linear.covariance


def precisions(field: Field, prior: Prior) -> Array:
    """P of each cause (R, d, d): the normal prior's precision of f."""
    lay = field.layout
    own = [lay.f(r) for r in range(lay.causes)]
    return np.array([np.linalg.inv(prior.covariance[one, one]) for one in own])


def _fitted(
    field: Field, prior: Prior, phi: Array, f: Array, rounds: int
) -> tuple[Array, Linear, Array]:
    """phi, the sums linearised there, and alpha: Gauss-Newton, steps halved until the misfit falls."""
    expected = expectations(field, phi, f)
    for number in range(1, rounds + 1):
        linear = Linear(field, expected, prior.pulled(field, own_points(field, phi)))
        away = prior.mean - phi
        alpha = linear.inverse(linear.gap(away))
        step = away + linear.covariance @ (expected.slope[field.observed].T @ alpha)
        length = _size(field, step)
        if number == rounds or length < STILL:
            break
        here, size = linear.misfit(away, expected.mean), min(1.0, LONGEST / length)
        for _ in range(HALVINGS):
            expected = expectations(field, phi + size * step, f)
            if linear.misfit(away - size * step, expected.mean) <= here + RISE:
                break
            size /= 2.0
        phi = phi + size * step
    return phi, linear, alpha


def _size(field: Field, step: Array) -> float:
    """By how much a step of phi changes predictors; of censoring a third counts."""
    lay = field.layout
    found = [reach(field, np.array([step[lay.f(r)] for r in range(lay.causes)]))]
    for r in range(lay.causes):
        found += [np.abs(step[lay.delta(r)]).max(), np.abs(step[lay.theta(r)]).max(initial=0.0)]
        found.append(np.abs(step[lay.bend(r)]).max(initial=0.0))
    return float(max(*found, np.abs(step[lay.censoring.start :]).max() / 3.0))


def _covariance(
    linear: Linear, prior: Prior, informations: Array, factor: float
) -> tuple[Array, Array]:
    """(covariance, sampling) of the estimate as it was made, were effects as the normal prior says.

    What the Cauchy densities would promise holds for effects that are as small as they say.
    """
    plain = Linear(linear.field, linear.expected, prior.covariance)
    error = plain.error(linear.gain)
    inverse = block_diag(*np.linalg.inv(informations))
    own = ~linear.field.observed[: len(linear.expected.within)]
    sampling = sampling_of(linear.expected.within[np.ix_(own, own)], informations)
    return np.asarray(sampling + factor * inverse @ error @ inverse), sampling


def sampling_of(within: Array, informations: Array) -> Array:
    """J^-1 of each cause; causes share the intervals without an event, and are as correlated as their scores.

    In units of the scores' own deviations: a root of a matrix of unlike units is rounding alone.
    """
    causes, size = informations.shape[:2]
    found = block_diag(*np.linalg.inv(informations))
    scale = 1.0 / np.sqrt(np.maximum(np.diag(within), 1e-300))
    within = within * np.outer(scale, scale)
    parts = [slice(r * size, (r + 1) * size) for r in range(causes)]
    roots = [np.linalg.pinv(root_of(within[p, p]), rcond=RANK, hermitian=True) for p in parts]
    turns = [
        (root_of(found[p, p] / np.outer(scale[p], scale[p])) @ root) * scale[p][:, None]
        for p, root in zip(parts, roots, strict=True)
    ]
    for r, p in enumerate(parts):
        for k, q in enumerate(parts[:r]):
            found[p, q] = turns[r] @ within[p, q] @ turns[k].T
            found[q, p] = found[p, q].T
    return np.asarray(found)


def _spread(linear: Linear, prior: Prior) -> Array:
    """The covariance of phi given the released sums."""
    plain = Linear(linear.field, linear.expected, prior.covariance)
    slope = linear.expected.slope[linear.field.observed] @ prior.covariance
    return np.asarray(prior.covariance - slope.T @ plain.inverse(slope))

"""Noisy gradient descent on the discrete-time loss: full batch, every person's gradient clipped.

With y_is = exp(a'B_s + b'x_i), interval s of person i adds y (survived) or -y / (e^y - 1) (the event) to the
slope of the cloglog loss (`discreet.design.link`), so a person's gradient is

    g_i = sum_s slope_is (B_s, x_i),    clipped to |g_i| <= C.

T steps f <- f - rate * (sum_i clipped g_i + noise) / n, each a Gaussian mechanism of sensitivity 2 C (a person
replaced). T of them are as private as one with 1/sqrt(T) of the noise, whose exact (epsilon, delta) is that of Balle
and Wang (2018): no accountant can allow less noise. This is Abadi et al. (2016) without sampling, which is better
here: all people fit into memory. The estimate is the mean of the last half of the steps.
"""

from collections.abc import Sequence
from itertools import product
from typing import ClassVar

import numpy as np
from peer import Answer, OneByOne, Setting, exact_discrete
from people import Array, People
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from discreet.design.baseline import NaturalSpline


class NoisyDescent(OneByOne):
    """Tuned on the data over steps, clipping and rate."""

    name: ClassVar[str] = "descent"
    label: ClassVar[str] = "noisy gradient descent, tuned on the data"

    def exact(self, people: People) -> Answer:
        """Return the cloglog fit."""
        return exact_discrete(people, "cloglog")

    def settings(self) -> Sequence[Setting]:
        """Return a grid of 120; the scale is that of the columns of time, which weighs them in the norm."""
        grid = product((20, 60, 200), (0.3, 0.6, 1.2, 2.4), (2.0, 4.0, 8.0, 16.0, 32.0), (0.4, 1.0))
        return [{"steps": t, "clip": c, "rate": r, "scale": s} for t, c, r, s in grid]

    def fit(
        self, people: People, epsilon: float, delta: float, setting: Setting, seed: int
    ) -> Answer:
        """Return one draw; noise in floating point."""
        random = np.random.default_rng(seed)
        basis = setting["scale"] * orthonormal(people.intervals)
        steps, clip, rate = setting["steps"], setting["clip"], setting["rate"]
        deviation = 2 * clip * np.sqrt(steps) / separation(epsilon, delta)
        parts = basis.shape[1]
        point, total = np.zeros(parts + people.columns.shape[1]), 0.0
        point[:parts] = np.log(0.02) * basis.sum(axis=0) / np.sum(basis**2, axis=0)
        for step in range(steps):
            noisy = clipped_sum(people, basis, point, clip)
            noisy += deviation * random.normal(size=len(point))
            # the box that ends a run which diverges; every estimate lies far inside
            point = (point - rate * noisy / len(people)).clip(-20, 20)
            total = total + point if step >= steps // 2 else 0.0
        mean = np.asarray(total) / (steps - steps // 2)
        alpha, beta = np.split(mean, [parts])
        return Answer(beta, None, basis @ alpha - people.middle @ beta)


class FixedDescent(NoisyDescent):
    """One setting for all sets, as somebody needs who may not tune on private data: the best in hindsight."""

    name: ClassVar[str] = "descent-fixed"
    label: ClassVar[str] = "noisy gradient descent, one setting for all"

    def settings(self) -> Sequence[Setting]:
        """Return the one setting."""
        return [{"steps": 200, "clip": 1.2, "rate": 4.0, "scale": 0.4}]


def orthonormal(intervals: int) -> Array:
    """Return the natural spline with columns of mean square 1 that are orthogonal over the grid."""
    basis, _ = np.linalg.qr(NaturalSpline(3).basis(intervals))
    return np.asarray(basis * np.sqrt(intervals) * np.sign(basis[0, 0]))


def separation(epsilon: float, delta: float) -> float:
    """Return the largest sensitivity / deviation of a Gaussian mechanism that is (epsilon, delta)-DP."""

    def excess(mu: float) -> float:
        other = np.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2))
        return float(ndtr(mu / 2 - epsilon / mu) - other - delta)

    return float(brentq(excess, 1e-3, 50.0, xtol=1e-12))


def clipped_sum(people: People, basis: Array, point: Array, clip: float) -> Array:
    """Return the sum of clipped gradients, (3 + p,), in O(n p + q) by sums over intervals made once."""
    parts, (alpha, beta) = basis.shape[1], np.split(point, [basis.shape[1]])
    columns = people.centred
    level = np.exp(np.clip(basis @ alpha, -30, 30))
    risk = np.exp(np.clip(columns @ beta, -30, 30))
    sums = np.vstack([np.zeros(parts), np.cumsum(basis * level[:, None], axis=0)])
    mass = np.concatenate([[0.0], np.cumsum(level)])
    survived = np.where(people.event, people.last - 1, people.last)
    rate = np.minimum(level[people.last - 1] * risk, 700.0)
    final = np.where(people.event, -rate / np.expm1(np.maximum(rate, 1e-12)), 0.0)
    time = sums[survived] * risk[:, None] + final[:, None] * basis[people.last - 1]
    along = mass[survived] * risk + final
    length = np.sqrt((time**2).sum(axis=1) + along**2 * (columns**2).sum(axis=1))
    share = np.minimum(1.0, clip / np.maximum(length, 1e-12))
    return np.concatenate([share @ time, (share * along) @ columns])

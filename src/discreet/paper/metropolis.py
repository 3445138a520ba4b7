"""The reference: a Metropolis-adjusted Langevin chain with the full gradient.

Proposal f' = f - (h/2) C grad E(f) + N(0, h C) for a constant C, accepted with the probability

    min(1, exp(E(f) - E(f')) q(f | f') / q(f' | f)),

which makes exp(-E) exactly invariant whatever h and C are: they decide the speed only.
Reference: Roberts and Tweedie (1996); Roberts and Rosenthal (1998) for h of the order d^(-1/3).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.types import Array

Energy = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True)
class Draws:
    """States of one chain and the share of accepted proposals."""

    points: Array
    acceptance: float


@dataclass(frozen=True)
class Metropolis:
    """draws: states kept. burn_in: states dropped first. step: h in units of 2.7 d^(-1/3)."""

    draws: int = 5000
    burn_in: int = 500
    step: float = 1.0

    def sample(
        self, energy: Energy, start: Array, covariance: Array, random: np.random.Generator
    ) -> Draws:
        """Run one chain; ``energy`` gives E and its gradient, ``covariance`` is C."""
        size = 2.7 * self.step * len(start) ** (-1.0 / 3.0)
        root = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
        chain = _Walk(energy, np.asarray(start, dtype=np.float64), root, size)
        points = np.empty((self.draws, len(start)))
        for _ in range(self.burn_in):
            chain.step(random)
        chain.accepted = 0
        for index in range(self.draws):
            chain.step(random)
            points[index] = chain.point
        return Draws(points, chain.accepted / self.draws)


class _Walk:
    """The state of the chain: a point, its energy and where its proposals are centred."""

    def __init__(self, energy: Energy, point: Array, root: Array, size: float) -> None:
        self.point = point
        self.accepted = 0
        self._energy, self._root, self._size = energy, root, size
        self._value, self._centre = self._look(point)

    def step(self, random: np.random.Generator) -> None:
        """Propose and decide."""
        noise = random.standard_normal(len(self.point))
        proposal = self._centre + np.sqrt(self._size) * (self._root @ noise)
        value, centre = self._look(proposal)
        back = np.linalg.solve(self._root, self.point - centre)
        logarithm = self._value - value - 0.5 * float(back @ back) / self._size
        logarithm += 0.5 * float(noise @ noise)
        if np.log(random.uniform()) < logarithm:
            self.point, self._value, self._centre = proposal, value, centre
            self.accepted += 1

    def _look(self, point: Array) -> tuple[float, Array]:
        value, gradient = self._energy(point)
        return value, point - 0.5 * self._size * (self._root @ (self._root.T @ gradient))

"""The reference: a Metropolis-adjusted Langevin chain with the full gradient.

Proposal f' = f - (h/2) C grad E(f) + N(0, h C) for a constant C, accepted with the probability

    min(1, exp(E(f) - E(f')) q(f | f') / q(f' | f)),

which makes exp(-E) exactly invariant whatever h and C are: they decide the speed only.
Reference: Roberts and Tweedie (1996); Roberts and Rosenthal (1998) for h of the order d^(-1/3).
"""

from collections.abc import Callable

import numpy as np

from discreet.types import Array

Energy = Callable[[Array], tuple[float, Array]]


def metropolis(
    energy: Energy,
    start: Array,
    covariance: Array,
    random: np.random.Generator,
    *,
    draws: int,
    burn_in: int,
) -> Array:
    """Run one chain and keep the states after the first ``burn_in``.

    energy: E and its gradient. covariance: C; h is 2.7 d^(-1/3).
    """
    size = 2.7 * len(start) ** (-1.0 / 3.0)
    root = np.linalg.cholesky(covariance)

    def look(point: Array) -> tuple[float, Array]:
        value, gradient = energy(point)
        return value, point - 0.5 * size * (root @ (root.T @ gradient))

    point = np.asarray(start, dtype=np.float64)
    value, centre = look(point)
    points = np.empty((draws, len(start)))
    for index in range(-burn_in, draws):
        noise = random.standard_normal(len(point))
        proposal = centre + np.sqrt(size) * (root @ noise)
        proposed_value, proposed_centre = look(proposal)
        back = np.linalg.solve(root, point - proposed_centre)
        logarithm = value - proposed_value - 0.5 * float(back @ back) / size
        logarithm += 0.5 * float(noise @ noise)
        if np.log(random.uniform()) < logarithm:
            point, value, centre = proposal, proposed_value, proposed_centre
        if index >= 0:
            points[index] = point
    return points

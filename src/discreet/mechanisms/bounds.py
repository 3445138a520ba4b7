"""The sensitivities of the perturbation mechanisms, from public facts.

Notation: z_s = (B_s, x) with |x| <= X (X = 1, or 0 without covariates), r_s = sup |z_s|,
lambda the largest eigenvalue of the mean of B_s B_s', M = max_s |B_s|; kappa bounds the curvature
of an interval's loss in eta, k is the ridge of the total objective. Proofs:
`docs/proofs/output-perturbation.md` (gradients), `objective-perturbation.md` (Hessians).

Every bound is returned with a relative margin for the rounding of its own evaluation, upwards.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.types import Array

MARGIN = 1.0 + 2.0**-40
"""Covers the rounding of a few thousand positive terms: bounds are rounded up."""

ANGLES = 1 << 11
_ANGLES = np.linspace(0.0, math.pi / 2, ANGLES + 1)
_SINES, _COSINES = np.sin(_ANGLES), np.cos(_ANGLES)


@dataclass(frozen=True)
class Basis:
    """The public basis of the bounds: its rows B_s, and whether there are covariates."""

    rows: Array
    has_covariates: bool

    @property
    def intervals(self) -> int:
        """q, the number of intervals."""
        return len(self.rows)

    @property
    def dimension(self) -> int:
        """e, the number of functions."""
        return self.rows.shape[1]

    @property
    def radius(self) -> float:
        """X, the bound on |x|."""
        return 1.0 if self.has_covariates else 0.0

    @cached_property
    def gram(self) -> Array:
        """G = sum_s B_s B_s'."""
        return self.rows.T @ self.rows

    @cached_property
    def norms(self) -> Array:
        """|B_s|."""
        return np.linalg.norm(self.rows, axis=1)

    @cached_property
    def record_norms(self) -> Array:
        """r_s = sqrt(|B_s|^2 + X^2)."""
        return np.hypot(self.norms, self.radius)

    @cached_property
    def spread(self) -> float:
        """lambda, the largest eigenvalue of G / q."""
        return float(np.linalg.eigvalsh(self.gram / self.intervals)[-1])

    @cached_property
    def constant(self) -> Array:
        """v with v'B_s = 1 for every s (every baseline spans the constants)."""
        return np.asarray(np.linalg.lstsq(self.rows, np.ones(self.intervals), rcond=None)[0])


@dataclass(frozen=True)
class Slopes:
    """Bounds on the slope of an interval's loss: 0 <= phi' <= u_s, -v_s <= psi' <= 0, u <= v."""

    survival: Array
    event: Array

    @classmethod
    def constant(cls, intervals: int, bound: float) -> "Slopes":
        """Return u_s = v_s = bound, such as 1 for the logit link's slopes at every f."""
        return cls(np.full(intervals, bound), np.full(intervals, bound))

    def __post_init__(self) -> None:
        # where u > v the larger bound holds for both
        object.__setattr__(self, "event", np.maximum(self.event, self.survival))


def gradient_sensitivity(basis: Basis, slopes: Slopes) -> float:
    """sup over f and pairs of persons of |grad loss(f; d) - grad loss(f; d')|: the better bound."""
    return min(vertex_bound(basis, slopes), direction_bound(basis, slopes))


def vertex_bound(basis: Basis, slopes: Slopes) -> float:
    """sum_s m_s + max { max_s EE_s, max_s ES_s + max_s EA_s }, m_s = u_s max(r_s, 2X).

    The difference of two persons is convex in their two slopes, so it is largest at a vertex of
    the box they lie in. What an event adds to m_s: ES = (u + v) r - m where the other survives,
    EA = v r - m where the other is absent, EE = v max(r, 2X) - m where both have theirs.
    With u = v = 1 this is sum_s m_s + max_s (2 r_s - m_s).
    """
    survival, event = slopes.survival, slopes.event
    norms = basis.record_norms
    widest = np.maximum(norms, 2.0 * basis.radius)
    ordinary = survival * widest
    both = (event - survival) * widest
    one = np.maximum((survival + event) * norms - ordinary, 0.0)
    alone = np.maximum(event * norms - ordinary, 0.0)
    return float((ordinary.sum() + max(both.max(), one.max() + alone.max())) * MARGIN)


def direction_bound(basis: Basis, slopes: Slopes) -> float:
    """The largest component of the difference along (a, b), |a| = sin t, |b| = cos t.

    With u, v the largest slopes, y = M sin t and c = X cos t it is at most

        u q (c + sqrt(lambda sin^2 t + c^2)) + max { EE, ES + max(EA, 0) },
        ES = v (y + c) - u (c - y)^+,   EA = ES - u (y + c),   EE = (v - u) (c + max(y, c)).

    Evaluated on a grid of angles; the Lipschitz constant times half a step covers the rest.
    """
    count, radius, largest = basis.intervals, basis.radius, float(basis.norms.max())
    survival, event = float(slopes.survival.max()), float(slopes.event.max())
    root = math.sqrt(basis.spread)
    along, across = largest * _SINES, radius * _COSINES
    ordinary = survival * count * (across + np.sqrt(basis.spread * _SINES**2 + across**2))
    one = event * (along + across) - survival * np.maximum(across - along, 0.0)
    alone = np.maximum(one - survival * (along + across), 0.0)
    both = (event - survival) * (across + np.maximum(along, across))
    values = ordinary + np.maximum(both, one + alone)
    lipschitz = survival * count * (radius + max(root, radius)) + 4.0 * event * (largest + radius)
    return float((values.max() + lipschitz * (math.pi / 4) / ANGLES) * MARGIN)


def gradient_bound(basis: Basis, slopes: Slopes) -> float:
    """sup |grad loss(f; d)| of one person: sum_s u_s r_s + max_s v_s r_s."""
    norms = basis.record_norms
    return float(((slopes.survival * norms).sum() + (slopes.event * norms).max()) * MARGIN)


def jacobian_bound(
    basis: Basis, covariates: int, curvature: float, ridge: float, *, time_varying: bool
) -> float:
    """sup log det(C + E) / det(C + E') over C >= ridge I and the Hessians E, E' of two persons."""
    bounds = [
        rank_bound(basis, covariates, curvature, ridge),
        block_bound(basis, covariates, curvature, ridge),
    ]
    if not time_varying:
        bounds.append(constant_covariate_bound(basis, curvature, ridge))
    return min(bounds)


def rank_bound(basis: Basis, covariates: int, curvature: float, ridge: float) -> float:
    """m log(1 + kappa sum_s r_s^2 / (m k)), m = min(d, q) the rank of a person's Hessian."""
    rank = min(basis.dimension + covariates, basis.intervals)
    trace = curvature * float((basis.record_norms**2).sum())
    return rank * math.log1p(trace / (rank * ridge)) * MARGIN


def block_bound(basis: Basis, covariates: int, curvature: float, ridge: float) -> float:
    """log det(I + kappa G / k) + p log(1 + kappa q / (p k)), by Fischer's inequality."""
    baseline = _log_determinant(basis.gram * (curvature / ridge))
    if covariates == 0:
        return baseline * MARGIN
    share = curvature * basis.intervals / (covariates * ridge)
    return (baseline + covariates * math.log1p(share)) * MARGIN


def constant_covariate_bound(basis: Basis, curvature: float, ridge: float) -> float:
    """log det(I + kappa G (I + X^2 v v') / k) where x does not vary in time: rank e, not d."""
    constant = basis.constant
    inner = np.eye(basis.dimension) + basis.radius**2 * np.outer(constant, constant)
    factor = np.linalg.cholesky(inner)
    product = factor.T @ basis.gram @ factor
    return _log_determinant(product * (curvature / ridge)) * MARGIN


def _log_determinant(matrix: Array) -> float:
    """log det(I + matrix) of a symmetric positive semidefinite matrix."""
    return float(np.log1p(np.maximum(np.linalg.eigvalsh(matrix), 0.0)).sum())

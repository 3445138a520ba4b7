"""Direct summation over intervals: the fallback where c spans too wide a range for tables."""

import numpy as np

from discreet.likelihood.functions import Functions, Sums
from discreet.likelihood.rows import PrefixRows
from discreet.types import Array


def direct_sums(rows: PrefixRows, basis: Array, f: Array, functions: Functions) -> Sums:
    """Interval by interval over the rows that reach it: O(rows * q), no approximation."""
    size = basis.shape[1]
    positions = rows.covariates @ f[size:]
    sums = Sums.zeros(len(f))
    for step in range(rows.longest):
        here = slice(int(rows.starts[step]), None)
        sums += _interval_sums(
            rows, here, basis[step], basis[step] @ f[:size] + positions[here], functions
        )
    return sums


def _interval_sums(
    rows: PrefixRows, here: slice, basis: Array, eta: Array, functions: Functions
) -> Sums:
    """value, slope and curvature of one interval, expanded by z = (B_s, x)."""
    weights, covariates = rows.weights[here], rows.covariates[here]
    slope = weights * functions.slope(eta)
    curved = weights * functions.curvature(eta)
    cross = np.outer(basis, covariates.T @ curved)
    corner = (covariates * curved[:, None]).T @ covariates
    hessian = np.block([[np.outer(basis, basis) * curved.sum(), cross], [cross.T, corner]])
    gradient = np.concatenate([basis * slope.sum(), covariates.T @ slope])
    return Sums(float(weights @ functions.value(eta)), gradient, hessian)

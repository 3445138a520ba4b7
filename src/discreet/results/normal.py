"""Normal intervals: estimate +- z standard errors."""

import numpy as np
from scipy import special

from discreet.errors import SettingsError
from discreet.types import Array


def normal_quantile(confidence: float) -> float:
    """Return the z of a two-sided normal interval at this level."""
    if not 0 < confidence < 1:
        raise SettingsError("confidence must lie strictly between 0 and 1.")
    return float(special.ndtri(0.5 + confidence / 2))


def standard_errors(covariance: Array) -> Array:
    """Return the square roots of a covariance's diagonal; rounding below 0 counts as 0."""
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)))

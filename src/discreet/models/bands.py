"""Pointwise bands of survival curves, by the delta method.

    L(u) = -log S(u) = sum over intervals ended by u of phi(eta_s),   dL/df = sum phi'(eta_s) z_s

The band is symmetric for log L: S(u) = exp(-L exp(+-z se / L)), se^2 = (dL/df)' C (dL/df), so it
stays between 0 and 1. All on the user's scale, z_s = (A_s, x), with C the model's covariance (in a
private release it includes the privacy noise).

Reference: Kalbfleisch and Prentice (2002), section 1.4, on the log-log transformation.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from discreet.design.link import get_link
from discreet.models.model import Model
from discreet.types import Array


@dataclass(frozen=True)
class Band:
    """Survival at every grid point a_0, ..., a_q, and its limits where the covariance is known."""

    survival: Array
    lower: Array | None
    upper: Array | None


def user_vectors(model: Model, raw: Array, stratum: int = 0) -> Array:
    """z_s = (A_s in the places of the stratum's baseline, x), one row an interval."""
    basis = model.design.baseline.basis(model.design.intervals)
    vectors = np.zeros((len(basis), model.design.dimension))
    places = model.design.columns(stratum)
    vectors[:, places] = np.hstack([basis, np.tile(raw, (len(basis), 1))])
    return vectors


def survival_band(model: Model, raw: Array, confidence: float = 0.95, stratum: int = 0) -> Band:
    """The curve of one person with covariates ``raw`` (indicators for levels)."""
    link = get_link(model.link)
    vectors = user_vectors(model, raw, stratum)
    eta = vectors @ model.coefficients.vector
    total = np.concatenate([[0.0], np.cumsum(link.survival_loss(eta))])
    if model.covariance is None:
        return Band(np.exp(-total), None, None)
    slopes = np.cumsum(link.survival_loss_derivative(eta)[:, None] * vectors, axis=0)
    variance = np.einsum("sd,de,se->s", slopes, model.covariance, slopes)
    error = np.concatenate([[0.0], np.sqrt(np.maximum(variance, 0.0))])
    # at the start L = 0 and nothing is uncertain
    relative = np.divide(error, total, out=np.zeros_like(total), where=total > 0)
    factor = np.exp(np.minimum(special.ndtri(0.5 + confidence / 2) * relative, 700.0))
    return Band(np.exp(-total), np.exp(-total * factor), np.exp(-total / factor))

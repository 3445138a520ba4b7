"""Predictions with intervals, by the delta method, in the coordinates of the fit (or of the user).

    L(u) = -log S(u) = sum over intervals ended by u of phi(eta_s),    dL/df = sum phi'(eta_s) z_s
    R(t) = integral of S from the start to t,                          dR/df = -integral of S dL/df

S is a step function: it changes where an interval ends.  The interval of S is symmetric for log L,
so it stays between 0 and 1: S(u) = exp(-L exp(+-z se / L)); those of R and of differences are symmetric,
estimate +- z se.  The covariance is the model's, which in a release includes the privacy noise.

Reference: Kalbfleisch and Prentice (2002), section 1.4; Royston and Parmar (2013), on restricted
mean survival time.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from discreet.design.link import get_link
from discreet.documents.model import Model
from discreet.errors import SettingsError
from discreet.types import Array


class Estimate(NamedTuple):
    """A prediction and its interval; the limits are None where the model knows no covariance."""

    estimate: Array
    lower: Array | None
    upper: Array | None


@dataclass(frozen=True, eq=False)
class Person:
    """L at every grid point a_0, ..., a_q and its slope in the internal coefficients."""

    model: Model
    total: Array
    slopes: Array

    @classmethod
    def of(cls, model: Model, encoded: Array, stratum: int = 0) -> Self:
        """The person with these covariates in internal coordinates."""
        design, link = model.design, get_link(model.link)
        vectors = design.vectors(design.basis, encoded, stratum)
        eta = vectors @ model.internal.vector
        loss = link.survival_loss_derivative(eta)[:, None] * vectors
        total = np.concatenate([[0.0], np.cumsum(link.survival_loss(eta))])
        return cls(model, total, np.vstack([np.zeros(vectors.shape[1]), np.cumsum(loss, axis=0)]))

    @property
    def edges(self) -> Array:
        """a_0, ..., a_q."""
        return self.model.curves.grid.edges

    @property
    def survival(self) -> Array:
        """S at every grid point."""
        return np.asarray(np.exp(-self.total))

    def at(self, times: ArrayLike) -> Array:
        """Which grid points stand for the times: the number of intervals ended by then."""
        curves = self.model.curves
        return np.asarray(curves.grid.ended(curves.checked_times(times)), dtype=np.int64)

    def mean(self, until: float) -> tuple[float, Array]:
        """R and its slope."""
        (last,) = self.at([until])
        ends = np.append(self.edges[: last + 1], until)
        widths, survival = np.diff(ends), self.survival[: last + 1]
        return float(widths @ survival), -(widths * survival) @ self.slopes[: last + 1]


def survival_interval(person: Person, times: ArrayLike, confidence: float) -> Estimate:
    """S at the times."""
    places = person.at(times)
    return _log_log(person.total[places], _errors(person.model, person.slopes[places]), confidence)


def survival_band(model: Model, raw: Array, confidence: float = 0.95, stratum: int = 0) -> Estimate:
    """S at every grid point, of the person with these covariates on the user's own scale."""
    link, vectors = get_link(model.link), user_vectors(model, raw, stratum)
    eta = vectors @ model.coefficients.vector
    total = np.concatenate([[0.0], np.cumsum(link.survival_loss(eta))])
    if model.covariance is None:
        return _log_log(total, None, confidence)
    slopes = np.cumsum(link.survival_loss_derivative(eta)[:, None] * vectors, axis=0)
    error = _user_errors(model.covariance, slopes)
    return _log_log(total, np.concatenate([[0.0], error]), confidence)


def user_vectors(model: Model, raw: Array, stratum: int = 0) -> Array:
    """z_s on the user's own scale, with A_s in the place of B_s."""
    basis = model.design.baseline.basis(model.design.intervals)
    return model.design.vectors(basis, raw, stratum)


def median_interval(person: Person, confidence: float) -> Estimate:
    """The first grid point at which S is at most 1/2, and those at which its limits are."""
    found = survival_interval(person, person.edges, confidence)
    places = (None if band is None else _first_half(person.edges, band) for band in found)
    return Estimate(*places)  # type: ignore[arg-type]  # the estimate itself is never None


def mean_interval(person: Person, until: float, confidence: float) -> Estimate:
    """R, the mean of the time until the event or `until`, whichever comes first."""
    value, slope = person.mean(until)
    found = _symmetric(person.model, np.array([value]), slope[None, :], confidence)
    return _within(found, 0.0, until - float(person.edges[0]))


def difference_interval(
    one: Person, other: Person, times: ArrayLike, confidence: float
) -> Estimate:
    """S of the one minus S of the other at the times."""
    places = one.at(times)
    values = one.survival[places] - other.survival[places]
    slopes = (other.survival[:, None] * other.slopes - one.survival[:, None] * one.slopes)[places]
    return _within(_symmetric(one.model, values, slopes, confidence), -1.0, 1.0)


def mean_difference_interval(
    one: Person, other: Person, until: float, confidence: float
) -> Estimate:
    """R of the one minus R of the other."""
    (first, slope), (second, other_slope) = one.mean(until), other.mean(until)
    return _symmetric(
        one.model, np.array([first - second]), (slope - other_slope)[None, :], confidence
    )


def _log_log(total: Array, error: Array | None, confidence: float) -> Estimate:
    """exp(-L exp(+-z se / L)); at the start L = 0 and nothing is uncertain."""
    if error is None:
        return Estimate(np.exp(-total), None, None)
    relative = np.divide(error, total, out=np.zeros_like(total), where=total > 0)
    factor = np.exp(np.minimum(_quantile(confidence) * relative, 700.0))
    return Estimate(np.exp(-total), np.exp(-total * factor), np.exp(-total / factor))


def _symmetric(model: Model, values: Array, slopes: Array, confidence: float) -> Estimate:
    error = _errors(model, slopes)
    if error is None:
        return Estimate(values, None, None)
    margin = _quantile(confidence) * error
    return Estimate(values, values - margin, values + margin)


def _within(found: Estimate, low: float, high: float) -> Estimate:
    if found.lower is None or found.upper is None:
        return found
    return Estimate(
        found.estimate, np.clip(found.lower, low, high), np.clip(found.upper, low, high)
    )


def _errors(model: Model, slopes: Array) -> Array | None:
    """sqrt(g' C g) with the slopes g in internal coordinates and C the model's covariance."""
    if model.covariance is None:
        return None
    user = np.asarray(np.linalg.solve(model.design.to_user.T, slopes.T).T, dtype=np.float64)
    return _user_errors(model.covariance, user)


def _user_errors(covariance: Array, slopes: Array) -> Array:
    """The same with slopes in the user's coordinates."""
    variance = np.einsum("sd,de,se->s", slopes, covariance, slopes)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def _first_half(edges: Array, survival: Array) -> Array:
    reached = np.flatnonzero(survival <= 0.5)
    return np.array([edges[reached[0]] if len(reached) else np.inf])


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise SettingsError("confidence must lie strictly between 0 and 1.")
    return float(special.ndtri(0.5 + confidence / 2))

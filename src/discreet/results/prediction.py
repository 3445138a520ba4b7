"""Predictions with intervals, by the delta method, in the user's coordinates.

Symbols: q intervals; f the D coefficients (of several causes one after the other) with covariance C; z_s
the vector of interval s; eta its linear predictor; phi = -log(1 - h) of the link; o_r = exp(phi_r) - 1.

    L(u) = -log S(u) = sum over intervals ended by u of phi(eta_s),    dL/df = sum phi'(eta_s) z_s
    R(t) = integral of S from the start to t,                          dR/df = -integral of S dL/df

Of several causes phi is log(1 + sum_r o_r), with derivative exp(phi_r) phi_r' / (1 + sum o) in f_r, and

    F_r(u) = sum over intervals ended by u of S_s o_r,    dF_r/df = sum S_s (do_r/df - o_r dL_s/df).

S is a step function: it changes where an interval ends.  The interval of S is symmetric for log L, so it
stays between 0 and 1: S(u) = exp(-L exp(+-z se / L)), and that of F is 1 minus such an interval; those of R
and of differences are symmetric, estimate +- z se.  C is the model's, in a release with the privacy noise.

Reference: Kalbfleisch and Prentice (2002), section 1.4; Royston and Parmar (2013), on restricted
mean survival time.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from discreet.design.link import get_link
from discreet.documents.causes import Fitted
from discreet.results.normal import normal_quantile
from discreet.results.survival import LARGEST_LOSS
from discreet.types import Array


class Interval(NamedTuple):
    """An estimate and its limits, which are None where the model has no covariance."""

    estimate: Array
    lower: Array | None
    upper: Array | None


@dataclass(frozen=True, eq=False)
class Person:
    """L at every grid point a_0, ..., a_q and its slope in f, (q + 1,) and (q + 1, D).

    ``odds`` are o_r in every interval with their slopes in eta, (R, q); empty for one event.
    """

    model: Fitted
    vectors: Array
    total: Array
    slopes: Array
    odds: Array
    odds_slopes: Array

    @classmethod
    def of(cls, model: Fitted, raw: Array, stratum: int = 0) -> Self:
        """Return the person with these covariates on the user's scale."""
        design, link = model.design, get_link(model.link)
        vectors = design.vectors(design.baseline.basis(design.intervals), raw, stratum)
        eta = np.array([vectors @ part.vector for part in model.models.values()])
        loss, slope = link.survival_loss(eta), link.survival_loss_derivative(eta)
        odds = odds_slopes = np.empty((0, len(vectors)))
        if model.causes:
            odds = np.expm1(np.minimum(loss, LARGEST_LOSS))
            odds_slopes, whole = (1.0 + odds) * slope, odds.sum(axis=0)
            loss, slope = np.log1p(whole)[None], odds_slopes / (1.0 + whole)
        gradient = np.hstack([own[:, None] * vectors for own in slope])
        total = np.concatenate([[0.0], np.cumsum(loss[0])])
        slopes = np.vstack([np.zeros(gradient.shape[1]), np.cumsum(gradient, axis=0)])
        return cls(model, vectors, total, slopes, odds, odds_slopes)

    @property
    def edges(self) -> Array:
        """a_0, ..., a_q."""
        return self.model.curves.grid.edges

    @property
    def survival(self) -> Array:
        """S at every grid point."""
        return np.asarray(np.exp(-self.total))

    def at(self, times: ArrayLike) -> Array:
        """Return the number of intervals that have ended by each time."""
        curves = self.model.curves
        return np.asarray(curves.grid.ended(curves.checked_times(times)), dtype=np.int64)

    def mean(self, until: float) -> tuple[float, Array]:
        """R and its slope."""
        (last,) = self.at([until])
        ends = np.append(self.edges[: last + 1], until)
        widths, survival = np.diff(ends), self.survival[: last + 1]
        return float(widths @ survival), -(widths * survival) @ self.slopes[: last + 1]

    def incidence(self, cause: int) -> tuple[Array, Array]:
        """F of a cause at every grid point and its slope."""
        steps = self.survival[1:] * self.odds[cause]
        gradient = -steps[:, None] * self.slopes[1:]
        size = self.vectors.shape[1]
        own = slice(cause * size, (cause + 1) * size)
        gradient[:, own] += (self.survival[1:] * self.odds_slopes[cause])[:, None] * self.vectors
        values = np.concatenate([[0.0], np.cumsum(steps)])
        return values, np.vstack([np.zeros(gradient.shape[1]), np.cumsum(gradient, axis=0)])

    def errors(self, slopes: Array) -> Array | None:
        """Return sqrt(g' C g) of the slopes g, one row a value; None without a covariance."""
        if self.model.covariance is None:
            return None
        variance = np.einsum("sd,de,se->s", slopes, self.model.covariance, slopes)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def survival_interval(person: Person, times: ArrayLike, confidence: float) -> Interval:
    """S at the times."""
    places = person.at(times)
    return _log_log(person.total[places], person.errors(person.slopes[places]), confidence)


def incidence_interval(person: Person, cause: int, times: ArrayLike, confidence: float) -> Interval:
    """F of a cause at the times."""
    places = person.at(times)
    values, slopes = (part[places] for part in person.incidence(cause))
    rest = np.maximum(1.0 - values, 1e-300)
    error = person.errors(slopes / rest[:, None])
    found = _log_log(-np.log(rest), error, confidence)
    if found.lower is None or found.upper is None:
        return Interval(values, None, None)
    return Interval(values, 1.0 - found.upper, 1.0 - found.lower)


def median_interval(person: Person, confidence: float) -> Interval:
    """The first grid point at which S is at most 1/2, and those at which its limits are."""
    ends = np.append(person.edges, np.inf)
    places = (
        None if band is None else ends[[int(np.argmax(np.append(band, 0.0) <= 0.5))]]
        for band in survival_interval(person, person.edges, confidence)
    )
    return Interval(*places)  # type: ignore[arg-type]  # the estimate itself is never None


def mean_interval(person: Person, until: float, confidence: float) -> Interval:
    """R, the mean of the time until the event or `until`, whichever comes first."""
    value, slope = person.mean(until)
    most = until - float(person.edges[0])
    return _symmetric(person, np.array([value]), slope[None, :], confidence, 0.0, most)


def difference_interval(
    one: Person, other: Person, times: ArrayLike, confidence: float
) -> Interval:
    """S of the one minus S of the other at the times."""
    places = one.at(times)
    values = one.survival[places] - other.survival[places]
    slopes = (other.survival[:, None] * other.slopes - one.survival[:, None] * one.slopes)[places]
    return _symmetric(one, values, slopes, confidence, -1.0, 1.0)


def mean_difference_interval(
    one: Person, other: Person, until: float, confidence: float
) -> Interval:
    """R of the one minus R of the other."""
    (first, slope), (second, other_slope) = one.mean(until), other.mean(until)
    return _symmetric(one, np.array([first - second]), (slope - other_slope)[None, :], confidence)


def hazard_interval(person: Person, confidence: float) -> Interval:
    """h of one event in every interval: at eta and at eta +- z se(eta)."""
    link = get_link(person.model.link)
    eta, error = person.vectors @ person.model.vector, person.errors(person.vectors)
    if error is None:
        return Interval(link.hazard(eta), None, None)
    margin = normal_quantile(confidence) * error
    return Interval(link.hazard(eta), link.hazard(eta - margin), link.hazard(eta + margin))


def _log_log(total: Array, error: Array | None, confidence: float) -> Interval:
    """exp(-L exp(+-z se / L)); at the start L = 0 and nothing is uncertain."""
    if error is None:
        return Interval(np.exp(-total), None, None)
    relative = np.divide(error, total, out=np.zeros_like(total), where=total > 0)
    factor = np.exp(np.minimum(normal_quantile(confidence) * relative, 700.0))
    return Interval(np.exp(-total), np.exp(-total * factor), np.exp(-total / factor))


def _symmetric(
    person: Person,
    values: Array,
    slopes: Array,
    confidence: float,
    low: float = -np.inf,
    high: float = np.inf,
) -> Interval:
    """Estimate +- z se, no further than what is possible."""
    error = person.errors(slopes)
    if error is None:
        return Interval(values, None, None)
    margin = normal_quantile(confidence) * error
    return Interval(
        values, np.clip(values - margin, low, high), np.clip(values + margin, low, high)
    )


def prediction_columns(headings: list[str], found: Array | Interval) -> dict[str, list[float]]:
    """Return a column for each heading, and after it its limits if there are any."""
    parts = found if isinstance(found, Interval) else (found, None, None)
    tables = {
        ending: np.asarray(values, dtype=np.float64).reshape(-1, len(headings))
        for ending, values in zip(("", "_lower", "_upper"), parts, strict=True)
        if values is not None
    }
    return {
        heading + ending: table[:, place].tolist()
        for place, heading in enumerate(headings)
        for ending, table in tables.items()
    }

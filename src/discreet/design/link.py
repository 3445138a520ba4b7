"""Link functions g of the hazard, h = g^{-1}(eta), and the losses of an interval.

An interval survived has the loss ``phi(eta) = -log(1 - h)``, an interval with an event
``psi(eta) = -log h``. Every link is log-concave in both directions: the total loss is convex.

``lipschitz``, ``curvature``  suprema over eta of an interval's slope and curvature; inf if unbounded
``linear_event``  psi - phi is linear in eta, so that events need sufficient statistics only
``reach``         distance of eta from the real line within which losses and information are smooth,
                  which decides how many nodes a sum over time needs (logit is singular at distance
                  pi, cloglog's information at pi/2; probit falls like exp(-eta^2/2), so relative
                  accuracy at eta = -9 allows only 1/2)
``cells``         (half-width, terms) of expansions in beta'x that are as exact as doubles
                  (`likelihood.expansion`)
``exponential``   phi = e^eta, whose expansion has one term
``effect``        the meaning of a coefficient

Every method of eta is vectorised. Compiled code repeats the slopes (`core.slopes`), the published page
hazard, loss and slope (`report/templates/survival.js`); tests compare all three.

Logit and probit are symmetric, ``h(-eta) = 1 - h(eta)``, so psi(eta) = phi(-eta).

References: Allison (1982), "Discrete-time methods for the analysis of event histories".
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from discreet.errors import SettingsError
from discreet.types import Array

Cells = tuple[tuple[float, int], ...]


class Link(ABC):
    """A link and its losses; the module's docstring defines the class variables.

    The losses of an event follow from those of survival if the link is symmetric; an asymmetric link
    overrides the three of them.
    """

    name: ClassVar[str]
    lipschitz: ClassVar[float] = math.inf
    curvature: ClassVar[float] = math.inf
    linear_event: ClassVar[bool] = False
    reach: ClassVar[float]
    cells: ClassVar[Cells]
    exponential: ClassVar[bool] = False
    effect: ClassVar[str]

    @abstractmethod
    def predictor(self, hazard: float) -> float:
        """eta = g(h)."""

    @abstractmethod
    def hazard(self, eta: Array) -> Array:
        """h(eta)."""

    @abstractmethod
    def survival_loss(self, eta: Array) -> Array:
        """phi = -log(1 - h)."""

    @abstractmethod
    def survival_loss_derivative(self, eta: Array) -> Array:
        """phi'."""

    @abstractmethod
    def survival_loss_curvature(self, eta: Array) -> Array:
        """phi''."""

    @abstractmethod
    def information(self, eta: Array) -> Array:
        """(dh/deta)^2 / (h (1 - h))."""

    def event_loss(self, eta: Array) -> Array:
        """psi = -log h; of a symmetric link phi(-eta)."""
        return self.survival_loss(-eta)

    def event_loss_derivative(self, eta: Array) -> Array:
        """psi'; of a symmetric link -phi'(-eta)."""
        return -self.survival_loss_derivative(-eta)

    def event_loss_curvature(self, eta: Array) -> Array:
        """psi''; of a symmetric link phi''(-eta)."""
        return self.survival_loss_curvature(-eta)


@dataclass(frozen=True)
class Logit(Link):
    """``h = 1 / (1 + e^-eta)``: proportional odds of the event within an interval."""

    name: ClassVar[str] = "logit"
    lipschitz: ClassVar[float] = 1.0
    curvature: ClassVar[float] = 0.25
    linear_event: ClassVar[bool] = True
    reach: ClassVar[float] = 2.7
    cells: ClassVar[Cells] = ((0.125, 8), (0.25, 10), (0.5, 13), (1.0, 18))
    effect: ClassVar[str] = "log odds ratio"

    def predictor(self, hazard: float) -> float:
        """eta = g(h) = log(h / (1 - h))."""
        return float(special.logit(hazard))

    def hazard(self, eta: Array) -> Array:
        """h = 1 / (1 + e^-eta)."""
        return special.expit(eta)

    def survival_loss(self, eta: Array) -> Array:
        """phi = log(1 + e^eta), without overflow."""
        return np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))

    def survival_loss_derivative(self, eta: Array) -> Array:
        """phi' = h."""
        return special.expit(eta)

    def survival_loss_curvature(self, eta: Array) -> Array:
        """phi'' = h (1 - h), each factor to full relative precision."""
        return special.expit(eta) * special.expit(-eta)

    def information(self, eta: Array) -> Array:
        """(dh/deta)^2 / (h (1 - h)) = h (1 - h)."""
        return self.survival_loss_curvature(eta)


@dataclass(frozen=True)
class Probit(Link):
    """``h = Phi(eta)``, written with Mills' ratio ``m(eta) = pdf(eta) / Phi(-eta)``.

    The slope grows like eta (so it has no finite Lipschitz constant); the curvature
    ``m (m - eta)`` rises from 0 to 1.
    """

    name: ClassVar[str] = "probit"
    curvature: ClassVar[float] = 1.0
    reach: ClassVar[float] = 0.5
    cells: ClassVar[Cells] = ((0.125, 14), (0.25, 18), (0.5, 23))
    effect: ClassVar[str] = "shift on the normal scale"

    def predictor(self, hazard: float) -> float:
        """eta = g(h) = Phi^{-1}(h)."""
        return float(special.ndtri(hazard))

    def hazard(self, eta: Array) -> Array:
        """h = Phi(eta)."""
        return special.ndtr(eta)

    def survival_loss(self, eta: Array) -> Array:
        """phi = -log Phi(-eta)."""
        return -special.log_ndtr(-eta)

    def survival_loss_derivative(self, eta: Array) -> Array:
        """phi' = m(eta), by the scaled complementary error function: no 0/0 in the tail."""
        return math.sqrt(2.0 / math.pi) / special.erfcx(eta / math.sqrt(2.0))

    def survival_loss_curvature(self, eta: Array) -> Array:
        """phi'' = m (m - eta); beyond 50 the difference cancels and its series takes over."""
        ratio = self.survival_loss_derivative(eta)
        inverse = 1.0 / np.maximum(eta, 50.0)
        square = inverse * inverse
        series = inverse * (
            1 - square * (2 - square * (10 - square * (74 - square * (706 - square * 8162))))
        )
        return ratio * np.where(eta > 50.0, series, ratio - eta)

    def information(self, eta: Array) -> Array:
        """pdf^2 / (Phi(eta) Phi(-eta)) = m(eta) m(-eta)."""
        return self.survival_loss_derivative(eta) * self.survival_loss_derivative(-eta)


@dataclass(frozen=True)
class CLogLog(Link):
    """``h = 1 - exp(-e^eta)``: proportional hazards, as in the Cox model.

    With ``y = e^eta``: ``phi = phi' = phi'' = y``. Neither slope nor curvature is bounded.
    """

    name: ClassVar[str] = "cloglog"
    reach: ClassVar[float] = 1.4
    cells: ClassVar[Cells] = ((0.125, 14), (0.25, 18), (0.5, 23))
    exponential: ClassVar[bool] = True
    effect: ClassVar[str] = "log hazard ratio"

    def predictor(self, hazard: float) -> float:
        """eta = g(h) = log(-log(1 - h))."""
        return math.log(-math.log1p(-hazard))

    def hazard(self, eta: Array) -> Array:
        """h = 1 - exp(-y)."""
        return -np.expm1(-_exponential(eta))

    def survival_loss(self, eta: Array) -> Array:
        """phi = y."""
        return _exponential(eta)

    def survival_loss_derivative(self, eta: Array) -> Array:
        """phi' = y."""
        return _exponential(eta)

    def survival_loss_curvature(self, eta: Array) -> Array:
        """phi'' = y."""
        return _exponential(eta)

    def event_loss(self, eta: Array) -> Array:
        """psi = -log(1 - exp(-y)); for small y it is -eta + y/2, which does not underflow."""
        rate = _exponential(np.maximum(eta, -40.0))
        small = -eta + 0.5 * _exponential(np.minimum(eta, 0.0))
        # log(1 - e^-y), accurate at both ends (Maechler 2012)
        far = np.log1p(-np.exp(-np.maximum(rate, math.log(2.0))))
        near = np.log(-np.expm1(-np.minimum(rate, math.log(2.0))))
        return np.where(eta < -36.0, small, -np.where(rate > math.log(2.0), far, near))

    def event_loss_derivative(self, eta: Array) -> Array:
        """psi' = -y / (e^y - 1)."""
        rate = np.minimum(_exponential(eta), 700.0)
        return -1.0 / _mean_exponential(rate)

    def event_loss_curvature(self, eta: Array) -> Array:
        """psi'' = y e^y (y - 1 + e^-y) / (e^y - 1)^2 = y w(y) / r(y)^2.

        With ``r = (e^y - 1)/y`` and ``w = (1 + (y - 1) e^y)/y^2 = sum_j y^j / (j! (j + 2))``,
        all terms positive.
        """
        rate = np.minimum(_exponential(eta), 700.0)
        mean = _mean_exponential(rate)
        return rate * (_second_moment(rate) / mean) / mean

    def information(self, eta: Array) -> Array:
        """(dh/deta)^2 / (h (1 - h)) = y^2 / (e^y - 1)."""
        rate = np.minimum(_exponential(eta), 700.0)
        return rate / _mean_exponential(rate)


def _exponential(eta: Array) -> Array:
    """e^eta, infinite beyond the float range: the line search rejects such a point."""
    with np.errstate(over="ignore"):
        return np.exp(eta)


def _mean_exponential(rate: Array) -> Array:
    """(e^y - 1) / y with its limit 1 at 0."""
    safe = np.where(rate == 0.0, 1.0, rate)
    return np.where(rate == 0.0, 1.0, np.expm1(safe) / safe)


def _second_moment(rate: Array) -> Array:
    """(1 + (y - 1) e^y) / y^2 = integral of u e^(yu) over [0, 1]; a series where it cancels."""
    near = np.minimum(rate, 1.0)
    series = np.zeros_like(near)
    for order in range(17, -1, -1):
        series = series * near + 1.0 / (math.factorial(order) * (order + 2))
    far = np.maximum(rate, 1.0)
    return np.where(rate < 1.0, series, (1.0 + (far - 1.0) * np.exp(far)) / far**2)


DEFAULT_LINK = "cloglog"
"""Its effects are log hazard ratios, which do not depend on the grid and compare with Cox's model."""

LINKS: dict[str, Link] = {"logit": Logit(), "cloglog": CLogLog(), "probit": Probit()}


def get_link(link: str | Link) -> Link:
    """Return the link of that name; a link object passes through."""
    if not isinstance(link, str):
        return link
    if link not in LINKS:
        raise SettingsError(f"unknown link {link!r}: choose one of {', '.join(LINKS)}")
    return LINKS[link]

"""The paper's Algorithms 1 and 2 as printed: for reproducing its figures, never for publishing.

Their constants, their split of epsilon, their basis, a ridge around 0 and noise in floating point.
What is wrong with them is in `docs/mechanisms.md`.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import optimize

from discreet.errors import SettingsError
from discreet.mechanisms.contract import (
    NOT_GIVEN,
    Draw,
    Facts,
    Loss,
    Mechanism,
    Plan,
    require_positive,
)
from discreet.mechanisms.solve import CentredCoordinates, CentredObjective
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.scales import NoiseGrid
from discreet.solve import minimise
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.design.design import Coordinates
    from discreet.privacy.noise import NoiseSource

GRID_EXPONENT = -30
MEAN_TOLERANCE = 1e-10


def gradient_sensitivity(norms: Array) -> float:
    """The paper's lemma 4.2: sum_s sqrt(|A_s|^2 + 4) + max_s sqrt(4 |A_s|^2 + 4)."""
    return float(np.sqrt(norms**2 + 4.0).sum() + np.sqrt(4.0 * norms**2 + 4.0).max())


def jacobian_bound(norms: Array, ridge: float) -> float:
    """The paper's factor 2 sum_s log(1 + sqrt(|A_s|^2 + 1) / (4 k)), norm without its square."""
    return float(2.0 * np.log1p(np.sqrt(norms**2 + 1.0) / (4.0 * ridge)).sum())


@dataclass(frozen=True)
class Printed(Mechanism):
    """The settings of both: epsilon, and Lambda, the ridge per person, which has no default."""

    epsilon: float = NOT_GIVEN
    ridge: float = NOT_GIVEN

    name: ClassVar[str] = ""
    proof: ClassVar[str] = ""
    coordinates: ClassVar["Coordinates"] = "paper"

    def __post_init__(self) -> None:
        """Reject settings that mean nothing."""
        require_positive("epsilon", self.epsilon)
        require_positive("ridge", self.ridge)

    def promise(self, persons: int) -> Guarantee:  # noqa: ARG002 - the contract's signature
        """Return an unproved guarantee."""
        return Guarantee(epsilon=self.epsilon, status="unproved")


@dataclass(frozen=True)
class PrintedOutput(Printed):
    """Algorithm 1: noise of scale t / epsilon, t = printed sensitivity / (n Lambda)."""

    name: ClassVar[str] = "printed-output"

    def plan(self, facts: Facts) -> Plan:
        """The noise scale and the total ridge."""
        total = facts.persons * self.ridge
        sensitivity = gradient_sensitivity(_norms(facts))
        scale = sensitivity / (total * self.epsilon)
        return self.planned(facts, scale, GRID_EXPONENT, {"total_ridge": total})

    def draw(self, plan: Plan, loss: Loss, noise: "NoiseSource") -> Draw:
        """f* + b, rounded to the grid at the end."""
        point = minimiser(plan, loss, np.zeros(plan.dimension))
        drawn = noise.continuous_laplace(plan.dimension, plan.noise_scale)
        return _draw(point + drawn.vector, noise)


@dataclass(frozen=True)
class PrintedObjective(Printed):
    """Algorithm 2: tilt of scale t / epsilon', where the Jacobian takes at most half of epsilon."""

    name: ClassVar[str] = "printed-objective"

    def plan(self, facts: Facts) -> Plan:
        """The tilt's scale and the total ridge."""
        norms = _norms(facts)
        total = facts.persons * self.ridge
        if jacobian_bound(norms, total) > self.epsilon / 2:
            # the total ridge n (Lambda + Delta) at which the Jacobian term is epsilon / 2;
            # log(1 + x) <= x, so the upper end is enough
            high = float(np.sqrt(norms**2 + 1.0).sum()) / self.epsilon
            total = math.exp(
                optimize.brentq(
                    lambda logarithm: jacobian_bound(norms, math.exp(logarithm)) - self.epsilon / 2,
                    math.log(total),
                    math.log(high) + 1e-9,
                )
            )
        remaining = self.epsilon - jacobian_bound(norms, total)
        scale = gradient_sensitivity(norms) / remaining
        return self.planned(facts, scale, GRID_EXPONENT, {"total_ridge": total})

    def draw(self, plan: Plan, loss: Loss, noise: "NoiseSource") -> Draw:
        """argmin of the tilted objective, rounded to the grid at the end."""
        drawn = noise.continuous_laplace(plan.dimension, plan.noise_scale)
        return _draw(minimiser(plan, loss, drawn.vector), noise)


def minimiser(plan: Plan, loss: Loss, tilt: Array) -> Array:
    """argmin loss(f) + k/2 |f|^2 + tilt'f, taken to be exact."""
    origin = CentredCoordinates(np.zeros(plan.dimension), 0)
    objective = CentredObjective(loss, origin, plan.number("total_ridge"), tilt)
    tolerance = MEAN_TOLERANCE * plan.persons
    return minimise(objective, origin.centre, tolerance=tolerance).point


def _norms(facts: Facts) -> Array:
    if facts.design.coordinates != "paper":
        raise SettingsError("the printed algorithms need a design in the paper's coordinates")
    return facts.design.norms


def _draw(point: Array, noise: "NoiseSource") -> Draw:
    integers = NoiseGrid(GRID_EXPONENT).to_integers(point)
    return Draw.from_integers(integers, GRID_EXPONENT, private=noise.private)

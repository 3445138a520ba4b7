"""Settings, candidates, coordinates and release of output and objective perturbation."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.core.optimum import Optimum
from discreet.errors import SettingsError
from discreet.mechanisms.bounds import MARGIN, Basis
from discreet.mechanisms.contract import (
    NOT_GIVEN,
    Draw,
    Facts,
    Json,
    Loss,
    Mechanism,
    Plan,
    require_positive,
)
from discreet.mechanisms.solve import (
    CentredCoordinates,
    CentredObjective,
    Tolerance,
    certified_minimiser,
)
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.scales import float_above, is_number
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.likelihood.problem import Problem
    from discreet.mechanisms.outlook import Outlook
    from discreet.privacy.noise import NoiseSource


RIDGES = tuple(2.0**exponent for exponent in range(-24, 25))
"""Candidates for the ridge per person if none is given: the minimum is flat."""

SHIFTS = tuple(range(-4, 5))
"""Candidates for log2 omega, the scale of the baseline against the covariates."""

RAREST = 1e-9
"""Least distance of the guess of survival from 0 and 1, where links are infinite."""

COARSEST_GRID = -20
"""Released numbers are never coarser than 2^-20, and the centre 2^-10 lies on every grid."""


@dataclass(frozen=True)
class Perturbation(Mechanism):
    """Settings, as in `OutputPerturbation`, and draw of output and objective perturbation."""

    epsilon: float = NOT_GIVEN
    ridge: float | None = None
    survival: float = 0.5

    takes_changes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive("epsilon", self.epsilon)
        object.__setattr__(self, "epsilon", float(self.epsilon))
        if self.ridge is not None:
            require_positive("ridge", self.ridge)
        if not is_number(self.survival) or not RAREST <= self.survival <= 1 - RAREST:
            raise SettingsError("survival must be a number between 0 and 1, both excluded")

    def promise(self, persons: int) -> Guarantee:  # noqa: ARG002 - the same for every n
        """Pure epsilon-DP under A3 and A4."""
        return Guarantee(epsilon=self.epsilon, status="conditional")

    @abstractmethod
    def perturb(self, plan: Plan, optimum: Optimum) -> Draw:
        """Draw for the optimum of a loss, also for one that the audit plugs in."""

    def draw(self, plan: Plan, problem: "Problem", noise: "NoiseSource") -> Draw:
        """Draw for the people of the problem."""
        return self.perturb(plan, Optimum(problem, noise))

    @abstractmethod
    def variance(self, plan: Plan, outlook: "Outlook") -> Array:
        """Predict the ridge's pull and the noise, at the outlook's information."""

    def ridges(self, persons: int) -> list[float]:
        """Return candidates for the total ridge k = n Lambda."""
        return [persons * ridge for ridge in ([self.ridge] if self.ridge else RIDGES)]


def basis_of(facts: Facts, shift: int = 0) -> Basis:
    """Return the basis of the coordinates w: omega B_s."""
    rows = facts.design.basis * math.ldexp(1.0, shift)
    return Basis(rows, facts.covariates > 0)


def grid_exponent(step: float) -> int:
    """Return the largest exponent whose grid is not coarser than the step, nor than 2^-20."""
    return min(math.frexp(step)[1] - 1, COARSEST_GRID)


def grid_slack(dimension: int, exponent: int) -> float:
    """sqrt(d) 2^exponent, the distance by which rounding to the grid can part two neighbours."""
    return math.sqrt(dimension) * math.ldexp(MARGIN, exponent)


def scale_above(sensitivity: float, epsilon: Fraction) -> float:
    """Return the smallest float not below sensitivity / epsilon."""
    return float_above(Fraction(sensitivity) / epsilon)


def solver_details(coordinates: CentredCoordinates, tolerance: Tolerance) -> dict[str, Json]:
    """Return the public numbers of the plan that a draw needs to solve."""
    return {
        "centre": coordinates.centre.tolist(),
        "baseline_shift": coordinates.shift,
        "baseline": coordinates.baseline,
        "gradient_bound": tolerance.gradient,
        "record_norm": tolerance.norm,
        "total_ridge": tolerance.ridge,
        "tilt_error": tolerance.tilt_error,
        "reach": tolerance.reach if math.isfinite(tolerance.reach) else None,
        "solver_tolerance": tolerance.total,
    }


def coordinates_from(details: Mapping[str, Json]) -> CentredCoordinates:
    """Return the coordinates of a plan."""
    centre = np.array(details["centre"], dtype=np.float64)
    return CentredCoordinates(
        centre, _whole(details, "baseline"), _whole(details, "baseline_shift")
    )


def _whole(details: Mapping[str, Json], name: str) -> int:
    value = details[name]
    if not isinstance(value, int):
        raise SettingsError(f"the plan's {name} is not a whole number")
    return value


def tolerance_from(plan: Plan) -> Tolerance:
    """Return the solver's tolerance of a plan."""
    reach = math.inf if plan.details["reach"] is None else plan.number("reach")
    return Tolerance(
        plan.number("gradient_bound"),
        plan.number("record_norm"),
        plan.number("total_ridge"),
        plan.number("tilt_error"),
        reach,
    )


def perturbed_variance(plan: Plan, outlook: "Outlook", *, output: float, tilt: float) -> Array:
    """(H + k)^-1 (k^2 T + (d + 1) tilt^2) (H + k)^-1 + (d + 1) output^2 in w, f = f_0 + S w."""
    size, baseline = plan.dimension, int(plan.number("baseline"))
    scale = np.where(np.arange(size) < baseline, 2.0 ** plan.number("baseline_shift"), 1.0)
    ridge = plan.number("total_ridge")
    inverse = np.linalg.inv(outlook.information * np.outer(scale, scale) + ridge * np.eye(size))
    pull = ridge**2 * outlook.effects / scale**2 + (size + 1) * tilt**2
    spread = (inverse * pull) @ inverse + (size + 1) * output**2 * np.eye(size)
    return spread * np.outer(scale, scale)


def minimiser(plan: Plan, loss: Loss, tilt: Array, tilt_error: float = 0.0) -> Array:
    """Return the certified minimiser of the plan's objective with this loss and tilt."""
    tolerance, coordinates = tolerance_from(plan), coordinates_from(plan.details)
    objective = CentredObjective(loss, coordinates, tolerance.ridge, tilt)
    return certified_minimiser(objective, tolerance, tilt_error)


def step_exponent(plan: Plan) -> int:
    """Return the exponent of the grid of w, before it is mapped back."""
    return _whole(plan.details, "step_exponent")


def published(plan: Plan, noisy: list[int], *, private: bool) -> Draw:
    """Return f_0 + S w of noisy integers w, in exact integers."""
    integers = coordinates_from(plan.details).to_integers(noisy, step_exponent(plan))
    return Draw.from_integers(integers, plan.grid_exponent, private=private)

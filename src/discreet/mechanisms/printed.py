"""The paper's Algorithms 1 and 2 as printed: for reproducing its figures, never for publishing.

Their constants, their split of epsilon, their basis, a ridge around 0 and noise in floating point.
What is wrong with them is in `docs/errata.md`.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from discreet.errors import SettingsError
from discreet.mechanisms.bounds import printed_gradient_sensitivity, printed_jacobian_bound
from discreet.mechanisms.contract import Draw, Facts, Loss, Mechanism, Plan, settings_of
from discreet.mechanisms.solve import CentredCoordinates, CentredObjective
from discreet.privacy.grid import Grid
from discreet.privacy.guarantee import Guarantee
from discreet.solve import minimise
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.privacy.noise import NoiseSource


GRID_EXPONENT = -30
MEAN_TOLERANCE = 1e-10
REASON = (
    "the algorithm as printed in the paper: its proof has errors, its minimiser is taken to be "
    "exact and its noise is floating-point"
)


def plan_output(mechanism: Mechanism, constants: Facts, epsilon: float, ridge: float) -> Plan:
    """Algorithm 1: noise scale t / epsilon, t = printed sensitivity / (n Lambda)."""
    total = constants.persons * ridge
    sensitivity = printed_gradient_sensitivity(_norms(constants))
    return _plan(mechanism, constants, epsilon, (sensitivity / (total * epsilon), total))


def plan_objective(mechanism: Mechanism, constants: Facts, epsilon: float, ridge: float) -> Plan:
    """Algorithm 2: tilt scale t / epsilon', where the Jacobian takes at most half of epsilon."""
    norms = _norms(constants)
    total = constants.persons * ridge
    if printed_jacobian_bound(norms, total) > epsilon / 2:
        total = _ridge_for_half(norms, total, epsilon)
    remaining = epsilon - printed_jacobian_bound(norms, total)
    return _plan(
        mechanism, constants, epsilon, (printed_gradient_sensitivity(norms) / remaining, total)
    )


def draw_output(plan: Plan, loss: Loss, noise: "NoiseSource") -> Draw:
    """f* + b, rounded to the grid at the end."""
    minimiser = _minimiser(plan, loss, np.zeros(plan.dimension))
    drawn = noise.continuous_laplace(plan.dimension, plan.noise_scale)
    return _draw(minimiser + drawn.vector, noise)


def draw_objective(plan: Plan, loss: Loss, noise: "NoiseSource") -> Draw:
    """argmin of the tilted objective, rounded to the grid at the end."""
    drawn = noise.continuous_laplace(plan.dimension, plan.noise_scale)
    return _draw(_minimiser(plan, loss, drawn.vector), noise)


def _norms(constants: Facts) -> Array:
    if constants.design.coordinates != "paper":
        raise SettingsError("the printed variant needs a design in the paper's coordinates")
    return np.asarray(constants.design.norms)


def _ridge_for_half(norms: Array, low: float, epsilon: float) -> float:
    """The total ridge n (Lambda + Delta) at which the printed Jacobian term is epsilon / 2."""

    def excess(logarithm: float) -> float:
        return printed_jacobian_bound(norms, math.exp(logarithm)) - epsilon / 2

    # log(1 + x) <= x, so this ridge is enough
    high = float(np.sqrt(norms**2 + 1.0).sum()) / epsilon
    return math.exp(optimize.brentq(excess, math.log(low), math.log(high) + 1e-9))


def _plan(
    mechanism: Mechanism, constants: Facts, epsilon: float, scales: tuple[float, float]
) -> Plan:
    noise_scale, total_ridge = scales
    return Plan(
        mechanism=mechanism.name,
        settings=settings_of(mechanism),
        guarantee=Guarantee(epsilon=epsilon, status="unproved"),
        persons=constants.persons,
        dimension=constants.dimension,
        noise_scale=noise_scale,
        grid_exponent=GRID_EXPONENT,
        details={"total_ridge": total_ridge},
        publishable=False,
        reason=REASON,
    )


def _minimiser(plan: Plan, loss: Loss, tilt: Array) -> Array:
    origin = CentredCoordinates(np.zeros(plan.dimension), 0)
    objective = CentredObjective(loss, origin, plan.number("total_ridge"), tilt)
    tolerance = MEAN_TOLERANCE * plan.persons
    return minimise(objective, origin.centre, tolerance=tolerance).point


def _draw(point: Array, noise: "NoiseSource") -> Draw:
    integers = Grid(GRID_EXPONENT).to_integers(point)
    return Draw.from_integers(integers, GRID_EXPONENT, private=noise.private)

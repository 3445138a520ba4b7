"""Objective perturbation: the minimiser of the loss tilted by a random linear term.

    w*(b) = argmin loss(f_0 + S w) + k/2 |w|^2 + b'w,   density of b ~ exp(-epsilon_b |b| / Delta),
    release = f_0 + S (w*(b) on the grid + N),  P(N) ~ exp(-epsilon_o |N| / sensitivity),
    sensitivity = 2 tau' / k + sqrt(d) grid,
    epsilon = epsilon_b + J(k) + epsilon_o.

J(k) bounds the logarithm of the ratio of the Jacobian determinants; epsilon_o covers the errors of
the minimiser and of b.
Proof: `docs/proofs/objective-perturbation.md`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, ClassVar

from discreet.core.optimum import Optimum
from discreet.errors import SettingsError
from discreet.mechanisms import perturbation
from discreet.mechanisms.bounds import (
    MARGIN,
    Basis,
    Slopes,
    gradient_bound,
    gradient_sensitivity,
    jacobian_bound,
)
from discreet.mechanisms.contract import Draw, Facts, Loss, Plan, register, require_proof
from discreet.mechanisms.outlook import Guess, Outlook, public_guess
from discreet.mechanisms.perturbation import Perturbation
from discreet.mechanisms.solve import CentredCoordinates, Tolerance
from discreet.privacy.exact import continuous_error
from discreet.privacy.scales import exact
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.privacy.exact import ContinuousDraw

OUTPUT_SHARES = tuple(Fraction(1, 2**bits) for bits in range(1, 17))
FIRST_SHARE = Fraction(1, 64)
GRID_BITS = 4
"""The grid is 2^4 times finer than the solver's tolerance: rounding adds a sixteenth to it."""


@register
@dataclass(frozen=True)
class ObjectivePerturbation(Perturbation):
    """epsilon-DP under replace-one: publish the minimiser of a tilted objective (conditional).

    Parameters
    ----------
    epsilon
        The guarantee.
    ridge
        The least ridge per person: the plan raises it if that lowers the predicted error, because a
        larger one leaves more of epsilon to the tilt. None: the public rule.
    survival
        As for `OutputPerturbation`.
    """

    name: ClassVar[str] = "objective"
    proof: ClassVar[str] = "objective-perturbation"

    def refusal(self, facts: Facts) -> str:
        """Require a bounded slope and curvature of the loss everywhere: `docs/proofs`, section 7."""
        if math.isfinite(facts.link.lipschitz) and math.isfinite(facts.link.curvature):
            return ""
        return (
            f"objective perturbation does not support the link {facts.link.name}: the slope of "
            "its loss is not bounded over all coefficients, so no noise term can hide one person; use logit"
        )

    def plan(self, facts: Facts) -> Plan:
        """Choose ridge, baseline scale and the split of epsilon by the public rule."""
        require_proof(self, facts)
        return _search(self, facts)

    def perturb(self, plan: Plan, optimum: Optimum) -> Draw:
        """Return the certified minimiser of the tilted objective plus a little lattice noise."""

        def find(loss: Loss, tilt: "ContinuousDraw") -> Array:
            return perturbation.minimiser(plan, loss, tilt.vector, tilt.error)

        tilt, scale = (plan.dimension, plan.noise_scale), plan.number("output_scale")
        noisy = optimum.tilted(find, tilt, scale, perturbation.step_exponent(plan))
        return perturbation.published(plan, noisy, private=optimum.private)

    def variance(self, plan: Plan, outlook: Outlook) -> Array:
        """Predict the ridge's pull and the noise, at the outlook's information."""
        return perturbation.perturbed_variance(
            plan, outlook, output=plan.number("output_scale"), tilt=plan.noise_scale
        )


@lru_cache(maxsize=64)
def _search(settings: ObjectivePerturbation, facts: Facts) -> Plan:
    """Return the plan with the smallest predicted error: a function of public facts, so cached."""
    guess = public_guess(facts, settings.survival)
    shapes = [Shape.make(facts, guess, shift) for shift in perturbation.SHIFTS]
    budget = exact(settings.epsilon)
    # the ridge that was given and the candidates above it
    ridges = settings.ridges(facts.persons)
    candidates = [facts.persons * ridge for ridge in perturbation.RIDGES]
    ridges = ridges + [ridge for ridge in candidates if ridge > max(ridges)]
    first = _best(shapes, ridges, budget, (FIRST_SHARE,))
    chosen = _best([first.shape], [first.ridge], budget, OUTPUT_SHARES)
    chosen.tolerance.require_precision()
    coordinates = CentredCoordinates(guess.centre, guess.baseline, chosen.shape.shift)
    details = {
        "ridge": chosen.ridge / facts.persons,
        "gradient_sensitivity": chosen.shape.sensitivity,
        "epsilon_tilt": float(chosen.tilt_epsilon),
        "epsilon_jacobian": chosen.jacobian,
        "epsilon_output": float(chosen.output_epsilon),
        "sensitivity": chosen.sensitivity,
        "output_scale": chosen.output_scale,
        "predicted_error": chosen.error,
        "step_exponent": chosen.step_exponent,
        **perturbation.solver_details(coordinates, chosen.tolerance),
    }
    grid = coordinates.grid_exponent(chosen.step_exponent)
    return settings.planned(facts, chosen.tilt_scale, grid, details)


def _best(
    shapes: list["Shape"], ridges: list[float], budget: Fraction, shares: tuple[Fraction, ...]
) -> "ObjectiveCalibration":
    splits = [(share * budget, budget) for share in shares]
    choices = product(shapes, ridges, splits)
    made = (ObjectiveCalibration.make(shape, ridge, split) for shape, ridge, split in choices)
    possible = [item for item in made if item is not None]
    if not possible:
        raise SettingsError("epsilon is too small for objective perturbation of this design")
    return min(possible, key=lambda item: item.error)


@dataclass(frozen=True)
class Shape:
    """The constants that depend on the baseline scale 2^shift alone."""

    facts: Facts
    shift: int
    basis: Basis
    guess: Guess
    sensitivity: float
    gradient: float

    @classmethod
    def make(cls, facts: Facts, guess: Guess, shift: int) -> "Shape":
        """Compute Delta and the bound on the gradient of all persons, for slopes at every f."""
        basis = perturbation.basis_of(facts, shift)
        slopes = Slopes.constant(facts.design.intervals, facts.link.lipschitz)
        gradient = facts.persons * gradient_bound(basis, slopes)
        sensitivity = gradient_sensitivity(basis, slopes)
        scaled = guess.scaled(math.ldexp(1.0, shift))
        return cls(facts, shift, basis, scaled, sensitivity, gradient)

    def jacobian(self, ridge: float) -> float:
        """J(k); with effects that change, x has other places in z_s from period to period."""
        moving = self.facts.time_varying or self.facts.design.periods.number > 1
        return jacobian_bound(
            self.basis, self.facts.covariates, self.facts.link.curvature, ridge, time_varying=moving
        )

    def tolerance(self, ridge: float, tilt_scale: float) -> Tolerance:
        """tau' with the rounding of the tilt in it."""
        norm = float(self.basis.record_norms.max())
        return Tolerance(self.gradient, norm, ridge, continuous_error(Fraction(tilt_scale)))


@dataclass(frozen=True)
class ObjectiveCalibration:
    """The constants of the proof for one shape, total ridge and split of epsilon."""

    shape: Shape
    ridge: float
    jacobian: float
    tilt_epsilon: Fraction
    output_epsilon: Fraction

    @classmethod
    def make(
        cls, shape: Shape, ridge: float, split: tuple[Fraction, Fraction]
    ) -> "ObjectiveCalibration | None":
        """Return the constants for split = (epsilon_o, epsilon); None if nothing is left to tilt."""
        output, budget = split
        jacobian = shape.jacobian(ridge)
        tilt = budget - output - Fraction(jacobian)
        return cls(shape, ridge, jacobian, tilt, output) if tilt > 0 else None

    @cached_property
    def tilt_scale(self) -> float:
        """Delta / epsilon_b."""
        return perturbation.scale_above(self.shape.sensitivity, self.tilt_epsilon)

    @cached_property
    def tolerance(self) -> Tolerance:
        """tau'."""
        return self.shape.tolerance(self.ridge, self.tilt_scale)

    @cached_property
    def movement(self) -> float:
        """2 tau' / k, a bound on the distance of two computed minimisers of one objective."""
        return 2.0 * self.tolerance.total / self.ridge * MARGIN

    @cached_property
    def step_exponent(self) -> int:
        """A grid well below the tolerance, and below the noise when epsilon_o is large."""
        share = min(1.0, 1.0 / float(self.output_epsilon))
        step = self.movement * share / math.sqrt(self.shape.facts.dimension)
        return perturbation.grid_exponent(math.ldexp(step, -GRID_BITS))

    @cached_property
    def sensitivity(self) -> float:
        """2 tau' / k + sqrt(d) grid."""
        slack = perturbation.grid_slack(self.shape.facts.dimension, self.step_exponent)
        return (self.movement + slack) * MARGIN

    @cached_property
    def output_scale(self) -> float:
        """sensitivity / epsilon_o."""
        return perturbation.scale_above(self.sensitivity, self.output_epsilon)

    @cached_property
    def error(self) -> float:
        """Predicted error in standard errors."""
        return self.shape.guess.error(self.ridge, self.tilt_scale, self.output_scale)

"""Output perturbation: the ridge estimate plus lattice noise scaled to its sensitivity.

    w* = argmin loss(f_0 + S w) + k/2 |w|^2,   release = f_0 + S (w* on the grid + N),
    P(N) proportional to exp(-epsilon |N| / sensitivity),
    sensitivity = (Delta + 2 tau') / k + sqrt(d) grid.

Proof: `docs/proofs/output-perturbation.md`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.core.optimum import Optimum
from discreet.mechanisms import perturbation
from discreet.mechanisms.bounds import MARGIN, Basis, Slopes, gradient_bound, gradient_sensitivity
from discreet.mechanisms.contract import Draw, Facts, Loss, Plan, register, require_proof
from discreet.mechanisms.outlook import Guess, Outlook, public_guess
from discreet.mechanisms.perturbation import Perturbation
from discreet.mechanisms.solve import CentredCoordinates, Tolerance
from discreet.privacy.scales import exact
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.design.link import Link

GRID_BITS = 34
"""The grid is 2^34 times finer than the noise: its rounding adds sqrt(d) 2^-34 epsilon to it."""


@register
@dataclass(frozen=True)
class OutputPerturbation(Perturbation):
    """epsilon-DP under replace-one: publish the ridge estimate with noise (conditional).

    Parameters
    ----------
    epsilon
        The guarantee.
    ridge
        Lambda, the ridge per person: a larger one shrinks the estimate more and needs less noise.
        None: the public rule.
    survival
        A public guess of the share of persons who reach the horizon without an event, the centre of
        the ridge. A wrong one costs accuracy only.
    """

    name: ClassVar[str] = "output"
    proof: ClassVar[str] = "output-perturbation"

    def refusal(self, facts: Facts) -> str:
        """Require a bounded curvature of the loss on a ball: `docs/proofs`, section 5."""
        if math.isfinite(facts.link.curvature):
            return ""
        return (
            f"output perturbation does not support the link {facts.link.name}: its score grows "
            "exponentially with the linear predictor, and so would the noise; use logit or probit"
        )

    def plan(self, facts: Facts) -> Plan:
        """Choose ridge and baseline scale by the public rule, then calibrate the noise."""
        require_proof(self, facts)
        return _search(self, facts)

    def perturb(self, plan: Plan, optimum: Optimum) -> Draw:
        """Return the certified minimiser plus lattice noise."""

        def find(loss: Loss) -> Array:
            return perturbation.minimiser(plan, loss, np.zeros(plan.dimension))

        noisy = optimum.released(find, plan.noise_scale, perturbation.step_exponent(plan))
        return perturbation.published(plan, noisy, private=optimum.private)

    def variance(self, plan: Plan, outlook: Outlook) -> Array:
        """Predict the ridge's pull and the noise, at the outlook's information."""
        return perturbation.perturbed_variance(plan, outlook, output=plan.noise_scale, tilt=0.0)


@lru_cache(maxsize=64)
def _search(settings: OutputPerturbation, facts: Facts) -> Plan:
    """Return the plan with the smallest predicted error: a function of public facts, so cached."""
    guess, candidates = public_guess(facts, settings.survival), []
    for shift in perturbation.SHIFTS:
        basis, scaled = perturbation.basis_of(facts, shift), guess.scaled(math.ldexp(1.0, shift))
        for ridge in settings.ridges(facts.persons):
            choice = (shift, ridge, settings.epsilon)
            candidates.append(OutputCalibration.make(facts, scaled, basis, choice))
    chosen = min(candidates, key=lambda item: item.error)
    chosen.tolerance.require_precision()
    coordinates = CentredCoordinates(guess.centre, guess.baseline, chosen.shift)
    step = perturbation.grid_exponent(math.ldexp(chosen.movement / settings.epsilon, -GRID_BITS))
    sensitivity = chosen.movement + perturbation.grid_slack(facts.dimension, step)
    details = {
        "ridge": chosen.tolerance.ridge / facts.persons,
        "gradient_sensitivity": chosen.gradient_sensitivity,
        "confinement": chosen.confinement,
        "sensitivity": sensitivity,
        "predicted_error": chosen.error,
        "step_exponent": step,
        **perturbation.solver_details(coordinates, chosen.tolerance),
    }
    noise_scale = perturbation.scale_above(sensitivity * MARGIN, exact(settings.epsilon))
    return settings.planned(facts, noise_scale, coordinates.grid_exponent(step), details)


@dataclass(frozen=True)
class OutputCalibration:
    """The constants of the proof for one baseline scale 2^shift and one total ridge."""

    shift: int
    confinement: float
    gradient_sensitivity: float
    tolerance: Tolerance
    error: float

    @property
    def movement(self) -> float:
        """(Delta + 2 tau') / k, a bound on the distance of two neighbours' computed minimisers."""
        total = self.gradient_sensitivity + 2.0 * self.tolerance.total
        return total / self.tolerance.ridge * MARGIN

    @classmethod
    def make(
        cls, facts: Facts, guess: Guess, basis: Basis, choice: tuple[int, float, float]
    ) -> "OutputCalibration":
        """Confine the minimiser, bound the slopes there, and predict the error.

        `choice` is (shift, total ridge, epsilon); guess and basis are scaled by the caller.
        """
        shift, ridge, epsilon = choice
        confinement = confinement_radius(facts, guess, basis, ridge)
        slopes = slopes_within(facts.link, guess, basis, confinement)
        wider = slopes_within(facts.link, guess, basis, 2.0 * confinement)
        tolerance = Tolerance(
            gradient=facts.persons * gradient_bound(basis, wider),
            norm=float(basis.record_norms.max()),
            ridge=ridge,
            reach=2.0 * confinement,
        )
        sensitivity = gradient_sensitivity(basis, slopes)
        error = guess.error(ridge, 0.0, sensitivity / (ridge * epsilon))
        return cls(shift, confinement, sensitivity, tolerance, error)


def confinement_radius(facts: Facts, guess: Guess, basis: Basis, ridge: float) -> float:
    """rho with |w*| <= rho for every data set: min { sqrt(n l_0 / k), n g_0 / k }.

    l_0 and g_0 bound a person's loss and gradient at the public centre:
    k |w*|^2 <= loss(f_0) - loss(f*) and k |w*| <= |grad loss(f_0)|, by strong convexity.
    """
    link, eta = facts.link, guess.predictor
    loss = float(link.survival_loss(eta).sum() + link.event_loss(eta).max())
    at_centre = Slopes(link.survival_loss_derivative(eta), -link.event_loss_derivative(eta))
    share = facts.persons / ridge
    by_loss = math.sqrt(share * loss)
    by_gradient = share * gradient_bound(basis, at_centre)
    return min(by_loss, by_gradient) * MARGIN


def slopes_within(link: "Link", guess: Guess, basis: Basis, radius: float) -> Slopes:
    """u_s = phi'(eta_s + rho r_s) and v_s = -psi'(eta_s - rho r_s): both losses are convex."""
    reach = radius * basis.record_norms
    survival = link.survival_loss_derivative(guess.predictor + reach)
    event = -link.event_loss_derivative(guess.predictor - reach)
    return Slopes(survival * MARGIN, event * MARGIN)

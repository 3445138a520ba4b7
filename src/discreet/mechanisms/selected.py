"""A ridge selected on the private data within the budget, in place of the paper's tuning.

Random stopping (Papernot and Steinke 2022): draw a number of trials; in each pick a candidate ridge
at random, release a model with it and score the model; publish the one with the best noisy score.
The whole is epsilon-DP where a trial is (epsilon / 2)-DP: `docs/proofs/selection.md`.

Score of a model f: sum over persons of -min(loss_i(f), bound), on a grid of 2^-10, so that one
person changes it by at most `bound`.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from discreet.core.optimum import SCORE_EXPONENT, Optimum
from discreet.errors import SettingsError
from discreet.mechanisms.contract import (
    NOT_GIVEN,
    Draw,
    Facts,
    Json,
    Mechanism,
    Plan,
    register,
    require_positive,
)
from discreet.mechanisms.objective import ObjectivePerturbation
from discreet.mechanisms.outlook import Outlook, public_guess
from discreet.mechanisms.output import OutputPerturbation
from discreet.mechanisms.perturbation import Perturbation
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.scales import NoiseGrid, require_choice
from discreet.privacy.selection import RandomStopping
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.likelihood.problem import Problem
    from discreet.privacy.noise import NoiseSource


@register
@dataclass(frozen=True)
class SelectedRidge(Mechanism):
    """epsilon-DP under replace-one: perturbation with the best of several ridges (conditional).

    Parameters
    ----------
    epsilon
        The guarantee of the whole.
    ridges
        The candidates, per person.
    base
        "objective" or "output".
    mean_trials
        Average number of models that are tried.
    score_share
        Share of a trial's budget for its score.
    survival
        As in the base mechanism.
    """

    epsilon: float = NOT_GIVEN
    ridges: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    base: str = "objective"
    mean_trials: float = 10.0
    score_share: float = 0.2
    survival: float = 0.5

    name: ClassVar[str] = "selected"
    proof: ClassVar[str] = "selection"
    takes_changes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive("epsilon", self.epsilon)
        require_choice("base", self.base, ("objective", "output"))
        # a tuple, because settings are compared and kept
        ridges: object = self.ridges
        if not isinstance(ridges, tuple) or not ridges:
            raise SettingsError("ridges must be a tuple of at least one candidate")
        for ridge in self.ridges:
            require_positive("every one of ridges", ridge)
        _ = self._candidates  # which check their settings

    @property
    def _stopping(self) -> RandomStopping:
        return RandomStopping(float(self.epsilon), self.mean_trials, self.score_share)

    @property
    def _candidates(self) -> list[Perturbation]:
        kind = ObjectivePerturbation if self.base == "objective" else OutputPerturbation
        epsilon = self._stopping.trial_epsilon
        return [kind(epsilon=epsilon, ridge=ridge, survival=self.survival) for ridge in self.ridges]

    def promise(self, persons: int) -> Guarantee:  # noqa: ARG002 - the same for every n
        """Pure epsilon-DP of the whole selection."""
        return Guarantee(epsilon=float(self.epsilon), status="conditional")

    def plan(self, facts: Facts) -> Plan:
        """Return the plans of all candidates, and the noise of the score."""
        plans = tuple(candidate.plan(facts) for candidate in self._candidates)
        details: dict[str, Json] = {
            "trial_epsilon": self._stopping.trial_epsilon,
            "score_epsilon": self._stopping.score_epsilon,
            "score_bound": score_bound(facts, self.survival),
            "candidates": [
                {"ridge": plan.number("ridge"), "noise_scale": plan.noise_scale} for plan in plans
            ],
        }
        noise_scale = max(plan.noise_scale for plan in plans)
        grid_exponent = min(plan.grid_exponent for plan in plans)
        return self.planned(facts, noise_scale, grid_exponent, details, plans)

    def draw(self, plan: Plan, problem: "Problem", noise: "NoiseSource") -> Draw:
        """Draw the model with the best noisy score."""
        if len(plan.candidates) != len(self.ridges):
            raise SettingsError("this plan was made by another mechanism")
        optimum = Optimum(problem, noise)
        chosen = optimum.best(
            self._stopping,
            list(zip(self._candidates, plan.candidates, strict=True)),
            lambda pair: pair[0].perturb(pair[1], optimum),
            plan.number("score_bound"),
        )
        return replace(chosen, grid_exponent=plan.grid_exponent)

    def variance(self, plan: Plan, outlook: Outlook) -> Array:
        """Predict the variance of the best candidate, without mistakes of the selection."""
        pairs = zip(self._candidates, plan.candidates, strict=True)
        return min((base.variance(item, outlook) for base, item in pairs), key=outlook.error)


def score_bound(facts: Facts, survival: float) -> float:
    """Return the largest loss of a person at the public centre, a typical size of losses."""
    eta = public_guess(facts, survival).predictor
    link = facts.link
    bound = float(link.survival_loss(eta).sum() + link.event_loss(eta).max())
    return float(NoiseGrid(SCORE_EXPONENT).to_floats(NoiseGrid(SCORE_EXPONENT).to_integers(bound)))

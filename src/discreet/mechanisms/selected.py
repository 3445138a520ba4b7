"""A ridge chosen on the private data, and paid for: the honest counterpart of the paper's tuning.

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
    Plan,
    register,
    require_choice,
    require_positive,
    settings_of,
)
from discreet.mechanisms.objective import ObjectivePerturbation
from discreet.mechanisms.outlook import Outlook, public_guess
from discreet.mechanisms.output import OutputPerturbation
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.scales import NoiseGrid
from discreet.privacy.selection import RandomStopping
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.design.design import Coordinates
    from discreet.likelihood.problem import Problem
    from discreet.privacy.noise import NoiseSource

Perturbation = ObjectivePerturbation | OutputPerturbation


@dataclass(frozen=True)
class SelectedPlan(Plan):
    """A plan that holds the plan of every candidate."""

    candidates: tuple[Plan, ...] = ()


@register
@dataclass(frozen=True)
class SelectedRidge:
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
        How many models are tried on average.
    score_share
        Part of a trial's budget that its score takes.
    survival
        As for the base mechanism.

    Raises
    ------
    SettingsError
        epsilon or a candidate is not positive, the base has another name, or a trial or its
        score would have no budget.

    Examples
    --------
    >>> SelectedRidge(epsilon=2.0, ridges=(0.01, 0.1)).promise(1000).epsilon
    2.0
    """

    epsilon: float = NOT_GIVEN
    ridges: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    base: str = "objective"
    mean_trials: float = 10.0
    score_share: float = 0.2
    survival: float = 0.5

    name: ClassVar[str] = "selected"
    proof: ClassVar[str] = "selection"
    needs_memory: ClassVar[bool] = False
    across_sites: ClassVar[bool] = False
    takes_changes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Reject settings under which nothing could be selected."""
        require_positive("epsilon", self.epsilon)
        require_choice("base", self.base, ("objective", "output"))
        _require_ridges(self.ridges)
        _ = self._candidates  # checks what it is made of

    @property
    def coordinates(self) -> "Coordinates":
        """Those of the corrected mechanisms."""
        return "orthonormal"

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

    def plan(self, facts: Facts) -> SelectedPlan:
        """The plans of all candidates, and the noise of the score."""
        plans = tuple(candidate.plan(facts) for candidate in self._candidates)
        return SelectedPlan(
            mechanism=self.name,
            settings=settings_of(self),
            guarantee=self.promise(facts.persons),
            persons=facts.persons,
            dimension=facts.dimension,
            noise_scale=max(plan.noise_scale for plan in plans),
            grid_exponent=min(plan.grid_exponent for plan in plans),
            details=self._details(facts, plans),
            candidates=plans,
        )

    def draw(self, plan: Plan, problem: "Problem", noise: "NoiseSource") -> Draw:
        """The model with the best noisy score."""
        if not isinstance(plan, SelectedPlan):
            raise SettingsError("this plan was made by another mechanism")
        optimum = Optimum(problem, noise)
        chosen = optimum.best(
            self._stopping,
            list(zip(self._candidates, plan.candidates, strict=True)),
            lambda pair: pair[0].perturb(pair[1], optimum),
            plan.number("score_bound"),
        )
        return replace(chosen, grid_exponent=plan.grid_exponent)

    def variance(self, plan: SelectedPlan, outlook: Outlook) -> Array:
        """The best candidate's: what a selection without mistakes would publish."""
        pairs = zip(self._candidates, plan.candidates, strict=True)
        return min((one.variance(item, outlook) for one, item in pairs), key=outlook.error)

    def _details(self, facts: Facts, plans: tuple[Plan, ...]) -> dict[str, Json]:
        stopping = self._stopping
        return {
            "trial_epsilon": stopping.trial_epsilon,
            "score_epsilon": stopping.score_epsilon,
            "score_bound": score_bound(facts, self.survival),
            "candidates": [
                {"ridge": plan.number("ridge"), "noise_scale": plan.noise_scale} for plan in plans
            ],
        }


def _require_ridges(ridges: object) -> None:
    """A tuple, because settings are compared and kept, of positive numbers."""
    if not isinstance(ridges, tuple) or not ridges:
        raise SettingsError("ridges must be a tuple of at least one candidate")
    for ridge in ridges:
        require_positive("every one of ridges", ridge)


def score_bound(facts: Facts, survival: float) -> float:
    """The largest loss of a person at the public centre, a typical size of what is at stake."""
    eta = public_guess(facts, survival).predictor
    link = facts.link
    bound = float(link.survival_loss(eta).sum() + link.event_loss(eta).max())
    return float(NoiseGrid(SCORE_EXPONENT).to_floats(NoiseGrid(SCORE_EXPONENT).to_integers(bound)))

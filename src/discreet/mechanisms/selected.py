"""A ridge chosen on the private data, and paid for: the honest counterpart of the paper's tuning.

Random stopping (Papernot and Steinke 2022): draw a number of trials; in each pick a candidate ridge
at random, release a model with it and score the model; publish the one with the best noisy score.
The whole is epsilon-DP where a trial is (epsilon / 2)-DP: `docs/proofs/selection.md`.

Score of a model f: sum over persons of -min(loss_i(f), bound), on a grid of 2^-10, so that one
person changes it by at most `bound`.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

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
from discreet.privacy.scales import Grid
from discreet.privacy.selection import RandomStopping
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.design.design import Coordinates, Design
    from discreet.design.link import Link
    from discreet.likelihood.problem import Problem
    from discreet.people.episodes import Episodes
    from discreet.privacy.noise import NoiseSource

Perturbation = ObjectivePerturbation | OutputPerturbation

SCORE_EXPONENT = -10


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
        pairs = list(zip(self._candidates, plan.candidates, strict=True))
        bound = plan.number("score_bound")
        chosen: Draw = self._stopping.select(
            pairs,
            lambda pair: pair[0].draw(pair[1], problem, noise),
            lambda draw: clipped_score(problem, draw.point, bound),
            int(Grid(SCORE_EXPONENT).to_integers(bound)),
            noise,
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
    return float(Grid(SCORE_EXPONENT).to_floats(Grid(SCORE_EXPONENT).to_integers(bound)))


def clipped_score(problem: "Problem", point: Array, bound: float) -> int:
    """-sum_i min(loss_i, bound), in units of 2^-10; integers, so the order of people is nothing."""
    public = (problem.design, problem.link, point, bound)
    (score,) = problem.engine.reduce(block_score, *public)
    return int(score)


def block_score(
    block: "Episodes", design: "Design", link: "Link", point: Array, bound: float
) -> tuple[NDArray[np.int64]]:
    """The clipped score of one block's people, each rounded to the grid on its own."""
    rows = _row_losses(block, design, link, point)
    people = rows if block.offsets is None else _by_person(rows, block.offsets)
    clipped = np.clip(np.nan_to_num(people, nan=bound, posinf=bound), 0.0, bound)
    steps = np.rint(np.ldexp(clipped, -SCORE_EXPONENT)).astype(np.int64)
    return (-steps.sum(dtype=np.int64).reshape(()),)


def _row_losses(block: "Episodes", design: "Design", link: "Link", point: Array) -> Array:
    """Loss of every row, interval by interval."""
    size = design.basis.shape[1]
    effect, level = _effects(block.covariates, point[size:]), design.basis @ point[:size]
    losses = np.zeros(block.rows)
    for interval, height in enumerate(level, start=1):
        here = np.flatnonzero((block.entry < interval) & (interval <= block.exit))
        eta = height + effect[here]
        dies = block.event[here] & (block.exit[here] == interval)
        losses[here] += np.where(dies, link.event_loss(eta), link.survival_loss(eta))
    return losses


def _effects(covariates: Array, beta: Array) -> Array:
    """x'beta of every row, one column after the other.

    A matrix product rounds a row differently in other company: whoever brings a row more would
    move the scores of the others.
    """
    effects = np.zeros(len(covariates))
    for column, coefficient in zip(covariates.T, beta, strict=True):
        effects += column * coefficient
    return effects


def _by_person(rows: Array, offsets: NDArray[np.int64]) -> Array:
    """Sums over rows offsets[i]:offsets[i + 1]; persons without rows have loss 0.

    Each sum takes its own rows alone: through a running total one person would round another's.
    """
    count = len(offsets) - 1
    owner = np.repeat(np.arange(count), np.diff(offsets))
    return np.asarray(np.bincount(owner, weights=rows, minlength=count))

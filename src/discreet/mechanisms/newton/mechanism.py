"""Private Newton: noisy steps on bounded, unbiased scores in whitened coordinates.

    1. release exit counts (time x event), marginal counts and second moments of the covariates;
    2. from these: a synthetic cohort, a start, whitened coordinates, the bound B;
    3. a fixed number of times: release the sum of the people's bounded scores (the predictable
       ball), fit all released sums together by weighted least squares and a weak prior.

Noise is discrete Gaussian under (epsilon, delta), or exact lattice L2-Laplace and discrete
Laplace for pure epsilon (delta = 0). All noise scales are known before any data is read.
Proof: docs/proofs/private-newton.md.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.core.ask import Ask
from discreet.core.question import SCORES
from discreet.core.slopes import link_number
from discreet.estimator.cautions import cautions
from discreet.estimator.published import Ended, extras
from discreet.mechanisms.contract import (
    NOT_GIVEN,
    Draw,
    Facts,
    Mechanism,
    Plan,
    register,
    require_positive,
)
from discreet.mechanisms.newton.layout import GRID_EXPONENT, Layout
from discreet.mechanisms.newton.sequence import Sequence, foreseen
from discreet.privacy.accountant import promised
from discreet.privacy.guarantee import Guarantee, checked_delta, delta_for
from discreet.privacy.scales import exact, require_choice
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.likelihood.problem import Problem
    from discreet.mechanisms.outlook import Outlook
    from discreet.privacy.noise import NoiseSource


@register
@dataclass(frozen=True)
class PrivateNewton(Mechanism):
    """(epsilon, delta)-DP, or pure epsilon-DP with delta = 0, under replace-one (proved).

    Parameters
    ----------
    epsilon
        The guarantee.
    delta
        None means 1e-6, or 1/(10 n) where that is smaller; 0 is pure epsilon-DP.
    score
        "ball" (unbiased where the model holds) or "clip".

    Raises
    ------
    SettingsError
        epsilon is not positive, delta is not in [0, 1), or the score has another name.

    Examples
    --------
    >>> PrivateNewton(epsilon=1.0, delta=0.0).promise(1000).epsilon
    1.0
    """

    epsilon: float = NOT_GIVEN
    delta: float | None = None
    score: str = "ball"

    name: ClassVar[str] = "newton"
    proof: ClassVar[str] = "private-newton"
    across_sites: ClassVar[bool] = True
    takes_strata: ClassVar[bool] = True
    takes_changes: ClassVar[bool] = True
    takes_causes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive("epsilon", self.epsilon)
        require_choice("score", self.score, ("ball", "clip"))
        if self.delta is not None:
            checked_delta(self.delta)

    def promise(self, persons: int) -> Guarantee:
        """Return the guarantee of Gaussian noise at the delta of n persons, or pure where that is 0."""
        return promised(self.epsilon, delta_for(persons, self.delta))

    def plan(self, facts: Facts) -> Plan:
        """Shares, sensitivities, noise scales and bins, from public facts alone."""
        link_number(facts.link.name)  # one without compiled slopes is refused before a charge
        promise = self.promise(facts.persons)
        facts.sites.require_delta(promise.delta)
        total = self.epsilon if promise.rho is None else promise.rho
        spendable = facts.sites.spendable(exact(total))
        layout = Layout.make(facts, spendable, pure=promise.rho is None)
        layout.require_drawable(facts)
        budget = layout.budget
        scale = float(budget.scale(budget.steps[-1], SCORES))
        final = scale * budget.sites.excess / budget.divisor(SCORES)
        return self.planned(facts, final, GRID_EXPONENT, layout.details())

    def draw(self, plan: Plan, problem: "Problem", noise: "NoiseSource") -> Draw:
        """The first releases, then the steps; what is published beside is made of these numbers."""
        ended = self.ended(plan, problem, noise)
        point = released_point(ended.estimate.f.ravel())
        return Draw(point, GRID_EXPONENT, noise.private, extras(ended), cautions(ended))

    def bare_draw(self, plan: Plan, problem: "Problem", noise: "NoiseSource") -> Draw:
        """Return the point of a draw alone, by the same code.

        The rest of a draw, a covariance and cautions, is made of released numbers.
        """
        ended = self.ended(plan, problem, noise)
        return Draw(released_point(ended.estimate.f.ravel()), GRID_EXPONENT, noise.private)

    def ended(self, plan: Plan, problem: "Problem", noise: "NoiseSource") -> Ended:
        """Return all that a draw releases, the picture, and the estimate that is made of them."""
        layout = Layout.read(plan)
        ask = Ask(problem.engine, noise, layout.budget)
        clipped = self.score == "clip"
        return Sequence(ask, problem.design, problem.link, layout, clipped).run()

    def variance(self, plan: Plan, outlook: "Outlook") -> Array:
        """Return the part of the stated covariance that privacy adds, for the outlook's cause."""
        own = slice(0, outlook.design.dimension)
        return foreseen(Layout.read(plan), outlook)[1][own, own]


FARTHEST = 1e6
"""The released point is cut to this box: a public bound that no estimate reaches."""


def released_point(point: Array) -> Array:
    """The estimate on the public grid, within a public box."""
    grid = math.ldexp(1.0, GRID_EXPONENT)
    inside = np.clip(np.nan_to_num(point), -FARTHEST, FARTHEST)
    return np.asarray(np.rint(inside / grid) * grid)

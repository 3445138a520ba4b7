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
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.design.schema import Numeric
from discreet.errors import SettingsError
from discreet.likelihood.score import LARGEST, Levels, Whitened, block_scores
from discreet.mechanisms.contract import (
    NOT_GIVEN,
    Draw,
    Facts,
    Plan,
    register,
    require_choice,
    require_positive,
    settings_of,
)
from discreet.mechanisms.newton.bound import Cohort
from discreet.mechanisms.newton.cohort import (
    COHORT,
    Profile,
    Shares,
    correlation,
    draw_cohort,
    narrowed,
    released_shares,
)
from discreet.mechanisms.newton.combine import Linear, around, combine
from discreet.mechanisms.newton.counts import (
    DIAGONAL,
    ENTRIES_TOO,
    EXITS_ONLY,
    OFF_DIAGONAL,
    UNIT,
    Marginal,
    Stretches,
    block_exits,
    block_marginals,
    block_moments,
    marginals_of,
    stretches_of,
    time_edges,
)
from discreet.mechanisms.newton.equation import Setting
from discreet.mechanisms.newton.split import EXITS, MARGINALS, MOMENTS, RANGES, Split, split
from discreet.mechanisms.newton.steps import Prior, covariance
from discreet.privacy.accountant import rho_for
from discreet.privacy.guarantee import Guarantee, checked_delta
from discreet.privacy.noise import LARGEST_VALUE
from discreet.privacy.scales import Number, exact
from discreet.privacy.shares import NoiseShares
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.design.design import Coordinates
    from discreet.likelihood.problem import Problem
    from discreet.privacy.noise import NoiseSource


DEFAULT_DELTA = 1e-6
GRID_EXPONENT = -24
FOUR_STEPS = 1900.0
"""The signal n sqrt(2 rho), or n epsilon / d when pure, from which four steps are better than three."""
STRETCHES = 4
"""Where covariates may change, they are counted in so many stretches of time."""
MOMENT_WEIGHT = 64
"""The weight that a person with several rows spreads over the rows' second moments."""
MOST_TIME_BINS = 50
FARTHEST = 1e6
"""The released point is cut to this box: a public bound that no estimate reaches."""


@register
@dataclass(frozen=True)
class PrivateNewton:
    """(epsilon, delta)-DP, or pure epsilon-DP with delta = 0, under replace-one (proved).

    `delta=None` means 1e-6, or 1/(10 n) where that is smaller. `score` is `ball` (unbiased where
    the model holds) or `clip`.
    """

    epsilon: float = NOT_GIVEN
    delta: float | None = None
    score: str = "ball"

    name: ClassVar[str] = "newton"
    proof: ClassVar[str] = "private-newton"
    needs_memory: ClassVar[bool] = False
    across_sites: ClassVar[bool] = True
    coordinates: ClassVar["Coordinates"] = "orthonormal"

    def __post_init__(self) -> None:
        """Refuse settings that promise nothing."""
        require_positive("epsilon", self.epsilon)
        require_choice("score", self.score, ("ball", "clip"))
        if self.delta is not None:
            checked_delta(self.delta)

    def promise(self, persons: int) -> Guarantee:
        """zCDP at the delta of n persons, or pure where that is 0."""
        delta = self._delta(persons)
        rho = None if delta == 0 else rho_for(self.epsilon, delta)
        return Guarantee(self.epsilon, delta, rho)

    def plan(self, facts: Facts) -> Plan:
        """Shares, sensitivities, noise scales and bins, from public facts alone."""
        promise = self.promise(facts.persons)
        facts.sites.require_delta(promise.delta)
        total = self.epsilon if promise.rho is None else promise.rho
        spendable = facts.sites.spendable(exact(total))
        layout = Layout.make(facts, spendable, pure=promise.rho is None)
        budget = layout.budget
        scale = float(budget.scale(budget.steps[-1], (2 * LARGEST) ** 2))
        final = scale * budget.sites.excess / LARGEST
        return Plan(
            mechanism=self.name,
            settings=settings_of(self),
            guarantee=promise,
            persons=facts.persons,
            dimension=facts.dimension,
            noise_scale=final,
            grid_exponent=GRID_EXPONENT,
            details=layout.details(),
        )

    def draw(self, plan: Plan, problem: "Problem", noise: "NoiseSource") -> Draw:
        """The first releases, then the steps."""
        layout = Layout.read(plan)
        run = _Run(problem, layout, noise, clipped=self.score == "clip")
        return run.draw()

    def _delta(self, persons: int) -> float:
        if self.delta is not None:
            return float(self.delta)
        return min(DEFAULT_DELTA, 1.0 / (10 * persons))


@dataclass(frozen=True)
class Layout:
    """The public shape of a release: bins, number of steps, shares of the budget."""

    budget: Split
    time_bins: int
    range_bins: int
    value_bins: int
    late_entry: bool
    changing: bool

    @classmethod
    def make(cls, facts: Facts, total: Number, *, pure: bool) -> "Layout":
        """Finer bins and more steps the less the noise is, relative to n."""
        p, persons, changing = facts.covariates, facts.persons, facts.time_varying
        sites, size = facts.sites, float(total)
        trial = split(total, 3, pure=pure, without=() if p else (RANGES, MARGINALS), sites=sites)
        covariates = facts.design.schema.covariates
        numbers = sum(isinstance(item, Numeric) for item in covariates)
        without = [] if numbers else [RANGES]
        without += [] if p else [MARGINALS]
        if p < 2 or not _moments_fit(trial, persons, p, changing=changing):
            without.append(MOMENTS)
        signal = persons * (size / facts.dimension if pure else math.sqrt(2 * size))
        steps = _number_of_steps(signal / sites.excess)
        budget = split(total, steps, pure=pure, without=without, sites=sites)
        made = cls(budget, 1, 4, 4, facts.late_entry, changing)
        intervals = facts.intervals
        return replace(
            made,
            time_bins=made._time_bins(persons, intervals),
            range_bins=made._bins(RANGES, persons, numbers, made.whole(intervals)),
            value_bins=made._bins(MARGINALS, persons, len(covariates), made.stretches(intervals)),
        )

    def whole(self, intervals: int) -> Stretches:
        """All time as one stretch: a person's weight, by time, over the values held."""
        return Stretches((0, intervals), UNIT if self.changing else 1)

    def stretches(self, intervals: int) -> Stretches:
        """A few stretches where covariates may change, otherwise one."""
        if not self.changing:
            return self.whole(intervals)
        return stretches_of(intervals, STRETCHES, pure=self.budget.pure)

    def moment_weight(self, intervals: int) -> Stretches:
        """The weight of a person's second moments."""
        return Stretches((0, intervals), _moment_weight(changing=self.changing))

    def _time_bins(self, persons: int, intervals: int) -> int:
        noise = self.budget.count_deviation(self.budget.share(EXITS), 1)
        return min(intervals, max(5, min(MOST_TIME_BINS, int(persons / (20 * noise)))))

    def _bins(self, name: str, persons: int, cells: int, stretches: Stretches) -> int:
        """As many as leave a bin, were all alike, three times its noise."""
        if self.budget.share(name) == 0:
            return 4
        noise = self.budget.count_deviation(self.budget.share(name), cells, stretches)
        return _power_of_two(persons / (3.0 * noise), 4, 64)

    def details(self) -> dict[str, Any]:
        """The layout as public numbers, exact shares as text."""
        return {
            "total": str(self.budget.total),
            "pure": self.budget.pure,
            "shares": {name: str(share) for name, share in self.budget.shares},
            "steps": [str(share) for share in self.budget.steps],
            "time_bins": self.time_bins,
            "range_bins": self.range_bins,
            "value_bins": self.value_bins,
            "late_entry": self.late_entry,
            "changing": self.changing,
            "largest": LARGEST,
            **self.budget.sites.details(),
        }

    @classmethod
    def read(cls, plan: Plan) -> "Layout":
        """The layout that a plan prints: the draw follows the plan, nothing else."""
        details: Any = plan.details
        shares = tuple((name, Fraction(share)) for name, share in details["shares"].items())
        steps = tuple(Fraction(share) for share in details["steps"])
        sites = NoiseShares.read(details)
        budget = Split(Fraction(details["total"]), bool(details["pure"]), shares, steps, sites)
        time, ranges, values = (
            int(details[name]) for name in ("time_bins", "range_bins", "value_bins")
        )
        late, changing = bool(details["late_entry"]), bool(details["changing"])
        return cls(budget, time, ranges, values, late, changing)


LARGEST_MOMENT_ERROR = 1.0
"""Second moments are released where their noise, as a matrix norm, stays below the identity."""


def _moment_limit(covariates: int) -> int:
    """The bound on |v|^2 in integers: one and a half times what is expected."""
    return 3 * covariates * UNIT**2 // 2


def _moment_weight(*, changing: bool) -> int:
    """What the weights of a person's rows add up to, at most."""
    return MOMENT_WEIGHT if changing else 1


def _moment_sensitivity(covariates: int, *, changing: bool = False) -> int:
    """Squared: |sum w v v' - sum w u u'|_F^2 <= 2 (weight R^2)^2, times the integer weight."""
    return 2 * (DIAGONAL * _moment_weight(changing=changing) * _moment_limit(covariates)) ** 2


def _moments_fit(budget: Split, persons: int, covariates: int, *, changing: bool) -> bool:
    """Whether the sums stay within the integers that noise is added to, and above their noise."""
    weight = _moment_weight(changing=changing)
    largest = persons * OFF_DIAGONAL * weight * _moment_limit(covariates)
    error = _moment_error(budget, persons, covariates)
    return largest <= LARGEST_VALUE and error < LARGEST_MOMENT_ERROR


def _moment_error(budget: Split, persons: int, covariates: int) -> float:
    size = covariates * (covariates + 1) // 2
    squared = _moment_sensitivity(covariates)
    deviation = budget.deviation(budget.share(MOMENTS), squared, size)
    return deviation / (DIAGONAL * UNIT**2 * persons) * math.sqrt(2.0 * covariates)


def _number_of_steps(signal: float) -> int:
    """Four, and one more or less for every factor of 3 in the signal; from 3 to 5.

    Every step is a pass over the people, and five reach the noise from any start.
    """
    factors = math.floor(math.log(max(signal, 1.0) / FOUR_STEPS) / math.log(3.0))
    return int(min(5, max(3, 4 + factors)))


def _power_of_two(value: float, low: int, high: int) -> int:
    power = 2 ** round(math.log2(max(value, 1.0)))
    return int(min(high, max(low, power)))


class _Run:
    """One draw: the releases in order, each a function of the ones before."""

    def __init__(
        self, loss: "Problem", layout: Layout, noise: "NoiseSource", *, clipped: bool
    ) -> None:
        self.engine, self.design, self.link = loss.engine, loss.design, loss.link
        if self.engine.persons < 1:
            raise SettingsError("a private fit needs at least one person")
        self.persons = self.engine.persons
        self.layout, self.noise = layout, noise
        self.budget = layout.budget
        self.setting = Setting(self.design, self.link, self.budget, clipped)
        self.size = self.design.dimension
        self.time = self.design.basis.shape[1]

    def draw(self) -> Draw:
        """Exit counts, cohort, steps; what is published with the estimate."""
        profile, life_table = self._profile()
        people, spreads = self._people(profile)
        prior = self.setting.prior(profile, spreads)
        point, released = prior.centre, []
        for share in self.budget.steps:
            released.append(self._step(point, people, prior, share))
            point = combine(released, point, prior, people.events)
        steps = around(released, point)
        spread = covariance(steps, point, prior)
        grid = math.ldexp(1.0, GRID_EXPONENT)
        numbers = np.rint(np.clip(np.nan_to_num(point), -FARTHEST, FARTHEST) / grid) * grid
        extras = {"covariance": spread, "life_table": life_table}
        return Draw(numbers, GRID_EXPONENT, self.noise.private, extras)

    def _profile(self) -> tuple[Profile, Array]:
        """The released life table: rows (first interval, last, censored, events[, entered])."""
        edges = time_edges(self.design.intervals, self.layout.time_bins)
        late = self.layout.late_entry
        share, cells = self.budget.share(EXITS), 2 if late else 1
        kinds = ENTRIES_TOO if late else EXITS_ONLY
        (counts,) = self.engine.reduce(block_exits, edges, kinds)
        noisy = self.budget.release_counts(counts, share, cells, self.noise)
        deviation = self.budget.count_deviation(share, cells)
        table = np.vstack([edges[:-1] + 1.0, edges[1:], noisy.reshape(-1, len(edges) - 1)]).T
        return Profile.make(noisy, edges, self.persons, deviation), table

    def _people(self, profile: Profile) -> tuple[Cohort, Array]:
        """A synthetic cohort from the released counts and moments; the covariates' spreads."""
        intervals, events = self.design.intervals, profile.total_events
        stretches = self.layout.stretches(intervals)
        edges = np.array(stretches.edges, dtype=np.int64)
        if self.size == self.time:
            cohort, counts = np.zeros((1, stretches.number, 0)), np.ones((1, stretches.number))
            people = Cohort(cohort, profile.persons * counts, edges, profile.present, events)
            return people, np.zeros(0)
        shares = self._marginals(self._ranges(), stretches, profile)
        centre = np.concatenate([item.mean for item in shares])
        spread = np.maximum(np.concatenate([item.spread for item in shares]), 1e-6)
        cohort, counts = draw_cohort(shares, self._moments(centre, spread), COHORT)
        people = Cohort(cohort, profile.persons * counts, edges, profile.present, events)
        return people, spread

    def _ranges(self) -> tuple[Marginal, ...]:
        """The covariates, numbers with bins where the people are: one coarse release."""
        marginals = marginals_of(self.design, self.layout.range_bins)
        numbers = tuple(item for item in marginals if item.numeric)
        if not numbers:
            return marginals
        share, whole = self.budget.share(RANGES), self.layout.whole(self.design.intervals)
        (counts,) = self.engine.reduce(block_marginals, numbers, whole)
        noisy = self.budget.release_counts(counts, share, len(numbers), self.noise, whole)
        deviation = self.budget.count_deviation(share, len(numbers), whole)
        return narrowed(marginals, noisy, deviation, self.layout.value_bins)

    def _marginals(
        self, marginals: tuple[Marginal, ...], stretches: Stretches, profile: Profile
    ) -> list[Shares]:
        """Released shares of every covariate's bins, by stretch of time."""
        share, cells = self.budget.share(MARGINALS), len(marginals)
        (counts,) = self.engine.reduce(block_marginals, marginals, stretches)
        noisy = self.budget.release_counts(counts, share, cells, self.noise, stretches)
        deviation = self.budget.count_deviation(share, cells, stretches)
        number = stretches.number
        return released_shares(self.design, marginals, noisy, profile.persons, deviation, number)

    def _moments(self, centre: Array, spread: Array) -> Array:
        """Released second moments of the standardised covariates, or the identity."""
        width, share = len(centre), self.budget.share(MOMENTS)
        if share == 0:
            return np.eye(width)
        limit = _moment_limit(width)
        squared = _moment_sensitivity(width, changing=self.layout.changing)
        weight = self.layout.moment_weight(self.design.intervals)
        (half,) = self.engine.reduce(block_moments, centre, spread, limit, weight)
        noisy = self.budget.release(half, share, squared, self.noise) / weight.weight
        deviation = self.budget.deviation(share, squared, len(half)) / weight.weight
        return correlation(noisy, self.persons, deviation, width)

    def _step(self, point: Array, people: Cohort, prior: Prior, share: Fraction) -> Linear:
        """Whiten at the point, choose the bound, release the sum of bounded scores."""
        equation = self.setting.equation(point, people, prior, share)
        return equation.answered(-self._release(equation.scores, share), people)

    def _release(self, scores: Whitened, share: Fraction) -> Array:
        """The noisy sum of bounded scores in whitened units."""
        levels = Levels.make(scores, self.persons)
        (sums,) = self.engine.reduce(block_scores, scores, levels)
        noisy = self.budget.release(sums, share, (2 * LARGEST) ** 2, self.noise)
        return noisy * (scores.bound / LARGEST)

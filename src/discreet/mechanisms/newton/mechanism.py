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
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import SettingsError
from discreet.likelihood.score import LARGEST, Levels, Whitened, block_scores
from discreet.likelihood.score_information import (
    LARGEST_FACTOR,
    Informations,
    block_information,
)
from discreet.likelihood.score_walk import link_number
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
from discreet.mechanisms.newton.cohort import completed_spreads, narrowed, without_fills
from discreet.mechanisms.newton.combine import combine
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
    exit_edges,
    gaps_of,
    marginals_of,
    stretches_of,
)
from discreet.mechanisms.newton.diagnosis import Ending
from discreet.mechanisms.newton.equation import Setting, predicted_variance
from discreet.mechanisms.newton.picture import (
    Information,
    Noisy,
    Picture,
    Releases,
    spreads_of,
    typical_values,
)
from discreet.mechanisms.newton.pin import Pinned
from discreet.mechanisms.newton.split import (
    EXITS,
    FIRST_SHARES,
    INFORMATION,
    MARGINALS,
    MOMENTS,
    RANGES,
    Split,
    split,
)
from discreet.mechanisms.newton.spread import Answer, Spread, spread_of
from discreet.mechanisms.newton.steps import Prior
from discreet.mechanisms.newton.warnings import Counts, HiddenStrata
from discreet.privacy.accountant import rho_for
from discreet.privacy.guarantee import Guarantee, checked_delta
from discreet.privacy.noise import LARGEST_VALUE
from discreet.privacy.scales import Number, exact
from discreet.privacy.shares import NoiseShares
from discreet.types import Array, Integers

if TYPE_CHECKING:
    from discreet.design.design import Coordinates
    from discreet.likelihood.problem import Problem
    from discreet.mechanisms.outlook import Outlook
    from discreet.privacy.noise import NoiseSource


DEFAULT_DELTA = 1e-6
GRID_EXPONENT = -24
FOUR_STEPS = 1900.0
"""The signal n sqrt(2 rho), or n epsilon / d when pure, from which four steps are better than three."""
STRETCHES = 4
"""Where covariates may change, they are counted in so many stretches of time."""
MOMENT_WEIGHT = 64
"""The weight that a person with several rows spreads over the rows' second moments."""
MOST_TIME_BINS = 12
FARTHEST = 1e6
"""The released point is cut to this box: a public bound that no estimate reaches."""


@register
@dataclass(frozen=True)
class PrivateNewton:
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
        A setting promises nothing or means nothing.

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
    needs_memory: ClassVar[bool] = False
    across_sites: ClassVar[bool] = True
    takes_strata: ClassVar[bool] = True
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
        link_number(facts.link.name)  # one without compiled slopes is refused before a charge
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
            dimension=facts.causes * facts.dimension,
            noise_scale=final,
            grid_exponent=GRID_EXPONENT,
            details=layout.details(),
        )

    def draw(self, plan: Plan, problem: "Problem", noise: "NoiseSource") -> Draw:
        """The first releases, then the steps."""
        from discreet.mechanisms.newton.causes import CausesRun  # noqa: PLC0415 - a run itself

        layout = Layout.read(plan)
        kind = Run if layout.causes == 1 else CausesRun
        return kind(problem, layout, noise, clipped=self.score == "clip").draw()

    def variance(self, plan: Plan, outlook: "Outlook") -> Array:
        """The steps without the data, from a start as far away as effects are guessed to be."""
        layout = Layout.read(plan)
        setting = Setting(outlook.design, outlook.link, layout.budget, causes=layout.causes)
        prior = setting.prior(outlook.profile, each=outlook.profiles)
        far = float(np.sum(np.diag(outlook.information) * outlook.effects))
        return predicted_variance(setting, outlook.point, outlook.shape, prior, far)

    def stated(self, plan: Plan, outlook: "Outlook") -> Array:
        """What a release will state, rehearsed on made-up people."""
        from discreet.mechanisms.newton.rehearsal import stated_covariance  # noqa: PLC0415 - plans

        return stated_covariance(self, plan, outlook)

    def _delta(self, persons: int) -> float:
        if self.delta is not None:
            return float(self.delta)
        return min(DEFAULT_DELTA, 1.0 / (10 * persons))


@dataclass(frozen=True)
class Layout:
    """The public shape of a release: bins, number of steps, shares of the budget.

    `mixed` says whether second moments show which strata go with which covariates.
    """

    budget: Split
    time_bins: int
    range_bins: int
    value_bins: int
    late_entry: bool
    changing: bool
    causes: int = 1
    strata: int = 1
    mixed: bool = False

    @classmethod
    def make(cls, facts: Facts, total: Number, *, pure: bool) -> "Layout":
        """Finer bins and more steps the less the noise is, relative to n."""
        p, persons, changing = facts.leads, facts.persons, facts.time_varying
        sites, size = facts.sites, float(total)
        trial = split(total, 3, pure=pure, without=() if p else (RANGES, MARGINALS), sites=sites)
        covariates = marginals_of(facts.design, 4)
        numbers = sum(item.numeric for item in covariates)
        without = [] if numbers else [RANGES]
        without += [] if p else [MARGINALS]
        if not _information_fits(trial, persons, facts.dimension, facts.causes):
            without.append(INFORMATION)
        mixed = _strata_fit(trial, facts)
        if not mixed and (p < 2 or not _moments_fit(trial, persons, p, changing=changing)):
            without.append(MOMENTS)
        dimension = facts.causes * facts.dimension
        signal = persons * (size / dimension if pure else math.sqrt(2 * size))
        steps = _number_of_steps(signal / sites.excess, signal / persons)
        budget = split(total, steps, pure=pure, without=without, sites=sites)
        strata = facts.design.strata
        made = cls(budget, 1, 4, 4, facts.late_entry, changing, facts.causes, strata, mixed)
        intervals = facts.intervals
        return replace(
            made,
            time_bins=made._time_bins(persons // strata, intervals),
            range_bins=made._bins(RANGES, persons, numbers, made.whole(intervals)),
            value_bins=made._bins(MARGINALS, persons, len(covariates), made.stretches(intervals)),
        )

    @property
    def informed(self) -> int | None:
        """The step with which the information is released: three before the end, not the first."""
        return max(1, len(self.budget.steps) - 3) if self.budget.share(INFORMATION) else None

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
            **self._strata_details(),
            "largest": LARGEST,
            **({"causes": self.causes} if self.causes > 1 else {}),
            **self.budget.sites.details(),
        }

    def _strata_details(self) -> dict[str, Any]:
        if self.strata == 1:
            return {}
        return {"strata": self.strata, "mixed": self.mixed}

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
        strata, mixed = int(details.get("strata", 1)), bool(details.get("mixed", False))
        causes = int(details.get("causes", 1))
        return cls(budget, time, ranges, values, late, changing, causes, strata, mixed)


LARGEST_MOMENT_ERROR = 1.0
"""Second moments are released where their noise, as a matrix norm, stays below the identity."""
LARGEST_MIXED_ERROR = 0.5
"""Strata are part of them where it stays below this: the more columns, the more noise for all."""


def _strata_fit(budget: Split, facts: Facts) -> bool:
    """Whether second moments of covariates and strata together stand out of their noise."""
    columns, changing = facts.leads + facts.design.strata - 1, facts.time_varying
    if facts.design.strata == 1 or facts.leads == 0:
        return False
    fit = _moments_fit(budget, facts.persons, columns, changing=changing)
    return fit and _moment_error(budget, facts.persons, columns) < LARGEST_MIXED_ERROR


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


INFORMATION_SQUARED = 2 * (DIAGONAL * LARGEST_FACTOR**2) ** 2
"""|C C' - D D'|_F^2 <= 2 Q^4, times the integer weight."""
LARGEST_INFORMATION_ERROR = 0.8
"""The information is released where its noise, as a matrix norm, stays below this part of it."""
GENEROUS, MOST_GENEROUS = 6.0, 600.0
"""A person's information is cut to the trace of so many persons' average: more where noise allows."""
SMALL_INFORMATION_ERROR = 0.1


def information_limit(budget: Split, size: int, persons: int, causes: int = 1) -> float:
    """R: in whitened coordinates the traces of all people add up to about d for every cause."""
    average = causes * size / persons
    unit = _information_error(budget, size, average, causes)
    allowed = SMALL_INFORMATION_ERROR / max(unit, 1e-300)
    return min(max(GENEROUS, allowed), MOST_GENEROUS) * average


def _information_error(budget: Split, size: int, limit: float, causes: int) -> float:
    """The noise of the released information as a matrix norm, in parts of the information."""
    half = causes * (size * (size + 1) // 2)
    share = FIRST_SHARES[INFORMATION]
    deviation = budget.deviation(share, INFORMATION_SQUARED, half) / DIAGONAL
    return deviation / LARGEST_FACTOR**2 * limit * math.sqrt(2.0 * size)


def _information_fits(budget: Split, persons: int, size: int, causes: int) -> bool:
    """Whether the sums stay within the integers that noise is added to, and above their noise."""
    limit = information_limit(budget, size, persons, causes)
    error = _information_error(budget, size, limit, causes)
    largest = persons * OFF_DIAGONAL * LARGEST_FACTOR**2
    return largest <= LARGEST_VALUE and error < LARGEST_INFORMATION_ERROR


def _number_of_steps(signal: float, each: float) -> int:
    """Four, and one more or less for every factor of 3 in the signal; from 3 to 5.

    Every step is a pass over the people, and five reach the noise from any start, unless there is
    next to no noise: `each`, the signal of one person, adds a step for every doubling beyond 3.
    """
    factors = math.floor(math.log(max(signal, 1.0) / FOUR_STEPS) / math.log(3.0))
    extra = math.floor(math.log2(max(each / 3.0, 1.0)))
    return int(min(5, max(3, 4 + factors)) + min(4, extra))


def _power_of_two(value: float, low: int, high: int) -> int:
    power = 2 ** round(math.log2(max(value, 1.0)))
    return int(min(high, max(low, power)))


def released_point(point: Array) -> Array:
    """The estimate on the public grid, within a public box."""
    grid = math.ldexp(1.0, GRID_EXPONENT)
    inside = np.clip(np.nan_to_num(point), -FARTHEST, FARTHEST)
    return np.asarray(np.rint(inside / grid) * grid)


class Run:
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
        self.setting = Setting(self.design, self.link, self.budget, clipped, layout.causes)
        self.size = self.design.dimension
        self.time = self.design.time_dimension
        terms = bool(self.design.covariates.derived)
        self.leads = self.design.covariates.leads if terms else None

    def draw(self) -> Draw:
        """The first releases, the steps; what is published with the estimate."""
        picture = self._picture()
        releases = picture.releases
        width = len(self.design.covariates.leads)
        spreads = completed_spreads(self.design, picture.spreads[:width])
        prior = self.setting.prior(releases.profile, spreads, releases.profiles)
        point, answers = prior.centre, []
        for number, share in enumerate(self.budget.steps):
            equation = self.setting.equation(point, picture.shape, prior, share)
            answers.append(Answer(equation, -self._release(equation.scores, share)))
            if number == self.layout.informed:
                picture = picture.informed(self._information(equation.scores))
            released = [partial(one.around, picture) for one in answers]
            point = combine(released, point, Pinned(prior, picture.shape), picture.people.events)
        spread = spread_of(answers, picture, point, prior)
        numbers = released_point(point)
        ending = self._ending(picture, point, spread, prior)
        extras = {
            "covariance": spread.covariance,
            "life_table": releases.life_table,
            "calibration": ending.calibration(),
        }
        if self.size > self.time:
            shares = releases.shares(self.design)
            extras["typical"] = typical_values(self.design, shares)[None, :]
        if self.layout.strata > 1:
            extras["life_tables"] = releases.life_tables
        return Draw(numbers, GRID_EXPONENT, self.noise.private, extras, ending.cautions())

    def _ending(self, picture: Picture, point: Array, spread: Spread, prior: Prior) -> Ending:
        """What the release says of itself."""
        releases = picture.releases
        at_risk = [profile.at_risk for profile in releases.profiles]
        return Ending(
            self.design,
            self.link,
            point,
            picture.people,
            at_risk[0] if len(at_risk) == 1 else np.stack(at_risk),
            Counts(releases.life_table, releases.exit_deviation, self.persons),
            spread.covariance,
            spread.sampling,
            np.asarray(np.linalg.inv(prior.precision)),
            spread.missing,
            self._hidden(releases),
        )

    def _hidden(self, releases: Releases) -> HiddenStrata | None:
        """Strata in which hardly anybody was counted."""
        declared = self.design.schema.strata
        if declared is None:
            return None
        names = self.design.baseline_names
        return HiddenStrata(declared.title, declared.level_titles, names, releases.hidden)

    def _picture(self) -> Picture:
        """The people as far as they were released."""
        return Picture.of(self.design, self.link, *self._releases())

    def _releases(self) -> tuple[Releases, Array]:
        """Exits, ranges, marginals and second moments; the spreads that standardise these."""
        edges = exit_edges(self.design.intervals, self.layout.time_bins)
        stretches = self.layout.stretches(self.design.intervals)
        first = self._begun(edges, self._exits(edges), stretches)
        if self.size == self.time:
            return first, np.zeros(0)
        marginals = self._ranges()
        counted = replace(first, marginals=marginals, counts=self._marginals(marginals, stretches))
        shares = without_fills(self.design, counted.shares(self.design))
        if self.layout.strata > 1 and not self.layout.mixed:
            shares = shares[:-1]
        centre, spread = np.concatenate([item.mean for item in shares]), spreads_of(shares)
        return replace(counted, moments=self._moments(centre, spread)), spread

    def _begun(self, edges: Integers, exits: Noisy, stretches: Stretches) -> Releases:
        """What is released once exits are."""
        return Releases(self.persons, edges, exits, stretches, strata=self.layout.strata)

    def _exits(self, edges: Integers) -> Noisy:
        """Counts of exits by (censored, event), and of entries where they may be late."""
        late = self.layout.late_entry
        share, cells = self.budget.share(EXITS), 2 if late else 1
        kinds = ENTRIES_TOO if late else EXITS_ONLY
        (counts,) = self.engine.reduce(block_exits, edges, kinds, self.layout.strata)
        noisy = self.budget.release_counts(counts, share, cells, self.noise)
        return Noisy(noisy, self.budget.count_deviation(share, cells))

    def _ranges(self) -> tuple[Marginal, ...]:
        """The covariates, numbers with bins where the people are: one coarse release."""
        marginals = marginals_of(self.design, self.layout.range_bins)
        numbers = tuple(item for item in marginals if item.numeric)
        if not numbers:
            return marginals
        share, whole = self.budget.share(RANGES), self.layout.whole(self.design.intervals)
        (counts,) = self.engine.reduce(block_marginals, numbers, whole, self.leads)
        noisy = self.budget.release_counts(counts, share, len(numbers), self.noise, whole)
        deviation = self.budget.count_deviation(share, len(numbers), whole)
        return narrowed(marginals, noisy, deviation, self.layout.value_bins)

    def _marginals(self, marginals: tuple[Marginal, ...], stretches: Stretches) -> Noisy:
        """Counts of every covariate's bins, by stretch of time."""
        share, cells = self.budget.share(MARGINALS), len(marginals)
        (counts,) = self.engine.reduce(block_marginals, marginals, stretches, self.leads)
        noisy = self.budget.release_counts(counts, share, cells, self.noise, stretches)
        return Noisy(noisy, self.budget.count_deviation(share, cells, stretches))

    def _moments(self, centre: Array, spread: Array) -> Noisy | None:
        """Second moments of the standardised covariates, and of strata where they are `mixed`."""
        width, share = len(centre), self.budget.share(MOMENTS)
        if share == 0:
            return None
        limit = _moment_limit(width)
        squared = _moment_sensitivity(width, changing=self.layout.changing)
        weight = self.layout.moment_weight(self.design.intervals)
        (half,) = self.engine.reduce(
            block_moments, centre, spread, limit, weight, self.leads, gaps_of(self.design)
        )
        noisy = self.budget.release(half, share, squared, self.noise) / weight.weight
        return Noisy(noisy, self.budget.deviation(share, squared, len(half)) / weight.weight)

    def _information(self, scores: Whitened) -> Information:
        """The sum of the people's information, each of trace at most R, in whitened units."""
        share, size = self.budget.share(INFORMATION), self.size
        limit = information_limit(self.budget, size, self.persons)
        tables = Informations.each(scores, self.persons)
        (half,) = self.engine.reduce(block_information, scores, limit, *tables)
        weighted = half * self._half_weights()
        noisy = self.budget.release(weighted, share, INFORMATION_SQUARED, self.noise)
        deviation = self.budget.deviation(share, INFORMATION_SQUARED, len(half))
        return self._as_information(scores, noisy, deviation, limit)

    def _half_weights(self) -> Integers:
        """Of the lower triangle, row after row."""
        rows, columns = np.tril_indices(self.size)
        return np.where(rows == columns, DIAGONAL, OFF_DIAGONAL)

    def _as_information(
        self, scores: Whitened, noisy: Array, deviation: float, limit: float
    ) -> Information:
        """A released half-vector as a matrix."""
        rows, columns = np.tril_indices(self.size)
        unit = limit / LARGEST_FACTOR**2
        matrix = np.zeros((self.size, self.size))
        matrix[rows, columns] = matrix[columns, rows] = noisy / self._half_weights() * unit
        return Information(scores, matrix, deviation / DIAGONAL * unit)

    def _release(self, scores: Whitened, share: Fraction) -> Array:
        """The noisy sum of bounded scores in whitened units."""
        levels = Levels.each(scores, self.persons)
        (sums,) = self.engine.reduce(block_scores, scores, *levels)
        noisy = self.budget.release(sums, share, (2 * LARGEST) ** 2, self.noise)
        return noisy * (scores.bound / LARGEST)

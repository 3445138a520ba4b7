"""The layout of a release of private Newton: questions and their noise, from public facts alone.

Bins, steps and shares of the budget are chosen here, and whether second moments and information are
released at all: their sums must stay within the integers and above their noise. The plan prints the
layout, and a draw reads it there. Proof: docs/proofs/private-newton.md, sections 1 and 3.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import question
from discreet.core.bins import UNIT, Stretches, marginals_of, stretches_of
from discreet.core.question import moment_limit, of_exits, of_marginals, of_moments
from discreet.core.scores import LARGEST
from discreet.core.split import Sensitivity, Split
from discreet.estimator.transcript import moment_part
from discreet.mechanisms.contract import Facts, Plan
from discreet.privacy.scales import Number, exact
from discreet.privacy.shares import ALONE, NoiseShares

EXITS, RANGES, MARGINALS, MOMENTS = "exits", "ranges", "marginals", "moments"
INFORMATION = "information"
FIRST_SHARES = {
    EXITS: Fraction(6, 100),
    RANGES: Fraction(15, 1000),
    MARGINALS: Fraction(4, 100),
    MOMENTS: Fraction(5, 100),
    INFORMATION: Fraction(5, 100),
}
PURE_SHARES = {
    EXITS: Fraction(6, 100),
    RANGES: Fraction(2, 100),
    MARGINALS: Fraction(15, 100),
    MOMENTS: Fraction(8, 100),
    INFORMATION: Fraction(5, 100),
}
"""Laplace noise of counts grows with the number of covariates, not with its root, so they get more."""
GROWTH, PURE_GROWTH = Fraction(2), Fraction(3, 2)
"""The budget of a step in units of the one before: late steps are the accurate ones. Laplace
noise goes with 1/share: the first steps need more of it to come near."""
GRID_EXPONENT = -24
"""A release is published on the grid of this power of two."""
FOUR_STEPS = 1000.0
"""The signal n sqrt(2 rho), or n epsilon / d when pure, from which four steps are better than three."""
STRETCHES = 4
"""Where covariates may change, they are counted in this number of stretches of time."""
MOMENT_WEIGHT = 64
"""The weight that a person with several rows spreads over the rows' second moments."""
RANGED, VALUED = 1.0, 3.0
"""The content of a bin in units of its noise, were all alike: of a public range, most of which is
empty where bounds are generous, and of the part of it that holds the people."""
FEW_STEPS = 3
"""With so few later steps the bound of the first is chosen for its own noise: it has to come near alone."""
FEWEST_TIME_BINS, MOST_TIME_BINS = 5, 12


PLAIN = "time_bins", "range_bins", "value_bins", "late_entry", "changing"
"""Fields of a layout that every plan prints as they are."""


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
        if not mixed and not (p and _moments_fit(trial, persons, p, changing=changing)):
            without.append(MOMENTS)
        dimension = facts.causes * facts.dimension
        signal = persons * (size / dimension if pure else math.sqrt(2 * size))
        steps = _number_of_steps(signal / sites.excess, signal / persons)
        budget = split(total, steps, pure=pure, without=without, sites=sites)
        strata = facts.design.strata
        late, causes = facts.design.schema.time.entry is not None, facts.causes
        made = cls(budget, 1, 4, 4, late, changing, causes, strata, mixed)
        intervals = facts.design.intervals
        noise = budget.deviation(budget.share(EXITS), of_exits(late=False))
        time_bins = min(MOST_TIME_BINS, int(persons // strata / (20 * noise)))
        return replace(
            made,
            time_bins=min(intervals, max(FEWEST_TIME_BINS, time_bins)),
            range_bins=made._bins(RANGES, persons, numbers, made.whole(intervals), RANGED),
            value_bins=made._bins(
                MARGINALS, persons, len(covariates), made.stretches(intervals), VALUED
            ),
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

    def step_noise(self, share: Fraction, size: int) -> float:
        """The noise of a sum of scores over its bound, each cause with `size` parameters."""
        return self.budget.deviation(share, question.SCORES, self.causes * size)

    def later_noise(self, number: int, size: int) -> float:
        """The noise that a step's bound is chosen for.

        It is that of all later steps together; of the first of few its own.
        """
        first, *later = self.budget.steps
        alone = number == 0 and len(later) <= FEW_STEPS
        noises = [self.step_noise(share, size) for share in ([first] if alone else later)]
        return float(np.sum(np.array(noises) ** -2.0) ** -0.5)

    def require_drawable(self, facts: Facts) -> None:
        """`SettingsError` where noise that the draw will ask for cannot be drawn."""
        for share, sensitivity, dimension in self._asked(facts):
            if share:
                self.budget.require_drawable(share, sensitivity, dimension)

    def _asked(self, facts: Facts) -> Iterator[tuple[Fraction, Sensitivity, int]]:
        """Share, sensitivity and largest dimension of every question of a draw."""
        shares, intervals = dict(self.budget.shares), facts.design.intervals
        numbers = sum(item.numeric for item in marginals_of(facts.design, 4))
        covariates = len(marginals_of(facts.design, 4))
        half = facts.causes * (facts.dimension * (facts.dimension + 1) // 2)
        yield shares[EXITS], of_exits(late=self.late_entry), 1
        yield shares[RANGES], of_marginals(numbers, self.whole(intervals)), 1
        yield shares[MARGINALS], of_marginals(covariates, self.stretches(intervals)), 1
        columns = max(facts.leads, 1) + self.mixed * (self.strata - 1)
        weight = self.moment_weight(intervals).weight
        yield shares[MOMENTS], of_moments(columns, weight), columns * (columns + 1) // 2
        yield shares[INFORMATION], question.INFORMATION, half
        for share in self.budget.steps:
            yield share, question.SCORES, facts.causes * facts.dimension

    def _bins(self, name: str, persons: int, cells: int, stretches: Stretches, times: float) -> int:
        """Return the number of bins that leave each, were all alike, at `times` its noise."""
        if self.budget.share(name) == 0:
            return 4
        noise = self.budget.deviation(self.budget.share(name), of_marginals(cells, stretches))
        power = 2 ** round(math.log2(max(persons / (times * noise), 1.0)))
        return int(min(64, max(4, power)))

    def details(self) -> dict[str, Any]:
        """The layout as public numbers, exact shares as text."""
        return {
            "total": str(self.budget.total),
            "pure": self.budget.pure,
            "shares": {name: str(share) for name, share in self.budget.shares},
            "steps": [str(share) for share in self.budget.steps],
            **{name: getattr(self, name) for name in PLAIN},
            **({"strata": self.strata, "mixed": self.mixed} if self.strata > 1 else {}),
            "largest": LARGEST,
            **({"causes": self.causes} if self.causes > 1 else {}),
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
        known = (name for name in (*PLAIN, "causes", "strata", "mixed") if name in details)
        return cls(budget, **{name: details[name] for name in known})


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


def _moment_weight(*, changing: bool) -> int:
    """Return the most that the weights of a person's rows add up to."""
    return MOMENT_WEIGHT if changing else 1


def _moments_fit(budget: Split, persons: int, covariates: int, *, changing: bool) -> bool:
    """Whether the sums stay within the integers that noise is added to, and above their noise."""
    sensitivity = of_moments(covariates, _moment_weight(changing=changing))
    error = _moment_error(budget, persons, covariates)
    return sensitivity.keeps(persons) and error < LARGEST_MOMENT_ERROR


def _moment_error(budget: Split, persons: int, covariates: int) -> float:
    size = covariates * (covariates + 1) // 2
    deviation = budget.deviation(budget.share(MOMENTS), of_moments(covariates, 1), size)
    part = moment_part(covariates, moment_limit(covariates) / UNIT**2)
    return deviation / (persons * part) * math.sqrt(2.0 * covariates)


LARGEST_INFORMATION_ERROR = 0.8
"""The information is released where its noise, as a matrix norm, stays below this part of it."""
GENEROUS = 6.0
"""The trace that a person's information would be cut to, in units of the persons' average."""


def average_trace(size: int, persons: int, causes: int = 1) -> float:
    """In whitened coordinates the traces of all people add up to about d for every cause."""
    return causes * size / persons


def information_error(budget: Split, size: int, limit: float, causes: int) -> float:
    """The noise of the released information as a matrix norm, in parts of the information."""
    half = causes * (size * (size + 1) // 2)
    share = first_shares(pure=budget.pure)[INFORMATION]
    return budget.deviation(share, question.INFORMATION, half) * limit * math.sqrt(2.0 * size)


def _information_fits(budget: Split, persons: int, size: int, causes: int) -> bool:
    """Whether the sums stay within the integers that noise is added to, and above their noise."""
    limit = GENEROUS * average_trace(size, persons, causes)
    error = information_error(budget, size, limit, causes)
    return question.INFORMATION.keeps(persons) and error < LARGEST_INFORMATION_ERROR


def _number_of_steps(signal: float, each: float) -> int:
    """Four, and one more or less for every factor of 3 in the signal; from 3 to 5.

    Every step is a pass over the people, and five reach the noise from any start, unless there is
    next to no noise: `each`, the signal of one person, adds a step for every doubling beyond 3.
    """
    factors = math.floor(math.log(max(signal, 1.0) / FOUR_STEPS) / math.log(3.0))
    extra = math.floor(math.log2(max(each / 3.0, 1.0)))
    return int(min(5, max(3, 4 + factors)) + min(4, extra))


def split(
    total: Number,
    steps: int,
    *,
    pure: bool,
    without: Collection[str] = (),
    sites: NoiseShares = ALONE,
) -> Split:
    """Shares of the first releases; the rest goes to the steps in growing parts."""
    first = first_shares(pure=pure)
    shares = {name: Fraction(0) if name in without else part for name, part in first.items()}
    rest = 1 - sum(shares.values(), Fraction(0))
    parts = growing(steps, PURE_GROWTH if pure else GROWTH)
    later = tuple(rest * part for part in parts)
    return Split(exact(total), pure, tuple(shares.items()), later, sites)


def first_shares(*, pure: bool) -> dict[str, Fraction]:
    """The shares of the first releases, were all of them made."""
    return PURE_SHARES if pure else FIRST_SHARES


def growing(steps: int, growth: Fraction) -> Sequence[Fraction]:
    """Parts proportional to growth^t that add up to 1."""
    weights = [growth**step for step in range(steps)]
    return [weight / sum(weights, Fraction(0)) for weight in weights]


def informed_step(budget: Split) -> int | None:
    """The step with which the information is released: three before the end, not the first."""
    return max(1, len(budget.steps) - 3) if budget.share(INFORMATION) else None

"""The split of the budget over the releases: shares as rationals, so that their sums are exact."""

from collections.abc import Collection, Sequence
from fractions import Fraction

from discreet.core.split import Split
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

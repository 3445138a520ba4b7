"""How wide the columns are, and what goes with what: counts and second moments together.

Counts do not tell few people far away from their noise, nor how narrow people are within a bin; second
moments of the standardised columns do, as far as their own noise lets them. Post-processing alone.
"""

from dataclasses import dataclass, replace

import numpy as np

from discreet.core.bins import gaps_of
from discreet.design.design import Design
from discreet.estimator.tails import all_within
from discreet.mechanisms.newton.cohort import (
    Shares,
    before_cuts,
    cohort_size,
    correlation,
    shown_moments,
    without_fills,
)
from discreet.mechanisms.newton.layout import moment_left, moment_part
from discreet.mechanisms.newton.releases import Releases
from discreet.types import Array

NARROWEST, WIDEST = 0.5, 2.0
"""Second moments may make a column of the cohort so much narrower or wider than the counts."""
BLURRED, NARROW = 2.0, 0.5
"""A number's second moment tells how wide it is where it exceeds so many standard deviations of its
noise, or this part of what the counts would have it."""
EITHER = 0.5
"""Before second moments speak a number is as likely to be as wide as it is counted as it is to be as
narrow as noise lets it be: the prior standard deviation of the weight of the first."""


@dataclass(frozen=True)
class Seen:
    """Released second moments of the columns, in parts of what shortening leaves of them.

    Standardised vectors are shortened to |v|^2 <= R, together: what is left of a moment is seen on a
    cohort. `wanted` are the correlations as far as they are believed, `own` the columns' widths,
    `squares` and `error` the diagonal as released and its noise.
    """

    design: Design
    spreads: Array
    wanted: Array
    own: Array
    squares: Array
    error: float
    further: int
    size: int

    @classmethod
    def of(cls, design: Design, releases: Releases, spreads: Array) -> "Seen | None":
        """None where second moments were not released."""
        found = releases.second_moments(len(spreads))
        if found is None:
            return None
        shown = correlation(*found)
        own = np.sqrt(np.diag(shown))
        told = shown / np.outer(own, own), own, np.diag(found[0]), found[1]
        return cls(
            design, spreads, *told, len(releases.further_units), cohort_size(releases.strata)
        )

    @property
    def columns(self) -> int:
        """Of the released vectors."""
        return len(self.spreads) + self.further

    def short(self, squares: Array) -> Array:
        """The part that is left of members with such sums of squares."""
        return moment_left(squares + self.further, self.columns)  # a further column has about 1

    def counted(self, shares: list[Shares]) -> list[Shares]:
        """The covariates, and the strata where they were part of the release."""
        return [item for item in shares if max(item.marginal.columns) < len(self.spreads)]

    def latent(self, shares: list[Shares]) -> tuple[Array, Array]:
        """Correlations of normal columns that show the wanted ones, and the squares they show."""
        counted = self.counted(shares)
        known = self.wanted, self.spreads, self.short, self.size
        latent, left = before_cuts(counted, *known)
        return latent, self._parts(counted, left)

    def shown(self, shares: list[Shares], around: list[Shares]) -> Array:
        """The squares that a cohort shows whose columns go together as wanted, around the others' mean."""
        counted = self.counted(shares)
        left = shown_moments(
            counted,
            self.wanted,
            spreads=self.spreads,
            shorten=self.short,
            size=self.size,
            centre=np.concatenate([item.mean for item in self.counted(around)]),
        )
        return self._parts(counted, np.diag(left))

    def _parts(self, counted: list[Shares], left: Array) -> Array:
        """What is left of squares, as they are released."""
        return np.asarray(left * _present(self.design, counted) / moment_part(self.columns))


def weighed_shares(design: Design, releases: Releases, spreads: Array) -> list[Shares]:
    """The shares, numbers between as wide as they are counted and as narrow as they may be.

    Counts do not tell few people far away from noise. Second moments do: where a cohort of the one kind
    shows the squares a and of the other b, and s was released with noise e, the first has the weight

        1/2 + (a - b) (s - (a + b) / 2) / ((a - b)^2 + (e / EITHER)^2),   from 0 to 1.
    """
    wide, narrow = (
        without_fills(design, releases.shares(design, narrow=flag)) for flag in (False, True)
    )
    seen, weights = Seen.of(design, releases, spreads), np.full(len(spreads), 0.5)
    if seen is not None:
        one, other = seen.shown(wide, wide), seen.shown(narrow, wide)
        gap, off = one - other, seen.squares - (one + other) / 2.0
        weights = np.clip(0.5 + gap * off / (gap**2 + (seen.error / EITHER) ** 2), 0.0, 1.0)
    return [_between(*pair, weights) for pair in zip(wide, narrow, strict=True)]


def blurred(design: Design, releases: Releases, spreads: Array) -> list[int]:
    """Numbers, by column, of which nobody knows how wide they are.

    Their bounds are so wide for so few people that these may all be in one bin, or, where no second
    moments were released, in two; or their second moment is not told from none and is far less than the
    counts would have it.
    """
    shares = without_fills(design, releases.shares(design))
    seen, found = Seen.of(design, releases, spreads), set(_crowded(releases))
    if seen is not None:
        least = np.minimum(BLURRED * seen.error, NARROW * seen.shown(shares, shares))
        found |= {place for place in _numbers(releases) if seen.squares[place] < least[place]}
    return sorted(found)


def _numbers(releases: Releases) -> list[int]:
    return [item.columns[0] for item in releases.marginals if item.numeric]


def _crowded(releases: Releases) -> list[int]:
    """Numbers whose people may all be in a bin or two."""
    most, noise = 1 if releases.moments is not None else 2, releases.total_deviation
    return [
        item.columns[0]
        for item, counts in releases.totals
        if item.numeric and all_within(counts, noise, most)
    ]


def _between(wide: Shares, narrow: Shares, weights: Array) -> Shares:
    """Shares between two, a number's by the weight of its column."""
    if not wide.marginal.numeric:
        return wide
    weight = weights[wide.marginal.columns[0]]
    return replace(wide, shares=weight * wide.shares + (1.0 - weight) * narrow.shares)


def moments_of(design: Design, releases: Releases, shares: list[Shares], spreads: Array) -> Array:
    """Correlations of the columns, and on the diagonal how much wider they are than the shares.

    Strata that were not part of the release go with no covariate.
    """
    moments, width = np.eye(sum(len(item.marginal.columns) for item in shares)), len(spreads)
    seen = Seen.of(design, releases, spreads)
    if seen is not None:
        latent, expected = seen.latent(shares)
        # second moments say how wide the columns are, however wide the shares look
        wide = np.clip(seen.own / np.sqrt(np.maximum(expected, 1e-3)), NARROWEST, WIDEST)
        moments[:width, :width] = latent * np.outer(wide, wide)
    return moments


def _present(design: Design, shares: list[Shares]) -> Array:
    """The share of people whose number is not missing, for each lead; 1 where it cannot be."""
    overall = {item.marginal.columns[0]: item.overall for item in shares}
    found = np.ones(sum(len(item.marginal.columns) for item in shares))
    for number, indicator in gaps_of(design):
        found[number] = overall[indicator][0]
    return found

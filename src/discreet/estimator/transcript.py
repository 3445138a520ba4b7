"""What the estimator reads: released numbers with their noise, and public facts.

Conventions
-----------
    n persons, S intervals, H strata, R causes, e baseline functions, p covariate columns, d = H e + p
    K bins of the life table, bin k holds the intervals edges[k] < s <= edges[k + 1]
    V stretches of time in which covariates may change (1 where they cannot)

A transcript holds no record and nothing that was not released: see docs/estimator.md, section 1.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from scipy.special import chdtr, chdtrc

from discreet.core.bins import Marginal
from discreet.core.released import Released
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.estimator.constants import HIDDEN
from discreet.types import Array, Integers


@lru_cache(maxsize=64)
def moment_part(columns: int, limit: float) -> float:
    """E min(|v|^2, limit) / c, what shortening leaves of the moments of c independent normal columns."""
    within, beyond = chdtr(columns + 2, limit), chdtrc(columns, limit)
    return float(within + limit / columns * beyond)


@dataclass(frozen=True)
class Moments:
    """Second moments of standardised leads, each person's vector shortened to |v|^2 <= limit.

    `matrix` (c, c) is a sum over persons, `noise` (c, c) the standard deviation of each entry. The
    columns are the leads and, with `strata`, the indicators of all strata but the first.
    """

    centre: Array
    spread: Array
    matrix: Array
    noise: Array
    limit: float
    strata: bool = False


@dataclass(frozen=True)
class ScoreSum:
    """One released sum of bounded scores, all causes: y_r = sum of B_r (ball score of W_r'z) + noise.

    points (R, d), mappings W (R, d, d), bounds B (R,), released y (R, d), deviations (R,).
    """

    points: Array
    mappings: Array
    bounds: Array
    released: Array
    deviations: Array
    clipped: bool = False


@dataclass(frozen=True)
class Information:
    """The released information W'HW of each cause at a point, each person's cut to a trace.

    points (R, d), mappings (R, d, d), matrices (R, d, d), noise (d, d) of each entry.
    """

    points: Array
    mappings: Array
    matrices: Array
    noise: Array
    limit: float


@dataclass(frozen=True, eq=False)
class Transcript:
    """Everything that was released of a fit so far, with the public facts of the question.

    `exits` are counts (H, R + 1, K), censored first, `entries` (H, K) where people may enter late.
    `counts` has the marginals' bins, stretch after stretch.
    """

    design: Design
    link: Link
    persons: int
    causes: int
    edges: Integers
    exits: Released
    entries: Released | None = None
    stretches: tuple[int, ...] = ()
    marginals: tuple[Marginal, ...] = ()
    counts: Released | None = None
    moments: Moments | None = None
    steps: tuple[ScoreSum, ...] = ()
    information: Information | None = None

    def having(self, **released: Any) -> Self:
        """The transcript with more released numbers."""
        return replace(self, **released)

    @cached_property
    def observed(self) -> float:
        """Persons ever at risk: n, unless the exits fall short of it by more than their noise."""
        values = self.exits.values
        found, noise = float(values.sum()), HIDDEN * self.exits.deviation * np.sqrt(values.size)
        return float(self.persons) if found > self.persons - noise else max(found, noise, 1.0)

    @property
    def bins(self) -> int:
        """K."""
        return len(self.edges) - 1

    @property
    def totals(self) -> list[Array]:
        """Of every marginal the counts of its bins by stretch, (V, bins)."""
        if self.counts is None:
            return []
        stretches = max(len(self.stretches) - 1, 1)
        ends = np.cumsum([stretches * item.bins for item in self.marginals])
        parts = np.split(self.counts.values, ends[:-1])
        return [part.reshape(stretches, -1) for part in parts]

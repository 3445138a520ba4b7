"""The public description of what is counted: bins of time and values, stretches, columns of moments.

Everything here is a function of the schema, of the plan, or of numbers that were released before:
no record is seen. Proof: docs/proofs/private-newton.md, sections 1 and 3.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.design.design import Design
from discreet.design.schema import Categorical
from discreet.design.terms import Filled
from discreet.types import Array, Integers

UNIT = 2**10
"""Standardised covariates are rounded toward zero to multiples of 1 / UNIT."""

DIAGONAL, OFF_DIAGONAL = 128, 181
"""Integer weights of the half-vector; (181/128)^2 < 2, so its norm is below Frobenius'."""


@dataclass(frozen=True)
class Marginal:
    """One covariate's columns and how its values are binned: by level, or between edges.

    The first and the last bin of a number hold also what lies beyond them.
    """

    columns: tuple[int, ...]
    bins: int
    edges: tuple[float, ...] = ()

    @property
    def numeric(self) -> bool:
        """Whether the covariate is a number."""
        return bool(self.edges)

    @property
    def fine(self) -> Integers:
        """A number's narrow bins, all alike and side by side; those beyond them are wider."""
        widths = np.diff(self.edges)
        return np.flatnonzero(widths < 1.5 * widths.min())

    @property
    def middles(self) -> Array:
        """The middle of each bin of a number."""
        edges = np.array(self.edges)
        return np.asarray((edges[1:] + edges[:-1]) / 2.0)


@dataclass(frozen=True)
class Stretches:
    """Public stretches of time, and the weight that a person spreads over the values in each.

    Stretch k holds the intervals edges[k] < s <= edges[k + 1].
    """

    edges: tuple[int, ...]
    weight: int = 1

    @property
    def number(self) -> int:
        """K."""
        return len(self.edges) - 1

    @property
    def mass(self) -> int:
        """The largest sum of what one person adds to the cells of one covariate."""
        return self.number * self.weight

    @property
    def square(self) -> int:
        """The largest sum of squares of the same: in each stretch all weight in one cell."""
        return self.number * self.weight**2


class Columns(NamedTuple):
    """What second moments are of: the lead columns (None: all), and missing numbers.

    `gaps` are pairs (number, indicator) of leads: a number that is missing counts as the centre,
    because its fill, the same for everybody, would make number and indicator look like one column.
    """

    leads: Integers | None = None
    gaps: tuple[tuple[int, int], ...] = ()


def time_edges(intervals: int, bins: int) -> Integers:
    """Public edges: bin k holds the intervals edges[k] < s <= edges[k + 1]."""
    return np.unique(np.rint(np.linspace(0, intervals, bins + 1)).astype(np.int64))


def stretches_of(intervals: int, number: int, *, pure: bool) -> Stretches:
    """Stretches whose weights are one unit altogether, in the norm that the noise has.

    The sum of squares is at most UNIT^2, or the sum at most UNIT.
    """
    edges = tuple(int(edge) for edge in time_edges(intervals, number))
    parts = len(edges) - 1
    return Stretches(edges, UNIT // parts if pure else math.isqrt(UNIT**2 // parts))


def exit_edges(intervals: int, bins: int) -> Integers:
    """Equal bins, the first of them halved down to one interval, the last interval alone.

    Hazards often begin with a peak, and whoever is censored at the horizon was at risk until then.
    """
    edges = time_edges(intervals, bins).tolist()
    first, extra = int(edges[1]), [intervals - 1]
    while first > 1:
        first //= 2
        extra.append(first)
    return np.unique(np.array([*edges, *extra], dtype=np.int64))


def marginals_of(design: Design, bins: int) -> tuple[Marginal, ...]:
    """The covariates of the schema in the order of their lead columns.

    Columns are counted among the leads alone; where a missing number has a column of its own, that
    is a category of two levels.
    """
    result: list[Marginal] = []
    column, ranges = 0, design.covariates.ranges[design.covariates.leads]
    for covariate in design.schema.covariates:
        if isinstance(covariate, Categorical):
            levels = len(covariate.coefficient_names) + 1
            result.append(Marginal(tuple(range(column, column + levels - 1)), levels))
            column += levels - 1
            continue
        edges = np.linspace(-ranges[column], ranges[column], bins + 1).tolist()
        result.append(Marginal((column,), bins, tuple(edges)))
        if covariate.indicated:
            result.append(Marginal((column + 1,), 2))
        column += 2 if covariate.indicated else 1
    return tuple(result)


def gaps_of(design: Design) -> tuple[tuple[int, int], ...]:
    """Numbers with an indicator of their own, as pairs of places among the leads."""
    place = {int(column): number for number, column in enumerate(design.covariates.leads)}
    return tuple(
        (place[part.number], place[part.indicator])
        for part in design.covariates.derived
        if isinstance(part, Filled)
    )

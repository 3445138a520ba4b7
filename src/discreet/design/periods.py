"""Periods of effects that change with time, as stretches of the grid, and places of coefficients.

A covariate with the times c_1 < ... < c_m in ``changes_at`` has m + 1 effects, one for each of its
periods. The period of interval s is that of its beginning: the number of these times at or before
a_{s-1}. A time within an interval therefore acts from the next point of the grid on. A product of two
covariates changes at the times that both have: if it changed and a factor did not, the fit would
depend on the product's zero.

Conventions. p columns of covariates; K periods of all effects together, between any two times of the
schema; P >= p coefficients, those of one column side by side in the order of time. Period k = 0 ... K - 1
holds the intervals ends[k] < s <= ends[k + 1].

Nothing here sees a record: periods are functions of schema and grid.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from discreet.design.grid import TimeGrid
from discreet.text import with_unit
from discreet.types import Array, Integers

if TYPE_CHECKING:
    from discreet.design.schema import Schema

ROUNDING = 8
"""Units in the last place of the largest time that a point of the grid may be off by."""

Cuts = tuple[float, ...]


class Term(NamedTuple):
    """A column: its name, its title for people, its covariates, and when its effect changes."""

    name: str
    title: str
    covariates: tuple[str, ...] = ()
    cuts: Cuts = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its coefficients, one a period: ``age until 365``, ``age from 365``."""
        return tuple(f"{self.name} {words}".rstrip() for words in period_words(self.cuts))

    def titles(self, unit: str | None) -> tuple[str, ...]:
        """The titles of its coefficients for people."""
        return tuple(f"{self.title} {words}".rstrip() for words in period_words(self.cuts, unit))


def period_words(cuts: Cuts, unit: str | None = None) -> tuple[str, ...]:
    """Return ``until 365``, ``365 to 1095``, ``from 1095``; an empty text if nothing changes."""
    if not cuts:
        return ("",)
    shown = [f"{cut:.10g}" for cut in cuts]
    middle = (f"{low} to {high}" for low, high in pairwise(shown))
    words = (f"until {shown[0]}", *middle, f"from {shown[-1]}")
    return tuple(with_unit(one, unit) for one in words)


def intervals_before(cuts: Cuts, grid: TimeGrid) -> tuple[int, ...]:
    """Return the number of intervals that begin before each time: the last of a period."""
    slack = ROUNDING * float(np.spacing(max(abs(grid.zero), abs(grid.horizon))))
    begins = grid.edges[:-1].tolist()
    return tuple(bisect_left(begins, cut - slack) for cut in cuts)


@dataclass(frozen=True, eq=False)
class Periods:
    """The periods of a schema.

    `ends` (K + 1,) from 0 to q. `places` (K, p): of each column the coefficient in force, among the P.
    """

    ends: tuple[int, ...]
    places: Integers
    coefficients: int

    @classmethod
    def of(cls, schema: "Schema") -> Self:
        """Return the periods of all covariates together."""
        grid, terms = schema.time.grid, schema.terms
        cuts = [intervals_before(term.cuts, grid) for term in terms]
        ends = (0, *sorted({end for column in cuts for end in column}), grid.intervals)
        places, place = np.zeros((len(ends) - 1, len(terms)), dtype=np.int64), 0
        for column, column_ends in enumerate(cuts):
            # a period of all effects begins where a period of this one does, or later
            places[:, column] = place + np.searchsorted(column_ends, ends[:-1], side="right")
            place += len(column_ends) + 1
        places.setflags(write=False)
        return cls(ends, places, place)

    @property
    def number(self) -> int:
        """K, the number of periods."""
        return len(self.ends) - 1

    @cached_property
    def of_interval(self) -> Integers:
        """The period of each interval, (q,)."""
        return np.repeat(np.arange(self.number), np.diff(self.ends))

    @cached_property
    def column_of(self) -> Integers:
        """The column of each coefficient, (P,)."""
        columns = np.zeros(self.coefficients, dtype=np.int64)
        columns[self.places] = np.arange(self.places.shape[1])
        return columns

    @cached_property
    def stretches(self) -> tuple[Integers, Integers]:
        """The first and the last interval in which each coefficient is in force, (P,) each."""
        first, last = (np.zeros(self.coefficients, dtype=np.int64) for _ in range(2))
        ends = np.array(self.ends)
        first[self.places[::-1]] = ends[-2::-1, None] + 1  # the earliest of a coefficient's periods
        last[self.places] = ends[1:, None]
        return first, last

    def placed(self, columns: Array, period: int) -> Array:
        """Return columns of covariates (rows, p) in the places of their coefficients (rows, P)."""
        x = np.zeros((len(columns), self.coefficients))
        x[:, self.places[period]] = columns
        return x

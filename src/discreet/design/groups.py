"""Groups of people, stretches of time and the matrix through which counts are released.

Proof: docs/proofs/group-curves.md.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from discreet.design.schema import Categorical, Schema
from discreet.design.wording import nearest
from discreet.errors import SettingsError
from discreet.types import Integers

MOST_GROUPS = 50
UNIT = 1 << 12
"""The diagonal of the matrix: its other entries are rounded down to integers."""


def strategy(stretches: int, *, pure: bool) -> Integers:
    """M: the identity, or floor(2^12 binom(2j, j) / 4^j) on the j-th lower diagonal."""
    if pure:
        return np.eye(stretches, dtype=np.int64)
    weights = [UNIT * math.comb(2 * j, j) // 4**j for j in range(stretches)]
    rows, columns = np.indices((stretches, stretches))
    return np.where(rows >= columns, np.take(weights, np.maximum(rows - columns, 0)), 0)


@dataclass(frozen=True)
class Groups:
    """Every combination of the declared levels of one or two covariates."""

    schema: Schema
    by: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.by) not in {1, 2} or len(set(self.by)) != len(self.by):
            raise SettingsError("curves are drawn by one covariate of the schema, or by two.")
        for name in self.by:
            known = {item.name: item for item in self.schema.covariates}
            if name not in known:
                near = nearest(name, tuple(known))
                hint = "" if near is None else f" Did you mean '{near}'?"
                raise SettingsError(
                    f"the schema has no covariate '{name}' to draw curves by.{hint}"
                )
            if not isinstance(known[name], Categorical):
                raise SettingsError(
                    f"'{name}' is a number: curves are drawn by a covariate with declared levels."
                )
        if self.number > MOST_GROUPS:
            raise SettingsError(
                f"there would be {self.number} groups; curves are drawn of at most {MOST_GROUPS}."
            )

    @cached_property
    def covariates(self) -> tuple[Categorical, ...]:
        """The covariates, in the order of ``by``."""
        known = {item.name: item for item in self.schema.covariates}
        return tuple(known[name] for name in self.by)  # type: ignore[misc]  # checked: Categorical

    @property
    def levels(self) -> tuple[int, ...]:
        """The number of levels of each covariate."""
        return tuple(len(item.levels) for item in self.covariates)

    @property
    def number(self) -> int:
        """The number of groups."""
        return math.prod(self.levels)

    def tables(self, stretches: int) -> tuple[tuple[int, int], ...]:
        """Return the shapes of the tables of events, censored people and, with late entry, entries.

        A censored person leaves during a stretch or stays to the end, which is a place of its own;
        so is the start for people who enter. Both would otherwise count as people who were at risk
        in a part of a stretch only.
        """
        events = (outcomes_of(self.schema) * self.number, stretches)
        ends = (self.number, stretches + 1)
        return (events, ends) if self.schema.time.entry is None else (events, ends, ends)

    @cached_property
    def schema_for_counting(self) -> Schema:
        """The schema of the columns that are read: time, identity and the group."""
        unused = {"missing": None, "changes_at": None}
        read = tuple(item.model_copy(update=unused) for item in self.covariates)
        return self.schema.model_copy(
            update={"covariates": read, "interactions": (), "strata": None}
        )

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The levels of every group."""
        return tuple(product(*(item.levels for item in self.covariates)))

    @property
    def titles(self) -> tuple[tuple[str, ...], ...]:
        """The labels of the levels of every group, if there are any."""
        return tuple(product(*(item.level_titles for item in self.covariates)))


def outcomes_of(schema: Schema) -> int:
    """Return the number of kinds of events."""
    return 1 if schema.time.causes is None else len(schema.time.causes)


def stretch_edges(intervals: int, stretches: int) -> Integers:
    """Return the edges of stretches: k holds the intervals edges[k] < s <= edges[k + 1]."""
    return np.rint(np.linspace(0, intervals, stretches + 1)).astype(np.int64)

"""Covariates of a schema: numbers with bounds, categories with levels, and their words."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Strict,
    Tag,
    model_validator,
)

from discreet.design.declared import (
    SMALLEST_RANGE,
    MissingValues,
    Name,
    Number,
    SchemaTable,
    check_size,
    code_among,
    level_key,
    level_text,
    level_texts,
)
from discreet.errors import SchemaError

MAX_LEVELS = 1_000
MAX_STRATA = 100
MAX_CHANGES = 20
KNOTS = range(3, 11)
"""Numbers of knots that a spline of a covariate may have."""
MIDPOINT, INDICATOR = "midpoint", "indicator"


def _check_order(times: tuple[float, ...]) -> tuple[float, ...]:
    if any(not later > earlier for earlier, later in pairwise(times)):
        raise ValueError("must increase from one time to the next")
    return times


ChangesAt = Annotated[
    tuple[Number, ...], AfterValidator(_check_order), Field(min_length=1, max_length=MAX_CHANGES)
]
"""The times at which an effect changes."""


def _check_scale(scale: str) -> str:
    if scale not in {"linear", "log"} and scale not in {f"spline:{knots}" for knots in KNOTS}:
        raise ValueError(
            f"must be linear, log or spline:KNOTS with {KNOTS[0]} to {KNOTS[-1]} knots"
        )
    return scale


def _check_fill(missing: object) -> object:
    if isinstance(missing, int | float) and not isinstance(missing, bool):
        return check_size(float(missing))
    if not isinstance(missing, str) or missing not in {MIDPOINT, INDICATOR}:
        raise ValueError(
            f"must be a number, {MIDPOINT} or {INDICATOR}; codes that mean a gap belong in "
            "missing_values"
        )
    return missing


def _check_mark(missing: object) -> object:
    if not isinstance(missing, str) or missing not in {MIDPOINT, INDICATOR}:
        raise ValueError(
            f"must be {MIDPOINT} (the reference level) or {INDICATOR}; codes that mean a gap "
            "belong in missing_values"
        )
    return missing


class Numeric(SchemaTable):
    """A number with public bounds; out-of-bounds values are clipped, missing ones filled.

    On the scale ``log`` its one coefficient is that of log x; ``spline:k`` is the natural spline
    with k knots, evenly spaced from low to high, less its constant: k - 1 coefficients. With
    ``missing = "indicator"`` there is one more, of a column that is 1 where there is no number.

    Parameters
    ----------
    name
        The column.
    low, high
        Public bounds.
    missing
        A number to fill with, "midpoint" or "indicator".
    missing_values
        Codes for missing numbers, such as 999; the codes of the schema if None.
    scale
        "linear", "log" or "spline:k".
    changes_at
        Times at which the effect changes; one effect for all time if None.
    label, unit
        Words for people.
    typical
        The value that a page begins with.

    Examples
    --------
    >>> Numeric(name="creatinine", low=0.3, high=15, scale="log").coefficient_names
    ('log(creatinine)',)
    """

    name: Name
    low: Number | None = None
    high: Number | None = None
    missing: Annotated[float | str, BeforeValidator(_check_fill)] | None = None
    missing_values: MissingValues | None = None
    scale: Annotated[Name, AfterValidator(_check_scale)] | None = None
    changes_at: ChangesAt | None = None
    label: Name | None = None
    unit: Name | None = None
    typical: Number | None = None

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        low, high = self.low, self.high
        if low is not None and high is not None and not high - low >= SMALLEST_RANGE:
            raise ValueError(f"covariate '{self.name}' needs low < high; correct the bounds")
        declared = self.missing if isinstance(self.missing, float) else None
        for key, value in (("missing", declared), ("typical", self.typical)):
            below = low is not None and value is not None and value < low
            above = high is not None and value is not None and value > high
            if below or above:
                raise ValueError(
                    f"covariate '{self.name}' needs '{key}' between low and high; "
                    "choose a value within the bounds"
                )
        return self

    @model_validator(mode="after")
    def _check_scale(self) -> Self:
        if self.scale in {None, "linear"}:
            return self
        if self.low is None or self.high is None:
            raise ValueError(f"covariate '{self.name}' needs low and high for its 'scale'")
        if self.logarithmic and self.low <= 0:
            raise ValueError(
                f"covariate '{self.name}' needs low > 0 for scale = log; raise 'low' or drop 'scale'"
            )
        if self.logarithmic and not math.log(self.high) > math.log(self.low):
            raise ValueError(f"covariate '{self.name}' needs bounds further apart for scale = log")
        return self

    @property
    def logarithmic(self) -> bool:
        """Whether the coefficient is that of log x."""
        return self.scale == "log"

    @property
    def knots(self) -> int | None:
        """The number of knots of a spline."""
        spline = self.scale is not None and self.scale.startswith("spline:")
        return int(str(self.scale).removeprefix("spline:")) if spline else None

    @property
    def indicated(self) -> bool:
        """Whether a missing number has a column of its own."""
        return self.missing == INDICATOR

    @property
    def plain(self) -> bool:
        """Whether the covariate is one column, linear in the number."""
        return self.scale in {None, "linear"} and not self.indicated

    @property
    def bounded(self) -> bool:
        """Whether both bounds are given."""
        return self.low is not None and self.high is not None

    @property
    def bounds(self) -> tuple[float, float]:
        """(low, high); raises a SchemaError if one of them was left out."""
        if self.low is None or self.high is None:
            raise SchemaError(bounds_text([self.name]))
        return self.low, self.high

    @property
    def fill(self) -> float:
        """The number that replaces a missing or unreadable one: ``missing``, else the midpoint."""
        low, high = self.bounds
        return self.missing if isinstance(self.missing, float) else low / 2 + high / 2

    @property
    def value_names(self) -> tuple[str, ...]:
        """The coefficients of the number itself: ``age``, ``log(age)`` or ``age[spline 1]``, ..."""
        if self.knots is not None:
            return tuple(f"{self.name}[spline {place}]" for place in range(1, self.knots))
        return (f"log({self.name})" if self.logarithmic else self.name,)

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """The coefficients of the number, and ``age[missing]`` if that has a column."""
        return (*self.value_names, *([f"{self.name}[missing]"] if self.indicated else []))

    @property
    def title(self) -> str:
        """The name for people: ``Serum creatinine (mg/dl)``."""
        shown = self.label or self.name
        return shown if self.unit is None else f"{shown} ({self.unit})"

    @property
    def coefficient_titles(self) -> tuple[str, ...]:
        """The coefficients for people, in the order of their names."""
        marks = ("missing",) if self.indicated else ()
        if self.knots is not None:
            marks = (*(f"spline {place}" for place in range(1, self.knots)), *marks)
            return tuple(f"{self.title}, {mark}" for mark in marks)
        first = f"log({self.title})" if self.logarithmic else self.title
        return (first, *(f"{self.title}, {mark}" for mark in marks))

    @property
    def typical_value(self) -> float:
        """The value of a typical person: ``typical``, else the fill of a missing value."""
        return self.fill if self.typical is None else self.typical


class Categorical(SchemaTable):
    """A category with public levels; the first is the reference, and the level of unknown values.

    Parameters
    ----------
    name
        The column.
    levels
        Public levels, the reference first.
    missing
        "indicator" gives missing and unknown values a column of their own.
    missing_values
        Codes for missing values; the codes of the schema if None.
    changes_at
        Times at which the effects change; one of each level for all time if None.
    label, labels
        Words for people: of the column, and of each level.
    typical
        The level that a page begins with.
    fixed
        The value is the same in all rows of a person, as curves by it require.

    Examples
    --------
    >>> Categorical(name="stage", levels=("I", "II", "III")).coefficient_names
    ('stage[II]', 'stage[III]')
    """

    name: Name
    levels: Annotated[
        tuple[Name, ...],
        BeforeValidator(level_texts),
        Field(min_length=2, max_length=MAX_LEVELS),
    ]
    missing: Annotated[str, BeforeValidator(_check_mark)] | None = None
    missing_values: MissingValues | None = None
    changes_at: ChangesAt | None = None
    label: Name | None = None
    labels: Annotated[tuple[Name, ...], Field(max_length=MAX_LEVELS)] | None = None
    typical: Annotated[Name, BeforeValidator(level_text)] | None = None
    fixed: Annotated[bool, Strict()] | None = None

    @model_validator(mode="after")
    def _check_levels(self) -> Self:
        _require_levels(self, f"covariate '{self.name}'")
        keys = [level_key(level) for level in self.levels]
        if self.typical is not None and level_key(self.typical) not in keys:
            raise ValueError(f"covariate '{self.name}' needs 'typical' to be one of its levels")
        return self

    @property
    def indicated(self) -> bool:
        """Whether a missing or unknown level has a column of its own."""
        return self.missing == INDICATOR

    @property
    def value_names(self) -> tuple[str, ...]:
        """One coefficient for each level but the reference."""
        return tuple(f"{self.name}[{level}]" for level in self.levels[1:])

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """The coefficients of the levels, and ``stage[missing]`` if that has a column."""
        return (*self.value_names, *([f"{self.name}[missing]"] if self.indicated else []))

    @property
    def title(self) -> str:
        """The name for people."""
        return self.label or self.name

    @property
    def level_titles(self) -> tuple[str, ...]:
        """The levels for people: the labels where there are any."""
        return self.levels if self.labels is None else self.labels

    @property
    def coefficient_titles(self) -> tuple[str, ...]:
        """The coefficients for people, in the order of their names."""
        if self.label is None and self.labels is None:
            return self.coefficient_names
        marks = (*self.level_titles[1:], *(["missing"] if self.indicated else []))
        return tuple(f"{self.title}: {mark}" for mark in marks)

    @property
    def typical_value(self) -> int:
        """The level of a typical person, by its number; the reference unless declared."""
        if self.typical is None:
            return 0
        return [level_key(level) for level in self.levels].index(level_key(self.typical))


def _require_levels(item: "Categorical | Strata", where: str) -> None:
    if item.labels is not None and len(item.labels) != len(item.levels):
        number = len(item.levels)
        raise ValueError(f"{where} needs one of the labels for each of its {number} levels")
    keys = [level_key(level) for level in item.levels]
    twice = repeated(keys)
    if twice is not None:
        raise ValueError(
            f"{where} has the level '{item.levels[keys.index(twice)]}' twice; "
            "levels must differ (1, 1.0 and true are one level, so are 0 and false)"
        )
    code = code_among(item.missing_values or (), item.levels)
    if code is not None:
        raise ValueError(
            f"{where} has '{code}' in levels and in missing_values; remove it from one of them"
        )


def _kind(covariate: object) -> str:
    given = isinstance(covariate, Mapping) and "levels" in covariate
    return "categorical" if given or isinstance(covariate, Categorical) else "numeric"


Covariate = Annotated[
    Annotated[Numeric, Tag("numeric")] | Annotated[Categorical, Tag("categorical")],
    Discriminator(_kind),
]


class Strata(SchemaTable):
    """Public groups with a baseline each and shared effects; unknown values are in the first."""

    name: Name
    levels: Annotated[
        tuple[Name, ...],
        BeforeValidator(level_texts),
        Field(min_length=2, max_length=MAX_STRATA),
    ]
    label: Name | None = None
    labels: Annotated[tuple[Name, ...], Field(max_length=MAX_STRATA)] | None = None
    missing_values: MissingValues | None = None

    @model_validator(mode="after")
    def _check_levels(self) -> Self:
        _require_levels(self, "[strata]")
        return self

    @property
    def title(self) -> str:
        """The name for people."""
        return self.label or self.name

    @property
    def level_titles(self) -> tuple[str, ...]:
        """The levels for people: the labels where there are any."""
        return self.levels if self.labels is None else self.labels


class Interaction(SchemaTable):
    """The products of two covariates' columns, beside their main effects."""

    of: tuple[Name, ...]

    @model_validator(mode="after")
    def _check_pair(self) -> Self:
        if len(self.of) != 2 or self.of[0] == self.of[1]:
            raise ValueError("key 'of' in [[interaction]] needs two different covariates")
        return self


def bounds_text(names: Iterable[str]) -> str:
    """Return the request to declare bounds."""
    listed = ", ".join(f"'{name}'" for name in names)
    return f"give public bounds low and high in the schema for {listed}."


def repeated(items: Iterable[str]) -> str | None:
    """Return the first item that occurs twice."""
    return next((item for item, count in Counter(items).items() if count > 1), None)

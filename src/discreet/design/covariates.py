"""Covariates as a schema declares them: numbers with bounds, categories with levels, their words."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from discreet.design.declared import (
    SMALLEST_RANGE,
    Name,
    Number,
    Public,
    level_key,
    level_text,
    level_texts,
)
from discreet.errors import SchemaError

MAX_LEVELS = 1_000


class Numeric(Public):
    """A number with public bounds; out-of-bounds values are clipped, missing ones filled."""

    name: Name
    low: Number | None = None
    high: Number | None = None
    missing: Number | None = None
    label: Name | None = None
    unit: Name | None = None
    typical: Number | None = None

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        low, high = self.low, self.high
        if low is not None and high is not None and not high - low >= SMALLEST_RANGE:
            raise ValueError(f"covariate '{self.name}' needs low < high; correct the bounds")
        for key, value in (("missing", self.missing), ("typical", self.typical)):
            below = low is not None and value is not None and value < low
            above = high is not None and value is not None and value > high
            if below or above:
                raise ValueError(
                    f"covariate '{self.name}' needs '{key}' between low and high; "
                    "choose a value within the bounds"
                )
        return self

    @property
    def bounded(self) -> bool:
        """Whether both bounds are given."""
        return self.low is not None and self.high is not None

    @property
    def bounds(self) -> tuple[float, float]:
        """(low, high); a SchemaError if one of them was left out."""
        if self.low is None or self.high is None:
            raise SchemaError(bounds_text([self.name]))
        return self.low, self.high

    @property
    def fill(self) -> float:
        """What a missing or unreadable value becomes: ``missing``, else the midpoint."""
        low, high = self.bounds
        return low / 2 + high / 2 if self.missing is None else self.missing

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """One coefficient, named as the column."""
        return (self.name,)

    @property
    def title(self) -> str:
        """The name for people: ``Serum creatinine (mg/dl)``."""
        shown = self.label or self.name
        return shown if self.unit is None else f"{shown} ({self.unit})"

    @property
    def coefficient_titles(self) -> tuple[str, ...]:
        """The coefficients for people, in the order of their names."""
        return (self.title,)

    @property
    def start(self) -> float:
        """The value of a typical person: ``typical``, else what a missing value becomes."""
        return self.fill if self.typical is None else self.typical


class Categorical(Public):
    """A category with public levels; the first is the reference, unknown values go there too."""

    name: Name
    levels: Annotated[
        tuple[Name, ...],
        BeforeValidator(level_texts),
        Field(min_length=2, max_length=MAX_LEVELS),
    ]
    label: Name | None = None
    labels: Annotated[tuple[Name, ...], Field(max_length=MAX_LEVELS)] | None = None
    typical: Annotated[Name, BeforeValidator(level_text)] | None = None

    @model_validator(mode="after")
    def _check_words(self) -> Self:
        if self.labels is not None and len(self.labels) != len(self.levels):
            raise ValueError(
                f"covariate '{self.name}' needs one of the labels for each of its "
                f"{len(self.levels)} levels"
            )
        known = {level_key(level) for level in self.levels}
        if self.typical is not None and level_key(self.typical) not in known:
            raise ValueError(f"covariate '{self.name}' needs 'typical' to be one of its levels")
        return self

    @model_validator(mode="after")
    def _check_levels(self) -> Self:
        twice = repeated(level_key(level) for level in self.levels)
        if twice is not None:
            level = next(level for level in self.levels if level_key(level) == twice)
            raise ValueError(
                f"covariate '{self.name}' has the level '{level}' twice; "
                "levels must differ (1, 1.0 and true are one level, so are 0 and false)"
            )
        return self

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """One coefficient for each level but the reference."""
        return tuple(f"{self.name}[{level}]" for level in self.levels[1:])

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
        return tuple(f"{self.title}: {level}" for level in self.level_titles[1:])

    @property
    def start(self) -> int:
        """The level of a typical person, by its number; the reference unless declared."""
        if self.typical is None:
            return 0
        return [level_key(level) for level in self.levels].index(level_key(self.typical))


def _kind(covariate: object) -> str:
    given = isinstance(covariate, Mapping) and "levels" in covariate
    return "categorical" if given or isinstance(covariate, Categorical) else "numeric"


Covariate = Annotated[
    Annotated[Numeric, Tag("numeric")] | Annotated[Categorical, Tag("categorical")],
    Discriminator(_kind),
]


def bounds_text(names: Iterable[str]) -> str:
    """What to do about covariates without bounds."""
    listed = ", ".join(f"'{name}'" for name in names)
    return f"give public bounds low and high in the schema for {listed}."


def repeated(items: Iterable[str]) -> str | None:
    """The first item that is there twice."""
    return next((item for item, count in Counter(items).items() if count > 1), None)

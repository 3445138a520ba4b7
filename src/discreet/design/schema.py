"""What is public about the data: the time grid, the covariates with their bounds, the person.

A schema is written by a person, never learned from records, so nothing here sees a data frame.
Every complaint is one sentence that names the key and says what to do.
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from discreet.design.axis import MAX_INTERVALS, TimeAxis
from discreet.design.declared import (
    LARGEST_NUMBER,
    SMALLEST_RANGE,
    Name,
    Number,
    Public,
    level_key,
    level_texts,
    parse_number,
)
from discreet.design.wording import sentence
from discreet.errors import SchemaError

__all__ = [
    "LARGEST_NUMBER",
    "MAX_INTERVALS",
    "SMALLEST_RANGE",
    "Categorical",
    "Covariate",
    "Numeric",
    "Schema",
    "TimeAxis",
    "level_key",
    "parse_number",
]

MAX_FILE_BYTES = 1 << 20
MAX_COVARIATES = 1_000
MAX_LEVELS = 1_000
MAX_COEFFICIENTS = 2_000


class Numeric(Public):
    """A number with public bounds; out-of-bounds values are clipped, missing ones filled."""

    name: Name
    low: Number | None = None
    high: Number | None = None
    missing: Number | None = None

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        low, high, missing = self.low, self.high, self.missing
        if low is not None and high is not None and not high - low >= SMALLEST_RANGE:
            raise ValueError(f"covariate '{self.name}' needs low < high; correct the bounds")
        below = low is not None and missing is not None and missing < low
        above = high is not None and missing is not None and missing > high
        if below or above:
            raise ValueError(
                f"covariate '{self.name}' needs 'missing' between low and high; "
                "choose a fill within the bounds"
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
            raise SchemaError(_bounds_text([self.name]))
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


class Categorical(Public):
    """A category with public levels; the first is the reference, unknown values go there too."""

    name: Name
    levels: Annotated[
        tuple[Name, ...],
        BeforeValidator(level_texts),
        Field(min_length=2, max_length=MAX_LEVELS),
    ]

    @model_validator(mode="after")
    def _check_levels(self) -> Self:
        repeated = _repeated(level_key(level) for level in self.levels)
        if repeated is not None:
            level = next(level for level in self.levels if level_key(level) == repeated)
            raise ValueError(
                f"covariate '{self.name}' has the level '{level}' twice; "
                "levels must differ (1, 1.0 and true are one level, so are 0 and false)"
            )
        return self

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """One coefficient for each level but the reference."""
        return tuple(f"{self.name}[{level}]" for level in self.levels[1:])


def _kind(covariate: object) -> str:
    given = isinstance(covariate, Mapping) and "levels" in covariate
    return "categorical" if given or isinstance(covariate, Categorical) else "numeric"


Covariate = Annotated[
    Annotated[Numeric, Tag("numeric")] | Annotated[Categorical, Tag("categorical")],
    Discriminator(_kind),
]


class Schema(Public):
    """Everything public about a data set; ``[[covariate]]`` in TOML is ``covariates`` here."""

    person: Name | None = None
    time: TimeAxis
    covariates: Annotated[
        tuple[Covariate, ...], Field(alias="covariate", max_length=MAX_COVARIATES)
    ] = ()

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        repeated = _repeated(self.columns)
        if repeated:
            raise ValueError(
                f"column '{repeated}' is used twice; person, the columns of [time] and each "
                "covariate must be different columns"
            )
        repeated = _repeated(self.coefficient_names)
        if repeated:
            raise ValueError(f"two coefficients would be named '{repeated}'; rename a covariate")
        if len(self.coefficient_names) > MAX_COEFFICIENTS:
            raise ValueError(f"there are more than {MAX_COEFFICIENTS} coefficients; drop some")
        return self

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a schema file."""
        try:
            with Path(path).open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise SchemaError(f"the schema '{path}' cannot be read: {error.strerror}.") from None
        if len(content) > MAX_FILE_BYTES:
            raise SchemaError(f"the schema '{path}' is larger than {MAX_FILE_BYTES} bytes.")
        try:
            return cls.from_mapping(tomllib.loads(content.decode()))
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"the schema '{path}' is not valid TOML: {error}.") from None
        except (UnicodeDecodeError, RecursionError):
            raise SchemaError(f"the schema '{path}' is not a TOML file in UTF-8.") from None

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Build a schema from nested dictionaries with the keys of the TOML file."""
        try:
            return cls.model_validate(mapping, by_alias=True, by_name=False)
        except ValidationError as error:
            raise SchemaError(sentence(error, mapping)) from None

    def to_mapping(self) -> dict[str, Any]:
        """The nested dictionaries of the TOML file; ``from_mapping`` reads them back."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column a fit reads."""
        person = () if self.person is None else (self.person,)
        return (*person, *self.time.columns, *(item.name for item in self.covariates))

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """Names of the covariate coefficients: ``age``, ``sex[M]``, ..."""
        return tuple(name for covariate in self.covariates for name in covariate.coefficient_names)

    @property
    def unbounded(self) -> tuple[str, ...]:
        """Names of the numeric covariates without both bounds."""
        numeric = (item for item in self.covariates if isinstance(item, Numeric))
        return tuple(item.name for item in numeric if not item.bounded)

    @property
    def is_bounded(self) -> bool:
        """Whether every numeric covariate has public bounds."""
        return not self.unbounded

    def require_bounds(self) -> None:
        """Raise a SchemaError that names the covariates without bounds, if there are any."""
        if self.unbounded:
            raise SchemaError(_bounds_text(self.unbounded))


def _bounds_text(names: Iterable[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names)
    return f"give public bounds low and high in the schema for {listed}."


def _repeated(items: Iterable[str]) -> str | None:
    return next((item for item, count in Counter(items).items() if count > 1), None)

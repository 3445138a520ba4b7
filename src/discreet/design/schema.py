"""What is public about the data: the time grid, the covariates with their bounds, the person.

A schema is written by a person, never learned from records, so nothing here sees a data frame.
Every complaint is one sentence that names the key and says what to do.
"""

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    StringConstraints,
    Tag,
    ValidationError,
    model_validator,
)

from discreet.errors import SchemaError

MAX_FILE_BYTES = 1 << 20
MAX_INTERVALS = 1_000_000
MAX_COVARIATES = 1_000
MAX_LEVELS = 1_000
MAX_COEFFICIENTS = 2_000
# Beyond these, squares of ranges and their inverses leave the range of a double.
LARGEST_NUMBER = 1e100
SMALLEST_RANGE = 1e-100


def level_key(text: str) -> str:
    """The form in which two spellings of one level are the same.

    Surrounding blanks do not count; texts that read as the same finite number are equal
    (``1``, ``1.0``, ``01``); true is 1 and false is 0, in any case; otherwise case matters.  The
    rule looks at one value at a time, and it knows no difference that a data frame library makes
    when it infers the type of a whole column: another person's record cannot change how a value
    is read.
    """
    stripped = text.strip()
    truth = {"true": 1.0, "false": 0.0}.get(stripped.lower())
    number = parse_number(stripped) if truth is None else truth
    if number is not None and math.isfinite(number):
        return repr(number + 0.0)  # + 0.0 turns -0.0 into 0.0
    return stripped


def parse_number(text: str) -> float | None:
    """The number a text spells (decimal or scientific, or an infinity), or None."""
    if "_" in text:  # Python's own literal syntax, not a number in anybody's data
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _check_name(name: str) -> str:
    if any(not character.isprintable() for character in name):
        raise ValueError("must not contain control characters; remove them")
    return name


def _check_size(number: float) -> float:
    if not abs(number) <= LARGEST_NUMBER:
        raise ValueError(f"must be a finite number of size at most {LARGEST_NUMBER:g}")
    return number


def _level_texts(levels: object) -> object:
    if isinstance(levels, list | tuple):
        return tuple(_level_text(level) for level in levels)
    return levels


def _level_text(level: object) -> object:
    if isinstance(level, bool):
        return str(level).lower()
    return str(level) if isinstance(level, int | float) else level


Name = Annotated[
    str, Strict(), StringConstraints(min_length=1, max_length=200), AfterValidator(_check_name)
]
Number = Annotated[float, Strict(), AfterValidator(_check_size)]


class _Public(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class TimeAxis(_Public):
    """The time columns and the public grid a_s = horizon * s / intervals, s = 0 ... intervals."""

    duration: Name
    event: Name
    entry: Name | None = None
    horizon: Number
    intervals: Annotated[int, Strict(), Field(ge=1, le=MAX_INTERVALS)]

    @model_validator(mode="after")
    def _check_horizon(self) -> Self:
        if self.horizon < SMALLEST_RANGE:
            raise ValueError("key 'horizon' in [time] must be a positive number")
        return self


class Numeric(_Public):
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


class Categorical(_Public):
    """A category with public levels; the first is the reference, unknown values go there too."""

    name: Name
    levels: Annotated[
        tuple[Name, ...],
        BeforeValidator(_level_texts),
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


class Schema(_Public):
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
                f"column '{repeated}' is used twice; person, duration, event, entry and each "
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
            raise SchemaError(_sentence(error, mapping)) from None

    def to_mapping(self) -> dict[str, Any]:
        """The nested dictionaries of the TOML file; ``from_mapping`` reads them back."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column a fit reads."""
        own = (self.person, self.time.duration, self.time.event, self.time.entry)
        named = tuple(column for column in own if column is not None)
        return named + tuple(covariate.name for covariate in self.covariates)

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


def _sentence(error: ValidationError, mapping: object) -> str:
    """One sentence for the first of pydantic's complaints."""
    first = error.errors(include_url=False, include_context=False)[0]
    path = [part for part in first["loc"] if part not in {"numeric", "categorical"}]
    write = _WORDING.get(first["type"])
    if write is not None:
        return write(str(path[-1]), _place(path[:-1], mapping))
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error" and not _is_leaf(path):
        return f"{message}."
    key = next((str(part) for part in reversed(path) if isinstance(part, str)), "schema")
    place = _place(path[: path.index(key)], mapping) if key in path else ""
    text = f"key '{key}'{place} {_PLAIN.get(first['type'], message[:1].lower() + message[1:])}"
    single = path == ["covariate"] and first["type"] == "tuple_type"
    return f"{text}; write [[covariate]] with two brackets." if single else f"{text}."


def _is_leaf(path: list[int | str]) -> bool:
    """Whether a complaint is about one key and not about a whole table."""
    return len(path) > 0 and isinstance(path[-1], str) and path not in (["time"], ["covariate"])


def _place(path: list[int | str], mapping: object) -> str:
    """Where a key stands, in the words of the TOML file."""
    if path == ["time"]:
        return " in [time]"
    if len(path) >= 2 and path[0] == "covariate" and isinstance(path[1], int):
        return f" in [[covariate]] {_covariate_label(path[1], mapping)}"
    return ""


def _covariate_label(index: int, mapping: object) -> str:
    covariates = mapping.get("covariate") if isinstance(mapping, Mapping) else None
    item = covariates[index] if isinstance(covariates, list | tuple) else None
    name = item.get("name") if isinstance(item, Mapping) else None
    return f"'{name}'" if isinstance(name, str) else f"number {index + 1}"


def _unknown_key(key: str, place: str) -> str:
    if key == "person":
        return f"key 'person' stands{place}; put it above the first table."
    if "[[covariate]]" in place and key in {"low", "high", "missing"}:
        return f"key '{key}'{place} does not go with levels; remove one or the other."
    return f"unknown key '{key}'{place}; remove it or correct its spelling."


def _missing_key(key: str, place: str) -> str:
    return f"key '{key}'{place} is missing; add {'the table [time]' if key == 'time' else 'it'}."


# pydantic's words are about Python types; a schema's author thinks in TOML.
_PLAIN = {
    "string_type": "must be text in quotes",
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most 200 characters long",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "greater_than_equal": "must be at least 1",
    "less_than_equal": f"must be at most {MAX_INTERVALS}",
    "tuple_type": "must be a list",
    "too_short": "needs at least two entries",
    "too_long": "has too many entries",
    "model_type": "must be a table of keys",
    "model_attributes_type": "must be a table of keys",
}

_WORDING: dict[str, Callable[[str, str], str]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing_key,
}

"""Types shared by all tables of a schema: names, numbers of a safe size, spellings of levels."""

import math
from collections.abc import Iterable
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StringConstraints,
)

# Beyond these, squares of ranges and their inverses leave the range of a double.
LARGEST_NUMBER = 1e100
SMALLEST_RANGE = 1e-100


def level_key(text: str) -> str:
    """Return the form in which two spellings of one level are equal.

    Surrounding blanks are ignored; texts that read as the same finite number are equal (``1``,
    ``1.0``, ``01``); true is 1 and false is 0, in any case; otherwise case matters.  The rule depends
    on one value alone, and makes no difference that depends on the type that a data frame library
    infers for a whole column: another person's record cannot change how a value is read.
    """
    stripped = text.strip()
    truth = {"true": 1.0, "false": 0.0}.get(stripped.lower())
    number = parse_number(stripped) if truth is None else truth
    if number is not None and math.isfinite(number):
        return repr(number + 0.0)  # + 0.0 turns -0.0 into 0.0
    return stripped


def parse_number(text: str) -> float | None:
    """Return the number of a text (decimal or scientific, or an infinity), or None."""
    if "_" in text:  # a literal of Python, not a number of a data file
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def check_name(name: str) -> str:
    """Raise `ValueError` for control characters."""
    if any(not character.isprintable() for character in name):
        raise ValueError("must not contain control characters; remove them")
    return name


def check_size(number: float) -> float:
    """Raise `ValueError` for numbers whose squares are not finite."""
    if not abs(number) <= LARGEST_NUMBER:
        raise ValueError(f"must be a finite number of size at most {LARGEST_NUMBER:g}")
    return number


Name = Annotated[
    str, Strict(), StringConstraints(min_length=1, max_length=200), AfterValidator(check_name)
]
Number = Annotated[float, Strict(), AfterValidator(check_size)]


def level_texts(levels: object) -> object:
    """Convert levels to texts: TOML's numbers and truth values are spellings too."""
    if isinstance(levels, list | tuple):
        return tuple(level_text(level) for level in levels)
    return levels


def level_text(level: object) -> object:
    """Return the text of one level."""
    if isinstance(level, bool):
        return str(level).lower()
    return str(level) if isinstance(level, int | float) else level


def _check_code(code: str) -> str:
    number = parse_number(code.strip())
    if number is not None and not math.isfinite(number):
        raise ValueError("must not name an infinity; an infinite number goes to the nearer bound")
    return code


MAX_CODES = 100
MissingValues = Annotated[
    tuple[Annotated[Name, AfterValidator(_check_code)], ...],
    BeforeValidator(level_texts),
    Field(max_length=MAX_CODES),
]
"""Codes for missing values: 9, 999, -9, "unknown"."""


def code_among(codes: tuple[str, ...], levels: Iterable[str]) -> str | None:
    """Return the first code that is also one of the levels."""
    keys = {level_key(level) for level in levels}
    return next((code for code in codes if level_key(code) in keys), None)


class SchemaTable(BaseModel):
    """A frozen table of a schema; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

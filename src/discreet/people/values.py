"""How one raw value is read, whatever column it stands in.

The rules look at the value alone.  A column's type is often inferred from all of its values, so a
rule that looked at the type would let one person's record decide how another's is read.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real

import numpy as np

from discreet.design.axis import TimeAxis
from discreet.design.schema import Categorical, Strata, level_key, parse_number

# Texts that mean "missing" in files; anything else that is not a number is called unreadable.
MISSING_TEXTS = (
    "", ".", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "none",
)  # fmt: skip


def is_missing(value: object) -> bool:
    """None, NaN of any type, pandas' marks of a gap, and texts that mean missing."""
    if isinstance(value, str):
        return value.strip() in MISSING_TEXTS
    if isinstance(value, Real | Decimal):
        return math.isnan(_number(value))
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def read_text(value: object) -> str | None:
    """The text of a value: text itself, a number, a truth value; None where there is none."""
    if isinstance(value, str):
        return None if value.strip() in MISSING_TEXTS else value
    if isinstance(value, bytes):
        return read_text(value.decode(errors="replace"))
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    number = _number(value)
    return None if math.isnan(number) else repr(number)


def read_number(value: object) -> float:
    """The number of a value; NaN where it is missing or unreadable.

    Truth values are 1 and 0, written out or not; integers beyond the range of a double become
    infinite, and are then clipped to a bound like every infinity.
    """
    if not isinstance(value, str | bytes):
        return _number(value)
    text = read_text(value)
    if text is None:
        return math.nan
    stripped = text.strip()
    number = parse_number(stripped)
    return {"true": 1.0, "false": 0.0}.get(stripped.lower(), math.nan) if number is None else number


def _number(value: object) -> float:
    if not isinstance(value, Real | Decimal | np.bool_):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except ValueError:  # a signalling NaN
        return math.nan


def level_lookup(covariate: Categorical | Strata) -> dict[str, int]:
    """From the key of a value (``schema.level_key``) to the number of its level."""
    return {level_key(level): code for code, level in enumerate(covariate.levels)}


def read_level(value: object, lookup: Mapping[str, int]) -> int:
    """The number of the value's level; -1 if it is unknown, -2 if it is missing.

    A declared level wins over the convention that its text means "missing".
    """
    text = value if isinstance(value, str) else read_text(value)
    if text is None:
        return -2
    unknown = -2 if text.strip() in MISSING_TEXTS else -1
    return lookup.get(level_key(text), unknown)


EVENTS = {"1.0": 1, "0.0": 0}
"""What is an event where the schema declares no values: 1 and true; 0 and false are none."""


def event_lookup(time: TimeAxis) -> dict[str, int]:
    """From the key of a value to 1 for an event, 0 for none."""
    if time.event_values is None:
        return EVENTS
    return {level_key(value): 1 for value in time.event_values}


def read_event(value: object, lookup: Mapping[str, int]) -> int:
    """1 for an event, 0 for none; otherwise -1, or -2 if the value is missing.

    A declared value wins over the convention that its text means "missing".
    """
    return read_level(value, lookup)

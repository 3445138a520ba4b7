"""Dates as days since 1970-01-01, read one value at a time whatever column they stand in.

A text is read by the schema's format, ISO 8601 unless declared; a date of a typed column or a
Python object is the same number of days as its text. A time of day is a fraction of a day; a time
with an offset is taken in UTC.
"""

import math
from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.people.arrow import to_numpy
from discreet.people.values import MISSING_TEXTS, is_missing, read_number
from discreet.types import Array

EPOCH = date(1970, 1, 1).toordinal()
MICROSECONDS = 86_400_000_000
"""Of a day."""
_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": MICROSECONDS, "ns": 1000 * MICROSECONDS}


def read_date(value: object, date_format: str | None) -> float:
    """Days since the epoch; NaN where the date is missing or cannot be read."""
    if is_missing(value):
        return math.nan
    try:
        return _days(_moment(value, date_format))
    except (ValueError, OverflowError):
        return math.nan


def _moment(value: object, date_format: str | None) -> datetime:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    text = _text(value)
    if date_format is None:
        return datetime.fromisoformat(text)
    return datetime.strptime(text, date_format)  # noqa: DTZ007 - an offset is part of the format


def _text(value: object) -> str:
    """The text of a date; a whole number is its digits, so that 2019 can be a year."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        text = value.strip()
        if text in MISSING_TEXTS:
            raise ValueError
        return text
    number = read_number(value)
    if not number.is_integer():
        raise ValueError
    return str(int(number))


def _days(moment: datetime) -> float:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    day = moment.toordinal() - EPOCH
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    return day + (seconds * 1_000_000 + moment.microsecond) / MICROSECONDS


def typed_days(array: Any) -> Array:
    """The same numbers from an arrow array of dates or timestamps, NaN where there is none."""
    kind = array.type
    whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    numbers = to_numpy(array.cast(whole), gap=np.iinfo(whole.to_pandas_dtype()).min)
    known = numbers != np.iinfo(whole.to_pandas_dtype()).min
    if pa.types.is_date32(kind):
        return np.where(known, numbers, np.nan)
    a_day = _A_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
    day, rest = np.divmod(numbers, a_day)
    return np.where(known, day + rest / a_day, np.nan)

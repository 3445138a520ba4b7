"""Columns of several storage types, read as numbers, codes or days, and the rules for one value.

The rules depend on the value alone.  A column's type is often inferred from all of its values, so a
rule that depended on the type would let one person's record decide how another's is read.

Dates are days since 1970-01-01.  A text is read by the schema's format, ISO 8601 unless declared;
a date of a typed column or a Python object is the same number of days as its text.  A time of day
is a fraction of a day; a time with an offset is taken in UTC.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.design.axis import TimeAxis
from discreet.design.schema import Categorical, Strata, level_key, parse_number
from discreet.errors import DataFormError
from discreet.people.streams import plain_storage
from discreet.types import Array

Values = NDArray[Any]
Codes = NDArray[np.int32]

# A number that every version of arrow reads as Python does.
PLAIN_NUMBER = r"^-?\d{1,30}(\.\d{0,30})?([eE][+-]?\d{1,2})?$"

# Texts that mean "missing" in files; anything else that is not a number is called unreadable.
MISSING_TEXTS = (
    "", ".", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "none",
)  # fmt: skip


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN of any type, a gap of pandas, or a text for missing."""
    if isinstance(value, str):
        return value.strip() in MISSING_TEXTS
    if isinstance(value, Real | Decimal):
        return math.isnan(_number(value))
    return value is None or type(value).__name__ in {"NAType", "NaTType"}


def read_text(value: object) -> str | None:
    """Return a text, number or truth value as a text; None if it is missing."""
    if isinstance(value, str):
        return None if value.strip() in MISSING_TEXTS else value
    if isinstance(value, bytes):
        return read_text(value.decode(errors="replace"))
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    number = _number(value)
    return None if math.isnan(number) else repr(number)


def read_number(value: object) -> float:
    """Return a value as a number; NaN if it is missing or unreadable.

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
    """Map the key of a value (``schema.level_key``) to the number of its level."""
    return {level_key(level): code for code, level in enumerate(covariate.levels)}


def read_level(value: object, lookup: Mapping[str, int]) -> int:
    """Return the number of a value's level; -1 if it is unknown, -2 if it is missing.

    A declared level wins over the convention that its text means "missing".
    """
    text = value if isinstance(value, str) else read_text(value)
    if text is None:
        return -2
    unknown = -2 if text.strip() in MISSING_TEXTS else -1
    return lookup.get(level_key(text), unknown)


EVENTS = {"1.0": 1, "0.0": 0}
"""The default coding of events: 1 and true are events, 0 and false are not."""


def event_lookup(time: TimeAxis) -> dict[str, int]:
    """Map the key of a value to 1 for an event and 0 for none, or to the number of its cause."""
    if time.causes is not None:
        causes = enumerate(time.causes.values(), start=1)
        return {level_key(value): number for number, values in causes for value in values}
    if time.event_values is None:
        return EVENTS
    return {level_key(value): 1 for value in time.event_values}


EPOCH = date(1970, 1, 1).toordinal()
MICROSECONDS = 86_400_000_000  # of a day
_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": MICROSECONDS, "ns": 1000 * MICROSECONDS}


def read_date(value: object, date_format: str | None) -> float:
    """Return days since the epoch; NaN if the date is missing or cannot be read."""
    if is_missing(value):
        return math.nan
    try:
        moment = _moment(value, date_format)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
        day = moment.toordinal() - EPOCH
        seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
        return day + (seconds * 1_000_000 + moment.microsecond) / MICROSECONDS
    except (ValueError, OverflowError):
        return math.nan


def _moment(value: object, date_format: str | None) -> datetime:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    elif isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if not isinstance(value, str):  # a whole number is its digits, so that 2019 can be a year
        number = read_number(value)
        if not number.is_integer():
            raise ValueError
        value = str(int(number))
    if date_format is None:
        return datetime.fromisoformat(value.strip())
    return datetime.strptime(value.strip(), date_format)  # noqa: DTZ007 - the format has the offset


def typed_days(array: Any) -> Array:
    """Return an arrow array of dates or timestamps as days since the epoch, NaN for gaps."""
    kind = array.type
    whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    numbers = to_numpy(array.cast(whole), gap=np.iinfo(whole.to_pandas_dtype()).min)
    known = numbers != np.iinfo(whole.to_pandas_dtype()).min
    if pa.types.is_date32(kind):
        return np.where(known, numbers, np.nan)
    a_day = _A_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
    day, rest = np.divmod(numbers, a_day)
    return np.where(known, day + rest / a_day, np.nan)


def to_numpy(array: Any, gap: float = np.nan) -> NDArray[Any]:
    """Convert numbers or truth values of an arrow array (in one piece or several) to numpy.

    Read from memory: pyarrow's own conversions import pandas, if it is there, which would cost as
    much as the rest of a first fit together.  Gaps become ``gap``; NaN makes the numbers doubles.
    """
    values, valid = exact_numpy(array)
    return values if valid is None else np.where(valid, values, gap)


def exact_numpy(array: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Convert without changing the type; also return where there is a value (None: everywhere).

    The numbers in gaps are arbitrary.
    """
    if isinstance(array, pa.ChunkedArray):
        # by numpy: arrow keeps the memory of what it combined long after the last use
        if len(array.chunks) == 1:
            return exact_numpy(array.chunks[0])
        found = [exact_numpy(chunk) for chunk in array.chunks] or [(np.empty(0), None)]
        values = np.concatenate([values for values, _ in found])
        if all(valid is None for _, valid in found):
            return values, None
        masks = [np.ones(len(part), np.bool_) if valid is None else valid for part, valid in found]
        return values, np.concatenate(masks)
    if pa.types.is_boolean(array.type):
        return exact_numpy(array.cast(pa.uint8()))
    width, kind = array.type.bit_width // 8, "i"
    if pa.types.is_floating(array.type):
        kind = "f"
    elif pa.types.is_unsigned_integer(array.type):
        kind = "u"
    bitmap, data = array.buffers()
    numbers = np.frombuffer(data or b"", f"{kind}{width}", len(array), array.offset * width)
    if not array.null_count:
        return numbers, None
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    return numbers, bits[array.offset : array.offset + len(array)].astype(np.bool_)


def to_arrow(values: NDArray[Any]) -> Any:
    """Convert numbers or truth values of numpy to an arrow array; NaN stays a number."""
    plain = np.ascontiguousarray(values.view(np.uint8) if values.dtype.kind == "b" else values)
    kind = {"i": "int", "u": "uint", "f": "float"}[plain.dtype.kind]
    arrow_type = getattr(pa, f"{kind}{plain.dtype.itemsize * 8}")()
    return pa.Array.from_buffers(arrow_type, len(plain), [None, pa.py_buffer(plain)])


def to_values(array: Any) -> list[Any]:
    """Convert an arrow array to Python's values; bytes that are not UTF-8 are replaced.

    Arrow trusts that a file's texts are UTF-8, and a failure to decode one would quote it.
    """
    try:
        return array.to_pylist()
    except UnicodeDecodeError:
        raw = array.cast(pa.large_binary()).to_pylist()
        return [None if item is None else item.decode(errors="replace") for item in raw]


class Column(ABC):
    """A column of any storage type."""

    @abstractmethod
    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Return codes and the values they refer to; -1 is missing.  Values may repeat."""

    def numbers(self) -> Values:
        """Return numbers of any numpy type, NaN where missing or unreadable."""
        return self.apply(read_number, missing=np.nan, dtype=np.float64)

    def missing(self) -> NDArray[np.bool_]:
        """Return where a value is missing, as opposed to unreadable."""
        return self.apply(is_missing, missing=True, dtype=np.bool_)

    def days(self, date_format: str | None) -> Values:
        """Return dates in days since 1970; NaN where missing or unreadable."""
        return self.apply(partial(read_date, date_format=date_format), np.nan, np.float64)

    def levels(self, lookup: Mapping[str, int]) -> NDArray[np.int16]:
        """Return numbers of levels; -1 where unknown, -2 where missing."""
        return self.apply(partial(read_level, lookup=lookup), -2, np.int16)

    def apply(self, rule: Callable[[Any], float], missing: float, dtype: type) -> Values:
        """Apply ``rule`` to every value, once for each distinct one."""
        codes, values = self.coded()
        # code -1 finds the last entry
        table: Values = np.array([*(rule(value) for value in values), missing], dtype=dtype)
        return table[codes]


@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers or truth values in a numpy array of any type.

    Missing are NaN and entries that are not ``valid`` (None: all are), so that integers with gaps
    keep their exact values.
    """

    values: Values
    valid: NDArray[np.bool_] | None = None

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Distinct values by hashing."""
        codes, values = _dictionary(to_arrow(hashable(self.values)))
        return codes if self.valid is None else np.where(self.valid, codes, np.int32(-1)), values

    def missing(self) -> NDArray[np.bool_]:
        """NaN, or not there."""
        return np.isnan(self.values) if self.valid is None else np.isnan(self.numbers())

    def numbers(self) -> Values:
        """The values themselves."""
        return self.values if self.valid is None else np.where(self.valid, self.values, np.nan)


@dataclass(frozen=True)
class ArrowColumn(Column):
    """Texts, categories and the like, held by arrow."""

    array: Any

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Distinct values by hashing."""
        return _dictionary(self.array)

    def numbers(self) -> Values:
        """Read with arrow where it can read everything, else value by value.

        Arrow accepts only spellings that ``read_number`` accepts too, with the same result, so
        the choice of the reader changes no value.
        """
        try:
            return _cast(self.array)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            if not (
                pa.types.is_string(self.array.type) or pa.types.is_large_string(self.array.type)
            ):
                return super().numbers()
        # texts in plain notation by arrow, the others value by value
        from pyarrow import compute

        matched = compute.match_substring_regex(self.array, PLAIN_NUMBER)
        plain = compute.fill_null(matched, fill_value=False)
        numbers = np.array(_cast(compute.if_else(plain, self.array, None)))
        others = np.flatnonzero(to_numpy(plain) == 0)
        numbers[others] = Column.numbers(ArrowColumn(self.array.take(to_arrow(others))))
        return numbers


@dataclass(frozen=True)
class DateColumn(Column):
    """Dates or times of day in an arrow array of such a type."""

    name: str
    array: Any

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Raise a form error: only the schema's dates are read as dates."""
        raise DataFormError(_temporal_text(self.name))

    def missing(self) -> NDArray[np.bool_]:
        """Gaps."""
        return np.isnan(typed_days(self.array))

    def days(self, date_format: str | None) -> Values:  # noqa: ARG002 - a typed date needs none
        """The days themselves."""
        return typed_days(self.array)


@dataclass(frozen=True)
class ObjectColumn(Column):
    """Python objects of mixed types."""

    values: Sequence[object]

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Return a code for every row: objects need not be hashable."""
        return np.arange(len(self.values), dtype=np.int32), self.values

    def numbers(self) -> Values:
        """Convert plain numbers of Python together, with the same result as value by value."""
        if set(map(type, self.values)) <= {int, float, type(None)}:
            with suppress(OverflowError):  # an integer beyond a double
                return np.array(self.values, dtype=np.float64)
        return super().numbers()


@dataclass(frozen=True)
class StackedColumn(Column):
    """The rows of several columns, one after the other, each of its own storage type."""

    parts: Sequence[Column]

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Return the codes of all parts, with distinct codes for distinct parts."""
        codes: list[Codes] = []
        values: list[object] = []
        for part in self.parts:
            part_codes, part_values = part.coded()
            codes.append(np.where(part_codes < 0, -1, part_codes + len(values)).astype(np.int32))
            values += part_values
        return np.concatenate(codes), values

    def missing(self) -> NDArray[np.bool_]:
        """Part by part."""
        return np.concatenate([part.missing() for part in self.parts])

    def days(self, date_format: str | None) -> Values:
        """Part by part."""
        return np.concatenate([part.days(date_format) for part in self.parts])

    def numbers(self) -> Values:
        """Part by part, as doubles."""
        return np.concatenate([hashable(part.numbers() + 0.0) for part in self.parts])


@dataclass(frozen=True)
class CodedColumn(Column):
    """A column in which the schema declares codes for missing values.

    A code is compared with one value at a time: with its number, its date or its text, in the form
    in which two spellings of a level are the same.
    """

    column: Column
    gaps: tuple[str, ...]
    date_format: str | None = None

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Return codes and values of the column, -1 where the value is one of the gaps."""
        codes, values = self.column.coded()
        keys = {level_key(gap) for gap in self.gaps}
        texts = (item if isinstance(item, str) else read_text(item) for item in values)
        gone = np.array([*(text is not None and level_key(text) in keys for text in texts), True])
        return np.where(gone[codes], np.int32(-1), codes), values

    def numbers(self) -> Values:
        """Return the numbers of the column, NaN where one of the gaps is."""
        return _without(self.column.numbers(), [read_number(gap) for gap in self.gaps])

    def missing(self) -> NDArray[np.bool_]:
        """Return where the column has no value, or one of the gaps."""
        missing = self.column.missing()
        with suppress(DataFormError):  # a column of dates has no codes
            return missing | (self.coded()[0] < 0)
        return missing | np.isnan(self.days(self.date_format))

    def days(self, date_format: str | None) -> Values:
        """Return the days of the column, NaN where one of the gaps is."""
        gaps = [read_date(gap, date_format) for gap in self.gaps]
        return _without(self.column.days(date_format), gaps)


def _without(numbers: Values, gaps: list[float]) -> Values:
    with np.errstate(over="ignore"):
        found = np.isin(numbers.astype(np.float64, copy=False), gaps)
    return np.where(found, np.nan, numbers) if found.any() else numbers


def hashable(values: Values) -> Values:
    """Convert numbers to a type that arrow hashes: doubles, and this machine's byte order."""
    if values.dtype.kind != "f":
        return values.astype(values.dtype.newbyteorder("="), copy=False)
    with np.errstate(over="ignore"):
        return values.astype(np.float64, copy=False)


def _cast(array: Any) -> Values:
    return to_numpy(array.cast(pa.float64()))


def _dictionary(array: Any) -> tuple[Codes, Sequence[object]]:
    """Return codes and values of an arrow array, dictionary-encoded already or not."""
    if pa.types.is_float16(array.type):  # older arrows cannot hash it; a single holds its values
        array = array.cast(pa.float32())
    if pa.types.is_null(array.type):
        return np.full(len(array), -1, dtype=np.int32), []
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # combining no chunks at all gives no array
        return np.empty(0, dtype=np.int32), []
    indices = encoded.indices  # a cast loads arrow's functions, a tenth of a second
    indices = indices if pa.types.is_int32(indices.type) else indices.cast(pa.int32())
    return to_numpy(indices, gap=-1), to_values(encoded.dictionary)


def arrow_column(name: str, array: Any) -> Column:
    """Return the column of a chunked arrow array, by its type.

    As `make_column`, but without narwhals, which loads arrow's functions for arrow's tables: that
    takes longer than to encode a million people.
    """
    array = plain_storage(array)
    kind = array.type
    if is_date(kind):
        return DateColumn(name, array)
    require_readable(name, kind)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return NumberColumn(*exact_numpy(array)) if number else ArrowColumn(array)


def make_column(series: "nw.Series[Any]") -> Column:
    """Return the column of a narwhals series, by its type."""
    dtype = series.dtype
    if is_date(dtype):
        return DateColumn(series.name, series.to_arrow())
    require_readable(series.name, dtype)
    if dtype == nw.Object:
        return ObjectColumn(series.to_list())
    wide = dtype.is_decimal() or dtype in {nw.Int128, nw.UInt128}
    if dtype == nw.Boolean or (dtype.is_numeric() and not wide):
        # numbers stay in their own type: a gap must not make doubles of the others' integers
        native = series.to_native()
        if isinstance(getattr(native, "dtype", None), np.dtype):  # pandas over numpy
            return NumberColumn(series.to_numpy())
        # narwhals would let arrow combine the chunks, which keeps the memory long after the last use
        chunked = isinstance(native, pa.ChunkedArray)
        return NumberColumn(*exact_numpy(native if chunked else series.to_arrow()))
    try:
        array = series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return ObjectColumn(series.to_list())
    texts = "string" in str(array.type) or pa.types.is_null(array.type)
    if dtype == nw.String and not texts:
        return ObjectColumn(series.to_list())  # only the first rows of an object column were texts
    return ArrowColumn(plain_storage(array))


def is_date(kind: Any) -> bool:
    """Return whether a type of arrow or narwhals holds dates, with or without a time of day."""
    if isinstance(kind, pa.DataType):
        return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))
    return bool(kind == nw.Date or kind == nw.Datetime)  # noqa: PLR1714 - hashes differ


def require_readable(name: str, kind: Any, *, dates: bool = False) -> None:
    """Raise a form error for nested types, and for dates unless the column is one of ``dates``."""
    kind = getattr(kind, "storage_type", kind)
    if isinstance(kind, pa.DataType):
        temporal, nested = pa.types.is_temporal(kind), pa.types.is_nested(kind)
    else:
        temporal, nested = kind.is_temporal(), kind.is_nested()
    if nested or (temporal and not (dates and is_date(kind))):
        raise DataFormError(_temporal_text(name))


def _temporal_text(name: str) -> str:
    return (
        f"column '{name}' holds dates, durations or nested values; name dates as start and end in "
        "[time], or convert the column to numbers or texts."
    )

"""A column in one of several shapes, asked for numbers, codes or days; and how one value is read.

The rules for values look at the value alone.  A column's type is often inferred from all of its
values, so a rule that looked at the type would let one person's record decide how another's is
read.

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
    """From the key of a value to 1 for an event, 0 for none; to the number of its cause."""
    if time.causes is not None:
        causes = enumerate(time.causes.values(), start=1)
        return {level_key(value): number for number, values in causes for value in values}
    if time.event_values is None:
        return EVENTS
    return {level_key(value): 1 for value in time.event_values}


def read_event(value: object, lookup: Mapping[str, int]) -> int:
    """1 for an event, 0 for none; otherwise -1, or -2 if the value is missing.

    A declared value wins over the convention that its text means "missing".
    """
    return read_level(value, lookup)


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


def to_numpy(array: Any, gap: float = np.nan) -> NDArray[Any]:
    """Numbers or truth values of an arrow array (in one piece or several) as numpy's.

    By their memory: pyarrow's own conversions import pandas, if it is there, which would cost as
    much as the rest of a first fit together.

    ``gap`` stands where there is no value: NaN, which makes the numbers doubles, or one of them.
    """
    values, valid = exact_numpy(array)
    return values if valid is None else np.where(valid, values, gap)


def exact_numpy(array: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The same in the array's own type, and where there is a value (None: everywhere).

    What stands where there is none is any number.
    """
    if isinstance(array, pa.ChunkedArray):
        return _exact_chunks(array.chunks)
    if pa.types.is_boolean(array.type):
        return exact_numpy(array.cast(pa.uint8()))
    width = array.type.bit_width // 8
    dtype = np.dtype(f"{_kind(array.type)}{width}")
    valid, data = array.buffers()
    numbers = np.frombuffer(data or b"", dtype, len(array), array.offset * width)
    return numbers, _bits(valid, array) if array.null_count else None


def _exact_chunks(chunks: list[Any]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """By numpy: arrow keeps the memory of what it combined long after the last use."""
    if len(chunks) == 1:
        return exact_numpy(chunks[0])
    found = [exact_numpy(chunk) for chunk in chunks] or [(np.empty(0), None)]
    values = np.concatenate([values for values, _ in found])
    if all(valid is None for _, valid in found):
        return values, None
    masks = [np.ones(len(part), np.bool_) if valid is None else valid for part, valid in found]
    return values, np.concatenate(masks)


def to_arrow(values: NDArray[Any]) -> Any:
    """An arrow array of numpy's numbers or truth values; NaN stays a number."""
    plain = np.ascontiguousarray(values.view(np.uint8) if values.dtype.kind == "b" else values)
    kind = {"i": "int", "u": "uint", "f": "float"}[plain.dtype.kind]
    arrow_type = getattr(pa, f"{kind}{plain.dtype.itemsize * 8}")()
    return pa.Array.from_buffers(arrow_type, len(plain), [None, pa.py_buffer(plain)])


def to_values(array: Any) -> list[Any]:
    """Python's values of an arrow array; bytes that are not UTF-8 are replaced, value by value.

    Arrow trusts that a file's texts are UTF-8, and a failure to decode one would quote it.
    """
    try:
        values: list[Any] = array.to_pylist()
    except UnicodeDecodeError:
        raw = array.cast(pa.large_binary()).to_pylist()
        values = [None if item is None else item.decode(errors="replace") for item in raw]
    return values


def _bits(bitmap: Any, array: Any) -> NDArray[np.bool_]:
    """Where the array has a value, from arrow's bitmap."""
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(np.bool_)


def _kind(arrow_type: Any) -> str:
    if pa.types.is_floating(arrow_type):
        return "f"
    return "u" if pa.types.is_unsigned_integer(arrow_type) else "i"


class Column(ABC):
    """What a column can be asked for."""

    @abstractmethod
    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Codes and the values they stand for; -1 is missing.  Values may repeat."""

    def numbers(self) -> Values:
        """The column as numbers of any numpy type, NaN where missing or unreadable."""
        return self.apply(read_number, missing=np.nan, dtype=np.float64)

    def missing(self) -> NDArray[np.bool_]:
        """Where there is no value at all, as opposed to one that cannot be read."""
        return self.apply(is_missing, missing=True, dtype=np.bool_)

    def days(self, date_format: str | None) -> Values:
        """The column as dates, in days since 1970; NaN where missing or unreadable."""
        return self.apply(partial(read_date, date_format=date_format), np.nan, np.float64)

    def apply(self, rule: Callable[[Any], float], missing: float, dtype: type) -> Values:
        """``rule`` of every value, computed once for each distinct one."""
        codes, values = self.coded()
        # code -1 finds the last entry
        table: Values = np.array([*(rule(value) for value in values), missing], dtype=dtype)
        return table[codes]


@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers or truth values in a numpy array of any type.

    Missing is NaN, and what ``valid`` (None: everything) says is not there: so integers with gaps
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
        """By arrow's reader where it can read everything, else value by value.

        Arrow accepts only spellings that ``read_number`` accepts too, with the same result, so
        the way taken cannot be seen in any value.
        """
        try:
            return _cast(self.array)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            text = pa.types.is_string(self.array.type) or pa.types.is_large_string(self.array.type)
            return self._mostly_numbers() if text else super().numbers()

    def _mostly_numbers(self) -> Values:
        """Texts in plain notation by arrow, the others value by value."""
        from pyarrow import compute  # noqa: PLC0415 - a tenth of a second few users need

        matched = compute.match_substring_regex(self.array, PLAIN_NUMBER)
        plain = compute.fill_null(matched, fill_value=False)
        numbers = np.array(_cast(compute.if_else(plain, self.array, None)))
        others = np.flatnonzero(to_numpy(plain) == 0)
        numbers[others] = Column.numbers(ArrowColumn(self.array.take(to_arrow(others))))
        return numbers


@dataclass(frozen=True)
class DateColumn(Column):
    """Dates or times of day held by arrow, of a type that says so."""

    name: str
    array: Any

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """A form error: only the schema's dates are read as dates."""
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
        """Every row its own code: objects need not be hashable."""
        return np.arange(len(self.values), dtype=np.int32), self.values

    def numbers(self) -> Values:
        """Python's plain numbers together, with the same result as value by value."""
        if set(map(type, self.values)) <= {int, float, type(None)}:
            with suppress(OverflowError):  # an integer beyond a double
                return np.array(self.values, dtype=np.float64)
        return super().numbers()


@dataclass(frozen=True)
class StackedColumn(Column):
    """The rows of several columns, one after the other, each in a shape of its own."""

    parts: Sequence[Column]

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """The codes of the parts, one part's after the other's."""
        codes: list[Codes] = []
        values: list[object] = []
        for part in self.parts:
            found, meant = part.coded()
            codes.append(np.where(found < 0, -1, found + len(values)).astype(np.int32))
            values += meant
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
    """Another column, in which the codes that the schema declares are gaps.

    A code is compared with one value at a time: with its number, its date or its text, in the form
    in which two spellings of a level are the same.
    """

    column: Column
    gaps: tuple[str, ...]
    date_format: str | None = None

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """The codes and values of the column, -1 where the value is one of the gaps."""
        codes, values = self.column.coded()
        keys = {level_key(gap) for gap in self.gaps}
        texts = (item if isinstance(item, str) else read_text(item) for item in values)
        gone = np.array([*(text is not None and level_key(text) in keys for text in texts), True])
        return np.where(gone[codes], np.int32(-1), codes), values

    def numbers(self) -> Values:
        """The numbers of the column, NaN where one of the gaps is."""
        return _without(self.column.numbers(), [read_number(gap) for gap in self.gaps])

    def missing(self) -> NDArray[np.bool_]:
        """Where the column has no value, or one of the gaps."""
        missing = self.column.missing()
        with suppress(DataFormError):  # a column of dates has no codes
            return missing | (self.coded()[0] < 0)
        return missing | np.isnan(self.days(self.date_format))

    def days(self, date_format: str | None) -> Values:
        """The days of the column, NaN where one of the gaps is."""
        gaps = [read_date(gap, date_format) for gap in self.gaps]
        return _without(self.column.days(date_format), gaps)


def _without(numbers: Values, gaps: list[float]) -> Values:
    """The numbers, NaN where one of the gaps is."""
    with np.errstate(over="ignore"):
        found = np.isin(numbers.astype(np.float64, copy=False), gaps)
    return np.where(found, np.nan, numbers) if found.any() else numbers


def hashable(values: Values) -> Values:
    """The same numbers in a type that arrow hashes: doubles, and this machine's byte order."""
    if values.dtype.kind != "f":
        return values.astype(values.dtype.newbyteorder("="), copy=False)
    with np.errstate(over="ignore"):
        return values.astype(np.float64, copy=False)


def _cast(array: Any) -> Values:
    return to_numpy(array.cast(pa.float64()))


def _dictionary(array: Any) -> tuple[Codes, Sequence[object]]:
    """Codes and values of an arrow array, dictionary-encoded already or not."""
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
    codes = to_numpy(indices, gap=-1)
    return codes, to_values(encoded.dictionary)


def arrow_column(name: str, array: Any) -> Column:
    """The column of an arrow array in pieces, by its type.

    As `make_column`, without narwhals: for arrow's tables it loads arrow's functions, which takes
    longer than to encode a million people.
    """
    array = plain_storage(array)
    kind = array.type
    if _is_arrow_date(kind):
        return DateColumn(name, array)
    require_readable_arrow(name, kind)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return NumberColumn(*exact_numpy(array)) if number else ArrowColumn(array)


def require_readable_arrow(name: str, kind: Any, *, dates: bool = False) -> None:
    """As `require_readable`, by arrow's own type."""
    kind = getattr(kind, "storage_type", kind)
    temporal = pa.types.is_temporal(kind) and not (dates and _is_arrow_date(kind))
    if temporal or pa.types.is_nested(kind):
        raise DataFormError(_temporal_text(name))


def _is_arrow_date(kind: Any) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def make_column(series: "nw.Series[Any]") -> Column:
    """The column of a narwhals series, by its type."""
    dtype = series.dtype
    if is_date(dtype):
        return DateColumn(series.name, series.to_arrow())
    require_readable(series.name, dtype)
    if dtype == nw.Object:
        return ObjectColumn(series.to_list())
    return _plain_column(series) if _is_plain(dtype) else _arrow_column(series)


def is_date(dtype: Any) -> bool:
    """Whether a column's type is that of dates, with or without a time of day."""
    return bool(dtype == nw.Date or dtype == nw.Datetime)  # noqa: PLR1714 - hashes differ


def require_readable(name: str, dtype: Any, *, dates: bool = False) -> None:
    """Nested types are a form error, and so are dates in columns that the schema calls others."""
    if dates and is_date(dtype):
        return
    if dtype.is_temporal() or dtype.is_nested():
        raise DataFormError(_temporal_text(name))


def _temporal_text(name: str) -> str:
    return (
        f"column '{name}' holds dates, durations or nested values; name dates as start and end in "
        "[time], or convert the column to numbers or texts."
    )


def _is_plain(dtype: Any) -> bool:
    wide = dtype in {nw.Int128, nw.UInt128}
    return bool(dtype == nw.Boolean or (dtype.is_numeric() and not dtype.is_decimal() and not wide))


def _plain_column(series: "nw.Series[Any]") -> Column:
    """Numbers in their own type: a gap must not make doubles of the others' integers."""
    native = series.to_native()
    if isinstance(getattr(native, "dtype", None), np.dtype):  # pandas over numpy
        return NumberColumn(series.to_numpy())
    # narwhals would let arrow combine the chunks, which keeps the memory long after the last use
    array = native if isinstance(native, pa.ChunkedArray) else series.to_arrow()
    return NumberColumn(*exact_numpy(array))


def _arrow_column(series: "nw.Series[Any]") -> Column:
    """What arrow holds as it is; Python's objects where it would convert some for others' sake."""
    try:
        array = series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return ObjectColumn(series.to_list())
    if series.dtype == nw.String and not _holds_texts(array.type):
        return ObjectColumn(series.to_list())  # only the first rows of an object column were texts
    return ArrowColumn(plain_storage(array))


def _holds_texts(arrow_type: Any) -> bool:
    return "string" in str(arrow_type) or pa.types.is_null(arrow_type)

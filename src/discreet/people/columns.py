"""One column in one of three shapes, asked for numbers or for codes of its distinct values."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import DataFormError
from discreet.people.arrow import exact_numpy, to_arrow, to_numpy, to_values
from discreet.people.dates import read_date, typed_days
from discreet.people.values import is_missing, read_number

Array = NDArray[Any]
Codes = NDArray[np.int32]

# A number that every version of arrow reads as Python does.
PLAIN_NUMBER = r"^-?\d{1,30}(\.\d{0,30})?([eE][+-]?\d{1,2})?$"


class Column(ABC):
    """What a column can be asked for."""

    @abstractmethod
    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Codes and the values they stand for; -1 is missing.  Values may repeat."""

    def numbers(self) -> Array:
        """The column as numbers of any numpy type, NaN where missing or unreadable."""
        return self.apply(read_number, missing=np.nan, dtype=np.float64)

    def missing(self) -> NDArray[np.bool_]:
        """Where there is no value at all, as opposed to one that cannot be read."""
        return self.apply(is_missing, missing=True, dtype=np.bool_)

    def days(self, date_format: str | None) -> Array:
        """The column as dates, in days since 1970; NaN where missing or unreadable."""
        return self.apply(partial(read_date, date_format=date_format), np.nan, np.float64)

    def apply(self, rule: Callable[[Any], float], missing: float, dtype: type) -> Array:
        """``rule`` of every value, computed once for each distinct one."""
        codes, values = self.coded()
        # code -1 finds the last entry
        table: Array = np.array([*(rule(value) for value in values), missing], dtype=dtype)
        return table[codes]


@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers or truth values in a numpy array of any type.

    Missing is NaN, and what ``valid`` (None: everything) says is not there: so integers with gaps
    keep their exact values.
    """

    values: Array
    valid: NDArray[np.bool_] | None = None

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Distinct values by hashing."""
        codes, values = _dictionary(to_arrow(hashable(self.values)))
        return codes if self.valid is None else np.where(self.valid, codes, np.int32(-1)), values

    def missing(self) -> NDArray[np.bool_]:
        """NaN, or not there."""
        return np.isnan(self.values) if self.valid is None else np.isnan(self.numbers())

    def numbers(self) -> Array:
        """The values themselves."""
        return self.values if self.valid is None else np.where(self.valid, self.values, np.nan)


@dataclass(frozen=True)
class ArrowColumn(Column):
    """Texts, categories and the like, held by arrow."""

    array: Any

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Distinct values by hashing."""
        return _dictionary(self.array)

    def numbers(self) -> Array:
        """By arrow's reader where it can read everything, else value by value.

        Arrow accepts only spellings that ``read_number`` accepts too, with the same result, so
        the way taken cannot be seen in any value.
        """
        try:
            return _cast(self.array)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            text = pa.types.is_string(self.array.type) or pa.types.is_large_string(self.array.type)
            return self._mostly_numbers() if text else super().numbers()

    def _mostly_numbers(self) -> Array:
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

    def days(self, date_format: str | None) -> Array:  # noqa: ARG002 - a typed date needs none
        """The days themselves."""
        return typed_days(self.array)


@dataclass(frozen=True)
class ObjectColumn(Column):
    """Python objects of mixed types."""

    values: Sequence[object]

    def coded(self) -> tuple[Codes, Sequence[object]]:
        """Every row its own code: objects need not be hashable."""
        return np.arange(len(self.values), dtype=np.int32), self.values


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

    def days(self, date_format: str | None) -> Array:
        """Part by part."""
        return np.concatenate([part.days(date_format) for part in self.parts])

    def numbers(self) -> Array:
        """Part by part, as doubles."""
        return np.concatenate([hashable(part.numbers() + 0.0) for part in self.parts])


def hashable(values: Array) -> Array:
    """The same numbers in a type that arrow hashes: doubles, and this machine's byte order."""
    if values.dtype.kind != "f":
        return values.astype(values.dtype.newbyteorder("="), copy=False)
    with np.errstate(over="ignore"):
        return values.astype(np.float64, copy=False)


def _cast(array: Any) -> Array:
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
    codes = to_numpy(encoded.indices.cast(pa.int32()), gap=-1)
    return codes, to_values(encoded.dictionary)


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
    return NumberColumn(*exact_numpy(series.to_arrow()))


def _arrow_column(series: "nw.Series[Any]") -> Column:
    """What arrow holds as it is; Python's objects where it would convert some for others' sake."""
    try:
        array = series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return ObjectColumn(series.to_list())
    if series.dtype == nw.String and not _holds_texts(array.type):
        return ObjectColumn(series.to_list())  # only the first rows of an object column were texts
    return ArrowColumn(array)


def _holds_texts(arrow_type: Any) -> bool:
    return "string" in str(arrow_type) or pa.types.is_null(arrow_type)

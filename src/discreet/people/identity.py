"""Which rows are one person.

Two ids are the same if they are equal texts or equal numbers; a text never equals a number.  A
missing id (or a text that means missing) is nobody else's: each such row is a person of its own.
"""

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.people.arrow import to_arrow, to_numpy
from discreet.people.columns import ArrowColumn, Column, NumberColumn, hashable
from discreet.people.values import MISSING_TEXTS, is_missing

Codes = NDArray[np.int32]


def number_persons(column: Column) -> tuple[Codes, int]:
    """A number for each row's person, in order of appearance, and how many persons there are."""
    if isinstance(column, NumberColumn):
        codes = _number_codes(column.values)
    elif isinstance(column, ArrowColumn):
        codes = _arrow_codes(column.array)
    else:
        codes = _object_codes(column.coded()[1])
    return _separate_missing(codes)


def _number_codes(values: NDArray[Any]) -> Codes:
    if values.dtype.kind == "f":
        values = hashable(values) + 0.0  # -0.0 is 0.0
    elif bool(np.all(values[1:] >= values[:-1])):  # the usual case needs no hashing
        return np.cumsum(np.append(False, values[1:] != values[:-1])[: len(values)], dtype=np.int32)
    codes = _arrow_codes(to_arrow(hashable(values)))
    return np.where(np.isnan(values), -1, codes).astype(np.int32, copy=False)


def _arrow_codes(array: Any) -> Codes:
    """Codes by hashing; -1 where the id is missing."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_null(array.type) or len(array) == 0:
        return np.full(len(array), -1, dtype=np.int32)
    encoded = array.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    codes = to_numpy(encoded.indices, gap=-1)
    return np.where(np.isin(codes, _missing_codes(encoded.dictionary)), -1, codes).astype(np.int32)


def _missing_codes(dictionary: Any) -> list[int]:
    if not (pa.types.is_string(dictionary.type) or pa.types.is_large_string(dictionary.type)):
        return []
    found = (dictionary.index(text).as_py() for text in MISSING_TEXTS)
    return [code for code in found if code >= 0]


def _object_codes(values: Any) -> Codes:
    seen: dict[object, int] = {}
    keys = (_key(value) for value in values)
    codes = (-1 if key is None else seen.setdefault(key, len(seen)) for key in keys)
    return np.fromiter(codes, dtype=np.int32, count=len(values))


def _key(value: object) -> object:
    """What ids are compared by: numbers by value, texts by text, other objects by description."""
    if is_missing(value):
        return None
    plain = isinstance(value, str | Real | Decimal | np.bool_)
    return value if plain else (type(value).__name__, repr(value))


def _separate_missing(codes: Codes) -> tuple[Codes, int]:
    """Numbers without gaps, with a new one for each missing id."""
    missing = codes < 0
    if not missing.any():
        used = int(codes.max(initial=-1)) + 1
        return codes, used
    known = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int32)
    known[codes[~missing]] = 1
    count = int(known.sum())
    numbers = np.where(missing, 0, (np.cumsum(known) - 1)[codes] if len(known) else 0)
    numbers[missing] = count + np.arange(int(missing.sum()))
    return numbers.astype(np.int32), count + int(missing.sum())

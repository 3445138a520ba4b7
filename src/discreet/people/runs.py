"""People in a stream: their rows must be adjacent, and each person is counted once."""

import hashlib
from numbers import Integral
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import DataFormError
from discreet.people.arrow import to_values
from discreet.people.identity import number_persons
from discreet.people.tables import open_table
from discreet.people.values import MISSING_TEXTS, is_missing

Hashes = NDArray[np.uint64]


def last_person(table: Any, column: str) -> int:
    """Row at which the last person of a table begins."""
    codes = _codes(table, column)[0]
    changes = np.flatnonzero(codes[1:] != codes[:-1])
    return int(changes[-1]) + 1 if len(changes) else 0


class PersonCount:
    """Counts people from block to block, remembering eight bytes a person.

    A person whose rows are not adjacent would be taken for two, and so protected by half: that is
    an error of the files' form. Ids are remembered by a 64-bit hash; some two of 10^7 people share
    one with probability 3e-6, which gives the same error, never a wrong sum.
    """

    def __init__(self, column: str) -> None:
        self._column = column
        self._seen: list[Hashes] = []
        self.persons = 0

    def add(self, table: Any) -> None:
        """Count the people of a table that must hold all their rows, side by side."""
        codes, persons = _codes(table, self._column)
        runs = np.count_nonzero(codes[1:] != codes[:-1]) + min(len(codes), 1)
        hashes = np.sort(_hashes(table.column(self._column)))
        if runs != persons or any(_overlap(hashes, seen) for seen in self._seen):
            raise DataFormError(
                f"the rows of one person must be adjacent: sort the files by '{self._column}'."
            )
        self._remember(hashes)
        self.persons += persons

    def _remember(self, hashes: Hashes) -> None:
        """Keep few sorted arrays, of doubling sizes, so that a look-up stays cheap."""
        self._seen.append(hashes)
        while len(self._seen) > 1 and len(self._seen[-1]) * 2 > len(self._seen[-2]):
            last = self._seen.pop()
            self._seen[-1] = np.sort(np.concatenate([self._seen[-1], last]))


def person_digests(table: Any, column: str, secret: bytes) -> Hashes:
    """A keyed 64-bit digest of each known person of a table, each once."""
    codes, values = open_table(table, [column]).column(column).coded()
    present = np.unique(codes[codes >= 0])
    texts = {_identity(values[code]) for code in present.tolist()} - {""}
    digests = (hashlib.blake2b(text.encode(), key=secret, digest_size=8).digest() for text in texts)
    return np.unique(np.frombuffer(b"".join(digests), dtype=np.uint64))


def _identity(value: object) -> str:
    """Equal for equal numbers and for equal texts; empty where the id is missing."""
    if is_missing(value):
        return ""
    if isinstance(value, str):
        return f"text {value}"
    if isinstance(value, Integral):
        return f"number {int(value)}"
    return f"number {int(value)}" if _is_whole(value) else f"other {value!r}"


def _is_whole(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and value.is_integer()


def _codes(table: Any, column: str) -> tuple[NDArray[np.int32], int]:
    return number_persons(open_table(table, [column]).column(column))


def _hashes(ids: Any) -> Hashes:
    """One hash a known person of the table."""
    known = ids.unique().drop_null()
    if pa.types.is_integer(known.type):
        # an integer is its own hash
        return np.asarray(known.cast(pa.int64(), safe=False)).view(np.uint64)
    texts = [text for text in to_values(known.cast(pa.string())) if text not in MISSING_TEXTS]
    # Python keys its text hash anew in every process; nobody can aim at a collision.
    return np.fromiter((hash(text) % 2**64 for text in texts), np.uint64, count=len(texts))


def _overlap(some: Hashes, seen: Hashes) -> bool:
    if not len(seen):
        return False
    places = np.minimum(np.searchsorted(seen, some), len(seen) - 1)
    return bool(np.any(seen[places] == some))

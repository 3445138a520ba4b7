"""The identity of a person: one rule, which depends on the value of the raw id alone.

======================================  =======================================================
raw id                                  identity
======================================  =======================================================
null, None, NaN of any type, NA, NaT    none
text or bytes, blank or a word for      none
missing (``columns.MISSING_TEXTS``)
truth value                             the number 1 or 0
number of any type                      its exact value: 5, 5.0 and Decimal("5.00") are the
                                        same, so are 0.0 and -0.0; an infinity is an id
text or bytes                           its bytes in UTF-8
anything else                           its type's name and its representation
======================================  =======================================================

ASCII white space at both ends of a text is removed.  A text never equals a number: the text "7" and
the number 7 are two people.  A row whose id is none is a person of its own.

Internally an identity is a kind and a payload: a whole number of 64 bits, the bits of any other
double, or bytes.  Each value has exactly one such form, in a column of any type, so that a person
has the same digest in every block, file and partition.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import DataFormError
from discreet.people.columns import (
    MISSING_TEXTS,
    ArrowColumn,
    Column,
    NumberColumn,
    ObjectColumn,
    StackedColumn,
    exact_numpy,
    to_arrow,
    to_numpy,
    to_values,
)
from discreet.people.episodes import Stamp

Codes = NDArray[np.int32]
Digests = NDArray[np.uint64]
Kinds = NDArray[np.uint8]
Payloads = NDArray[np.int64]

MOST_DIGITS = 10_000
"""A decimal of more digits is compared as it is written."""
LONGEST_TEXT = 512
"""In bytes: longer ids are shortened by blake2b before they are digested."""
SIP_ROWS = 1 << 12
"""Messages at a time: the hash's state stays in the processor's cache."""
BEYOND = 2.0**53
"""From here on doubles do not hold every integer."""


class Kind(IntEnum):
    """The type of an identity's payload."""

    NONE = 0
    WHOLE = 1  # an integer that 64 bits hold
    DOUBLE = 2  # any other number that is exactly a double, by its bits
    NUMBER = 3  # any other number, by the bytes of its exact value
    TEXT = 4
    OTHER = 5
    LONG_TEXT = 6  # for digests alone


@dataclass(frozen=True, eq=False)
class Ids:
    """The identity of every row: ``number`` is the payload of WHOLE and DOUBLE, ``text`` of others.

    ``text`` is a large binary array of arrow, or None where no row needs it.
    """

    kind: Kinds
    number: Payloads
    text: Any = None

    @classmethod
    def of(cls, column: Column) -> "Ids":
        """Return the identities of a column's values; each depends on its own value only."""
        if isinstance(column, StackedColumn):
            return _stack([cls.of(part) for part in column.parts])
        if isinstance(column, NumberColumn):
            return _of_numbers(column.values, column.valid)
        if isinstance(column, ArrowColumn):
            return _of_arrow(column.array)
        return _of_objects(column.coded()[1])

    @property
    def missing(self) -> NDArray[np.bool_]:
        """The rows without an id."""
        return np.equal(self.kind, Kind.NONE)

    def take(self, rows: NDArray[np.integer[Any]]) -> "Ids":
        """Return the identities of the given rows; row -1 has none."""
        kind, number = np.append(self.kind, np.uint8(Kind.NONE)), np.append(self.number, 0)
        text = self.text
        if text is not None:
            text = pa.concat_arrays([text, pa.nulls(1, text.type)]).take(
                to_arrow(np.where(rows < 0, len(self.kind), rows))
            )
        return Ids(kind[rows], number[rows], text)

    def codes(self) -> tuple[Codes, int]:
        """Return a number for each row's person, and the number of persons.

        Known people come first, then the rows without an id, each a person.
        """
        known, parts = self._distinct
        count, missing = sum(len(part.payload) for part in parts), self.missing
        alone = int(np.count_nonzero(missing))
        if alone:
            known = known.copy()
            known[missing] = count + np.arange(alone, dtype=np.int32)
        return known, count + alone

    def digests(self, secret: bytes) -> Digests:
        """Return a keyed 64-bit digest of each known person, in arbitrary order."""
        parts = [part.digests(secret) for part in self._distinct[1]]
        return np.concatenate([*parts, np.empty(0, dtype=np.uint64)])

    def stamp(self, secret: bytes) -> Stamp:
        """Return the number of people, and a keyed sum that differs from that of other people."""
        digests = self.digests(secret)
        alone = int(np.count_nonzero(self.missing))
        return len(digests) + alone, int(np.add.reduce(digests, dtype=np.uint64))

    @cached_property
    def _distinct(self) -> tuple[Codes, "list[_Distinct]"]:
        """Codes of the rows with an id, and the distinct payloads of each kind that occurs."""
        codes, parts, used = np.full(len(self.kind), -1, dtype=np.int32), [], 0
        for kind in (kind for kind in Kind if kind is not Kind.NONE):
            rows = np.flatnonzero(np.equal(self.kind, kind))
            if not len(rows):
                continue
            whole = len(rows) == len(codes)
            if kind in {Kind.WHOLE, Kind.DOUBLE}:
                kind_codes, payload = _encode_numbers(self.number if whole else self.number[rows])
            else:
                texts = self.text if whole else self.text.take(to_arrow(rows))
                kind_codes, payload = _encode_texts(texts)
            codes[rows] = kind_codes + used
            parts.append(_Distinct(kind, payload))
            used += len(payload)
        return codes, parts


@dataclass(frozen=True, eq=False)
class _Distinct:
    """Distinct payloads of one kind: integers in numpy, or bytes in arrow."""

    kind: Kind
    payload: Any

    def digests(self, secret: bytes) -> Digests:
        """Return a digest of each; of bytes word by word for all of equally many words."""
        if isinstance(self.payload, np.ndarray):
            words = [np.full(len(self.payload), self.kind, np.uint64), self.payload.view(np.uint64)]
            return sip_hash(words, secret)
        # offsets and bytes of the array, with room for one more word
        _, places, content = self.payload.buffers()
        size = len(self.payload)
        offsets = np.frombuffer(places, np.int64, size + 1, self.payload.offset * 8)
        first, last = int(offsets[0]), int(offsets[-1])
        data = np.zeros(last - first + 8, dtype=np.uint8)
        data[: last - first] = np.frombuffer(content or b"", np.uint8, last - first, first)
        anywhere = np.ndarray((len(data) - 7,), dtype="<u8", buffer=data, strides=(1,))
        starts, lengths = offsets[:-1] - first, np.diff(offsets)
        digests = np.empty(size, dtype=np.uint64)
        counts = np.where(lengths > LONGEST_TEXT, -1, -(-lengths // 8))
        for count in np.unique(counts).tolist():
            rows = np.flatnonzero(counts == count)
            if count < 0:  # shortened first; such texts are rare
                person = bytes([self.kind])
                short = [
                    hashlib.blake2b(text, key=secret, digest_size=32, person=person).digest()
                    for text in self.payload.take(to_arrow(rows)).to_pylist()
                ]
                shortened = pa.array(short, pa.large_binary())
                digests[rows] = _Distinct(Kind.LONG_TEXT, shortened).digests(secret)
                continue
            # kind and length, then the bytes in words of eight, the last filled up with zeros
            words = [(lengths[rows].astype(np.uint64) << np.uint64(8)) | np.uint64(self.kind)]
            for word in range(count):
                left = np.minimum(lengths[rows] - 8 * word, 8).astype(np.uint64)
                unused = (np.uint64(8) - left) * np.uint64(8)
                words.append((anywhere[starts[rows] + 8 * word] << unused) >> unused)
            digests[rows] = sip_hash(words, secret)
        return digests


def identity(value: object) -> tuple[Kind, int | bytes]:
    """Return the identity of one raw value, the reference of the vectorised functions."""
    if isinstance(value, str | bytes):
        raw = value.encode(errors="surrogatepass") if isinstance(value, str) else value
        trimmed = raw.strip()  # the six white characters of ASCII
        return (Kind.NONE, 0) if trimmed in _MISSING else (Kind.TEXT, trimmed)
    if isinstance(value, Decimal):
        if value.is_nan():
            return Kind.NONE, 0
        if value.is_infinite():
            return _double_identity(float(value))
        if value and abs(value.adjusted()) + len(value.as_tuple().digits) > MOST_DIGITS:
            return Kind.NUMBER, str(value).encode()
        return _ratio_identity(*value.as_integer_ratio())
    if isinstance(value, Real | np.bool_):
        return _number_identity(value)
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return Kind.NONE, 0
    if isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value):
        return Kind.NONE, 0
    return Kind.OTHER, f"{type(value).__name__} {value!r}".encode(errors="surrogatepass")


def _number_identity(value: Any) -> tuple[Kind, int | bytes]:
    if isinstance(value, Integral | np.bool_):
        return _ratio_identity(int(value), 1)
    if value != value:  # noqa: PLR0124 - NaN of any type
        return Kind.NONE, 0
    if value in {np.inf, -np.inf}:
        return _double_identity(float(value))
    try:
        above, below = value.as_integer_ratio()
    except AttributeError:
        return Kind.OTHER, f"{type(value).__name__} {value!r}".encode(errors="surrogatepass")
    return _ratio_identity(int(above), int(below))


def _ratio_identity(above: int, below: int) -> tuple[Kind, int | bytes]:
    """Return the identity of a fraction in its lowest terms."""
    if below == 1 and -(2**63) <= above < 2**63:
        return Kind.WHOLE, above
    try:
        double = above / below  # rounded correctly
    except OverflowError:
        double = np.inf
    if np.isfinite(double) and double.as_integer_ratio() == (above, below):
        return _double_identity(double)
    return Kind.NUMBER, f"{above:x}/{below:x}".encode()


def _double_identity(number: float) -> tuple[Kind, int | bytes]:
    return Kind.DOUBLE, int(np.float64(number).view(np.int64))


_MISSING = frozenset(text.encode() for text in MISSING_TEXTS)


def _of_numbers(values: NDArray[Any], valid: NDArray[np.bool_] | None) -> Ids:
    if values.dtype.itemsize > 8:  # a long double: no vector instruction knows its bits
        items = [value if valid is None or valid[row] else None for row, value in enumerate(values)]
        return _of_objects(items)
    ids = _of_doubles(values) if values.dtype.kind == "f" else _of_whole(values)
    if valid is None:
        return ids
    return Ids(np.where(valid, ids.kind, Kind.NONE).astype(np.uint8), ids.number, ids.text)


def _of_whole(values: NDArray[Any]) -> Ids:
    """Integers and truth values."""
    kind = np.full(len(values), Kind.WHOLE, dtype=np.uint8)
    number = values.astype(np.int64, copy=False)
    if values.dtype.kind != "u" or values.dtype.itemsize < 8:
        return Ids(kind, number)
    beyond = np.flatnonzero(number < 0)  # 2^63 and more do not fit
    if not len(beyond):
        return Ids(kind, number)
    large = _of_objects(values[beyond].tolist())
    place = np.arange(len(values))
    place[beyond] = len(values) + np.arange(len(beyond))
    return _stack([Ids(kind, number), large]).take(place)


def _of_doubles(values: NDArray[Any]) -> Ids:
    doubles = values.astype(np.float64)  # a copy: of single and half precision, too, exactly
    whole = (doubles >= -(2.0**63)) & (doubles < 2.0**63) & (doubles == np.floor(doubles))
    kind = np.where(whole, Kind.WHOLE, Kind.DOUBLE)
    kind[np.isnan(doubles)] = Kind.NONE
    number = np.where(whole, doubles, 0.0).astype(np.int64)  # -0.0 becomes 0
    return Ids(kind.astype(np.uint8), np.where(whole, number, doubles.view(np.int64)))


def _of_objects(values: Sequence[object]) -> Ids:
    pairs = [identity(value) for value in values]
    numbers = [payload if isinstance(payload, int) else 0 for _, payload in pairs]
    texts = [payload if isinstance(payload, bytes) else None for _, payload in pairs]
    return Ids(
        np.array([kind for kind, _ in pairs], np.uint8),
        np.array(numbers, np.int64),
        pa.array(texts, pa.large_binary()),
    )


def _of_arrow(array: Any) -> Ids:
    if isinstance(array, pa.ChunkedArray):
        return _stack([_of_arrow(chunk) for chunk in array.chunks])
    if pa.types.is_dictionary(array.type):
        return _of_arrow(array.dictionary).take(to_numpy(array.indices.cast(pa.int64()), gap=-1))
    if pa.types.is_null(array.type):
        return _of_nothing(array)
    if pa.types.is_primitive(array.type) and not pa.types.is_temporal(array.type):
        return _of_numbers(*exact_numpy(array))
    if any(part in str(array.type) for part in ("string", "binary")):
        return _of_texts(array)
    if pa.types.is_decimal(array.type):
        try:
            return _of_numbers(*exact_numpy(array.cast(pa.int64())))
        except pa.ArrowInvalid:
            return _of_objects(array.to_pylist())
    return _of_objects(to_values(array))


def _of_nothing(array: Any) -> Ids:
    return Ids(np.zeros(len(array), dtype=np.uint8), np.zeros(len(array), dtype=np.int64))


def _of_texts(array: Any) -> Ids:
    """Return texts and bytes without white space, and none where they are blank or mean missing.

    They stay bytes: arrow trusts that texts are UTF-8, and a file may hold others.
    """
    from pyarrow import compute

    raw = array.cast(pa.large_binary())
    trimmed = compute.ascii_trim_whitespace(_renamed(raw, pa.large_string()))
    blank = compute.is_in(trimmed, value_set=pa.array(MISSING_TEXTS, pa.large_string()))
    gap = compute.or_(blank, compute.is_null(trimmed))
    kind = np.where(to_numpy(gap), Kind.NONE, Kind.TEXT).astype(np.uint8)
    return Ids(kind, np.zeros(len(array), np.int64), _renamed(trimmed, pa.large_binary()))


def _renamed(array: Any, arrow_type: Any) -> Any:
    """Return the bytes under another type, unchecked."""
    return pa.Array.from_buffers(arrow_type, len(array), array.buffers(), offset=array.offset)


def _stack(parts: Sequence[Ids]) -> Ids:
    if not parts:
        return _of_nothing(())
    kind = np.concatenate([part.kind for part in parts])
    number = np.concatenate([part.number for part in parts])
    if all(part.text is None for part in parts):
        return Ids(kind, number)
    texts = (
        pa.nulls(len(part.kind), pa.large_binary()) if part.text is None else part.text
        for part in parts
    )
    return Ids(kind, number, pa.concat_arrays(texts))


def _encode_numbers(values: Payloads) -> tuple[Codes, Payloads]:
    """Return codes in order of appearance and the distinct values."""
    if bool(np.all(values[1:] >= values[:-1])):  # the usual case needs no hashing
        new = np.append(True, values[1:] != values[:-1])
        return np.cumsum(new, dtype=np.int32) - np.int32(1), values[new]
    codes, distinct = _encode_array(to_arrow(values))
    return codes, to_numpy(distinct)


def _encode_texts(texts: Any) -> tuple[Codes, Any]:
    """Return codes in order of appearance and the distinct bytes; none may be null."""
    from pyarrow import compute

    before, after = texts.slice(0, max(len(texts) - 1, 0)), texts.slice(1)
    if compute.any(compute.less(after, before)).as_py():
        return _encode_array(texts)
    new = np.append(True, to_numpy(compute.not_equal(after, before)) != 0)
    return np.cumsum(new, dtype=np.int32) - np.int32(1), texts.take(to_arrow(np.flatnonzero(new)))


def _encode_array(array: Any) -> tuple[Codes, Any]:
    encoded = array.dictionary_encode()
    return to_numpy(encoded.indices), encoded.dictionary


def sip_hash(words: Sequence[Digests], secret: bytes) -> Digests:
    """Return SipHash-2-4 of messages of 64-bit words, one message a row.

    With a key of 16 secret bytes, two ids of the same digest cannot be constructed.  In numpy,
    because `hashlib.blake2b` of one id after the other takes 0.7 s more for a million ids, twice a
    release: a fifth of the processor time of a streamed release of them (6.5 s).

    Reference: Aumasson and Bernstein (2012), SipHash: a fast short-input PRF.
    """
    keys = [int.from_bytes(secret[:8], "little"), int.from_bytes(secret[8:16], "little")]
    start = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    digests = np.empty(len(words[0]), dtype=np.uint64)
    for row in range(0, len(digests), SIP_ROWS):
        part = digests[row : row + SIP_ROWS]
        a, b, c, d = state = [
            np.full(len(part), start[place] ^ keys[place % 2], dtype=np.uint64)
            for place in range(4)
        ]
        ending = np.full(len(part), (8 * len(words) % 256) << 56, dtype=np.uint64)
        for word in (*(word[row : row + SIP_ROWS] for word in words), ending):
            d ^= word
            _sip_rounds(state, 2)
            a ^= word
        c ^= np.uint64(0xFF)
        _sip_rounds(state, 4)
        part[:] = a ^ b ^ c ^ d
    return digests


def _sip_rounds(state: list[Digests], rounds: int) -> None:
    """Addition, rotation and exclusive or, in place."""
    a, b, c, d = state
    for _ in range(rounds):
        _sip_half(a, b, 13)
        _sip_half(c, d, 16)
        a[:] = _rotated(a, 32)
        _sip_half(c, b, 17)
        _sip_half(a, d, 21)
        c[:] = _rotated(c, 32)


def _sip_half(one: Digests, other: Digests, turn: int) -> None:
    one += other
    other[:] = _rotated(other, turn) ^ one


def _rotated(words: Digests, bits: int) -> Digests:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))


def count_ids_beyond_2_53(column: Column) -> int:
    """Count the ids that are doubles of 2^53 or more: their conversion may have merged integers."""
    if isinstance(column, StackedColumn):
        return sum(count_ids_beyond_2_53(part) for part in column.parts)
    if isinstance(column, NumberColumn) and column.values.dtype.kind == "f":
        return int(np.count_nonzero(np.abs(column.numbers()) >= BEYOND))
    values = column.values if isinstance(column, ObjectColumn) else ()
    return sum(isinstance(value, float) and abs(value) >= BEYOND for value in values)


def last_person(ids: Ids) -> int:
    """Return the row at which the last person of a table begins."""
    codes = ids.codes()[0]
    changes = np.flatnonzero(codes[1:] != codes[:-1])
    return int(changes[-1]) + 1 if len(changes) else 0


class PersonCount:
    """Counts people block by block and keeps eight bytes of each.

    A person whose rows are not adjacent would count as two, and be protected by half: that is an
    error of the files' form.  Ids are kept as keyed 64-bit digests; the probability that two of
    10^7 people share one is 3e-6, which raises the same error and never gives a wrong sum.
    """

    def __init__(self, column: str, secret: bytes) -> None:
        self._column, self._secret = column, secret
        self._seen: list[Digests] = []

    def add(self, ids: Ids) -> Stamp:
        """Count the people of a block, which must hold all their rows, adjacent to each other."""
        codes, persons = ids.codes()
        runs = np.count_nonzero(codes[1:] != codes[:-1]) + min(len(codes), 1)
        digests = np.sort(ids.digests(self._secret))
        # both are sorted, and what was seen holds a person at least
        places = ((seen, np.searchsorted(seen, digests)) for seen in self._seen)
        again = any(np.any(seen[np.minimum(at, len(seen) - 1)] == digests) for seen, at in places)
        if runs != persons or again:
            raise DataFormError(
                f"the rows of one person must be adjacent: sort the files by '{self._column}'."
            )
        if len(digests):
            self._seen.append(digests)
        while len(self._seen) > 1 and len(self._seen[-1]) * 2 > len(self._seen[-2]):
            last = self._seen.pop()
            self._seen[-1] = np.sort(np.concatenate([self._seen[-1], last]))
        return persons, int(np.add.reduce(digests, dtype=np.uint64))

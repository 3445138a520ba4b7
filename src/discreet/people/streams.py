"""Arrow's streams and arrays of any library, by the Arrow C interface.

A stream can be read once, and pyarrow gives an empty table for a stream that is read again.  So a
stream is read to its end and held for as long as the object that gave it lives.
"""

import weakref
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa

from discreet.errors import DataFormError

if TYPE_CHECKING:
    from collections.abc import Callable

NEEDLESS_ZEROS = r"^([^.]*)\.0*$|^([^.]*\.\d*[1-9])0+$"
"""A decimal number with zeros at its end."""


class Stream:
    """One stream: its schema, which needs no record, and its records."""

    def __init__(self, reader: Any, *, own: bool) -> None:
        # the user's own reader must not be kept alive by what is held for its life
        self._reader: Callable[[], Any] = weakref.ref(reader) if own else lambda: reader
        self.schema = reader.schema
        self.owner: Any = None
        """The object that gave the stream, if it has no weak references."""

    @cached_property
    def table(self) -> Any:
        """All records, in memory; a stream that broke off is not read again."""
        reader, self._reader = self._reader(), lambda: None
        try:
            return reader.read_all()
        except Exception:  # noqa: BLE001 - a producer raises anything, and may quote a record
            raise DataFormError(
                "the stream of Arrow data cannot be read to its end; make it again."
            ) from None


_held: dict[int, Stream] = {}


def open_stream(data: Any) -> Stream | None:
    """Return the stream of an object with the Arrow C interface, one for all calls; else None."""
    if id(data) in _held:
        return _held[id(data)]
    reader = _reader(data)
    if reader is None:
        return None
    stream = Stream(reader, own=reader is data)
    try:
        weakref.finalize(data, _held.pop, id(data), None)
    except TypeError:  # its end cannot be noticed: it is held until the next of its kind comes
        for key, other in list(_held.items()):
            if other.owner is not None:
                _held.pop(key, None)
        stream.owner = data
    _held[id(data)] = stream
    return stream


def _reader(data: Any) -> Any:
    try:
        if isinstance(data, pa.RecordBatchReader):
            return data
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data)
        if hasattr(data, "__arrow_c_array__"):
            batch = pa.record_batch(data)
            return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    except Exception:  # noqa: BLE001 - a producer raises anything
        raise DataFormError(
            f"data of type {type(data).__name__} speak Arrow, but give no table: columns with "
            "names are needed, and a stream can be read once."
        ) from None
    return None


def plain_storage(array: Any) -> Any:
    """Return an array in Arrow's own type where it has an extension type.

    A UUID is a text, as a database shows it.  An exact number of PostgreSQL comes as a text: 7 and
    7.00 are one there, and one person.
    """
    if isinstance(array, pa.ChunkedArray) and isinstance(array.type, pa.BaseExtensionType):
        pieces = [plain_storage(chunk) for chunk in array.chunks]
        return pa.chunked_array(pieces or [pa.array([], array.type.storage_type)])
    if not isinstance(array, pa.ExtensionArray):
        return array
    kind, storage = getattr(array.type, "type_name", array.type.extension_name), array.storage
    if kind in {"arrow.uuid", "uuid"} and storage.type == pa.binary(16):
        texts = (None if raw is None else str(UUID(bytes=raw)) for raw in storage.to_pylist())
        return pa.array(texts, pa.string())
    if kind == "numeric" and "string" in str(storage.type):
        from pyarrow import compute

        return compute.replace_substring_regex(storage, NEEDLESS_ZEROS, r"\1\2")
    return storage

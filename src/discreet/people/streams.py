"""Arrow's streams and arrays of any library, by the Arrow C interface.

A stream can be read once, and what pyarrow reads of it a second time is an empty table.  So a
stream is read to its end and held for as long as the object that gave it lives.
"""

import weakref
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import DataFormError

if TYPE_CHECKING:
    from collections.abc import Callable


class Stream:
    """One stream: its schema, which needs no record, and its records."""

    def __init__(self, reader: Any, *, own: bool) -> None:
        """The user's own reader must not be kept alive by what is held for its life."""
        self._reader: Callable[[], Any] = weakref.ref(reader) if own else lambda: reader
        self.schema = pa.schema([_stored(item) for item in reader.schema])

    @cached_property
    def table(self) -> Any:
        """All records, in memory."""
        try:
            found = self._reader().read_all()
        except (pa.ArrowException, OSError):  # the producer's own text may quote a record
            raise DataFormError("the stream of Arrow data cannot be read to its end.") from None
        columns = (
            [getattr(chunk, "storage", chunk) for chunk in column.chunks]
            for column in found.columns
        )
        arrays = [
            pa.chunked_array(chunks, item.type)
            for chunks, item in zip(columns, self.schema, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)


_held: dict[int, Stream] = {}


def open_stream(data: Any) -> Stream | None:
    """The stream behind an object that speaks Arrow, the same one at every call; else None."""
    if id(data) in _held:
        return _held[id(data)]
    reader = _reader(data)
    if reader is None:
        return None
    stream = Stream(reader, own=reader is data)
    try:
        weakref.finalize(data, _held.pop, id(data), None)
    except TypeError:  # an object without weak references: who reads it twice asks it twice
        return stream
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
    except (pa.ArrowException, TypeError, ValueError):
        raise DataFormError(
            f"data of type {type(data).__name__} speak Arrow, but not of a table: columns with "
            "names are needed."
        ) from None
    return None


def _stored(item: Any) -> Any:
    """A field without what another library's type means beside its storage."""
    plain = isinstance(item.type, pa.BaseExtensionType)
    return pa.field(item.name, item.type.storage_type if plain else item.type)

"""Between arrow and numpy by their memory: pyarrow's own conversions import pandas, if it is there.

That import would cost as much as the rest of a first fit together.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def to_numpy(array: Any, gap: float = np.nan) -> NDArray[Any]:
    """Numbers or truth values of an arrow array (in one piece or several) as numpy's.

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

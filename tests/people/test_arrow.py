"""Between arrow and numpy: the same numbers, the gaps where they were."""

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from discreet.people.columns import make_column, to_arrow, to_numpy

VALUES = [1, None, 0, 1, 1, None, 0, 0, 1, 1, 0]
TYPES = [pa.int8(), pa.uint16(), pa.int64(), pa.float32(), pa.float64(), pa.bool_()]


def pieces(array):
    return {
        "whole": array,
        "part": array.slice(3, 5),
        "without gaps": array.slice(2, 3),
        "empty": array.slice(0, 0),
        "chunks": pa.chunked_array([array, array.slice(2, 5)]),
        "one chunk": pa.chunked_array([array.slice(2)]),
        "no chunks": pa.chunked_array([], array.type),
    }


@pytest.mark.parametrize("arrow_type", TYPES, ids=str)
@pytest.mark.parametrize("piece", pieces(pa.array([1])))
def test_to_numpy(arrow_type, piece):
    array = pieces(pa.array(VALUES, pa.int8()).cast(arrow_type))[piece]
    expected = [np.nan if value is None else float(value) for value in array.to_pylist()]
    np.testing.assert_array_equal(to_numpy(array).astype(float), expected)


def test_arrow_holds_nothing_of_a_column_in_chunks():
    """It would keep the memory: a fit of a chunked table took half its size more."""
    values = np.arange(1000.0)
    series = nw.from_native(pa.table({"x": pa.chunked_array([values, values])}))["x"]
    before = pa.total_allocated_bytes()
    numbers = make_column(series).numbers()
    assert pa.total_allocated_bytes() == before
    np.testing.assert_array_equal(numbers, np.tile(values, 2))


def test_gaps_of_codes_stay_integers():
    found = to_numpy(pa.array([3, None, 5], pa.int32()), gap=-1)
    assert found.dtype == np.int32
    assert found.tolist() == [3, -1, 5]


@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "i8", "f4", "f8"])
@pytest.mark.parametrize("part", [slice(None), slice(None, None, 2), slice(1, None), slice(0, 0)])
def test_to_arrow(dtype, part):
    values = np.array([0, 1, 1, 0, 1]).astype(dtype)[part]
    assert [float(value) for value in to_arrow(values).to_pylist()] == values.tolist()


def test_extremes_survive():
    values = np.array([2**63 - 1, -(2**63)], dtype=np.int64)
    assert to_numpy(to_arrow(values)).tolist() == values.tolist()
    odd = np.array([np.inf, -0.0, 5e-324, np.nan])
    np.testing.assert_array_equal(to_numpy(to_arrow(odd)), odd)

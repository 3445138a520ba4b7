"""The grid: counts agree with plain comparison, at its points above all."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.design.grid import TimeGrid


@st.composite
def grids_and_times(draw):
    horizon = draw(
        st.one_of(st.floats(1e-3, 1e6), st.sampled_from([1.0, 0.1, 2190.0, 1e-90, 1e90]))
    )
    intervals = draw(st.integers(1, 500))
    points = st.integers(0, intervals).map(lambda s: s * horizon / intervals)
    near = points.flatmap(
        lambda t: st.sampled_from(
            [t, math.nextafter(t, math.inf), max(math.nextafter(t, -1.0), 0.0)]
        )
    )
    other = st.one_of(st.floats(0, 2 * horizon), st.just(math.inf))
    times = draw(st.lists(st.one_of(near, other), min_size=1, max_size=30))
    return TimeGrid(horizon, intervals), times


@given(grids_and_times())
def test_counts_are_those_of_plain_comparison(drawn):
    grid, times = drawn
    edges = [s * grid.horizon / grid.intervals for s in range(grid.intervals)]
    ends = [*edges[1:], grid.horizon]
    array = np.array(times)
    assert grid.begun(array).tolist() == [sum(a <= t for a in edges) for t in times]
    assert grid.begun_before(array).tolist() == [sum(a < t for a in edges) for t in times]
    assert grid.ended(array).tolist() == [sum(a <= t for a in ends) for t in times]


@pytest.mark.parametrize(
    ("horizon", "intervals"), [(2190, 200), (0.3, 7), (1.0, 49), (1e5 / 3, 20_000)]
)
def test_every_grid_point_begins_its_interval(horizon, intervals):
    grid = TimeGrid(horizon, intervals)
    points = np.array([s * horizon / intervals for s in range(intervals)])
    assert np.array_equal(grid.begun(points), np.arange(1, intervals + 1))
    assert np.array_equal(grid.begun_before(points), np.arange(intervals))
    just_before = np.nextafter(points[1:], 0.0)
    assert np.array_equal(grid.begun(just_before), np.arange(1, intervals))
    assert np.array_equal(grid.ended(just_before), np.arange(intervals - 1))
    assert np.all(np.diff(grid.edges) > 0)
    assert grid.begun(np.array([horizon, 2.0 * horizon, np.inf])).tolist() == [intervals] * 3
    assert grid.ended(np.array([0.0, horizon])).tolist() == [0, intervals]

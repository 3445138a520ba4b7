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


@st.composite
def unequal_grids_and_times(draw):
    zero = draw(st.sampled_from([0.0, 60.0, -3.5]))
    if draw(st.booleans()):
        widths = draw(st.lists(st.floats(0.01, 50), min_size=1, max_size=40))
        points = [zero, *(zero + np.cumsum(widths)).tolist()]
        grid = TimeGrid(points[-1], len(points) - 1, zero, declared=tuple(points))
    else:
        intervals, length = draw(st.integers(2, 300)), draw(st.floats(1, 1e4))
        first = draw(st.floats(1e-4, 1.0)) * length / intervals
        grid = TimeGrid(zero + length, intervals, zero, first)
    near = st.sampled_from(grid.edges.tolist()).flatmap(
        lambda t: st.sampled_from(
            [t, math.nextafter(t, math.inf), max(math.nextafter(t, -9), zero)]
        )
    )
    other = st.one_of(st.floats(zero, grid.horizon + 10.0), st.just(math.inf))
    return grid, draw(st.lists(st.one_of(near, other), min_size=1, max_size=30))


@given(unequal_grids_and_times())
def test_counts_on_unequal_grids(drawn):
    grid, times = drawn
    starts, ends, array = grid.edges[:-1], grid.edges[1:], np.array(times)
    assert np.all(np.diff(grid.edges) > 0)
    assert (grid.edges[0], grid.edges[-1]) == (grid.zero, grid.horizon)
    assert grid.begun(array).tolist() == [sum(a <= t for a in starts) for t in times]
    assert grid.begun_before(array).tolist() == [sum(a < t for a in starts) for t in times]
    assert grid.ended(array).tolist() == [sum(a <= t for a in ends) for t in times]


@pytest.mark.parametrize(
    ("first", "horizon", "intervals"),
    [(7, 1826, 60), (1, 1000, 2), (1e-6, 1e6, 200), (9.999999, 100, 10), (1, 1e5, 20_000)],
)
def test_a_growing_grid_grows_by_one_factor(first, horizon, intervals):
    widths = np.diff(TimeGrid(horizon, intervals, first=first).edges)
    ratio = widths[1] / widths[0]
    assert ratio > 1
    np.testing.assert_allclose(widths[0], first, rtol=1e-9)
    np.testing.assert_allclose(widths, first * ratio ** np.arange(intervals), rtol=1e-6)


def test_the_longest_first_interval_is_an_equal_grid():
    grid = TimeGrid(100.0, 10, first=10.0)
    np.testing.assert_array_equal(grid.edges, np.arange(11) * 10.0)


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

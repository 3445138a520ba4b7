"""Checks of counts by group that planted bugs must not pass."""

import math

import numpy as np
import pyarrow as pa
import pytest
from cohorts import cohort, episodic, schema

from discreet.core.question import group_counts
from discreet.design.groups import Groups
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.mechanisms.group_counts import GroupCounts
from discreet.people.encode import to_episodes
from discreet.privacy.testing import SeededNoise


class Silent(SeededNoise):
    """Noise that is nothing: what it would be added to."""

    def discrete_gaussian(self, values, scale):  # noqa: ARG002 - nothing is added
        return np.asarray(values, dtype=object)

    l1_laplace = discrete_gaussian


def sums(groups, plan, table):
    engine = LocalEngine(to_episodes(table, groups.reading))
    mechanism = GroupCounts(plan.guarantee.epsilon, plan.guarantee.delta)
    return mechanism.draw(plan, groups, engine, Silent(1)).point


def _pair(late):
    """Leaving at once, censored, in one group, against the same in another."""
    table = {"time": [0.1, 1.0], "status": [False, True], "arm": ["b", "a"], "age": [50.0, 50.0]}
    other = {**table, "arm": ["a", "a"]}
    if not late:
        return pa.table(table), pa.table(other)
    return pa.table({**table, "start": [0.0, 0.0]}), pa.table({**other, "start": [0.0, 0.0]})


def check_neighbours_stay_within_the_noise():
    """The worst pair moves the sums by exactly what the plan's scale is made for."""
    for late in (False, True):
        groups = Groups(schema(entry=late), ("arm",))
        first, second = _pair(late)
        plan = GroupCounts(1.0, 1e-6).plan(2, groups)
        moved = sums(groups, plan, first) - sums(groups, plan, second)
        claimed = (plan.noise_scale**2 - 5) * 2 * plan.guarantee.rho
        assert math.isclose(float(moved @ moved), claimed, rel_tol=1e-6)
        pure = GroupCounts(1.0, 0.0).plan(2, groups)
        away = np.abs(sums(groups, pure, first) - sums(groups, pure, second)).sum()
        assert math.isclose(away, pure.noise_scale * 1.0, rel_tol=1e-9)


def check_late_exits_move_no_further():
    """Wherever in time a person leaves, the sums move by no more than claimed."""
    groups = Groups(schema(), ("arm",))
    plan = GroupCounts(1.0, 1e-6).plan(2, groups)
    claimed = (plan.noise_scale**2 - 5) * 2 * plan.guarantee.rho * (1 + 1e-9)
    fixed = {"status": [True, True], "age": [50.0, 50.0]}
    base = sums(groups, plan, pa.table({"time": [0.1, 1.0], "arm": ["a", "a"], **fixed}))
    for time in np.arange(0.5, 24.0, 2.0):
        other = sums(groups, plan, pa.table({"time": [time, 1.0], "arm": ["b", "a"], **fixed}))
        assert float((other - base) @ (other - base)) <= claimed


def check_a_person_of_several_rows_counts_once():
    """One cell of exits and one of entries per person at risk, whatever the number of rows."""
    groups = Groups(schema(person=True, entry=True), ("arm",))
    people = to_episodes(episodic(), groups.reading)
    asked = group_counts(groups, 5, pure=True)
    events, censored, entered = asked.block(people, *asked.arguments)
    with_rows = int(np.sum(np.diff(people.offsets) > 0))
    assert events.sum() + censored.sum() == entered.sum() == with_rows


def check_sums_stay_within_the_integers():
    """More people than noise can be added for are refused in the plan; 10^10 are not too many."""
    groups = Groups(schema(), ("arm",))
    GroupCounts(1.0, 1e-6).plan(10**10, groups)
    with pytest.raises(SettingsError):
        GroupCounts(1.0, 1e-6).plan(10**15, groups)


def check_noise_is_added_once_to_every_sum():
    """No released integer is without noise, and its spread is the plan's."""
    groups, table = Groups(schema(), ("arm",)), cohort(200)
    mechanism = GroupCounts(0.5, 1e-6)
    plan = mechanism.plan(200, groups)
    engine, noise = LocalEngine(to_episodes(table, groups.reading)), SeededNoise(4)
    truth = sums(groups, plan, table)
    drawn = np.array([mechanism.draw(plan, groups, engine, noise).point - truth for _ in range(40)])
    spread = drawn.std(axis=0) / plan.noise_scale
    assert np.all(spread > 0.5)
    assert abs(spread.mean() - 1.0) < 0.1

"""Counts by group: one cell per person, the proof's bound, its witness, the noise that was planned."""

import math

import numpy as np
import pyarrow as pa
import pytest
from cohorts import cohort, episodic, schema

from discreet.core.question import group_counts
from discreet.design.groups import Groups, strategy
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.mechanisms.group_counts import GroupCounts
from discreet.people.encode import to_episodes
from discreet.privacy.testing import SeededNoise


def two_factors():
    mapping = schema().to_mapping()
    mapping["covariate"].append({"name": "sex", "levels": ["f", "m"]})
    return Schema.from_mapping(mapping)


def released_sums(groups, plan, table):
    """What noise is added to: the mechanism's own draw with noise that is nothing."""

    class Silent(SeededNoise):
        def discrete_gaussian(self, values, scale):  # noqa: ARG002 - nothing is added
            return np.asarray(values, dtype=object)

        l1_laplace = discrete_gaussian

    engine = LocalEngine(to_episodes(table, groups.schema_for_counting))
    mechanism = GroupCounts(plan.guarantee.epsilon, plan.guarantee.delta)
    return mechanism.draw(plan, groups, engine, Silent(1)).point


def test_a_person_is_in_one_cell():
    groups = Groups(schema(person=True, entry=True), ("arm",))
    people = to_episodes(episodic(), groups.schema_for_counting)
    events, censored, entered = counted(people, groups, 5)
    assert (events.shape, censored.shape, entered.shape) == ((3, 5), (3, 6), (3, 6))
    with_rows = int(np.sum(np.diff(people.offsets) > 0))
    assert events.sum() + censored.sum() == entered.sum() == with_rows <= people.persons


def counted(people, groups, stretches):
    asked = group_counts(groups, stretches, pure=True)
    return asked.block(people, *asked.arguments)


def test_start_and_end_of_the_axis_are_places_of_their_own():
    """Two intervals of time are one here: 24 long, 12 intervals, 3 stretches."""
    table = pa.table(
        {
            "start": [0.0, 1.0, 2.0, 9.0, 0.0],
            "time": [24.0, 30.0, 23.0, 21.0, 23.5],
            "status": [False, False, False, False, True],
            "age": [50.0] * 5,
            "arm": ["a"] * 5,
        }
    )
    groups = Groups(schema(entry=True), ("arm",))
    events, censored, entered = counted(to_episodes(table, groups.schema_for_counting), groups, 3)
    assert events[0].tolist() == [0, 0, 1]
    assert censored[0].tolist() == [
        0,
        0,
        1,
        3,
    ]  # 21 is in the last stretch, 23 in its last interval
    assert entered[0].tolist() == [2, 2, 1, 0]  # an interval is 2 long: 1 is past the start


def test_groups_are_those_of_the_first_row_at_risk():
    table = episodic()
    groups = Groups(schema(person=True, entry=True), ("arm",))
    people = to_episodes(table, groups.schema_for_counting)
    events, censored, _ = counted(people, groups, 1)
    found = events.sum(axis=1) + censored.sum(axis=1)
    first = people.covariates[people.offsets[:-1][np.diff(people.offsets) > 0]]
    expected = [np.sum(~(first > 0).any(axis=1)), *np.sum(first > 0, axis=0)]
    assert found.tolist() == expected


def test_two_covariates_make_every_combination():
    groups = Groups(two_factors(), ("sex", "arm"))
    assert groups.names[:2] == (("f", "a"), ("f", "b"))
    random = np.random.default_rng(3)
    table = cohort()
    sex = random.choice(["f", "m"], len(table))
    people = to_episodes(table.append_column("sex", pa.array(sex)), groups.schema_for_counting)
    events, censored = counted(people, groups, 1)
    found = events.sum(axis=1) + censored.sum(axis=1)
    arm = np.array(table["arm"].to_pylist())
    assert found.tolist() == [int(np.sum((sex == s) & (arm == a))) for s, a in groups.names]


@pytest.mark.parametrize("stretches", [1, 2, 7, 40])
def test_the_first_column_is_the_longest(stretches):
    matrix = strategy(stretches, pure=False)
    lengths = np.sum(matrix**2, axis=0)
    assert matrix.dtype == np.int64
    assert np.all(matrix >= 0)
    assert lengths[0] == lengths.max()
    assert np.allclose(matrix @ matrix / 2**24, np.tril(np.ones((stretches, stretches))), atol=0.05)


def test_noise_of_cumulated_counts_hardly_grows():
    """What the matrix is for: the last cumulated count of 40 has less noise than of plain counts."""

    def deviation(matrix):
        last = np.ones(len(matrix)) @ np.linalg.inv(matrix)
        return np.linalg.norm(last) * np.linalg.norm(matrix[:, 0])

    wise, plain = strategy(40, pure=False), strategy(40, pure=True)
    assert deviation(wise) < 0.4 * deviation(plain)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_neighbours_move_no_further_than_claimed(late, delta):
    random = np.random.default_rng(7)
    groups = Groups(schema(entry=late), ("arm",))
    plan = GroupCounts(1.0, delta).plan(30, groups)
    squared, absolute = claimed(plan)
    base = cohort(30, seed=5)
    start = pa.array(np.zeros(30))
    base = base.append_column("start", start) if late else base
    rows = base.to_pylist()
    before = released_sums(groups, plan, base)
    for _ in range(150):
        other = list(rows)
        other[int(random.integers(30))] = anybody(random, late=late)
        moved = released_sums(groups, plan, pa.Table.from_pylist(other, base.schema)) - before
        assert float(moved @ moved) <= squared
        assert delta > 0 or np.abs(moved).sum() <= absolute


def claimed(plan):
    """The sensitivities that the plan's scale is made for, squared in L2 and in L1."""
    scale, promise = float(plan.noise_scale), plan.guarantee
    if promise.delta == 0:
        return (scale * promise.epsilon) ** 2 * (1 + 1e-9), scale * promise.epsilon * (1 + 1e-9)
    return (scale**2 - 5) * 2 * promise.rho * (1 + 1e-9), math.inf


def anybody(random, *, late):
    row = {
        "time": float(random.choice([0.0, -1.0, math.nan, 1e308, 0.5, 23.9, 24.0])),
        "status": bool(random.integers(2)),
        "age": float(random.choice([20.0, 90.0, math.nan])),
        "arm": str(random.choice(["a", "b", "c", "unknown"])),
    }
    return {**row, "start": float(random.choice([0.0, 3.0, 30.0]))} if late else row


def test_the_bound_is_attained():
    """Leaving first, censored, of one group against the same of another."""
    groups = Groups(schema(), ("arm",))
    plan = GroupCounts(1.0, 1e-6).plan(2, groups)
    shape = {"age": [50.0, 50.0]}
    other = {"time": [0.1, 1.0], "status": [False, True], "arm": ["a", "a"], **shape}
    same = {"time": [0.1, 1.0], "status": [False, True], "arm": ["b", "a"], **shape}
    moved = released_sums(groups, plan, pa.table(other)) - released_sums(
        groups, plan, pa.table(same)
    )
    assert math.isclose(float(moved @ moved), claimed(plan)[0], rel_tol=1e-6)


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_noise_has_the_planned_scale(delta):
    groups = Groups(schema(), ("arm",))
    table = cohort(200)
    mechanism = GroupCounts(0.5, delta)
    plan = mechanism.plan(200, groups)
    engine = LocalEngine(to_episodes(table, groups.schema_for_counting))
    truth = released_sums(groups, plan, table)
    noise = SeededNoise(4)
    drawn = [mechanism.draw(plan, groups, engine, noise).point - truth for _ in range(60)]
    expected = plan.noise_scale * (math.sqrt(2) if delta == 0 else 1.0)
    assert np.std(drawn) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(
    ("by", "says"),
    [
        (("age",), "is a number"),
        (("nothing",), "no covariate"),
        ((), "one covariate"),
        (("arm", "arm"), "one covariate"),
    ],
)
def test_what_is_no_grouping_is_refused(by, says):
    with pytest.raises(SettingsError, match=says):
        Groups(schema(), by)


def test_more_than_fifty_groups_are_refused():
    mapping = schema().to_mapping()
    mapping["covariate"].append({"name": "site", "levels": [f"s{k}" for k in range(20)]})
    with pytest.raises(SettingsError, match="at most 50"):
        Groups(Schema.from_mapping(mapping), ("arm", "site"))

"""Checks of private strata that tests run as they are, and once more on broken code."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from discreet.core import cells
from discreet.core.bins import Columns, Stretches, time_edges
from discreet.core.information import Informations
from discreet.core.people import Levels
from discreet.core.question import moments
from discreet.core.scores import LARGEST, Whitened, alone, block_information, block_scores
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.mechanisms.newton.layout import Layout
from discreet.mechanisms.newton.mechanism import PrivateNewton
from discreet.people.encode import to_episodes
from tests.mechanisms.cases import (
    FrozenNoise,
    hostile_points,
    loss_of,
    make_constants,
)
from tests.mechanisms.newton_checks import (
    Asked,
    Replay,
    changing_people,
    movement,
    page_sensitivities,
    part_of,
    question_movement,
    some_people,
)

STRATA = 3


def constants_of(**settings):
    return make_constants(strata=STRATA, **settings)


def check_exits_by_stratum_move_by_their_sensitivity():
    """One cell each (two with entries), of one stratum or of two: the bound is attained."""
    constants = constants_of(time_varying=True)
    people = changing_people(constants, 1)
    for kinds, each in ((2, 1), (3, 2)):
        edges = time_edges(20, 6)
        found = movement(cells.block_exits, people, 2, edges, 1, kinds, STRATA)
        assert found == (2 * each, 2 * each)


def check_moments_with_strata_move_as_claimed():
    """Strata are further columns: a neighbour who changes stratum moves them most."""
    constants = constants_of(time_varying=True)
    columns = 2 + STRATA - 1
    weight = Stretches((0, 20), 64)
    place = np.full(columns, 0.1), np.array([0.2, 0.2, 0.05, 0.05])
    people = changing_people(constants, 2)
    squared = question_movement(moments(*place, weight, Columns()), people, 2)
    claimed = 2 * (128 * 64 * (7 * columns * 2**20 // 10)) ** 2
    assert 0.5 * claimed < squared <= claimed


def check_scores_of_strata_move_by_twice_the_bound():
    """Two people of different strata are at most 2 L apart, and nearly so at some point."""
    constants = constants_of(intervals=10, time_varying=True)
    random, size = np.random.default_rng(5), constants.dimension
    people, largest = changing_people(constants, 6, 20), 0
    for point in hostile_points(random, constants, 10):
        mapping = random.normal(size=(size, size)) * 10.0 ** random.uniform(-3, 3)
        scores = Whitened(constants.design, constants.link, point, mapping, 1.0)
        moved, _ = movement(block_scores, people, 2, alone(scores), *[Levels()] * STRATA)
        largest = max(largest, moved)
    assert largest <= (2 * LARGEST) ** 2
    assert largest > 0.98 * (2 * LARGEST) ** 2


def check_informations_of_strata_move_as_claimed():
    constants = constants_of(intervals=10, time_varying=True)
    random, size = np.random.default_rng(21), constants.dimension
    people, largest = changing_people(constants, count=20), 0
    for point in hostile_points(random, constants, 8):
        frame = random.normal(size=(size, size)) * 10.0 ** random.uniform(-3, 3)
        scores = Whitened(constants.design, constants.link, point, frame, 1.0)
        tables, limit = [Informations()] * STRATA, 10.0 ** random.uniform(-6, 2)
        largest = max(
            largest, movement(block_information, people, 2, alone(scores), limit, *tables)[0]
        )
    assert 0.5 * 2**52 < largest <= 2 * 2**52


def check_strata_are_paid_for(delta=1e-6, persons=20_000):
    """The parts at the drawn scales add up to the whole, strata among the moments or not."""
    constants = constants_of(persons=persons)
    mechanism, noise = PrivateNewton(1.0, delta), FrozenNoise()
    plan = mechanism.plan(constants)
    layout = Layout.read(plan)
    assert layout.mixed == (persons > 1000)
    mechanism.draw(plan, loss_of(some_people(constants, 1), constants), noise)
    sizes = page_sensitivities(layout, constants.covariates)
    total = sum(part_of(*pair) for pair in zip(noise.calls, sizes, strict=True))
    assert Fraction(999, 1000) * layout.budget.total < total <= layout.budget.total


def check_strata_use_nothing_but_noisy_sums():
    """Two cohorts in other strata, with the same noisy sums, have the same release.

    Whatever is asked of the people besides is the same as well: released numbers.
    """
    constants = constants_of(persons=20_000)
    mechanism = PrivateNewton(50.0, 1e-6)
    plan, noise = mechanism.plan(constants), Replay()
    draws, asked = [], []
    for seed, replaying in ((2, False), (3, True)):
        noise.replaying = replaying
        people = some_people(constants, seed)
        if replaying:
            people = [replace(who, stratum=2) for who in people]
        loss = loss_of(people, constants)
        engine = Asked(loss.engine)
        draws.append(mechanism.draw(plan, replace(loss, engine=engine), noise))
        asked.append(engine.asked)
    assert asked[0] == asked[1]
    assert np.array_equal(draws[0].point, draws[1].point)
    for name, values in draws[0].extras.items():
        assert np.array_equal(values, draws[1].extras[name])


SCHEMA = Schema.from_mapping(
    {
        "person": "id",
        "time": {"duration": "t", "event": "e", "entry": "s", "horizon": 6, "intervals": 6},
        "covariate": [{"name": "x", "low": -1, "high": 1}],
        "strata": {"name": "site", "levels": ["a", "b", "c"]},
    }
)

PERSONS = {
    "one row": [(0, 6, 0, 1.0, "a")],
    "event elsewhere": [(0, 6, 1, -1.0, "c")],
    "moves every time": [(0, 2, 0, 1.0, "a"), (2, 4, 0, -1.0, "b"), (4, 6, 1, 1.0, "c")],
    "moves back": [(0, 3, 0, 1.0, "c"), (3, 6, 1, 1.0, "a")],
    "unknown": [(0, 5, 1, 0.0, "?"), (5, 6, 0, 0.0, "b")],
    "missing": [(1, 5, 1, 0.5, None)],
    "never": [(5, 5, 1, 0.5, "b")],
}
"""Rows (entry, exit, event, x, site) as they stand in a file."""


def table_of(persons):
    """A table of the persons of these names, in which the first is the one who is replaced."""
    rows = [(f"p{k}", *row) for k, name in enumerate(persons) for row in PERSONS[name]]
    columns = zip(("id", "s", "t", "e", "x", "site"), zip(*rows, strict=True), strict=True)
    return pa.table({name: list(values) for name, values in columns})


def check_a_person_is_in_one_stratum():
    """From files: whoever moves from site to site adds to one of them, and not more than others."""
    design = Design(SCHEMA, NaturalSpline(2))
    random, size = np.random.default_rng(9), Design(SCHEMA, NaturalSpline(2)).dimension
    point, frame = random.normal(size=size), 3.0 * random.normal(size=(size, size))
    scores = Whitened(design, get_link("logit"), point, frame, 1.0)
    bounds = {"exits": 4, "scores": (2 * LARGEST) ** 2}
    found = {name: [] for name in bounds}
    for name in PERSONS:
        block = to_episodes(table_of([name, "one row", "event elsewhere"]), SCHEMA)
        found["exits"].append(cells.block_exits(block, time_edges(6, 6), 1, 3, 3)[0])
        found["scores"].append(block_scores(block, alone(scores), *[Levels()] * 3)[0])
    for name, sums in found.items():
        whole = [item.astype(object) for item in sums]
        farthest = max(int(((a - b) ** 2).sum()) for a in whole for b in whole)
        assert farthest <= bounds[name]

"""Checks of private strata that tests run as they are, and once more on broken code."""

import numpy as np
import pyarrow as pa

from discreet.core import cells
from discreet.core.bins import time_edges
from discreet.core.people import Levels
from discreet.core.scores import LARGEST, Whitened, alone, block_scores
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.people.encode import to_episodes

STRATA = 3


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

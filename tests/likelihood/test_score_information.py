"""A person's information over any number of rows: one sum of integers, one cut, no more memory."""

import subprocess
import sys

import numpy as np
import pytest

from discreet.core.information import LARGEST_FACTOR, Informations
from discreet.core.scores import Whitened, alone, block_information, information_tables
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import LINKS, get_link
from discreet.engine.local import LocalEngine
from discreet.people.episodes import Episodes
from tests.mechanisms.cases import mixed_schema


def summed(block, scores, limit, tables=None):
    """The people's information after the cut, from the integers that are released."""
    given = tables or Informations()
    (half,) = LocalEngine(block).reduce(block_information, alone(scores), limit, given)
    rows, columns = np.tril_indices(len(scores.point))
    matrix = np.zeros((len(scores.point),) * 2)
    matrix[rows, columns] = matrix[columns, rows] = half * (limit / LARGEST_FACTOR**2)
    return matrix


ROWS = [(0, 4), (4, 5), (5, 17)]
"""What one person is at risk in: entry and exit of each row."""


@pytest.fixture
def design():
    return Design(mixed_schema(), NaturalSpline(3))


def at(design, link):
    """A point with effects, in coordinates that mix all places."""
    random = np.random.default_rng(3)
    size = design.dimension
    mapping = np.eye(size) + 0.2 * random.normal(size=(size, size))
    return Whitened(design, get_link(link), random.normal(size=size), mapping, 1.0)


def person(design, rows=ROWS):
    """One person with other covariates in every row."""
    values = np.random.default_rng(7).uniform(-0.5, 0.5, size=(len(rows), design.dimension - 3))
    entry, leave = (np.array(ends, dtype=np.int32) for ends in zip(*rows, strict=True))
    event = np.zeros(len(rows), dtype=np.bool_)
    return Episodes(values, entry, leave, event, np.array([0, len(rows)]), 1)


def expected(scores, block, limit):
    """sum a b z~ z~' over all intervals at risk, times min(1, R / trace): by the formula."""
    total = np.zeros((len(scores.point),) * 2)
    for x, entry, leave in zip(block.covariates, block.entry, block.exit, strict=True):
        for s in range(entry, leave):
            z = np.append(scores.design.basis[s], x)
            weight = scores.link.information(np.array([z @ scores.point]))[0]
            image = scores.mapping.T @ z
            total += weight * np.outer(image, image)
    return total * min(1.0, limit / np.trace(total))


@pytest.mark.parametrize("link", sorted(LINKS))
@pytest.mark.parametrize("limit", [0.1, 1e3])
@pytest.mark.parametrize("rows", [ROWS, ROWS[:1]])
def test_rows_of_a_person_are_added_and_cut_together(design, link, limit, rows):
    scores, block = at(design, link), person(design, rows)
    exact = expected(scores, block, limit)
    # rounding toward zero takes up to one unit of every entry of a factor
    close = 4.0 * len(rows) * np.sqrt(limit * np.trace(exact)) / LARGEST_FACTOR
    for tables in (Informations(), *information_tables(alone(scores), 10**9)):
        assert np.allclose(summed(block, scores, limit, tables), exact, atol=close, rtol=2e-3)
    assert np.trace(exact) <= limit * (1.0 + 1e-9)


def test_a_person_whose_rows_are_no_numbers_adds_nothing(design):
    """Whatever the other rows are: the trace of all is no number."""
    scores, block = at(design, "logit"), person(design)
    block.covariates[1] = np.nan
    assert not summed(block, scores, 1.0).any()


MANY = """
import resource, sys
import numpy as np
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.core.information import Informations
from discreet.core.scores import Whitened, alone, block_information
from discreet.design.link import Logit
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.people.episodes import Episodes

rows = 60_000
time = {"duration": "t", "event": "e", "horizon": rows, "intervals": rows}
schema = Schema.from_mapping({"time": time, "covariate": [{"name": "x", "low": 0, "high": 1}]})
design = Design(schema, NaturalSpline(30))
point = np.full(design.dimension, -1.0)
scores = Whitened(design, Logit(), point, np.eye(len(point)), 1.0)

def asked(count):
    entry = np.arange(count, dtype=np.int32)
    values, event = np.zeros((count, 1)), np.zeros(count, dtype=np.bool_)
    block = Episodes(values, entry, entry + 1, event, np.array([0, count]), 1)
    return block_information(block, alone(scores), 1.0, Informations())[0]

asked(2)  # compiled, and everything that is made once
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), used + (200 << 20)))
assert asked(rows).any()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel for a limit")
def test_a_person_with_very_many_rows_asks_for_no_more_memory():
    """Room for 60,000 rows at once would be 460 megabytes, and a fit would fail after its charge."""
    subprocess.run([sys.executable, "-c", MANY], check=True, timeout=300)

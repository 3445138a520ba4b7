"""Checks of effects that change with time, run as they are and once more on broken code."""

from itertools import pairwise

import numpy as np

from discreet.core import people
from discreet.core.people import Levels
from discreet.core.scores import LARGEST, Whitened, alone, block_scores
from discreet.core.walk import LANES, Records, span_room
from discreet.design.link import get_link
from discreet.errors import SettingsError
from discreet.mechanisms import ObjectivePerturbation, OutputPerturbation, contract
from discreet.paper.exponential import SanitizedExponential
from tests.changes import changing_design, random_people
from tests.mechanisms.cases import make_constants

CHANGES = (0.3, 0.6)


def constants_of(**settings):
    return make_constants(**{"intervals": 12, "covariates": 2, "changes": CHANGES, **settings})


def movements(function, block, *arguments):
    """The largest squared distance between two persons' integer contributions."""
    rows = [
        function(block.slice(who, who + 1), *arguments)[0].astype(object)
        for who in range(block.persons)
    ]
    return max(int(((a - b) ** 2).sum()) for a in rows for b in rows)


def check_changing_scores_move_by_twice_the_bound():
    """Whatever is added in several periods, a person's vector is one of norm at most L."""
    random = np.random.default_rng(5)
    design = changing_design()
    block, largest = random_people(random, design, 30), 0
    for _ in range(12):
        point = random.normal(size=design.dimension) * 10.0 ** random.uniform(-1, 2)
        mapping = random.normal(size=(design.dimension,) * 2) * 10.0 ** random.uniform(-2, 3)
        scores = alone(Whitened(design, get_link("logit"), point, mapping, 1.0))
        largest = max(largest, movements(block_scores, block, scores, Levels()))
    assert largest <= (2 * LARGEST) ** 2
    assert largest > 0.9 * (2 * LARGEST) ** 2


def check_every_interval_is_in_one_period():
    """The parts of a person's rows in all periods have every interval at risk once."""
    random = np.random.default_rng(6)
    design = changing_design()
    block, periods = random_people(random, design, 12), design.periods
    records = Records(block.offsets, block.covariates, block.entry, block.exit, block.event)
    values, span = np.zeros((block.covariates.shape[1], LANES)), span_room()
    for who in range(block.persons):
        found = np.zeros(design.intervals)
        for limits in pairwise(periods.ends):
            number = 0
            while people.load_rows(
                records, np.array([who]), number, (*limits, design.intervals), span, values
            ):
                found[span.first[0] : span.last[0]] += 1
                number += 1
        expected = np.zeros(design.intervals)
        for row in range(block.offsets[who], block.offsets[who + 1]):
            expected[block.entry[row] : block.exit[row]] += 1
        assert np.array_equal(found, expected)


def check_changes_without_a_proof_are_refused():
    """A mechanism that does not say that it takes them is refused before a charge."""
    constants = constants_of()
    for mechanism in (OutputPerturbation(epsilon=1.0), ObjectivePerturbation(epsilon=1.0)):
        contract.require_proof(mechanism, constants)
    try:
        contract.require_proof(SanitizedExponential(epsilon=1.0), constants)
    except SettingsError:
        return
    raise AssertionError("a mechanism without a proof was accepted")

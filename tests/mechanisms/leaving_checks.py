"""What must hold of the columns of second moments that say how people left: who leaves early."""

import numpy as np

from discreet.core import cells
from discreet.core.bins import Columns, Leavings, Stretches
from discreet.core.question import moments
from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.newton.layout import Layout
from tests.mechanisms.cases import episodes_of, make_constants
from tests.mechanisms.newton_checks import changing_people, question_movement, spent

CHANCES = Leavings(np.array([0, 5, 12, 19, 20]), np.array([[0.1, 0.4, 0.9, 0.0]]))


def check_moments_with_leaving_move_as_claimed():
    """One more column: two people who leave unlike each other are apart by what is claimed at most."""
    for unit in (0.5, 1e-3):
        assert_moved_as_claimed(Columns(leaving=CHANCES), [unit])


def check_leaving_is_paid_for(delta=1e-6):
    """The column is one of those that the noise is for."""
    assert_paid_for("leaving", delta)


def check_leaving_is_a_persons_own():
    """The same in company as alone."""
    assert_a_persons_own(cells.leavings, CHANCES)


def assert_moved_as_claimed(asked, units):
    """Second moments with further columns of these units, of people whose covariates change."""
    constants = make_constants(time_varying=True)
    covariates, further = constants.covariates, len(units)
    columns, weight = covariates + further, Stretches((0, 20), 64)
    place = (
        np.append(np.full(covariates, 0.1), np.zeros(further)),
        np.append(np.full(covariates, 0.2), units),
    )
    people = changing_people(constants, 2)
    found = question_movement(moments(*place, weight, asked), people, 2)
    claimed = 2 * (128 * 64 * (7 * columns * 2**20 // 10)) ** 2
    assert 0.5 * claimed < found <= claimed


def assert_paid_for(column, delta):
    """The layout asks for the column, and the noise of all releases is what was promised."""
    facts = make_constants(persons=20_000)
    assert getattr(Layout.read(PrivateNewton(4.0, delta).plan(facts)), column)
    found, allowed = spent(facts, delta, 4.0)
    assert 0.999 * allowed < found <= allowed


def assert_a_persons_own(column, asked):
    """A person's number is the same in company as alone, to the bit."""
    constants = make_constants(time_varying=True)
    people = changing_people(constants, 3)
    alone = [column(episodes_of([who], constants.covariates), asked) for who in people]
    together = column(episodes_of(people, constants.covariates), asked)
    assert np.array_equal(together, np.concatenate(alone))

"""What must hold of the column of second moments that says who leaves early."""

import numpy as np

from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.newton import counts
from discreet.mechanisms.newton.counts import Columns, Leavings, Stretches, block_moments
from discreet.mechanisms.newton.layout import Layout, moment_limit, moment_sensitivity
from tests.mechanisms.cases import episodes_of, make_constants
from tests.mechanisms.newton_checks import changing_people, movement, spent

CHANCES = Leavings(np.array([0, 5, 12, 19, 20]), np.array([[0.1, 0.4, 0.9, 0.0]]))


def check_moments_with_leaving_move_as_claimed():
    """One more column: two people who leave unlike each other are apart by what is claimed at most."""
    constants = make_constants(time_varying=True)
    columns = constants.covariates + 1
    limit, weight = moment_limit(columns), Stretches((0, 20), 64)
    for unit in (0.5, 1e-3):
        place = (
            np.append(np.full(columns - 1, 0.1), 0.0),
            np.append(np.full(columns - 1, 0.2), unit),
        )
        people = changing_people(constants, 2)
        found, _ = movement(
            block_moments, people, 2, *place, limit, weight, Columns(leaving=CHANCES)
        )
        claimed = moment_sensitivity(columns, changing=True)
        assert 0.5 * claimed < found <= claimed


def check_leaving_is_paid_for(delta=1e-6):
    """The column is one of those that the noise is for."""
    facts = make_constants(persons=20_000)
    assert Layout.read(PrivateNewton(4.0, delta).plan(facts)).leaving
    found, allowed = spent(facts, delta, 4.0)
    assert 0.999 * allowed < found <= allowed


def check_leaving_is_a_persons_own():
    """The same in company as alone."""
    constants = make_constants(time_varying=True)
    people = changing_people(constants, 3)
    alone = [counts.leavings(episodes_of([who], constants.covariates), CHANCES) for who in people]
    together = counts.leavings(episodes_of(people, constants.covariates), CHANCES)
    assert np.array_equal(together, np.concatenate(alone))

"""What must hold of the column of second moments that says how late an event came."""

import numpy as np

from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.newton import counts
from discreet.mechanisms.newton.counts import Columns, Stretches, Varyings, block_moments
from discreet.mechanisms.newton.layout import Layout, moment_limit, moment_sensitivity
from tests.mechanisms.cases import episodes_of, make_constants
from tests.mechanisms.leaving_checks import CHANCES
from tests.mechanisms.newton_checks import changing_people, movement, spent

LEAN = np.repeat([-0.75, -0.25, 0.25, 0.75], 5)
HAZARDS = Varyings(LEAN, np.linspace(0.05, 0.4, 20)[None, :])


def check_moments_with_both_columns_move_as_claimed():
    """Two more columns: two people unlike in both are apart by what is claimed at most."""
    constants = make_constants(time_varying=True)
    columns = constants.covariates + 2
    limit, weight = moment_limit(columns), Stretches((0, 20), 64)
    for units in ((0.5, 0.3), (0.05, 0.05), (1e-3, 1e-3)):
        place = np.append(np.full(columns - 2, 0.1), [0.0, 0.0]), np.append([0.2] * 2, units)
        asked = Columns(leaving=CHANCES, varying=HAZARDS)
        people = changing_people(constants, 2)
        found, _ = movement(block_moments, people, 2, *place, limit, weight, asked)
        claimed = moment_sensitivity(columns, changing=True)
        assert 0.5 * claimed < found <= claimed


def check_lateness_is_paid_for(delta=1e-6):
    """The column is one of those that the noise is for."""
    facts = make_constants(persons=20_000)
    assert Layout.read(PrivateNewton(4.0, delta).plan(facts)).varying
    found, allowed = spent(facts, delta, 4.0)
    assert 0.999 * allowed < found <= allowed


def check_lateness_is_a_persons_own():
    """The same in company as alone."""
    constants = make_constants(time_varying=True)
    people = changing_people(constants, 3)
    alone = [counts.varyings(episodes_of([who], constants.covariates), HAZARDS) for who in people]
    together = counts.varyings(episodes_of(people, constants.covariates), HAZARDS)
    assert np.array_equal(together, np.concatenate(alone))

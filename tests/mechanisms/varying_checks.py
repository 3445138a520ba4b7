"""What must hold of the column of second moments that says how late an event came."""

import numpy as np

from discreet.core import cells
from discreet.core.bins import Columns, Varyings
from tests.mechanisms.leaving_checks import (
    CHANCES,
    assert_a_persons_own,
    assert_moved_as_claimed,
    assert_paid_for,
)

LEAN = np.repeat([-0.75, -0.25, 0.25, 0.75], 5)
HAZARDS = Varyings(LEAN, np.linspace(0.05, 0.4, 20)[None, :])


def check_moments_with_both_columns_move_as_claimed():
    """Two more columns: two people unlike in both are apart by what is claimed at most."""
    for units in ((0.5, 0.3), (0.05, 0.05), (1e-3, 1e-3)):
        assert_moved_as_claimed(Columns(leaving=CHANCES, varying=HAZARDS), units)


def check_lateness_is_paid_for(delta=1e-6):
    """The column is one of those that the noise is for."""
    assert_paid_for("varying", delta)


def check_lateness_is_a_persons_own():
    """The same in company as alone."""
    assert_a_persons_own(cells.varyings, HAZARDS)

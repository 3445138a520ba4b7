"""What must hold of budgets and composition, as functions: seeded bugs must make them fail."""

from fractions import Fraction

import pytest

from discreet.errors import SettingsError
from discreet.privacy.accountant import PrivacyFilter, Totals, compose, rho_for
from discreet.privacy.guarantee import Guarantee

DELTA = 1e-6
HAIR = 1 + Fraction(1, 10**9)


def gaussian(epsilon, delta=DELTA):
    return Guarantee(epsilon, delta, rho_for(epsilon, delta))


def check_a_budget_keeps_room_for_leaks():
    """A zCDP request of the budget's size fills it at the delta that leaks leave: not a hair more."""
    for epsilon in (0.1, 1.0, 8.0):
        budget, filled = PrivacyFilter(epsilon, DELTA), Totals.of([gaussian(epsilon)])
        assert budget.covers(filled)
        assert not budget.covers(Totals(filled.relation, filled.first_kind, rho=filled.rho * HAIR))


def check_leaks_have_a_share_of_their_own():
    """Approximate guarantees after another kind have a 1024th of delta together."""
    budget, spent = PrivacyFilter(2.0, DELTA), Totals.of([gaussian(0.5)])
    half = Guarantee(0.1, DELTA / 2048)
    assert budget.admits(spent.plus(half), half)
    assert not budget.admits(spent.plus(half).plus(half), Guarantee(0.1, 1e-15))


def check_rho_and_epsilon_have_one_budget():
    """What Gaussian noise has used up is not there for releases without delta."""
    budget = PrivacyFilter(1.0, DELTA)
    assert not budget.admits(Totals.of([gaussian(1.0)]), Guarantee(0.01))


def check_a_request_is_charged_what_its_rho_costs():
    """A guarantee that states less than its rho gives is not believed."""
    with pytest.raises(SettingsError):
        PrivacyFilter(2.0, DELTA).admits(Totals(), Guarantee(0.9, DELTA, rho_for(1.0, DELTA)))


def check_composed_leaks_leave_less_delta():
    """What approximate guarantees may leak is not left for the conversion of rho."""
    without = compose([gaussian(1.0), Guarantee(0.1)], DELTA / 2).epsilon
    assert compose([gaussian(1.0), Guarantee(0.1, DELTA / 2)], DELTA).epsilon >= without

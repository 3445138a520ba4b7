"""Bugs of budgets and composition; `tests/mechanisms/test_seeded_bugs.py` plants them."""

from discreet.ledger import stored
from discreet.privacy import accountant
from tests.mechanisms import budget_checks as checks
from tests.mechanisms import release_checks
from tests.mechanisms.bugs import Bug

BUDGET_BUGS = [
    Bug(
        "a budget converts rho at the delta that leaks may use",
        accountant.PrivacyFilter,
        "_covers_divergence",
        "zcdp_delta(exact(self.delta))",
        "exact(self.delta)",
        checks.check_a_budget_keeps_room_for_leaks,
    ),
    Bug(
        "deltas of approximate guarantees not added up",
        accountant.Totals,
        "plus",
        "leaks=self.leaks + (guarantee.exact_delta if approximate else 0)",
        "leaks=guarantee.exact_delta if approximate else self.leaks",
        checks.check_leaks_have_a_share_of_their_own,
    ),
    Bug(
        "releases without delta counted beside those with rho, not with them",
        accountant.PrivacyFilter,
        "covers",
        "totals.rho == 0 and ",
        "",
        checks.check_rho_and_epsilon_have_one_budget,
    ),
    Bug(
        "a request believed that states less than its rho costs",
        accountant.PrivacyFilter,
        "admits",
        "_require_consistent(request)",
        "pass",
        checks.check_a_request_is_charged_what_its_rho_costs,
    ),
    Bug(
        "leaks and the conversion of rho each use the whole delta",
        accountant,
        "_epsilon_nano",
        "_renyi_nano(totals, delta - totals.leaks)",
        "_renyi_nano(totals, delta)",
        checks.check_composed_leaks_leave_less_delta,
    ),
    Bug(
        "a charge that is found again permits a second draw",
        stored,
        "_repeated",
        "str(known.head), book.population, known.digest)",
        "str(known.head), book.population, known.digest, DrawPermit())",
        release_checks.check_a_charge_pays_for_one_draw,
    ),
]

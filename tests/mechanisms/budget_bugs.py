"""Bugs of budgets and composition; `tests/mechanisms/test_seeded_bugs.py` plants them."""

from discreet.ledger import stored
from discreet.privacy import accountant, gaussian, scales
from tests.mechanisms import budget_checks as checks
from tests.mechanisms import release_checks
from tests.mechanisms.bugs import Bug

BUDGET_BUGS = [
    Bug(
        "a budget of Gaussian noise leaves mixtures the whole delta as well",
        accountant.PrivacyFilter,
        "_conversion",
        'MIXED_SHARE if totals.first_kind == "gaussian" else 1 - UNUSED_SHARE',
        "1 - UNUSED_SHARE",
        checks.check_mixtures_have_a_part_of_delta_of_their_own,
    ),
    Bug(
        "Gaussian noise after other releases counted by its own curve",
        accountant.PrivacyFilter,
        "_gaussian_limit",
        "not totals.gaussian or ",
        "",
        checks.check_mixtures_do_not_use_the_gaussian_curve,
    ),
    Bug(
        "Gaussian noise has the whole delta beside what mixtures have",
        accountant,
        "gaussian_share",
        "delta * (1 - UNUSED_SHARE - MIXED_SHARE)",
        "delta",
        checks.check_delta_is_divided,
    ),
    Bug(
        "nothing set aside for integer noise being rounded noise",
        gaussian,
        "satisfies",
        "delta * (1 - SMOOTHING_SHARE)",
        "delta",
        checks.check_rounding_is_paid_for,
    ),
    Bug(
        "a mixture taken for Gaussian noise",
        accountant.Totals,
        "plus",
        "self.gaussian and guarantee.gaussian",
        "self.gaussian or guarantee.gaussian",
        checks.check_mixtures_do_not_use_the_gaussian_curve,
    ),
    Bug(
        "integer noise with the variance of continuous noise",
        scales,
        "gaussian_scale",
        "squared + SMOOTHING",
        "squared",
        checks.check_gaussian_noise_keeps_its_variance,
    ),
    Bug(
        "mu = sqrt(rho) instead of sqrt(2 rho)",
        gaussian,
        "gaussian_delta",
        "rational(rho / 2)",
        "rational(rho / 4)",
        checks.check_the_curve_is_that_of_gaussian_noise,
    ),
    Bug(
        "the second term of the curve added instead of subtracted",
        gaussian,
        "gaussian_delta",
        "upper.erfc() - size.exp()",
        "upper.erfc() + size.exp()",
        checks.check_the_curve_is_that_of_gaussian_noise,
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
        "a charge that is found again permits a second draw",
        stored.Ledger,
        "reserve",
        "head, book.population, known.digest)",
        "head, book.population, known.digest, DrawPermit())",
        release_checks.check_a_charge_pays_for_one_draw,
    ),
]

"""Privacy bugs planted in the shipped code, one at a time: each must be noticed.

`docs/audit.md` names them, `tests/catalogue.py` writes its tables; a test keeps the two together.
"""

import pytest

from discreet.estimator import population
from tests import catalogue
from tests.catalogue import ALL_BUGS
from tests.mechanisms.causes_checks import (
    check_information_of_causes_is_paid_for,
    check_scores_of_all_causes_share_one_ball,
)
from tests.mechanisms.planting import forget_plans, plant

CHECKS = {
    check_information_of_causes_is_paid_for,
    check_scores_of_all_causes_share_one_ball,
    *(bug.check for bug in ALL_BUGS),
} | {
    f"newton: {family}: {kind}"
    for family in ("witness", "neighbours", "replay")
    for kind in ("strata", "causes")
}


@pytest.fixture(autouse=True)
def _fresh_plans(monkeypatch):
    """An audit looks at questions and their noise: the estimate between them may be a coarse one."""
    monkeypatch.setattr(population, "MEMBERS", 64)
    forget_plans()
    yield
    forget_plans()


def noticed(check):
    """Whether the audit, or the check of the tests, fails."""
    if isinstance(check, str):
        return bool(catalogue.failures(check))
    try:
        check()
    except (AssertionError, pytest.fail.Exception):
        return True
    return False


@pytest.mark.parametrize(
    "check", sorted(CHECKS, key=str), ids=lambda check: getattr(check, "__name__", check)
)
def test_the_shipped_code_passes(check):
    assert not noticed(check)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bug", ALL_BUGS, ids=lambda bug: bug.title)
def test_a_planted_bug_is_noticed(monkeypatch, bug):
    plant(monkeypatch, bug, compiled=isinstance(bug.check, str))
    assert noticed(bug.check)


def test_every_bug_says_why_the_audit_is_not_asked():
    for heading, bugs in catalogue.TABLES.items():
        for bug in bugs:
            asked = isinstance(bug.check, str)
            assert asked or bug.why or heading in catalogue.WHY


def test_the_page_names_every_bug_and_what_notices_it():
    text = catalogue.PAGE.read_text()
    assert text == catalogue.written(text)
    assert len(ALL_BUGS) >= 50

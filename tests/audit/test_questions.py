"""The audit's family of questions, and the bugs of four tables that it notices."""

import pytest

from discreet.audit import Effort, Subject, questions
from discreet.audit.crowds import cases_of, crowd, everyone_else, table_of
from discreet.audit.run import run_family
from tests.mechanisms.causes_bugs import CAUSES_BUGS
from tests.mechanisms.curves_bugs import CURVES_BUGS
from tests.mechanisms.more_bugs import MORE_BUGS
from tests.mechanisms.strata_bugs import STRATA_BUGS
from tests.mechanisms.test_seeded_bugs import plant

CASE = "several rows, late entry"

SUBJECTS = {
    "newton": Subject("newton", delta=1e-6),
    "newton, pure": Subject("newton", delta=0.0),
    "newton, strata": Subject("newton", delta=1e-6, strata=3),
    "newton, causes": Subject("newton", delta=1e-6, causes=2),
    "curves": Subject("curves", delta=1e-6),
    "curves, pure": Subject("curves", delta=0.0),
}


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_shipped_code_passes(name):
    found = run_family("questions", SUBJECTS[name], Effort.quick())
    assert len(found) == 11
    assert not [item for item in found if item.failed]


def test_it_is_not_asked_of_mechanisms_that_see_people_otherwise():
    (found,) = run_family("questions", Subject("output"), Effort.quick())
    assert found.verdict == "not applicable"


def test_a_crowd_and_everyone_else_share_no_row():
    for case in cases_of(SUBJECTS["newton, strata"], 1.0):
        rows = [
            [tuple(row.items()) for row in table_of(people).to_pylist()]
            for people in (crowd(case), everyone_else(case))
        ]
        assert len(crowd(case)) == len(everyone_else(case))
        assert not set(rows[0]) & set(rows[1])


OTHER_SUBJECTS = {
    "covariates taken for constant where the schema has a person column": (
        "of what is asked for, not of what it costs: rows that share a weight of 1 count less"
    ),
    "a trial's epsilon rounded up": "of selection, which has its own witness",
    "the number of trials decided before its bits are known": "of selection's random number",
    "gradient bounded where the minimiser is, not where the solver may go": "of `output`",
    "a person's score rounded by the company": "of the scores that `selected` compares",
    "a draw without the permit that its charge gives": "of the ledger: the audit charges none",
    "the number of persons printed under add-remove": "of the release path",
    "noise scales rounded to the nearest float": "less than any measurement shows",
    "somebody who moves is in the stratum of every row": "no vector moves further for it",
    "strata without a proof accepted": "of the mechanisms that have no proof for strata",
}
"""Bugs that the family is not asked for, and why."""
KERNELS = {
    "slopes of those who walk beside somebody far out rounded otherwise",
    "what is not a number shortened to the smallest integer",
    "the weight forgets that a cause may happen",
    "the weight forgets the interval without an event",
    "every cause's score bounded by itself: sqrt(R) times the norm",
}
"""Bugs of compiled kernels: planted as Python, other compiled code goes on without them."""


def subject_of(bug):
    """The mechanism that a bug of the tables is planted in."""
    if bug in CURVES_BUGS:
        return SUBJECTS["curves"]
    if bug in CAUSES_BUGS:
        return SUBJECTS["newton, causes"]
    if bug in STRATA_BUGS:
        return SUBJECTS["newton, strata"]
    pure = bug.title == "sums without delta scaled by the squared sensitivity's share of rho"
    return SUBJECTS["newton, pure" if pure else "newton"]


EVERY = [*MORE_BUGS, *STRATA_BUGS, *CAUSES_BUGS, *CURVES_BUGS]
ITS_SUBJECT = [bug for bug in EVERY if bug.title not in {*OTHER_SUBJECTS, *KERNELS}]


def noticed(subject):
    """Failed checks of one kind of people, where everything is asked."""
    cases = cases_of(subject, questions.GENEROUS)
    cases = [case for case in cases if case.name.startswith(CASE)]
    try:
        found = questions.judged_cases(subject, cases, cases_of(subject, 1.0)[:1])
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return [str(error)]  # as `run_family`: broken code may break a check
    return [item.check for item in found if item.failed]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bug", ITS_SUBJECT, ids=lambda bug: bug.title)
def test_the_audit_notices(monkeypatch, bug):
    plant(monkeypatch, bug)
    assert noticed(subject_of(bug))


@pytest.mark.parametrize("name", ["newton", "newton, causes", "curves"])
def test_what_notices_passes_without_a_bug(name):
    assert not noticed(SUBJECTS[name])


def test_every_bug_is_asked_or_says_why_not():
    titles = {bug.title for bug in EVERY}
    assert titles >= {*OTHER_SUBJECTS, *KERNELS}

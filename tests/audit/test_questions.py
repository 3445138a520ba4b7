"""The audit's family of questions, and the bugs of four tables that it notices."""

import pytest

from discreet.audit import Effort, Subject
from discreet.audit.crowds import cases_of, crowd, everyone_else, table_of
from discreet.audit.run import run_family

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

"""The page of figures is the results file, and the results are what is promised."""

import pytest
from evidence import ledger_report

from discreet.points import ReleasePoint
from tests.ledger import ledger_faults, ledger_server_faults
from tests.ledger.ledger_load import MUST_BE_ZERO

ROWS = ledger_report.RESULTS.rows()


def value(*key):
    columns = ("experiment", "backend", "item", "measure")
    (found,) = [row["value"] for row in ROWS if tuple(row[name] for name in columns) == key]
    return found


def test_the_page_is_what_the_results_say():
    assert ledger_report.PAGE.read_text() == ledger_report.page(ROWS)


def test_every_row_came_out_as_it_must():
    assert {row["as_it_must"] for row in ROWS} == {"yes"}


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
@pytest.mark.parametrize(("load", "sigkills"), [("load", 500), ("reduced load", 150)])
def test_the_load_was_as_large_as_promised(backend, load, sigkills):
    assert int(value(load, backend, "", "SIGKILLs")) >= sigkills
    assert all(int(value(load, backend, "", f"killed at {point}")) > 0 for point in ReleasePoint)
    assert all(value(load, backend, "", name) == "0" for name in MUST_BE_ZERO)
    if load == "load":
        assert int(value(load, backend, "", "processes")) >= 16
        assert int(value(load, backend, "", "requests")) >= 10_000
    else:
        assert value(load, backend, "", "drove") == "`release.publish`"


def test_every_fault_was_tried():
    tried = {(row["backend"], row["item"]) for row in ROWS if row["experiment"] == "fault"}
    files = {*ledger_faults.STORIES, *ledger_faults.HARMLESS} - {"no permission to write"}
    servers = {*ledger_server_faults.STORIES, *ledger_server_faults.PAID_FOR}
    expected = {("sqlite", name) for name in files} | {("postgres", name) for name in servers}
    assert expected <= tried

"""Privacy bugs planted in the shipped code, one at a time: the checks must notice each of them.

The table in `docs/seeded-bugs.md` names them; a test keeps the two together.
"""

import inspect
import sys
import textwrap
from functools import cached_property
from pathlib import Path

import pytest
from numba.core.registry import CPUDispatcher as Dispatcher

from discreet.mechanisms import objective, output
from tests.federation import joint_checks
from tests.federation.joint_bugs import JOINT_BUGS
from tests.ledger import ledger_checks
from tests.ledger.ledger_bugs import LEDGER_BUGS
from tests.mechanisms import (
    budget_checks,
    causes_checks,
    changes_checks,
    checks,
    curves_checks,
    newton_checks,
    release_checks,
    strata_checks,
    user_path,
)
from tests.mechanisms.budget_bugs import BUDGET_BUGS
from tests.mechanisms.bugs import BUGS, TERM_BUGS
from tests.mechanisms.causes_bugs import CAUSES_BUGS
from tests.mechanisms.changes_bugs import CHANGES_BUGS
from tests.mechanisms.curves_bugs import CURVES_BUGS
from tests.mechanisms.identity_bugs import IDENTITY_BUGS
from tests.mechanisms.more_bugs import MORE_BUGS
from tests.mechanisms.strata_bugs import STRATA_BUGS
from tests.people import identity_checks

DOCUMENT = Path(__file__).parents[2] / "docs" / "seeded-bugs.md"
ALL_BUGS = [
    *BUGS,
    *TERM_BUGS,
    *MORE_BUGS,
    *BUDGET_BUGS,
    *LEDGER_BUGS,
    *IDENTITY_BUGS,
    *JOINT_BUGS,
    *CURVES_BUGS,
    *CAUSES_BUGS,
    *STRATA_BUGS,
    *CHANGES_BUGS,
]
CHECKS = {
    name: check
    for module in (
        budget_checks,
        causes_checks,
        changes_checks,
        checks,
        curves_checks,
        identity_checks,
        joint_checks,
        ledger_checks,
        newton_checks,
        release_checks,
        strata_checks,
        user_path,
    )
    for name, check in vars(module).items()
    if name.startswith("check_")
}


@pytest.fixture(autouse=True)
def _fresh_plans():
    """Plans are kept; one made by broken code must not outlive it."""
    forget_plans()
    yield
    forget_plans()


def forget_plans():
    output._search.cache_clear()
    objective._search.cache_clear()


def plant(monkeypatch, bug):
    """Replace the function by its own source with one edit."""
    original = inspect.getattr_static(bug.owner, bug.function)
    plain = _underlying(original)
    source = textwrap.dedent(inspect.getsource(plain))
    source = source[source.index("def ") :]
    assert source.count(bug.old) == 1, "the planted bug no longer fits the code"
    space = {}
    edited = compile(source.replace(bug.old, bug.new), "<seeded bug>", "exec")
    exec(edited, plain.__globals__, space)  # noqa: S102  # our own source with one edit
    broken = _wrapped(original, space[plain.__name__])
    monkeypatch.setattr(bug.owner, bug.function, broken)
    for module in [module for name, module in sys.modules.items() if name.startswith("discreet.")]:
        if vars(module).get(bug.function) is original:
            monkeypatch.setattr(module, bug.function, broken)


def _underlying(function):
    if isinstance(function, classmethod | staticmethod):
        return function.__func__
    if isinstance(function, property):
        return function.fget
    if isinstance(function, cached_property):
        return function.func
    return function.py_func if isinstance(function, Dispatcher) else function


def _wrapped(original, function):
    if isinstance(original, cached_property):
        return property(function)
    if isinstance(original, classmethod | staticmethod | property):
        return type(original)(function)
    return function


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_the_shipped_code_passes(name):
    CHECKS[name]()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bug", ALL_BUGS, ids=lambda bug: bug.title)
def test_a_planted_bug_is_noticed(monkeypatch, bug):
    plant(monkeypatch, bug)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        bug.check()


def test_the_document_names_every_bug_and_its_check():
    rows = [line.split("|") for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    named = {(row[1].strip(), row[2].strip(), row[3].strip()) for row in rows}
    for bug in ALL_BUGS:
        module = inspect.getmodule(_underlying(inspect.getattr_static(bug.owner, bug.function)))
        place = f"`{module.__name__.removeprefix('discreet.')}`"
        assert (bug.title, place, f"`{bug.check.__name__}`") in named
    assert len(ALL_BUGS) >= 50

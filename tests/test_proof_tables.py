"""Every proof page says where its steps stand, and what it names exists."""

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "proofs").glob("*.md"))
HEADING = "## Where each step stands in the code"
CITED = re.compile(r"`([\w/]+\.py)`: ((?:`[\w.]+`(?:,\s)?)+)")
FILE = re.compile(r"`([\w/]+\.py)`")
MODULE = re.compile(r"`discreet((?:\.\w+)+)`")
FOLDERS = ("src/discreet", "src/discreet/mechanisms", "")


def rows(page):
    """(step, code, tests) of the page's table."""
    _, _, section = page.read_text().partition(HEADING)
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def cited(cell):
    """(file, name) of everything a cell names."""
    found = []
    for place, names in CITED.findall(cell):
        found += [(place, name) for name in re.findall(r"`([\w.]+)`", names)]
    return found


def located(place):
    """The file that a page means; pages leave out where the package is."""
    paths = (ROOT / folder / place for folder in FOLDERS)
    return next((path for path in paths if path.is_file()), None)


def module_exists(name):
    path = ROOT / "src" / "discreet" / Path(*name[1:].split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


@lru_cache
def names_in(path):
    """Functions, classes, constants and members, as `name` and `Class.member`."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        found |= _defined(node)
        if isinstance(node, ast.ClassDef):
            members = set().union(*(_defined(member) for member in node.body))
            found |= {f"{node.name}.{member}" for member in members}
    return found


def _defined(node):
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {item.id for target in targets if target for item in ast.walk(target) if _is_name(item)}


def _is_name(node):
    return isinstance(node, ast.Name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_step_has_code_and_a_test(page):
    table = rows(page)
    assert len(table) >= 5
    for step, code, tests in table:
        assert step
        assert cited(code)
        assert all(not place.startswith("tests/") for place, _ in cited(code))
        assert cited(tests)
        assert all(place.startswith(("tests/", "audit/")) for place, _ in cited(tests))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_the_page_names_exists(page):
    for place, name in cited(page.read_text()):
        path = located(place)
        assert path is not None, place
        assert name in names_in(path), f"{place}: {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_files_and_modules_that_the_page_mentions_exist(page):
    text = page.read_text()
    gone = [place for place in FILE.findall(text) if located(place) is None]
    gone += [name for name in MODULE.findall(text) if not module_exists(name)]
    assert not gone


def test_what_the_architecture_names_exists():
    text = (ROOT / "docs" / "architecture.md").read_text()
    found = cited(text)
    assert len(found) >= 6
    for place, name in found:
        assert name in names_in(ROOT / "src" / "discreet" / place), f"{place}: {name}"


def test_a_name_that_is_gone_is_noticed():
    path = ROOT / "src" / "discreet" / "mechanisms" / "solve.py"
    assert {"ROUNDING", "Tolerance.total", "certified_minimiser"} <= names_in(path)
    assert not {"tolerance", "Tolerance.nothing"} & names_in(path)
    assert cited("`a/b.py`: `f`, `C.m`; `c.py`: `g`") == [
        ("a/b.py", "f"),
        ("a/b.py", "C.m"),
        ("c.py", "g"),
    ]
    assert located("newton/layout.py") == located("mechanisms/newton/layout.py") is not None
    assert located("newton/combination.py") is None
    assert module_exists(".privacy.accountant")
    assert not module_exists(".privacy.filter")

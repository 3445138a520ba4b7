"""The trusted core is the only way from records to a released number."""

import ast
import copy
import math
import pickle
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.core import information, question
from discreet.core.ask import Ask
from discreet.core.bins import Columns, Stretches
from discreet.core.optimum import Optimum
from discreet.core.question import moment_limit
from discreet.core.released import Released
from discreet.core.split import Split
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.privacy.testing import SeededNoise
from tests.mechanisms.cases import episodes_of, make_constants
from tests.mechanisms.newton_checks import some_people
from tests.test_proof_tables import cited, rows

SOURCE = Path(__file__).parents[1] / "src" / "discreet"
LAWS = {
    "discrete_gaussian",
    "l1_laplace",
    "lattice_laplace",
    "continuous_laplace",
    "uniform_bits",
}
MADE = {"Question", "Sensitivity"}
KEPT = {"block", "weights", "sensitivity"}
DRAWS = ("core", "privacy", "audit", "paper")
"""Who draws noise: the core, the laws themselves, and the paper's exponential mechanism; the audit
makes its own."""
SUMS = {
    "audit/questions.py": "each question of the core once more, person by person; nothing is kept",
    "estimate.py": "fits that are not private, of one event and cause by cause",
    "likelihood/problem.py": "the likelihood of fits that are not private, and of output and "
    "objective perturbation, which the core asks",
}
"""Who asks an engine for sums outside the core and the engines, and why no record is released."""
READS = {"paper/exponential.py", "paper/kernel.py"}
"""Who reads records outside the core, the engines and the audit: the paper's sampler."""
MAKERS = {
    ("Ask", "mechanisms/group_counts.py"): 1,
    ("Ask", "mechanisms/newton/mechanism.py"): 1,
    ("Optimum", "mechanisms/perturbation.py"): 1,
    ("Optimum", "mechanisms/selected.py"): 1,
    ("Split", "mechanisms/group_counts.py"): 1,
    ("Split", "mechanisms/newton/layout.py"): 2,
}
"""Where an entry to the people or a budget is made, and how often; a plan's layout is made or read."""


def calls(path):
    """Names of methods that a file calls, with what they are called on."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func.value), node.func.attr


def parts(path):
    return ast.walk(ast.parse(path.read_text()))


def made_in(path):
    """(class or function, call) of every call of a file, without what it is an attribute of."""
    for node in parts(path):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func).split(".")[-1], node


def uses(folder, text):
    """What an expression is directly a part of, wherever it stands in a folder's code."""
    return {
        ast.unparse(node)
        for path in (SOURCE / folder).rglob("*.py")
        for node in parts(path)
        for child in ast.iter_child_nodes(node)
        if isinstance(child, ast.expr) and ast.unparse(child) == text
    }


def files(*outside):
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if place.parts[0] not in outside:
            yield str(place), path


def test_sums_of_people_are_asked_by_the_core_alone():
    found = {
        place
        for place, path in files("core", "engine")
        for owner, name in calls(path)
        if name == "reduce" and not owner.startswith("np.")
    }
    assert found == set(SUMS)


def test_noise_is_drawn_by_the_core_alone():
    found = {
        (place, name) for place, path in files(*DRAWS) for _, name in calls(path) if name in LAWS
    }
    assert not found


def test_records_are_read_by_the_papers_sampler_alone():
    found = {
        place
        for place, path in files("core", "engine", "people", "audit")
        for node in parts(path)
        if isinstance(node, ast.Attribute) and node.attr == "episodes"
    }
    assert found == READS


def test_mechanisms_have_people_only_to_ask_them():
    """What `draw` is given could do more than an `Ask`: nothing else is done with it."""
    assert uses("mechanisms", "problem") == {
        "problem.design",
        "problem.link",
        "problem.engine",
        "Optimum(problem, noise)",
        "self.ended(plan, problem, noise)",
    }
    whole = "self._split(plan.guarantee, NoiseShares.read(details))"
    assert uses("mechanisms", "problem.engine") == {"Ask(problem.engine, noise, layout.budget)"}
    assert uses("mechanisms", "engine") == {f"Ask(engine, noise, {whole})"}


def test_entries_and_budgets_are_made_where_the_page_says():
    """One `Ask` or `Optimum` of a draw, with a budget of at most what was charged."""
    names = {name for name, _ in MAKERS}
    found = Counter(
        (name, place)
        for place, path in files("core", "audit")
        for name, _ in made_in(path)
        if name in names
    )
    assert found == MAKERS
    named = " ".join(PAGE.read_text().split())
    for name, place in MAKERS:
        assert name == "Split" or f"`{place.removeprefix('mechanisms/')}`" in named


def asking(share=Fraction(1, 2)):
    people = episodes_of(some_people(make_constants(), 1), 2)
    shares = Split(Fraction(1), pure=False, shares=(("exits", share),))
    return Ask(LocalEngine(people), SeededNoise(1), shares)


@pytest.mark.parametrize(
    "made", [asking(), Optimum(lambda point: point, SeededNoise(1))], ids=["ask", "optimum"]
)
def test_neither_engine_nor_noise_can_be_had(made):
    shown = {name: getattr(made, name) for name in dir(made) if not name.startswith("_")}
    assert not hasattr(made, "__dict__")
    for value in shown.values():
        assert not isinstance(value, LocalEngine | SeededNoise)
    with pytest.raises(AttributeError):
        made.further = 1


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize(
    "made", [asking(), Optimum(lambda point: point, SeededNoise(1))], ids=["ask", "optimum"]
)
def test_a_copy_would_have_the_budget_again(made, again):
    with pytest.raises(TypeError, match="neither copied nor pickled"):
        again(made)


@pytest.mark.parametrize(
    ("place", "found"),
    [(math.nan, math.nan), *((far, 18.0) for far in (2.0**63, 1e300, math.inf)), (-1e300, 12.0)],
)
def test_a_level_beyond_the_integers_is_read_at_an_end(place, found):
    """As an integer it is whatever the processor makes of it, and an index is made of it."""
    sums = np.arange(12.0).reshape(1, 3, 4, 1) ** 2 / 4.0
    masses = np.zeros(1)
    information.tabled_masses(information.Informations(0.0, sums), 0, 1, 2, place, masses)
    np.testing.assert_array_equal(masses, [found])


def test_an_answer_cannot_be_changed():
    values = np.ones(3)
    answer = Released(values, 1.0)
    values[0] = 2.0
    assert answer.values.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        answer.values[0] = 3.0
    with pytest.raises(AttributeError):
        answer.deviation = 0.0


@pytest.mark.parametrize("share", [Fraction(0), Fraction(-1), Fraction(3, 2), math.nan, 0.5, 1])
def test_a_question_needs_a_share_and_a_refused_one_buys_nothing(share):
    ask, asked = asking(Fraction(1)), question.exits(np.array([0, 1]), 1, 1, late=False)
    for _ in range(2):
        with pytest.raises(SettingsError, match="more than the budget"):
            ask(asked, share)
    ask(asked, Fraction(1))
    with pytest.raises(SettingsError, match="more than the budget"):
        ask(asked, Fraction(1, 10**9))


def test_questions_are_made_by_the_core_alone():
    """A vector and its calibration are one object, so nobody else may put another one together."""
    made = {
        place for place, path in files("core", "audit") for name, _ in made_in(path) if name in MADE
    }
    assert not made


def test_nothing_of_a_question_is_replaced():
    """A question with another calibration could be made of one that is right."""
    replaced = {
        (place, item.arg)
        for place, path in files("core", "audit")
        for name, call in made_in(path)
        if name in {"replace", "_replace"}
        for item in call.keywords
        if item.arg in KEPT
    }
    assert replaced == {("estimator/field.py", "weights")}  # those of a synthetic cohort


def test_the_shares_of_an_ask_stay_what_they_were():
    ask = asking()
    with pytest.raises(AttributeError):
        ask.split = Split(Fraction(100), pure=False, shares=(("exits", Fraction(1)),))


@dataclass
class Crowd:
    """An engine of so many people, whose sums nothing asks for."""

    persons: int

    def reduce(self, *_):
        raise LookupError


def test_sums_that_could_be_beyond_2_62_are_not_asked():
    """Plans leave such a question out; the core does not rely on it."""
    centre, whole = np.zeros(100), Stretches((0, 10), 64)
    asked = question.moments(centre, centre + 1.0, whole, Columns())
    shares = Split(Fraction(1), pure=False, shares=(("moments", Fraction(1)),))
    most = math.isqrt(2**124 // asked.sensitivity.squared)
    assert most == pytest.approx(2**62 / (64 * moment_limit(100) * 128 * math.sqrt(2)), rel=1e-6)
    for persons, error in ((most, LookupError), (most + 1, SettingsError)):
        with pytest.raises(error):
            Ask(Crowd(persons), SeededNoise(1), shares)(asked, Fraction(1))


def test_nobody_cannot_be_asked():
    nobody = LocalEngine(episodes_of(some_people(make_constants(), 1), 2).slice(0, 0))
    shares = Split(Fraction(1), pure=False, shares=(("exits", Fraction(1)),))
    with pytest.raises(SettingsError, match="at least one person"):
        Ask(nobody, SeededNoise(1), shares)


# ------------------------------------------------------------------- docs/core.md and the proofs

PAGE = SOURCE.parents[1] / "docs" / "core.md"
PROOFS = SOURCE.parents[1] / "docs" / "proofs"
MODULES = sorted(path for path in (SOURCE / "core").glob("*.py") if path.name != "__init__.py")
MOST_LINES = 2400
NAMED = re.compile(r"docs/proofs/([\w-]+)\.md(?:, sections? ([\d, and]+\d|\d))?")


def lines_of(path):
    return len(path.read_text().splitlines())


def sections_of(path):
    """(page, number) of every section that the module's docstring names."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split())
    return {
        (page, int(number))
        for page, numbers in NAMED.findall(text)
        for number in re.findall(r"\d+", numbers)
    }


def named_in_proofs(path):
    """Functions and classes of a module by (page, section) of the rows that name them."""
    found = defaultdict(set)
    for page in PROOFS.glob("*.md"):
        for step, code, _ in rows(page):
            for number in re.findall(r"section (\d+)", step):
                for place, name in cited(code):
                    if place == f"core/{path.name}":
                        found[page.stem, int(number)].add(name.split(".")[0])
    return found


def test_the_page_lists_every_module_with_its_lines():
    listed = re.findall(r"^\| \d+ \| `core/(\w+\.py)` \| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(name for name, _ in listed) == [path.name for path in MODULES]
    assert {name: int(lines) for name, lines in listed} == {
        path.name: round(lines_of(path), -1) for path in MODULES
    }
    assert sum(map(lines_of, MODULES)) <= MOST_LINES


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_functions_and_proofs_name_each_other(path):
    """A module names its sections; each of its functions stands in the table of one of them."""
    sections, named = sections_of(path), named_in_proofs(path)
    assert sections
    defined = {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    covered = set().union(*(named[section] for section in sections))
    assert defined <= covered, f"in no row of these sections: {sorted(defined - covered)}"
    assert set(named) <= sections, f"not named by the module: {sorted(set(named) - sections)}"

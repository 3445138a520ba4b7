"""The trusted core is the only way from records to a released number."""

import ast
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.core.ask import Ask
from discreet.core.optimum import Optimum
from discreet.core.released import Released
from discreet.core.split import Split
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.privacy.testing import SeededNoise
from tests.mechanisms.cases import episodes_of, make_constants
from tests.mechanisms.newton_checks import some_people

SOURCE = Path(__file__).parents[1] / "src" / "discreet"
LAWS = {
    "discrete_gaussian",
    "l1_laplace",
    "lattice_laplace",
    "continuous_laplace",
    "uniform_bits",
}
DRAWS = ("core", "privacy", "audit", "paper")
"""Who draws noise: the core, the laws themselves, and the paper's exponential mechanism; the audit
makes its own."""
SUMS = {
    "competing.py": "fits that are not private, cause by cause",
    "estimate.py": "fits that are not private",
    "likelihood/problem.py": "the likelihood of fits that are not private, and of output and "
    "objective perturbation, which the core asks",
    "mechanisms/newton/rehearsal.py": "people made up from public facts",
}
"""Who asks an engine for sums outside the core and the engines, and why no record is released."""


def calls(path):
    """Names of methods that a file calls, with what they are called on."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func.value), node.func.attr


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


def test_an_answer_cannot_be_changed():
    values = np.ones(3)
    answer = Released(values, 1.0)
    values[0] = 2.0
    assert answer.values.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        answer.values[0] = 3.0
    with pytest.raises(AttributeError):
        answer.deviation = 0.0


def test_a_question_needs_a_share():
    ask = asking()
    with pytest.raises(SettingsError):
        ask(None, Fraction(0))


def test_nobody_cannot_be_asked():
    nobody = LocalEngine(episodes_of(some_people(make_constants(), 1), 2).slice(0, 0))
    shares = Split(Fraction(1), pure=False, shares=(("exits", Fraction(1)),))
    with pytest.raises(SettingsError, match="at least one person"):
        Ask(nobody, SeededNoise(1), shares)

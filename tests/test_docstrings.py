"""Every public name says what it takes, what it gives, and shows an example that runs."""

import doctest
import inspect
from types import ModuleType

import pytest

import discreet
from discreet.base import Estimator

HOOKS = {
    "promise",
    "refusal",
    "plan",
    "draw",
    "bare_draw",
    "ended",
    "perturb",
    "variance",
    "stated",
}
"""What releases and audits ask of a mechanism: described in `discreet.mechanisms.contract`."""

NAMES = [
    name
    for name in discreet.__all__
    if callable(getattr(discreet, name)) and not isinstance(getattr(discreet, name), ModuleType)
]


def methods():
    """Public methods with arguments that a public class or an estimator's base defines."""
    for name in NAMES:
        kind = getattr(discreet, name)
        own = {}
        for base in kind.__mro__[::-1] if inspect.isclass(kind) else ():
            if base in (kind, Estimator):
                own |= vars(base)
        for key, value in own.items():
            function = getattr(value, "__func__", value)
            if key.startswith("_") or key in HOOKS or not inspect.isfunction(function):
                continue
            if set(inspect.signature(function).parameters) - {"self", "cls"}:
                texts = [
                    inspect.getdoc(vars(base)[key]) for base in kind.__mro__ if key in vars(base)
                ]
                yield pytest.param(texts, id=f"{name}.{key}")


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_parameters_and_an_example(name):
    kind = getattr(discreet, name)
    text = inspect.getdoc(kind)
    warning = inspect.isclass(kind) and issubclass(kind, Warning)
    assert warning or "Parameters\n-----" in text or "Attributes\n-----" in text
    assert "Examples\n-----" in text


@pytest.mark.parametrize("texts", list(methods()))
def test_a_public_method_or_the_one_it_overrides_has_parameters(texts):
    assert any("Parameters\n-----" in text for text in texts)


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name):
    kind = getattr(discreet, name)
    names = {item: getattr(discreet, item) for item in discreet.__all__} | {"ds": discreet}
    found = doctest.DocTestParser().get_doctest(inspect.getdoc(kind), names, name, None, 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found)
    assert result.failed == 0

"""Plant a bug in the shipped code: one edit of one function, wherever that is used."""

import inspect
import sys
import textwrap
from functools import cached_property

import numba
from numba.core.registry import CPUDispatcher as Dispatcher

from discreet.mechanisms import objective, output


def forget_plans():
    """Plans are kept; one made by broken code must not outlive it."""
    output._search.cache_clear()
    objective._search.cache_clear()


def plant(monkeypatch, bug, *, compiled=False):
    """Replace the function by its own source with one edit.

    A compiled function is replaced by a Python one for those who call it from Python, or with
    `compiled` by a compiled one for everybody.
    """
    original = inspect.getattr_static(bug.owner, bug.function)
    plain = underlying(original)
    source = textwrap.dedent(inspect.getsource(plain))
    source = source[source.index("def ") :]
    assert source.count(bug.old) == 1, "the planted bug no longer fits the code"
    space = {}
    edited = compile(source.replace(bug.old, bug.new), "<seeded bug>", "exec")
    exec(edited, plain.__globals__, space)  # noqa: S102  # our own source with one edit
    broken = _wrapped(original, space[plain.__name__])
    if compiled and isinstance(original, Dispatcher):
        _replace_compiled(monkeypatch, bug.owner, bug.function, original, broken)
        return
    monkeypatch.setattr(bug.owner, bug.function, broken)
    for module in _modules():
        if vars(module).get(bug.function) is original:
            monkeypatch.setattr(module, bug.function, broken)


def _modules():
    return [module for name, module in sys.modules.items() if name.startswith("discreet.")]


def _replace_compiled(monkeypatch, owner, name, original, broken):
    """Compile the function anew, and after it all that were compiled with the old one inside."""
    fresh = numba.jit(**original.targetoptions)(broken)
    for module in _modules():
        if vars(module).get(name) is original:
            monkeypatch.setattr(module, name, fresh)
    for module in _modules():
        for other, found in list(vars(module).items()):
            if isinstance(found, Dispatcher) and found.py_func.__module__ == module.__name__:
                uses = name in found.py_func.__code__.co_names
                if uses and found is not fresh and found.py_func.__globals__.get(name) is fresh:
                    _replace_compiled(monkeypatch, module, other, found, found.py_func)


def underlying(function):
    """The plain function."""
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

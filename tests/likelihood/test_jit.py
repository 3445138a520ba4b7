"""The compiled cache is keyed by content: another source, another folder."""

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np

import discreet
from discreet.likelihood import jit

PACKAGE = Path(discreet.__file__).parent
OUTSIDE = {"types", "errors", "design.design", "design.link", "people.episodes", "privacy.scales"}
"""What files with compiled code import for types, or for functions that are not compiled."""


def test_the_folder_depends_on_every_file_of_compiled_code():
    listed = set(jit.SOURCES)
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        imported = {
            node.module.removeprefix("discreet.")
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("discreet.")
        }
        if "likelihood.jit" in imported:
            taken = {module.replace(".", "/") + ".py" for module in imported - OUTSIDE}
            assert {name} | taken <= listed


def test_what_compiled_code_takes_from_elsewhere_is_not_used_in_it():
    """Names of the modules that the folder does not depend on: no compiled function uses one."""
    for source in jit.SOURCES:
        module = import_module("discreet." + source.removesuffix(".py").replace("/", "."))
        outside = {
            name
            for name, value in vars(module).items()
            if str(getattr(value, "__module__", "")).removeprefix("discreet.") in OUTSIDE
        }
        for value in vars(module).values():
            if hasattr(value, "py_func"):
                assert outside.isdisjoint(value.py_func.__code__.co_names)


def test_stored_code_is_read_without_the_compiler(tmp_path):
    """The second process loads what the first compiled, and next to nothing of numba."""
    program = (
        "import sys, numpy as np; from discreet.core.walk import quantise; "
        "found = np.zeros((2, 1), dtype=np.int64); "
        "quantise(np.array([[0.6], [-0.8]]), 1.0, 1000, found); "
        "print(found.ravel(), 'numba.np.linalg' in sys.modules)"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split("]")
        for _ in range(2)
    ]
    assert said[0][0] == said[1][0] != ""
    assert (said[0][1].strip(), said[1][1].strip()) == ("True", "False")


def test_an_edited_source_changes_the_folder(tmp_path, monkeypatch):
    sources = [tmp_path / name for name in jit.SOURCES]
    for source in sources:
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text("x = 1\n")
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "likelihood" / "jit.py"))
    before = jit._digest.__wrapped__()
    assert jit._digest.__wrapped__() == before
    for source in sources:
        source.write_text("x = 2\n")
        assert jit._digest.__wrapped__() != before
        source.write_text("x = 1\n")


def test_other_packages_keep_their_cache_setting(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = vars(jit.config).get("CACHE_DIR")

    @jit.compiled
    def double(x):
        return 2 * x

    assert double(4) == 8
    assert vars(jit.config).get("CACHE_DIR") == before
    assert list(tmp_path.rglob("*.nbi"))


def test_a_person_at_a_terminal_is_told_of_compiling_and_not_of_loading(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jit.sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(jit._announcement, "written", False)
    kept = []  # numba reads a function without a real module from its cache only while another lives

    def said(home):
        def triple(x):
            return 3 * x

        triple.__module__ = home
        kept.append(jit.compiled(triple))
        for number in (1, 1.5):  # two specialisations
            assert kept[-1](number) == 3 * number
        return capsys.readouterr().err

    first = said("discreet.triple")
    assert first.startswith("discreet: compiling")
    assert len(first.splitlines()) == 1
    jit._announcement.written = False
    assert not said("discreet.triple")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    assert not said("somebody.else")


@jit.compiled
def whole_part(x):
    return (x + 1.5 * 2.0**52) - 1.5 * 2.0**52


@jit.compiled_reassociative
def sum_of_whole_parts(values):
    total = 0.0
    for index in range(len(values)):
        total += whole_part(values[index])
    return total


def test_a_callers_freedom_to_reorder_does_not_reach_what_it_calls():
    """numba hands fast-math down to a function without a setting; then x comes back unrounded."""
    assert sum_of_whole_parts(np.array([0.4, 1.3, 2.2])) == 3.0

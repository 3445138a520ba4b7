"""The compiled cache is keyed by content: another source, another folder."""

import numpy as np

from discreet.likelihood import jit


def test_an_edited_source_changes_the_folder(tmp_path, monkeypatch):
    names = [
        "likelihood/jit.py",
        "likelihood/compiled.py",
        "core/walk.py",
        "paper/kernel.py",
        "paper/sampler.py",
    ]
    sources = [tmp_path / name for name in names]
    for source in sources:
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text("x = 1\n")
    monkeypatch.setattr(jit, "__file__", str(sources[0]))
    before = jit._digest.__wrapped__()
    assert jit._digest.__wrapped__() == before
    for source in sources[1:]:
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

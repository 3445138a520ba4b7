"""The integers of this machine are the committed ones; another processor's are, as far as tried."""

import os
import platform
import subprocess
import sys

import pytest

from discreet.audit import machine

OTHER = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_DISABLE_INTEL_SVML": "1",
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX2 FMA3",
}
"""A processor of 2004: no fused multiply-add, vectors of 128 bits, another library of matrices."""


@pytest.fixture(scope="module")
def found():
    return machine.integers()


def test_this_machine_has_the_committed_integers(found):
    assert [row for row in machine.compared(found) if row[2]] == []


def test_every_kind_of_question_is_asked(found):
    kinds = {name.partition(",")[0] for name in found}
    assert kinds == {
        *("exits", "marginals", "moments", "scores", "information", "counts by group"),
        *("scores of causes", "information of causes"),
    }
    assert all(any(values) for values in found.values())


def test_a_difference_is_told(found, command, monkeypatch):
    changed = {**found, "exits": [found["exits"][0] + 3, *found["exits"][1:]]}
    monkeypatch.setattr(machine, "integers", lambda: changed)
    said = command("audit", "machine")
    assert said.status == 5
    assert "exits: 12 integers, differ by 3 at most" in said.out
    assert f"1 of {len(found)} differ" in said.out
    monkeypatch.setattr(machine, "integers", lambda: {**found, "exits": [7]})
    assert command("audit", "machine").status == 5
    monkeypatch.setattr(machine, "integers", lambda: found)
    assert command("audit", "machine").status == 0


def test_the_word_is_no_file_and_takes_no_settings(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine, "integers", lambda: pytest.fail("nothing was asked for"))
    (tmp_path / "machine").write_text("{}")
    for words, said in (
        (["--quick"], "a machine has none"),
        (["--out", "found.json"], "writes no file"),
        (["--mechanism", "output"], "give a release file, the word machine, or"),
    ):
        status, _, err = command("audit", "machine", *words)
        assert (status, err.count("\n")) == (2, 1)
        assert said in err
    status, _, err = command("audit", str(tmp_path / "machine"))
    assert status != 0
    assert f"'{tmp_path / 'machine'}'" in err


@pytest.mark.evidence
@pytest.mark.skipif(platform.machine() not in {"x86_64", "AMD64"}, reason="the settings are of x86")
def test_an_old_processor_has_the_same_integers(tmp_path):
    code = "from discreet.audit.machine import *; print([r for r in compared(integers()) if r[2]])"
    environment = {**os.environ, **OTHER, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

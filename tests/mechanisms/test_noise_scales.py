"""The published table of noise scales is what the code computes."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "studies" / "noise_scales.py"


@pytest.fixture(scope="module")
def script():
    specification = importlib.util.spec_from_file_location("noise_scales", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_committed_numbers_are_computed_again(script):
    committed = script.read_results()
    wanted = [(q, e) for q in (25, 50, 100, 200) for e in (3, 5, 8)]
    assert [(item["intervals"], item["knots"]) for item in committed] == wanted
    for item in committed:
        again = script.row(int(item["intervals"]), int(item["knots"]))
        assert again == pytest.approx(item, rel=1e-6)


def test_ours_is_never_above_the_printed_in_the_same_basis(script):
    for item in script.read_results():
        for quantity in ("sensitivity", "jacobian", "half_ridge", "output_scale"):
            assert item[f"{quantity}_ours"] < item[f"{quantity}_printed"]


def test_the_document_shows_the_committed_numbers(script):
    text = script.DOCUMENT.read_text()
    assert script.table(script.read_results()) in text

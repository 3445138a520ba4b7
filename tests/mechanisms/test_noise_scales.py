"""The published table of noise scales is what the code computes."""

import pytest

from tests.scripts import script


@pytest.fixture(scope="module")
def study():
    return script("studies/noise_scales.py")


def test_the_committed_numbers_are_computed_again(study):
    committed = study.read_results()
    wanted = [(q, e) for q in (25, 50, 100, 200) for e in (3, 5, 8)]
    assert [(item["intervals"], item["knots"]) for item in committed] == wanted
    for item in committed:
        again = study.row(int(item["intervals"]), int(item["knots"]))
        assert again == pytest.approx(item, rel=1e-6)


def test_ours_is_never_above_the_printed_in_the_same_basis(study):
    for item in study.read_results():
        for quantity in ("sensitivity", "jacobian", "half_ridge", "output_scale"):
            assert item[f"{quantity}_ours"] < item[f"{quantity}_printed"]


def test_the_document_shows_the_committed_numbers(study):
    text = study.DOCUMENT.read_text()
    assert study.table(study.read_results()) in text

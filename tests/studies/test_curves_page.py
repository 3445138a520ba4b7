"""The page on measured curves is what its results file says."""

from tests.scripts import script


def test_the_page_is_made_from_the_results():
    study = script("studies/curves.py")
    assert study.page() in study.PAGE.read_text()
    assert len(study.rows()) >= 16 * 20

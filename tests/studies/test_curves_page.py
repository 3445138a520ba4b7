"""The page on measured curves is what its results file says."""

import importlib.util
import sys
from pathlib import Path

STUDIES = Path(__file__).parents[2] / "studies"


def test_the_page_is_made_from_the_results():
    spec = importlib.util.spec_from_file_location("curves_study", STUDIES / "curves.py")
    study = importlib.util.module_from_spec(spec)
    sys.modules["curves_study"] = study
    spec.loader.exec_module(study)
    assert study.PAGE.read_text() == study.page()
    assert len(study.rows()) >= 16 * 20

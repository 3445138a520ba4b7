"""The paper's numbers are those of the results files."""

import re
from pathlib import Path

from tests.scripts import script

ROOT = Path(__file__).parents[1]


def test_the_numbers_of_the_paper_are_what_its_results_say():
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    assert script("paper/evidence.py").table() in text


def test_every_citation_is_in_the_bibliography_and_every_entry_is_cited():
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    entries = re.findall(
        r"^@\w+\{(\w+),$", (ROOT / "paper" / "paper.bib").read_text(), re.MULTILINE
    )
    assert set(re.findall(r"@(\w+\d{4}|opendp)", text)) == set(entries)

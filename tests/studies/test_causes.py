"""The table of docs/competing.md is made of the committed rows, and says what they say."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def study():
    place = ROOT / "studies" / "causes.py"
    spec = importlib.util.spec_from_file_location("causes_study", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_table_of_the_rows():
    assert study().table() in (ROOT / "docs" / "competing.md").read_text()


def test_intervals_hold_the_truth_and_errors_are_about_one():
    """Over all cells: 95 % intervals hold the truth at least nine times of ten."""
    rows = study().read()
    held, asked = (sum(int(row[name]) for row in rows) for name in ("inside", "intervals"))
    assert held > 0.9 * asked
    assert sum(int(row["incidence"]) for row in rows) > 0.9 * 2 * len(rows)
    assert sorted(float(row["err"]) for row in rows)[len(rows) // 2] < 1.0

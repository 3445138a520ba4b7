"""The table of docs/curves.md is made of the committed rows, and says what they say."""

from tests.scripts import ROOT, script


def study():
    return script("studies/causes.py")


def test_the_page_has_the_table_of_the_rows():
    assert study().table() in (ROOT / "docs" / "curves.md").read_text()


def test_intervals_hold_the_truth_and_errors_are_about_one():
    """Over all cells: 95 % intervals hold the truth at least nine times of ten."""
    rows = study().read()
    held, asked = (sum(int(row[name]) for row in rows) for name in ("inside", "intervals"))
    assert held > 0.9 * asked
    assert sum(int(row["incidence"]) for row in rows) > 0.9 * 2 * len(rows)
    assert sorted(float(row["err"]) for row in rows)[len(rows) // 2] < 1.0

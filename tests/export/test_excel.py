"""The workbook's formulas, computed by LibreOffice, give discreet's curves for the values typed in."""

import io
import shutil
import subprocess
import sys

import numpy as np
import openpyxl
import pandas as pd
import pytest

from discreet.errors import SettingsError
from discreet.export import export_bytes
from tests.export.models import (
    CASES,
    COVARIATES,
    ODD,
    ODD_CAUSES,
    ODD_LEVELS,
    edges,
    fitted,
    people,
)

OFFICE = shutil.which("soffice")
needs_office = pytest.mark.skipif(OFFICE is None, reason="LibreOffice is not installed: no soffice")
PEOPLE = {name: place for place, name in enumerate(CASES)}
"""Every case is asked about another person, with another kind of gaps."""
TYPED = {"true": True, "0": 0, "1.50": 1.5, "NA": "NA"}
"""Levels, and what a spreadsheet makes of them where they are typed or chosen."""


def typed(name, row):
    """The workbook with a person's values in its yellow cells."""
    book = openpyxl.load_workbook(io.BytesIO(export_bytes(fitted(name).model_, "excel")))
    sheet = book["Prediction"]
    cells = {sheet[f"A{place}"].value: f"B{place}" for place in range(1, sheet.max_row + 1)}
    schema = fitted(name).model_.public_schema
    strata = [] if schema.strata is None else [schema.strata]
    for item in [*schema.covariates, *strata]:
        value = row[item.name]
        sheet[cells[item.name]] = None if pd.isna(value) else value
        if isinstance(value, str):
            sheet[cells[item.name]].data_type = "s"
    return book


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """One LibreOffice for all cases; the sheet `Curve` of each, as it computed it."""
    root, new = tmp_path_factory.mktemp("excel"), people(40, seed=9)
    (root / "out").mkdir()
    files = []
    for place, name in enumerate(CASES):
        files.append(root / f"{place}.xlsx")
        typed(name, new.iloc[PEOPLE[name]]).save(files[-1])
    for place, value in enumerate(TYPED.values()):
        files.append(root / f"typed{place}.xlsx")
        person = new.iloc[PEOPLE["odd names"]].copy()
        person[ODD[1]["name"]] = value
        typed("odd names", person).save(files[-1])
    subprocess.run(
        [OFFICE, f"-env:UserInstallation=file://{root}/profile", "--headless", "--convert-to", "xlsx",
         "--outdir", root / "out", *files],
        check=True, capture_output=True, timeout=280,
    )  # fmt: skip
    books = {
        name: openpyxl.load_workbook(root / "out" / f"{place}.xlsx", data_only=True)
        for place, name in enumerate(CASES)
    }
    for place, level in enumerate(TYPED):
        books[level] = openpyxl.load_workbook(root / "out" / f"typed{place}.xlsx", data_only=True)
    return books, new


def column(sheet, name):
    headings = [cell.value for cell in sheet[1]]
    letter = headings.index(name)
    return np.array([row[letter].value for row in sheet.iter_rows(min_row=2)], dtype=float)


@needs_office
@pytest.mark.parametrize("name", CASES)
def test_the_curve_is_that_of_discreet(computed, name):
    books, new = computed
    sheet, model = books[name]["Curve"], fitted(name)
    points, person = edges(name), new.iloc[[PEOPLE[name]]]
    assert np.abs(column(sheet, "Time") - points).max() < 1e-12
    found = model.predict_survival(person, points, interval=True)
    if "causes" in name:
        assert np.abs(column(sheet, "No event") - found.estimate[0]).max() < 1e-9
        for cause in model.model_.models:
            expected = model.predict_incidence(person, cause, points)[0]
            assert np.abs(column(sheet, f"Incidence {cause}") - expected).max() < 1e-9
        return
    for heading, part in (("Survival", "estimate"), ("Lower", "lower"), ("Upper", "upper")):
        assert np.abs(column(sheet, heading) - getattr(found, part)[0]).max() < 1e-9


@needs_office
@pytest.mark.parametrize("level", TYPED)
def test_a_level_is_known_as_the_number_or_truth_value_that_a_spreadsheet_makes_of_it(
    computed, level
):
    books, new = computed
    model, person = fitted("odd names"), new.iloc[[PEOPLE["odd names"]]].copy()
    person[ODD[1]["name"]] = level
    expected = model.predict_survival(person, edges("odd names"))[0]
    assert np.abs(column(books[level]["Curve"], "Survival") - expected).max() < 1e-9


@needs_office
def test_the_first_sheet_answers_at_its_time_and_no_cell_is_an_error(computed):
    books, new = computed
    for name in CASES:
        book = books[name]
        sheet = book["Prediction"]
        cells = {sheet[f"A{row}"].value: sheet[f"B{row}"].value for row in range(1, 40)}
        answer = cells["No event" if "causes" in name else "Survival"]
        expected = fitted(name).predict_survival(new.iloc[[PEOPLE[name]]], [48.0])[0, 0]
        assert answer == pytest.approx(expected, abs=1e-9)
        values = [cell.value for page in book for row in page.iter_rows() for cell in row]
        assert not [value for value in values if isinstance(value, str) and value.startswith("#")]


def test_values_stand_in_yellow_cells_with_a_chart_and_the_promise():
    book = openpyxl.load_workbook(io.BytesIO(export_bytes(fitted("strata").model_, "excel")))
    sheet = book["Prediction"]
    yellow = [
        cell.coordinate for row in sheet.iter_rows() for cell in row
        if cell.fill.fgColor.rgb == "00FFF2CC"
    ]  # fmt: skip
    assert len(yellow) == len(COVARIATES) + 2
    assert len(sheet._charts) == 1
    assert "Not private: do not publish" in sheet["A2"].value
    # of other cells spreadsheets do not keep the indent: a number touched the text beside it
    assert {cell.alignment.horizontal for (cell,) in sheet["D5:D10"]} == {"left"}


def test_text_of_a_schema_is_no_formula():
    for name in ("odd names", "causes with odd names"):
        book = openpyxl.load_workbook(io.BytesIO(export_bytes(fitted(name).model_, "excel")))
        cells = [cell for page in book for row in page.iter_rows() for cell in row if cell.value]
        odd = [item["name"] for item in ODD] + [*ODD_LEVELS, *ODD_CAUSES]
        texts = [cell for cell in cells if str(cell.value) in odd]
        assert set(odd[:-2]) <= {cell.value for cell in texts}
        assert {cell.data_type for cell in texts} == {"s"}
        for cell in cells:  # nor is there text of the schema within a formula
            assert cell.data_type != "f" or not [o for o in odd if len(o) > 4 and o in cell.value]


def test_without_openpyxl_there_is_a_sentence(monkeypatch):
    monkeypatch.delitem(sys.modules, "discreet.export.excel", raising=False)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(SettingsError, match=r"install it with pip install 'discreet\[files\]'"):
        export_bytes(fitted("one knot").model_, "excel")

"""Workbooks, Stata, SPSS, packed and tabbed files: the same people as in a CSV file."""

import gzip
from datetime import datetime

import numpy as np
import openpyxl
import pyreadstat
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather

import discreet as ds
from discreet.errors import DataFormError
from discreet.people import to_episodes
from tests.cohorts import cohort, schema

TABLE = cohort(people=60)


def workbook(folder):
    book = openpyxl.Workbook()
    rows = [
        TABLE.column_names,
        *zip(*(TABLE[name].to_pylist() for name in TABLE.column_names), strict=True),
    ]
    for row in rows:
        book.active.append(list(row))
    book.save(folder / "people.xlsx")
    return folder / "people.xlsx"


def tabbed(folder):
    options = arrow_csv.WriteOptions(delimiter="\t")
    arrow_csv.write_csv(TABLE, folder / "people.tsv", options)
    return folder / "people.tsv"


def packed(folder):
    arrow_csv.write_csv(TABLE, folder / "plain.csv")
    content = gzip.compress((folder / "plain.csv").read_bytes())
    (folder / "people.csv.gz").write_bytes(content)
    return folder / "people.csv.gz"


def feathered(folder):
    feather.write_feather(TABLE, str(folder / "people.feather"))
    return folder / "people.feather"


def stata(folder):
    pyreadstat.write_dta(TABLE.to_pandas(), str(folder / "people.dta"))
    return folder / "people.dta"


def spss(folder):
    pyreadstat.write_sav(TABLE.to_pandas(), str(folder / "people.sav"))
    return folder / "people.sav"


FILES = (workbook, tabbed, packed, feathered, stata, spss)


@pytest.mark.parametrize("make", FILES)
def test_the_same_people_come_out(make, tmp_path):
    ours, theirs = to_episodes(make(tmp_path), schema()), to_episodes(TABLE, schema())
    assert np.array_equal(ours.exit, theirs.exit)
    assert np.array_equal(ours.event, theirs.event)
    assert np.allclose(ours.covariates, theirs.covariates, rtol=0, atol=1e-12)
    assert ds.check(tmp_path / make(tmp_path).name, schema()).picture.events


@pytest.mark.parametrize("make", FILES)
def test_a_missing_column_and_a_damaged_file_are_told_before_the_charge(make, tmp_path):
    path = make(tmp_path)
    mapping = schema().to_mapping()
    mapping["covariate"][0]["name"] = "ages"
    model = ds.SurvivalRegression(mapping)
    terms = {"mechanism": ds.OutputPerturbation(epsilon=1), "ledger": ds.NO_LEDGER, "persons": 60}
    with pytest.raises(DataFormError, match="no column 'ages'") as caught:
        model.publish(path, **terms)
    assert "charge stands" not in str(caught.value)
    path.write_bytes(b"nonsense\x00" * 50)
    with pytest.raises(DataFormError) as caught:
        ds.SurvivalRegression(schema()).publish(path, **terms)
    assert "charge stands" not in str(caught.value)


def test_a_missing_file_is_told_in_our_words(tmp_path):
    for ending in ("xlsx", "dta", "sav", "sas7bdat", "feather", "tsv", "csv.gz"):
        with pytest.raises(DataFormError, match=f"people.{ending}"):
            to_episodes(tmp_path / f"people.{ending}", schema())


def test_odd_cells_of_a_workbook_change_nobody_else(tmp_path):
    """A text, a date and a gap among numbers; rows that hold nothing are nobody."""
    expected = to_episodes(TABLE, schema())
    path = workbook(tmp_path)
    book = openpyxl.load_workbook(path)
    age = TABLE.column_names.index("age") + 1
    for row, odd in ((2, "about sixty"), (3, datetime(2020, 1, 1)), (4, None), (5, "=1/0")):  # noqa: DTZ001
        book.active.cell(row, age).value = odd
    book.active.cell(200, 1).number_format = "0.00"
    book.save(path)
    found = to_episodes(path, schema())
    assert found.persons == expected.persons
    changed = np.any(found.covariates != expected.covariates, axis=1)  # rows stand by their exits
    assert np.count_nonzero(changed) == 4
    assert np.all(np.isfinite(found.covariates))

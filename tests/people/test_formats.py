"""Workbooks, Stata, SPSS, packed and tabbed files: the same people as in a CSV file."""

import gzip
import os
import warnings
import zipfile
from datetime import date, datetime
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather

import discreet as ds
from discreet.errors import DataFormError
from discreet.mechanisms import OutputPerturbation
from discreet.people.encode import to_episodes
from discreet.people.files import read_file
from discreet.people.formats import BEYOND, _clock, read_workbook
from discreet.people.tables import open_table
from tests.cohorts import cohort, schema

TABLE = cohort(people=60)
SAMPLES = os.environ.get("DISCREET_SAS")
"""A folder with sample.sas7bdat and sample.dta of pyreadstat's own tests: no free program writes SAS."""


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
    model = ds.SurvivalRegression(mapping, link="logit")
    terms = {"mechanism": OutputPerturbation(epsilon=1), "ledger": ds.NO_LEDGER, "persons": 60}
    with pytest.raises(DataFormError, match="no column 'ages'") as caught:
        model.publish(path, **terms)
    assert "charge stands" not in str(caught.value)
    path.write_bytes(b"nonsense\x00" * 50)
    with pytest.raises(DataFormError) as caught:
        ds.SurvivalRegression(schema(), link="logit").publish(path, **terms)
    assert "charge stands" not in str(caught.value)


def test_a_missing_file_is_told_in_our_words(tmp_path):
    for ending in ("xlsx", "dta", "sav", "sas7bdat", "feather", "tsv", "csv.gz"):
        with pytest.raises(DataFormError, match=f"people.{ending}"):
            to_episodes(tmp_path / f"people.{ending}", schema())


@pytest.mark.skipif(SAMPLES is None, reason="DISCREET_SAS names no folder with sample.sas7bdat")
def test_a_file_of_sas_holds_what_the_same_of_stata_holds():
    columns = ("mychar", "mynum", "mydate", "mylabl", "myord")
    sas, stata = (
        read_file(Path(SAMPLES) / f"sample.{end}", columns, ()) for end in ("sas7bdat", "dta")
    )
    for name in columns:
        found, expected = (table.columns[name] for table in (sas, stata))
        assert found == expected


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


# One record may hold what no calendar or encoding has: it stops nobody and changes nobody else.

DATED = {
    "people.dta": (pyreadstat.write_dta, {"%td": 21_915, "%tc": 21_915 * 86_400_000, "%d": 21_915}),
    "people.sav": (pyreadstat.write_sav, {"DATE11": 13_797_216_000, "DATETIME20": 13_797_216_000}),
}
KINDS = [(name, shown) for name, (_, kinds) in DATED.items() for shown in kinds]


def dated(folder, name, shown, numbers, texts=("ann", "bob", "cid")):
    """A file of three people with a date, by the number that the file keeps, and a text."""
    write, _ = DATED[name]
    table = pd.DataFrame({"when": np.asarray(numbers, dtype=float), "who": list(texts)})
    write(table, str(folder / name), variable_format={"when": shown})
    return folder / name


@pytest.mark.parametrize("odd", [1e9, -1e9, 1e15, 1e17, -1e300, 1e300, None])
@pytest.mark.parametrize(("name", "shown"), KINDS)
def test_a_date_that_no_calendar_has_stops_nobody(tmp_path, name, shown, odd):
    good = DATED[name][1][shown]
    plain = read_file(dated(tmp_path, name, shown, [good] * 3), ["when"], ()).columns["when"]
    assert {item if type(item) is date else item.date() for item in plain} == {date(2020, 1, 1)}
    beyond = None if odd is None else BEYOND if abs(odd) > 1e14 or shown in {"%td", "%d"} else ...
    path = dated(tmp_path, name, shown, [good, np.nan if odd is None else odd, good])
    found = read_file(path, ["when"], ()).columns["when"]
    assert [found[0], found[2]] == [plain[0], plain[2]]
    assert beyond is ... or found[1] == beyond


@pytest.mark.parametrize("name", DATED)
def test_bytes_that_are_not_in_the_files_encoding_stop_nobody(tmp_path, name):
    path = dated(
        tmp_path,
        name,
        KINDS[0][1] if name.endswith("dta") else "F8.2",
        [1, 2, 3],
        ("bjørn", "qqqq", "ann"),
    )
    assert read_file(path, ["who"], ()).columns["who"] == ["bjørn", "qqqq", "ann"]
    path.write_bytes(path.read_bytes().replace(b"qqqq", b"q\xff\xfeq"))
    assert read_file(path, ["who"], ()).columns["who"] == ["bjørn", "q��q", "ann"]


def test_a_name_that_is_not_ascii_is_found(tmp_path):
    table = pd.DataFrame({"größe": [1.5, 2.5]})
    pyreadstat.write_sav(table, str(tmp_path / "people.sav"))
    assert read_file(tmp_path / "people.sav", ["größe"], ()).columns == {"größe": [1.5, 2.5]}


@pytest.mark.parametrize(("path", "shown", "days"), [
    ("a.sas7bdat", "DATE9", 1), ("a.sas7bdat", "DDMMYYP10", 1), ("a.sas7bdat", "E8601DA10", 1),
    ("a.sas7bdat", "DATETIME20", 86_400), ("a.sas7bdat", "E8601DT26", 86_400),
    ("a.sas7bdat", "BEST12", None), ("a.sav", "F8.2", None), ("a.dta", "%9.0g", None),
    ("a.dta", "%-td", 1), ("a.dta", "%tdD_m_Y", 1), ("a.dta", "%dD_m_Y", 1), ("a.sav", None, None),
])  # fmt: skip
def test_what_is_a_date_is_declared_by_the_file(path, shown, days):
    clock = _clock(Path(path), shown)
    assert (clock is None) == (days is None)
    if days is not None:
        found = clock.moment(21_915 * days)
        assert (found if type(found) is date else found.date()) == date(2020, 1, 1)


def test_a_workbook_is_read_to_its_end_and_quietly(tmp_path):
    """It may say that it has fewer rows, and a date may be no date: openpyxl would quote it."""
    path = workbook(tmp_path)
    book = openpyxl.load_workbook(path)
    cell = book.active.cell(3, 1)
    cell.value, cell.number_format = 98_765_432_101, "yyyy-mm-dd"
    book.save(path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "short.xlsx", "w") as new:
        for name in old.namelist():
            content = old.read(name).replace(b'ref="A1:D61"', b'ref="A1:D9"')
            new.writestr(name, content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert to_episodes(tmp_path / "short.xlsx", schema()).persons == 60


@pytest.mark.parametrize("column", [1, 2, 3, 4])
def test_an_integer_of_thousands_of_digits_changes_no_other_row(tmp_path, column):
    """Python refuses to make an integer of more than 4,300 digits, and one cell stopped the reader."""
    path = workbook(tmp_path)
    book = openpyxl.load_workbook(path)
    book.active.cell(3, column).value = 98_765_432.5
    book.save(path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "long.xlsx", "w") as new:
        for name in old.namelist():
            content = old.read(name).replace(b"98765432.5", b"7" * 5000)
            new.writestr(name, content)
    before, after = (
        read_workbook(tmp_path / name, TABLE.column_names)
        for name in (
            "people.xlsx",
            "long.xlsx",
        )
    )
    changed = TABLE.column_names[column - 1]
    for name in TABLE.column_names:
        one, other = before.columns[name], after.columns[name]
        assert [*one[:1], *one[2:]] == [*other[:1], *other[2:]]
    assert after.columns[changed][1] == "7" * 5000
    assert to_episodes(tmp_path / "long.xlsx", schema()).persons == 60


def feather_with(folder, **columns):
    feather.write_feather(pa.table(columns), str(folder / "a.feather"), compression="uncompressed")
    return folder / "a.feather"


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_a_feather_file_that_points_beyond_itself_is_refused(tmp_path, kind):
    """Arrow believes the offsets and indices of a file, and would read other memory."""
    width = 8 if kind == pa.large_string() else 4
    path = feather_with(tmp_path, arm=pa.array(["a", "b", "cc", "b"]).cast(kind))
    good = path.read_bytes()
    assert open_table(read_file(path, ["arm"], ())).rows == 4
    codes = [0, 1, 2, 4, 5] if width == 8 or kind == pa.string() else [0, 1, 2, 1]
    inside = b"".join(code.to_bytes(width, "little") for code in codes)
    place = good.index(inside) + 2 * width
    path.write_bytes(good[:place] + (1 << 30).to_bytes(width, "little") + good[place + width :])
    with pytest.raises(DataFormError, match="damaged"):
        read_file(path, ["arm"], ())


def test_a_text_that_is_not_utf8_stops_nobody_in_a_feather_file(tmp_path):
    path = feather_with(tmp_path, arm=["aaaa", "bbbb", "cccc"])
    path.write_bytes(path.read_bytes().replace(b"bbbb", b"b\xff\xfeb"))
    codes, values = open_table(read_file(path, ["arm"], ())).column("arm").coded()
    assert [values[code] for code in codes] == ["aaaa", "b��b", "cccc"]


# Neighbours from bytes on: everybody is read alike alone and in company.

ODD_PEOPLE = [
    {"id": "p1", "start": 0.0, "time": 5.0, "status": 1.0, "age": 30.0, "arm": "a"},
    {"id": "p2", "start": None, "time": 7.5, "status": 0.0, "age": None, "arm": "b"},
    {"id": "p3", "start": 2.0, "time": 1e300, "status": 1.0, "age": 1e300, "arm": ""},
    {"id": "p4", "start": 1.0, "time": 3.25, "status": 7.0, "age": -1e300, "arm": "NA"},
    {"id": "p5", "start": 9.0, "time": None, "status": None, "age": 90.0, "arm": "C"},
    {"id": " p6 ", "start": 0.1, "time": 23.9, "status": 1.0, "age": 55.5, "arm": " c "},
]


def written(folder, ending, records):
    """The records as a file of the format, by that format's own writer."""
    frame = pd.DataFrame(records)
    frame[["start", "time", "status", "age"]] = frame[["start", "time", "status", "age"]].astype(
        float
    )
    path = folder / f"some{ending}"
    if ending == ".xlsx":
        book = openpyxl.Workbook()
        for row in (list(records[0]), *(list(record.values()) for record in records)):
            book.active.append(row)
        book.save(path)
    elif ending == ".feather":
        feather.write_feather(frame, str(path))
    else:
        (pyreadstat.write_dta if ending == ".dta" else pyreadstat.write_sav)(frame, str(path))
    return path


@pytest.mark.parametrize("ending", [".xlsx", ".feather", ".dta", ".sav"])
def test_everybody_is_read_alike_alone_and_in_company(tmp_path, ending):
    public = schema(person=True, entry=True)

    def rows_of(records):
        found = to_episodes(written(tmp_path, ending, records), public)
        parts = (found.covariates, found.entry, found.exit, found.event)
        spans = zip(found.offsets[:-1], found.offsets[1:], strict=True)
        return [[part[first:last].tolist() for part in parts] for first, last in spans]

    together = rows_of(ODD_PEOPLE)
    assert len(together) == len(ODD_PEOPLE)
    for number, record in enumerate(ODD_PEOPLE):
        assert rows_of([record]) == [together[number]]
        assert rows_of([*ODD_PEOPLE[:number], *ODD_PEOPLE[number + 1 :]]) == [
            *together[:number],
            *together[number + 1 :],
        ]

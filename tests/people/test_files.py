"""One record of a CSV file, however odd, is read alike with and without the others around it."""

import gzip

import numpy as np
import pandas as pd
import pytest

from discreet.cli.app import app
from discreet.engine.local import LocalEngine
from discreet.errors import DataFormError
from discreet.people.encode import to_episodes
from discreet.people.files import first_open_quote, lines_within_fields
from discreet.people.source import People
from tests.people import metamorphic as world

HEADER = b"id,start,stop,event,age,sex"
OTHERS = [
    b"a,0,2.5,1,30,F",
    b'"b",1,9,0,90,M',
    b"c,,4,1,,X",
    b"\xffd,0,5,0,junk,\xc3",
    b"e\x00,0,7,1,55,F",
]
LONG = b"x" * (3 << 20)
ODD = {
    "a long id": LONG + b",0,3,1,40,M",
    "a long quoted id": b'"' + LONG + b'",0,3,1,40,M',
    "a long level": b"z,0,3,1,40," + LONG,
    "a long number": b"z,0,3,1," + b"4" * (2 << 20) + b",M",
    "an id that is not UTF-8": b"z\xff\xfe,0,3,1,40,M",
    "a number that is not UTF-8": b"z,0,3,1,4\xff0,M",
    "a truncated letter before the comma": b"z\xe2\x82,0,3,1,40,M\xf0\x9f",
    "a null byte in the id": b"z\x00,0,3,1,40,M",
    "a null byte in a number": b"z,0\x00,3,1,4\x00,M",
    "nothing but null bytes": b"\x00,\x00,\x00,\x00,\x00,\x00",
    "a quote within a field": b'z"z,0,3,1,40,M"',
    "doubled quotes": b'"z""z",0,3,1,40,"M"""',
    "a line break in a quoted id": b'"z\nz",0,3,1,40,M',
    "a text after the quote": b'"z"z,0,3,1,40,M',
    "empty fields": b",,,,,",
    "a quoted nothing": b'"",0,3,1,40,""',
    "words for missing": b"NA,NA,NA,NA,NA,NA",
    "carriage returns in quotes": b'"z\r\nz",0,3,1,40,M',
}


def sums_of(folder, lines, name="people.csv"):
    """The integers before noise, and n, of a file with these records."""
    path = folder / name
    path.write_bytes(b"\n".join([HEADER, *lines]) + b"\n")
    engine = LocalEngine(to_episodes(path, world.SCHEMA), threads=1)
    return world.integer_sums(engine) | {"persons": np.array([engine.persons])}


@pytest.mark.parametrize("place", [0, 3, 5])
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_record_is_read_alike_alone_and_in_company(tmp_path, odd, place):
    together = sums_of(tmp_path, [*OTHERS[:place], ODD[odd], *OTHERS[place:]])
    others, alone = sums_of(tmp_path, OTHERS), sums_of(tmp_path, [ODD[odd]])
    for name, sums in together.items():
        assert np.array_equal(sums, others[name] + alone[name]), name
    assert together["persons"] == 6


@pytest.mark.parametrize("odd", [b"z,0,3,1,40", b"z,0,3,1,40,M,1", b'"z,0,3,1,40,M'])
def test_a_record_of_another_form_is_refused_alike(tmp_path, odd):
    for lines in ([odd], [*OTHERS, odd]):
        with pytest.raises(DataFormError, match="number of fields"):
            sums_of(tmp_path, lines)


@pytest.mark.parametrize(
    ("lines", "within", "first"),
    [
        ([b"a,0,2,1,30,F", b"b,0,2,1,30,M"], 0, 0),
        ([b"a,0,2,1,30,F", b'b,0,2,1,30,"M', b"c,0,2,1,30,F", b"d,0,2,1,30,F"], 2, 3),
        ([b'"a', b'b",0,2,1,30,F', b"", b"c,0,2,1,30,F"], 1, 2),
        ([b'a,0,2,1,30,"F"', b'b,0,2,1,30,"M', b'c,0,2,1,30,F"', b"d,0,2,1,30,F"], 1, 3),
    ],
)
def test_check_finds_an_opened_quote_before_a_charge(tmp_path, capsys, lines, within, first):
    path, schema = tmp_path / "people.csv", tmp_path / "schema.toml"
    path.write_bytes(b"\r\n".join([HEADER, *lines]) + b"\r\n")
    schema.write_text(SCHEMA)
    rows = People.of(path).table(world.SCHEMA).rows
    assert lines_within_fields(path, rows) == within
    assert not within or first_open_quote(path) == first
    app(["check", str(path), "--schema", str(schema)], standalone_mode=False)
    said = " ".join(capsys.readouterr().out.split())
    assert ("a quote that was opened and not closed" in said) == bool(within)
    assert f"after line {first:,}" in said or not within


@pytest.mark.parametrize("name", ["people.tsv", "people.csv.gz", "people.tsv.gz"])
def test_an_opened_quote_is_found_in_tabbed_and_packed_files(tmp_path, capsys, name):
    lines = [HEADER, b"a,0,2,1,30,F", b'b,0,2,1,30,"M', b"c,0,2,1,30,F", b"d,0,2,1,30,F"]
    content = b"\n".join(lines) + b"\n"
    content = content.replace(b",", b"\t") if name.startswith("people.tsv") else content
    path, schema = tmp_path / name, tmp_path / "schema.toml"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    schema.write_text(SCHEMA)
    app(["check", str(path), "--schema", str(schema)], standalone_mode=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "a quote that was opened and not closed" in said
    assert "after line 3" in said


SCHEMA = """
person = "id"
time = { duration = "stop", event = "event", entry = "start", horizon = 10.0, intervals = 20 }
covariate = [
    { name = "age", low = 20, high = 90 }, { name = "sex", levels = ["F", "M", "X"] },
]
"""


def test_check_warns_of_doubles_that_may_have_merged_ids():
    frame = pd.DataFrame(world._columns(world.make_people([2**53, 2**53 + 2, None])))
    found = {
        repair.problem: repair.count for repair in People.of(frame).repairs(world.SCHEMA).repairs
    }
    assert found["double of 2^53 or more"] == 3
    exact = frame.assign(id=frame["id"].astype("Int64"))
    problems = {repair.problem for repair in People.of(exact).repairs(world.SCHEMA).repairs}
    assert "double of 2^53 or more" not in problems

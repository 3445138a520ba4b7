"""Every reader, schema key and message that came later: one sentence or it works, never a secret."""

import io
import json
import struct
import warnings
import zipfile

import numpy as np
import openpyxl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError, FederationError
from discreet.federation.agreement import agree, compare
from discreet.federation.connection import GREETING, HELLO, MOST_HELD
from discreet.federation.sites import Sites
from tests.hostile import (
    CANARY,
    changed,
    places,
    require_a_sentence,
    serialised,
    use_mapping,
    use_table,
)
from tests.hostile_inputs import (
    MESSAGE,
    NAMES,
    RICHES,
    Exchange,
    all_causes,
    connected,
    curves,
    files,
    statistical,
    use_causes,
    use_curves,
    use_format,
    use_frames,
    use_message,
    use_rich,
    use_sites,
)
from tests.json_schema import is_valid
from tests.scripts import script

# --- files of other formats


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


ENDINGS = [".csv.gz", ".tsv", ".feather", ".xlsx", ".dta", ".sav"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_good_files_are_read(folder, ending):
    assert use_table((files() | statistical())[ending], folder, ending)


@pytest.mark.parametrize("ending", ENDINGS)
@given(st.data())
@settings(max_examples=25)
def test_a_damaged_file_of_any_format(folder, ending, data):
    content = (files() | statistical())[ending]
    start = data.draw(st.integers(0, len(content) - 1))
    odd = data.draw(st.binary(max_size=8))
    cut = data.draw(st.sampled_from([len(odd), 0, len(content)]))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        use_table(content[:start] + odd + content[start + cut :], folder, ending)
    assert not any(CANARY in str(item.message) for item in heard)


CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.datetimes(), st.dates(), st.times(),
    st.timedeltas(), st.text(st.characters(exclude_categories=("Cs", "Cc"), max_codepoint=0xFFFD), max_size=6),
    st.sampled_from([CANARY, f"={CANARY}", "#N/A", "#VALUE!", "=1/0"]),
)  # fmt: skip


@given(st.lists(st.lists(CELLS, max_size=8), max_size=4))
@settings(max_examples=12)
def test_a_workbook_of_odd_cells(folder, rows):
    book, saved = openpyxl.Workbook(), io.BytesIO()
    book.active.append(NAMES)
    for row in rows:
        book.active.append([cell if cell == cell else None for cell in row])  # noqa: PLR0124 - NaN
    book.save(saved)
    assert use_table(saved.getvalue(), folder, ".xlsx")


@given(st.binary(max_size=40))
@settings(max_examples=20)
def test_a_workbook_whose_sheet_is_odd(folder, odd):
    saved = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(files()[".xlsx"])) as old, zipfile.ZipFile(saved, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            middle = len(content) // 2
            new.writestr(
                name, content[:middle] + odd + content[middle:] if "sheet1" in name else content
            )
    use_table(saved.getvalue(), folder, ".xlsx")


# --- schemas with every key

WHERE = [(number, path) for number, rich in enumerate(RICHES) for path in places(rich)]
ODD = st.one_of(
    st.just(...), st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=6),
    st.sampled_from([1e-300, 5e-324, 1e150, 1e308, 0.30000000000000004, 14.999999999999998, 2**53 + 1.0, "spline:10",
                     "spline:99", "log", "%Y%Y", "%", "%Y-%", "%G-%V", "%s", "\x1b[2J", "=a", "<b>", [], {}, [[]]]),
    st.lists(st.one_of(st.floats(), st.text(max_size=3), st.integers()), max_size=4),
    st.dictionaries(st.text(max_size=3), st.lists(st.text(max_size=2), max_size=2), max_size=3),
)  # fmt: skip


def test_the_rich_schemas_are_fine():
    assert all(map(use_mapping, RICHES))


@given(st.sampled_from(WHERE), ODD)
@settings(max_examples=150)
@example((1, ("time", "date_format")), "%Y %Y")
@example((1, ("time", "date_format")), "%d%d/%Y")
@example((0, ("time", "first")), 5e-324)
@example((0, ("covariate", 0, "low")), 5e-324)
@example((0, ("covariate", 0, "low")), 14.999999999999998)
@example((0, ("covariate", 1, "high")), 1e150)
@example((2, ("time", "edges")), [0, 5e-324])
def test_a_rich_schema_with_one_odd_member(where, value):
    number, path = where
    use_rich(changed(RICHES[number], path, value))


FORMATS = st.lists(
    st.sampled_from(
        [f"%{letter}" for letter in "aAbBcdfGHIjmMpSuUVwWxXyYzZ%"] + ["/", " ", "(", "\\", "[", "é"]
    ),
    max_size=6,
).map("".join)


@given(
    FORMATS, st.lists(st.text("0123456789/ :-+aApPmMéZ(\x00", max_size=14), min_size=1, max_size=4)
)
@settings(max_examples=150)
@example("%Y %U %w", ["0001 00 0", "9999 53 6"])
@example("%G-%V-%u", ["9999-53-7", "0001-01-1"])
@example("%d/%m/%Y %z", ["01/01/0001 +23:59", "31/12/9999 -23:59"])
def test_a_format_that_is_accepted_reads_every_text(date_format, texts):
    use_format(date_format, texts)


# --- lists of sites, messages of other sites

SITES = {
    "colluding": 1,
    "site": [{"host": "a.example", "port": 9000, "certificate": "x", "listen": "127.0.0.1"}] * 3,
}


@given(st.sampled_from(places(SITES)), ODD)
@example(("site", 0, "certificate"), "-----BEGIN CERTIFICATE-----\n\n-----END CERTIFICATE-----")
@example(("site", 0, "certificate"), "-----BEGIN CERTIFICATE-----\né\n-----END CERTIFICATE-----")
def test_a_list_of_sites_with_one_odd_member(folder, path, value):
    with pytest.raises(DiscreetError) as refused:  # the certificates are none
        Sites.from_mapping(changed(SITES, path, value), folder)
    require_a_sentence(refused.value)


@given(st.binary(max_size=60))
@example(b"[" * 20_000)
@example(b"site = " + b"[" * 20_000)
@example(b'"\\u001b[2J" = 1\n')
def test_a_list_of_sites_of_odd_bytes(folder, content):
    assert not use_sites(content, folder)


@given(st.sampled_from([(), *places(MESSAGE)]), ODD)
@example(("facts",), {"\x1b[2J": "x"})
@example(("facts",), {f"{k}" + "x" * 5000: "x" for k in range(20)})
@example(("persons",), 10**19)
@example(("release_id",), "\ud800")
def test_an_odd_message_stops_before_a_charge(path, value):
    odd = serialised(changed(MESSAGE, path, value) if path else {} if value is ... else value)
    use_message(odd)


@given(st.binary(max_size=40))
def test_odd_bytes_of_a_site_are_a_difference(odd):
    for check in (
        lambda: agree(Exchange(odd), {}, 10, "r1"),
        lambda: compare(Exchange(odd), "the plan", b"\0" * 41),
    ):
        with pytest.raises(FederationError) as refused:
            check()
        require_a_sentence(refused.value)


@given(st.lists(st.binary(max_size=40), max_size=8))
@settings(max_examples=150)
@example([struct.pack("<qI", HELLO, 3) + b"abc"])
@example([struct.pack("<qI", -3, 0)])
@example([struct.pack("<qI", 5, 2**32 - 1)])
def test_tables_of_odd_bytes_end_in_nothing_or_a_stop(pieces):
    use_frames(pieces)


def test_tables_arrive_however_they_are_cut():
    frame = struct.pack("<qI", HELLO, len(GREETING)) + GREETING + struct.pack("<qI", 7, 2) + b"ok"
    for cut in range(len(frame)):
        connection, owner = connected()
        connection.data_received(frame[:cut])
        connection.data_received(frame[cut:])
        assert owner.told == ["greeted"]
        assert connection.receive(7) == b"ok"


def test_a_site_cannot_fill_the_memory_with_empty_messages():
    connection, owner = connected()
    for label in range(MOST_HELD + 2):
        connection.data_received(struct.pack("<qI", label, 0))
    assert set(owner.told) == {"sent more than a joint fit ever does"}
    assert len(connection._held) <= MOST_HELD


# --- files of curves, and the published schema of releases


def one_odd_member(data, mapping: dict) -> bytes:
    """The file with one of its members replaced."""
    path = data.draw(st.sampled_from(places(mapping)))
    value = data.draw(ODD)
    if isinstance(value, float) and not np.isfinite(value):
        value = 1e308
    return serialised(changed(mapping, path, value))


@given(st.data())
@settings(max_examples=15)
def test_a_file_of_curves_with_one_odd_member(data):
    content = one_odd_member(data, curves())
    if use_curves(content):
        assert is_valid(json.loads(content), script("docs/release_schema.py").release_schema())


@pytest.mark.parametrize(("path", "value"), [
    (("released", "sums", 0), 1e308), (("released", "sums"), [1e308] * 72), (("noise_scale",), 1e308),
    (("noise_scale",), 5e-324), (("details", "stretches"), 1_000_000), (("details", "outcomes"), 2),
    (("details", "late_entry"), True), (("mechanism", "by"), ["age"]), (("mechanism", "by"), ["arm", "arm"]),
    (("mechanism", "by"), []), (("mechanism", "by"), "arm"), (("guarantee", "delta"), 0), (("curves",), []),
    (("curves", 0, "survival"), {}), (("test",), None), (("persons",), 0), (("schema", "covariate", 1, "levels"), ["a", "b"]),
])  # fmt: skip
def test_odd_curves_are_told_or_shown(path, value):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        use_curves(serialised(changed(curves(), path, value)))


def test_the_curves_themselves_are_fine():
    assert use_curves(serialised(curves()))


@given(st.data())
@settings(max_examples=15)
def test_a_release_of_causes_with_one_odd_member(data):
    content = one_odd_member(data, all_causes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        use_causes(content)


@pytest.mark.parametrize(("path", "value"), [
    (("released", "life_table", 2, 2), 1e308), (("released", "covariance", 1, 6), -1e308),
    (("noise_scale",), 1e308), (("details",), {}), (("released",), {}), (("persons",), 0),
    (("format",), []), (("format",), {}), (("schema", "time", "causes"), []),
])  # fmt: skip
def test_odd_causes_are_told_or_shown(path, value):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        use_causes(serialised(changed(all_causes(), path, value)))


def test_the_causes_themselves_are_fine():
    assert use_causes(serialised(all_causes()))

"""Every reader, schema key and message that came later: one sentence or it works, never a secret."""

import gzip
import io
import json
import struct
import warnings
import zipfile
from functools import cache
from itertools import chain
from unittest.mock import patch

import numpy as np
import openpyxl
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import feather

import discreet as ds
from discreet.competing import summarise_causes
from discreet.design.grid import TimeGrid
from discreet.design.schema import Schema
from discreet.errors import DiscreetError, FederationError, SchemaError
from discreet.federation.agreement import agree, compare
from discreet.federation.connection import GREETING, HELLO, LARGEST_MESSAGE, MOST_HELD, Connection
from discreet.federation.sites import Sites
from discreet.models import curves_release
from discreet.models.release_schema import release_schema
from discreet.models.strict import parse_strict
from discreet.people import encode_covariates
from discreet.people.columns import read_date
from discreet.report import page
from tests.cohorts import cohort, schema
from tests.hostile import (
    CANARY,
    HEADER,
    changed,
    places,
    require_a_sentence,
    serialised,
    use_mapping,
    use_table,
)
from tests.json_schema import is_valid

NAMES = HEADER.decode().strip().split(",")

# --- files of other formats


@cache
def files() -> dict[str, bytes]:
    """A good file of every format, whose texts are canaries."""
    columns = {name: [CANARY] * 3 if name in {"id", "arm"} else [1.0, 2.0, 3.0] for name in NAMES}
    table, rows = (
        pa.table(columns),
        b"".join(f"{CANARY},0,{k},1,40,{CANARY}\n".encode() for k in range(3)),
    )
    made = {".csv.gz": gzip.compress(HEADER + rows), ".tsv": (HEADER + rows).replace(b",", b"\t")}
    sink = pa.BufferOutputStream()
    feather.write_feather(table, sink, compression="uncompressed")
    book, saved = openpyxl.Workbook(), io.BytesIO()
    for row in (NAMES, *zip(*columns.values(), strict=True)):
        book.active.append(list(row))
    book.save(saved)
    return made | {".feather": sink.getvalue().to_pybytes(), ".xlsx": saved.getvalue()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def statistical(folder):
    frame = pa.table(
        {name: [CANARY] * 3 if name in {"id", "arm"} else [1.0, 2, 3] for name in NAMES}
    ).to_pandas()
    pyreadstat.write_dta(frame, str(folder / "good.dta"))
    pyreadstat.write_sav(frame, str(folder / "good.sav"))
    return {ending: (folder / f"good{ending}").read_bytes() for ending in (".dta", ".sav")}


ENDINGS = [".csv.gz", ".tsv", ".feather", ".xlsx", ".dta", ".sav"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_good_files_are_read(folder, statistical, ending):
    assert use_table((files() | statistical)[ending], folder, ending)


@pytest.mark.parametrize("ending", ENDINGS)
@given(st.data())
@settings(max_examples=25)
def test_a_damaged_file_of_any_format(folder, statistical, ending, data):
    content = (files() | statistical)[ending]
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

RICH = {
    "person": "id",
    "time": {
        "duration": "time", "event": "status", "event_values": ["dead", "1"], "entry": "start", "unit": "days",
        "origin": 2.0, "first": 1.0, "horizon": 30.0, "intervals": 12,
    },
    "covariate": [
        {"name": "crea", "low": 0.3, "high": 15, "scale": "log", "missing": "indicator", "label": "Creatinine"},
        {"name": "age", "low": 20, "high": 90, "missing": 50, "typical": 60, "unit": "years", "scale": "spline:4"},
        {"name": "stage", "levels": ["I", "II"], "labels": ["one", "two"], "missing": "indicator", "typical": "II"},
    ],
    "interaction": [{"of": ["crea", "stage"]}],
    "strata": {"name": "hospital", "levels": ["A", "B"]},
    "page": {"title": "A", "description": ["One.", "Two."], "event": "death", "language": "en", "licence": "CC0"},
}  # fmt: skip
DATED = RICH | {
    "time": {
        "start": "from", "end": "to", "date_format": "%d/%m/%Y", "event": "status", "unit": "years",
        "causes": {"cancer": [1, "c"], "other": ["o"]}, "horizon": 5.0, "intervals": 10,
    },
}  # fmt: skip
EDGED = RICH | {"time": {"duration": "time", "event": "status", "edges": [0, 1, 2.5, 7]}}
RICHES = [RICH, DATED, EDGED]
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
    """Refused in a sentence, or grids go up and everybody's vector is at most 1 long."""
    number, path = where
    mapping = changed(RICHES[number], path, value)
    if use_mapping(mapping):
        require_bounded(Schema.from_mapping(mapping))


EXTREMES = [
    None,
    0.0,
    -0.0,
    5e-324,
    1.0,
    -1.0,
    14.999999999999998,
    1e150,
    1e308,
    float("inf"),
    float("nan"),
    "II",
    "?",
]


def require_bounded(public):
    edges = TimeGrid.of(public.time).edges
    assert np.all(np.diff(edges) > 0)
    assert np.all(np.isfinite(edges))
    try:
        public.require_bounds()
    except SchemaError as error:
        require_a_sentence(error)
        return
    columns = {}
    for place, item in enumerate(public.covariates):
        bounds = item.bounds if hasattr(item, "bounds") else ()
        values = [*EXTREMES, *bounds, *(sum(bounds) / 2 for _ in bounds)]
        columns[item.name] = [
            repr(one) if isinstance(one, float) else one or "" for one in np.roll(values, place)
        ][:13]
    vectors = encode_covariates(
        pa.table({name: pa.array(map(str, one)) for name, one in columns.items()}), public
    )
    assert np.all(np.sum(vectors * vectors, axis=1) <= 1.0)


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
    mapping = changed(DATED, ("time", "date_format"), date_format)
    if use_mapping(mapping):
        assert all(isinstance(read_date(text, date_format), float) for text in texts)


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
    (folder / "sites.toml").write_bytes(content)
    with pytest.raises(DiscreetError) as refused:
        Sites.read(folder / "sites.toml")
    require_a_sentence(refused.value)


class Exchange:
    """A mesh whose other sites say what a test gives them."""

    def __init__(self, *others):
        self.others = others

    def exchange(self, payload):
        return [payload, *self.others]


MESSAGE = {
    "facts": {"numpy": "1.0", "the schema's time": "0" * 64},
    "persons": 10,
    "release_id": "r1",
}


@given(st.sampled_from([(), *places(MESSAGE)]), ODD)
@example(("facts",), {"\x1b[2J": "x"})
@example(("facts",), {f"{k}" + "x" * 5000: "x" for k in range(20)})
@example(("persons",), 10**19)
@example(("release_id",), "\ud800")
def test_an_odd_message_stops_before_a_charge(path, value):
    odd = serialised(changed(MESSAGE, path, value) if path else {} if value is ... else value)
    said = None
    try:
        found = agree(Exchange(odd), MESSAGE["facts"], 10, "r1")
    except FederationError as error:
        require_a_sentence(error)
        said = str(error)
    assert found.total > 10 if said is None else said.endswith("Nothing was charged.")


@given(st.binary(max_size=40))
def test_odd_bytes_of_a_site_are_a_difference(odd):
    for check in (
        lambda: agree(Exchange(odd), {}, 10, "r1"),
        lambda: compare(Exchange(odd), "the plan", b"\0" * 41),
    ):
        with pytest.raises(FederationError) as refused:
            check()
        require_a_sentence(refused.value)


class Owner:
    """A mesh that notes what a connection tells it."""

    def __init__(self):
        self.told = []

    def admit(self, _connection, _der):
        return True

    def greeted(self, _connection):
        self.told.append("greeted")

    def lost(self, _connection):
        self.told.append("lost")

    def broken(self, _connection, reason):
        self.told.append(reason)


def connected():
    owner = Owner()
    connection = Connection(owner)
    connection.admitted = True
    return connection, owner


@given(st.lists(st.binary(max_size=40), max_size=8))
@settings(max_examples=150)
@example([struct.pack("<qI", HELLO, 3) + b"abc"])
@example([struct.pack("<qI", -3, 0)])
@example([struct.pack("<qI", 5, 2**32 - 1)])
def test_frames_of_odd_bytes_end_in_nothing_or_a_stop(pieces):
    connection, owner = connected()
    for piece in pieces:
        connection.data_received(piece)
    connection.connection_lost(None)
    assert all(isinstance(text, str) for text in owner.told)
    assert len(connection._arrived) <= LARGEST_MESSAGE


def test_frames_arrive_however_they_are_cut():
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


@cache
def curves() -> dict:
    made = ds.Curves(schema(), by="arm").publish(
        cohort(people=80), epsilon=2.0, ledger=ds.NO_LEDGER
    )
    mapping: dict = made.to_mapping()
    return mapping


def use(content: bytes, texts) -> bool:
    """Read a release, show its texts and page as commands do; False if it was refused."""
    try:
        found = curves_release._from_mapping(parse_strict(content))
        assert all(map(str.isprintable, texts(found)))
        with patch.object(page, "_charts", str):  # the library of charts is large and fixed
            page.make_page(found)
    except DiscreetError as error:
        require_a_sentence(error)
        return False
    return True


def use_curves(content: bytes) -> bool:
    return use(content, lambda found: [*found.lines, *chain.from_iterable(found.table())])


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
        assert is_valid(json.loads(content), release_schema())


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


@cache
def all_causes() -> dict:
    """A private release of two causes."""
    table, mapping = cohort(people=120), schema().to_mapping()
    mapping["time"]["causes"] = {"one": ["1"], "two": ["2"]}
    happened = table["status"].to_pylist()
    causes = [str(1 + place % 2) if event else "0" for place, event in enumerate(happened)]
    table = table.set_column(table.column_names.index("status"), "status", pa.array(causes))
    model = ds.CompetingRisks(mapping)
    model.publish(table, mechanism=ds.PrivateNewton(epsilon=2.0), ledger=ds.NO_LEDGER)
    found: dict = model.release_.to_mapping()
    return found


def use_causes(content: bytes) -> bool:
    return use(content, lambda found: summarise_causes(found).splitlines())


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
])  # fmt: skip
def test_odd_causes_are_told_or_shown(path, value):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        use_causes(serialised(changed(all_causes(), path, value)))


def test_the_causes_themselves_are_fine():
    assert use_causes(serialised(all_causes()))

"""Whatever a file holds: a typed error in one printable sentence, or it works; never a secret."""

import csv
import io
import logging
import sys

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet

import discreet as ds
from discreet.cli import main
from discreet.design import schema as schemas
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.schema import Schema
from discreet.documents import strict
from discreet.engine.stream import StreamEngine, check_files
from discreet.errors import LONGEST_TEXT, DataFormError, DiscreetError, SchemaError, SettingsError
from discreet.ledger import NullLedger, ReleaseRequest
from discreet.mechanisms import PrivateNewton
from discreet.paper import SanitizedExponential
from discreet.people import files, tables
from discreet.people.encode import to_episodes
from discreet.privacy.guarantee import Guarantee
from discreet.release import Order
from tests.cohorts import cohort, schema
from tests.hostile import (
    CANARY,
    HEADER,
    SCHEMA,
    changed,
    documents,
    parquet_file,
    places,
    serialised,
    use_document,
    use_mapping,
    use_schema,
    use_table,
)

NAMES = [
    "=cmd|' /C calc'!A0",
    "[bold red]x[/bold red]",
    "<script>alert(1)</script>",
    "'; DROP TABLE entry; --",
    "{{ 7 * 7 }}",
    "%s%n%s",
    r"$\frac{1}{$",
    'a"b,c;d',
    "| `code` | *bold*",
]

# --- models and releases

ODD = st.one_of(
    st.just(...), st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.text(max_size=8),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e308, -1e308, 5e-324, "\ud800", "\x1b[2J", "a\nb", "x" * 5000, [], {}, [[]], [[1.0]]]),
    st.recursive(st.integers(), lambda inner: st.lists(inner, max_size=2), max_leaves=4),
)  # fmt: skip
PLACES = st.deferred(  # releases are made when a test asks for them
    lambda: st.sampled_from([(n, place) for n in range(3) for place in places(documents()[n])])
)


@given(PLACES, ODD)
@example((1, ("mechanism",)), {})
@example((1, ("mechanism", "epsilon")), 5e-324)
@example((1, ("mechanism", "ridge")), 1e308)
@example((1, ("mechanism", "survival")), 5e-324)
@example((1, ("grid_exponent",)), 2**63)
@example((0, ("internal", "baseline", 1)), 1e308)
@example((0, ("uncertainty", "standard_errors", "baseline", 0)), 0)
@example((2, ("mechanism", "epsilon")), 1e308)
@example((2, ("released", "life_table")), "x")
@example((2, ("released", "life_table", 0)), [[]])
@example((2, ("released", "covariance", 0, 1)), -1e308)
@example((2, ("release_id",)), "\ud800")
@example((2, ("release_id",)), "\x1b[2J")
@example((2, ("library_version",)), "\u202e")
@example((2, ("warnings",)), ["\x1b]0;owned\x07"])
@example((2, ("mechanism", "name")), "\x1b[2J")
@example((2, ("details",)), {"\x1b[2J": 1})
@example((0, ("fit", "notes")), ["a\nb"])
def test_a_document_with_one_odd_member(place, value):
    number, path = place
    use_document(serialised(changed(documents()[number], path, value)))


@given(st.integers(0, 2), st.integers(0, 10**6), st.binary(min_size=1, max_size=4))
def test_a_document_with_a_few_odd_bytes(number, position, odd):
    content = serialised(documents()[number])
    start = position % len(content)
    use_document(content[:start] + odd + content[start + len(odd) :])


def test_the_documents_themselves_are_fine():
    assert all(use_document(serialised(document)) for document in documents())


# --- schemas

TOML = schema().to_mapping()
KEYS = ["person", "time", "covariate", "name", "levels", "low", "high", "duration", "intervals"]
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.sampled_from(places(TOML)), VALUES)
def test_a_schema_with_one_odd_member(path, value):
    use_mapping(changed(TOML, path, value))


@given(st.binary(max_size=40))
@example(b"[" * 20_000)
@example(b"a = " + b"[" * 20_000)
@example(b"[time]\nhorizon = 1e999\n")
@example(b'"\\u001b[2J" = 1\n')
def test_a_schema_of_odd_bytes(tmp_path_factory, content):
    use_schema(content, tmp_path_factory.getbasetemp())


# --- tables

FIELD = st.one_of(
    st.sampled_from([CANARY, f'"{CANARY}', f"{CANARY}\x00", f"{CANARY},1", "1", "", "a", "1e999"]),
    st.text(max_size=5),
)


@given(st.lists(st.lists(FIELD, min_size=1, max_size=8), max_size=5), st.binary(max_size=6))
def test_a_table_of_odd_fields_is_never_quoted(tmp_path_factory, rows, tail):
    body = "\n".join(",".join(row) for row in rows).encode(errors="surrogatepass")
    use_table(HEADER + body + tail, tmp_path_factory.getbasetemp())


@given(st.binary(max_size=60))
def test_a_table_of_odd_bytes(tmp_path_factory, content):
    folder = tmp_path_factory.getbasetemp()
    use_table(content, folder)
    use_table(content, folder, ".parquet")


@given(st.integers(0, 5000), st.binary(min_size=1, max_size=8))
def test_a_damaged_parquet_file(tmp_path_factory, position, odd):
    content = parquet_file()
    start = position % len(content)
    damaged = content[:start] + odd + content[start + len(odd) :]
    use_table(damaged, tmp_path_factory.getbasetemp(), ".parquet")


def test_a_column_that_is_not_named_in_utf8(tmp_path):
    content = parquet_file().replace(b"start", b"s\xf2art")
    assert not use_table(content, tmp_path, ".parquet")
    with pytest.raises(DataFormError, match="cannot be read as Parquet"):
        check_files((tmp_path / "people.parquet",), schema(person=True, entry=True))


def test_a_damaged_file_stops_a_stream_in_our_own_words(tmp_path):
    content = bytearray(parquet_file())
    content[4:40] = b"\xff" * 36
    (tmp_path / "people.parquet").write_bytes(content)
    engine = StreamEngine((tmp_path / "people.parquet",), schema(person=True, entry=True))
    with pytest.raises(DataFormError) as refused:
        list(engine.tables())
    assert CANARY not in str(refused.value)


COMMANDS = [
    "fit people.csv --schema schema.toml --mechanism none --out model.json",
    "fit people.csv --schema schema.toml --mechanism output --epsilon 1 --no-ledger --out model.json",
    "predict old.json people.csv --times 6 --out out.csv",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("body", [f"{CANARY},{CANARY},{CANARY},{CANARY}\n" * 9, f'1,"{CANARY}\n'])
def test_commands_say_nothing_of_the_data(tmp_path, monkeypatch, capsys, caplog, command, body):
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "people.csv").write_text(f"time,status,age,arm\n{body}")
    model = ds.SurvivalRegression(tmp_path / "schema.toml", ridge=0.1, link="logit")
    with pytest.warns(ds.warnings.RepairWarning):
        model.fit(cohort(people=50)).save(tmp_path / "old.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["discreet", *command.split()])
    with caplog.at_level(logging.DEBUG), pytest.raises(SystemExit):
        main()
    said = capsys.readouterr()
    assert CANARY not in said.out + said.err + caplog.text


# --- names


def named(name):
    mapping = schema().to_mapping()
    mapping["covariate"][0]["name"] = name
    return Schema.from_mapping(mapping)


def test_hostile_names_are_only_names(tmp_path, monkeypatch, capsys):
    columns = [{"name": name, "low": 20, "high": 90} for name in NAMES]
    mapping = schema().to_mapping() | {"person": NAMES[0] + "id", "covariate": columns}
    table = cohort(people=80)
    given = dict.fromkeys(NAMES, table["age"]) | {mapping["person"]: [str(k) for k in range(80)]}
    table = pa.table({"time": table["time"], "status": table["status"], **given})
    model = ds.SurvivalRegression(mapping, ridge=0.1, link="logit").fit(table)
    # at 80 columns long names would go on below themselves
    shown = "\n".join(model.summary().blocks(200))
    assert all(f"\n{name} " in shown for name in NAMES)
    model.plot().savefig(tmp_path / "plot.png")
    model.save(tmp_path / "model.json")
    parquet.write_table(table, tmp_path / "people.parquet")
    monkeypatch.chdir(tmp_path)
    words = "predict model.json people.parquet --times 6 --out out.csv"
    monkeypatch.setattr(sys, "argv", ["discreet", *words.split()])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    capsys.readouterr()
    heading = next(csv.reader(io.StringIO((tmp_path / "out.csv").read_text())))[0]
    assert heading == f"'{mapping['person']}"  # no formula to a spreadsheet


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\nb", "a‮b", "a\x00"])  # noqa: PLE2502 - the point
def test_a_name_that_steers_a_terminal_is_refused(name):
    with pytest.raises(DiscreetError, match="control characters"):
        named(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_description_is_kept_by_the_ledger_as_it_is(ledger_file, name):
    ledger_file.reserve(ReleaseRequest("first", Guarantee(0.5), name))
    assert [line.request.description for line in ledger_file.show().charges] == [name]
    assert ledger_file.verify().sound


@pytest.fixture
def ledger_file(tmp_path):
    from discreet.ledger import Ledger  # noqa: PLC0415

    found = Ledger(tmp_path / "ledger")
    found.initialise("'; DROP TABLE entry; --", 1)
    return found


# --- limits


def test_texts_have_a_length(tmp_path):
    with pytest.raises(DiscreetError) as refused:
        Schema.from_mapping({"x" * 10**6: 1})
    assert len(str(refused.value)) <= LONGEST_TEXT + 4


LIMITS = {
    "a grid too fine for the baseline": lambda: Design(
        schema(intervals=1_000_000), NaturalSpline(1000)
    ),
    "more persons than there are": lambda: Order(
        PrivateNewton(epsilon=1.0), schema(), "logit", NaturalSpline(3)
    ).plan(10**11),
    "an epsilon beyond formulas": lambda: PrivateNewton(epsilon=1e-300),
    "an epsilon that is no float": lambda: PrivateNewton(epsilon=10**400),
    "a sampler of other settings": lambda: SanitizedExponential(epsilon=1.0, sampler={"x": 1}),
    "more intervals than a million": lambda: schema(intervals=1_000_001),
    "a name that is too long": lambda: named("x" * 201),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_told(name):
    with pytest.raises((SettingsError, SchemaError)) as refused:
        LIMITS[name]()
    assert str(refused.value).isprintable()


def test_a_first_line_has_a_length(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_HEADER", 30)
    (tmp_path / "long.csv").write_text("a," * 20 + "\n")
    (tmp_path / "open.csv").write_text('"a,' + "1\n" * 20)
    for name in ("long.csv", "open.csv"):
        with pytest.raises(DataFormError, match="does not end within 30 characters"):
            to_episodes(tmp_path / name, schema())


def test_a_table_has_a_number_of_rows(monkeypatch):
    monkeypatch.setattr(tables, "MOST_ROWS", 50)
    with pytest.raises(DataFormError, match="more than 50 rows"):
        to_episodes(cohort(people=51), schema())


def test_files_have_sizes_that_a_reader_survives():
    assert strict.LARGEST_FILE <= 1 << 25
    assert strict.DEEPEST_NESTING <= 20
    assert schemas.MAX_FILE_BYTES <= 1 << 20


def test_the_null_ledger_takes_hostile_descriptions():
    assert NullLedger().reserve(ReleaseRequest("a", Guarantee(1.0), NAMES[0])).head == "no ledger"

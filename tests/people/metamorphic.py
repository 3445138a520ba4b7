"""From raw bytes to the integers before noise, for every container, engine and kind of id.

People are lists of rows; a container makes a table or file of them, an engine adds up their
integers.  What must hold: the sum over everybody is the sum of what each person gives alone, so
that replacing one person moves it by that person's own difference, within the claimed bound.

A new container is one entry in `CONTAINERS`, a new engine one in `ENGINES`.
"""

import csv
import gzip
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import feather, parquet

from discreet.core.bins import (
    DIAGONAL,
    Stretches,
    marginals_of,
    stretches_of,
    time_edges,
)
from discreet.core.cells import block_exits, block_marginals, block_moments
from discreet.core.people import Levels
from discreet.core.scores import LARGEST, JointScores, Whitened, block_scores
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.engine.stream import StreamEngine
from discreet.people.databases import Query
from discreet.people.encode import to_episodes

COLUMNS = ("id", "start", "stop", "event", "age", "sex")
Row = tuple[Any, ...]
Person = tuple[Row, ...]
SCHEMA = Schema.from_mapping(
    {
        "person": "id",
        "time": {
            "duration": "stop",
            "event": "event",
            "entry": "start",
            "horizon": 10.0,
            "intervals": 20,
        },
        "covariate": [
            {"name": "age", "low": 20, "high": 90},
            {"name": "sex", "levels": ["F", "M", "X"]},
        ],
    }
)

MOMENT_LIMIT = 3 << 20
STRETCHES = stretches_of(SCHEMA.time.intervals, 3, pure=False)
WHOLE = Stretches((0, SCHEMA.time.intervals), weight=64)
LARGE = 1_700_000_000_000_000_000

# ------------------------------------------------------------------------------ the ids

IDS: dict[str, list[Any]] = {
    "small": [4, 1, 2, 300, 7, 8],
    "large": [LARGE + k for k in (0, 1, 2, 3, 100, 101)],
    "negative": [-1, -LARGE, -LARGE - 1, 5, 0, -2],
    "beyond 64 bits": [2**64, 2**64 + 1, 2**70 + 1, 3, -(2**63) - 1, 2**66 + 3],
    "unsigned": [2**63, 2**63 + 1, 2**64 - 1, 1, 2**63 - 1, 2**63 + 7],
    "doubles": [0.5, 1e300, 2.0**53, 2.0**53 + 2, -7.25, 2.0**63],
    "whole doubles": [1.0, 2.0, 3.0, 4.0, 1e15, -0.0],
    "decimals": [Decimal(text) for text in ("0.1", "0.11", "7.00", "3", "1e20", "0.125")],
    "texts": ["a", "ä", "p 3", "7", "7.0", "A"],
    "padded texts": [" a", "b ", "\tc", "d\r", "\u00a0", "e\x00"],
    "long texts": ["x" * size for size in (600, 601, 512, 8, 9, 513)],
    "mixed": [7, "7", 7.5, Decimal("7.25"), "seven", 2**60 + 1],
}
"""Five people and a free id, all different by the rule."""

ALIKE: dict[str, list[tuple[Any, Any]]] = {
    "signed zeros": [(0.0, -0.0)],
    "padding": [("a", " a\t"), ("b c", "b c \n")],
    "number types": [(7, 7.0), (Decimal("7.00"), 7), (True, 1), (2**63, float(2**63))],
}
"""Pairs of ids that are one person, and what is different though it looks alike."""

MISSING = [None, float("nan"), "", "  ", " NA ", ".", "null"]

DIFFERENT = [("7", 7), ("7", "7.0"), ("a", "A"), (LARGE, LARGE + 1), (0.1, Decimal("0.1")), ("", 0)]


def person_key(value: Any, alone: int) -> tuple[str, Any]:
    """Who a raw id is, written down a second time; `alone` is a number of the row."""
    if value is None or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN
        return "alone", alone
    if isinstance(value, str):
        words = {"", ".", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "none"}
        text = value.strip(" \t\n\r\v\f")
        return ("alone", alone) if text in words else ("text", text)
    infinite = isinstance(value, float) and abs(value) == float("inf")
    return "number", value if infinite else Fraction(value)


# ------------------------------------------------------------------- people and what becomes of them


def make_people(ids: Sequence[Any]) -> list[Person]:
    """One to three adjacent rows per person."""
    random = np.random.default_rng(len(ids))
    people = []
    for number, name in enumerate(ids):
        starts = [0.0, 3.0, 6.5][: 1 + number % 3]
        people.append(
            tuple(
                (name, start, start + 1.5 + number / 4, number % 2, float(age), "FMX"[number % 3])
                for start, age in zip(starts, random.integers(20, 90, 3), strict=False)
            )
        )
    return people


def replacements(name: Any, other: Any) -> Iterator[Person]:
    """What may come in the place of a person called `name`: anything; `other` is a free id."""
    nan, inf = float("nan"), float("inf")
    yield ((None, 0.0, 9.0, 1, 88.0, "M"),)
    yield ((other, 0.0, 9.5, 1, 20.0, "X"),)
    yield ((name, nan, nan, None, nan, None),)
    yield ((name, -inf, inf, 1, 1e308, "?"), (name, 2.0, 1.0, 0, -inf, ""))
    yield tuple((other, float(k), k + 2.5, 1, 50.0 + k, "F") for k in range(8))
    # other types in every other column: the whole column may then have another type
    yield ((name, "0", "7.5", "true", "old", "M"),)
    yield ((other, True, 5, 1.0, "1e3", "F"), (other, None, "", "no", 30, "X"))


@dataclass(frozen=True)
class Held:
    """A container's table or file, and the ids that it holds, in order."""

    data: Any
    ids: list[Any]


class NotHeld(Exception):  # noqa: N818 - not an error
    """The container cannot hold such values."""


def _columns(people: Sequence[Person]) -> dict[str, list[Any]]:
    rows = [row for person in people for row in person]
    return {name: [row[at] for row in rows] for at, name in enumerate(COLUMNS)}


def _array(name: str, values: list[Any]) -> pa.Array:
    """In arrow's own types, as a careful writer has them; mixed ids are nothing for arrow."""
    if name == "id":
        known = [value for value in values if value is not None]
        if len({isinstance(value, str) for value in known}) > 1:
            raise NotHeld
        if any(isinstance(value, float) for value in known):
            if any(isinstance(value, int) and abs(value) > 2**53 for value in known):
                raise NotHeld
            values = [None if value is None else float(value) for value in values]
        elif any(isinstance(value, int) and value >= 2**63 for value in known):
            if any(isinstance(value, int) and not 0 <= value < 2**64 for value in known):
                values = [None if value is None else Decimal(value) for value in values]
            else:
                return pa.array(values, pa.uint64())
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        raise NotHeld from None


def arrow(people: Sequence[Person], _folder: Path) -> Held:
    columns = _columns(people)
    table = pa.table({name: _array(name, values) for name, values in columns.items()})
    return Held(table, table.column("id").to_pylist())


def arrow_chunks(people: Sequence[Person], folder: Path) -> Held:
    """In pieces, one of them a dictionary's."""
    held = arrow(people, folder)
    pieces = [held.data.slice(at, 2) for at in range(0, held.data.num_rows, 2)]
    return Held(pa.concat_tables(pieces), held.ids)


def arrow_dictionary(people: Sequence[Person], folder: Path) -> Held:
    held = arrow(people, folder)
    ids = held.data.column("id").combine_chunks()
    if pa.types.is_decimal(ids.type):
        raise NotHeld
    return Held(held.data.set_column(0, "id", ids.dictionary_encode()), held.ids)


def parquet_file(people: Sequence[Person], folder: Path) -> Held:
    held = arrow(people, folder)
    parquet.write_table(held.data, folder / "people.parquet")
    return Held(folder / "people.parquet", held.ids)


def parquet_files(people: Sequence[Person], folder: Path) -> Held:
    """One file per person, each with the types that its rows alone have."""
    ids: list[Any] = []
    for number, person in enumerate(people):
        held = arrow([person], folder)
        parquet.write_table(held.data, folder / f"part{number:03}.parquet")
        ids += held.ids
    return Held(folder, ids)


def csv_file(people: Sequence[Person], folder: Path) -> Held:
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        rows = [["" if v is None else v for v in row] for person in people for row in person]
        writer.writerows(rows)
    return Held(folder / "people.csv", [str(row[0]) for row in rows])


def tsv_file(people: Sequence[Person], folder: Path) -> Held:
    held = csv_file(people, folder)
    with held.data.open(newline="") as file:
        rows = list(csv.reader(file))
    with (folder / "people.tsv").open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows(rows)
    return Held(folder / "people.tsv", held.ids)


def packed_csv_file(people: Sequence[Person], folder: Path) -> Held:
    held = csv_file(people, folder)
    (folder / "people.csv.gz").write_bytes(gzip.compress(held.data.read_bytes()))
    return Held(folder / "people.csv.gz", held.ids)


def feather_file(people: Sequence[Person], folder: Path) -> Held:
    held = arrow(people, folder)
    feather.write_feather(held.data, str(folder / "people.feather"))
    return Held(folder / "people.feather", held.ids)


def workbook_file(people: Sequence[Person], folder: Path) -> Held:
    """A workbook holds doubles and texts; what else would be another id there."""
    import openpyxl  # noqa: PLC0415 - an extra

    rows = [[_workbook_cell(value) for value in row] for person in people for row in person]
    book = openpyxl.Workbook()
    for row in (list(COLUMNS), *rows):
        book.active.append(row)
    book.save(folder / "people.xlsx")
    return Held(folder / "people.xlsx", [row[0] for row in rows])


def _workbook_cell(value: Any) -> Any:
    if isinstance(value, str):
        if not value.isprintable() or value.startswith("="):
            raise NotHeld
        return value or None
    if value is None:
        return None
    number = float(value)
    if not np.isfinite(number):
        return None
    if Fraction(value) != Fraction(repr(number)) or abs(number) > 2**53:
        raise NotHeld
    return number


def stata_file(people: Sequence[Person], folder: Path) -> Held:
    return _statistical(people, folder / "people.dta", "write_dta")


def spss_file(people: Sequence[Person], folder: Path) -> Held:
    return _statistical(people, folder / "people.sav", "write_sav")


def _statistical(people: Sequence[Person], path: Path, writer: str) -> Held:
    """Doubles or texts, as each column is declared."""
    import pyreadstat  # noqa: PLC0415 - an extra

    frame = pd.DataFrame({name: _declared(v) for name, v in _columns(people).items()})
    getattr(pyreadstat, writer)(frame, str(path))
    return Held(path, frame["id"].tolist())


def _declared(values: list[Any]) -> list[Any]:
    """The values of one column, all texts or all doubles; `NotHeld` where they are neither."""
    known = [value for value in values if value is not None and value == value]  # noqa: PLR0124
    texts = [isinstance(value, str) for value in known]
    if any(texts):
        plain = all(texts) and all(v.isascii() and v.isprintable() and len(v) < 200 for v in known)
        if not plain:
            raise NotHeld
        return [value if isinstance(value, str) else "" for value in values]
    exact = (abs(v) <= 2**53 and Fraction(v) == Fraction(float(v)) for v in known)
    if not all(exact):
        raise NotHeld
    return [np.nan if value is None else float(value) for value in values]


def pandas_numpy(people: Sequence[Person], _folder: Path) -> Held:
    """As pandas makes it of lists: integers with a gap are doubles, which is where we begin."""
    frame = pd.DataFrame(_columns(people))
    return Held(frame, frame["id"].tolist())


def pandas_object(people: Sequence[Person], _folder: Path) -> Held:
    columns = _columns(people)
    series = {name: pd.Series(values, dtype=object) for name, values in columns.items()}
    return Held(pd.DataFrame(series), columns["id"])


def pandas_nullable(people: Sequence[Person], folder: Path) -> Held:
    return _through_arrow(people, folder, "numpy_nullable")


def pandas_arrow(people: Sequence[Person], folder: Path) -> Held:
    return _through_arrow(people, folder, "pyarrow")


def _through_arrow(people: Sequence[Person], folder: Path, backend: str) -> Held:
    held = arrow(people, folder)
    parquet.write_table(held.data, folder / "through.parquet")
    return Held(pd.read_parquet(folder / "through.parquet", dtype_backend=backend), held.ids)


def polars(people: Sequence[Person], folder: Path) -> Held:
    held = arrow(people, folder)
    return Held(pl.from_arrow(held.data), held.ids)


def lazy_polars(people: Sequence[Person], folder: Path) -> Held:
    held = polars(people, folder)
    return Held(held.data.lazy(), held.ids)


class Capsules:
    """Nothing but Arrow's C interface, as a library of which we have not heard."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def arrow_capsules(people: Sequence[Person], folder: Path) -> Held:
    held = arrow_chunks(people, folder)
    return Held(Capsules(held.data), held.ids)


def arrow_batch(people: Sequence[Person], folder: Path) -> Held:
    held = arrow(people, folder)
    return Held(held.data.combine_chunks().to_batches()[0], held.ids)


def arrow_reader(people: Sequence[Person], folder: Path) -> Held:
    """A stream that can be read once, two rows at a time."""
    held = arrow(people, folder)
    return Held(held.data.to_reader(max_chunksize=2), held.ids)


def duckdb_relation(people: Sequence[Person], folder: Path) -> Held:
    import duckdb  # noqa: PLC0415 - an extra

    held = arrow(people, folder)
    return Held(duckdb.connect().from_arrow(held.data), held.ids)


def duckdb_reader(people: Sequence[Person], folder: Path) -> Held:
    held = duckdb_relation(people, folder)
    return Held(held.data.to_arrow_reader(2), held.ids)


def duckdb_query(people: Sequence[Person], folder: Path) -> Held:
    import duckdb  # noqa: PLC0415 - an extra

    held = arrow(people, folder)
    with duckdb.connect(str(folder / "people.duckdb")) as database:
        database.from_arrow(held.data).create("people")
    return Held(Query(f"duckdb:///{folder}/people.duckdb", "SELECT * FROM people"), held.ids)


def ibis_table(people: Sequence[Person], folder: Path) -> Held:
    import ibis  # noqa: PLC0415 - for tests alone

    held = duckdb_query(people, folder)
    return Held(ibis.duckdb.connect(folder / "people.duckdb").table("people"), held.ids)


def sqlite_query(people: Sequence[Person], folder: Path) -> Held:
    """Values as they are, in columns without a type; NaN is no value there."""
    rows = [row for person in people for row in person]
    with closing(sqlite3.connect(folder / "people.sqlite")) as database, database:
        database.execute(f"CREATE TABLE people ({', '.join(COLUMNS)})")
        try:
            database.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", rows)
        except (OverflowError, sqlite3.Error):
            raise NotHeld from None
        ids = [row[0] for row in database.execute("SELECT id FROM people")]
    return Held(Query(f"sqlite:///{folder}/people.sqlite", "SELECT * FROM people;"), ids)


Container = Callable[[Sequence[Person], Path], Held]
CONTAINERS: dict[str, Container] = {
    container.__name__: container
    for container in (
        *(arrow, arrow_chunks, arrow_dictionary, parquet_file, csv_file),
        *(tsv_file, packed_csv_file, feather_file, workbook_file, stata_file, spss_file),
        *(pandas_numpy, pandas_object, pandas_nullable, pandas_arrow, polars, lazy_polars),
        *(arrow_capsules, arrow_batch, arrow_reader, duckdb_relation, duckdb_reader, ibis_table),
        *(duckdb_query, sqlite_query),
    )
}

# ------------------------------------------------------------------------------ the engines


def in_memory(held: Held) -> LocalEngine:
    return LocalEngine(to_episodes(held.data, SCHEMA))


def in_blocks(held: Held) -> LocalEngine:
    return LocalEngine(to_episodes(held.data, SCHEMA), threads=3)


def streamed(held: Held) -> StreamEngine:
    return StreamEngine(_files(held), SCHEMA)


def streamed_in_pieces(held: Held) -> StreamEngine:
    return StreamEngine(_files(held), SCHEMA, rows_a_block=2)


def _files(held: Held) -> tuple[Path, ...]:
    return (held.data,) if held.data.is_file() else tuple(sorted(held.data.glob("part*.parquet")))


ENGINES: dict[str, tuple[Callable[[Held], Any], dict[str, Container]]] = {
    "in memory": (in_memory, CONTAINERS),
    "in blocks": (in_blocks, {"arrow": arrow}),
    "streamed": (streamed, {"parquet_file": parquet_file, "parquet_files": parquet_files}),
    "streamed in pieces": (streamed_in_pieces, {"parquet_file": parquet_file}),
}
"""Each engine, and the containers that it reads."""

CASES = [(engine, name) for engine, (_, held) in ENGINES.items() for name in held]

# ------------------------------------------------------------------------- integers before noise


@cache
def design() -> Design:
    return Design(SCHEMA, NaturalSpline(2))


@cache
def scores() -> tuple[JointScores, Levels]:
    """Everybody walks: a fixed public point, whitened by a fixed public map."""
    random = np.random.default_rng(5)
    size = design().dimension
    point, mapping = (
        random.normal(size=size) / 4,
        np.eye(size) + random.normal(size=(size, size)) / 9,
    )
    return JointScores((Whitened(design(), get_link("logit"), point, mapping, 1.5),)), Levels()


def integer_sums(engine: Any) -> dict[str, np.ndarray]:
    """Everything that private Newton adds noise to, at fixed public arguments."""
    edges, marginals = time_edges(SCHEMA.time.intervals, 5), marginals_of(design(), 8)
    centre, spread = np.full(3, 0.1), np.full(3, 0.2)
    asked = {
        "exits": (block_exits, edges, 1, 3, 1),
        "marginals": (block_marginals, marginals, STRETCHES),
        "moments": (block_moments, centre, spread, MOMENT_LIMIT, WHOLE),
        "scores": (block_scores, *scores()),
    }
    return {name: engine.reduce(*call)[0] for name, call in asked.items()}


SQUARED = {
    "exits": 2 * 2,
    "marginals": 2 * 2 * STRETCHES.square,
    "moments": 2 * (DIAGONAL * WHOLE.weight * MOMENT_LIMIT) ** 2,
    "scores": (2 * LARGEST) ** 2,
}
"""The squared distance that the proof claims for replacing one person."""


def alone(person: Person) -> dict[str, np.ndarray]:
    """What one person adds, of Python's own objects, with nobody else around."""
    key = repr(person)  # NaN does not equal itself, its text does
    if key not in _ALONE:
        held = pandas_object([person], Path())
        _ALONE[key] = integer_sums(LocalEngine(to_episodes(held.data, SCHEMA), threads=1))
    return _ALONE[key]


_ALONE: dict[str, dict[str, np.ndarray]] = {}


def keys_of(held: Held) -> list[tuple[str, Any]]:
    return [person_key(value, row) for row, value in enumerate(held.ids)]


def keeps_people(people: Sequence[Person], held: Held) -> bool:
    """Whether the container keeps ids apart; pandas' doubles and a CSV file's 7 and "7" do not."""
    raw = [person_key(row[0], at) for at, row in enumerate(r for person in people for r in person)]
    pairs = set(zip(raw, keys_of(held), strict=True))
    return len(pairs) == len(set(raw)) == len(set(keys_of(held)))


def regrouped(people: Sequence[Person], held: Held) -> list[Person]:
    """The people whom a container's ids mean: the same rows under the keys of what it holds."""
    rows = [row for person in people for row in person]
    found: dict[Any, list[Row]] = {}
    for key, row in zip(keys_of(held), rows, strict=True):
        found.setdefault(key, []).append(("one", *row[1:]))
    return [tuple(person) for person in found.values()]


def check_sums(engine: Any, people: Sequence[Person], held: Held) -> dict[str, np.ndarray]:
    """n, and every sum, are those of the people one by one."""
    found, expected = integer_sums(engine), regrouped(people, held)
    assert engine.persons == len(expected)
    parts = [alone(person) for person in expected]
    for name, sums in found.items():
        assert sums.dtype == np.int64
        assert np.array_equal(sums, np.sum([part[name] for part in parts], axis=0)), name
    return found


def check_replacement(
    engine_name: str, container: Container, people: list[Person], new: Person, folder: Path
) -> None:
    """Replace the middle person by another."""
    check_replacements(engine_name, container, people, [new], folder)


def check_replacements(
    engine_name: str,
    container: Container,
    people: list[Person],
    others: Sequence[Person],
    folder: Path,
) -> None:
    """Replace the middle person: n stays, the others stay, the sums move by what is claimed.

    Skips what the container cannot hold.
    """
    make, place = ENGINES[engine_name][0], len(people) // 2
    before, exact = _sums_of(make, container, people, folder / "before")
    for number, new in enumerate(others):
        neighbours = [*people[:place], new, *people[place + 1 :]]
        try:
            after, also = _sums_of(make, container, neighbours, folder / str(number))
        except NotHeld:
            continue
        for name, bound in SQUARED.items() if exact and also else ():
            moved = [int(step) for step in before[name] - after[name]]
            assert sum(step * step for step in moved) <= bound, name


def _sums_of(
    make: Callable[[Held], Any], container: Container, people: list[Person], folder: Path
) -> tuple[dict[str, np.ndarray], bool]:
    """The checked sums, and whether the container keeps these people apart."""
    folder.mkdir(parents=True, exist_ok=True)
    held = container(people, folder)
    engine = make(held)
    sums, exact = check_sums(engine, people, held), keeps_people(people, held)
    assert engine.persons == len(people) or not exact
    return sums, exact

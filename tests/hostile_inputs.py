"""What can be read since 0.1.0: good files of every kind, and what may come of hostile ones.

`tests/test_hostile_inputs.py` tries them with hypothesis, `evidence/fuzz.py` with atheris.
"""

import gzip
import io
import tempfile
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyreadstat
from pyarrow import feather

import discreet as ds
from discreet.design.schema import Schema
from discreet.documents.read import document_of
from discreet.documents.strict import parse_strict
from discreet.errors import FederationError, SchemaError
from discreet.federation.agreement import agree
from discreet.federation.connection import LARGEST_MESSAGE, Connection
from discreet.federation.sites import Sites
from discreet.people.columns import read_date
from discreet.people.encode import encode_covariates
from discreet.results.description import summarise
from discreet.results.group_table import GroupTable
from tests.cohorts import cohort, schema
from tests.hostile import (
    CANARY,
    HEADER,
    draw_page,
    refusable,
    require_a_sentence,
    use_mapping,
    use_table,
)

NAMES = HEADER.decode().strip().split(",")


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


@cache
def statistical() -> dict[str, bytes]:
    """The same for Stata and SPSS."""
    table = pa.table(
        {name: [CANARY] * 3 if name in {"id", "arm"} else [1.0, 2, 3] for name in NAMES}
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = {ending: Path(folder) / f"good{ending}" for ending in (".dta", ".sav")}
        pyreadstat.write_dta(table.to_pandas(), str(paths[".dta"]))
        pyreadstat.write_sav(table.to_pandas(), str(paths[".sav"]))
        return {ending: path.read_bytes() for ending, path in paths.items()}


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
    edges = public.time.grid.edges
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


DATED_TABLE = f"""id,from,to,status,crea,age,stage,hospital
{CANARY},01/02/2020,05/06/2021,c,1.5,50,I,A
2,29/02/2020,,1,,,{CANARY},B
3,31/12/2019,01/01/2025,o,{CANARY},90,II,
""".encode()


def use_rich(mapping: dict) -> bool:
    """Refused in a sentence, or grids go up and everybody's vector is at most 1 long."""
    accepted = use_mapping(mapping)
    if accepted:
        require_bounded(Schema.from_mapping(mapping))
    return accepted


def use_dated(content: bytes, folder: Path) -> bool:
    """Read a table with dates, causes, strata and terms; nothing that is said holds the canary."""
    return use_table(content, folder, public=Schema.from_mapping(DATED))


def use_format(date_format: str, texts: list[str]) -> bool:
    """A format that is accepted reads every text."""
    mapping = {**DATED, "time": {**DATED["time"], "date_format": date_format}}
    accepted = use_mapping(mapping)
    if accepted:
        assert all(isinstance(read_date(text, date_format), float) for text in texts)
    return accepted


@refusable
def use_sites(content: bytes, folder: Path) -> None:
    """Read a list of sites."""
    (folder / "sites.toml").write_bytes(content)
    Sites.read(folder / "sites.toml")


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


def use_message(content: bytes) -> bool:
    """Another site's message: agreed with, or everybody stops before a charge."""
    said = ""
    try:
        assert agree(Exchange(content), MESSAGE["facts"], 10, "r1").total > 10
    except FederationError as error:
        require_a_sentence(error)
        said = str(error)
    assert not said or said.endswith("Nothing was charged.")
    return not said


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


def use_frames(pieces: list[bytes]) -> list[str]:
    """What a connection tells of bytes that arrive in pieces: nothing, or a stop."""
    connection, owner = connected()
    for piece in pieces:
        connection.data_received(piece)
    connection.connection_lost(None)
    assert all(isinstance(text, str) for text in owner.told)
    assert len(connection._arrived) <= LARGEST_MESSAGE
    return owner.told


@cache
def curves() -> dict:
    made = (
        ds.GroupCurves(schema(), by="arm")
        .publish(cohort(people=80), mechanism=ds.GroupCounts(2.0), ledger=ds.NO_LEDGER)
        .release_
    )
    mapping: dict = made.to_mapping()
    return mapping


@refusable
def use(content: bytes, texts) -> None:
    """Read a release, show its texts and page as commands do."""
    found = document_of(parse_strict(content))
    assert all(map(str.isprintable, texts(found)))
    draw_page(found)


def use_curves(content: bytes) -> bool:
    return use(
        content,
        lambda found: [*GroupTable(found).heading, *chain.from_iterable(GroupTable(found).rows())],
    )


@cache
def all_causes() -> dict:
    """A private release of two causes."""
    table, mapping = cohort(people=120), schema().to_mapping()
    mapping["time"]["causes"] = {"one": ["1"], "two": ["2"]}
    happened = table["status"].to_pylist()
    causes = [str(1 + place % 2) if event else "0" for place, event in enumerate(happened)]
    table = table.set_column(table.column_names.index("status"), "status", pa.array(causes))
    model = ds.SurvivalRegression(mapping, link="logit")
    model.publish(table, mechanism=ds.PrivateNewton(epsilon=2.0), ledger=ds.NO_LEDGER)
    found: dict = model.release_.to_mapping()
    return found


def use_causes(content: bytes) -> bool:
    return use(content, lambda found: str(summarise(found)).splitlines())

"""Hostile files: how they are made, and what may come of them.

`tests/test_hostile.py` tries them with hypothesis, `evidence/fuzz.py` with atheris.
"""

import copy
import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, wraps
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import discreet as ds
from discreet.audit.release import audit_document
from discreet.audit.run import Audit
from discreet.design.schema import Schema
from discreet.documents.curves import CurvesRelease
from discreet.documents.model import Release
from discreet.documents.read import document_of
from discreet.documents.strict import parse_strict
from discreet.errors import LONGEST_TEXT, DiscreetError
from discreet.ledger import UNCHARGED
from discreet.mechanisms import OutputPerturbation
from discreet.people.encode import encode_covariates, to_episodes
from discreet.people.repairs import count_repairs
from discreet.report import page
from discreet.results.description import summarise
from tests.cohorts import cohort, schema

CANARY = "canary-7f3a"
"""Stands in the data where a secret would; it must not be in anything that is said."""

HEADER = b"id,start,time,status,age,arm\n"
SCHEMA = """
time = { duration = "time", event = "status", horizon = 24.0, intervals = 12 }
covariate = [
    { name = "age", low = 20, high = 90 }, { name = "arm", levels = ["a", "b"] },
]
"""


@cache
def documents() -> tuple[dict, ...]:
    """A model that is not private and a release of each kind of content."""
    table, public = cohort(people=60), schema()
    plain = ds.SurvivalRegression(public, link="logit").fit(table).model_
    found = [plain.to_mapping()]
    for mechanism in (OutputPerturbation(epsilon=1.0), ds.PrivateNewton(epsilon=1.0)):
        model = ds.SurvivalRegression(public, link="logit")
        model.publish(table, mechanism=mechanism, ledger=ds.NO_LEDGER)
        found.append(model.release_.to_mapping())
    assert found[-1]["ledger"] == UNCHARGED
    return tuple(found)


def places(value: object, path: tuple = ()) -> list[tuple]:
    """The path of every member of a document."""
    if isinstance(value, dict):
        inner = [place for key in value for place in places(value[key], (*path, key))]
    elif isinstance(value, list):
        inner = [place for key in range(len(value)) for place in places(value[key], (*path, key))]
    else:
        inner = []
    return [path, *inner] if path else inner


def changed(document: dict, path: tuple, value: object) -> dict:
    """The document with another value at the path; `...` takes the member away."""
    found = copy.deepcopy(document)
    owner = found
    for key in path[:-1]:
        owner = owner[key]
    if value is ...:
        del owner[path[-1]]
    else:
        owner[path[-1]] = value
    return found


def refusable(use: Callable[..., object]) -> Callable[..., bool]:
    """Whether something could be used; where it is refused, then in a sentence."""

    @wraps(use)
    def used(*given, **named) -> bool:
        try:
            use(*given, **named)
        except DiscreetError as error:
            require_a_sentence(error)
            return False
        return True

    return used


@refusable
def use_document(content: bytes) -> None:
    """Read a model file and do everything that commands do with it."""
    model = document_of(parse_strict(content))
    assert all(map(str.isprintable, str(summarise(model)).splitlines()))
    people = np.zeros((1, model.design.covariates.dimension))
    model.curves.survival(people, [0.0, model.public_schema.time.horizon])
    model.curves.quantile(people, 0.5)
    if isinstance(model, Release):
        assert all(map(str.isprintable, _words(audit_document(model))))
        draw_page(model)


def draw_page(release: Release | CurvesRelease) -> None:
    """The page without the library of charts, which is large and fixed."""
    asset = page._asset
    with patch.object(page, "_asset", lambda name: "" if name == "charts.js" else asset(name)):
        page.make_page(release)


def _words(audit: Audit) -> list[str]:
    """Everything that the command shows of an audit."""
    cells = [(item.check, item.claimed, item.measured, item.note) for item in audit.findings]
    return [audit.subject, *(cell for line in cells for cell in line)]


def use_schema(content: bytes, folder: Path) -> bool:
    """Read a schema file; False if it was refused."""
    path = folder / "schema.toml"
    path.write_bytes(content)
    return _made(lambda: Schema.from_toml(path))


def use_mapping(mapping: dict) -> bool:
    """Make a schema of a mapping; False if it was refused."""
    return _made(lambda: Schema.from_mapping(mapping))


@refusable
def _made(make: Callable[[], Schema]) -> None:
    found = make()
    assert Schema.from_mapping(found.to_mapping()) == found


def use_table(
    content: bytes, folder: Path, suffix: str = ".csv", public: Schema | None = None
) -> bool:
    """Read a table the way every command does; nothing that is said holds the canary."""
    path = folder / f"people{suffix}"
    path.write_bytes(content)
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        accepted = _read(path, said, public or schema(person=True, entry=True))
    assert CANARY not in said.getvalue()
    return accepted


def _read(path: Path, said: io.StringIO, public: Schema) -> bool:
    try:
        said.write(str(count_repairs(path, public)))
        episodes = to_episodes(path, public)
        assert np.all(np.isfinite(episodes.covariates))
        assert np.all(np.isfinite(encode_covariates(path, public)))
    except DiscreetError as error:
        said.write(str(error))
        said.write(repr(error.__cause__))
        require_a_sentence(error)
        return False
    return True


def require_a_sentence(error: DiscreetError) -> None:
    """One line, not too long, with an end, nothing that moves a terminal's cursor."""
    text = str(error)
    assert text.endswith((".", "?"))
    assert text.isprintable(), ascii(text)
    assert len(text) <= LONGEST_TEXT + 4
    assert error.__cause__ is None


def serialised(document: object) -> bytes:
    return json.dumps(document).encode()


@cache
def parquet_file() -> bytes:
    """A table of canaries."""
    columns = {name: [CANARY, CANARY] for name in HEADER.decode().strip().split(",")}
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content

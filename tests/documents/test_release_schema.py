"""The published JSON Schema and the reader agree: on what is written, and on what is broken."""

import copy

import numpy as np
import pytest
from cohorts import cohort, schema

import discreet as ds
from discreet.design.schema import Schema
from discreet.documents.model import Promised
from discreet.documents.read import document_of
from discreet.errors import ArtefactError, SchemaError
from tests.json_schema import is_valid
from tests.report.conftest import make_covariance, make_release, make_schema
from tests.scripts import script

release_schema = script("docs/release_schema.py")
SCHEMA = release_schema.release_schema()
FREE = ("details", "mechanism", "released", "curves", "test")
"""Keys below which a file may hold more than the schema names."""


def _rich():
    mapping = make_schema(edges=[k * k / 2 for k in range(81)], unit="days").to_mapping()
    mapping["time"] |= {"event_values": ["dead", "1"], "entry": "from"}
    mapping["covariate"] = [
        {"name": "crea", "low": 0.3, "high": 15, "scale": "log", "missing": "indicator"},
        {"name": "age", "low": 20, "high": 90, "missing": 50, "typical": 60, "unit": "years"},
        {"name": "stage", "levels": ["I", "II"], "labels": ["one", "two"], "missing": "indicator"},
    ]
    mapping["interaction"] = [{"of": ["crea", "stage"]}]
    mapping["strata"] = {"name": "hospital", "levels": ["A", "B"]}
    mapping["page"] = {"title": "A title", "description": ["One.", "Two."], "language": "en"}
    found = Schema.from_mapping(mapping)
    size = 2 * 4 + len(found.coefficient_names)
    return make_release(covariance=make_covariance(size), schema=found).to_mapping()


DATED = {"start": "from", "end": "to", "date_format": "%d/%m/%Y", "event": "status"}


def _dated():
    time = {**DATED, "horizon": 5.0, "intervals": 10, "unit": "years"}
    mapping = {**make_schema().to_mapping(), "time": time}
    release = make_release(schema=Schema.from_mapping(mapping)).to_mapping()
    warnings = [{"code": "events", "message": "Few.", "coefficients": ["age"]}, "A plain text."]
    return release | {"warnings": warnings}


@pytest.fixture(scope="module")
def documents():
    """One good file of every kind, with all that a schema may have."""
    table = cohort(400)
    curves = (
        ds.GroupCurves(schema(), by="arm")
        .publish(table, mechanism=ds.GroupCounts(2.0), ledger=ds.NO_LEDGER)
        .release_
    )
    return {
        "plain": make_release(covariance=make_covariance(7)).to_mapping(),
        "rich": _rich(),
        "dated": _dated(),
        "curves": curves.to_mapping(),
    }


def _readable(mapping):
    try:
        document_of(mapping)
    except (ArtefactError, SchemaError):
        return False
    return True


def _places(value, at=()):
    """Every place in a document; of long lists the first two entries."""
    yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value[:2])
    for key, item in pairs if isinstance(value, dict | list) else ():
        yield from _places(item, (*at, key)) if isinstance(item, dict | list) else [(*at, key)]


def _changed(document, place, change):
    found = copy.deepcopy(document)
    inner = found
    for key in place[:-1]:
        inner = inner[key]
    change(inner, place[-1])
    return found


VALUES = (None, "x", "", "y" * 5000, -1, -2.5, 0, True, [], {}, [[]], {"x": 1}, 10**9, ["a", 1])


def test_what_is_written_is_valid_and_read(documents):
    for name, document in documents.items():
        assert is_valid(document, SCHEMA), name
        assert _readable(document), name


@pytest.mark.parametrize("name", ["plain", "rich", "dated", "curves"])
def test_what_the_schema_refuses_the_reader_refuses(documents, name):
    document, refused = documents[name], 0
    for place in _places(document):
        for value in VALUES if place else ():
            broken = _changed(document, place, lambda inner, key, v=value: inner.update({key: v})
                              if isinstance(inner, dict) else inner.__setitem__(key, v))  # fmt: skip
            if not is_valid(broken, SCHEMA):
                refused += 1
                assert not _readable(broken), (place, value)
    assert refused > 200


@pytest.mark.parametrize("name", ["plain", "rich", "dated", "curves"])
def test_keys_that_are_missing_or_unknown_are_refused_by_both(documents, name):
    document = documents[name]
    for place in _places(document):
        inner = document
        for key in place:
            inner = inner[key]
        if place and place[0] in FREE:
            continue
        if isinstance(inner, dict) and place[-1:] not in {("covariates",), ("baseline",)}:
            more = _changed({"": document}, ("", *place), lambda inner, key: inner[key].update(z=1))
            assert not is_valid(more[""], SCHEMA), place
            assert not _readable(more[""]), place
        if place and isinstance(place[-1], str):
            less = _changed(document, place, lambda inner, key: inner.pop(key))
            assert is_valid(less, SCHEMA) or not _readable(less), place
            if len(place) == 1:
                assert is_valid(less, SCHEMA) == _readable(less), place


def test_another_version_or_format_is_refused_by_both(documents):
    for change in ({"version": 2}, {"version": "1"}, {"format": "discreet-model"}, {"format": 1}):
        broken = documents["plain"] | change
        assert not is_valid(broken, SCHEMA)
        assert not _readable(broken)


def test_every_kind_of_release_is_in_the_schema_and_every_key_described():
    assert set(release_schema.KINDS) == {kind for kind in _below(Promised) if kind.kind}
    keys = {
        key for kind in release_schema.KINDS for key in SCHEMA["$defs"][kind.__name__]["properties"]
    }
    assert keys == set(release_schema.MEANINGS)
    assert np.all([release_schema.MEANINGS[key].endswith(".") for key in keys])


def _below(kind):
    return {item for part in kind.__subclasses__() for item in {part, *_below(part)}}

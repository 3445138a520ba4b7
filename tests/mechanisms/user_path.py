"""A table of four people, its schema, and a release of them that nobody pays for."""

import pandas as pd

from discreet.design.schema import Schema
from discreet.release import NO_LEDGER

INTERVALS = 6
NAMES = ("time", "dead", "age", "arm")

ROWS = (
    (0.5, 1, 12.0, "a"),
    (3.5, 0, 22.0, "b"),
    (5.9, 0, 29.0, "c"),
    (2.5, 1, 18.0, "a"),
)


def make_schema(*, person=False):
    mapping = {
        "time": {"duration": "time", "event": "dead", "horizon": 6.0, "intervals": INTERVALS},
        "covariate": [
            {"name": "age", "low": 10.0, "high": 30.0},
            {"name": "arm", "levels": ["a", "b", "c", "d"]},
        ],
    }
    if person:
        mapping["person"] = "id"
        mapping["time"]["entry"] = "start"
    return Schema.from_mapping(mapping)


def make_frame(rows):
    return pd.DataFrame(rows, columns=list(NAMES))


BASE = make_frame(ROWS)


def publish(model, data, mechanism, **terms):
    """A release that nobody pays for."""
    model.publish(data, mechanism=mechanism, ledger=NO_LEDGER, **terms)
    return model.release_


def refused(error, action):
    """The action ends with that error, not with another one and not with success."""
    caught = None
    try:
        action()
    except Exception as raised:  # noqa: BLE001  # anything else is a failure of the check
        caught = raised
    assert isinstance(caught, error)

"""Schemas and people whose effects change with time, and the definition as plainly as it is written."""

import numpy as np

from discreet.design.baseline import parse_baseline
from discreet.design.design import Design
from discreet.design.schema import Schema
from discreet.people.episodes import Episodes

INTERVALS = 12


def changing_schema(*, strata=False, causes=False, person=True, terms=False):
    """A number, a category and another number: two of them change, at other times."""
    time = {"duration": "time", "event": "event", "horizon": 6.0, "intervals": INTERVALS}
    if causes:
        time["causes"] = {"cancer": ["1"], "heart": ["2"]}
    age = {"name": "age", "low": 20, "high": 90, "changes_at": [1.0, 3.2]}
    mapping = {
        "time": time,
        "covariate": [
            age | ({"scale": "spline:3", "missing": "indicator"} if terms else {}),
            {"name": "stage", "levels": ["I", "II", "III"], "changes_at": [3.2]},
            {"name": "dose", "low": -1, "high": 3},
        ],
    }
    if terms:
        mapping["interaction"] = [{"of": ["age", "stage"]}, {"of": ["stage", "dose"]}]
    if person:
        mapping["person"] = "id"
    if strata:
        mapping["strata"] = {"name": "site", "levels": ["x", "y"]}
    return Schema.from_mapping(mapping)


def changing_design(baseline="natural-spline:3", **kinds):
    """The public coordinates of that schema."""
    return Design(changing_schema(**kinds), parse_baseline(baseline))


def random_people(random, design, count, *, most_rows=3, causes=0):
    """People of one to several rows, late entries and gaps; covariates in the unit ball."""
    entries, exits, events, offsets = [], [], [], [0]
    for _ in range(count):
        size = 2 * int(random.integers(1, most_rows + 1))
        cuts = np.sort(random.choice(design.intervals + 1, size, replace=False))
        entries += cuts[0::2].tolist()
        exits += cuts[1::2].tolist()
        events += [False] * (size // 2 - 1) + [bool(random.random() < 0.5)]
        offsets.append(len(exits))
    leads = random.uniform(-1, 1, (len(exits), len(design.covariates.leads)))
    leads /= np.sqrt(design.covariates.blocks)
    event = np.array(events)
    return Episodes(
        covariates=design.complete(leads),
        entry=np.array(entries, dtype=np.int32),
        exit=np.array(exits, dtype=np.int32),
        event=event,
        offsets=np.array(offsets, dtype=np.int64),
        persons=count,
        stratum=_strata(random, offsets) if design.strata > 1 else None,
        cause=np.where(event, random.integers(1, causes + 1, len(event)), 0).astype(np.int8)
        if causes
        else None,
    )


def _strata(random, offsets):
    return np.repeat(random.integers(0, 2, len(offsets) - 1), np.diff(offsets)).astype(np.int16)


def vector(design, x, s, stratum=0):
    """z_s of the interval with number s from 0: by the times of the schema, name by name."""
    schema, size = design.schema, design.baseline.dimension
    begin = 6.0 * s / INTERVALS
    z = np.zeros(design.dimension)
    z[stratum * size : (stratum + 1) * size] = design.basis[s]
    names = dict(zip(schema.coefficient_names, range(len(schema.coefficient_names)), strict=True))
    for value, term in zip(x, schema.terms, strict=True):
        in_force = term.names[sum(cut <= begin for cut in term.cuts)]
        z[design.time_dimension + names[in_force]] = value
    return z


def intervals_of(design, block, who):
    """(z_s, whether the event is there, row) of a person's intervals at risk, in order."""
    for row in range(block.offsets[who], block.offsets[who + 1]):
        stratum = 0 if block.stratum is None else block.stratum[row]
        for s in range(block.entry[row], block.exit[row]):
            last = s == block.exit[row] - 1
            yield vector(design, block.covariates[row], s, stratum), last and block.event[row], row

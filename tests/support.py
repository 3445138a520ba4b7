"""Random people and designs for tests of everything above the frame."""

import numpy as np

from discreet.design.design import Design
from discreet.design.schema import Schema
from discreet.people.episodes import Episodes
from discreet.results.prediction import Person, survival_interval


def make_schema(intervals, covariates):
    """Numeric covariates x0, x1, ... in [-1, 1]."""
    return Schema.from_mapping(
        {
            "time": {"duration": "time", "event": "event", "horizon": 1.0, "intervals": intervals},
            "covariate": [{"name": f"x{i}", "low": -1, "high": 1} for i in range(covariates)],
        }
    )


def make_design(intervals, covariates, baseline, coordinates="orthonormal"):
    """A design over ``make_schema``."""
    return Design(make_schema(intervals, covariates), baseline, coordinates)


def make_episodes(random, people, intervals, covariates, *, late=0.0, event=0.3):
    """One row a person; a share of them enters late (then they carry offsets)."""
    exits = np.sort(random.integers(1, intervals + 1, people)).astype(np.int32)
    entries = np.where(random.random(people) < late, random.random(people) * exits, 0)
    x = random.uniform(-1, 1, (people, covariates)) / np.sqrt(max(covariates, 1))
    return Episodes(
        covariates=np.ascontiguousarray(x),
        entry=entries.astype(np.int32),
        exit=exits,
        event=random.random(people) < event,
        offsets=np.arange(people + 1, dtype=np.int64) if late else None,
        persons=people,
    )


def survival_band(model, raw, stratum=0):
    """S at every grid point, of the person with these covariates on the user's own scale."""
    person = Person.of(model, raw, stratum)
    return survival_interval(person, person.edges, 0.95)

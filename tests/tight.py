"""Tight witnesses: for every vector that is released, two persons who move it as far as it can move.

A random search comes near the sensitivity of few vectors. Here the public arguments of a question
are chosen so that two persons of raw rows are as far apart as its proof allows: two cells, two unit
vectors of opposite sign, two orthogonal matrices of rank one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import question
from discreet.core.bins import Columns, Stretches, marginals_of, stretches_of, time_edges
from discreet.core.question import Question
from discreet.core.scores import Whitened
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.groups import Groups
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.people.source import People
from tests import replay

INTERVALS = 8
LIMIT = 1.0


@dataclass(frozen=True)
class Witness:
    """A question, and two persons at nearly the largest distance."""

    schema: Schema
    ask: Callable[[], Question]
    one: dict[str, str]
    other: dict[str, str]

    @property
    def read(self) -> Schema:
        """What is read of a person."""
        return self.schema

    def asked(self, opening: Any, folder: Any) -> list[replay.Asked]:
        """Both persons' vectors, each beside the same second person."""
        beside = row(id="0", x="0.5", arm="b", time="5.0")
        found = []
        for who in (self.one, self.other):
            engine = opening(self, [[who], [beside]], folder)
            made = self.ask()
            digest = replay.digest_of(made.block, made.arguments)
            found.append(replay.Asked(made, digest, replay.exact_sums(engine, made), None, True))
        return found


def row(**cells: str) -> dict[str, str]:
    """One row; at risk in the first of the intervals unless said otherwise."""
    usual = {"id": "1", "time": "0.5", "event": "0", "x": "0", "y": "0", "arm": "a", "entry": "0"}
    return usual | cells


def schema_of(
    *, person: bool = False, late: bool = False, causes: bool = False, changes: bool = False
) -> Schema:
    """Two numbers from -1 to 1 and a category; the effect of the first may change twice."""
    time: dict[str, Any] = {"duration": "time", "event": "event"}
    time |= {"horizon": float(INTERVALS), "intervals": INTERVALS}
    if causes:
        time["causes"] = {"cancer": ["1"], "heart": ["2"]}
    if late:
        time["entry"] = "entry"
    covariates: list[dict[str, Any]] = [{"name": name, "low": -1, "high": 1} for name in "xy"]
    if changes:
        covariates[0]["changes_at"] = [2.0, 5.0]
    covariates.append({"name": "arm", "levels": ["a", "b"]})
    mapping = {"time": time, "covariate": covariates}
    return Schema.from_mapping({"person": "id", **mapping} if person else mapping)


def frame(schema: Schema, *, scale: float) -> tuple[Design, np.ndarray]:
    """A whitening under which x = 1 and x = -1 in the first interval are scale e_1 and scale e_2."""
    design = Design(schema, NaturalSpline(2))
    table = replay.table_of([[row(x="1")], [row(id="2", x="-1")]])
    people = People.of(table).open(schema).episodes.covariates
    images = np.column_stack([design.vectors(design.basis, x)[0] for x in people])
    wanted = scale * np.eye(design.dimension, 2)
    return design, np.ascontiguousarray((wanted @ np.linalg.pinv(images)).T)


def whitened(schema: Schema, scale: float, *, clipped: bool = False) -> Whitened:
    """At f = 0 with that whitening, where both slopes of the logit are 1/2."""
    design, mapping = frame(schema, scale=scale)
    point = np.zeros(design.dimension)
    return Whitened(design, get_link("logit"), point, mapping, 1.0, clipped)


def both_causes(schema: Schema, scale: float) -> list[Whitened]:
    """The first cause looks through that whitening, the second hardly sees anything."""
    return [whitened(schema, scale), whitened(schema, 1e-9)]


def whole(weight: int = 1) -> Stretches:
    """All time as one stretch."""
    return Stretches((0, INTERVALS), weight)


def exits(outcomes: int, *, late: bool) -> Question:
    """Bins of two intervals."""
    return question.exits(time_edges(INTERVALS, 4), outcomes, 1, late=late)


def marginals(schema: Schema, stretches: Stretches) -> Question:
    """All covariates."""
    design = Design(schema, NaturalSpline(2))
    return question.marginals(marginals_of(design, 4), stretches, None)


def moments(weight: int) -> Question:
    """The numbers alone, standardised by a tiny spread: everybody is shortened."""
    columns = Columns(np.array([0, 1]))
    return question.moments(np.zeros(2), np.full(2, 1e-3), whole(weight), columns)


def witnesses() -> dict[str, Witness]:
    """One for every vector, and for every way to be asked for it."""
    alone, several = schema_of(), schema_of(person=True)
    late, causes, changes = (schema_of(**{kind: True}) for kind in ("late", "causes", "changes"))
    event, left, right = row(event="1"), row(x="1"), row(x="-1")
    everything = row(x="1", y="1", time="8.0"), row(x="-1", y="-1", arm="b", time="8.0")
    numbers = row(x="1", arm="a"), row(y="1", arm="a")
    found = {
        "exits": Witness(alone, lambda: exits(1, late=False), event, row(time="5.0")),
        "exits and entries": Witness(
            late, lambda: exits(1, late=True), event, row(time="7.0", entry="4.0")
        ),
        "exits by cause": Witness(
            causes, lambda: exits(2, late=False), event, row(event="2", time="5.0")
        ),
        "marginals": Witness(alone, lambda: marginals(alone, whole()), *everything),
        "marginals of values that change": Witness(
            several,
            lambda: marginals(several, stretches_of(INTERVALS, 4, pure=False)),
            *everything,
        ),
        "moments": Witness(alone, lambda: moments(1), *numbers),
        "moments of values that change": Witness(several, lambda: moments(64), *numbers),
        "scores": Witness(
            alone, lambda: question.scores([whitened(alone, 10.0)], 2), left, left | {"event": "1"}
        ),
        "clipped scores": Witness(
            alone,
            lambda: question.scores([whitened(alone, 10.0, clipped=True)], 2),
            left,
            left | {"event": "1"},
        ),
        "scores of causes": Witness(
            causes,
            lambda: question.scores(both_causes(causes, 10.0), 2),
            left,
            left | {"event": "1"},
        ),
        "scores of effects that change": Witness(
            changes,
            lambda: question.scores([whitened(changes, 10.0)], 2),
            left | {"time": "8.0"},
            left | {"event": "1"},
        ),
        "information": Witness(
            alone, lambda: question.information([whitened(alone, 10.0)], LIMIT, 2), left, right
        ),
        "information of causes": Witness(
            causes,
            lambda: question.information(both_causes(causes, 10.0), LIMIT, 2),
            left,
            right,
        ),
    }
    for pure in (False, True):
        for schema in (alone, late):
            name = f"group counts{', pure' * pure}{' with entries' * (schema is late)}"
            groups = Groups(schema, ("arm",))
            found[name] = Witness(
                groups.schema_for_counting,
                lambda groups=groups, pure=pure: question.group_counts(groups, 4, pure=pure),
                row(arm="a"),
                row(arm="b"),
            )
    return found


def within(asked: list[replay.Asked]) -> bool:
    """Whether the distance of two persons is at most the sensitivity, in exact numbers."""
    return replay.ratio_of(*asked).within


def smaller(size: Any) -> Any:
    """A sensitivity one percent too small."""
    absolute = None if size.absolute is None else Fraction(99, 100) * size.absolute
    return type(size)(Fraction(99, 100) ** 2 * size.squared, absolute, size.least, size.unit)

"""Cases of mechanisms that ask sums: public facts, and people of raw rows, hostile ones among them.

Cells are texts, as a CSV file has them. A crowd begins with persons made by hand: in the first and
the last interval, at both ends of every range, with a dozen rows, entering late, never at risk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.audit.findings import Subject
from discreet.design.baseline import parse_baseline
from discreet.design.design import Design
from discreet.design.groups import Groups
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import Draw, Facts, Mechanism, Plan
from discreet.mechanisms.group_counts import GroupCounts
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.noise import NoiseSource

Person = list[dict[str, str]]

HORIZON, INTERVALS, SIZE = 12.0, 12, 28
HOSTILE = ("", "NaN", "inf", "-inf", "1e308", "-1e308", "1e-320", "-0.0", "x", "7,5", "1e999")
NEVER = ({"t": "0"}, {"t": ""}, {"t": "-3"}, {"s": "40", "t": "50"}, {"s": "9", "t": "2"})
"""Persons who are never at risk."""


@dataclass(frozen=True)
class Case:
    """A mechanism with its settings, and the public schema of its people."""

    name: str
    mechanism: Mechanism | GroupCounts
    schema: Schema
    epsilon: float = 1.0
    baseline: str = "natural-spline:2"

    @classmethod
    def least(cls) -> "Case":
        """Curves of one category: the shortest of all."""
        return cls("least", GroupCounts(1.0), schema_of(late=False, several=False))

    @property
    def late(self) -> bool:
        """Whether people may enter late."""
        return self.schema.time.entry is not None

    @property
    def groups(self) -> Groups | None:
        """Of curves by group."""
        return Groups(self.schema, ("arm",)) if isinstance(self.mechanism, GroupCounts) else None

    @property
    def reading(self) -> Schema:
        """What is read of a person."""
        return self.schema if self.groups is None else self.groups.reading

    def promise(self, persons: int) -> Guarantee:
        """What is promised of so many persons."""
        return self.mechanism.promise(persons)

    @property
    def design(self) -> Design:
        """The public coordinates."""
        return Design(self.schema, parse_baseline(self.baseline))

    @property
    def leads(self) -> int:
        """Number of lead columns of covariates."""
        return len(self.design.covariates.leads)

    def plan(self, persons: int) -> Plan:
        """From public facts."""
        if isinstance(self.mechanism, GroupCounts):
            return self.mechanism.plan(persons, Groups(self.schema, ("arm",)))
        return self.mechanism.plan(Facts.of(persons, self.design, get_link("logit")))

    def draw(self, engine: Any, noise: NoiseSource) -> Draw:
        """A plan and its draw."""
        plan = self.plan(engine.persons)
        if isinstance(self.mechanism, GroupCounts):
            groups = Groups(self.schema, ("arm",))
            return self.mechanism.draw(plan, groups, engine, noise)
        problem = Problem(engine, self.design, get_link("logit"))
        return self.mechanism.draw(plan, problem, noise)


def cases_of(subject: Subject, epsilon: float) -> list[Case]:
    """One row a person; late entry; several rows a person, who may enter late."""
    mechanism = subject.mechanism(epsilon)
    kinds = (
        ("one row a person", {"late": False, "several": False}),
        ("late entry", {"late": True, "several": False}),
        ("several rows a person", {"late": False, "several": True}),
        ("several rows, late entry", {"late": True, "several": True}),
    )
    causes = (1, 2) if subject.of_curves else (subject.causes,)
    return [
        Case(
            f"{name}, epsilon {epsilon:g}" + (f", {number} causes" if number > 1 else ""),
            mechanism,
            schema_of(strata=subject.strata, causes=number, **kind),
            epsilon,
        )
        for name, kind in kinds
        for number in causes
    ]


def schema_of(*, late: bool, several: bool, strata: int = 1, causes: int = 1) -> Schema:
    """Two numbers and a category, on twelve intervals."""
    time: dict[str, Any] = {
        "duration": "t", "event": "e", "horizon": HORIZON, "intervals": INTERVALS,
    }  # fmt: skip
    if late:
        time["entry"] = "s"
    if causes > 1:
        time["causes"] = {f"cause{number}": [str(number)] for number in range(1, causes + 1)}
    covariates = [
        {"name": "age", "low": 20, "high": 90},
        {"name": "dose", "low": -1, "high": 3},
        {"name": "arm", "levels": ["a", "b", "c"]},
    ]
    mapping: dict[str, Any] = {"time": time, "covariate": covariates}
    if several:
        mapping = {"person": "id", **mapping}
    if strata > 1:
        levels = [f"s{number}" for number in range(strata)]
        mapping["strata"] = {"name": "site", "levels": levels}
    return Schema.from_mapping(mapping)


def table_of(people: Sequence[Person]) -> pa.Table:
    """All rows, every cell a text."""
    rows = [row for person in people for row in person]
    return pa.table({name: pa.array([row[name] for row in rows]) for name in rows[0]})


def crowd(case: Case) -> list[Person]:
    """Persons made by hand, and others."""
    made = [_named([row | change for row in rows], name) for name, (rows, change) in
            enumerate(_by_hand(several=case.schema.person is not None))]  # fmt: skip
    random = np.random.default_rng(4)
    return [*made, *(_anybody(random, case, str(name)) for name in range(len(made), SIZE))]


def everyone_else(case: Case) -> list[Person]:
    """As many, each record another one."""
    random = np.random.default_rng(5)
    return [_anybody(random, case, f"other{name}") for name in range(SIZE)]


def _row(**cells: str) -> dict[str, str]:
    usual = {"id": "", "s": "0", "t": "5.5", "e": "0", "age": "50", "dose": "1", "arm": "a"}
    return usual | {"site": "s0"} | cells


def _by_hand(*, several: bool) -> list[tuple[Person, dict[str, str]]]:
    """Rows, and what is changed in all of them."""
    ends = [{"age": "20", "dose": "-1", "arm": "b"}, {"age": "90", "dose": "3", "arm": "c"}]
    times = [{"t": "0.5", "e": "1"}, {"t": "12", "e": "0"}, {"t": "11.5", "e": "1"},
             {"s": "4.5", "t": "12", "e": "2"}, {"s": "11.2", "t": "11.9", "e": "1"}]  # fmt: skip
    found = [([_row(**time)], end) for time in times for end in ends]
    found += [([_row()], cells) for cells in NEVER]
    if several:
        months = [
            _row(s=str(month), t=str(month + 1), e=str(int(month == INTERVALS - 1)))
            for month in range(INTERVALS)
        ]
        moving = [row | end for row, end in zip(months, ends * 6, strict=True)]
        found += [(months, end) for end in ends] + [(moving, {}), ([_row(t="12")] * 12, ends[0])]
    return found


def _named(person: Person, name: object) -> Person:
    return [row | {"id": str(name)} for row in person]


def _anybody(random: np.random.Generator, case: Case, name: str) -> Person:
    """Usual rows, with a hostile value in any cell but the id."""
    several = case.schema.person is not None
    strata = case.schema.strata
    sites = ["s0"] if strata is None else [*strata.levels, "elsewhere"]

    def cell(*usual: str) -> str:
        return str(random.choice(HOSTILE if random.random() < 0.1 else usual))

    rows = []
    for _ in range(int(random.integers(1, 6)) if several else 1):
        begin, end = sorted(random.uniform(-1.0, 1.3 * HORIZON, 2))
        if random.random() < 0.5:
            begin = 0.0
        rows.append(
            _row(
                s=cell(f"{begin:.3f}"),
                t=cell(f"{end:.3f}"),
                e=cell("0", "1", "2"),
                age=cell(f"{random.uniform(10, 100):.3f}"),
                dose=cell(f"{random.uniform(-2, 4):.3f}"),
                arm=cell("a", "b", "c", "elsewhere"),
                site=cell(*sites),
            )
        )
    return _named(rows, name)

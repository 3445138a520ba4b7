"""Cases of the audit: one table of kinds of people for all mechanisms, with hostile rows.

Cells are texts, as a CSV file has them. A crowd begins with persons made by hand: in the first and
the last interval, at both ends of every range, with a dozen rows, entering late, never at risk, with
hostile values. Perturbations also take persons and losses that are plugged in, where the worst pair
is known.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.audit.findings import Subject
from discreet.curves import CurvesOrder
from discreet.design.baseline import NaturalSpline, parse_baseline
from discreet.design.design import Coordinates, Design
from discreet.design.groups import Groups
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import Facts
from discreet.people.episodes import Episodes
from discreet.people.source import People
from discreet.privacy.noise import NoiseSource
from discreet.privacy.shares import ALONE, NoiseShares
from discreet.release import NO_LEDGER, AbstractOrder, Order, publish, simulate
from discreet.solve import Evaluation
from discreet.types import Array

Rows = list[dict[str, str]]
"""A person as a file has it."""

HORIZON, INTERVALS, SIZE = 12.0, 12, 52
"""More persons than walk side by side (32), so that some follow others."""
HOSTILE = ("", "NaN", "inf", "-inf", "1e308", "-1e308", "1e-320", "-0.0", "x", "7,5", "1e999")
ODD_STAYS = ({"t": "0"}, {"t": "-3"}, {"s": "40", "t": "50"}, {"s": "9", "t": "2"})
NEVER = ({"t": ""}, {"t": "x"})
"""Persons who are never at risk: it is not known when they left."""
ODD_DAYS = ("", "2000-02-30", "0001-01-01", "9999-12-31", "soon")
STEPS = "piecewise-constant:3"


@dataclass(frozen=True)
class CaseKind:
    """The particulars of a case: of its people, its schema or its model."""

    name: str
    late: bool = False
    several: bool = False
    dates: bool = False
    terms: bool = False
    changes: bool = False
    sites: NoiseShares = ALONE
    strata: int = 1
    causes: int = 1
    link: str = "logit"
    baseline: str = "natural-spline:2"
    score: str = "ball"


KINDS = (
    CaseKind("one row a person"),
    CaseKind("several rows, late entry", late=True, several=True),
    CaseKind("dates", dates=True, late=True, link="cloglog", score="clip", baseline=STEPS),
    CaseKind("terms", terms=True, several=True, link="probit"),
    CaseKind("effects that change", changes=True, several=True, late=True, score="clip"),
    CaseKind("strata", strata=3, late=True, several=True, changes=True, link="cloglog"),
    CaseKind("causes", causes=2, late=True, several=True, changes=True, baseline=STEPS),
    CaseKind("three sites", sites=NoiseShares(3, 1), late=True, several=True),
)
"""The table: what stands alone in one row meets most of the rest in another. A mechanism takes of a
kind what it has a proof for; a subject of several strata or causes has them in every case."""


def cases_of(subject: Subject) -> list["Case"]:
    """The kinds at the claimed epsilon, as far as the mechanism takes them; none twice."""
    taker = subject.kind
    newton = not subject.of_curves and taker.takes_strata
    found: dict[CaseKind, Case] = {}
    for kind in KINDS:
        name, own = kind.name, replace(kind, name="")
        if not newton:
            own = replace(own, strata=1, link="logit", score="ball")
            own = replace(own, causes=own.causes if subject.of_curves else 1)
        if subject.of_curves:
            own = replace(own, terms=False, baseline=KINDS[0].baseline)
        if subject.of_curves or not taker.takes_changes:
            own = replace(own, changes=False)
        if subject.strata * subject.causes > 1:
            own = replace(own, strata=subject.strata, causes=subject.causes)
        case = Case(subject, replace(own, name=name), subject.epsilon)
        if own.sites == ALONE or (taker.across_sites and case.promise(SIZE).delta > 0):
            found.setdefault(own, case)
    return list(found.values())


@dataclass(frozen=True)
class Case:
    """A mechanism with its settings, and the public schema of its people."""

    subject: Subject
    kind: CaseKind
    epsilon: float

    @property
    def name(self) -> str:
        """The kind and the epsilon."""
        return f"{self.kind.name}, epsilon {self.epsilon:g}"

    @cached_property
    def mechanism(self) -> Any:
        """With the claimed epsilon."""
        settings = {"score": self.kind.score} if self.subject.has("score") else {}
        return self.subject.mechanism(self.epsilon, **settings)

    def promise(self, persons: int) -> Any:
        """The guarantee for this number of persons."""
        return self.mechanism.promise(persons)

    @cached_property
    def schema(self) -> Schema:
        """Two numbers and a category, on twelve intervals."""
        kind = self.kind
        time: dict[str, Any] = {"event": "e", "horizon": HORIZON, "intervals": INTERVALS}
        time |= {"start": "b", "end": "f", "unit": "months"} if kind.dates else {"duration": "t"}
        if kind.late:
            time["entry"] = "n" if kind.dates else "s"
        if kind.causes > 1:
            time["causes"] = {f"cause{one}": [str(one)] for one in range(1, kind.causes + 1)}
        age: dict[str, Any] = {"name": "age", "low": 20, "high": 90}
        dose: dict[str, Any] = {"name": "dose", "low": -1, "high": 3}
        arm: dict[str, Any] = {"name": "arm", "levels": ["a", "b", "c"]}
        mapping: dict[str, Any] = {"time": time, "covariate": [age, dose, arm]}
        if kind.terms:
            age |= {"scale": "spline:3"}
            dose |= {"missing": "indicator"}
            mapping["interaction"] = [{"of": ["age", "arm"]}]
        if kind.changes:
            age |= {"changes_at": [4.0]}
            arm |= {"changes_at": [4.0, 7.5]}
        if kind.several:
            mapping = {"person": "id", **mapping}
        if kind.strata > 1:
            levels = [f"s{number}" for number in range(kind.strata)]
            mapping["strata"] = {"name": "site", "levels": levels}
        return Schema.from_mapping(mapping)

    @cached_property
    def order(self) -> AbstractOrder[Any]:
        """The order of a user."""
        facts: dict[str, Any] = {"release_id": "r1", "sites": self.kind.sites}
        if self.subject.of_curves:
            return CurvesOrder(self.mechanism, Groups(self.schema, ("arm",)), **facts)
        model = get_link(self.kind.link), parse_baseline(self.kind.baseline)
        return Order(self.mechanism, self.schema, *model, accept_approximate=True, **facts)

    def people(self, crowd: Sequence[Rows]) -> People:
        """The rows as a table, in which those of a person stand apart."""
        return People.of(table_of(crowd, apart=True))

    def episodes(self, crowd: Sequence[Rows]) -> Episodes:
        """The people as the schema reads them."""
        engine: Any = self.people(crowd).open(self.order.schema)
        found: Episodes = engine.episodes
        return found

    def simulated(self, crowd: Sequence[Rows], noise: NoiseSource) -> Any:
        """A release made as users make one, under known noise."""
        with quiet():
            return simulate(self.order, self.people(crowd), noise)

    def published(self, crowd: Sequence[Rows]) -> Any:
        """A release with the system's noise, charged to no ledger."""
        with quiet():
            return publish(self.order, self.people(crowd), ledger=NO_LEDGER)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings that an audit expects."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ------------------------------------------------------------------- people as files have them


def table_of(people: Sequence[Rows], *, apart: bool = False) -> pa.Table:
    """All rows, every cell a text."""
    rows = [row for person in people for row in person]
    if apart:
        rows = [rows[place] for place in np.random.default_rng(7).permutation(len(rows))]
    return pa.table({name: pa.array([row[name] for row in rows]) for name in rows[0]})


def crowd(case: Case) -> list[Rows]:
    """Persons made by hand, and others."""
    ends = [{"age": "20", "dose": "-1", "arm": "b"}, {"age": "90", "dose": "3", "arm": "c"}]
    times = [{"t": "0.5", "e": "1"}, {"t": "12", "e": "0"}, {"t": "11.5", "e": "1"},
             {"s": "4.5", "t": "12", "e": "2"}, {"s": "11.2", "t": "11.9", "e": "1"}]  # fmt: skip
    made = [[_row(**time, **end)] for time in times for end in ends]
    made += [[_row(**cells)] for cells in (*ODD_STAYS, *NEVER)]
    made += [[row] for row in _hostile()]
    if case.kind.several:
        months = [
            _row(s=str(month), t=str(month + 1), e=str(int(month == INTERVALS - 1)))
            for month in range(INTERVALS)
        ]
        moving = [row | end for row, end in zip(months, ends * 6, strict=True)]
        made += [[row | end for row in months] for end in ends]
        made += [moving, [_row(t="12") | ends[0]] * 12]
        made += [[row | {"site": f"s{place % 3}"} for place, row in enumerate(moving)]]
    random, others = np.random.default_rng(4), range(len(made), SIZE)
    by_hand = [_named(rows, name) for name, rows in enumerate(made)]
    return [*by_hand, *(_usual_person(random, case, str(name)) for name in others)]


def other_people(case: Case) -> list[Rows]:
    """As many, each record another one."""
    random = np.random.default_rng(5)
    return [_usual_person(random, case, f"other{name}") for name in range(SIZE)]


def never_at_risk() -> list[Rows]:
    """As many who are never at risk."""
    return [_named([_row(**NEVER[name % 2])], name) for name in range(SIZE)]


def few(case: Case) -> list[Rows]:
    """Five usual persons."""
    random = np.random.default_rng(6)
    return [_usual_person(random, case, str(name), hostile=0.0) for name in range(5)]


def neighbours(case: Case) -> list[list[Rows]]:
    """Few persons, and the tables in which a hostile person takes the place of the first."""
    first, *rest = few(case)
    return [[first, *rest], *([_named([row], "0"), *rest] for row in _hostile())]


def _row(**cells: str) -> dict[str, str]:
    usual = {"id": "", "s": "0", "t": "5.5", "e": "0", "age": "50", "dose": "1", "arm": "a"}
    row = usual | {"site": "s0"} | cells
    return {"b": "2000-01-01", "f": _day(row["t"]), "n": _day(row["s"])} | row


def _hostile() -> Rows:
    """A row for each hostile value, which is in all its values or in all its times."""
    cells = [("age", "dose", "arm"), ("t", "s", "f", "n", "e")]
    worst = (dict.fromkeys(cells[place % 2], value) for place, value in enumerate(HOSTILE))
    return [_row(t="12") | one for one in worst]


def _day(months: str) -> str:
    """So many months after the first of January 2000; what is not a number is not a date."""
    try:
        day = np.datetime64("2000-01-01") + np.timedelta64(int(30.4375 * float(months)), "D")
    except (ValueError, OverflowError):
        return months
    return str(day)


def _named(person: Rows, name: object) -> Rows:
    return [row | {"id": str(name)} for row in person]


def _usual_person(random: np.random.Generator, case: Case, name: str, hostile: float = 0.1) -> Rows:
    """Usual rows, with a hostile value in any cell but the id."""
    strata = case.schema.strata
    sites = ["s0"] if strata is None else [*strata.levels, "elsewhere"]

    def cell(*usual: str, odd: Sequence[str] = HOSTILE) -> str:
        return str(random.choice(odd if random.random() < hostile else usual))

    rows = []
    for _ in range(int(random.integers(1, 6)) if case.kind.several else 1):
        begin, end = sorted(random.uniform(-1.0, 1.3 * HORIZON, 2))
        if random.random() < 0.5:
            begin = 0.0
        row = _row(
            s=cell(f"{begin:.3f}"),
            t=cell(f"{end:.3f}"),
            e=cell("0", *map(str, range(1, case.kind.causes + 1))),
            age=cell(f"{random.uniform(10, 100):.3f}"),
            dose=cell(f"{random.uniform(-2, 4):.3f}"),
            arm=cell("a", "b", "c", "elsewhere"),
            site=cell(*sites),
        )
        rows.append(row | {"f": cell(row["f"], odd=ODD_DAYS)})
    return _named(rows, name)


# ------------------------------------------------------------------- people and losses plugged in


def make_constants(  # noqa: PLR0913 - each fact by name
    persons: int = 50,
    intervals: int = 20,
    covariates: int = 2,
    knots: int = 3,
    link: str = "logit",
    coordinates: Coordinates = "orthonormal",
    changes: Sequence[float] = (),
    *,
    time_varying: bool = False,
    **further: Any,
) -> Facts:
    """Public facts of a small cohort with numeric covariates in [-1, 1].

    All effects but that of the last covariate change at the times in `changes`, between 0 and 1.
    """
    mapping: dict[str, Any] = {
        "time": {"duration": "time", "event": "event", "horizon": 1.0, "intervals": intervals},
        "covariate": [{"name": f"x{i}", "low": -1, "high": 1} for i in range(covariates)],
    }
    for item in mapping["covariate"][: -1 if changes else 0]:
        item["changes_at"] = list(changes)
    if time_varying:
        mapping["person"] = "id"
    design = Design(Schema.from_mapping(mapping), NaturalSpline(knots), coordinates)
    return Facts(persons, design, get_link(link), **further)


@dataclass(frozen=True)
class CasePerson:
    """Rows of one person: x (rows, p), and the intervals entry+1 ... exit of each row."""

    covariates: Array
    entry: NDArray[np.int64]
    exit: NDArray[np.int64]
    event: bool

    def derivatives(self, facts: Facts, f: Array) -> tuple[Array, Array]:
        """Gradient and Hessian of the person's loss, by plain summation over intervals."""
        gradient = np.zeros(facts.dimension)
        hessian = np.zeros((facts.dimension, facts.dimension))
        link = facts.link
        basis, period = facts.design.basis, facts.design.periods.of_interval
        for row, (first, last) in enumerate(zip(self.entry, self.exit, strict=True)):
            for s in range(first, last):
                z = np.zeros(facts.dimension)  # (B_s, x)
                own = facts.design.in_force(0, period[s])
                z[own] = np.concatenate([basis[s], self.covariates[row]])
                eta, ends = np.array([z @ f]), self.event and s == self.exit[-1] - 1
                slope = link.event_loss_derivative if ends else link.survival_loss_derivative
                bend = link.event_loss_curvature if ends else link.survival_loss_curvature
                gradient += slope(eta)[0] * z
                hessian += bend(eta)[0] * np.outer(z, z)
        return gradient, hessian


def episodes_of(people: Sequence[CasePerson], covariates: int) -> Episodes:
    """The people as episodes."""
    counts = [len(person.exit) for person in people]
    last = np.zeros(sum(counts), dtype=bool)
    for offset, person in zip(np.cumsum(counts), people, strict=True):
        if len(person.exit):
            last[offset - 1] = person.event
    return Episodes(
        covariates=np.concatenate([who.covariates for who in people]).reshape(
            len(last), covariates
        ),
        entry=np.concatenate([person.entry for person in people]).astype(np.int32),
        exit=np.concatenate([person.exit for person in people]).astype(np.int32),
        event=last,
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        persons=len(people),
    )


def loss_of(people: Sequence[CasePerson], facts: Facts) -> Problem:
    """The total loss that fits use."""
    width = facts.design.covariates.dimension
    engine = LocalEngine(episodes_of(people, width), threads=1)
    return Problem(engine, facts.design, facts.link)


def random_person(
    random: np.random.Generator, facts: Facts, *, pieces: int = 1, extreme: float = 0.7
) -> CasePerson:
    """A person of `pieces` rows; the share `extreme` are on the sphere |x| = 1 and stay long."""
    intervals, width = facts.design.intervals, facts.design.covariates.dimension
    cuts = np.sort(random.choice(intervals + 1, min(pieces, intervals) + 1, replace=False))
    if random.random() < extreme:
        cuts[0], cuts[-1] = 0, intervals
    x = random.normal(size=(len(cuts) - 1, width))
    radius = 1.0 if random.random() < extreme else random.random()
    x *= radius / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    return CasePerson(x, cuts[:-1], cuts[1:], event=bool(random.random() < 0.5))


def corner_people(facts: Facts) -> list[CasePerson]:
    """Hand-made persons: at a corner or its opposite, short or long, with and without event."""
    intervals, width = facts.design.intervals, facts.design.covariates.dimension
    corner = np.ones(width) / math.sqrt(max(width, 1))
    axes = np.eye(width)
    directions = [corner, -corner, *axes, *(-axes), np.zeros(width), -0.0 * corner]
    nowhere = np.array([], dtype=np.int64)
    people = [CasePerson(np.empty((0, width)), nowhere, nowhere, event=False)]
    stays = ((0, intervals), (0, 1), (intervals - 1, intervals))
    people += [
        CasePerson(x[None, :], np.array([first]), np.array([last]), event)
        for x, (first, last), event in product(directions, stays, (False, True))
    ]
    if facts.time_varying and intervals > 1:  # jumps to the opposite corner in every interval
        flips = np.array([corner if s % 2 else -corner for s in range(intervals)])
        steps = np.arange(intervals)
        people += [
            CasePerson(sign * flips, steps, steps + 1, event)
            for sign in (1, -1)
            for event in (False, True)
        ]
    return people


def hostile_points(random: np.random.Generator, facts: Facts, count: int) -> Array:
    """Coefficients of every size, also such that all slopes are saturated."""
    sizes = 10.0 ** random.uniform(-3, 4, (count, 1))
    points = random.normal(size=(count, facts.dimension)) * sizes
    level = facts.design.constant
    for point in points[::2]:
        point[: len(level)] += random.choice([-1e3, 1e3, 40.0, -40.0]) * level
    return np.asarray(points)


def linear_loss(slope: Array) -> Callable[[Array], Evaluation]:
    """loss(f) = g'f: the minimiser and every density are known in closed form."""
    return lambda f: Evaluation(float(slope @ f), slope.copy(), np.zeros((len(f), len(f))))


def stuck_loss(f: Array) -> Evaluation:
    """A loss whose gradient is never quite right: solvers move, and get no certificate."""
    slope = np.full(len(f), 1.0 + 0.01 * math.sin(1e6 * f.sum()))
    return Evaluation(float(f.sum()), slope, np.zeros((len(f), len(f))))

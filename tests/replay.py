"""Replay: two neighbouring data sets under one transcript of noisy answers.

A scene is a random public schema, raw rows of some persons, and another person who takes the place
of one of them. The first data set is released; the second is asked the same questions and given the
same answers. Everything that differs is then a vector of integers: its distance is computed exactly
and compared with the sensitivity that its noise is made for. Used by `tests/test_replay.py` and
`evidence/replay.py`.
"""

import csv
import io
import math
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.core.ask import Ask
from discreet.core.question import Question
from discreet.core.split import Split
from discreet.design.baseline import parse_baseline
from discreet.design.design import Design
from discreet.design.groups import Groups
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.engine.federation import question as digest_of
from discreet.likelihood.problem import Problem
from discreet.mechanisms import PrivateNewton
from discreet.mechanisms.contract import Facts
from discreet.mechanisms.group_counts import GroupCounts
from discreet.people.source import People
from discreet.privacy.testing import SeededNoise

HORIZON = 12.0
HOSTILE = ["", "NaN", "inf", "-inf", "1e308", "-1e308", "1e-320", "-0.0", "x", "7,5", "1e999"]
CAUSES = {"cancer": ["C"], "heart": ["H"], "other": ["O"]}


@dataclass(frozen=True)
class Scene:
    """Public facts, and raw rows by person: cells are texts, as in a CSV file."""

    schema: Schema
    settings: dict[str, Any]
    people: list[list[dict[str, str]]]
    other: list[list[dict[str, str]]]

    @property
    def design(self) -> Design:
        """The public coordinates."""
        return Design(self.schema, parse_baseline(self.settings["baseline"]))

    def draw(self, engine: Any, noise: SeededNoise) -> Any:
        """One draw of private Newton, or of curves by group."""
        epsilon, delta = self.settings["epsilon"], self.settings["delta"]
        if self.settings["curves"]:
            mechanism, groups = GroupCounts(epsilon, delta), Groups(self.schema, ("arm",))
            return mechanism.draw(mechanism.plan(engine.persons, groups), groups, engine, noise)
        link = get_link(self.settings["link"])
        mechanism = PrivateNewton(epsilon, delta, self.settings["score"])
        plan = mechanism.plan(Facts(engine.persons, self.design, link))
        return mechanism.draw(plan, Problem(engine, self.design, link), noise)

    @property
    def read(self) -> Schema:
        """What is read of a person."""
        return (
            Groups(self.schema, ("arm",)).schema_for_counting
            if self.settings["curves"]
            else self.schema
        )


# ------------------------------------------------------------------- random public facts, raw rows


def random_scene(seed: int) -> Scene:
    """A scene of the seed: terms, strata or causes, late entry, dates, origin or edges."""
    random = np.random.default_rng(seed)
    curves = bool(random.random() < 0.15)
    mapping = random_schema(random, curves=curves)
    schema = Schema.from_mapping(mapping)
    settings = {
        "link": str(random.choice(["logit", "cloglog", "probit"])),
        "baseline": str(random.choice(["natural-spline:2", "piecewise-constant:3"])),
        "score": str(random.choice(["ball", "ball", "clip"])),
        "epsilon": float(random.choice([1.0, 30.0, 3000.0])),
        "delta": float(random.choice([1e-6, 1e-6, 0.0])),
        "curves": curves,
    }
    number = int(random.choice([7, 80]))
    people = [random_rows(random, mapping, str(who)) for who in range(number)]
    place = int(random.integers(number))
    name = str(place) if random.random() < 0.5 else "another"
    other = [*people]
    other[place] = random_rows(random, mapping, name)
    return Scene(schema, settings, people, other)


def random_schema(random: np.random.Generator, *, curves: bool) -> dict[str, Any]:
    """A public schema, of its own kind in every respect."""

    def either(*choices: Any) -> Any:
        return choices[int(random.integers(len(choices)))]

    time: dict[str, Any] = {"event": "event"}
    if random.random() < 0.25:
        time |= {"start": "begin", "end": "finish", "unit": "months"}
    else:
        time |= {"duration": "time"}
        if random.random() < 0.3:
            time["origin"] = 2.0
    if random.random() < 0.3:
        time["edges"] = [time.get("origin", 0.0), 3.0, 4.0, 7.0, 10.0, HORIZON]
        time.pop("origin", None)
    else:
        time |= {"horizon": HORIZON, "intervals": int(random.integers(5, 15))}
    if random.random() < 0.5:
        time["entry"] = "entry"
    causes = int(either(0, 0, 2, 3))
    if causes:
        time["causes"] = {name: CAUSES[name] for name in list(CAUSES)[:causes]}
    number: dict[str, Any] = {"name": "age", "low": 20, "high": 90}
    if not curves:
        number |= either({}, {"scale": "spline:3"}, {"scale": "log"}, {"missing": "indicator"})
    covariates = [number, {"name": "arm", "levels": ["a", "b", "c"]}]
    if random.random() < 0.5:
        covariates.append({"name": "dose", "low": -1, "high": 3})
    mapping: dict[str, Any] = {"time": time, "covariate": covariates}
    if not curves and random.random() < 0.3:
        mapping["interaction"] = [{"of": ["age", "arm"]}]
    if random.random() < 0.5:
        mapping = {"person": "id", **mapping}
    if not curves and not causes and random.random() < 0.4:
        mapping["strata"] = {"name": "site", "levels": ["x", "y"]}
    return mapping


def random_rows(
    random: np.random.Generator, mapping: dict[str, Any], name: str
) -> list[dict[str, str]]:
    """A person's rows: usual values, and hostile ones in any column but the id."""
    several = "person" in mapping
    return [
        random_row(random, mapping["time"], name)
        for _ in range(int(random.integers(1, 5)) if several else 1)
    ]


def random_row(random: np.random.Generator, time: dict[str, Any], name: str) -> dict[str, str]:
    """One row of texts."""

    def cell(*usual: str) -> str:
        hostile = random.random() < 0.15
        return str(random.choice(HOSTILE)) if hostile else str(random.choice(usual))

    begin, end = sorted(random.uniform(-1.0, 1.3 * HORIZON, 2))
    events = ["C", "H", "O", "alive"] if "causes" in time else ["0", "1"]
    row = {
        "id": name,
        "event": cell(*events),
        "age": cell(f"{random.uniform(10, 100):.3f}", "20", "90"),
        "arm": cell("a", "b", "c", "elsewhere"),
        "dose": cell(f"{random.uniform(-2, 4):.3f}", "-1", "3"),
        "site": cell("x", "y", "z"),
    }
    if "start" in time:
        days = [f"{2000 + int(t // 12):04d}-{1 + int(t % 12):02d}-15" for t in (begin, end)]
        odd = ["", "2000-02-30", "0001-01-01", "9999-12-31", "soon"]
        dates = [day if random.random() > 0.1 else str(random.choice(odd)) for day in days]
        return row | {"begin": "2000-01-01", "finish": dates[1], "entry": dates[0]}
    return row | {"time": cell(f"{end:.4f}", "12", "0.5"), "entry": cell(f"{begin:.4f}", "0")}


def changing_scene(seed: int) -> Scene:
    """The scene of the seed, in which effects change with time."""
    scene = random_scene(seed)
    mapping, random = scene.schema.to_mapping(), np.random.default_rng([seed, 36])
    cuts: list[Any] = [[4.0], [7.5], [4.0, 7.5]]
    for item in mapping["covariate"][:2]:
        item["changes_at"] = cuts[int(random.integers(3))]
    schema = Schema.from_mapping(mapping)
    return Scene(schema, scene.settings, scene.people, scene.other)


# ------------------------------------------------------------------- the same rows in three places


def table_of(people: list[list[dict[str, str]]]) -> pa.Table:
    """All rows, every cell a text."""
    rows = [row for person in people for row in person]
    return pa.table({name: pa.array([row[name] for row in rows]) for name in rows[0]})


def bytes_of(people: list[list[dict[str, str]]]) -> bytes:
    """The rows as a CSV file."""
    rows = [row for person in people for row in person]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def in_memory(scene: Scene, people: list[list[dict[str, str]]], folder: Any) -> Any:
    """From the bytes of a CSV file."""
    path = folder / "people.csv"
    path.write_bytes(bytes_of(people))
    return People.of(path).open(scene.read)


def streamed(scene: Scene, people: list[list[dict[str, str]]], folder: Any) -> Any:
    """From Parquet files that divide the persons among them."""
    place = folder / "stream"
    place.mkdir(exist_ok=True)
    half = len(people) // 2
    for number, part in enumerate((people[:half], people[half:])):
        parquet.write_table(table_of(part), place / f"{number}.parquet")
    return People.of(place).open(scene.read)


def on_dask(scene: Scene, people: list[list[dict[str, str]]], folder: Any) -> Any:
    """From the same files on the workers of the current Dask client."""
    streamed(scene, people, folder)
    return People.of(folder / "stream", engine="dask").open(scene.read)


# ------------------------------------------------------------------- the transcript


@dataclass
class Asked:
    """One question, what the people add up to, and what was answered."""

    question: Question
    digest: bytes
    sums: list[int]
    answer: Any
    spends: bool

    @property
    def kind(self) -> str:
        """The question's name and its proof."""
        return f"{self.question.name} ({self.question.proof})"

    def weighted(self) -> list[int]:
        """What L2 noise is added to."""
        weights = np.broadcast_to(self.question.weights, len(self.sums)).tolist()
        return [int(w) * x for w, x in zip(weights, self.sums, strict=True)]


@dataclass
class Scales(SeededNoise):
    """Seeded noise that remembers its last law and scale."""

    seed: int = 3
    last: tuple[str, Fraction] = ("", Fraction(0))

    def __post_init__(self) -> None:
        super().__init__(self.seed)

    def discrete_gaussian(self, values: Any, scale: Any) -> Any:
        self.last = "gaussian", Fraction(scale)
        return super().discrete_gaussian(values, scale)

    def l1_laplace(self, values: Any, scale: Any) -> Any:
        self.last = "l1", Fraction(scale)
        return super().l1_laplace(values, scale)

    def lattice_laplace(self, dimension: int, scale: Any) -> Any:
        self.last = "lattice", Fraction(scale)
        return super().lattice_laplace(dimension, scale)


def paid(split: Split, share: Fraction, question: Question, noise: Scales) -> bool:
    """Whether noise of this law and scale spends at most this share on the question."""
    (law, scale), size, part = noise.last, question.sensitivity, split.total * share
    if law == "gaussian":
        return Fraction(size.squared) <= 2 * part * (scale**2 - 5)
    if law == "l1":
        return size.absolute is not None and size.absolute <= scale * part
    return size.squared <= (scale * part) ** 2


@dataclass
class Tape:
    """Answers of a first draw, handed out again in a second one."""

    asked: list[Asked] = field(default_factory=list)

    @contextmanager
    def recording(self, noise: Scales) -> Any:
        """Every question of a draw, with its exact sums."""
        original = Ask.__call__

        def ask(own: Ask, question: Question, share: Fraction) -> Any:
            sums = exact_sums(own._engine, question)
            answer = original(own, question, share)
            digest = digest_of(question.block, question.arguments)
            spends = paid(own.split, share, question, noise)
            self.asked.append(Asked(question, digest, sums, answer, spends))
            return answer

        with mock.patch.object(Ask, "__call__", ask):
            yield

    @contextmanager
    def replaying(self) -> Any:
        """The first draw's answers; the tape of the second draw."""
        second = Tape()

        def ask(own: Ask, question: Question, share: Fraction) -> Any:
            before = self.asked[len(second.asked)]
            sums = exact_sums(own._engine, question)
            digest = digest_of(question.block, question.arguments)
            second.asked.append(Asked(question, digest, sums, before.answer, before.spends))
            return before.answer

        with mock.patch.object(Ask, "__call__", ask):
            yield second


def exact_sums(engine: Any, question: Question) -> list[int]:
    """The question's vector in Python's integers."""
    parts = engine.reduce(question.block, *question.arguments)
    assert all(np.issubdtype(part.dtype, np.integer) for part in parts)
    return [int(value) for part in parts for value in np.ravel(part).tolist()]


@dataclass(frozen=True)
class Ratio:
    """How far a vector moved, in parts of what its noise is made for: L2, and L1 where it counts."""

    kind: str
    euclidean: float
    absolute: float
    within: bool


def ratio_of(one: Asked, other: Asked) -> Ratio:
    """The distance of two neighbours' vectors, compared in exact integers."""
    size = one.question.sensitivity
    squared = sum((a - b) ** 2 for a, b in zip(one.weighted(), other.weighted(), strict=True))
    length = sum(abs(a - b) for a, b in zip(one.sums, other.sums, strict=True))
    within = squared <= size.squared and (size.absolute is None or length <= size.absolute)
    part = 0.0 if size.absolute is None else length / size.absolute
    return Ratio(one.kind, math.sqrt(squared / size.squared), part, within)


def replayed(scene: Scene, opening: Any, folder: Any) -> list[Ratio]:
    """The ratio of every question; all else must be the same in both draws."""
    first, second = (opening(scene, people, folder) for people in (scene.people, scene.other))
    return replayed_engines(scene, first, second)


def replayed_engines(scene: Scene, first: Any, second: Any) -> list[Ratio]:
    """The same of two engines over neighbouring people."""
    assert first.persons == second.persons
    tape, noise = Tape(), Scales()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tape.recording(noise):
            one = outcome(scene, first, noise)
        with tape.replaying() as again:
            other = outcome(scene, second, noise)
    assert len(tape.asked) == len(again.asked)
    for before, after in zip(tape.asked, again.asked, strict=True):
        assert before.spends, f"{before.kind}: the noise is smaller than its share pays for"
        assert before.digest == after.digest, f"{before.kind}: the question depends on people"
    assert one == other, "what is told beside the answers depends on people"
    return [ratio_of(*pair) for pair in zip(tape.asked, again.asked, strict=True)]


def outcome(scene: Scene, engine: Any, noise: SeededNoise) -> Any:
    """Everything that a draw makes of its answers, to the bit."""
    try:
        draw = scene.draw(engine, noise)
    except np.linalg.LinAlgError:
        return "no inverse"
    extras = {name: values.tobytes() for name, values in draw.extras.items()}
    return draw.point.tobytes(), extras, [repr(one) for one in draw.cautions]

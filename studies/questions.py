# ruff: noqa: INP001, S603, scripts beside each other; this interpreter is ours
"""The same questions asked in an older tree and in this one: the same integers, and how long they take.

    python studies/questions.py BASE [--engines memory stream dask] [--only TEXT] [--fresh]
    python studies/questions.py --report      writes the part of docs/core.md from the results

An estimator may change; what people add up to at a given point must not. Both trees run in this
environment, each in a process of its own, read the same files by their own readers and ask the same
questions: the same edges, points, whitenings and bounds. What noise would be added to (w x) is
compared integer by integer, and so are the sensitivities that noise is made for. Some questions are
asked of many people, both trees taking turns, and the processor's time is taken.

BASE is a tree from before there was `discreet.core`, such as 0.2.0, or a later one.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import golden
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from discreet.paper.results import Results

ROOT = Path(__file__).parents[1]
COLUMNS = [
    "question",
    "engine",
    "base",
    "persons",
    "integers",
    "squared",
    "same",
    "older_ms",
    "here_ms",
    "ratio",
]
RESULTS = Results(ROOT / "studies" / "results" / "questions.csv", COLUMNS, ["question", "engine"])
PAGE = ROOT / "docs" / "core.md"
BEGIN, END = "<!-- questions: begin -->", "<!-- questions: end -->"
TIMES, ROUNDS = 60, 7
"""Questions that are timed are asked of the people so many times over."""
KINDS = {
    "exits": golden.FORMS,
    "marginals": golden.FORMS,
    "moments": golden.FORMS,
    "scores": golden.FORMS,
    "information": golden.FORMS,
    "group counts": ("levels", "late", "episodes"),
}
SCORES = {
    "few walk": (30.0, "ball", True),
    "many walk": (1.0, "ball", True),
    "all walk": (3.0, "ball", False),
    "clipped": (2.0, "clip", True),
}
"""The bound, how scores are bounded, and whether there may be tables."""
INFORMATION = {"cut": (1.0, "", True), "whole": (1000.0, "", False)}
STRETCHES = {"in one stretch": ((0, 30), 1024), "in two stretches": ((0, 10, 30), 724)}
FIRST = golden.LINKS[0], golden.BASELINES[0]
POINTS = (FIRST, (FIRST[0], golden.BASELINES[1]), *((link, FIRST[1]) for link in golden.LINKS[1:]))
"""Links and baselines; on a stream and on a cluster the first ones."""
PLACES = 12
"""Stretches of time of curves."""
EDGES = np.array([0, 1, 3, 7, 15, 29, 30])


class Asked(NamedTuple):
    """A question to the people of a form; `causes` is 1 where events are of one kind."""

    kind: str
    how: str
    form: str
    causes: int = 1
    link: str = ""
    baseline: str = ""
    engine: str = "memory"
    times: int = 1

    @property
    def name(self) -> str:
        """All but the engine."""
        words = self.kind, self.how, self.form, self.causes, self.link, self.baseline
        return "/".join(str(word) for word in words if word) + ("/timed" if self.times > 1 else "")

    @property
    def random(self) -> np.random.Generator:
        """Public numbers of the question, the same in every tree and on every engine."""
        return np.random.default_rng(zlib.crc32(self.name.encode()))


def questions(engines: list[str]) -> Iterator[Asked]:
    """What both trees are asked."""
    for engine in engines:
        for kind, forms in KINDS.items():
            for form in forms:
                for causes in (1, 2):
                    if causes == 1 or form not in {"numeric", "strata"}:
                        yield from of_kind(kind, form, causes, engine)
    if "memory" in engines:
        for causes in (1, 2):
            for how in SCORES:
                yield Asked("scores", how, "levels", causes, *FIRST, times=TIMES)
            for how in INFORMATION:
                yield Asked("information", how, "levels", causes, *FIRST, times=TIMES)


def of_kind(kind: str, form: str, causes: int, engine: str) -> Iterator[Asked]:
    """The questions of one kind to the people of one form."""
    if kind in {"scores", "information"}:
        for link, baseline in POINTS if engine == golden.ENGINES[0] else POINTS[:1]:
            for how in SCORES if kind == "scores" else INFORMATION:
                yield Asked(kind, how, form, causes, link, baseline, engine)
    elif kind == "marginals":
        for how in STRETCHES:
            yield Asked(kind, how, form, causes, engine=engine)
    elif kind == "group counts":
        for how in ("cumulated", "pure"):
            yield Asked(kind, how, form, causes, engine=engine)
    else:
        yield Asked(kind, "", form, causes, engine=engine)


# What a tree answers


class Answer(NamedTuple):
    """Integers w x, the squared L2 sensitivity, and the L1 sensitivity where noise may be Laplace."""

    integers: Any
    squared: int
    absolute: int | None = None


@dataclass
class Setting:
    """What a question is about: the design, the engine over people, and random public numbers."""

    asked: Asked
    design: Any
    engine: Any
    random: np.random.Generator

    @property
    def covariates(self) -> tuple[Any, ...]:
        """Every covariate's bins: numbers between edges, levels by level."""
        return tuple(self.counts.marginals_of(self.design, 9))

    @property
    def leads(self) -> Any:
        """The columns that are covariates themselves, None where all are."""
        covariates = self.design.covariates
        return covariates.leads if covariates.derived else None

    @property
    def counts(self) -> Any:
        """The tree's module of bins, and before there was a core of counts."""
        return module("core.bins", "mechanisms.newton.counts")

    def stretches(self, edges: tuple[int, ...], weight: int) -> Any:
        """Public stretches of time."""
        return self.counts.Stretches(edges, weight)

    def columns(self) -> tuple[Any, Any, Any]:
        """A centre and a spread of the lead columns, indicators of strata after them; `Columns`."""
        width = len(self.design.covariates.leads) + self.design.strata - 1
        columns = self.counts.Columns(self.leads, self.counts.gaps_of(self.design))
        return self.random.uniform(-0.3, 0.3, width), self.random.uniform(0.2, 1, width), columns

    @cached_property
    def points(self) -> list[Any]:
        """A point, a whitening and a bound of every cause."""
        whitened = module("core.scores", "likelihood.score").Whitened
        link = module("design.link").get_link(self.asked.link)
        size = self.design.dimension
        bound, score, _ = (SCORES | INFORMATION)[self.asked.how]
        made = []
        for _ in range(self.asked.causes):
            point = self.random.normal(0, 0.6, size)
            constant = self.design.constant
            for stratum in range(self.design.strata):
                point[self.design.columns(stratum)[: len(constant)]] -= 3.0 * constant
            mapping = np.tril(self.random.normal(0, 0.4, (size, size))) + np.eye(size)
            unit = bound * float(self.random.uniform(0.7, 1.4))
            made.append(whitened(self.design, link, point, mapping, unit, score == "clip"))
        return made

    @property
    def persons(self) -> int:
        """For how many people tables are made: none pay for one person."""
        return self.engine.persons if (SCORES | INFORMATION)[self.asked.how][2] else 1


def module(now: str, before: str | None = None) -> Any:
    """A module of the tree that is imported; `before` there was a core some had another name."""
    older = before is not None and not find_spec("discreet.core")
    return import_module(f"discreet.{before if older else now}")


def older(name: str) -> Any:
    """A module that trees from before there was a core have."""
    return import_module(f"discreet.{name}")


def question_of(setting: Setting) -> Any:
    """The question as this tree's core makes it."""
    question, kind = module("core.question"), setting.asked.kind
    schema = setting.design.schema
    if kind == "exits":
        late = schema.time.entry is not None
        return question.exits(EDGES, setting.asked.causes, setting.design.strata, late=late)
    if kind == "marginals":
        stretches = setting.stretches(*STRETCHES[setting.asked.how])
        return question.marginals(setting.covariates, stretches, setting.leads)
    if kind == "moments":
        centre, spread, columns = setting.columns()
        return question.moments(centre, spread, setting.stretches((0, 30), 64), columns)
    if kind == "scores":
        return question.scores(setting.points, setting.persons)
    if kind == "information":
        limit = setting.points[0].bound
        return question.information(setting.points, limit, setting.persons)
    groups = module("design.groups").Groups(schema, ("arm",))
    return question.group_counts(groups, PLACES, pure=setting.asked.how == "pure")


def answered(setting: Setting) -> tuple[Answer, float]:
    """The answer of a tree with a core, and the seconds of the processor that the sums took."""
    asked = question_of(setting)
    begun = time.process_time()
    parts = setting.engine.reduce(asked.block, *asked.arguments)
    seconds = time.process_time() - begun
    sums = np.concatenate([np.ravel(part) for part in parts])
    size = asked.sensitivity
    return Answer(sums * asked.weights, size.squared, size.absolute), seconds


class Older(NamedTuple):
    """What an older tree's engine is asked for, and what its mechanisms made of the sums."""

    call: tuple[Any, ...]
    squared: int
    absolute: int | None = None
    weights: Any = 1
    through: Any = None


def answered_before(setting: Setting) -> tuple[Answer, float]:
    """The same in a tree from before there was a core, whose mechanisms put these together."""
    asked = BEFORE[setting.asked.kind](setting)
    begun = time.process_time()
    parts = setting.engine.reduce(*asked.call)
    seconds = time.process_time() - begun
    parts = parts if asked.through is None else [asked.through(part) for part in parts]
    sums = np.concatenate([np.ravel(part) for part in parts])
    return Answer(sums * asked.weights, asked.squared, asked.absolute), seconds


def counted_before(call: tuple[Any, ...], cells: int, stretches: Any = None) -> Older:
    """Counts in 16ths of a person."""
    split = older("mechanisms.newton.split")
    held = older("mechanisms.newton.counts").ONCE if stretches is None else stretches
    square = split._fine_square(cells, held)  # noqa: SLF001
    return Older(call, square, 2 * cells * held.mass, split.FINE)


def exits_before(setting: Setting) -> Older:
    """By outcome, of one cause and of several by functions of their own."""
    counts, causes = setting.counts, setting.asked.causes
    late = setting.design.schema.time.entry is not None
    kinds = counts.ENTRIES_TOO if late else counts.EXITS_ONLY
    call = counts.block_exits, EDGES, kinds, setting.design.strata
    if causes > 1:
        call = older("mechanisms.newton.causes").block_cause_exits, EDGES, causes, kinds
    return counted_before(call, 2 if late else 1)


def marginals_before(setting: Setting) -> Older:
    """Weights in cells."""
    stretches = setting.stretches(*STRETCHES[setting.asked.how])
    call = setting.counts.block_marginals, setting.covariates, stretches, setting.leads
    return counted_before(call, len(setting.covariates), stretches)


def moments_before(setting: Setting) -> Older:
    """Weights of the half-vector were in the sums."""
    layout, (centre, spread, columns) = older("mechanisms.newton.layout"), setting.columns()
    held, limit = setting.stretches((0, 30), 64), layout.moment_limit(len(centre))
    call = setting.counts.block_moments, centre, spread, limit, held, columns
    return Older(call, layout.moment_sensitivity(len(centre), changing=True))


def scores_before(setting: Setting) -> Older:
    """Of one cause and of several by kernels of their own."""
    score, persons = older("likelihood.score"), setting.persons
    first, *others = setting.points
    call = score.block_scores, first, *score.Levels.each(first, persons)
    if others:
        several = older("likelihood.score_causes")
        together = several.Together((first, *others))
        levels = several.CauseLevels.make(together, persons)
        call = several.block_cause_scores, together, levels
    return Older(call, (2 * score.LARGEST) ** 2)


def information_before(setting: Setting) -> Older:
    """Of one cause and of several by kernels of their own."""
    informed, persons = older("likelihood.score_information"), setting.persons
    first, *others = setting.points
    tables = informed.Informations.each(first, persons)
    call = informed.block_information, first, first.bound, *tables
    if others:
        several = older("likelihood.score_causes")
        together = several.Together(tuple(replace(one, bound=1.0) for one in (first, *others)))
        tables = several.information_tables(together, persons)
        call = several.block_cause_information, together, tables, first.bound
    rows, columns = np.tril_indices(setting.design.dimension)
    half = np.where(rows == columns, setting.counts.DIAGONAL, setting.counts.OFF_DIAGONAL)
    squared = older("mechanisms.newton.layout").INFORMATION_SQUARED
    return Older(call, squared, weights=np.tile(half, 1 + len(others)))


def group_counts_before(setting: Setting) -> Older:
    """Sums went through the matrix after they were added."""
    mechanism, design = older("mechanisms.group_counts"), module("design.groups")
    schema, pure = setting.design.schema, setting.asked.how == "pure"
    groups = design.Groups(schema, ("arm",))
    edges = design.stretch_edges(schema.time.intervals, PLACES)
    call = mechanism.block_group_counts, edges, groups.levels, groups.tables(PLACES)
    first, cells = (
        design.strategy(PLACES + 1, pure=pure)[:, 0],
        1 if schema.time.entry is None else 2,
    )
    through = partial(mechanism._through_strategy, pure=pure)  # noqa: SLF001
    squared, absolute = 2 * cells * int(np.sum(first**2)), 2 * cells * int(np.sum(first))
    return Older(call, squared, absolute, through=through)


BEFORE = {
    "exits": exits_before,
    "marginals": marginals_before,
    "moments": moments_before,
    "scores": scores_before,
    "information": information_before,
    "group counts": group_counts_before,
}


def setting_of(asked: Asked, data: Path) -> Setting:
    """The people as the tree reads them."""
    schema_class = module("design.schema").Schema
    schema = schema_class.from_mapping(golden.schema_of(asked.form, causes=asked.causes > 1))
    baseline = module("design.baseline").parse_baseline
    design = module("design.design").Design(schema, baseline(asked.baseline or golden.BASELINES[0]))
    read = schema
    if asked.kind == "group counts":
        groups = module("design.groups").Groups(schema, ("arm",))
        read = getattr(groups, "schema_for_counting", None) or groups.reading  # as 0.2.0 has it
    source: Any = data / asked.form
    if asked.engine == "memory":
        source = pa.concat_tables([parquet.read_table(source)] * asked.times)
    people = module("people.source").People
    settings = {"engine": "dask"} if asked.engine == "dask" else {}
    return Setting(asked, design, people.of(source, **settings).open(read), asked.random)


def serve(data: Path, *, dask: bool) -> None:
    """Answer what is asked for, a question a line."""
    import discreet  # noqa: PLC0415 - the tree that PYTHONPATH names

    answer = answered if find_spec("discreet.core") else answered_before
    out, sys.stdout = sys.stdout, sys.stderr
    with golden._cluster(dask), warnings.catch_warnings():  # noqa: SLF001
        warnings.simplefilter("ignore")
        print(discreet.__file__, file=out, flush=True)
        for line in sys.stdin:
            setting = setting_of(Asked(*json.loads(line)), data)
            found, seconds = answer(setting)
            print(json.dumps(told(found, setting.engine.persons, seconds)), file=out, flush=True)


def told(answer: Answer, persons: int, seconds: float) -> dict[str, Any]:
    """What a process says of an answer."""
    whole = [int(value) for value in answer.integers]
    digest = hashlib.sha256(repr(whole).encode()).hexdigest()
    numbers = {"persons": persons, "integers": len(whole), "digest": digest}
    return numbers | {"squared": answer.squared, "absolute": answer.absolute, "seconds": seconds}


# The comparison


def main() -> None:
    """Ask what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", nargs="?", help="the commit to compare with")
    parser.add_argument("--engines", nargs="+", choices=golden.ENGINES, default=golden.ENGINES)
    parser.add_argument("--only", default="", help="questions whose name has this text")
    parser.add_argument("--fresh", action="store_true", help="ask everything again")
    parser.add_argument("--report", action="store_true", help="write the page alone")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, dask="dask" in arguments.engines)
        return
    if not arguments.base and not arguments.report:
        parser.error("name the commit to compare with")
    if arguments.fresh:
        RESULTS.path.unlink(missing_ok=True)
    if not arguments.report:
        wanted = [one for one in questions(arguments.engines) if arguments.only in one.name]
        with tempfile.TemporaryDirectory() as folder:
            ask(arguments, Path(folder), wanted)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{page(RESULTS.rows())}\n{END}{rest.partition(END)[2]}")
    wrong = [row["question"] for row in RESULTS.rows() if row["same"] != "yes"]
    sys.exit("\n".join(["other integers:", *wrong]) if wrong else 0)


def ask(arguments: argparse.Namespace, place: Path, wanted: list[Asked]) -> None:
    """Ask both trees everything that has no row yet."""
    golden.write_data(place)
    golden._checkout(arguments.base, place / "base")  # noqa: SLF001
    trees = [server(tree, place, arguments) for tree in (place / "base" / "src", ROOT / "src")]
    for asked in wanted:
        if RESULTS.has(question=asked.name, engine=asked.engine):
            continue
        rounds = 1 + ROUNDS * (asked.times > 1)  # the first one may have to compile
        found = [[answer_of(tree, asked) for tree in trees] for _ in range(rounds)]
        RESULTS.append(dict(zip(COLUMNS, row(asked, arguments.base, found), strict=True)))
    for tree in trees:
        tree.communicate()


def row(asked: Asked, base: str, found: list[list[dict[str, Any]]]) -> list[object]:
    """What is told of a question: whether all answers are the same, and both times where it is timed."""
    first, same = found[0][0], "yes"
    for one in (one for pair in found for one in pair):
        if any(one[name] != first[name] for name in ("digest", "squared", "absolute", "persons")):
            same = "no"
    facts = [asked.name, asked.engine, base, first["persons"], first["integers"]]
    times: list[object] = ["", "", ""]
    if asked.times > 1:
        older, here = (median(pair[who]["seconds"] for pair in found[1:]) for who in (0, 1))
        ratio = median(pair[1]["seconds"] / pair[0]["seconds"] for pair in found[1:])
        times = [f"{1000 * older:.1f}", f"{1000 * here:.1f}", f"{ratio:.3f}"]
    return [*facts, first["squared"], same, *times]


def server(tree: Path, data: Path, arguments: argparse.Namespace) -> "subprocess.Popen[str]":
    """A process that imports this tree, ready to answer."""
    command = [sys.executable, str(Path(__file__).resolve()), "--serve", str(data)]
    command += ["--engines", *arguments.engines]
    pipe, environment = subprocess.PIPE, os.environ | {"PYTHONPATH": str(tree)}
    made = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
    if made.stdout is None or not made.stdout.readline().startswith(str(tree)):
        raise SystemExit(f"another package than {tree} was imported")
    return made


def answer_of(tree: "subprocess.Popen[str]", asked: Asked) -> dict[str, Any]:
    """What that process answers."""
    if tree.stdin is None or tree.stdout is None:
        raise SystemExit("the process was started without a pipe")
    tree.stdin.write(f"{json.dumps(asked)}\n")
    tree.stdin.flush()
    found: dict[str, Any] = json.loads(tree.stdout.readline())
    return found


HEAD = """## The same integers as before

An estimator may change; what people add up to at a given point must not. `python
studies/questions.py BASE` asks an older tree (here {bases}, version 0.2.0) and this one the same
questions of the same files, each read by the tree's own readers, and compares every integer that
noise is added to and the sensitivities that the noise is made for: every link and baseline, strata,
late entry, several rows a person, terms, one cause and two, in memory and from a stream.

| vector | questions | integers | answered alike, bit for bit |
|---|---:|---:|---:|
"""


def page(rows: list[dict[str, str]]) -> str:
    """The page of the results."""
    kinds: dict[str, list[dict[str, str]]] = {}
    for one in rows:
        kinds.setdefault(one["question"].split("/")[0], []).append(one)
    lines = []
    for kind, found in kinds.items():
        alike = sum(one["same"] == "yes" for one in found)
        integers = sum(int(one["integers"]) for one in found)
        lines.append(f"| {kind} | {len(found)} | {integers} | {alike} |")
    bases = ", ".join(sorted({row["base"] for row in rows}))
    return HEAD.format(bases=bases) + "\n".join(lines)


if __name__ == "__main__":
    main()

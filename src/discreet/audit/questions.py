"""The audit of what private Newton and curves by group share: people are seen through sums alone.

Draws over crowds are watched (`recording`). Then the same noisy answers are given to other people: every
record is replaced, and the whole release file must be the same to the last bit.
"""

import itertools
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy import stats

from discreet.audit.cases import (
    SIZE,
    Case,
    cases_of,
    crowd,
    everyone_else,
    neighbours,
    nobody,
    quiet,
    table_of,
)
from discreet.audit.findings import Effort, Finding, Subject, at_most, judged
from discreet.audit.instruments import (
    GAUSSIAN,
    L1,
    LATTICE,
    LONG,
    Call,
    ForcedNoise,
    KnownNoise,
    TapedNoise,
    asked_of,
    privacy_loss,
)
from discreet.audit.measured import Measured
from discreet.audit.recording import (
    CHANGING,
    FACTOR,
    OFF_DIAGONAL,
    SCORE,
    STEP,
    Asked,
    Bound,
    Recording,
    cost,
    first_column,
    page,
    summed,
)
from discreet.core import question
from discreet.core.ask import Ask
from discreet.core.question import Question
from discreet.core.split import Sensitivity, Split
from discreet.engine.federation import FederatedEngine
from discreet.engine.local import LocalEngine
from discreet.engine.stream import StreamEngine
from discreet.errors import SettingsError
from discreet.privacy.shares import ALONE
from discreet.types import Integers

GENEROUS = 30_000.0
"""An epsilon at which so few persons are asked everything that there is to ask."""
SHARED = 50.0
"""The same across sites: noise is shared up to an epsilon of about 60."""
SLACK, TIGHT = 1.0 + 1e-9, 1e-6
"""Scales of Gaussian noise are rounded up by less than the second share."""
LARGEST_INTEGER = 2**62
NUMBERS = (*(int(2**24 * 1.07**k) for k in range(95)), 10**12, 10**15, 10**17)
"""Persons of plans: in steps of 7 % to ten thousand million, and then more than there are."""


class Asking(Measured):
    """The audit of a mechanism whose every number is made of noisy sums."""

    noised_extras = True

    def __init__(self, subject: Subject, effort: Effort) -> None:
        super().__init__(subject, effort)
        self.modest = cases_of(subject)
        self.cases = [*self.modest, *(_generous(case) for case in self.modest)]

    @cached_property
    def draws(self) -> list[Recording]:
        """A draw of every case, at the claimed epsilon and where everything is asked."""
        return [Recording.of(case, crowd(case), 1) for case in self.cases]

    @cached_property
    def others(self) -> list[tuple[Recording, Recording]]:
        """The same answers over other people, and at the claimed epsilon over people never at risk."""
        return [
            (one, Recording.of(one.case, other, 2, one.noise.calls))
            for place, one in enumerate(self.draws)
            for other in [everyone_else(one.case), nobody()][: 1 + (place < len(self.modest))]
        ]

    def _each(self) -> Iterator[tuple[Recording, int, Asked, Bound]]:
        """Every question of every draw."""
        for draw in self.draws:
            for place, one in enumerate(draw.asked):
                yield draw, place, one, draw.bound(one)

    def witness(self) -> list[Finding]:
        """What the scales that were drawn spend by the pages' sensitivities: the promise, no more."""
        most, least, shared = 0.0, math.inf, 0.0
        for draw in self.draws:
            costs = [
                cost(draw.bound(one), call) / draw.total
                for one, call in zip(draw.asked, draw.noise.calls, strict=False)
            ]
            most = max(most, sum(costs))
            least = min(least, sum(costs) if draw.case.kind.sites == ALONE else math.inf)
            for one, paid in zip(draw.asked, costs, strict=False):
                shared = max(shared, paid / float(one.share))
            shared = max(shared, float(sum(one.share for one in draw.asked)))
        note = f"all questions of {len(self.draws)} draws; between sites the honest ones' noise"
        spent = judged(
            "witness",
            "spent by the scales drawn, of the promise",
            "1",
            f"{least:.10g} to {most:.10g}",
            sound=least >= 1 - TIGHT and most <= SLACK,
            note=note,
            numbers={"least": least, "most": most},
        )
        share = "of its share by each question, and all shares together"
        return [spent, at_most("witness", "spent of a share", SLACK, shared, share), *self._curve()]

    def _curve(self) -> list[Finding]:
        """The delta of Gaussian noise of the promised rho, by its curve."""
        promise = self.case.promise(20_000)
        if promise.rho is None:
            return []
        mu, epsilon = math.sqrt(2 * promise.rho), promise.epsilon
        low, high = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        shown = math.exp(stats.norm.logcdf(low))
        shown -= math.exp(epsilon + float(stats.norm.logcdf(high)))
        text = f"delta of the promised rho at epsilon {epsilon:g}"
        note = "the curve of Gaussian noise"
        same = all(draw.file.get("guarantee") == draw.promise.to_mapping() for draw in self.draws
                   if draw.draw is not None)  # fmt: skip
        return [
            at_most("witness", text, promise.delta, shown, note),
            judged("witness", "promise of the files", "that of the mechanism",
                   "the same" if same else "another", sound=same),
        ]  # fmt: skip

    def constants(self) -> list[Finding]:
        """Declared sensitivities, weights, plans of any number of persons, more than the budget."""
        return [self._asked(), self._declared(), self._integers(), self._beyond()]

    expected: frozenset[str] = frozenset()
    """The questions that there are."""

    def _asked(self) -> Finding:
        """Every question there is was put to some crowd."""
        names = {one.question.name for draw in self.draws for one in draw.asked}
        missing = sorted(self.expected - names)
        return judged(
            "constants",
            "questions",
            "each is asked",
            f"not {', '.join(missing)}" if missing else "all of them",
            sound=not missing,
            note=f"asked: {', '.join(sorted(names))}",
        )

    def _declared(self) -> Finding:
        """Declared sensitivities and weights are those of the pages."""
        wrong = []
        for draw, _, one, bound in self._each():
            size, name = one.question.sensitivity, f"{one.question.name} ({draw.case.name})"
            fewer = size.absolute is not None and size.absolute < (bound.absolute or 0)
            if size.squared < bound.squared or fewer:
                wrong.append(name)
            if size.absolute is not None and bound.absolute is None:
                wrong.append(f"{name} in L1")
            if int(np.max(one.question.weights)) > bound.weight:
                wrong.append(f"weights of {name}")
        return judged(
            "constants",
            "declared sensitivities",
            "at least the page's",
            some(wrong),
            sound=not wrong,
        )

    def _integers(self) -> Finding:
        """A plan of any number of persons keeps sums within the integers that noise is added to."""
        cases = [case for case in self.cases if case.epsilon >= GENEROUS]
        worst = max(
            largest_sum(case, persons) / LARGEST_INTEGER for case in cases for persons in NUMBERS
        )
        return at_most("constants", "largest sum of a plan", 1.0, worst, "in parts of 2^62")

    def _beyond(self) -> Finding:
        """A budget of more than the whole, and questions beyond it, are refused."""
        engine = self.case.people(crowd(self.case)).open(self.case.order.schema)
        half = Split(Fraction(1), pure=True, shares=(("one", Fraction(1, 2)),))
        empty = Question("none", _count, (), Sensitivity(4, 2), "none")

        def twice() -> None:
            ask = Ask(engine, TapedNoise(1), half)
            for _ in range(2):
                ask(empty, Fraction(3, 5))

        attempts: dict[str, Callable[[], object]] = {
            "shares above the whole": lambda: Split(
                Fraction(1), pure=True, shares=(("one", Fraction(3, 5)), ("two", Fraction(3, 5)))
            ),
            "questions above the whole": twice,
            "a share of zero": lambda: Ask(engine, TapedNoise(1), half)(empty, Fraction(0)),
        }
        passed = []
        for name, attempt in attempts.items():
            try:
                attempt()
            except SettingsError:
                continue
            except Exception:  # noqa: BLE001, S110 - refused too late, by something else
                pass
            passed.append(name)
        return judged(
            "constants",
            "more than the budget",
            f"{len(attempts)} refused",
            f"{len(attempts) - len(passed)} refused",
            sound=not passed,
            note=f"accepted: {some(passed)}" if passed else "by the objects that spend it",
        )

    def neighbours(self) -> list[Finding]:
        """Lengths and distances of persons, and the loss of releases of neighbouring tables."""
        length, apart = (0.0, ""), (0.0, "")
        for draw, asked, alone, _ in self._vectors:
            bound = page(asked, late=draw.case.late)
            length = max(length, (_longest(asked, alone, bound), asked.name))
            apart = max(apart, (_farthest(asked, alone, bound), asked.name))
        note = f"every pair of persons, in L2 and L1; largest: {apart[1]}"
        return [
            self.records(),
            at_most("neighbours", "length of a person", 1.0, length[0], f"largest: {length[1]}"),
            at_most("neighbours", "distance of two persons", 1.0, apart[0], note),
            self._tables(),
        ]

    @cached_property
    def _vectors(self) -> list[tuple[Recording, Question, Integers, Integers]]:
        """Of every question the vectors of each person and their sum, also with harder arguments."""
        found = []
        for draw in self.draws:
            asked = zip(draw.asked, draw.engine.sums, strict=False)
            found += [(draw, one.question, draw.each(one.question), total) for one, total in asked]
            last = {one.question.name: one.question for one in draw.asked}
            for hard in (harder(one, len(draw.people)) for one in last.values()):
                if hard is not None and draw.case.epsilon > self.subject.epsilon:
                    total = summed(draw.engine.people, hard)
                    found.append((draw, hard, draw.each(hard), total))
        return found

    def _tables(self) -> Finding:
        """Neighbouring tables of hostile rows, released at the same outcomes of all sums."""
        worst = 0.0
        for case in self.modest[:2]:
            tables = neighbours(case)
            promise, first = case.promise(len(tables[0])), KnownNoise()
            for place, people in enumerate(tables):
                run = ForcedNoise(first=first) if place else first
                with quiet():
                    case.drawn(people, run)
                pure, spent = privacy_loss(first, run)
                whole = spent / promise.rho if promise.rho else spent
                worst = max(worst, pure / promise.epsilon + whole)
        return at_most("neighbours", "loss of a release", SLACK, worst, "hostile rows of a table")

    def law(self) -> list[Finding]:
        """The laws that a draw asks its source for, and that no two releases share their noise."""
        return [*asked_of(self.draws[0].noise.calls, self.effort.draws), self.fresh()]

    def replay(self) -> list[Finding]:
        """The same noisy answers over other people, and other noise over the same."""
        return [
            *super().replay(),
            self._same("transcript"),
            self._same("released"),
            self._renewed(),
        ]

    def _same(self, what: str) -> Finding:
        """Whether other people with the same noisy answers make the same of them."""
        different = [
            f"{draw.case.name}: {_differing(getattr(draw, what), getattr(other, what))}"
            for draw, other in self.others
            if getattr(draw, what) != getattr(other, what)
        ]
        checks = {
            "transcript": ("questions to other people", "shares, arguments, sensitivities, noise"),
            "released": ("releases of other people", "estimate, extras, cautions, the whole file"),
        }
        check, note = checks[what]
        return judged(
            "replay",
            check,
            "the same for the same answers",
            some(different),
            sound=not different,
            note=f"every record replaced: {note}",
        )

    def _renewed(self) -> Finding:
        """Other noise changes the estimate and every extra of the same people."""
        kept = []
        for draw in self.draws[: len(self.modest)]:
            other = Recording.of(draw.case, draw.people, 4).numbers
            kept += [
                f"{draw.case.name}: {key}"
                for key, value in draw.numbers.items()
                if value == other.get(key)
            ]
        return judged(
            "replay",
            "releases with other noise",
            "nothing stays",
            some(kept),
            sound=not kept,
            note="the same people: an extra that stays has had no noise",
        )

    def questions(self) -> list[Finding]:
        """Sums are those of each person alone, wherever people are; answers are noised sums."""
        return [self._sum_of_persons(), self._elsewhere(), self._answered()]

    def _sum_of_persons(self) -> Finding:
        """A sum over people is the sum of what each adds alone: company changes nothing."""
        other = [
            f"{asked.name} ({draw.case.name})"
            for draw, asked, alone, total in self._vectors
            if not np.array_equal(alone.sum(axis=0), total)
        ]
        return judged(
            "questions",
            "sums over people",
            "what each adds alone",
            some(other),
            sound=not other,
            note="rows, bins and rounding of a person do not depend on the company",
        )

    def _elsewhere(self) -> Finding:
        """The same sums in blocks, in files that are streamed and between sites."""
        other = []
        with tempfile.TemporaryDirectory() as folder:
            for number, draw in enumerate(self.draws[len(self.modest) :]):
                own = [(asked, total) for who, asked, _, total in self._vectors if who is draw]
                for place, engine in _places(draw, Path(folder), number).items():
                    same = (np.array_equal(_without_errors(engine, one), x) for one, x in own)
                    if not all(same):
                        other.append(f"{place} ({draw.case.name})")
        return judged(
            "questions",
            "sums over blocks, streams and sites",
            "the same",
            some(other),
            sound=not other,
            note="several blocks in memory, blocks of few rows of Parquet files, three sites",
        )

    def _answered(self) -> Finding:
        """One sum, one vector of noise of its own and nothing else for every question."""
        wrong: list[str] = []
        for draw in self.draws:
            calls, sums = draw.noise.calls, draw.engine.sums
            if draw.engine.beside or not len(calls) == len(draw.asked) == len(sums):
                wrong.append(f"{draw.case.name}: something beside the questions")
                continue
            if any(a.noise == b.noise for a, b in itertools.combinations(_long(calls), 2)):
                wrong.append(f"{draw.case.name}: noise used again")
            for one, call, x in zip(draw.asked, calls, sums, strict=True):
                size, counted = one.question.sensitivity, call.law == L1
                weights = np.asarray(1 if counted else one.question.weights, dtype=object)
                added = (x.astype(object) * weights).tolist() == call.values
                divisor = size.unit * (1 if counted else size.least)
                told = np.array([float(value) for value in call.outcome]) / divisor
                law = call.law in ({L1, LATTICE} if draw.promise.rho is None else {GAUSSIAN})
                if not added or not law or not np.array_equal(told, one.answer.values):
                    wrong.append(f"{one.question.name} ({draw.case.name})")
        return judged(
            "questions",
            "answers",
            "each sum noised once",
            some(wrong),
            sound=not wrong,
            note="the answer is the noised vector; nothing else is asked of people or of the noise",
        )


def _generous(case: Case) -> Case:
    """The same people at an epsilon at which everything is asked."""
    return replace(case, epsilon=GENEROUS if case.kind.sites == ALONE else SHARED)


def _places(draw: Recording, folder: Path, number: int) -> dict[str, Any]:
    """The people of a draw in several blocks, in two files that are streamed, and at three sites."""
    case, schema = draw.case, draw.case.order.schema
    episodes = case.people(draw.people).open(schema).episodes  # type: ignore[attr-defined]
    cut = SIZE // 2
    parts = [draw.people[:cut], draw.people[cut:]]
    files = tuple(folder / f"{number}-{place}.parquet" for place in range(2))
    for file, part in zip(files, parts, strict=True):
        parquet.write_table(table_of(part), file)
    sites = [draw.people[:5], draw.people[5:20], draw.people[20:]]
    return {
        "blocks": LocalEngine(episodes, threads=5),
        "stream": StreamEngine(files, schema, rows_a_block=9),
        "sites": SeveralSites([case.people(one).open(schema) for one in sites]),
    }


class SeveralSites:
    """Engines of several sites, whose sums are added."""

    def __init__(self, engines: Sequence[Any]) -> None:
        persons = sum(engine.persons for engine in engines)
        self._engines = [FederatedEngine(one, persons, lambda _: None) for one in engines]

    def reduce(self, function: Any, *arguments: Any) -> Any:
        """The sum over sites."""
        found = [engine.reduce(function, *arguments) for engine in self._engines]
        return [sum(parts) for parts in zip(*found, strict=True)]


def _without_errors(engine: Any, question: Question) -> Integers:
    """The sum; nothing where the engine refuses its people."""
    try:
        return summed(engine, question)
    except (SettingsError, pa.ArrowException):
        return np.zeros(0, dtype=np.int64)


def harder(asked: Question, persons: int) -> Question | None:
    """The question with public arguments at which every person is cut; None where nobody ever is."""
    own = asked.arguments
    if asked.name == "moments":
        return question.moments(own[0], own[1] / 1000.0, own[3], own[4])
    if asked.name.startswith("scores"):
        parts = [replace(part, bound=part.bound / 100.0) for part in own[0].parts]
        return question.scores(parts, persons)
    if asked.name.startswith("information"):
        return question.information(own[0].parts, own[1] / 1000.0, persons)
    return None


def _longest(asked: Question, alone: Integers, bound: Bound) -> float:
    weights = np.asarray(asked.weights, dtype=object)
    return ratio(max(int((x * x).sum()) for x in alone.astype(object) * weights), bound.person)


def _farthest(asked: Question, alone: Integers, bound: Bound) -> float:
    """The largest distance of two persons in parts of the declared one and of the page's."""
    exact, weights = alone.astype(object), np.asarray(asked.weights, dtype=object)
    near = alone.astype(float) * np.asarray(asked.weights, dtype=float)
    pairs = list(itertools.combinations(range(len(near)), 2))
    a, b = max(pairs, key=lambda pair: float(np.sum((near[pair[0]] - near[pair[1]]) ** 2)))
    gap = (exact[a] - exact[b]) * weights
    found = ratio(int((gap * gap).sum()), min(bound.squared, asked.sensitivity.squared))
    if asked.sensitivity.absolute is None:
        return found
    lengths = (int(np.abs(alone[i] - alone[j]).sum()) for i, j in pairs)
    absolute = min(asked.sensitivity.absolute, bound.absolute or 0)
    return max(found, max(lengths) / absolute if absolute else math.inf)


def ratio(squared: int, limit: int) -> float:
    """The root of an exact ratio; above 1 where the integers are."""
    if squared == limit:
        return 1.0
    root = math.sqrt(squared / limit) if limit else math.inf
    return min(root, math.nextafter(1.0, 0.0)) if squared < limit else max(root, SLACK)


def _differing(one: Any, other: Any) -> str:
    """Which members differ."""
    if not isinstance(one, dict):
        return "asked otherwise"
    return ", ".join(key for key in one if one[key] != other.get(key)) or "further members"


def _leads(case: Case) -> int:
    order: Any = case.order
    return len(order.design.covariates.leads)


def largest_sum(case: Case, persons: int) -> int:
    """The pages' bound on an entry of a person's vector, times the persons; 0: refused."""
    try:
        plan = case.plan(persons)
    except SettingsError:
        return 0
    details: Any = plan.details
    if case.subject.of_curves:
        pure = plan.guarantee.rho is None
        return persons * (1 if pure else sum(first_column(int(details["stretches"]) + 1)))
    further = int(details.get("leaving", 0)) + int(details.get("varying", 0))
    further += (int(details.get("strata", 1)) - 1) * bool(details.get("mixed"))
    weight = CHANGING if case.kind.several else 1
    asked = {name for name, share in details["shares"].items() if Fraction(share) > 0}
    moments = weight * (7 * (_leads(case) + further) * STEP**2 // 10) * ("moments" in asked)
    information = FACTOR**2 * ("information" in asked)
    return max(persons * OFF_DIAGONAL * max(moments, information), persons * SCORE)


def _count(block: Any) -> tuple[Integers]:
    return (np.array([block.persons], dtype=np.int64),)


def _long(calls: Sequence[Call]) -> list[Call]:
    """Vectors of noise that cannot be alike by chance."""
    return [call for call in calls if call.dimension >= LONG and any(call.noise)]


def some(found: Sequence[str]) -> str:
    """A few of them, and how many there are."""
    if not found:
        return "all of them"
    return f"not {'; '.join(sorted(set(found))[:3])}" + ("; ..." if len(set(found)) > 3 else "")

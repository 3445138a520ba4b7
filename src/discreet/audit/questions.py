"""Questions to people: what private Newton and curves by group ask, answer by answer.

A draw is watched from outside, at the engine and at the source of noise, and by its `Ask` alone it is
seen what was asked:

    x_i         a person's integer vector, the question put to an engine of that person alone
    x           the sum over all persons, as the engine gave it
    w x + K     what the source of noise returned, and all that the mechanism may use
    D, D_1      the page's bound on |w (x_i - x_j)|_2 and |x_i - x_j|_1, from the arguments

Bounds are those of docs/proofs/private-newton.md (2, 3), competing-risks.md (1-3) and group-curves.md
(2), written down a second time. Then the same noisy answers are given to other people: every record
is replaced, and everything that is released must be the same to the last bit.
"""

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from discreet.audit.crowds import Case, Person, cases_of, crowd, everyone_else, table_of
from discreet.audit.curves import first_column
from discreet.audit.findings import Effort, Finding, Subject, at_most, judged, not_applicable
from discreet.audit.noise import GAUSSIAN, L1, LATTICE, ROUNDED, Call, NotedInteger
from discreet.core.ask import Ask
from discreet.core.question import Question
from discreet.core.released import Released
from discreet.core.split import Sensitivity, Split
from discreet.engine.federation import question as digest_of
from discreet.errors import SettingsError
from discreet.mechanisms.contract import Draw
from discreet.people.source import People
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.scales import IntegerVector, integer_vector
from discreet.privacy.testing import SeededNoise
from discreet.types import Integers

FAMILY = "questions"
ASKS = ("newton", "curves")
"""Mechanisms that see people through sums alone."""
GENEROUS = 30_000.0
"""An epsilon at which so few persons are asked everything that there is to ask."""
MODEST = 1.0
"""An epsilon at which noise changes every number that is made of so few persons' sums."""
SIXTEENTHS, DIAGONAL, SCORE, FACTOR, STEP = 16, 128, 2**26, 2**13, 2**10
"""The pages' integers: parts of a count, weight of a square, L, Q, and the grid of moments."""
SLACK = 1.0 + 1e-9


OFF_DIAGONAL, CHANGING = 181, 64
"""Weight of a product, and of second moments of values that change."""
LARGEST_INTEGER = 2**62
NUMBERS = (*(int(2**24 * 1.07**k) for k in range(95)), 10**12, 10**15, 10**17)
"""Persons of plans: in steps of 7 % to ten thousand million, and then more than there are."""


class Bound(NamedTuple):
    """The page's bounds: |w x|^2 of a person, |w (x - x')|^2 and |x - x'|_1 of two."""

    person: int
    squared: int
    absolute: int | None = None


def page(question: Question, *, late: bool) -> Bound:
    """What the proof pages say of the question, from its arguments."""
    name, arguments = question.name, question.arguments
    cells = 2 if late else 1
    if name == "exits":
        return Bound(SIXTEENTHS**2 * cells, SIXTEENTHS**2 * 2 * cells, 2 * cells)
    if name == "marginals":
        covariates, stretches, _ = arguments
        parts, weight = len(stretches.edges) - 1, stretches.weight
        once = len(covariates) * parts * weight
        return Bound(SIXTEENTHS**2 * once * weight, SIXTEENTHS**2 * 2 * once * weight, 2 * once)
    if name == "moments":
        columns, weight = len(arguments[0]), arguments[3].weight
        largest = DIAGONAL * weight * (7 * columns * STEP**2 // 10)
        return Bound(largest**2, 2 * largest**2)
    if name in {"scores", "scores of causes"}:
        return Bound(SCORE**2, 4 * SCORE**2)
    if name in {"information", "information of causes"}:
        largest = DIAGONAL * FACTOR**2
        return Bound(largest**2, 2 * largest**2)
    if name == "group counts":
        matrix = arguments[3][0]
        identity = bool(np.array_equal(matrix, np.eye(len(matrix))))
        stretches = len(arguments[0])  # edges of one stretch less: the last place is the end
        column = [1] if identity else first_column(stretches)
        square = cells * sum(m**2 for m in column)
        return Bound(square, 2 * square, 2 * cells * sum(column))
    raise SettingsError(f"the audit knows no page for the question '{name}'")


# ------------------------------------------------------------------- a draw, watched from outside


@dataclass
class Noised(Call):
    """One request for noise, and the noise."""

    noise: list[int] = field(default_factory=list)

    @property
    def outcome(self) -> list[int]:
        """What the source returned."""
        return [value + noise for value, noise in zip(self.values, self.noise, strict=True)]


class TapedNoise(SeededNoise):
    """Seeded noise with a record; with the record of a first draw, the outcomes of that draw."""

    def __init__(self, seed: int, before: Sequence[Noised] = ()) -> None:
        super().__init__(seed)
        self.calls: list[Noised] = []
        self._before = before

    def discrete_gaussian(self, values: Any, scale: float | Fraction) -> IntegerVector:
        """Rounded normal noise."""
        return self._taped(GAUSSIAN, values, scale, super().discrete_gaussian(values, scale))

    def l1_laplace(self, values: Any, scale: float | Fraction) -> IntegerVector:
        """Differences of geometric numbers."""
        return self._taped(L1, values, scale, super().l1_laplace(values, scale))

    def lattice_laplace(self, dimension: int, scale: float | Fraction) -> IntegerVector:
        """Lattice noise that notes what it is added to."""
        drawn = [int(value) for value in super().lattice_laplace(dimension, scale)]
        call, forced = self._next(LATTICE, dimension, scale), self._forced(dimension)
        call.noise = drawn
        noted = [NotedInteger(value) for value in drawn]
        for place, item in enumerate(noted):
            item.call, item.forced = call, None if forced is None else forced[place]
        return integer_vector(list(noted))

    def _next(self, law: str, dimension: int, scale: float | Fraction) -> Noised:
        self.calls.append(Noised(law, dimension, Fraction(scale)))
        return self.calls[-1]

    def _forced(self, dimension: int) -> list[int] | None:
        place = len(self.calls) - 1
        if place >= len(self._before) or self._before[place].dimension != dimension:
            return None
        return self._before[place].outcome

    def _taped(
        self, law: str, values: Any, scale: float | Fraction, noisy: IntegerVector
    ) -> IntegerVector:
        call = self._next(law, len(noisy), scale)
        call.values = [int(value) for value in np.asarray(values).tolist()]
        forced = self._forced(len(noisy))
        call.noise = [int(b) - a for a, b in zip(call.values, noisy, strict=True)]
        return noisy if forced is None else integer_vector(forced)


class Watched:
    """An engine that notes every sum, and whatever else is looked for in it."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.sums: list[Integers] = []
        self.beside: list[str] = []

    @property
    def persons(self) -> int:
        """The number of persons, which is public."""
        return int(self._engine.persons)

    def reduce(self, function: Any, *arguments: Any) -> Any:
        """A sum over people, noted."""
        parts = self._engine.reduce(function, *arguments)
        self.sums.append(np.concatenate([np.ravel(part) for part in parts]))
        return parts

    def __getattr__(self, name: str) -> Any:
        """Anything but sums is noted by its name."""
        self.beside.append(name)
        return getattr(self._engine, name)


@dataclass(frozen=True)
class Asked:
    """A question, its share of the budget and the answer."""

    question: Question
    share: Fraction
    answer: Released


@contextmanager
def listening() -> Iterator[list[Asked]]:
    """Every question that is put to an `Ask`."""
    original, asked = Ask.__call__, list[Asked]()

    def ask(own: Ask, question: Question, share: Fraction) -> Released:
        answer = original(own, question, share)
        asked.append(Asked(question, share, answer))
        return answer

    Ask.__call__ = ask  # type: ignore[method-assign, assignment]
    try:
        yield asked
    finally:
        Ask.__call__ = original  # type: ignore[method-assign]


@dataclass(frozen=True)
class Recording:
    """One draw of a case: questions, sums, noise and all that is released."""

    case: Case
    people: Sequence[Person]
    engine: Watched
    noise: TapedNoise
    asked: list[Asked]
    draw: Draw | None

    @classmethod
    def of(
        cls, case: Case, people: Sequence[Person], seed: int, before: Sequence[Noised] = ()
    ) -> "Recording":
        """A draw with the noise of a seed, or with the outcomes of an earlier draw."""
        engine = Watched(People.of(table_of(people)).open(case.reading))
        noise = TapedNoise(seed, before)
        with warnings.catch_warnings(), listening() as asked:
            warnings.simplefilter("ignore")
            try:
                draw = case.draw(engine, noise)
            except np.linalg.LinAlgError:  # noise beyond all bounds may leave no matrix
                draw = None
        return cls(case, people, engine, noise, asked, draw)

    @property
    def promise(self) -> Guarantee:
        """What is promised of so many persons."""
        return self.case.promise(len(self.people))

    @property
    def transcript(self) -> list[Any]:
        """All that must not depend on people: questions, shares, declarations, requests for noise."""
        asked = [
            (digest_of(one.question.block, one.question.arguments), one.share) for one in self.asked
        ]
        declared = [one.question.sensitivity for one in self.asked]
        return [asked, declared, [call.shape for call in self.noise.calls], self.engine.beside]

    @property
    def released(self) -> dict[str, Any]:
        """Everything in the draw, to the bit."""
        if self.draw is None:
            return {"point": "no inverse"}
        told = {f"extra {name}": one.tobytes() for name, one in self.draw.extras.items()}
        cautions = [repr(one) for one in self.draw.cautions]
        return {"point": self.draw.point.tobytes(), "cautions": cautions, **told}

    def bound(self, one: Asked) -> Bound:
        """The page's bound of a question."""
        return page(one.question, late=self.case.late)

    @cached_property
    def alone(self) -> list[Integers]:
        """Of every question the vectors of each person alone: persons x length."""
        engines = [People.of(table_of([person])).open(self.case.reading) for person in self.people]
        return [np.stack([_sums(engine, one.question) for engine in engines]) for one in self.asked]

    def spent(self) -> float:
        """What all questions cost by the pages' bounds and the scales that were drawn, of 1."""
        total = 0.0
        for one, call in zip(self.asked, self.noise.calls, strict=False):
            total += cost(self.bound(one), call)
        promised = self.promise.epsilon if self.promise.rho is None else self.promise.rho
        return total / promised


def cost(bound: Bound, call: Call) -> float:
    """Rho or epsilon of a vector within the bound under noise of this law and scale."""
    scale = float(call.scale)
    if call.law == GAUSSIAN:
        worth = scale**2 - ROUNDED
        return bound.squared / (2.0 * worth) if worth > 0 else math.inf
    if call.law == L1:
        return math.inf if bound.absolute is None else bound.absolute / scale
    return math.sqrt(bound.squared) / scale


def _sums(engine: Any, question: Question) -> Integers:
    parts = engine.reduce(question.block, *question.arguments)
    return np.concatenate([np.ravel(part) for part in parts])


# ------------------------------------------------------------------- checks


def check_questions(subject: Subject, _: Effort) -> list[Finding]:
    """Every question of draws over all cases, then the same answers over other people."""
    if subject.name not in ASKS:
        return [not_applicable(FAMILY, "questions", "people are not seen through sums alone")]
    cases = [case for epsilon in (subject.epsilon, GENEROUS) for case in cases_of(subject, epsilon)]
    return judged_cases(subject, cases, cases_of(subject, min(MODEST, subject.epsilon)))


def judged_cases(subject: Subject, cases: Sequence[Case], modest: Sequence[Case]) -> list[Finding]:
    """All checks of draws over the cases; with other noise, of the cases at a modest epsilon."""
    draws = [Recording.of(case, crowd(case), 1) for case in cases]
    others = [Recording.of(one.case, everyone_else(one.case), 2, one.noise.calls) for one in draws]
    renewed = [[Recording.of(case, crowd(case), seed) for seed in (3, 4)] for case in modest]
    return [
        _declared(subject, draws),
        _persons(draws),
        _apart(draws),
        _sum_of_persons(draws),
        _spent(draws),
        _answered(draws),
        _same(draws, others, "transcript"),
        _same(draws, others, "released"),
        _renewed(renewed),
        _integers(cases),
        _beyond(),
    ]


def _each(draws: Sequence[Recording]) -> Iterator[tuple[Recording, int, Asked, Bound]]:
    """Every question of every draw."""
    for draw in draws:
        for place, one in enumerate(draw.asked):
            yield draw, place, one, draw.bound(one)


def _declared(subject: Subject, draws: Sequence[Recording]) -> Finding:
    """Declared sensitivities are those of the pages; every question there is was asked."""
    names, low = set(), []
    for draw, _, one, bound in _each(draws):
        size = one.question.sensitivity
        names.add(one.question.name)
        fewer = size.absolute is not None and bound.absolute is not None
        if size.squared < bound.squared or (fewer and size.absolute < bound.absolute):  # type: ignore[operator]
            low.append(f"{one.question.name} ({draw.case.name})")
        if size.absolute is not None and bound.absolute is None:
            low.append(f"{one.question.name} ({draw.case.name}) in L1")
    return judged(
        FAMILY,
        "declared sensitivities",
        "at least the page's",
        _some(low),
        sound=_expected(subject) <= names and not low,
        note=f"asked: {', '.join(sorted(names))}",
    )


def _expected(subject: Subject) -> set[str]:
    """The questions that a mechanism has."""
    if subject.of_curves:
        return {"group counts"}
    of = " of causes" if subject.causes > 1 else ""
    return {"exits", "marginals", "moments", f"scores{of}", f"information{of}"}


def _persons(draws: Sequence[Recording]) -> Finding:
    """No person alone is longer than the page says, weights included."""
    worst = max((_ratio(_longest(draw, place), bound.person), one.question.name)
                for draw, place, one, bound in _each(draws))  # fmt: skip
    return at_most(FAMILY, "length of a person", 1.0, worst[0], f"largest: {worst[1]}")


def _longest(draw: Recording, place: int) -> int:
    weights = np.asarray(draw.asked[place].question.weights, dtype=object)
    return max(int((x * x).sum()) for x in draw.alone[place].astype(object) * weights)


def _apart(draws: Sequence[Recording]) -> Finding:
    """Any two persons of a crowd are neighbours' difference: one in the place of the other."""
    worst = max((_farthest(draw, place, bound), one.question.name)
                for draw, place, one, bound in _each(draws))  # fmt: skip
    note = f"every pair of persons, in L2 and L1; largest: {worst[1]}"
    return at_most(FAMILY, "distance of two persons", 1.0, worst[0], note)


def _farthest(draw: Recording, place: int, bound: Bound) -> float:
    """The largest distance of two persons in parts of the declared one and of the page's."""
    one = draw.asked[place].question
    exact = draw.alone[place].astype(object)
    near = draw.alone[place].astype(float) * np.asarray(one.weights, dtype=float)
    squared = min(bound.squared, one.sensitivity.squared)
    pairs = list(itertools.combinations(range(len(near)), 2))
    a, b = max(pairs, key=lambda pair: float(np.sum((near[pair[0]] - near[pair[1]]) ** 2)))
    gap = (exact[a] - exact[b]) * np.asarray(one.weights, dtype=object)
    found = _ratio(int((gap * gap).sum()), squared)
    if one.sensitivity.absolute is None:
        return found
    lengths = (int(np.abs(draw.alone[place][i] - draw.alone[place][j]).sum()) for i, j in pairs)
    absolute = min(one.sensitivity.absolute, bound.absolute or 0)
    return max(found, max(lengths) / absolute if absolute else math.inf)


def _ratio(squared: int, limit: int) -> float:
    """The root of an exact ratio; above 1 where the integers are."""
    if squared == limit:
        return 1.0
    root = math.sqrt(squared / limit) if limit else math.inf
    return min(root, math.nextafter(1.0, 0.0)) if squared < limit else max(root, SLACK)


def _sum_of_persons(draws: Sequence[Recording]) -> Finding:
    """A sum over people is the sum of what each adds alone: company changes nothing."""
    other = [
        f"{one.question.name} ({draw.case.name})"
        for draw, place, one, _ in _each(draws)
        if not np.array_equal(draw.alone[place].sum(axis=0), draw.engine.sums[place])
    ]
    return judged(
        FAMILY,
        "sums over people",
        "what each adds alone",
        _some(other),
        sound=not other,
        note="rows, bins and rounding of a person do not depend on the company",
    )


def _spent(draws: Sequence[Recording]) -> Finding:
    """Scales that were drawn, the pages' bounds and the promise; each question within its share."""
    worst = max(draw.spent() for draw in draws)
    for draw in draws:
        promise = draw.promise
        total = promise.epsilon if promise.rho is None else promise.rho
        for one, call in zip(draw.asked, draw.noise.calls, strict=False):
            worst = max(worst, cost(draw.bound(one), call) / (total * float(one.share)))
        worst = max(worst, float(sum(one.share for one in draw.asked)))
    note = "of the promise by all questions, of its share by each, and the sum of the shares"
    return at_most(FAMILY, "spent by the scales drawn", SLACK, worst, note)


def _answered(draws: Sequence[Recording]) -> Finding:
    """One sum, one vector of noise of its own and nothing else for every question."""
    wrong: list[str] = []
    for draw in draws:
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
            if not added or not np.array_equal(told, one.answer.values):
                wrong.append(f"{one.question.name} ({draw.case.name})")
    return judged(
        FAMILY,
        "answers",
        "each sum noised once",
        _some(wrong),
        sound=not wrong,
        note="the answer is the noised vector; nothing else is asked of people or of the noise",
    )


def _same(draws: Sequence[Recording], others: Sequence[Recording], what: str) -> Finding:
    """Whether other people with the same noisy answers make the same of them."""
    different = [
        f"{draw.case.name}: {_differing(getattr(draw, what), getattr(other, what))}"
        for draw, other in zip(draws, others, strict=True)
        if getattr(draw, what) != getattr(other, what)
    ]
    checks = {
        "transcript": ("questions to other people", "shares, arguments, declared sensitivities"),
        "released": ("releases of other people", "estimate, every extra, cautions, to the bit"),
    }
    check, note = checks[what]
    return judged(
        FAMILY,
        check,
        "the same for the same answers",
        _some(different),
        sound=not different,
        note=f"every record replaced: {note}",
    )


def _differing(one: Any, other: Any) -> str:
    """Which members differ."""
    if not isinstance(one, dict):
        return "asked otherwise"
    return ", ".join(key for key in one if one[key] != other.get(key)) or "further members"


def _renewed(renewed: Sequence[Sequence[Recording]]) -> Finding:
    """Other noise changes the estimate and every extra of the same people."""
    kept = [
        f"{draw.case.name}: {key}"
        for draw, other in renewed
        for key in draw.released
        if key != "cautions" and draw.released[key] == other.released.get(key)
    ]
    return judged(
        FAMILY,
        "releases with other noise",
        "nothing stays",
        _some(kept),
        sound=not kept,
        note="the same people: an extra that stays has had no noise",
    )


def _integers(cases: Sequence[Case]) -> Finding:
    """A plan of any number of persons keeps sums within the integers that noise is added to."""
    worst = max(
        _largest_sum(case, persons) / LARGEST_INTEGER
        for case in cases
        if case.epsilon >= GENEROUS
        for persons in NUMBERS
    )
    return at_most(FAMILY, "largest sum of a plan", 1.0, worst, "in parts of 2^62")


def _largest_sum(case: Case, persons: int) -> int:
    """The pages' bound on an entry of a person's vector, times the persons; 0: refused."""
    try:
        plan = case.plan(persons)
    except SettingsError:
        return 0
    details: Any = plan.details
    if case.groups is not None:
        pure = plan.guarantee.rho is None
        return persons * (1 if pure else sum(first_column(int(details["stretches"]) + 1)))
    further = (int(details.get("strata", 1)) - 1) * bool(details.get("mixed"))
    weight = CHANGING if case.schema.person is not None else 1
    asked = {name for name, share in details["shares"].items() if Fraction(share) > 0}
    moments = weight * (7 * (case.leads + further) * STEP**2 // 10) * ("moments" in asked)
    information = FACTOR**2 * ("information" in asked)
    return max(persons * OFF_DIAGONAL * max(moments, information), persons * SCORE)


def _beyond() -> Finding:
    """A budget of more than the whole, and questions beyond it, are refused."""
    case = Case.least()
    engine = People.of(table_of(crowd(case))).open(case.reading)
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
        except Exception:  # noqa: BLE001 - refused too late, by something else
            passed.append(name)
        else:
            passed.append(name)
    return judged(
        FAMILY,
        "more than the budget",
        f"{len(attempts)} refused",
        f"{len(attempts) - len(passed)} refused",
        sound=not passed,
        note=f"accepted: {_some(passed)}" if passed else "by the objects that spend it",
    )


def _count(block: Any) -> tuple[Integers]:
    return (np.array([block.persons], dtype=np.int64),)


def _long(calls: Sequence[Noised]) -> list[Noised]:
    """Vectors of noise that cannot be alike by chance."""
    return [call for call in calls if call.dimension >= 6 and any(call.noise)]


def _some(found: Sequence[str]) -> str:
    """A few of them, and how many there are."""
    if not found:
        return "all of them"
    return f"not {'; '.join(sorted(set(found))[:3])}" + ("; ..." if len(set(found)) > 3 else "")

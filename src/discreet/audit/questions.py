"""The audit of what private Newton and curves by group share: people are seen through sums alone.

Public releases of crowds are watched from outside. At the engine, at the source of noise and at
`Ask` is seen

    x_i         a person's integer vector, the question put to an engine of that person alone
    x           the sum over all persons, as the engine gave it
    w x + K     what the source of noise returned, and all that the mechanism may use
    D, D_1      the page's bound on |w (x_i - x_j)|_2 and |x_i - x_j|_1, from the arguments

Bounds are those of docs/proofs/private-newton.md (2, 3), competing-risks.md (1-3) and
group-curves.md (2), written down a second time. Then the same noisy answers are given to other
people: every record is replaced, and the whole file must be the same to the last bit.
"""

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy import stats
from scipy.spatial.distance import pdist

from discreet.audit.cases import (
    SIZE,
    Case,
    Rows,
    cases_of,
    crowd,
    never_at_risk,
    other_people,
    table_of,
)
from discreet.audit.findings import Effort, Finding, Subject, at_most, judged, ratio, without
from discreet.audit.instruments import GAUSSIAN, L1, LATTICE, Call, KnownNoise, SitesNoise, asked_of
from discreet.audit.measured import Measured, overhearing, refused
from discreet.core import question
from discreet.core.ask import Ask
from discreet.core.question import Question
from discreet.core.released import Released
from discreet.core.split import Sensitivity, Split
from discreet.engine.federation import FederatedEngine
from discreet.engine.federation import question as digest_of
from discreet.engine.local import LocalEngine
from discreet.engine.stream import StreamEngine
from discreet.errors import DiscreetError, SettingsError
from discreet.people.episodes import Episodes
from discreet.privacy import noise as sources
from discreet.privacy.shares import ALONE
from discreet.release import NO_LEDGER, publish
from discreet.types import Integers

GENEROUS, SHARED = 30_000.0, 50.0
"""Epsilons at which so few are asked everything; sites share noise up to an epsilon of about 60."""
TIGHT = 1e-6
"""Scales of Gaussian noise are rounded up by less than this share."""
SIXTEENTHS, DIAGONAL, SCORE, FACTOR, STEP = 16, 128, 2**26, 2**13, 2**10
"""The pages' integers: parts of a count, weight of a square, L, Q, and the grid of moments."""
OFF_DIAGONAL, CHANGING, ROUNDED = 181, 64, 5
"""Weight of a product, of second moments of values that change; what integer noise loses of its
variance."""
LARGEST_INTEGER = 2**62
NUMBERS = (*(int(2**24 * 1.07**k) for k in range(95)), 10**12, 10**15, 10**17)
"""Persons of plans: in steps of 7 % to ten thousand million, and then more than there are."""
MANY, COPIES = 10**6, 200
"""Persons for whom tables are made, and how often a crowd is put beside itself."""


class Bound(NamedTuple):
    """The page's bounds: |w x|^2 of a person, |w (x - x')|^2, |x - x'|_1 of two, and w itself."""

    person: int
    squared: int
    absolute: int | None = None
    weight: int = 1


def page(asked: Question, *, late: bool) -> Bound:
    """The bounds of the proof pages for a question, from its arguments."""
    name, arguments, cells = asked.name.removesuffix(" of causes"), asked.arguments, 1 + late
    if name == "exits":
        whole = SIXTEENTHS**2 * cells
        return Bound(whole, 2 * whole, 2 * cells, SIXTEENTHS)
    if name == "marginals":
        covariates, stretches, _ = arguments
        once = len(covariates) * (len(stretches.edges) - 1) * stretches.weight
        whole = SIXTEENTHS**2 * once * stretches.weight
        return Bound(whole, 2 * whole, 2 * once, SIXTEENTHS)
    if name == "moments":
        columns, weight = len(arguments[0]), arguments[3].weight
        largest = DIAGONAL * weight * (7 * columns * STEP**2 // 10)
        return Bound(largest**2, 2 * largest**2, None, OFF_DIAGONAL)
    if name == "scores":
        return Bound(SCORE**2, 4 * SCORE**2)
    if name == "information":
        largest = DIAGONAL * FACTOR**2
        return Bound(largest**2, 2 * largest**2, None, OFF_DIAGONAL)
    if name == "group counts":
        matrix = arguments[3][0]
        identity = bool(np.array_equal(matrix, np.eye(len(matrix))))
        # edges of one stretch less: the last place is the end
        column = [1] if identity else first_column(len(arguments[0]))
        square = cells * sum(m**2 for m in column)
        return Bound(square, 2 * square, 2 * cells * sum(column))
    raise SettingsError(f"the audit knows no page for the question '{name}'")


def first_column(length: int) -> list[int]:
    """M_1, that is m_j = floor(2^12 (1/2)(3/4) ... (2j-1)/(2j))."""
    weight, column = Fraction(2**12), []
    for j in range(length):
        weight *= Fraction(2 * j - 1, 2 * j) if j else 1
        column.append(math.floor(weight))
    return column


# ------------------------------------------------------------------- a release, watched from outside


class Watched:
    """People of whom every sum is noted, and whatever else is looked for in their engine."""

    def __init__(self, people: Any) -> None:
        self._people, self.in_memory = people, people.in_memory
        self.check, self.count = people.check, people.count
        self.sums: list[Integers] = []
        self.beside: list[str] = []
        self.engine: Any = None

    def open(self, schema: Any) -> "Watched":
        """The people, as their own engine."""
        self.engine = self._people.open(schema)
        return self

    @property
    def persons(self) -> int:
        """The number of persons, which is public."""
        return int(self.engine.persons)

    def reduce(self, function: Any, *arguments: Any) -> Any:
        """A sum over people, noted."""
        parts = self.engine.reduce(function, *arguments)
        self.sums.append(np.concatenate([np.ravel(part) for part in parts]))
        return parts

    def __getattr__(self, name: str) -> Any:
        """Anything but sums is noted by its name."""
        self.beside.append(name)
        return getattr(self.engine, name)


@dataclass(frozen=True)
class Asked:
    """A question, its share of the budget and the answer."""

    question: Question
    share: Fraction
    answer: Released


@contextmanager
def listening(noise: KnownNoise) -> Iterator[list[Asked]]:
    """Every question that is put to an `Ask`, under this noise in place of the system's."""
    ask, source, asked = Ask.__call__, sources.SystemNoise, list[Asked]()

    def heard(own: Ask, put: Question, share: Fraction) -> Released:
        answer = ask(own, put, share)
        asked.append(Asked(put, share, answer))
        return answer

    Ask.__call__ = heard  # type: ignore[method-assign, assignment]
    sources.SystemNoise = lambda: noise  # type: ignore[assignment, misc, return-value]
    try:
        yield asked
    finally:
        Ask.__call__, sources.SystemNoise = ask, source  # type: ignore[method-assign, misc]


@dataclass(frozen=True)
class Recording:
    """One public release of a case: questions, sums, noise, the file and what is said meanwhile."""

    case: Case
    people: Sequence[Rows]
    engine: Watched
    noise: KnownNoise
    asked: list[Asked]
    file: dict[str, Any]
    heard: list[str]

    @classmethod
    def of(
        cls, case: Case, people: Sequence[Rows], seed: int, before: Sequence[Call] = ()
    ) -> "Recording":
        """A release with the noise of a seed, or with the outcomes of an earlier one."""
        shares, engine = case.kind.sites, Watched(case.people(people))
        noise = SitesNoise(shares, seed, before)
        if shares == ALONE:
            noise = KnownNoise(seed=seed, before=before)  # type: ignore[assignment]
        with overhearing() as heard, listening(noise) as asked:
            try:
                file = publish(case.order, engine, ledger=NO_LEDGER).to_mapping()  # type: ignore[arg-type]
            except np.linalg.LinAlgError:  # noise beyond all bounds may leave no matrix
                file = {"point": "no inverse"}
        return cls(case, people, engine, noise, asked, file, heard)

    @cached_property
    def promise(self) -> Any:
        """The guarantee for this number of persons."""
        return self.case.promise(len(self.people))

    @property
    def transcript(self) -> list[Any]:
        """All but the file: questions, shares, declarations, requests for noise, what is said."""
        asked = [
            (digest_of(one.question.block, one.question.arguments), one.share) for one in self.asked
        ]
        declared = [one.question.sensitivity for one in self.asked]
        return [asked, declared, self.noise.trace, self.engine.beside, self.heard]

    @property
    def released(self) -> dict[str, str]:
        """Every member of the file, of what is released and of the estimate one by one."""
        parts = {name: self.file.get(name) for name in ("released", "internal", "causes")}
        inner = {f"{name}: {key}": item for name, part in parts.items()
                 for key, item in (part.items() if isinstance(part, dict) else ())}  # fmt: skip
        return {key: repr(item) for key, item in (self.file | inner).items()}

    def bound(self, one: Asked) -> Bound:
        """The page's bound of a question."""
        return page(one.question, late=self.case.kind.late)

    def spent(self, one: Asked, call: Call) -> Fraction:
        """The share of the promise that a vector within the bound spends: exact, roots to 2^-64."""
        bound, scale, epsilon = self.bound(one), call.scale, Fraction(repr(self.promise.epsilon))
        if call.law == GAUSSIAN and self.promise.rho is not None:
            worth = 2 * self.promise.exact_rho * (scale**2 - ROUNDED)
            return bound.squared / worth if worth > 0 else Fraction(2)
        if call.law == L1 and bound.absolute is not None:
            return bound.absolute / (scale * epsilon)
        root = Fraction(math.isqrt(bound.squared << 128), 2**64)
        return root / (scale * epsilon) if call.law == LATTICE else Fraction(2)

    def each(self, question: Question) -> Integers:
        """The vector of each person alone."""
        return np.stack([summed(engine, question) for engine in self.engines])

    @cached_property
    def engines(self) -> list[Any]:
        """Each person alone."""
        schema = self.case.order.schema
        return [self.case.people([person]).open(schema) for person in self.people]


def summed(engine: Any, question: Question) -> Integers:
    """The question's sum over the engine's people; nothing where it refuses them."""
    try:
        parts = engine.reduce(question.block, *question.arguments)
    except (DiscreetError, pa.ArrowException):
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([np.ravel(part) for part in parts])


class Put(NamedTuple):
    """A question to the crowd of a release: the vector of each person alone."""

    draw: Recording
    question: Question
    alone: Integers

    @property
    def name(self) -> str:
        """Question and case."""
        return f"{self.question.name} ({self.draw.case.name})"


class Asking(Measured):
    """The audit of a mechanism whose every number is made of noisy sums."""

    expected: frozenset[str] = frozenset()
    """The questions that there are."""

    def __init__(self, subject: Subject, effort: Effort) -> None:
        super().__init__(subject, effort)
        modest = cases_of(subject)
        # the same people at an epsilon at which everything is asked
        self.cases = [
            replace(case, epsilon=GENEROUS if case.kind.sites == ALONE else SHARED)
            for case in modest
        ]
        self.cases += modest[:2]

    @cached_property
    def draws(self) -> list[Recording]:
        """A release of every kind where everything is asked, and of two at the claimed epsilon."""
        return [Recording.of(case, crowd(case), 1) for case in self.cases]

    @property
    def modest(self) -> list[Recording]:
        """The latter."""
        return [draw for draw in self.draws if draw.case.epsilon == self.subject.epsilon]

    @cached_property
    def others(self) -> list[tuple[Recording, Recording]]:
        """Releases with equal answers over other people; at the claimed epsilon also never at risk."""
        pairs = [(one, other_people(one.case)) for one in self.draws]
        pairs += [(one, never_at_risk()) for one in self.modest]
        return [(one, Recording.of(one.case, who, 2, one.noise.calls)) for one, who in pairs]

    def witness(self) -> list[Finding]:
        """The scales that were drawn spend the promise by the pages' sensitivities, and no more."""
        least, beyond, promised, source = 1.0, list[str](), list[str](), list[str]()
        for draw in self.draws:
            rounding = 0 if draw.case.kind.sites == ALONE else Fraction(1, 10**9)
            pairs = list(zip(draw.asked, draw.noise.calls, strict=False))
            costs = [draw.spent(one, call) for one, call in pairs]
            beyond += [f"{one.question.name} ({draw.case.name})"
                       for (one, _), paid in zip(pairs, costs, strict=True)
                       if paid > one.share * (1 + rounding)]  # fmt: skip
            beyond += [draw.case.name] * (sum(one.share for one in draw.asked) > 1)
            if not rounding:
                least = min(least, float(sum(costs)))
            if draw.file.get("guarantee", draw.promise.to_mapping()) != draw.promise.to_mapping():
                promised.append(draw.case.name)
            if any(Fraction(sources.checked_scale(call.scale)) < call.scale for _, call in pairs):
                source.append(draw.case.name)
        exact = f"exact numbers, {len(self.draws)} releases; between sites the honest ones' noise"
        return [
            without("spent by the scales drawn", "no question above its share", beyond, exact),
            judged("unspent", f"less than {TIGHT:g}", f"{1 - least:.2g}", sound=1 - least <= TIGHT),
            without("scales as the source rounds them", "not below", source),
            without("promises of the files", "those of the mechanism", promised),
            *self._curve(),
        ]

    def _curve(self) -> list[Finding]:
        """The delta of Gaussian noise of the promised rho, by its curve."""
        promise = self.case.promise(20_000)
        if promise.rho is None:
            return []
        mu, epsilon = math.sqrt(2 * promise.rho), promise.epsilon
        low, high = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        shown = math.exp(stats.norm.logcdf(low)) - math.exp(epsilon + stats.norm.logcdf(high))
        text = f"delta of the promised rho at epsilon {epsilon:g}"
        return [at_most(text, promise.delta, shown, "the curve of Gaussian noise")]

    def constants(self) -> list[Finding]:
        """Declared sensitivities, weights, plans of any number of persons, more than the budget."""
        names, wrong = {one.question.name for draw in self.draws for one in draw.asked}, []
        for draw in self.draws:
            for one in draw.asked:
                size, bound = one.question.sensitivity, draw.bound(one)
                fewer = size.absolute is not None and size.absolute < (bound.absolute or 0)
                unproved = size.absolute is not None and bound.absolute is None
                heavy = int(np.max(one.question.weights)) > bound.weight
                if size.squared < bound.squared or fewer or unproved or heavy:
                    wrong.append(f"{one.question.name} ({draw.case.name})")
        whole = [case for case in self.cases if case.epsilon >= GENEROUS]
        sums = [largest_sum(case, persons) for case in whole for persons in NUMBERS]
        largest = max(sums, default=0) / LARGEST_INTEGER
        asked = f"asked: {', '.join(sorted(names))}"
        return [
            without("questions", "each is asked", sorted(self.expected - names), asked),
            without("declared sensitivities and weights", "the page's", wrong),
            at_most("largest sum of a plan", 1.0, largest, "in parts of 2^62"),
            refused("more than the budget", self._beyond(), "by the objects that spend it"),
        ]

    def _beyond(self) -> list[tuple[str, Callable[[], object]]]:
        """A budget of more than the whole, questions beyond it, sums beyond the integers."""
        engine = self.case.people(crowd(self.case)).open(self.case.order.schema)
        half = Split(Fraction(1), pure=True, shares=(("one", Fraction(1, 2)),))
        empty = Question("none", lambda _: (np.zeros(1, int),), (), Sensitivity(4, 2), "none")
        wide = replace(empty, sensitivity=Sensitivity((LARGEST_INTEGER // SIZE + 1) ** 2, 2))

        def asked(*shares: str) -> None:
            ask = Ask(engine, KnownNoise(), half)
            for share in shares[:-1]:
                with suppress(SettingsError):
                    ask(empty, Fraction(share))
            ask(empty, Fraction(shares[-1]))

        parts = (("one", Fraction(3, 5)), ("two", Fraction(3, 5)))
        return [
            ("shares above the whole", lambda: Split(Fraction(1), pure=True, shares=parts)),
            ("questions above the whole", partial(asked, "3/5", "3/5")),
            ("the same after a share below zero", partial(asked, "-1", "3/2")),
            ("a share of zero", partial(asked, "0")),
            ("sums beyond 2^62", lambda: Ask(engine, KnownNoise(), half)(wide, Fraction(1))),
        ]

    @cached_property
    def put(self) -> list[Put]:
        """Every question asked, and of each kind one with the arguments of `harder`."""
        found = []
        for draw in self.draws:
            questions = [one.question for one in draw.asked]
            last = {one.name: one for one in questions}
            if draw.case.epsilon > self.subject.epsilon:
                questions += [more for one in last.values() for more in harder(one)]
            found += [Put(draw, one, draw.each(one)) for one in questions]
        return found

    def neighbours(self) -> list[Finding]:
        """Lengths and distances of persons."""
        length, apart = (0.0, ""), (0.0, "")
        for one in self.put:
            bound = page(one.question, late=one.draw.case.kind.late)
            weighted = one.alone.astype(object) * np.asarray(one.question.weights, dtype=object)
            longest = ratio(max(int((x * x).sum()) for x in weighted), bound.person)
            length = max(length, (longest, one.name))
            apart = max(apart, (_farthest(one, bound), one.name))
        note = f"every pair of persons, in L2 and L1; largest: {apart[1]}"
        return [
            self.records(),
            at_most("length of a person", 1.0, length[0], f"largest: {length[1]}"),
            at_most("distance of two persons", 1.0, apart[0], note),
        ]

    def law(self) -> list[Finding]:
        """The laws that releases ask the source for, and that no two releases share their noise."""
        return [*asked_of(self.draws[0].noise.calls, self.effort.draws), self.fresh()]

    def replay(self) -> list[Finding]:
        """Equal noisy answers over other people, and other noise over equal people."""
        asked, files, kept = [], [], []
        for draw, other in self.others:
            asked += [draw.case.name] * (draw.transcript != other.transcript)
            one, two = draw.released, other.released
            files += [f"{draw.case.name}: {key}" for key in sorted(one.keys() | two.keys())
                      if one.get(key) != two.get(key)]  # fmt: skip
        for draw in self.modest:
            own, new = draw.released, Recording.of(draw.case, draw.people, 4).released
            noisy = [key for key in own if ": " in key and key.split(": ")[1] not in PUBLIC]
            kept += [f"{draw.case.name}: {key}" for key in noisy if own[key] == new.get(key)]
        note = "every record replaced: shares, arguments, scales, warnings, output, log"
        same, stays = "the same for the same answers", "the same people: what stays has no noise"
        return [
            self.says_so(),
            without("questions to other people", same, asked, note),
            without("releases of other people", same, files, "estimate, extras, cautions: all"),
            without("releases with other noise", "nothing stays", kept, stays),
        ]

    def questions(self) -> list[Finding]:
        """Sums are those of each person alone, wherever people are; answers are noised sums."""
        company = []
        for one in self.put:
            last = {asked.question.name: asked.question for asked in one.draw.asked}
            few, alone = one.draw.engine.engine.episodes, one.alone
            crowds = [(few, 1, alone.sum(axis=0))]
            if one.question is last[one.question.name]:
                top = int(np.argmax(np.abs(alone).max(axis=1)))
                crowds += [(few, COPIES, alone.sum(axis=0))]
                crowds += [(one.draw.engines[top].episodes, SIZE * COPIES, alone[top])]
            sums = (summed(LocalEngine(copied(who, times)), one.question) - times * whole
                    for who, times, whole in crowds)  # fmt: skip
            company += [one.name] * any(map(np.any, sums))
        note = f"rows stand apart; {COPIES} crowds together; one person {SIZE * COPIES} times"
        places = "several blocks in memory, blocks of few rows of Parquet files, three sites"
        answers = "the answer is the noised vector; nothing else is asked of people or noise"
        return [
            without("sums over people", "what each adds alone", company, note),
            without("sums over blocks, streams and sites", "the same", self._elsewhere(), places),
            without("answers", "each sum noised once", self._unlike(), answers),
        ]

    def _elsewhere(self) -> list[str]:
        """Where the sums are others in blocks, in files that are streamed or between sites."""
        other = []
        with tempfile.TemporaryDirectory() as folder:
            whole = [draw for draw in self.draws if draw.case.epsilon > self.subject.epsilon]
            for number, draw in enumerate(whole):
                for place, engine in _places(draw, Path(folder), number).items():
                    pairs = zip(draw.asked, draw.engine.sums, strict=False)
                    same = (np.array_equal(summed(engine, one.question), x) for one, x in pairs)
                    other += [f"{place} ({draw.case.name})"] * (not all(same))
        return other

    def _unlike(self) -> list[str]:
        """Questions that are not answered by one sum under one vector of noise of its own."""
        wrong: list[str] = []
        for draw in self.draws:
            calls, sums = draw.noise.calls, draw.engine.sums
            if draw.engine.beside or not len(calls) == len(draw.asked) == len(sums):
                wrong.append(f"{draw.case.name}: something beside the questions")
                continue
            for one, call, x in zip(draw.asked, calls, sums, strict=True):
                size, counted = one.question.sensitivity, call.law == L1
                weights = np.asarray(1 if counted else one.question.weights, dtype=object)
                added = (x.astype(object) * weights).tolist() == call.values
                divisor = size.unit * (1 if counted else size.least)
                told = np.array([float(value) for value in call.outcome]) / divisor
                law = call.law in ({L1, LATTICE} if draw.promise.rho is None else {GAUSSIAN})
                if not added or not law or not np.array_equal(told, one.answer.values):
                    wrong.append(f"{one.question.name} ({draw.case.name})")
        return wrong


PUBLIC = ("coordinates", "covariates", "times", "names", "edges")
"""Members of what is released that are public."""


def copied(whole: Episodes, times: int) -> Episodes:
    """As many people for each, who have the same rows."""
    rows = np.tile(np.arange(whole.rows), times)
    if whole.offsets is None:  # rows without offsets are sorted by exit
        rows, offsets = rows[np.argsort(whole.exit[rows], kind="stable")], None
    else:
        starts = whole.offsets[:-1] + whole.rows * np.arange(times)[:, None]
        offsets = np.append(starts.ravel(), len(rows))
    names = ("covariates", "entry", "exit", "event", "stratum", "cause")
    parts: dict[str, Any] = {name: getattr(whole, name) for name in names}
    many: dict[str, Any] = {
        name: part if part is None else part[rows] for name, part in parts.items()
    }
    return replace(whole, persons=times * whole.persons, offsets=offsets, **many)


def _places(draw: Recording, folder: Path, number: int) -> dict[str, Any]:
    """The people of a release in several blocks, in two streamed files, and at three sites."""
    case, schema, cut = draw.case, draw.case.order.schema, SIZE // 2
    files = tuple(folder / f"{number}-{place}.parquet" for place in range(2))
    for file, part in zip(files, (draw.people[:cut], draw.people[cut:]), strict=True):
        parquet.write_table(table_of(part), file)
    parts = (draw.people[:5], draw.people[5:20], draw.people[20:])
    engines = [case.people(part).open(schema) for part in parts]
    sites = [FederatedEngine(one, SIZE, lambda _: None) for one in engines]

    def together(function: Any, *arguments: Any) -> Any:
        found = [site.reduce(function, *arguments) for site in sites]
        return [sum(sums) for sums in zip(*found, strict=True)]

    return {
        "blocks": LocalEngine(draw.engine.engine.episodes, threads=5),
        "stream": StreamEngine(files, schema, rows_a_block=9),
        "sites": SimpleNamespace(reduce=together),
    }


def harder(asked: Question) -> list[Question]:
    """The question with public arguments at which every person is cut, or with those of many people."""
    own, name = asked.arguments, asked.name.removesuffix(" of causes")
    if name == "moments":
        return [question.moments(own[0], own[1] / 1000.0, own[3], own[4])]
    if name == "scores":
        cut = [replace(part, bound=part.bound / 100.0) for part in own[0].parts]
        return [question.scores(cut, SIZE), question.scores(own[0].parts, MANY)]
    if name == "information":
        limits = ((own[1] / 1000.0, SIZE), (own[1], MANY))
        return [question.information(own[0].parts, *limit) for limit in limits]
    return []


def _farthest(one: Put, bound: Bound) -> float:
    """The largest distance of two persons in parts of the declared one and of the page's."""
    size, weights = one.question.sensitivity, np.asarray(one.question.weights)
    place = int(np.argmax(pdist((one.alone * weights).astype(float))))
    a, b = (index[place] for index in np.triu_indices(len(one.alone), 1))
    gap = (one.alone[a] - one.alone[b]).astype(object) * weights.astype(object)
    found = ratio(int((gap * gap).sum()), min(bound.squared, size.squared))
    if size.absolute is None:
        return found
    longest = float(pdist(one.alone.astype(float), "cityblock").max())
    absolute = min(size.absolute, bound.absolute or 0)
    return max(found, longest / absolute if absolute else math.inf)


def largest_sum(case: Case, persons: int) -> int:
    """The pages' bound on an entry of a person's vector, times the persons; 0: refused."""
    try:
        plan = case.order.plan(persons)
    except SettingsError:
        return 0
    details: Any = plan.details
    if case.subject.of_curves:
        pure = plan.guarantee.rho is None
        return persons * (1 if pure else sum(first_column(int(details["stretches"]) + 1)))
    columns = len(case.order.design.covariates.leads)  # type: ignore[attr-defined]
    columns += (int(details.get("strata", 1)) - 1) * bool(details.get("mixed"))
    weight = CHANGING if case.kind.several else 1
    asked = {name for name, share in details["shares"].items() if Fraction(share) > 0}
    moments = weight * (7 * columns * STEP**2 // 10) * ("moments" in asked)
    information = FACTOR**2 * ("information" in asked)
    return max(persons * OFF_DIAGONAL * max(moments, information), persons * SCORE)

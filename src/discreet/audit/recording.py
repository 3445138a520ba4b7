"""A draw of a mechanism that sees people through sums alone, watched from outside.

At the engine, at the source of noise and at its `Ask` it is seen:

    x_i         a person's integer vector, the question put to an engine of that person alone
    x           the sum over all persons, as the engine gave it
    w x + K     what the source of noise returned, and all that the mechanism may use
    D, D_1      the page's bound on |w (x_i - x_j)|_2 and |x_i - x_j|_1, from the arguments

Bounds are those of docs/proofs/private-newton.md (2, 3), competing-risks.md (1-3) and group-curves.md
(2), written down a second time.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from discreet.audit.cases import (
    Case,
    Rows,
)
from discreet.audit.instruments import (
    GAUSSIAN,
    L1,
    ROUNDED,
    Call,
    SitesNoise,
    TapedNoise,
)
from discreet.core.ask import Ask
from discreet.core.question import Question
from discreet.core.released import Released
from discreet.engine.federation import question as digest_of
from discreet.errors import SettingsError
from discreet.mechanisms.contract import Draw
from discreet.privacy.shares import ALONE
from discreet.types import Integers

SIXTEENTHS, DIAGONAL, SCORE, FACTOR, STEP = 16, 128, 2**26, 2**13, 2**10
"""The pages' integers: parts of a count, weight of a square, L, Q, and the grid of moments."""
OFF_DIAGONAL, CHANGING = 181, 64
"""Weight of a product, and of second moments of values that change."""


class Bound(NamedTuple):
    """The page's bounds: |w x|^2 of a person, |w (x - x')|^2, |x - x'|_1 of two, and w itself."""

    person: int
    squared: int
    absolute: int | None = None
    weight: int = 1


def page(asked: Question, *, late: bool) -> Bound:
    """What the proof pages say of the question, from its arguments."""
    name, arguments = asked.name, asked.arguments
    cells = 2 if late else 1
    if name == "exits":
        whole = SIXTEENTHS**2 * cells
        return Bound(whole, 2 * whole, 2 * cells, SIXTEENTHS)
    if name == "marginals":
        covariates, stretches, _ = arguments
        parts, weight = len(stretches.edges) - 1, stretches.weight
        once = len(covariates) * parts * weight
        whole = SIXTEENTHS**2 * once * weight
        return Bound(whole, 2 * whole, 2 * once, SIXTEENTHS)
    if name == "moments":
        columns, weight = len(arguments[0]), arguments[3].weight
        largest = DIAGONAL * weight * (7 * columns * STEP**2 // 10)
        return Bound(largest**2, 2 * largest**2, None, OFF_DIAGONAL)
    if name in {"scores", "scores of causes"}:
        return Bound(SCORE**2, 4 * SCORE**2)
    if name in {"information", "information of causes"}:
        largest = DIAGONAL * FACTOR**2
        return Bound(largest**2, 2 * largest**2, None, OFF_DIAGONAL)
    if name == "group counts":
        matrix = arguments[3][0]
        identity = bool(np.array_equal(matrix, np.eye(len(matrix))))
        stretches = len(arguments[0])  # edges of one stretch less: the last place is the end
        column = [1] if identity else first_column(stretches)
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


# ------------------------------------------------------------------- a draw, watched from outside


class Watched:
    """An engine that notes every sum, and whatever else is looked for in it."""

    def __init__(self, engine: Any) -> None:
        self.people = self._engine = engine
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

    def ask(own: Ask, put: Question, share: Fraction) -> Released:
        answer = original(own, put, share)
        asked.append(Asked(put, share, answer))
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
    people: Sequence[Rows]
    engine: Watched
    noise: TapedNoise
    asked: list[Asked]
    draw: Draw | None
    file: dict[str, Any]

    @classmethod
    def of(
        cls, case: Case, people: Sequence[Rows], seed: int, before: Sequence[Call] = ()
    ) -> "Recording":
        """A draw with the noise of a seed, or with the outcomes of an earlier draw."""
        order, shares = case.order, case.kind.sites
        engine = Watched(case.people(people).open(order.schema))
        noise = TapedNoise(seed, before) if shares == ALONE else SitesNoise(shares, seed, before)
        draw, file = None, {}
        with warnings.catch_warnings(), listening() as asked:
            warnings.simplefilter("ignore")
            plan = order.plan(engine.persons)
            try:
                draw = order.draw(plan, engine, noise)
                file = order.compose(plan, draw, "no ledger").to_mapping()
            except np.linalg.LinAlgError:  # noise beyond all bounds may leave no matrix
                file = {"point": "no inverse"}
        return cls(case, people, engine, noise, asked, draw, file)

    @cached_property
    def promise(self) -> Any:
        """What is promised of so many persons."""
        return self.case.promise(len(self.people))

    @property
    def total(self) -> float:
        """The promise as noise spends it: rho, or epsilon."""
        return float(self.promise.epsilon if self.promise.rho is None else self.promise.rho)

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
        """Everything in the draw, to the bit, and every member of the file."""
        found = {f"file: {key}": repr(item) for key, item in self.file.items()}
        return found | self.numbers | {"cautions": repr(self.draw and self.draw.cautions)}

    @property
    def numbers(self) -> dict[str, Any]:
        """The point and every extra."""
        if self.draw is None:
            return {}
        told = {f"extra {name}": one.tobytes() for name, one in self.draw.extras.items()}
        return {"point": self.draw.point.tobytes(), **told}

    def bound(self, one: Asked) -> Bound:
        """The page's bound of a question."""
        return page(one.question, late=self.case.late)

    def each(self, question: Question) -> Integers:
        """The vector of each person alone."""
        return np.stack([summed(engine, question) for engine in self._engines])

    @cached_property
    def _engines(self) -> list[Any]:
        schema = self.case.order.schema
        return [self.case.people([person]).open(schema) for person in self.people]


def cost(bound: Bound, call: Call) -> float:
    """Rho or epsilon of a vector within the bound under noise of this law and scale."""
    scale = float(call.scale)
    if call.law == GAUSSIAN:
        worth = scale**2 - ROUNDED
        return bound.squared / (2.0 * worth) if worth > 0 else math.inf
    if scale <= 0:
        return math.inf
    if call.law == L1:
        return math.inf if bound.absolute is None else bound.absolute / scale
    return math.sqrt(bound.squared) / scale


def summed(engine: Any, question: Question) -> Integers:
    """The question's sum over the engine's people."""
    parts = engine.reduce(question.block, *question.arguments)
    return np.concatenate([np.ravel(part) for part in parts])

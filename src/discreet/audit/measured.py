"""The parts that audits of all mechanisms share: families as methods, and checks of releases.

A mechanism's audit derives from `Measured` and has the families of the table in one order: witness,
constants, neighbours, law, replay, questions, refusals, outcomes.
"""

import contextlib
import io
import logging
import math
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TextIO

import numpy as np
import pyarrow as pa

from discreet.audit.cases import Case, Rows, cases_of, crowd, few, neighbours, quiet
from discreet.audit.findings import (
    Effort,
    Finding,
    Subject,
    at_most,
    judged,
    not_applicable,
    without,
)
from discreet.audit.instruments import KnownNoise, shown
from discreet.design.schema import Schema
from discreet.documents.causes import CausesRelease
from discreet.documents.curves import CurvesRelease
from discreet.errors import SchemaError, SettingsError
from discreet.mechanisms.contract import Mechanism
from discreet.people.episodes import Episodes
from discreet.people.source import People
from discreet.privacy.guarantee import Guarantee
from discreet.release import NO_LEDGER, AbstractOrder, publish, simulate
from discreet.types import Array

FAMILIES = {
    "witness": "witness",
    "constants": "constants",
    "neighbours": "neighbours",
    "law": "law",
    "replay": "replay",
    "questions": "questions",
    "refusals": "refusals",
    "end to end": "outcomes",
}
"""Every family and the method that has its checks, in the order in which they run."""

VALUES = ("coefficients", "internal", "release_id", "curves", "test")
NO_EPSILON = (0.0, -1.0, math.inf, math.nan, None, True)
NO_DELTA = (-1.0, 1.0, math.nan, math.inf)
TIME = {"duration": "t", "event": "e", "horizon": 5.0, "intervals": 5}
ALIVE, DEAD = (5.0, 0), (0.5, 1)
SIDES = (ALIVE, DEAD)
"""Tables of one person: alive to the end, dead at once."""

Attempt = tuple[str, Callable[[], object]]


class Measured:
    """The audit of one mechanism, at a claimed epsilon."""

    unproved_links: ClassVar[tuple[str, ...]] = ()
    """Links that the proof page excludes: said once more here, so that code can be wrong."""
    outcome: ClassVar[str] = "public fits"

    def __init__(self, subject: Subject, effort: Effort) -> None:
        self.subject, self.effort = subject, effort
        self.case = cases_of(subject)[0]

    def witness(self) -> list[Finding]:
        """The privacy loss at the worst pair."""
        return [not_applicable("tight witness", "no worst pair is known in closed form")]

    def constants(self) -> list[Finding]:
        """The formulas of the proof page, computed a second time."""
        reason = "its constants are those of the mechanism that trials run"
        return [not_applicable("formulas of the proof page", reason)]

    def neighbours(self) -> list[Finding]:
        """Movement against what was claimed."""
        return [self.records()]

    def law(self) -> list[Finding]:
        """The laws of everything random, and that no two releases share their noise."""
        return [self.fresh()]

    def replay(self) -> list[Finding]:
        """Neighbouring tables under the same noise."""
        return [self.traces(), self.says_so()]

    def questions(self) -> list[Finding]:
        """Every question that is asked of people, answer by answer."""
        reason = "people are not seen through sums alone"
        return [not_applicable("questions", reason)]

    def refusals(self) -> list[Finding]:
        """Settings that promise nothing must be refused before any data are read."""
        attempts, own = self.settings_without_promise(), self.case.mechanism
        for link in self.unproved_links:
            case = replace(self.case, kind=replace(self.case.kind, link=link))
            attempts.append((f"link {link}", partial(unread, case.order)))
        mapping = self.case.schema.to_mapping()
        del mapping["covariate"][0]["high"]
        order = self.case.order.changed(schema=Schema.from_mapping(mapping))
        attempts.append(("a covariate without bounds", partial(unread, order)))

        # this mechanism, but for a promise that says of itself that it is not proved
        def promise(mechanism: Mechanism, persons: int) -> Guarantee:
            promised: Guarantee = type(own).promise(mechanism, persons)
            return replace(promised, status="unproved")

        kind = type("Unproved", (type(own),), {"promise": promise})
        order = self.case.order.changed(mechanism=kind(**vars(own)))
        attempts.append(("a promise without a proof", partial(unread, order)))
        return [refused("settings without a promise", attempts, "before any data is read")]

    def outcomes(self) -> list[Finding]:
        """A lower bound on epsilon from releases of two tables of one person."""
        alive, dead = (self.drawn(row, self.fits) for row in SIDES)
        return [self.told((alive, dead))]

    # ----------------------------------------------------------------- checks of records and releases

    def records(self) -> Finding:
        """Internal covariates have norm at most 1, and those of a person depend on no other."""
        worst, other = 0.0, False
        for case in cases_of(self.subject):
            people = crowd(case)
            whole, *alone = (case.episodes(some) for some in (people, *([one] for one in people)))
            norms = np.linalg.norm(whole.covariates, axis=1)
            worst = math.nan if np.isnan(norms).any() else max(worst, float(norms.max()))
            other |= _rows(whole) != sorted(row for one in alone for row in _rows(one))
        note = "hostile rows; splines, indicators, interactions; each person as if alone"
        return at_most("norm of a record", 1.0, math.nan if other else worst, note)

    def traces(self) -> Finding:
        """Whether neighbours differ in anything but the released numbers."""
        different = total = 0
        for case in cases_of(self.subject)[:2]:
            first, *others = (self._trace(case, people) for people in neighbours(case))
            different += sum(other != first for other in others)
            total += len(others)
        note = "requests for noise, warnings, output, log, every member but the numbers"
        said = f"{different} of {total} differ"
        return judged("traces of neighbours", "all the same", said, sound=not different, note=note)

    def _trace(self, case: Case, people: list[Rows]) -> tuple[Any, ...]:
        """Everything that a fit under known noise shows, but the numbers it releases."""
        noise = KnownNoise()
        with overhearing() as heard:
            found = simulate(case.order, case.people(people), noise)
        # cautions about numbers are computed from released ones; those about the promise are not
        cautions = [str(item) for item in found.warnings if item.of_the_promise]
        mapping = {key: item for key, item in found.to_mapping().items() if key not in VALUES}
        return noise.trace, heard, mapping | {"warnings": cautions}

    def says_so(self) -> Finding:
        """A release of a known source is not private, and says so."""
        release = self.case.simulated(few(self.case), KnownNoise())
        said, note = "private" if release.private else "not private", "made with known noise"
        return judged("a seeded fit", "not private", said, sound=not release.private, note=note)

    def fresh(self) -> Finding:
        """Two public fits of one table and name: every number differs, and both say private."""
        first, second = (self.case.published(few(self.case)) for _ in range(2))
        numbers = list(zip(*map(released_numbers, (first, second)), strict=True))
        same = sum(one == other for one, other in numbers)
        # sums under noise of a few steps are the same now and then, of which half never are
        most = (len(numbers) - 1) // 2 if isinstance(first, CurvesRelease) else 0
        claimed, said = f"at most {most} of {len(numbers)} numbers twice", f"{same} the same"
        sound, name = same <= most and first.private and second.private, "fresh noise in every fit"
        return judged(name, claimed, said, sound=sound, note="two fits of one table and name")

    # ----------------------------------------------------------------- refusals

    def settings_without_promise(self) -> list[Attempt]:
        """Epsilons and deltas that mean nothing."""
        kind, deltas = self.subject.kind, NO_DELTA if self.subject.has("delta") else ()
        own = partial(kind, epsilon=self.subject.epsilon)
        found: list[Attempt] = [(f"delta {one}", partial(own, delta=one)) for one in deltas]
        return [*((f"epsilon {one}", partial(kind, epsilon=one)) for one in NO_EPSILON), *found]

    # ----------------------------------------------------------------- outcomes of public fits

    @property
    def fits(self) -> int:
        """How many of each table; fewer where a fit is slow."""
        return self.effort.slow_fits

    @property
    def one_person(self) -> AbstractOrder[Any]:
        """A release of one person, without covariates."""
        mapping: dict[str, Any] = {"time": dict(TIME)}
        if self.subject.causes > 1:
            causes = range(1, self.subject.causes + 1)
            mapping["time"]["causes"] = {f"cause{one}": [one] for one in causes}
        if self.subject.strata > 1:
            levels = [f"s{number}" for number in range(self.subject.strata)]
            mapping["strata"] = {"name": "s", "levels": levels}
        kind = replace(self.case.kind, baseline="natural-spline:1")
        order = replace(self.case, kind=kind).order
        return order.changed(schema=Schema.from_mapping(mapping), persons=1)

    def drawn(self, row: tuple[float, int], fits: int) -> Array:
        """The released first coefficient of as many public fits of a table of one person."""
        people, order = one_row(row), self.one_person
        with quiet():
            fitted = (publish(order, People.of(people), ledger=NO_LEDGER) for _ in range(fits))
            return np.array([released_numbers(release)[0] for release in fitted])

    def told(self, sides: tuple[Array, Array]) -> Finding:
        """What the outcomes of both tables show."""
        note = f"{len(sides[0])} {self.outcome} a side, one person, one coefficient"
        return shown("lower bound on epsilon", sides, self.one_person.promise, note)


def _rows(people: Episodes) -> list[bytes]:
    """Every row with all that belongs to it."""
    parts = (people.covariates, people.entry, people.exit, people.event)
    return sorted(row.tobytes() for row in np.column_stack(parts))


def one_row(row: tuple[float, int]) -> pa.Table:
    """The table of one person."""
    return pa.table({"t": [row[0]], "e": [row[1]], "s": ["s0"]})


def released_numbers(release: Any) -> list[float]:
    """The released numbers: coefficients of a model or of every cause, or sums of curves."""
    if isinstance(release, CurvesRelease):
        return list(release.released["sums"])
    parts = release.internal.values() if isinstance(release, CausesRelease) else [release.internal]
    return [float(number) for part in parts for number in part.vector]


def unread(order: AbstractOrder[Any]) -> object:
    """A release of people who cannot be read: whatever is wrong must be said before."""
    return publish(order.changed(persons=5), People.of(object()), ledger=NO_LEDGER)


def refused(check: str, attempts: Sequence[Attempt], note: str) -> Finding:
    """Whether every attempt ends with an error about settings, not with another one or none."""
    passed = []
    for name, attempt in attempts:
        try:
            with quiet():
                attempt()
        except (SettingsError, SchemaError):
            continue
        except Exception:  # noqa: BLE001, S110 - any other error came too late
            pass
        passed.append(name)
    return without(check, f"{len(attempts)} refused", passed, note)


class Ear(io.StringIO):
    """A stream that keeps what this thread writes; what others do, such as progress, passes on."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream, self._thread = stream, threading.get_ident()

    def write(self, text: str) -> int:
        """Keep it, or pass it on."""
        own = threading.get_ident() == self._thread
        return super().write(text) if own else self._stream.write(text)


@contextmanager
def overhearing() -> Iterator[list[str]]:
    """Warnings, output and log of what is done inside, once it has ended."""
    out, err, log, heard = Ear(sys.stdout), Ear(sys.stderr), io.StringIO(), list[str]()
    handler, root = logging.StreamHandler(log), logging.getLogger()
    root.addHandler(handler)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            warnings.simplefilter("always")
            yield heard
    finally:
        root.removeHandler(handler)
        heard += [str(item.message) for item in caught]
        heard += [stream.getvalue() for stream in (out, err, log)]

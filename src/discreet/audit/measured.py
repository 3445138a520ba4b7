"""What the audits of all mechanisms share: a method for each family, and the checks of releases.

A mechanism's audit derives from `Measured` and has the families of the table in one order: witness,
constants, neighbours, law, low bits, replay, questions, refusals, outcomes.
"""

import contextlib
import io
import logging
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.audit.cases import Case, Rows, few, neighbours, quiet, usual
from discreet.audit.findings import Effort, Finding, Subject, at_most, judged, not_applicable
from discreet.audit.instruments import KnownNoise, shown
from discreet.design.schema import Schema
from discreet.documents.causes import CausesRelease
from discreet.documents.curves import CurvesRelease
from discreet.errors import SchemaError, SettingsError
from discreet.mechanisms import Mechanism
from discreet.people.source import People
from discreet.privacy.guarantee import Guarantee
from discreet.release import NO_LEDGER, AbstractOrder, publish, simulate
from discreet.types import Array

FAMILIES = {
    "witness": "witness",
    "constants": "constants",
    "neighbours": "neighbours",
    "law": "law",
    "low bits": "low_bits",
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
    noised_extras: ClassVar[bool] = False
    """Whether what is released beside the estimate is made of noised numbers: `replay` shows it."""

    def __init__(self, subject: Subject, effort: Effort) -> None:
        self.subject, self.effort = subject, effort
        self.case = usual(subject)

    def witness(self) -> list[Finding]:
        """The privacy loss at the worst pair."""
        reason = "no worst pair is known in closed form"
        return [not_applicable("witness", "tight witness", reason)]

    def constants(self) -> list[Finding]:
        """The formulas of the proof page, computed a second time."""
        reason = "its constants are those of the mechanism that trials run"
        return [not_applicable("constants", "formulas of the proof page", reason)]

    def neighbours(self) -> list[Finding]:
        """Movement against what was claimed."""
        return [self.records()]

    def law(self) -> list[Finding]:
        """The laws of everything random, and that no two releases share their noise."""
        return [self.fresh()]

    def low_bits(self) -> list[Finding]:
        """Grid membership and last bits of two neighbours' releases, and a control."""
        return [not_applicable("low bits", "grid", "nothing is drawn on a grid")]

    def replay(self) -> list[Finding]:
        """Neighbouring tables under the same noise."""
        return [self.traces(), self.says_so()]

    def questions(self) -> list[Finding]:
        """Every question that is asked of people, answer by answer."""
        reason = "people are not seen through sums alone"
        return [not_applicable("questions", "questions", reason)]

    def refusals(self) -> list[Finding]:
        """What must be refused before any data are read: settings that promise nothing."""
        attempts = [*self.settings_without_promise(), *self.links_without_proof()]
        return [refused([*attempts, self.open_bounds(), self.without_proof()])]

    def outcomes(self) -> list[Finding]:
        """A lower bound on epsilon from releases of two tables of one person."""
        sides = tuple(self.drawn(row, self.fits) for row in SIDES)
        return [self.told(sides)]  # type: ignore[arg-type]

    # ----------------------------------------------------------------- checks of records and releases

    def records(self) -> Finding:
        """Whatever a table holds, internal covariates have norm at most 1."""
        worst = 0.0
        for name in ("one row a person", "terms"):
            case = usual(self.subject, name)
            schema = case.schema
            for crowd in neighbours(case):
                episodes = case.people(crowd).open(schema).episodes  # type: ignore[attr-defined]
                norms = np.linalg.norm(episodes.covariates, axis=1)
                worst = max(worst, float(np.max(norms, initial=0.0)))
                worst = math.nan if np.isnan(norms).any() else worst
        note = "hostile rows; splines, indicators and interactions too"
        return at_most("neighbours", "norm of a record", 1.0, worst, note)

    def traces(self) -> Finding:
        """Whether neighbours can be told by anything but the released numbers."""
        different = total = 0
        for name in ("one row a person", "several rows a person"):
            case = usual(self.subject, name)
            first, *others = (self._trace(case, crowd) for crowd in neighbours(case))
            different += sum(other != first for other in others)
            total += len(others)
        return judged(
            "replay",
            "traces of neighbours",
            "all the same",
            f"{different} of {total} differ",
            sound=different == 0,
            numbers={"different": float(different)},
            note="requests for noise, warnings, output, log, every member but the numbers",
        )

    def _trace(self, case: Case, crowd: list[Rows]) -> tuple[Any, ...]:
        """Everything that a fit under known noise shows, but the numbers it releases."""
        noise, printed, log = KnownNoise(), io.StringIO(), io.StringIO()
        handler, root = logging.StreamHandler(log), logging.getLogger()
        root.addHandler(handler)
        try:
            with (
                warnings.catch_warnings(record=True) as caught,
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(printed),
            ):
                warnings.simplefilter("always")
                found = simulate(case.order, case.people(crowd), noise)
        finally:
            root.removeHandler(handler)
        texts = [str(item.message) for item in caught]
        # cautions about numbers are computed from released ones; those about the promise are not
        cautions = [str(item) for item in found.warnings if item.of_the_promise]
        mapping = {key: item for key, item in found.to_mapping().items() if key not in VALUES}
        extras = {
            key: np.shape(item) if self.noised_extras else item
            for key, item in mapping["released"].items()
        }
        members = mapping | {"warnings": cautions, "released": extras}
        return noise.trace, texts, printed.getvalue(), log.getvalue(), members

    def says_so(self) -> Finding:
        """A release of a known source is not private, and says so."""
        release = self.case.simulated(few(self.case), KnownNoise())
        return judged(
            "replay",
            "a seeded fit",
            "not private",
            "private" if release.private else "not private",
            sound=not release.private,
            note="what a known source made must say so",
        )

    def fresh(self) -> Finding:
        """Two public fits of one table: every number differs, and both say that they are private."""
        people = few(self.case)
        first, second = (self.case.published(people, release_id=name) for name in ("r1", "r2"))
        numbers = list(zip(*map(released_numbers, (first, second)), strict=True))
        same = sum(one == other for one, other in numbers)
        # sums under noise of a few steps are the same now and then, of which half never are
        most = (len(numbers) - 1) // 2 if isinstance(first, CurvesRelease) else 0
        return judged(
            "law",
            "fresh noise in every fit",
            f"at most {most} of {len(numbers)} numbers twice",
            f"{same} numbers the same",
            sound=same <= most and first.private and second.private,
            numbers={"same": float(same)},
            note="two public fits of one table",
        )

    # ----------------------------------------------------------------- refusals

    def settings_without_promise(self) -> list[Attempt]:
        """Epsilons and deltas that mean nothing."""
        kind, epsilon = self.subject.kind, self.subject.epsilon
        found: list[Attempt] = [
            (f"epsilon {one}", partial(kind, epsilon=one)) for one in NO_EPSILON
        ]
        if self.subject.has("delta"):
            found += [
                (f"delta {one}", partial(kind, epsilon=epsilon, delta=one)) for one in NO_DELTA
            ]
        return found

    def links_without_proof(self) -> list[Attempt]:
        """Links that the proof page excludes."""
        found: list[Attempt] = []
        for link in self.unproved_links:
            case = replace(self.case, kind=replace(self.case.kind, link=link))
            found.append((f"link {link}", partial(unread, case.order)))
        return found

    def open_bounds(self) -> Attempt:
        """A covariate without bounds."""
        mapping = self.case.schema.to_mapping()
        del mapping["covariate"][0]["high"]
        order = self.case.order.changed(schema=Schema.from_mapping(mapping))
        return "a covariate without bounds", partial(unread, order)

    def without_proof(self) -> Attempt:
        """The same mechanism, but for a promise that says of itself that it is not proved."""
        own = self.case.mechanism

        def promise(mechanism: Mechanism, persons: int) -> Guarantee:
            promised: Guarantee = type(own).promise(mechanism, persons)
            return replace(promised, status="unproved")

        kind = type("Unproved", (type(own),), {"promise": promise})
        order = self.case.order.changed(mechanism=kind(**vars(own)))
        return "a promise without a proof", partial(unread, order)

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
        found = []
        with quiet():
            for _ in range(fits):
                release = publish(order, People.of(people), ledger=NO_LEDGER)
                found.append(released_numbers(release)[0])
        return np.array(found)

    def told(self, sides: tuple[Array, Array]) -> Finding:
        """What the outcomes of both tables show."""
        note = f"{len(sides[0])} {self.outcome} a side, one person, one coefficient"
        claim = self.one_person.promise
        return shown("end to end", "lower bound on epsilon", sides, claim, note)


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


def refused(attempts: Sequence[Attempt]) -> Finding:
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
    return judged(
        "refusals",
        "settings without a promise",
        f"{len(attempts)} refused",
        f"{len(attempts) - len(passed)} refused",
        sound=not passed,
        note=f"accepted: {', '.join(passed)}" if passed else "before any data is read",
        numbers={"accepted": float(len(passed))},
    )

"""The one way to a private release: promise, check, plan, reserve, read, draw, write, settle.

    promise   from the settings alone, before a record is read
    check     a budget that cannot cover it is refused; then the files and columns must be there
    plan      once, from public facts: noise, grid, guarantee
    reserve   charged to the ledger, durably; from here on nothing is refunded
    read      the people, for the first time
    draw      the mechanism's noise, once
    write     the whole file or nothing
    settle    the ledger learns the digest of what was published

A crash anywhere leaves the budget spent, never a release unpaid.  An error after the reserve does
not refund, and says so: a refund would hand out a data-dependent bit for free.

The number of persons is public under replace-one.  It is given beforehand, and then the charge
comes before the data are parsed; or it is counted between check and plan, before anything else is
computed.

`points.reach` names the moments at which the tests kill this process; it does nothing otherwise.
"""

import secrets
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from discreet.design.baseline import Baseline
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.design.schema import Schema
from discreet.documents.causes import CausesRelease, ModelRelease
from discreet.documents.caution import Caution
from discreet.documents.model import Promised, Release
from discreet.documents.strict import require_free
from discreet.engine.engine import Engine
from discreet.engine.threads import one_blas_thread
from discreet.errors import DataFormError, DiscreetError, SettingsError
from discreet.ledger import NO_LEDGER, UNCHARGED, Ledger, Payer, ReleaseRequest
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import (
    MOST_PERSONS,
    Draw,
    Facts,
    Mechanism,
    Plan,
    require_few_coefficients,
    require_proof,
    settings_of,
)
from discreet.people.source import People
from discreet.points import ReleasePoint, reach
from discreet.privacy.guarantee import WEAK_DELTA, WEAK_EPSILON, Guarantee, require_small_delta
from discreet.privacy.shares import ALONE, NoiseShares

if TYPE_CHECKING:
    from discreet.mechanisms.group_counts import GroupCounts
    from discreet.privacy.noise import NoiseSource

__all__ = ["NO_LEDGER", "UNCHARGED", "Ledger", "Payer"]  # others may not import the ledger

Document = TypeVar("Document", bound=Promised)

# Stands in for n before the people are counted: a delta that falls with n makes no promise cheaper.
UNCOUNTED = MOST_PERSONS

_CHARGE_STANDS = (
    "The charge stands: it was made before the people were read, and nothing is refunded."
)
_WHICH_LEDGER = (
    "say who pays for this release: the location of a ledger, a Ledger, or ds.NO_LEDGER "
    "('discreet budget init' makes a ledger)."
)


def as_ledger(ledger: Payer | str | PathLike[str]) -> Payer:
    """Return the ledger at a location; a ledger is returned as it is."""
    if isinstance(ledger, str | PathLike):
        return Ledger(ledger)
    if not hasattr(ledger, "reserve"):
        raise SettingsError(_WHICH_LEDGER)
    return ledger


def require_affordable(
    mechanism: "Mechanism | GroupCounts",
    ledger: str,
    *,
    persons: int | None,
    release_id: str | None,
) -> None:
    """`BudgetError` if even the least that a release can cost does not fit what is left.

    Called before a person is asked to look at data, or to agree to a charge.
    """
    promise = mechanism.promise(UNCOUNTED if persons is None else persons)
    request = ReleaseRequest(release_id or new_release_id(), promise)
    as_ledger(ledger).check(request, least=persons is None and delta_by_persons(mechanism))


def delta_by_persons(mechanism: "Mechanism | GroupCounts") -> bool:
    """Whether the promise depends on the number of persons: nobody chose a delta."""
    return mechanism.promise(1) != mechanism.promise(UNCOUNTED)


def new_release_id() -> str:
    """A name that no other release has."""
    return f"r{secrets.token_hex(10)}"


@dataclass(frozen=True, kw_only=True)
class Particulars:
    """Terms of every order, beside its subject.

    ``persons`` may stay None until the people are counted.  ``accept_approximate`` publishes a
    draw whose promise is proved for a perfect sampler only.  ``sites`` is who draws the noise.
    """

    persons: int | None = None
    release_id: str = field(default_factory=new_release_id)
    description: str = ""
    accept_approximate: bool = False
    sites: NoiseShares = ALONE


class AbstractOrder(Particulars, ABC, Generic[Document]):
    """A release in public facts only: of a model (`Order`), or of curves by group."""

    mechanism: "Mechanism | GroupCounts"
    schema: Schema

    @abstractmethod
    def plan(self, persons: int) -> Plan:
        """The mechanism's plan for n persons."""

    @abstractmethod
    def draw(self, plan: Plan, engine: Engine, noise: "NoiseSource") -> Draw:
        """The one draw, which touches the people."""

    @abstractmethod
    def compose(self, plan: Plan, draw: Draw, head: str) -> Document:
        """The document: what was drawn, and public facts."""

    def require_supported(self) -> None:
        """`SettingsError` for what the order cannot serve; nothing, unless a kind of order says."""

    @property
    @abstractmethod
    def facts(self) -> str:
        """The ledger's description of the release unless it has another."""

    @property
    @abstractmethod
    def terms(self) -> dict[str, Any]:
        """Every public setting beside the schema, by name."""

    @property
    def promise(self) -> Guarantee:
        """The guarantee, or the least of it while the people are not counted."""
        return self.mechanism.promise(UNCOUNTED if self.persons is None else self.persons)

    def changed(self, **facts: Any) -> Self:
        """Return the order with other facts."""
        return replace(self, **facts)

    def request(self, guarantee: Guarantee) -> ReleaseRequest:
        """The request to the ledger."""
        return ReleaseRequest(self.release_id, guarantee, self.description or self.facts)

    def require_publishable(self) -> None:
        """Every error that settings alone can cause; a simulation may draw what is not published."""
        self.schema.require_bounds()
        self.require_supported()
        promise = self.promise
        if promise.relation != "replace-one":
            raise SettingsError(
                "under add-remove the number of persons is a secret, and a release prints it: "
                "ask for replace-one."
            )
        if promise.status == "unproved":
            raise SettingsError(
                "this mechanism has no proof and is not published; ds.simulate can draw it."
            )
        if promise.status == "ideal-draw-only" and not self.accept_approximate:
            raise SettingsError(
                "the promise of this mechanism is proved for a perfect draw only, and its sampler "
                "approximates one. Say accept_approximate (--accept-approximate) to release it."
            )

    def released_facts(self, plan: Plan, draw: Draw, head: str) -> dict[str, Any]:
        """Fields of the release in every private file."""
        return {
            "private": draw.private,
            "persons": plan.persons,
            "mechanism": dict(plan.settings),
            "guarantee": plan.guarantee,
            "noise_scale": plan.noise_scale,
            "grid_exponent": draw.grid_exponent,
            "details": dict(plan.details),
            "released": {name: np.asarray(item).tolist() for name, item in draw.extras.items()},
            "release_id": self.release_id,
            "ledger": head,
            "promise": plan.guarantee.sentence(),
            "warnings": _warnings(plan, draw),
        }


Agreed = tuple[ReleaseRequest, Callable[[str], Document]]
"""What is charged, and the one draw that the charge pays for, which is given the ledger's head."""


@dataclass(frozen=True)
class Order(AbstractOrder[ModelRelease]):
    """A model of one event, or of all causes together: mechanism, schema, link and baseline."""

    mechanism: Mechanism
    schema: Schema
    link: Link
    baseline: Baseline

    def require_supported(self) -> None:
        """No more coefficients than a private fit takes, and nothing without a proof."""
        require_few_coefficients(self.schema)
        require_proof(self.mechanism, self._facts(UNCOUNTED))

    def _facts(self, persons: int) -> Facts:
        self.schema.require_bounds()
        return Facts(persons, self.design, self.link, self.sites)

    @cached_property
    def design(self) -> Design:
        """The public coordinates that the mechanism asks for; the only ones of this release."""
        return Design(self.schema, self.baseline, self.mechanism.coordinates)

    @property
    def terms(self) -> dict[str, Any]:
        """The mechanism's settings, link and baseline."""
        names = {"link": self.link.name, "baseline": self.baseline.spelling}
        return {**settings_of(self.mechanism), **names}

    def plan(self, persons: int) -> Plan:
        """The mechanism's plan for n persons."""
        facts = self._facts(persons)
        require_proof(self.mechanism, facts)
        return self.mechanism.plan(facts)

    def draw(self, plan: Plan, engine: Engine, noise: "NoiseSource") -> Draw:
        """One draw of the mechanism."""
        return self.mechanism.draw(plan, Problem(engine, self.design, self.link), noise)

    @property
    def facts(self) -> str:
        """Mechanism, link and baseline."""
        return f"{self.mechanism.name}, {self.link.name} link, {self.baseline.spelling}"

    def compose(self, plan: Plan, draw: Draw, head: str) -> ModelRelease:
        """The model's document."""
        released, causes = self.released_facts(plan, draw, head), self.schema.time.causes
        if causes is None:
            facts = Release.shared_facts(self.design, self.link, draw.point)
            return Release.model_validate({**facts, **released})
        parts = {}
        for cause, point in zip(causes, np.split(draw.point, len(causes)), strict=True):
            own = Design(self.schema.of_cause(cause), self.baseline, self.mechanism.coordinates)
            parts[cause] = Release.shared_facts(own, self.link, point)
        facts = CausesRelease.joined(self.schema, parts)
        return CausesRelease.model_validate({**facts, **released})


@contextmanager
def alone(
    order: AbstractOrder[Document], source: People, _: Payer, plan: Plan | None
) -> Iterator[Agreed[Document]]:
    """Yield what one place charges and draws, once its people are counted."""
    plan = plan or order.plan(count_persons(order, source))
    require_small_delta(plan.guarantee.delta, plan.persons)
    yield order.request(plan.guarantee), partial(_draw_alone, order, plan, source)


def _draw_alone(order: AbstractOrder[Document], plan: Plan, source: People, head: str) -> Document:
    from discreet.privacy.noise import SystemNoise  # noqa: PLC0415 - loads the samplers

    release = order.compose(plan, draw_from(order, plan, source.open, SystemNoise()), head)
    reach(ReleasePoint.RELEASE_DRAWN)
    return release


def publish(
    order: AbstractOrder[Document],
    source: People,
    *,
    ledger: Payer,
    path: Path | None = None,
    overwrite: bool = False,
    agreed: "Callable[..., AbstractContextManager[Agreed[Document]]]" = alone,
) -> Document:
    """Make one release, charged to the ledger; users call `Estimator.publish`, which describes it.

    An error after the charge says that the charge stands. Without ``path`` nothing is written. Of several
    sites every one does this, and ``agreed`` is their agreement (`joint.Federation.agreed`).
    """
    if path is not None:
        require_free(path, overwrite=overwrite)
    # whatever can be checked without a charge
    order.require_publishable()
    if order.mechanism.needs_memory and not source.in_memory:
        raise SettingsError(
            "the sampler visits people at random: it needs one table in memory, "
            "not a stream of files or a cluster."
        )
    counted = order.persons if agreed is alone else None
    plan = None if counted is None else order.plan(counted)
    least = plan is None and delta_by_persons(order.mechanism)
    ledger.check(order.request(order.promise), least=least)
    source.check(order.schema)
    with agreed(order, source, ledger, plan) as (request, draw):
        reservation = ledger.reserve(request)
        reservation.authorise_draw()
        with charge_stands(ledger):
            release = draw(reservation.head)
            if path is not None:
                release.save(path, overwrite=overwrite)
        ledger.settle(reservation, release.digest)
    return release


def simulate(order: AbstractOrder[Document], source: People, noise: "NoiseSource") -> Document:
    """Draw from a seeded source: nothing is charged, and the release is not private.

    It says so and cannot be written.  Variants that are never published may be drawn.
    """
    if noise.private:
        raise SettingsError("a simulation takes a seeded source; a real release takes none.")
    order.schema.require_bounds()
    source.check(order.schema)
    plan = order.plan(count_persons(order, source))
    return order.compose(plan, draw_from(order, plan, source.open, noise), UNCHARGED)


def count_persons(order: AbstractOrder[Any], source: People) -> int:
    """n, as it was declared or as it is counted."""
    if order.persons is not None:
        return order.persons
    persons = source.count(order.schema)
    if not persons:
        raise DataFormError("the data have no rows: there is no person to fit.")
    return persons


@contextmanager
def charge_stands(ledger: Payer) -> Iterator[None]:
    """Whatever fails inside says that the charge stands, where a ledger was charged."""
    if ledger is NO_LEDGER:
        yield
        return
    try:
        yield
    except DiscreetError as error:
        raise type(error)(f"{error} {_CHARGE_STANDS}") from None
    except BaseException as error:
        error.add_note(_CHARGE_STANDS)
        raise


def draw_from(
    order: AbstractOrder[Any], plan: Plan, opened: Callable[[Schema], Engine], noise: "NoiseSource"
) -> Draw:
    """Read the people and draw.

    Warnings of libraries stay inside: they can depend on records, and with Python's filter "error"
    one would stop a release that is paid for. What discreet has to say is in the release. Matrices
    of an estimate are small: threads of BLAS would spend more time waiting than working.
    """
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        engine = opened(order.schema)
        require_number(engine, plan.persons)
        return order.draw(plan, engine, noise)


def require_number(engine: Engine, persons: int) -> None:
    """`DataFormError` unless there are as many persons as were declared or counted."""
    if engine.persons != persons:
        raise DataFormError("the data have another number of persons than was declared.")


def weak_promises(guarantee: Guarantee, persons: int) -> dict[str, str]:
    """Warnings about a promise that hardly is one, by their codes."""
    found = {}
    if guarantee.epsilon > WEAK_EPSILON:
        found["weak-epsilon"] = (
            f"Epsilon is above {WEAK_EPSILON:g}: what this release reveals of one person "
            "is hardly bounded."
        )
    if guarantee.delta * persons > 1:
        found["weak-delta"] = WEAK_DELTA
    return found


def _warnings(plan: Plan, draw: Draw) -> tuple[Caution, ...]:
    """Warnings about the promise, then cautions about the numbers."""
    found = weak_promises(plan.guarantee, plan.persons)
    if plan.guarantee.status == "unproved":
        found["unproved"] = "No promise is proved for this release: it may protect no person."
    if not draw.private:
        found["seeded"] = "The noise came from a seed: this is a simulation and protects no person."
    if plan.guarantee.status == "ideal-draw-only":
        found["approximate"] = (
            "The promise is proved for a perfect draw only; this one is approximate."
        )
    promise = (Caution.about(code, text) for code, text in found.items())
    return (*promise, *draw.cautions)

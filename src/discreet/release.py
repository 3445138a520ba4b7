"""The one way to a private release: plan, check, reserve, read, draw, write, settle.

    plan      from public facts alone, before a record is read
    check     a budget that cannot cover it is refused; then the files and columns must be there
    reserve   charged to the ledger, durably; from here on nothing is refunded
    read      the people, for the first time
    draw      the mechanism's noise, once
    write     the whole file or nothing
    settle    the ledger learns the digest of what was published

A crash anywhere leaves the budget spent, never a release unpaid.  An error after the reserve does
not refund: a refund would hand out a data-dependent bit for free.

The number of persons is public under replace-one.  It is given beforehand, or counted between
check and reserve, before anything else is computed.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.design.baseline import Baseline
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.design.schema import Schema
from discreet.engine.engine import Engine
from discreet.errors import DataFormError, SettingsError, warn
from discreet.ledger.interface import (
    NO_LEDGER,
    Ledger,
    NullLedger,
    ReleaseRequest,
    Reservation,
)
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import MOST_PERSONS, Draw, Facts, Mechanism, Plan
from discreet.models.model import Release
from discreet.models.strict import require_free

if TYPE_CHECKING:
    from discreet.privacy.noise import NoiseSource

# Stands in for n before the people are counted: a delta that falls with n makes no promise cheaper.
REHEARSAL = MOST_PERSONS

_UNCHARGED = (
    "this release is charged to no ledger: nothing adds up what repeated fits tell of the same "
    "people. 'discreet budget init' makes a ledger; name it with ledger= (--ledger)."
)

_SIMULATION: ContextVar["NoiseSource | None"] = ContextVar("simulated noise", default=None)


class NoLedgerWarning(UserWarning):
    """A private release that no budget pays for."""


def new_release_id() -> str:
    """A name that no other release has."""
    return f"r{secrets.token_hex(10)}"


@dataclass(frozen=True)
class Order:
    """What is asked for, in public facts only.

    ``persons`` may stay None until the people are counted.  ``accept_printed`` publishes a
    variant that exists for comparison; ``accept_approximate`` one whose promise is proved for a
    perfect draw only.
    """

    mechanism: Mechanism
    schema: Schema
    link: Link
    baseline: Baseline
    persons: int | None = None
    release_id: str = field(default_factory=new_release_id)
    description: str = ""
    accept_printed: bool = False
    accept_approximate: bool = False

    @property
    def design(self) -> Design:
        """The public coordinates that the mechanism asks for."""
        return Design(self.schema, self.baseline, self.mechanism.coordinates)

    def plan(self, persons: int) -> Plan:
        """The mechanism's plan for n persons; every error a setting can cause comes from here."""
        self.schema.require_bounds()
        plan = self.mechanism.plan(Facts.of(persons, self.design, self.link))
        if _SIMULATION.get() is None:
            self._require_publishable(plan)
        return plan

    def request(self, plan: Plan) -> ReleaseRequest:
        """What the ledger is asked for."""
        facts = f"{self.mechanism.name}, {self.link.name} link, {self.baseline.spelling}"
        text = self.description or facts
        return ReleaseRequest(self.release_id, plan.guarantee, text)

    def _require_publishable(self, plan: Plan) -> None:
        if plan.relation != "replace-one":
            raise SettingsError(
                "under add-remove the number of persons is a secret, and a release prints it: "
                "ask for replace-one."
            )
        unproved = not plan.publishable or plan.guarantee.status == "unproved"
        if unproved and not self.accept_printed:
            raise SettingsError(
                f"this variant is not published: {plan.reason.rstrip('.') or 'it has no proof'}. "
                "Say accept_printed (--accept-printed) if you must."
            )
        if plan.guarantee.status == "ideal-draw-only" and not self.accept_approximate:
            raise SettingsError(
                "the promise of this mechanism is proved for a perfect draw only, and its sampler "
                "approximates one. Say accept_approximate (--accept-approximate) to release it."
            )


class Source(Protocol):
    """The only ways to the data."""

    @property
    def in_memory(self) -> bool:
        """Whether the people are one table of this process."""
        ...

    def check(self, schema: Schema) -> None:
        """`DataFormError` unless the data have the schema's form; looks at no record."""
        ...

    def count(self, schema: Schema) -> int:
        """The number of persons."""
        ...

    def open(self, schema: Schema) -> Engine:
        """The people."""
        ...


@contextmanager
def simulation(noise: "NoiseSource") -> Iterator[None]:
    """Testing only: draw with a seeded source.  What comes out is not private and says so.

    Nothing is charged, nothing can be written, and variants that are not published may be drawn.
    """
    if noise.private:
        raise SettingsError("a simulation takes a seeded source; a public fit needs none.")
    token = _SIMULATION.set(noise)
    try:
        yield
    finally:
        _SIMULATION.reset(token)


def publish(
    order: Order,
    source: Source,
    *,
    ledger: Ledger | None = None,
    path: Path | None = None,
    overwrite: bool = False,
) -> Release:
    """Make one release."""
    if path is not None:
        require_free(path, overwrite=overwrite)
    noise = _SIMULATION.get()
    if noise is not None:
        return _simulate(order, source, noise, path)
    payer = NullLedger() if ledger is None else ledger
    plan = _checked_plan(order, source, payer)
    if ledger is None:
        warn(_UNCHARGED, NoLedgerWarning)
    reservation = payer.reserve(order.request(plan))
    release = _paid_draw(order, plan, source, reservation)
    if path is not None:
        release.save(path, overwrite=overwrite)
    payer.settle(reservation, release.digest)
    return release


def _simulate(order: Order, source: Source, noise: "NoiseSource", path: Path | None) -> Release:
    """The same without a charge; the release says that it is not private."""
    if path is not None:
        raise SettingsError("a simulated release is not private and is not written.")
    plan = _checked_plan(order, source, NullLedger())
    return _compose(order, plan, _draw(order, plan, source, noise), NO_LEDGER)


def _checked_plan(order: Order, source: Source, ledger: Ledger) -> Plan:
    """The plan, after everything was checked that can be checked without a charge."""
    rehearsed = order.plan(REHEARSAL if order.persons is None else order.persons)
    if order.mechanism.needs_memory and not source.in_memory:
        raise SettingsError(
            "the sampler visits people at random: it needs one table in memory, "
            "not a stream of files or a cluster."
        )
    ledger.check(order.request(rehearsed), least=order.persons is None)
    source.check(order.schema)
    return rehearsed if order.persons is not None else order.plan(_counted(source, order.schema))


def _counted(source: Source, schema: Schema) -> int:
    persons = source.count(schema)
    if not persons:
        raise DataFormError("the data have no rows; there is nobody to fit.")
    return persons


def _paid_draw(order: Order, plan: Plan, source: Source, reservation: Reservation) -> Release:
    """The one draw that a charge pays for: everything that touches data."""
    from discreet.privacy.noise import SystemNoise  # noqa: PLC0415 - loads the samplers

    reservation.authorise_draw()
    return _compose(order, plan, _draw(order, plan, source, SystemNoise()), reservation.head)


def _draw(order: Order, plan: Plan, source: Source, noise: "NoiseSource") -> Draw:
    engine = source.open(order.schema)
    if engine.persons != plan.persons:
        raise DataFormError("the data have another number of persons than was declared.")
    loss = Problem(engine, order.design, order.link)
    return order.mechanism.draw(plan, loss, noise)


def _compose(order: Order, plan: Plan, draw: Draw, head: str) -> Release:
    """The release: what was drawn, and public facts."""
    return Release.model_validate(
        {
            **Release.shared_facts(order.design, order.link, draw.point),
            "private": draw.private,
            "persons": plan.persons,
            "mechanism": dict(plan.settings),
            "guarantee": plan.guarantee,
            "noise_scale": plan.noise_scale,
            "grid_exponent": draw.grid_exponent,
            "details": dict(plan.details),
            "released": {name: np.asarray(item).tolist() for name, item in draw.extras.items()},
            "release_id": order.release_id,
            "ledger": head,
            "promise": plan.guarantee.sentence(),
            "warnings": _warnings(plan, draw),
        }
    )


def _warnings(plan: Plan, draw: Draw) -> tuple[str, ...]:
    found = []
    if plan.guarantee.status == "unproved":
        found.append("No promise is proved for this release: it protects nobody for certain.")
    if not draw.private:
        found.append("The noise came from a seed: this is a simulation and protects nobody.")
    if not plan.publishable:
        found.append(f"This variant exists for comparison: {plan.reason.rstrip('.')}.")
    if plan.guarantee.status == "ideal-draw-only":
        found.append("The promise is proved for a perfect draw only; this one is approximate.")
    return tuple(found)

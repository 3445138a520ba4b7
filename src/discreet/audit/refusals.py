"""What must be refused before any data is read: settings that promise nothing."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import Any

from discreet.audit.cases import BASE, quiet
from discreet.audit.findings import Effort, Finding, Subject, judged
from discreet.audit.orders import order_of, tables_order, tables_schema
from discreet.design.schema import Schema
from discreet.errors import SchemaError, SettingsError
from discreet.mechanisms import Mechanism
from discreet.mechanisms.objective import ObjectivePerturbation
from discreet.mechanisms.output import OutputPerturbation
from discreet.people.source import People
from discreet.privacy.guarantee import Guarantee
from discreet.release import NO_LEDGER, AbstractOrder, publish

FAMILY = "refusals"
Attempt = tuple[str, Callable[[], object]]
NO_EPSILON = (0.0, -1.0, math.inf, math.nan, None, True)


def check_refusals(subject: Subject, _: Effort) -> list[Finding]:
    """Epsilons that mean nothing, links without a proof, open bounds, no proof at all."""
    return [refused([*epsilons(subject), *_links(subject), *_others(subject), *_schemas(subject)])]


def _schemas(subject: Subject) -> list[Attempt]:
    return [_open_bounds(subject), _unproved(subject)]


def refused(attempts: Sequence[Attempt]) -> Finding:
    """Whether every attempt ends before any data is read."""
    with quiet():
        passed = [name for name, attempt in attempts if not _is_refused(attempt)]
    return judged(
        FAMILY,
        "settings without a promise",
        f"{len(attempts)} refused",
        f"{len(attempts) - len(passed)} refused",
        sound=not passed,
        note=f"accepted: {', '.join(passed)}" if passed else "before any data is read",
        numbers={"accepted": float(len(passed))},
    )


def _is_refused(attempt: Callable[[], object]) -> bool:
    """Whether the attempt ends with an error about settings, not another one or none."""
    try:
        attempt()
    except (SettingsError, SchemaError):
        return True
    except Exception:  # noqa: BLE001 - any other error came too late
        return False
    return False


def epsilons(subject: Subject) -> list[Attempt]:
    """Epsilons that promise nothing."""
    return [(f"epsilon {value}", partial(subject.kind, epsilon=value)) for value in NO_EPSILON]


@singledispatch
def links_without_proof(mechanism: object) -> tuple[str, ...]:  # noqa: ARG001 - the default
    """Links that the proof page excludes: said once more here, so that code can be wrong."""
    return ()


@links_without_proof.register(ObjectivePerturbation)
def _objective(_: ObjectivePerturbation) -> tuple[str, ...]:
    return ("probit", "cloglog")


@links_without_proof.register(OutputPerturbation)
def _output(_: OutputPerturbation) -> tuple[str, ...]:
    return ("cloglog",)


def _links(subject: Subject) -> list[Attempt]:
    return [
        (f"link {link}", partial(_publish, tables_order(subject, link=link)))
        for link in links_without_proof(subject.mechanism())
    ]


def _others(subject: Subject) -> list[Attempt]:
    """Another mechanism for strata or causes: only private Newton has a proof for them."""
    if subject.strata * subject.causes == 1:
        return []
    other = OutputPerturbation(epsilon=subject.epsilon)
    return [("another mechanism", partial(_publish, tables_order(subject, mechanism=other)))]


def _open_bounds(subject: Subject) -> Attempt:
    mapping = tables_schema(subject).to_mapping()
    del mapping["covariate"][0]["high"]
    order = order_of(subject, Schema.from_mapping(mapping))
    return "a covariate without bounds", partial(_publish, order)


def _unproved(subject: Subject) -> Attempt:
    """The same mechanism, but for a promise that says of itself that it is not proved."""

    def promise(mechanism: Mechanism, persons: int) -> Guarantee:
        return replace(type(subject.mechanism()).promise(mechanism, persons), status="unproved")

    kind = type("Unproved", (type(subject.mechanism()),), {"promise": promise})
    order = tables_order(subject, mechanism=kind(**vars(subject.mechanism())))
    return "a promise without a proof", partial(_publish, order)


def _publish(order: AbstractOrder[Any]) -> object:
    """A release of people who cannot be read: whatever is wrong must be said before."""
    counted = order.changed(persons=len(BASE))
    return publish(counted, People.of(object()), ledger=NO_LEDGER)

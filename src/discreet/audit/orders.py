"""What an audit asks a release for: the tables' model, plain, with strata or with several causes.

Known noise or the system's; the same way as users go, `release.simulate` and `release.publish`.
"""

from typing import Any

import pyarrow as pa

from discreet.audit.cases import BASE, BASELINE, HOSTILE, NAMES, Row, quiet, user_schema
from discreet.audit.findings import Subject
from discreet.design.baseline import Baseline, parse_baseline
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.mechanisms import Mechanism
from discreet.people.source import People
from discreet.privacy.noise import NoiseSource
from discreet.release import NO_LEDGER, AbstractOrder, Order, publish, simulate

ARMS = "abcd"


def order_of(
    subject: Subject,
    schema: Schema,
    baseline: str | Baseline = BASELINE,
    mechanism: Mechanism | None = None,
    link: str = "logit",
    **facts: Any,
) -> Order:
    """A release of one kind of event, or of several causes."""
    return Order(
        mechanism or subject.mechanism(),
        schema,
        get_link(link),
        parse_baseline(baseline),
        accept_approximate=True,
        **facts,
    )


def tables_order(subject: Subject, **settings: Any) -> Order:
    """The release of the hostile tables."""
    return order_of(subject, tables_schema(subject), **settings)


def tables_schema(subject: Subject) -> Schema:
    """The tables' schema; with strata the arms are these, with causes the event is a number."""
    mapping = user_schema().to_mapping()
    if subject.strata > 1:
        arm = mapping["covariate"].pop()
        mapping["strata"] = {"name": arm["name"], "levels": arm["levels"]}
    if subject.causes > 1:
        mapping["time"]["causes"] = causes_of(subject)
    return Schema.from_mapping(mapping)


def causes_of(subject: Subject) -> dict[str, list[int]]:
    """Causes 1, 2, ..."""
    return {f"cause{number}": [number] for number in range(1, subject.causes + 1)}


def tables_of(subject: Subject) -> list[pa.Table]:
    """The base table, and those in which a hostile row replaces the first person."""
    crowds = [BASE, *((row, *BASE[1:]) for row in HOSTILE)]
    return [_table(crowd, subject.causes) for crowd in crowds]


def _table(rows: tuple[Row, ...], causes: int) -> pa.Table:
    """The rows as a table; with several causes people of different arms die of different ones."""
    told = [
        (time, dead * (1 + ARMS.find(arm[:1] or "a") % causes), age, arm)
        for time, dead, age, arm in rows
    ]
    return pa.table(dict(zip(NAMES, map(list, zip(*told, strict=True)), strict=True)))


def simulated(order: AbstractOrder[Any], people: pa.Table, noise: NoiseSource) -> Any:
    """A release made as users make one, under known noise."""
    with quiet():
        return simulate(order, People.of(people), noise)


def published(order: AbstractOrder[Any], people: pa.Table) -> Any:
    """A release with the system's noise, charged to no ledger."""
    with quiet():
        return publish(order, People.of(people), ledger=NO_LEDGER)

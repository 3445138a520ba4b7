"""Releases of a mechanism without data, by a source and a ledger that write down what happens."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.design.baseline import NaturalSpline
from discreet.design.link import Logit
from discreet.errors import BudgetError, DataFormError, SettingsError
from discreet.ledger.interface import NullLedger
from discreet.mechanisms.contract import Draw, Mechanism, Plan, settings_of
from discreet.people.encode import to_episodes
from discreet.privacy.guarantee import Guarantee
from discreet.release import Order, publish
from tests.cohorts import cohort, schema

TABLE = cohort(people=120)
PUBLIC = schema()


@dataclass(frozen=True)
class Fixed(Mechanism):
    """Releases lattice noise and nothing else: no data in it, whatever the epsilon."""

    name: ClassVar[str] = "fixed"
    epsilon: float = 1.0
    status: str = "proved"
    relation: str = "replace-one"

    def promise(self, _persons):
        return Guarantee(self.epsilon, relation=self.relation, status=self.status)

    def plan(self, constants):
        if constants.link.name == "cloglog":
            raise SettingsError("the mechanism fixed does not support the cloglog link")
        return Plan(
            mechanism=self.name,
            settings=settings_of(self),
            guarantee=self.promise(constants.persons),
            persons=constants.persons,
            dimension=constants.dimension,
            noise_scale=3.0,
            grid_exponent=-20,
            details={"ridge": 0.5, "late_entry": constants.design.schema.time.entry is not None},
        )

    def draw(self, plan, loss, noise):
        assert loss.persons == plan.persons
        integers = noise.lattice_laplace(plan.dimension, 2.0**20)
        extras = {"profile": np.array([1.0, 2.0])}
        return Draw.from_integers(integers, -20, private=noise.private, extras=extras)


class Recorder(NullLedger):
    """A ledger that writes down what happens, and can refuse or break."""

    def __init__(self, trace, fail=None):
        self.trace, self.fail = trace, fail

    def check(self, request, *, least=False):
        self.trace.append(("afford", request.release_id, request.guarantee.epsilon, least))
        if self.fail == "afford":
            raise BudgetError("the budget is spent")

    def reserve(self, request):
        self.trace.append(("reserve", request.release_id, request.guarantee.epsilon))
        if self.fail == "reserve":
            raise BudgetError("the budget is spent")
        return super().reserve(request)

    def settle(self, reservation, digest):
        self.trace.append(("settle", reservation.release_id, digest))
        super().settle(reservation, digest)


def order(**changes):
    return replace(Order(Fixed(), PUBLIC, Logit(), NaturalSpline(3)), **changes)


@dataclass
class Table:
    """A source that writes down what is asked of it, and can break."""

    trace: list
    fail: str | None = None
    in_memory: ClassVar[bool] = True

    def check(self, _schema):
        self.trace.append(("check",))
        if self.fail == "check":
            raise DataFormError("a column is missing")

    def count(self, _schema):
        self.trace.append(("count",))
        return TABLE.num_rows

    def open(self, schema):
        self.trace.append(("read",))
        if self.fail == "read":
            raise RuntimeError("the disk broke")
        return to_episodes(TABLE, schema)


def run(order, trace, path=None, fail=None, **options):
    ledger = Recorder(trace, fail)
    return publish(order, Table(trace, fail), ledger=ledger, path=path, **options)


def names(trace):
    return [step[0] for step in trace]

"""Checks of joint releases in one process: what planted bugs must not pass."""

import tempfile
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from discreet import joint, release
from discreet.core.question import SCORES
from discreet.core.scores import LARGEST
from discreet.curves import CurvesOrder
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.groups import Groups
from discreet.design.link import Logit
from discreet.engine.federation import FederatedEngine
from discreet.errors import DataFormError, LedgerError, SettingsError
from discreet.federation.certificates import write_sites
from discreet.federation.mesh import Mesh
from discreet.federation.sites import Sites
from discreet.ledger import Ledger
from discreet.mechanisms.contract import Facts
from discreet.mechanisms.group_counts import GroupCounts
from discreet.mechanisms.newton.layout import Layout
from discreet.mechanisms.newton.mechanism import PrivateNewton
from discreet.people.source import People, TablePeople
from discreet.privacy.noise import SystemNoise
from discreet.privacy.shared_noise import SharedNoise
from discreet.privacy.shares import MOST_COORDINATES, NoiseShares
from discreet.release import NO_LEDGER, Order
from tests.cohorts import cohort, schema
from tests.releases import Recorder

SHARES = NoiseShares.among(3)
MECHANISM = PrivateNewton(epsilon=1.0, delta=1e-6)
CURVES = GroupCounts(1.0, 1e-6)


def check_honest_noise_has_the_scale_of_the_plan():
    sigma = Fraction(321, 2)
    assert SHARES.honest * SHARES.share(sigma) ** 2 >= sigma**2


def check_only_noisy_sums_are_opened():
    opened = []

    def opening(values):
        opened.extend(values)
        return values

    sums = list(range(10**6, 10**6 + 200))
    SharedNoise(SHARES, SystemNoise(), opening).discrete_gaussian(sums, Fraction(10**4))
    away = np.array(opened, dtype=float) - np.array(sums, dtype=float)
    assert np.count_nonzero(away) > 190
    assert np.std(away) > 5000


def check_deviations_count_the_noise_of_all_sites():
    plan = MECHANISM.plan(Facts(5000, Design(schema(), NaturalSpline(3)), Logit(), SHARES))
    budget = Layout.read(plan).budget
    share = budget.steps[-1]
    drawn = 3 * SHARES.share(budget.scale(share, SCORES)) ** 2
    assert (LARGEST * budget.deviation(share, SCORES, 5)) ** 2 >= 0.999 * drawn


def check_the_law_of_the_sum_is_paid_for():
    plan = MECHANISM.plan(Facts(5000, Design(schema(), NaturalSpline(3)), Logit(), SHARES))
    budget = Layout.read(plan).budget
    assert budget.total * budget.spent < plan.guarantee.exact_rho


def check_questions_are_compared_bit_by_bit():
    asked = []

    class Nobody:
        def reduce(self, *_):
            return (np.array([1]),)

    engine = FederatedEngine(Nobody(), 10, asked.append)
    for point in (np.ones(3), np.nextafter(np.ones(3), 2)):
        engine.reduce(len, point)
    assert len(set(asked)) == 2


def check_only_listed_sites_are_admitted_and_once():
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "sites"
        write_sites(listed, ["127.0.0.1:9000", "127.0.0.1:9001", "127.0.0.1:9002"])
        mesh = Mesh(Sites.read(listed / "sites.toml"), 2)
    caller = mesh.sites.sites[0].der
    assert not mesh.admit(Caller(), b"another certificate")
    assert mesh.admit(Caller(), caller)
    assert not mesh.admit(Caller(), caller)
    assert not mesh.admit(Caller(called=True, party=0), mesh.sites.sites[1].der)


def check_everybody_is_charged_before_a_sum_leaves():
    trace = []
    order = Order(MECHANISM, schema(), Logit(), NaturalSpline(3))
    together(order, People.of(cohort(people=120)), Echo(trace), ledger=Recorder(trace))
    steps = [step[0] for step in trace]
    assert "charged" in steps
    assert steps.index("reserve") < steps.index("charged") < steps.index("add")
    assert steps.count("reserve") == 1
    assert steps.index("settle") > len(steps) - 1 - steps[::-1].index("add")


def check_a_joint_charge_pays_for_one_draw():
    """The same release again finds its charge, and no second sum leaves."""
    with tempfile.TemporaryDirectory() as folder:
        ledger, trace = Ledger(Path(folder) / "ledger"), []
        ledger.initialise("people of three sites", 10, 1e-5)
        curves_of_all(Echo(trace), ledger=ledger)
        with pytest.raises(LedgerError):
            curves_of_all(Echo(trace), ledger=ledger)
    assert trace.count(("add",)) == 1


def check_a_site_has_the_people_it_counted():
    """The others rely on the number that a site gave: with other people no sum leaves."""
    trace = []
    with pytest.raises(DataFormError):
        curves_of_all(Echo(trace), people=Leaving(cohort(people=120)), ledger=NO_LEDGER)
    assert ("add",) not in trace


def check_opened_integers_are_counted_together():
    """What was set aside is enough for so many integers in all, not in each vector."""
    noise = SharedNoise(SHARES, SystemNoise(), list)
    noise._opened = MOST_COORDINATES - 1
    with pytest.raises(SettingsError):
        noise.discrete_gaussian([1, 2], Fraction(100))


def check_the_law_of_the_sum_is_paid_for_in_curves():
    plan = CURVES.plan(5000, Groups(schema(), ("arm",)), SHARES)
    alone = CURVES.plan(5000, Groups(schema(), ("arm",)))
    wider = Fraction(plan.details["scale"]) / Fraction(alone.details["scale"])
    assert wider**2 > 1 + Fraction(1, 2**41)


def curves_of_all(federation, *, ledger, people=None):
    order = CurvesOrder(CURVES, Groups(schema(), ("arm",)), release_id="one")
    source = people or People.of(cohort(people=120))
    return together(order, source, federation, ledger=ledger)


def together(order, source, federation, *, ledger):
    agreed = partial(joint.Federation.agreed, federation)
    return release.publish(order, source, ledger=ledger, agreed=agreed)


class Leaving(TablePeople):
    """Somebody leaves after the people were counted."""

    def open(self, schema):
        return People.of(cohort(people=119)).open(schema)


@dataclass
class Caller:
    called: bool = False
    party: int | None = None


@dataclass
class EchoSites:
    shares: NoiseShares = SHARES
    digest: str = "the same"


@dataclass
class Echo:
    """Two further sites that have the same people and say what this one says."""

    trace: list
    sites: object = field(default_factory=EchoSites)

    def connect(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    release_id = None

    def exchange(self, payload):
        if payload in {b"ready", b"charged"}:
            self.trace.append((payload.decode(),))
        return [payload] * 3

    def add(self, values):
        self.trace.append(("add",))
        return [3 * value for value in values]

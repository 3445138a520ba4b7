"""What must hold of the way to a release, as functions: seeded bugs must make them fail."""

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from discreet.baseline import NaturalSpline
from discreet.engine.local import LocalEngine
from discreet.errors import LedgerError, SettingsError
from discreet.frame import to_episodes
from discreet.link import Logit
from discreet.mechanisms import OutputPerturbation, SanitizedExponential
from discreet.privacy import noise
from discreet.privacy.ledger import open_ledger
from discreet.release import Order, publish
from tests.mechanisms.user_path import BASE, make_schema


@dataclass
class Counted:
    """Four people, and how often they were read."""

    reads: list = field(default_factory=list)

    def check(self, _schema):
        pass

    def count(self, _schema):
        return len(BASE)

    def open(self, schema):
        self.reads.append(1)
        return LocalEngine(to_episodes(BASE, schema), threads=1)


def order_of(mechanism, **settings):
    return Order(mechanism, make_schema(), Logit(), NaturalSpline(2), **settings)


def check_a_charge_pays_for_one_draw():
    """The same order again finds its charge, and nobody is read a second time."""
    order, source = order_of(OutputPerturbation(epsilon=1.0), release_id="one"), Counted()
    with TemporaryDirectory() as folder:
        ledger = open_ledger(Path(folder) / "ledger")
        ledger.initialise("four people", 10)
        publish(order, source, ledger=ledger)
        with pytest.raises(LedgerError):
            publish(order, source, ledger=ledger)
    assert len(source.reads) == 1


def check_a_secret_number_of_persons_is_not_released():
    """Under add-remove the number of persons is part of the secret, and a release prints it."""
    mechanism = SanitizedExponential(epsilon=1.0, v=5.0, relation="add-remove")
    with pytest.raises(SettingsError):
        order_of(mechanism, accept_approximate=True).plan(50)


def check_scales_are_rounded_up():
    """OpenDP takes floats: never one below the rational that was asked for."""
    for scale in (Fraction(1, 3), Fraction(2, 3), Fraction(10**6 + 1, 7), Fraction(1, 10)):
        assert scale <= Fraction(noise.checked_scale(scale)) < scale * (1 + Fraction(1, 2**51))

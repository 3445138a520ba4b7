"""What must hold of the way to a release, as functions: seeded bugs must make them fail."""

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import numpy as np
import pytest
from flint import ctx

from discreet import release
from discreet.core import optimum
from discreet.design.baseline import NaturalSpline
from discreet.design.link import Logit
from discreet.engine.local import LocalEngine
from discreet.errors import LedgerError, SettingsError
from discreet.ledger import Ledger
from discreet.mechanisms import OutputPerturbation
from discreet.paper import SanitizedExponential
from discreet.people.encode import to_episodes
from discreet.privacy import noise, selection
from discreet.privacy.exact import rational
from discreet.privacy.scales import exact
from discreet.release import Order
from tests.mechanisms.cases import episodes_of, make_constants, random_person
from tests.mechanisms.user_path import BASE, make_schema


@dataclass
class Counted:
    """Four people, and how often they were read."""

    reads: list = field(default_factory=list)
    in_memory: ClassVar[bool] = True

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
        ledger = Ledger(Path(folder) / "ledger")
        ledger.initialise("four people", 10)
        release.publish(order, source, ledger=ledger)
        with pytest.raises(LedgerError):
            release.publish(order, source, ledger=ledger)
    assert len(source.reads) == 1


def check_a_secret_number_of_persons_is_not_released():
    """Under add-remove the number of persons is part of the secret, and a release prints it."""
    mechanism = SanitizedExponential(epsilon=1.0, v=5.0, relation="add-remove")
    with pytest.raises(SettingsError):
        order_of(mechanism, accept_approximate=True).require_publishable()


def check_scales_are_rounded_up():
    """OpenDP takes floats: never one below the rational that was asked for."""
    for scale in (Fraction(1, 3), Fraction(2, 3), Fraction(10**6 + 1, 7), Fraction(1, 10)):
        assert scale <= Fraction(noise.checked_scale(scale)) < scale * (1 + Fraction(1, 2**51))


def check_a_trial_is_rounded_down():
    """Twice a trial and its score are never above epsilon, whatever its digits."""
    for epsilon in (1.0, 0.1, 0.3333333333333, 2.7182818284590, 1.00000000123):
        for share in (0.2, 0.123456789123):
            parts = selection.RandomStopping(epsilon, 10.0, share)
            spent = exact(parts.trial_epsilon) + exact(parts.score_epsilon)
            assert 0 <= exact(epsilon) - 2 * spent < Fraction(4, 10**9)


def check_an_undecided_number_of_trials_asks_for_more_bits():
    """U a hair below P(K = 1): K is 1, though 64 bits cannot tell it from 2."""
    stopping = Fraction(1, 8)
    with ctx.workprec(400):
        boundary = rational(1 - stopping) / -rational(stopping).log()
        digits = int((boundary * 2**192).floor().unique_fmpz()) - 1
    left = list(f"{digits:0192b}")

    def bits(count):
        taken = [left.pop(0) if left else "0" for _ in range(count)]
        return int("".join(taken), 2)

    assert selection.sample_logarithmic(stopping, bits) == 1
    assert len(left) < 192 - 64


def check_scores_do_not_depend_on_the_company(link="logit"):
    """The loss of a person is one number among however many people."""
    random = np.random.default_rng(12)
    for trial in range(24):
        covariates = 2 + 3 * (trial % 2)
        constants = make_constants(intervals=3, covariates=covariates, knots=2, link=link)
        person = random_person(random, constants)
        point = random.normal(size=constants.dimension)
        found = set()
        for count in (1, 2, 3, 4, 7):
            block = episodes_of([person] * count, covariates)
            rows = optimum._row_losses(block, constants.design, constants.link, point)
            found |= set(optimum._by_person(rows, block.offsets).tolist())
        assert len(found) == 1

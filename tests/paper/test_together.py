"""Chains side by side are the chains they would be alone, and whoever waits is told."""

import numpy as np
import pytest

from discreet.errors import SettingsError
from discreet.paper import exponential as module
from discreet.paper.exponential import SanitizedExponential
from discreet.paper.sampler import PSGLD, run_together
from discreet.privacy.testing import SeededNoise
from discreet.watch import watching
from tests.paper.test_exponential import people_and_loss
from tests.paper.test_sampler import KEY, gaussian


class Diary:
    """Writes down what it is told."""

    def __init__(self):
        self.total, self.done, self.notes = 0, 0, []

    def begin(self, total):
        self.total += total

    def advance(self, units):
        self.done += units

    def note(self, text):
        self.notes.append(text)


def test_chains_side_by_side_are_those_that_run_alone():
    settings = PSGLD(batch=10, burn_in=100, epochs=3)
    keys = [KEY, KEY + 1, KEY + 2]
    states, points = run_together(settings, [gaussian() for _ in keys], keys, kept=50)
    for index, key in enumerate(keys):
        chain = settings.start(gaussian(), key)
        alone = np.concatenate(list(chain.epochs(3, kept=50)))
        np.testing.assert_array_equal(states[index], alone)
        np.testing.assert_array_equal(points[index], chain.point)
    assert not np.array_equal(states[0], states[1])


def test_every_step_is_counted_for_whoever_watches():
    diary, settings = Diary(), PSGLD(batch=10, burn_in=100, epochs=4)
    with watching(diary):
        run_together(settings, [gaussian(), gaussian()], [KEY, KEY + 1])
    assert diary.total == diary.done == 2 * 4 * gaussian().terms


def draw(chains, diary):
    constants, loss = people_and_loss(60)
    mechanism = SanitizedExponential(
        epsilon=1.0, sampler=PSGLD(chains=chains, epochs=5, batch=20, burn_in=50)
    )
    with watching(diary):
        return mechanism.draw(mechanism.plan(constants), loss, SeededNoise(4))


def test_the_first_chain_is_released_and_the_others_are_only_told_of():
    alone, several = Diary(), Diary()
    one, three = draw(1, alone), draw(3, several)
    np.testing.assert_array_equal(one.point, three.point)
    assert alone.notes == []
    assert "3 chains: largest split R-hat" in several.notes[0]


def test_a_missing_extra_does_not_lose_a_draw_that_is_paid(monkeypatch):
    def missing(_):
        raise SettingsError("diagnostics need the extra discreet[sampler]")

    monkeypatch.setattr(module, "diagnose", missing)
    diary = Diary()
    draw(2, diary)
    assert "were not compared" in diary.notes[0]


def test_the_number_of_chains_is_a_count():
    with pytest.raises(SettingsError, match="chains"):
        PSGLD(chains=0)

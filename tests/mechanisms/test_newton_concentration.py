"""What a limit on each person's information takes away, as a cohort shows it, and which limit is chosen."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.core.information import LARGEST_FACTOR, Informations
from discreet.core.scores import alone, block_information
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import LINKS, Logit, get_link
from discreet.engine.local import LocalEngine
from discreet.mechanisms.newton.bound import Cohort
from discreet.mechanisms.newton.concentration import (
    LARGEST_COHORT,
    MULTIPLES,
    RESTORED,
    Concentration,
    chosen_limit,
)
from discreet.mechanisms.newton.foreseen import CohortScores
from discreet.mechanisms.newton.picture import CLEAR, kept, tilted
from discreet.mechanisms.newton.releases import Information
from discreet.mechanisms.newton.steps import power
from discreet.people.episodes import Episodes
from tests.mechanisms.test_newton_steps import mixed_schema

INTERVALS = 20
COPIES = 400
"""People for every member of the cohort."""


@pytest.fixture
def design():
    return Design(mixed_schema(), NaturalSpline(3))


def members(design, *, tail=1.0):
    """Thirty members, one of them far away, in one stretch of time; nobody is censored."""
    random = np.random.default_rng(5)
    values = random.uniform(-0.3, 0.3, size=(30, design.dimension - 3))
    values[0] = tail
    counts = np.full((30, 1), float(COPIES))
    edges = np.array([0, INTERVALS])
    return Cohort(values[:, None, :], counts, edges, np.ones(INTERVALS), 30.0 * COPIES)


def at(design, people, link=None):
    """Scores at a point with effects, whitened by the cohort's own information."""
    point = np.concatenate([[-2.0, 0.5, 0.2], np.linspace(-0.6, 0.6, design.dimension - 3)])
    plain = CohortScores(design, link or Logit(), point, np.eye(len(point)), np.inf)
    own = plain.expected(people)[2]
    return replace(plain, mapping=power(own, -0.5, 1e-9))


def average(people, scores):
    return len(scores.point) / float(people.counts.sum())


def lived(people, scores, entries=None):
    """As many people as the cohort stands for, each from entry to an event or the horizon."""
    random = np.random.default_rng(9)
    values = np.repeat(people.cohort[:, 0, :], COPIES, axis=0)
    hazards = scores.link.hazard(values @ scores.beta + scores.predictor[:, None]).T
    entry = np.zeros(len(values), dtype=np.int32) if entries is None else entries
    events = random.uniform(size=hazards.shape) < hazards
    events[np.arange(INTERVALS) < entry[:, None]] = False
    happened = events.any(axis=1)
    last = np.where(happened, events.argmax(axis=1) + 1, INTERVALS).astype(np.int32)
    return Episodes(values, entry, last, happened, np.arange(len(values) + 1), len(values))


def summed(block, scores, limit, tables=None):
    """The people's information after the cut, from the integers that are released."""
    given = tables or Informations()
    (half,) = LocalEngine(block).reduce(block_information, alone(scores), limit, given)
    rows, columns = np.tril_indices(len(scores.point))
    matrix = np.zeros((len(scores.point),) * 2)
    matrix[rows, columns] = matrix[columns, rows] = half * (limit / LARGEST_FACTOR**2)
    return matrix


@pytest.mark.parametrize("link", sorted(LINKS))
@pytest.mark.parametrize("multiple", [1.0, 2.0, 6.0])
def test_the_cohort_shows_what_a_limit_leaves_of_people_like_it(design, link, multiple):
    people = members(design)
    scores = at(design, people, get_link(link))
    limit = multiple * average(people, scores)
    shown = Concentration(scores, people)
    found = summed(lived(people, scores), replace(scores, bound=1.0), limit)
    assert np.allclose(shown.cut(limit), found, atol=0.06)
    if multiple < 6.0:
        assert np.trace(shown.full - shown.cut(limit)) > 0.05


def test_late_entries_have_gathered_less(design):
    """Half of everybody enters in the middle: by then others have been cut."""
    people = members(design)
    scores = at(design, people)
    early = Concentration(scores, people)
    late = np.where(np.arange(INTERVALS) < INTERVALS // 2, 0.5, 1.0)
    mixed = Concentration(scores, replace(people, present=late))
    limit = average(people, scores)
    kept = [np.trace(one.cut(limit)) / np.trace(one.full) for one in (early, mixed)]
    assert kept[0] < kept[1]
    entries = np.tile(np.repeat([0, INTERVALS // 2], COPIES // 2), 30).astype(np.int32)
    block = lived(people, scores, entries)
    block_kept = [
        np.trace(summed(block, replace(scores, bound=1.0), one)) for one in (limit, 100 * limit)
    ]
    assert kept[1] == pytest.approx(block_kept[0] / block_kept[1], abs=0.05)


def test_more_of_a_larger_limit_is_left_and_never_more_than_all(design):
    people = members(design)
    shown = Concentration(at(design, people), people)
    limits = [multiple * average(people, shown.scores) for multiple in (0.5, 2.0, 8.0, 1e9)]
    left = [shown.cut(limit) for limit in limits]
    for less, more in zip(left, [*left[1:], shown.full], strict=True):
        assert np.linalg.eigvalsh(more - less)[0] > -1e-9
    assert np.allclose(left[-1], shown.full)
    assert shown.lost(limits[-1]) == pytest.approx(0.0, abs=1e-9)


def test_what_was_cut_is_put_back_up_to_a_quarter(design):
    people = members(design)
    shown = Concentration(at(design, people), people)
    for multiple in (0.5, 2.0, 8.0):
        limit = multiple * average(people, shown.scores)
        left = shown.cut(limit)
        restored = shown.restored(left)
        inverse = power(left, -0.5, 1e-9)
        values = np.linalg.eigvalsh(inverse @ restored @ inverse)
        assert values[0] > 1.0 - 1e-9
        assert values[-1] < RESTORED + 1e-9
        assert np.linalg.eigvalsh(shown.full - restored)[0] > -1e-9


def test_the_limit_grows_with_concentration_and_falls_with_noise(design):
    even, far = members(design, tail=0.2), members(design, tail=1.0)
    found = {}
    for name, people in (("even", even), ("far", far)):
        shown = Concentration(at(design, people), people)
        unit = average(people, shown.scores)
        for noise in (1e-5, 0.02, 0.2):
            found[name, noise] = chosen_limit([shown], unit, noise) / unit
    assert found["even", 0.02] < found["far", 0.02]
    assert found["even", 0.2] <= found["even", 0.02] <= found["even", 1e-5]
    assert found["far", 1e-5] >= 100.0  # more budget leads to everybody's whole information
    assert found["even", 0.2] == pytest.approx(MULTIPLES[0])


def test_of_several_causes_the_one_counts_that_loses_most(design):
    even, far = members(design, tail=0.2), members(design, tail=1.0)
    each = [Concentration(at(design, people), people) for people in (even, far)]
    unit = average(even, each[0].scores)
    assert chosen_limit(each, unit, 0.02) == chosen_limit(each[1:], unit, 0.02)


def test_of_very_many_intervals_nothing_is_said(design, monkeypatch):
    people = members(design)
    shown = Concentration(at(design, people), people)
    assert len(people.cohort) * INTERVALS < LARGEST_COHORT
    monkeypatch.setattr("discreet.mechanisms.newton.concentration.LARGEST_COHORT", 1)
    assert np.array_equal(shown.cut(1e-9), shown.full)


def noise_like(size, deviation, seed=1):
    """Symmetric noise as a release has it: off the diagonal its variance is half as large."""
    drawn = np.tril(np.random.default_rng(seed).normal(size=(size, size)))
    drawn = drawn * np.where(np.eye(size) > 0.0, 1.0, np.sqrt(0.5)) * deviation
    return drawn + np.tril(drawn, -1).T


def test_what_is_kept_of_an_entry_is_by_itself_or_by_those_that_are_not_clear():
    """One that is far out says nothing of the others."""
    noise, size = 0.1, 6
    gap = noise_like(size, noise)
    gap[-1, -1] = 10.0 * CLEAR * noise
    part = kept(gap, noise)
    assert part[-1, -1] == pytest.approx(1.0 - 1.0 / (10.0 * CLEAR) ** 2)
    others = np.ones((size, size), dtype=bool)
    others[-1, -1] = False
    small = others & (np.abs(gap) < 0.5 * noise)
    assert small.any()
    assert part[small].max() < 0.5  # one factor for all would keep nearly everything
    assert not kept(np.zeros((2, 2)), noise).any()
    assert np.allclose(kept(np.ones((2, 2)), 0.0), 1.0)


def test_differences_that_are_many_and_small_are_kept_together():
    """Each is one and a half of its noise: all of them together are no accident."""
    noise = 0.1 * np.where(np.eye(8) > 0.0, 1.0, np.sqrt(0.5))
    assert np.allclose(kept(1.5 * noise, 0.1), 1.0 - 1.0 / 1.5**2)
    left = [np.linalg.norm(kept(one, 0.1) * one) / np.linalg.norm(one) for one in _noises()]
    assert np.mean(left) < 0.65  # most of what is noise is taken away


def _noises():
    return [noise_like(8, 0.1, seed) for seed in range(50)]


def test_one_effect_that_is_known_less_well_is_seen_beside_others_that_are_not(design):
    """A quarter of one coordinate's information is missing; noise is a twentieth of an entry."""
    people = members(design, tail=0.1)
    scores = at(design, people)
    own = Concentration(scores, people)
    limit = 600.0 * average(people, scores)
    size, seen = len(scores.point), []
    for seed in range(20):
        lacking = own.cut(limit) + noise_like(size, 0.05, seed)
        lacking[-1, -1] -= 0.25
        lens = tilted(people, Information(scores, lacking, 0.05, limit)).lens
        turn = scores.mapping.T @ lens @ np.linalg.inv(scores.mapping.T)
        seen.append((turn @ own.full @ turn.T)[-1, -1])
    assert np.mean(seen) == pytest.approx(own.full[-1, -1] - 0.25, abs=0.04)

"""Curves by group: what others compute without noise, and bands that hold the truth with it."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from lifelines import AalenJohansenFitter, KaplanMeierFitter
from lifelines.statistics import multivariate_logrank_test

from discreet.models.group_curves import (
    Counts,
    LogRank,
    Noise,
    _balanced,
    _reach,
    group_curves,
    incidence_of,
    isotonic,
    log_rank,
    survival_of,
)

INTERVALS = 20
TIMES = np.arange(INTERVALS + 1.0)


def independent(deviation):
    """The law of noise that is independent from count to count."""
    sizes = (INTERVALS, INTERVALS + 1)
    return Noise({size: deviation * np.tril(np.ones((size, size))) for size in sizes})


SILENCE = independent(0.0)


def people(seed=1, number=4000, effect=0.0, late=False, causes=1):
    """Discrete times with two groups: a data frame and its counts."""
    random = np.random.default_rng(seed)
    group = random.integers(2, size=number)
    hazard = 0.06 * np.exp(effect * group)
    event_time = random.geometric(hazard)
    entry = random.integers(0, 6, number) * (random.random(number) < 0.5) * late
    censoring = np.minimum(random.integers(1, 35, number), INTERVALS)
    chosen = (event_time > entry) & (censoring > entry)
    frame = pd.DataFrame(
        {
            "group": group,
            "entry": entry,
            "exit": np.minimum(event_time, censoring),
            "event": np.where(event_time <= censoring, random.integers(1, causes + 1, number), 0),
        }
    )[chosen]
    return frame, counted(frame, causes, late=late)


def counted(frame, causes, *, late):
    events = np.zeros((2, causes, INTERVALS))
    censored, entered = np.zeros((2, INTERVALS + 1)), np.zeros((2, INTERVALS + 1))
    for row in frame.itertuples():
        if row.event:
            events[row.group, row.event - 1, row.exit - 1] += 1
        else:
            censored[row.group, row.exit - (row.exit < INTERVALS)] += 1
        entered[row.group, row.entry + (row.entry > 0)] += 1
    return Counts(events, censored, entered if late else None, np.ones(INTERVALS))


@pytest.mark.parametrize("late", [False, True])
def test_without_noise_it_is_kaplan_meier(late):
    frame, counts = people(late=late)
    curves = group_curves(counts, TIMES, SILENCE)
    for group, curve in enumerate(curves):
        chosen = frame[frame.group == group]
        other = KaplanMeierFitter().fit(chosen.exit, chosen.event > 0, entry=chosen.entry)
        expected = other.survival_function_at_times(TIMES[1:]).to_numpy()
        assert np.allclose(curve.survival.estimate, expected, atol=1e-12)


def test_without_noise_incidence_is_aalen_johansen():
    frame, counts = people(causes=2)
    curves = group_curves(counts, TIMES, SILENCE)
    chosen = frame[frame.group == 1]
    other = AalenJohansenFitter(calculate_variance=False).fit(
        chosen.exit, chosen.event, event_of_interest=1
    )
    expected = other.cumulative_density_.reindex(TIMES[1:], method="ffill").to_numpy()[:, 0]
    assert np.allclose(curves[1].incidence[0].estimate, expected, atol=1e-12)


def test_incidences_and_survival_add_up_to_one():
    _, counts = people(causes=2)
    hazards = np.abs(np.random.default_rng(1).normal(0.0, 0.05, (2, INTERVALS)))
    total = incidence_of(hazards).sum(axis=0) + survival_of(hazards)
    assert np.allclose(total, 1.0)
    assert counts.events.shape[1] == 2


def test_isotonic_never_falls_and_keeps_the_mean():
    values = np.random.default_rng(2).normal(size=(5, 9)).cumsum(axis=1)
    found = isotonic(values)
    assert np.all(np.diff(found, axis=1) >= -1e-12)
    assert np.allclose(found.mean(axis=1), values.mean(axis=1))


def noisy(counts, deviation, seed):
    random = np.random.default_rng(seed)

    def add(values):
        return None if values is None else values + random.normal(0.0, deviation, values.shape)

    return Counts(add(counts.events), add(counts.censored), add(counts.entered), counts.widths)


@pytest.mark.parametrize("late", [False, True])
def test_bands_hold_the_truth(late):
    truth = 0.94 ** TIMES[1:]
    inside, together = [], []
    for seed in range(60):
        _, counts = people(seed=seed, number=1500, late=late)
        band = group_curves(noisy(counts, 6.0, seed), TIMES, independent(6.0))[0].survival
        inside.append(np.mean((band.lower <= truth) & (truth <= band.upper)))
        held = (band.lower_simultaneous <= truth) & (truth <= band.upper_simultaneous)
        together.append(np.all(held))
    assert 0.90 < np.mean(inside) < 0.99
    assert np.mean(together) > 0.85


def test_curves_fall_and_bands_are_in_order():
    _, counts = people(seed=3, number=200)
    for curve in group_curves(noisy(counts, 15.0, 1), TIMES, independent(15.0)):
        for values in vars(curve.survival).values():
            assert np.all(values >= 0.0)
        for name in ("estimate", "lower", "upper", "lower_simultaneous", "upper_simultaneous"):
            values = getattr(curve.survival, name)
            assert np.all(np.diff(values) <= 1e-12)
            assert np.all(values <= 1.0)
        assert np.all(curve.survival.lower_simultaneous <= curve.survival.lower + 1e-12)


def test_median_and_restricted_mean():
    _, counts = people(number=40_000)
    curve = group_curves(counts, TIMES, SILENCE)[0]
    assert curve.median.lower <= math.log(0.5) / math.log(0.94) <= curve.median.upper
    area = np.trapezoid(0.94**TIMES, TIMES)
    assert curve.restricted_mean.lower <= area <= curve.restricted_mean.upper


def test_a_curve_that_never_falls_below_one_half_has_no_median():
    _, counts = people(number=4000)
    few = Counts(counts.events * 0.05, counts.censored, None, counts.widths)
    assert math.isinf(group_curves(few, TIMES, SILENCE)[0].median.estimate)


def test_log_rank_without_noise_agrees_with_lifelines():
    frame, counts = people(effect=0.12)
    other = multivariate_logrank_test(frame.exit, frame.group, frame.event > 0)
    found = log_rank(counts, SILENCE)
    assert found.degrees == 1
    assert found.freedom == "1 degree of freedom"
    assert replace(found, degrees=2).freedom == "2 degrees of freedom"
    assert found.statistic == pytest.approx(other.test_statistic, rel=0.15)
    assert found.p_value == pytest.approx(other.p_value, abs=0.03)


def test_log_rank_rejects_seldom_under_the_null_and_often_otherwise():
    def rejected(effect):
        found = []
        for seed in range(60):
            _, counts = people(seed=seed, number=1500, effect=effect)
            found.append(log_rank(noisy(counts, 6.0, seed), independent(6.0)).p_value < 0.05)
        return np.mean(found)

    assert rejected(0.0) <= 0.15  # 9 of 60: 0.2 % where the level is right
    assert rejected(0.8) > 0.8


def test_a_p_value_that_no_simulation_reached_is_a_bound():
    assert LogRank(900.0, 2, 0.001).words == "p ≤ 0.001"
    assert LogRank(3.1, 2, 0.212).words == "p = 0.212"


def test_an_empty_group_says_so():
    _, counts = people()
    empty = Counts(counts.events.copy(), counts.censored.copy(), None, counts.widths)
    empty.events[1], empty.censored[1] = 0.0, 0.0
    curves = group_curves(noisy(empty, 6.0, 5), TIMES, independent(6.0))
    assert not curves[0].may_be_empty
    assert curves[1].may_be_empty


def in_long_stretches(frame, length):
    """Counts of group 0 where a stretch is so many intervals long."""
    chosen = frame[frame.group == 0]
    size = INTERVALS // length
    stretch = (chosen.exit - 1) // length
    happened = chosen.event > 0
    place = np.where(chosen.exit == INTERVALS, size, stretch)
    began = np.where(chosen.entry == 0, 0, chosen.entry // length + 1)

    def counted(places, number):
        return np.bincount(places, minlength=number).astype(float)[None, :]

    return Counts(
        counted(stretch[happened], size)[:, None, :],
        counted(place[~happened], size + 1),
        counted(began, size + 1),
        np.full(size, float(length)),
    )


def test_long_stretches_know_who_came_at_the_start_and_stayed_to_the_end():
    """Four in ten enter during the first stretch, many stay to the end: neither bends the curve."""
    frame, _ = people(number=80_000, late=True)
    counts = in_long_stretches(frame, 5)
    law = Noise({size: np.zeros((size, size)) for size in (4, 5)})
    (curve,) = group_curves(counts, TIMES[::5], law)
    assert np.allclose(curve.survival.estimate, 0.94 ** TIMES[5::5], atol=0.02)


def test_as_many_leave_as_entered():
    """Balanced counts agree exactly, move by the noise only and are nearer to the truth."""
    _, counts = people(number=1500, late=True)
    law, away, back = independent(6.0), [], []
    for seed in range(40):
        drawn = noisy(counts, 6.0, seed)
        found = _balanced(drawn, law)
        left = found.events.sum(axis=(1, 2)) + found.censored.sum(axis=1)
        assert np.allclose(found.entered.sum(axis=1), left)
        away.append(late_at_risk(drawn) - late_at_risk(counts))
        back.append(late_at_risk(found) - late_at_risk(counts))
    assert np.std(back) < 0.75 * np.std(away)
    assert abs(np.mean(back)) < np.std(back) / 4


def late_at_risk(counts):
    left = counts.events.sum(axis=1)[:, :-1] + counts.censored[:, : INTERVALS - 1]
    return counts.entered.sum(axis=1) - left.sum(axis=1)


FOLLOWED = 8
"""The last interval of group 1 in which somebody is seen: 0.94^8 = 0.61, above one half."""


def short(seed, causes=1, *, late=False):
    """Counts in which group 1 is followed for 8 of 20 intervals, and group 0 to the end."""
    frame, _ = people(seed=seed, number=1500, causes=causes, late=late)
    cut = (frame.group == 1) & (frame.exit > FOLLOWED)
    frame.loc[cut, "event"] = 0
    frame.loc[cut, "exit"] = FOLLOWED
    frame = frame[frame.entry < frame.exit]
    return noisy(counted(frame, causes, late=late), 6.0, seed), independent(6.0)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_a_curve_says_nothing_where_nobody_is_followed(seed, late):
    """Noise taken for people and events made it fall to nothing, with a band that said so."""
    counts, law = short(seed, late=late)
    whole, cut = group_curves(counts, TIMES, law)
    assert not whole.ends_early
    assert cut.reach in {FOLLOWED, FOLLOWED + 1}  # one further is told once in forty
    assert cut.known_until == TIMES[cut.reach]
    band, truth = cut.survival, 0.94 ** TIMES[1:]
    later = slice(cut.reach, None)
    for low, high in (
        (band.lower, band.upper),
        (band.lower_simultaneous, band.upper_simultaneous),
    ):
        assert np.all((low[later] == 0.0) & (high[later] == high[cut.reach - 1]))
        assert np.all(truth[later] <= high[later])
    assert np.all(band.estimate[later] == band.estimate[cut.reach - 1])


@pytest.mark.parametrize("seed", range(8))
def test_numbers_of_a_short_curve_leave_the_unknown_open(seed):
    counts, law = short(seed)
    cut = group_curves(counts, TIMES, law)[1]
    assert math.isinf(cut.median.estimate)
    assert math.isinf(cut.median.upper)
    assert cut.median.lower <= cut.known_until
    longest = np.trapezoid(np.append(1.0, cut.survival.estimate), TIMES)
    assert cut.restricted_mean.estimate == pytest.approx(longest)
    area, seen = np.trapezoid(0.94**TIMES, TIMES), np.trapezoid(0.94 ** TIMES[:9], TIMES[:9])
    assert cut.restricted_mean.lower < seen + 0.3
    assert cut.restricted_mean.lower <= area <= cut.restricted_mean.upper
    assert cut.restricted_mean.upper > seen + 0.55 * (INTERVALS - FOLLOWED)


def test_incidence_may_rise_to_one_where_nobody_is_followed():
    counts, law = short(1, causes=2)
    cut = group_curves(counts, TIMES, law)[1]
    for band in cut.incidence:
        assert np.all(band.upper[cut.reach :] == 1.0)
        assert np.all(band.upper_simultaneous[cut.reach :] == 1.0)
        assert band.upper[cut.reach - 1] < 0.5
        assert np.allclose(band.lower[cut.reach :], band.lower[cut.reach - 1])
        assert np.all(np.diff(band.estimate) >= -1e-12)


def test_bands_hold_the_truth_before_follow_up_ends():
    """Noise of the tail neither widens nor narrows what is known before it."""
    truth, inside, together = 0.94 ** TIMES[1:], [], []
    for seed in range(60):
        counts, law = short(seed)
        cut = group_curves(counts, TIMES, law)[1]
        band, known = cut.survival, slice(cut.reach)
        inside.append(np.mean(((band.lower <= truth) & (truth <= band.upper))[known]))
        held = (band.lower_simultaneous <= truth) & (truth <= band.upper_simultaneous)
        together.append(np.all(held))
    assert 0.90 < np.mean(inside) < 0.99
    assert np.mean(together) > 0.85


def test_log_rank_keeps_its_level_where_one_group_is_followed_shorter():
    rejected = [log_rank(*short(seed)).p_value < 0.05 for seed in range(60)]
    assert np.mean(rejected) <= 0.15


def test_a_group_is_called_empty_exactly_where_its_printed_range_holds_none():
    law, called = independent(6.0), []
    for seed in range(20):
        _, counts = people(number=170)  # about 85 of a group, and 38 is one deviation
        for curve in group_curves(noisy(counts, 6.0, seed), TIMES, law):
            least = curve.size - 1.96 * curve.size_deviation
            assert curve.may_be_empty == (least <= 0.0)
            assert curve.may_be_empty == (curve.reach == 0)
            called.append(curve.may_be_empty)
    assert 0 < np.sum(called) < len(called)


def test_nothing_is_said_of_a_group_that_may_be_empty():
    _, counts = people()
    empty = Counts(counts.events.copy(), counts.censored.copy(), None, counts.widths)
    empty.events[1], empty.censored[1] = 0.0, 0.0
    curve = group_curves(noisy(empty, 6.0, 5), TIMES, independent(6.0))[1]
    assert (curve.reach, curve.known_until, curve.median.lower) == (0, 0.0, 0.0)
    assert np.all((curve.survival.lower == 0.0) & (curve.survival.upper == 1.0))
    assert (curve.restricted_mean.lower, curve.restricted_mean.upper) == (0.0, INTERVALS)


def test_people_who_are_there_later_were_there_before():
    """One number that noise hides does not end a curve whose later numbers are certain."""
    at_risk, deviation = np.array([90.0, 15.0, 40.0, 12.0, 25.0, 5.0]), np.full(6, 10.0)
    assert _reach(at_risk, deviation, late=False) == 3
    assert _reach(at_risk, deviation, late=True) == 1

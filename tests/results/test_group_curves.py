"""Curves by group: what others compute without noise, and bands that hold the truth with it."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lifelines import AalenJohansenFitter, KaplanMeierFitter
from lifelines.statistics import multivariate_logrank_test

from discreet.results import group_curves as curves_module
from discreet.results import hazard_posterior
from discreet.results.group_curves import (
    LogRank,
    ReleasedCounts,
    curve_draws,
    event_in_stretch,
    group_curves,
    incidence_of,
    log_rank,
    survival_of,
)
from discreet.results.hazard_posterior import Counts

STRETCHES = 20
TIMES = np.arange(STRETCHES + 1.0)
RATE = 0.06


def people(seed=1, number=4000, effect=0.0, causes=1, *, late=False, followed=STRETCHES):
    """Two groups in continuous time; group 1 is followed for a shorter time if asked."""
    random = np.random.default_rng(seed)
    group = random.integers(2, size=number)
    time = random.exponential(1.0 / (RATE * np.exp(effect * group)))
    entry = random.uniform(0, 6, number) * (random.random(number) < 0.5) * late
    censoring = np.minimum(random.uniform(0, 35, number), np.where(group == 1, followed, STRETCHES))
    chosen = (time > entry) & (censoring > entry)
    frame = pd.DataFrame(
        {
            "group": group,
            "entry": entry,
            "exit": np.minimum(time, censoring),
            "event": np.where(time <= censoring, random.integers(1, causes + 1, number), 0),
        }
    )
    return frame[chosen]


def counted(frame, causes=1, *, late=False):
    events = np.zeros((2, causes, STRETCHES))
    censored, entered = np.zeros((2, STRETCHES + 1)), np.zeros((2, STRETCHES + 1))
    for row in frame.itertuples():
        stretch = math.ceil(row.exit) - 1
        if row.event:
            events[row.group, row.event - 1, stretch] += 1
        else:
            censored[row.group, STRETCHES if row.exit == STRETCHES else stretch] += 1
        entered[row.group, math.floor(row.entry) + (row.entry > 0)] += 1
    return Counts(events, censored, entered if late else None, np.ones(STRETCHES))


def released(frame, deviation, causes=1, *, late=False, seed=1):
    """Counts with independent normal noise of that deviation."""
    random, exact = np.random.default_rng([9, seed]), counted(frame, causes, late=late)

    def noisy(values):
        return None if values is None else values + random.normal(0.0, deviation, values.shape)

    counts = Counts(noisy(exact.events), noisy(exact.censored), noisy(exact.entered), exact.widths)
    noise = {size: deviation**2 * np.eye(size) for size in (STRETCHES, STRETCHES + 1)}
    return ReleasedCounts(counts, noise, len(frame), seed)


@pytest.mark.parametrize("late", [False, True])
def test_without_noise_it_is_kaplan_meier(late):
    """Up to where in a stretch people were censored or came, which is not released."""
    frame = people(late=late)
    curves, _ = group_curves(released(frame, 0.01, late=late), TIMES)
    for group, curve in enumerate(curves):
        chosen = frame[frame.group == group]
        other = KaplanMeierFitter().fit(chosen.exit, chosen.event > 0, entry=chosen.entry)
        expected = other.survival_function_at_times(TIMES[1:]).to_numpy()
        band = curve.survival
        assert np.allclose(band.estimate, expected, atol=2.5e-3)
        assert np.all(band.sample_upper - band.sample_lower < 0.01)
        assert not curve.ends_early


def test_without_noise_incidence_is_aalen_johansen():
    frame = people(causes=2)
    curves, _ = group_curves(released(frame, 0.01, causes=2), TIMES)
    chosen = frame[frame.group == 1]
    other = AalenJohansenFitter(calculate_variance=False).fit(
        chosen.exit, chosen.event, event_of_interest=1
    )
    table = other.cumulative_density_.iloc[:, 0]
    expected = table.to_numpy()[np.searchsorted(table.index, TIMES[1:], side="right") - 1]
    assert np.allclose(curves[1].incidence[0].estimate, expected, atol=2.5e-3)


def test_incidences_and_survival_add_up_to_one():
    hazards = np.abs(np.random.default_rng(1).normal(0.0, 0.05, (2, STRETCHES)))
    assert np.allclose(incidence_of(hazards).sum(axis=0) + survival_of(hazards), 1.0)


@pytest.mark.parametrize(
    ("at_risk", "died", "censored", "entered"),
    [(60, 3, 40, 0), (100, 30, 10, 0), (60, 10, 20, 25), (40, 12, 0, 0), (40, 5, 10, 15)],
)
def test_a_stretch_without_its_order_has_the_mean_and_spread_of_all_orders(
    at_risk, died, censored, entered
):
    random = np.random.default_rng(1)
    kinds = np.repeat([-1, 0, 1], [died, censored, entered])
    found = []
    for _ in range(2000):
        order = random.permutation(kinds)
        present = at_risk + np.append(0, np.cumsum(np.where(order == 1, 1, -1)))[:-1]
        found.append(np.log1p(-1.0 / present[order == -1]).sum())
    numbers = [np.full(2000, float(item)) for item in (at_risk, died, censored, entered)]
    drawn = np.log1p(-event_in_stretch(*numbers, random.standard_normal(2000)))
    assert drawn.mean() == pytest.approx(np.mean(found), rel=0.02)
    assert drawn.std() == pytest.approx(np.std(found), rel=0.15, abs=1e-9)


def test_a_stretch_in_which_all_leave():
    numbers = np.array([[5.0, 0.0, 1.0], [5.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 3.0, 0.0]])
    event = event_in_stretch(*numbers, np.zeros(3))
    assert event == pytest.approx([1.0, 0.0, 0.0])


@pytest.mark.parametrize("late", [False, True])
def test_bands_hold_the_truth_and_the_sample(late):
    """Twelve draws; `make curves` has more."""
    truth = np.exp(-RATE * TIMES[1:])
    inside, own_inside, together = [], [], []
    for seed in range(12):
        frame = people(seed=seed, number=800, late=late)
        curve = group_curves(released(frame, 6.0, late=late, seed=seed), TIMES)[0][0]
        band, chosen = curve.survival, frame[frame.group == 0]
        own = KaplanMeierFitter().fit(chosen.exit, chosen.event, entry=chosen.entry)
        own = own.survival_function_at_times(TIMES[1:]).to_numpy()
        known = slice(curve.reach)
        inside.append(np.mean(((band.lower <= truth) & (truth <= band.upper))[known]))
        held = (band.sample_lower <= own) & (own <= band.sample_upper)
        own_inside.append(np.mean(held[known]))
        held = (band.lower_simultaneous <= truth) & (truth <= band.upper_simultaneous)
        together.append(np.all(held[known]))
    assert np.mean(inside) > 0.87
    assert np.mean(own_inside) > 0.87
    assert np.mean(together) >= 0.8


def test_curves_fall_and_bands_are_in_order():
    frame = people(seed=3, number=200, causes=2)
    for curve in group_curves(released(frame, 12.0, causes=2), TIMES)[0]:
        for band, sign in ((curve.survival, -1.0), *((band, 1.0) for band in curve.incidence)):
            for values in vars(band).values():
                assert np.all((values >= 0.0) & (values <= 1.0))
                assert np.all(sign * np.diff(values) >= -1e-12)
            for ending in ("", "_simultaneous"):
                low, high = (getattr(band, f"{side}{ending}") for side in ("lower", "upper"))
                inner = (getattr(band, f"sample_{side}{ending}") for side in ("lower", "upper"))
                own_low, own_high = inner
                assert np.all((low <= own_low) & (own_high <= high))
            assert np.all(band.lower_simultaneous <= band.lower + 1e-12)
            assert np.all(band.upper_simultaneous >= band.upper - 1e-12)


def test_median_and_restricted_mean():
    curve = group_curves(released(people(number=20_000), 5.0), TIMES)[0][0]
    assert curve.median.lower <= math.log(2.0) / RATE <= curve.median.upper
    assert curve.median.lower < curve.median.estimate < curve.median.upper
    area = (1.0 - math.exp(-RATE * STRETCHES)) / RATE
    assert curve.restricted_mean.lower <= area <= curve.restricted_mean.upper
    assert curve.restricted_mean.estimate == pytest.approx(area, abs=0.2)


def test_a_curve_that_never_falls_below_one_half_has_no_median():
    curve = group_curves(released(people(effect=-3.0), 3.0), TIMES)[0][1]
    assert not curve.ends_early
    assert math.isinf(curve.median.estimate)
    assert math.isinf(curve.median.upper)


FOLLOWED = 8
"""Stretches for which group 1 is followed: S is 0.62 there, above one half."""


@pytest.mark.parametrize("late", [False, True])
def test_a_curve_is_not_known_where_nobody_is_followed(late):
    frame = people(number=1500, late=late, followed=FOLLOWED)
    whole, cut = group_curves(released(frame, 5.0, late=late), TIMES)[0]
    assert not whole.ends_early
    assert cut.reach in {FOLLOWED - 1, FOLLOWED, FOLLOWED + 1}
    assert cut.known_until == TIMES[cut.reach]
    assert math.isnan(cut.median.estimate)
    assert math.isinf(cut.median.upper)
    assert cut.median.lower <= cut.known_until
    area = (1.0 - math.exp(-RATE * STRETCHES)) / RATE
    assert math.isnan(cut.restricted_mean.estimate)
    assert cut.restricted_mean.lower <= area <= cut.restricted_mean.upper


def test_a_group_that_noise_hides_says_what_would_show_it():
    frame = people(number=1500)
    few = pd.concat([frame[frame.group == 0], frame[frame.group == 1][:60]])
    large, small = group_curves(released(few, 6.0), TIMES)[0]
    assert (large.people_needed, large.noise_needed) == (1.0, 1.0)
    assert small.reach == 0
    assert small.people_needed > 1.0
    assert small.noise_needed > 1.0
    more = pd.concat([frame[frame.group == 0], frame[frame.group == 1]])
    assert group_curves(released(more, 6.0), TIMES)[0][1].reach > 0.4 * STRETCHES


def test_an_empty_group_says_so():
    frame = people(number=1500)
    curves = group_curves(released(frame[frame.group == 0], 6.0), TIMES)[0]
    assert not curves[0].may_be_empty
    assert curves[1].may_be_empty
    assert curves[1].reach == 0


def test_the_same_release_gives_the_same_curves():
    found = released(people(number=300), 6.0)
    one, other = (group_curves(found, TIMES)[0][0] for _ in range(2))
    for name, values in vars(one.survival).items():
        assert np.array_equal(values, getattr(other.survival, name))


@pytest.mark.parametrize("late", [False, True])
def test_log_rank_without_noise_agrees_with_lifelines(late):
    frame = people(effect=0.15, late=late)
    other = multivariate_logrank_test(frame.exit, frame.group, frame.event > 0)
    found = group_curves(released(frame, 0.01, late=late), TIMES)[1]
    assert found.degrees == 1
    if not late:  # lifelines has no entries here
        assert found.statistic == pytest.approx(other.test_statistic, rel=0.1)
    assert found.p_value < 0.05


def test_log_rank_rejects_seldom_under_the_null_and_often_otherwise():
    def statistics(effect, draws):
        found = []
        for seed in range(draws):
            release = released(people(seed=seed, number=800, effect=effect), 6.0, seed=seed)
            found.append(log_rank(release, curve_draws(release)).statistic)
        return np.array(found)

    null = statistics(0.0, 16)
    assert np.mean(null > 3.84) <= 0.2  # 4 of 16: 0.9 % where the level is right
    assert 0.25 < np.mean(null) < 2.1  # one degree of freedom: 1 with a deviation of 0.35
    assert np.mean(statistics(0.9, 4) > 3.84) >= 0.75


def test_p_values_in_words():
    assert LogRank(900.0, 2, 1e-9).words == "p < 0.001"
    assert LogRank(3.1, 2, 0.2124).words == "p = 0.212"
    assert LogRank(3.1, 1, 0.1).freedom == "1 degree of freedom"
    assert LogRank(3.1, 2, 0.1).freedom == "2 degrees of freedom"


def test_the_page_has_the_constants_of_the_code():
    page = (Path(__file__).parents[2] / "docs" / "curves.md").read_text()
    rows = re.findall(r"^\| (`[A-Z_`, ]+`) \| ([-\d., ]+) \|", page, re.MULTILINE)
    found = 0
    for names, numbers in rows:
        values = [float(number) for number in numbers.split(",")]
        constants = []
        for name in re.findall(r"[A-Z_]+", names):
            owner = hazard_posterior if hasattr(hazard_posterior, name) else curves_module
            constants += np.ravel(getattr(owner, name)).tolist()
            found += 1
        assert constants == values, names
    assert found == 14

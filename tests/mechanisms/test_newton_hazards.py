"""The life table that is fitted to noisy exits."""

import numpy as np
import pytest

from discreet.mechanisms.newton.hazards import Exits, fitted_hazards, foreseen

WIDTHS = np.array([1.0, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0])
EVENT, CENSORED = np.linspace(0.12, 0.06, 8), np.linspace(0.02, 0.08, 8)


def true_exits(persons=3000.0, kinds=(CENSORED, EVENT), entries=None):
    """Exits of people who leave by hazards that are even within bins."""
    entries = np.concatenate([[persons], np.zeros(7)]) if entries is None else entries
    logs = np.log(np.concatenate(kinds))
    found, _, begun = foreseen(logs, entries, WIDTHS)
    return found.reshape(len(kinds), 8), begun, entries


def noisy_fits(deviation, seeds, **how):
    truth, begun, entries = true_exits(**how)
    for seed in range(seeds):
        noise = np.random.default_rng(seed).normal(0.0, deviation, truth.shape)
        yield fitted_hazards(Exits(truth + noise, entries, WIDTHS, deviation)), begun, truth


def test_slopes_are_derivatives():
    entries = np.array([500.0, 10.0, 0.0, 40.0, 0.0, 5.0, 0.0, 90.0])
    logs = np.log(np.concatenate([CENSORED, EVENT, EVENT / 3.0]))
    found, slope, _ = foreseen(logs, entries, WIDTHS)
    for place in range(len(logs)):
        step = 1e-6 * np.eye(len(logs))[place]
        above, below = (foreseen(logs + sign * step, entries, WIDTHS)[0] for sign in (1.0, -1.0))
        assert slope[:, place] == pytest.approx((above - below) / 2e-6, rel=1e-5, abs=1e-5)
    assert found.sum() == pytest.approx(entries.sum())


@pytest.mark.parametrize("kinds", [(CENSORED, EVENT), (CENSORED, EVENT, EVENT / 4.0)])
def test_without_noise_the_table_is_the_released_one(kinds):
    entries = np.array([2000.0, 0.0, 100.0, 0.0, 300.0, 0.0, 0.0, 50.0])
    truth, begun, _ = true_exits(kinds=kinds, entries=entries)
    table = fitted_hazards(Exits(truth, entries, WIDTHS, 0.1)).table()
    assert table.exits == pytest.approx(truth, abs=0.2)
    assert table.begun == pytest.approx(begun, abs=0.5)


def test_late_in_time_the_people_at_risk_are_not_too_many():
    """Counts made non-negative one by one would leave twice as many at risk in the last bin."""
    found = np.array([fit.table().begun for fit, _, _ in noisy_fits(25.0, 60)])
    _, begun, _ = true_exits()
    assert begun[-1] < 200.0
    gap = found.mean(axis=0) - begun
    assert np.abs(gap).max() < 4.0 * found.std(axis=0).max() / np.sqrt(60) + 5.0
    projected = []
    for seed in range(60):
        truth = true_exits()[0]
        noisy = truth + np.random.default_rng(seed).normal(0.0, 25.0, truth.shape)
        projected.append(np.maximum(noisy, 0.0)[:, -1].sum())
    assert np.mean((found[:, -1] - begun[-1]) ** 2) < np.mean((projected - begun[-1]) ** 2)


def test_tables_from_the_posterior_are_as_far_away_as_the_truth():
    squares = []
    for fit, begun, _ in noisy_fits(25.0, 40):
        random = np.random.default_rng(5)
        others = np.array([one.begun for one in fit.others(random, 40)])
        squares.append(((fit.table().begun - begun)[1:] / others.std(axis=0)[1:]) ** 2)
    assert 0.3 < np.mean(squares) < 1.6


def test_tables_drawn_together_are_those_drawn_one_by_one():
    (fit, _, _), *_ = noisy_fits(25.0, 1)
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    for table in fit.others(one, 3):
        assert np.array_equal(table.exits, fit.another(other).exits)


def test_noise_alone_leaves_hazards_that_end_the_table():
    """Nobody is at risk but for noise: numbers stay finite and nobody is lost."""
    entries = np.concatenate([[60.0], np.zeros(7)])
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(0.0, 300.0, (2, 8))
        table = fitted_hazards(Exits(noise, entries, WIDTHS, 300.0)).table()
        assert np.isfinite(table.exits).all()
        assert np.all(table.begun >= -1e-9)
        assert table.exits.sum() == pytest.approx(60.0)


def test_people_at_risk_by_interval_go_on_from_bin_to_bin():
    entries = np.array([2000.0, 0.0, 100.0, 0.0, 300.0, 0.0, 0.0, 50.0])
    truth, begun, _ = true_exits(entries=entries)
    table = fitted_hazards(Exits(truth, entries, WIDTHS, 0.1)).table()
    by_interval = table.by_interval(entries, WIDTHS.astype(np.int64))
    starts = np.concatenate([[0], np.cumsum(WIDTHS)[:-1]]).astype(np.int64)
    assert by_interval[starts] == pytest.approx(begun, abs=0.5)
    assert len(by_interval) == 40
    assert np.abs(np.diff(by_interval)).max() < 0.2 * by_interval.max()

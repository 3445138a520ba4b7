"""Censoring that goes with covariates: the column of second moments, and what is made of it."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.core.bins import Leavings
from discreet.core.cells import leavings
from discreet.mechanisms.newton.hazards import Exits, fitted_hazards
from discreet.mechanisms.newton.layout import moment_left
from discreet.mechanisms.newton.leaving import Bins, Leaving
from discreet.people.episodes import Episodes
from tests.mechanisms import leaving_checks

EDGES = np.array([0, 2, 5, 9, 10])
CHANCES = Leavings(EDGES, np.array([[0.1, 0.2, 0.5, 0.0], [0.0, 0.0, 0.3, 0.0]]))


def episodes(rows, offsets=None, stratum=None):
    entry, exits, event = (np.array(column) for column in zip(*rows, strict=True))
    persons = len(rows) if offsets is None else len(offsets) - 1
    return Episodes(
        np.zeros((len(rows), 1)),
        entry.astype(np.int32),
        exits.astype(np.int32),
        event.astype(bool),
        None if offsets is None else np.array(offsets),
        persons,
        None if stratum is None else np.array(stratum, dtype=np.int16),
    )


def test_leaving_is_by_hand():
    """Censored in the second bin, event there, at the horizon, entered within a bin, other stratum."""
    rows = [(0, 4, 0), (0, 4, 1), (0, 10, 0), (3, 9, 0), (0, 9, 0)]
    found = leavings(episodes(rows, stratum=[0, 0, 0, 0, 1]), CHANCES)
    assert found == pytest.approx([1 - 0.3, -0.2, -0.8, 1 - 0.6, 1 - 0.3])


def test_splitting_rows_does_not_change_who_leaves():
    whole = leavings(episodes([(1, 8, 0), (0, 6, 1)]), CHANCES)
    parts = episodes([(1, 3, 0), (3, 8, 0), (0, 2, 0), (2, 5, 0), (5, 6, 1)], [0, 2, 2, 5])
    assert leavings(parts, CHANCES) == pytest.approx(np.repeat(whole, [2, 3]))


def test_moments_with_leaving_move_at_most_as_claimed():
    leaving_checks.check_moments_with_leaving_move_as_claimed()


def test_leaving_is_a_persons_own():
    leaving_checks.check_leaving_is_a_persons_own()


@pytest.mark.parametrize("delta", [1e-6, 0])
def test_leaving_is_paid_for(delta):
    leaving_checks.check_leaving_is_paid_for(delta)


NOBODY_IS_SHORTENED = 1000
"""So many columns have a limit that no vector of three reaches."""


def simulated(gamma, people=40_000, seed=5, *, shortened=False):
    """Standardised covariates, one an indicator; their moments with u; the life table."""
    random, intervals = np.random.default_rng(seed), int(EDGES[-1])
    x = np.column_stack([random.normal(size=people), (random.random(people) < 0.3) - 0.3])
    x = x / x.std(axis=0)
    censored = random.exponential(size=people) * 8.0 / np.exp(x @ gamma)
    event = random.exponential(size=people) * 12.0 / np.exp(0.7 * x[:, 0])
    last = np.minimum(np.minimum(np.ceil(censored), np.ceil(event)), intervals).astype(int)
    happened = (event < censored) & (np.ceil(event) <= intervals)
    table = [np.histogram(last[happened == kind], EDGES + 0.5)[0] for kind in (False, True)]
    entries = np.array([people, 0.0, 0.0, 0.0])
    fitted = fitted_hazards(Exits(np.array(table, float), entries, np.diff(EDGES) * 1.0, 0.5))
    bins = Bins.of(fitted)
    order = np.argsort(last, kind="stable")
    rows = episodes(list(zip(np.zeros(people), last[order], happened[order], strict=True)))
    u = leavings(rows, Leavings(EDGES, bins.chances[None, :]))
    unit = np.sqrt(bins.variance)
    whole = np.sum(x[order] ** 2, axis=1) + (u / unit) ** 2
    kept = moment_left(whole, 3) if shortened else 1.0
    return bins, x, x[order].T @ (kept * u) / people / unit, unit


@pytest.mark.parametrize("gamma", [(0.0, 0.0), (0.8, 0.0), (-0.5, 0.6)])
def test_gamma_is_found_whatever_the_events_do(gamma):
    bins, x, moments, unit = simulated(np.array(gamma))
    cohort = x[:1024]
    weights, stratum = np.full(1024, 1 / 1024), np.zeros(1024, dtype=np.int64)
    own = Leaving((bins,), cohort, weights, stratum, unit, np.zeros(1024), NOBODY_IS_SHORTENED)
    assert own.gamma(moments, 0.005) == pytest.approx(gamma, abs=0.12)


@pytest.mark.parametrize("gamma", [(0.0, 0.0), (0.8, 0.0), (-0.5, 0.6)])
def test_gamma_is_found_from_moments_of_shortened_vectors(gamma):
    """Whoever is censored early has a large u, and less is left of the vector."""
    bins, x, moments, unit = simulated(np.array(gamma), shortened=True)
    weights, stratum = np.full(1024, 1 / 1024), np.zeros(1024, dtype=np.int64)
    own = Leaving((bins,), x[:1024], weights, stratum, unit, np.sum(x[:1024] ** 2, axis=1), 3)
    assert own.gamma(moments, 0.005) == pytest.approx(gamma, abs=0.18)
    blind = replace(own, width=NOBODY_IS_SHORTENED)
    if any(gamma):
        assert np.linalg.norm(blind.gamma(moments, 0.005)) < 0.75 * np.linalg.norm(gamma)


def test_as_many_stay_as_were_released():
    """Those who leave early are made up for by those who stay: the mean is that of all alike."""
    bins, x, _, unit = simulated(np.zeros(2))
    weights = np.random.default_rng(6).random(512)
    stratum = np.zeros(512, dtype=np.int64)
    own = Leaving((bins,), x[:512], weights, stratum, unit, np.ones(512), 3)
    found = own.remaining(np.array([1.5, -0.5]))
    assert weights @ found[:, EDGES[:-1]] / weights.sum() == pytest.approx(1.0, abs=1e-6)
    assert found[x[:512, 0] > 1.0, 8].mean() < 0.4
    assert found[x[:512, 0] < -1.0, 8].mean() > 1.2
    assert own.remaining(np.zeros(2)) == pytest.approx(1.0)


def test_strata_have_bins_of_their_own():
    """A stratum in which nobody is censored keeps everybody."""
    bins, x, _, unit = simulated(np.zeros(2))
    nobody = bins._replace(censored=np.zeros_like(bins.censored))
    stratum = np.repeat([0, 1], 256)
    own = Leaving((bins, nobody), x[:512], np.ones(512), stratum, unit, np.ones(512), 3)
    found = own.remaining(np.array([1.0, 0.0]))
    assert found[256:] == pytest.approx(1.0)
    assert np.ptp(found[:256]) > 0.5

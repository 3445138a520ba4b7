"""Censoring that goes with covariates: the column of second moments, and what is made of it."""

import numpy as np
import pytest

from discreet.mechanisms.newton.counts import Leavings, leavings
from discreet.mechanisms.newton.hazards import Exits, fitted_hazards
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


def simulated(gamma, people=40_000, seed=5):
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
    return bins, x, x[order].T @ u / people / unit, unit


@pytest.mark.parametrize("gamma", [(0.0, 0.0), (0.8, 0.0), (-0.5, 0.6)])
def test_gamma_is_found_whatever_the_events_do(gamma):
    bins, x, moments, unit = simulated(np.array(gamma))
    cohort = x[:1024]
    weights, short = np.full(1024, 1 / 1024), np.ones(1024)
    own = Leaving((bins,), cohort, weights, np.zeros(1024, dtype=np.int64), unit, short)
    assert own.gamma(moments, 0.005) == pytest.approx(gamma, abs=0.12)


def test_gamma_is_found_from_moments_of_shortened_vectors():
    """Of those who are far out less is left of x u, and whoever is far out leaves soonest."""
    gamma = np.array([0.8, 0.0])
    bins, x, moments, unit = simulated(gamma)
    squares = np.sum(x**2, axis=1) + 1.0
    short = np.minimum(1.0, 2.1 / squares)
    weights, stratum = np.full(1024, 1 / 1024), np.zeros(1024, dtype=np.int64)
    parts = [np.ones(1024), short[:1024]]
    plain, own = (Leaving((bins,), x[:1024], weights, stratum, unit, part) for part in parts)
    found, _ = own._moments(gamma)
    whole, _ = plain._moments(gamma)
    assert whole == pytest.approx(moments, abs=0.05)
    assert found[0] < 0.8 * whole[0]
    assert own.gamma(found, 0.005) == pytest.approx(gamma, abs=0.02)
    assert plain.gamma(found, 0.005)[0] < 0.65  # were shortening not followed


def test_as_many_stay_as_were_released():
    """Those who leave early are made up for by those who stay: the mean is that of all alike."""
    bins, x, _, unit = simulated(np.zeros(2))
    weights = np.random.default_rng(6).random(512)
    stratum = np.zeros(512, dtype=np.int64)
    own = Leaving((bins,), x[:512], weights, stratum, unit, np.ones(512))
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
    own = Leaving((bins, nobody), x[:512], np.ones(512), stratum, unit, np.ones(512))
    found = own.remaining(np.array([1.0, 0.0]))
    assert found[256:] == pytest.approx(1.0)
    assert np.ptp(found[:256]) > 0.5

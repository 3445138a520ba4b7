"""The cohort and what is made of noisy counts: who the people might be."""

import numpy as np
import pytest
from scipy.stats import qmc

from discreet.core.bins import Marginal, Stretches, marginals_of
from discreet.core.cells import block_marginals
from discreet.core.released import Released
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.estimator.numerical import MEMBERS
from discreet.estimator.population import (
    before_cuts,
    drawn_from,
    latent_columns,
    shares_of,
    shrunk,
    stratum_sizes,
)
from discreet.estimator.sobol import sobol_points
from discreet.estimator.tails import all_within, narrowed, nearest_counts, occupied
from discreet.estimator.transcript import Transcript
from discreet.people.episodes import Episodes
from tests.estimator.pictures import transcript_of
from tests.mechanisms.cases import mixed_schema

DESIGN = Design(mixed_schema(), NaturalSpline(3))
WIDTH = len(DESIGN.covariates.names)


def shares_from(marginals, counts, persons, deviation, ends=()):
    """The shares of released counts alone."""
    intervals = DESIGN.intervals
    exits = Released(np.array([[[persons / 2.0], [persons / 2.0]]]), 1.0)
    facts = DESIGN, get_link("logit"), persons, 1, np.array([0, intervals]), exits
    counted = Released(np.asarray(counts), deviation)
    return shares_of(Transcript(*facts, stretches=ends, marginals=marginals, counts=counted))


@pytest.mark.parametrize("width", [1, 2, 9, 64, 65])
def test_points_are_those_of_scipy(width):
    for size in (1, 2, 512):
        with_scipy = qmc.Sobol(width, rng=20_260).random(size)
        np.testing.assert_array_equal(sobol_points(width, size, 20_260), with_scipy)


def even_shares():
    marginals = marginals_of(DESIGN, 4)
    counts = np.concatenate([np.full(item.bins, 1000.0 / item.bins) for item in marginals])
    return shares_from(marginals, counts, 1000, 0.0)


# -- counts ------------------------------------------------------------------------------------------


def test_nearest_counts_are_a_projection_on_the_simplex():
    random = np.random.default_rng(1)
    for _ in range(50):
        noisy, total = 100 * random.normal(size=7), 10.0 ** random.uniform(0, 3)
        found = nearest_counts(noisy, total)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(total)
        for _ in range(20):
            other = total * random.dirichlet(np.ones(7))
            assert np.sum((noisy - found) ** 2) <= np.sum((noisy - other) ** 2) + 1e-6


def test_the_occupied_part_of_a_range_is_found():
    """A spike, a spike with a tail that stands out, people everywhere, and nothing but noise."""
    spike = np.where(np.arange(64) == 20, 1000.0, 0.0)
    assert occupied(spike, 10.0) == (20, 21)
    assert occupied(spike + np.where(np.arange(64) == 50, 100.0, 0.0), 10.0) == (20, 51)
    assert occupied(np.full(64, 100.0), 10.0) == (0, 64)
    assert occupied(np.zeros(64), 10.0) == (0, 64)
    noisy = spike + 10.0 * np.random.default_rng(14).normal(size=64)
    assert occupied(noisy, 10.0) == (20, 21)


def test_far_away_more_has_to_stand_out_than_nearby():
    spike = np.where(np.arange(64) == 20, 1000.0, 0.0)
    near, far = (spike + np.where(np.arange(64) == place, 40.0, 0.0) for place in (21, 50))
    assert occupied(near, 10.0) == (20, 22)
    assert occupied(far, 10.0) == (20, 22)  # once as far as those who are surely there


def test_bins_are_added_until_they_hold_all_but_a_few():
    counts = np.zeros(64)
    counts[30:33], counts[33] = 300.0, 60.0
    assert occupied(counts, 30.0) == (30, 33)
    assert occupied(counts, 1.0, 960.0) == (30, 34)


def test_all_may_be_in_a_bin_or_two():
    counts = np.array([3.0, -4.0, 500.0, 480.0, 2.0, -1.0])
    assert all_within(counts, 5.0, 2)
    assert not all_within(counts, 5.0, 1)


def test_noise_far_away_is_never_taken_for_people():
    """Over 2% of such draws had a spread of up to 13 times the people's: no step came through."""
    marginals, noise = marginals_of(DESIGN, 64), 50.0
    people = np.exp(-0.5 * ((np.arange(64) - 31.5) / 0.7) ** 2)
    people *= 10_000.0 / people.sum()
    truth, found = 0.7 * 2.0 * DESIGN.covariates.ranges[0] / 64, []
    for seed in range(200):
        random = np.random.default_rng(seed)
        finer = narrowed(marginals, people + noise * random.normal(size=64), noise, 64)
        edges = np.array(finer[0].edges)
        shown = np.diff(np.interp(edges, marginals[0].edges, np.append(0.0, np.cumsum(people))))
        noisy = shown + noise * random.normal(size=len(shown))
        counts = np.concatenate([noisy, *(np.full(item.bins, 1000.0) for item in finer[1:])])
        found.append(shares_from(finer, counts, 10_000, noise)[0].spread[0] / truth)
    assert min(found) > 0.9
    assert max(found) < 2.5


def spread_with_far_counts(far):
    """Of people in eight narrow bins with these noisy counts in wide ones beyond; the noise is 25."""
    reach = float(DESIGN.covariates.ranges[0])
    edges = (*np.linspace(-1.0, -0.7, 9), -0.4, 0.2, 1.0)
    age = Marginal((0,), 11, tuple(reach * edge for edge in edges))
    marginals = (age, *marginals_of(DESIGN, 4)[1:])
    inner = [400.0, 1500.0, 2500.0, 1500.0, 1000.0, 600.0, 300.0, 200.0]
    counts = np.concatenate([inner, far, *(np.full(item.bins, 1000.0) for item in marginals[1:])])
    return float(shares_from(marginals, counts, 8000, 25.0)[0].spread[0])


def test_a_tail_goes_on_where_it_surely_begins_and_a_group_apart_is_kept():
    """Far away noise hides people: neither none nor all that was counted."""
    none, some = (spread_with_far_counts([200.0, count, 0.0]) for count in (-1000.0, 0.0))
    more = spread_with_far_counts([200.0, 40.0, 0.0])
    assert 1.02 * none < some < more < 2.0 * none
    nothing, noise = (spread_with_far_counts([0.0, count, 0.0]) for count in (0.0, 60.0))
    assert noise < 1.05 * nothing
    assert spread_with_far_counts([0.0, 0.0, 300.0]) > 2.0 * nothing


def test_bins_grow_outside_the_occupied_part_and_reach_the_public_ends():
    marginal = Marginal((0,), 64, tuple(np.linspace(-1.0, 1.0, 65)))
    counts = np.where(np.arange(64) == 40, 1000.0, 0.0)
    (finer,) = narrowed([marginal], counts, 1.0, 16)
    edges = np.array(finer.edges)
    assert (edges[0], edges[-1]) == (-1.0, 1.0)
    assert np.all(np.diff(edges) > 0)
    assert finer.bins == len(edges) - 1
    inside = np.diff(edges)[(edges[:-1] >= 0.2185) & (edges[1:] <= 0.3126)]
    assert len(inside) == 16
    assert np.allclose(inside, 3 / 32 / 16)


@pytest.mark.parametrize("bins", [4, 16, 32, 64])
@pytest.mark.parametrize("empty", [(0, 2), (2, 0), (1, 3), (3, 3), (0, 5)])
def test_what_is_left_at_an_end_is_not_narrower_than_the_fine_bins(bins, empty):
    """A sliver there was taken for the only fine bin, and a covariate's variance was doubled."""
    marginal = Marginal((0,), 64, tuple(np.linspace(-1.0, 1.0, 65)))
    counts = np.full(64, 100.0)
    counts[: empty[0]] = counts[64 - empty[1] :] = 0.0
    (finer,) = narrowed([marginal], counts, 1.0, bins)
    widths = np.diff(finer.edges)
    assert np.count_nonzero(widths <= 1.5 * widths.min()) == bins


def test_bins_by_division_are_bins_by_search():
    marginal = Marginal((0,), 64, tuple(np.linspace(-1.0, 1.0, 65)))
    counts = np.where(np.arange(64) == 40, 1000.0, 0.0)
    (finer,) = narrowed([marginal], counts, 1.0, 16)
    values = np.random.default_rng(18).uniform(-1, 1, 2000)
    values = np.concatenate([values, values * 0.05 + 0.26, [-1.0, 1.0]])
    stay = np.ones(len(values), np.int32)
    block = Episodes(values[:, None], 0 * stay, stay, stay < 0, None, len(values))
    for item in (marginal, finer):
        (found,) = block_marginals(block, (item,), Stretches((0, 20)))
        assert found.sum() == len(values)
        assert np.abs(found - np.histogram(values, item.edges)[0]).sum() <= 2


def test_a_stratum_that_no_one_has_is_as_large_as_noise_may_hide():
    transcript = transcript_of(strata=3)
    exits = transcript.exits.values.copy()
    exits[2] = -1.0
    sizes = stratum_sizes(transcript.having(exits=Released(exits, 2.0)))
    assert sizes[1] / sizes[0] == pytest.approx(1.0, rel=0.05)
    assert 0 < sizes[2] < 0.05 * sizes[0]


# -- cohort ------------------------------------------------------------------------------------------


def test_a_correlation_that_stands_out_is_kept_and_those_that_are_noise_are_not():
    matrix = np.eye(4)
    matrix[0, 1] = matrix[1, 0] = 0.8
    matrix[2, 3] = matrix[3, 2] = 0.05
    found = shrunk(matrix, 0.1)
    assert found[0, 1] > 0.75
    assert abs(found[2, 3]) < 1e-9
    noisy = np.eye(6) + np.tril(np.full((6, 6), 0.9), -1) + np.tril(np.full((6, 6), 0.9), -1).T
    noisy[0, 1:] = noisy[1:, 0] = -0.9  # no correlations are these
    assert np.linalg.eigvalsh(shrunk(noisy, 0.1)).min() > 0.0


def test_few_people_of_a_rare_level_stand_for_all_of_them():
    """3 in 1,000 would be one of a cohort of 256, or none: a slope off by a third, or gone."""
    marginals = marginals_of(DESIGN, 4)
    counts = [
        np.full(item.bins, 1e6 / item.bins)
        if item.numeric
        else 1e6 * np.array([0.997, *np.full(item.bins - 1, 0.003 / (item.bins - 1))])
        for item in marginals
    ]
    shares = shares_from(marginals, np.concatenate(counts), 1_000_000, 0.0)
    leads, weights = drawn_from(shares, latent_columns(np.eye(WIDTH), MEMBERS))
    assert weights.sum() == pytest.approx(1.0)
    rare = [item for item in shares if not item.marginal.numeric]
    assert rare
    for item in rare:
        for centre, share in zip(item.centres[1:], item.overall[1:], strict=True):
            member = np.all(leads[:, 0, list(item.marginal.columns)] == centre, axis=1)
            assert member.sum() >= 4
            assert weights[member, 0].sum() == pytest.approx(share, rel=1e-3)


def test_levels_of_the_cohort_go_together_as_far_as_was_released():
    """Cut into two levels, normal columns lose a third of their correlation and more."""
    shares = even_shares()
    halves = [item.marginal.columns[0] for item in shares if len(item.marginal.columns) == 1]
    assert len(halves) > 1
    wanted = np.eye(WIDTH)
    wanted[np.ix_(halves, halves)] = 0.6
    np.fill_diagonal(wanted, 1.0)
    spreads = np.concatenate([item.spread for item in shares])
    latent = before_cuts(shares, wanted, spreads, np.ones_like, MEMBERS)
    leads, weights = drawn_from(shares, latent_columns(latent, MEMBERS))
    found = np.cov(leads[:, 0].T, aweights=weights[:, 0])
    scale = np.sqrt(np.diag(found))
    gap = found / np.outer(scale, scale) - wanted
    assert np.abs(gap[np.ix_(halves, halves)]).max() < 0.05


def test_levels_of_one_category_are_left_alone():
    """They exclude each other as their shares say."""
    shares, wanted = even_shares(), np.eye(WIDTH)
    (levels,) = [item.marginal for item in shares if len(item.marginal.columns) > 1]
    own = np.ix_(levels.columns, levels.columns)
    wanted[own] += -0.3 * (1.0 - np.eye(len(levels.columns)))
    spreads = np.concatenate([item.spread for item in shares])
    latent = before_cuts(shares, wanted, spreads, np.ones_like, MEMBERS)
    assert np.array_equal(latent[own], wanted[own])


def test_the_cohort_changes_as_the_people_do():
    """A two-level covariate that no one has at first and six of ten have in the end."""
    marginals, rows = marginals_of(DESIGN, 4), []
    for item in marginals:
        counts = np.full((4, item.bins), 4000.0 / item.bins)
        if item.bins == 2:
            late = np.linspace(0.0, 0.6, 4)
            counts = 4000.0 * np.column_stack([1 - late, late])
        rows.append(counts.ravel())
    shares = shares_from(marginals, np.concatenate(rows), 4000, 1.0, (0, 5, 10, 15, 20))
    leads, weights = drawn_from(shares, latent_columns(np.eye(WIDTH), MEMBERS))
    treated = leads[:, :, -1] > 0
    found = (treated * weights).sum(axis=0)
    assert np.allclose(found, shares[-1].shares[:, 1], atol=0.02)
    assert np.allclose(found, [0.0, 0.2, 0.4, 0.6], atol=0.03)
    assert not np.any(treated[:, :-1] & ~treated[:, 1:])  # who is treated stays so
    assert np.allclose(weights.sum(axis=0), 1.0)

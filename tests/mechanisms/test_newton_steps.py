"""What private Newton makes of its releases: counts, the cohort, the steps fitted together."""

import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.core.bins import (
    DIAGONAL,
    OFF_DIAGONAL,
    UNIT,
    Marginal,
    Stretches,
    exit_edges,
    marginals_of,
    time_edges,
)
from discreet.core.cells import block_marginals
from discreet.core.question import moment_limit
from discreet.core.released import Released
from discreet.design.baseline import NaturalSpline, PiecewiseConstant
from discreet.design.design import Design
from discreet.design.link import Logit
from discreet.design.schema import Schema
from discreet.estimator.tails import nearest_counts
from discreet.mechanisms.newton.bound import FLOOR, Cohort, sloped
from discreet.mechanisms.newton.cohort import (
    COHORT,
    Profile,
    baseline_start,
    before_cuts,
    correlation,
    draw_cohort,
    narrowed,
    occupied,
    released_moments,
    released_shares,
)
from discreet.mechanisms.newton.combine import combine, lacking_curvature
from discreet.mechanisms.newton.equation import Setting
from discreet.mechanisms.newton.foreseen import CohortScores
from discreet.mechanisms.newton.picture import Picture, power, spreads_of
from discreet.mechanisms.newton.pin import Pinned
from discreet.mechanisms.newton.releases import Information, Releases
from discreet.mechanisms.newton.shape import UNSEEN, Shape, not_chance
from discreet.mechanisms.newton.split import split
from discreet.mechanisms.newton.spread import unreached, unrelated, widened
from discreet.mechanisms.newton.steps import CAUCHY, MISFIT, SLOPE, Prior, Step, lifted
from discreet.mechanisms.newton.widths import moments_of
from discreet.people.episodes import Episodes
from tests.mechanisms.cases import mixed_schema


def test_nearest_counts_are_a_projection_on_the_simplex():
    random = np.random.default_rng(11)
    for _ in range(50):
        noisy = random.normal(size=9) * 10
        nearest = nearest_counts(noisy, 20.0)
        assert nearest.min() >= 0
        assert nearest.sum() == pytest.approx(20.0)
        others = random.dirichlet(np.ones(9), 200) * 20.0
        assert np.sum((nearest - noisy) ** 2) <= np.sum((others - noisy) ** 2, axis=1).min() + 1e-9


def test_noisy_correlations_are_positive_definite_and_shrink():
    random = np.random.default_rng(12)
    for deviation in (0.0, 1e12, 1e16):
        matrix = correlation(
            *released_moments(random.normal(size=10) * deviation, 1000, deviation, 4)
        )
        assert np.linalg.eigvalsh(matrix).min() > 0
    assert np.allclose(np.diag(matrix), np.diag(matrix)[0], rtol=0.5)


def test_a_correlation_that_stands_out_is_kept_and_those_that_are_noise_are_not():
    """Two columns that nearly repeat each other must not look apart because of the others."""
    error, size = 0.14, 9
    noise = error * DIAGONAL / OFF_DIAGONAL
    random = np.random.default_rng(3)
    kept, others = [], []
    for _ in range(50):
        released = np.tril(noise * random.normal(size=(size, size)), -1)
        released[1, 0] += 0.8
        found = correlation(released + released.T + np.eye(size), error)
        kept.append(found[1, 0])
        others.append(np.abs(found[np.tril_indices(size, -1)][1:]).mean())
    assert 0.68 < np.mean(kept) < 0.8  # one factor for all would make it 0.6
    assert np.mean(others) < 0.6 * noise * math.sqrt(2 / math.pi)


def test_a_life_table_of_noise_leaves_the_start_near_a_constant_hazard():
    """Counts with noise of 300 around 400 events in 20,000: no start beyond what the prior allows."""
    design = Design(mixed_schema(), NaturalSpline(3))
    edges, precision = time_edges(20, 5), np.eye(3) / 4.0
    truth = np.repeat([0.0, 80.0], 5)
    truth[4] = 19_600.0
    for seed in range(40):
        noisy = truth + 300.0 * np.random.default_rng(seed).normal(size=10)
        profile = Profile.make(noisy, edges, 20_000, 300.0)
        start = baseline_start(design, Logit(), profile, precision)
        assert np.ptp(design.basis @ start) < 6.0  # twice that and more, were the table believed
        assert np.abs(design.basis @ start - math.log(400 / 390_000)).max() < 4.0
    exact = Profile.make(truth, edges, 20_000, 0.0)
    assert exact.certainty == 1.0


def run_of_steps(slope, *, deviation=0.01, seed=13):
    """Five steps to the root of a linear score of this slope, were the slope believed to be 1."""
    random = np.random.default_rng(seed)
    root, size = np.array([3.0, -2.0, 1.0]), 3
    prior = Prior(np.zeros(size), 1e-9 * np.eye(size))
    point, released = np.zeros(size), []
    for _ in range(5):
        score = slope @ (root - point) + deviation * random.normal(size=size)

        def linear(estimate, start=point, found=score):
            # expected at `start` were the estimate the truth: estimate - start
            target = estimate + found - (estimate - start)
            return Step(start, np.eye(size), np.eye(size), np.eye(size), deviation, target)

        released.append(linear)
        point = combine(released, point, prior, events=1e6)
    return point, root, released


@pytest.mark.parametrize("factor", [1.0, 0.8, 3.0, 8.0])
def test_a_slope_that_nobody_expected_does_not_run_away(factor):
    along = np.array([2.0, -1.0, 2.0]) / 3.0
    slope = np.eye(3) + (factor - 1.0) * np.outer(along, along)
    point, root, released = run_of_steps(slope)
    assert np.linalg.norm(point - root) < 0.2
    lacking = lacking_curvature([item(point) for item in released], point)
    assert np.linalg.eigvalsh(lacking).min() > -1e-9
    assert along @ lacking @ along == pytest.approx(max(factor - 1.0, 0.0), abs=0.3)


def test_a_way_along_one_direction_is_doubted_along_it_alone():
    """Of 20 standard errors along the first direction the slope may be off by a part of these."""
    away, other = np.array([20.0, 0.0, 0.0]), 0.7 * np.eye(3)
    step = Step(-away, np.eye(3), other, np.eye(3), 1.0, np.zeros(3), doubt=0.5)
    error = np.diag(step.error(np.zeros(3)))
    apart = 1.5 + MISFIT**2 * 400.0 / 3.0
    assert error == pytest.approx([apart + (SLOPE * 0.7 * 20.0) ** 2, apart, apart])
    assert np.diag(step.error(-away)) == pytest.approx([1.5, 1.5, 1.5])


def test_a_first_step_from_far_away_does_not_hold_the_estimate_back():
    """A slope of 0.7 of the expected one: the first step's target is 30% of the way short."""
    short, prior = np.array([0.7, 1.0, 1.0]), Prior(np.zeros(3), 1e-9 * np.eye(3))
    root, points = np.zeros(3), (np.array([-20.0, 0.0, 0.0]), np.array([-2.0, 0.0, 0.0]))
    steps = [
        Step(point, np.eye(3), np.eye(3), np.eye(3), deviation, point + short * (root - point))
        for point, deviation in zip(points, (2.0, 1.5), strict=True)
    ]
    found = combine([lambda _, one=one: one for one in steps], points[1], prior, events=1e6)
    assert abs(found[0]) < 1.3  # 1.8 and more, were what is doubted shared by all directions


def test_rounds_that_would_leap_back_and_forth_come_down():
    """S(f) = arctan f: from -5 Newton's rounds go to 31, -1,500, 3,400,000 ..."""

    def linear(estimate):
        slope = 1.0 / (1.0 + estimate[0] ** 2)
        target = estimate - np.arctan(estimate) / slope
        return Step(np.zeros(1), np.eye(1), slope * np.eye(1), np.eye(1), 0.1, target)

    # so weak that it does not bring back what leapt away
    prior = Prior(np.zeros(1), 1e-40 * np.eye(1))
    assert abs(combine([linear], np.array([-5.0]), prior, events=1e9)[0]) < 0.5


def test_an_older_step_that_is_contradicted_does_not_lead_away():
    """The picture has learned the information since: of far points it may know less than before."""
    prior, size = Prior(np.zeros(3), 1e-6 * np.eye(3)), np.eye(3)
    found = []
    for older in (False, True):
        first = Step(np.full(3, 2.0), size, size, size, 0.5, np.full(3, 8.0), older=older)
        last = Step(np.zeros(3), size, size, size, 0.5, np.full(3, 0.3), older=True)
        steps = [lambda _, one=one: one for one in (first, last)]
        found.append(combine(steps, np.zeros(3), prior, events=1e6))
    assert np.abs(found[0] - 0.3).max() > 1.0
    assert np.abs(found[1] - 0.3).max() < 0.1


def test_few_people_of_a_rare_level_stand_for_all_of_them():
    """3 in 1,000 would be one of a cohort of 256, or none: a slope off by a third, or gone."""
    design = Design(mixed_schema(), NaturalSpline(3))
    marginals = marginals_of(design, 4)
    counts = [
        np.array([0.997, *np.full(item.bins - 1, 0.003 / (item.bins - 1))]) * 1e6
        if not item.numeric
        else np.full(item.bins, 1e6 / item.bins)
        for item in marginals
    ]
    shares = released_shares(design, marginals, np.concatenate(counts), 1_000_000, 0.0)
    width = len(design.covariates.names)
    cohort, weights = draw_cohort(shares, np.eye(width), COHORT)
    assert weights.sum() == pytest.approx(1.0)
    rare = [item for item in shares if not item.marginal.numeric]
    assert rare
    for item in rare:
        for centre, share in zip(item.centres[1:], item.overall[1:], strict=True):
            member = np.all(cohort[:, 0, list(item.marginal.columns)] == centre, axis=1)
            assert member.sum() >= 4
            assert weights[member, 0].sum() == pytest.approx(share, rel=1e-3)


def test_without_rare_levels_everybody_of_the_cohort_counts_the_same():
    design = Design(mixed_schema(), NaturalSpline(3))
    marginals = marginals_of(design, 4)
    even = np.concatenate([np.full(item.bins, 100.0) for item in marginals])
    shares = released_shares(design, marginals, even, 1000, 0.0)
    weights = draw_cohort(shares, np.eye(len(design.covariates.names)), COHORT)[1]
    assert np.all(weights == 1.0 / COHORT)


def test_levels_of_the_cohort_go_together_as_far_as_was_released():
    """Cut into two levels, normal columns lose a third of their correlation and more."""
    design = Design(mixed_schema(), NaturalSpline(3))
    marginals = marginals_of(design, 4)
    even = np.concatenate([np.full(item.bins, 100.0) for item in marginals])
    shares = released_shares(design, marginals, even, 1000, 0.0)
    width = len(design.covariates.names)
    halves = [item.marginal.columns[0] for item in shares if len(item.marginal.columns) == 1]
    wanted = np.eye(width)
    wanted[np.ix_(halves, halves)] = 0.6
    np.fill_diagonal(wanted, 1.0)
    latent, _ = before_cuts(shares, wanted, spreads_of(shares), np.ones_like)
    cohort, weights = draw_cohort(shares, latent, COHORT)
    found = np.cov(cohort[:, 0].T, aweights=weights[:, 0])
    scale = np.sqrt(np.diag(found))
    gap = found / np.outer(scale, scale) - wanted
    assert len(halves) > 1
    assert np.abs(gap[np.ix_(halves, halves)]).max() < 0.05


def test_levels_of_one_category_are_left_alone():
    """They exclude each other as their shares say."""
    design = Design(mixed_schema(), NaturalSpline(3))
    (levels,) = [item for item in marginals_of(design, 4) if len(item.columns) > 1]
    alone = (replace(levels, columns=tuple(range(len(levels.columns)))),)
    shares = [
        replace(item, centres=np.vstack([np.zeros(levels.bins - 1), np.eye(levels.bins - 1)]))
        for item in released_shares(design, (levels,), np.full(levels.bins, 100.0), 1000, 0.0)
    ]
    shares = [replace(item, marginal=alone[0]) for item in shares]
    wanted = np.full((levels.bins - 1, levels.bins - 1), -0.3)
    np.fill_diagonal(wanted, 1.0)
    assert np.array_equal(before_cuts(shares, wanted, spreads_of(shares), np.ones_like)[0], wanted)


def two_numbers(low, high):
    time = {"duration": "t", "event": "e", "horizon": 1.0, "intervals": 40}
    numbers = [{"name": name, "low": low, "high": high} for name in ("a", "b")]
    return Design(Schema.from_mapping({"time": time, "covariate": numbers}), NaturalSpline(2))


def test_shortened_moments_show_how_columns_go_together_and_how_wide_they_are():
    """Most people are shortened: moments are less than variances, as much less as a cohort's are."""
    random, design, people = np.random.default_rng(5), two_numbers(-6.0, 10.0), 20_000
    normal = random.multivariate_normal(np.zeros(2), [[1.0, 0.7], [0.7, 1.0]], people)
    x = np.column_stack([normal[:, 0], np.exp(0.5 * normal[:, 1])])  # one with a longer tail
    x = (np.clip(x, -6.0, 10.0) - design.covariates.centre) * design.covariates.scale
    marginals = marginals_of(design, 64)
    counts = [np.histogram(x[:, k], item.edges)[0] for k, item in enumerate(marginals)]
    shares = released_shares(design, marginals, np.concatenate(counts) * 1.0, people, 0.1)
    spreads = spreads_of(shares)
    v = (x - x.mean(axis=0)) / spreads
    limit = moment_limit(2) / UNIT**2
    v *= np.sqrt(np.minimum(1.0, limit / np.sum(v**2, axis=1)))[:, None]
    matrix, places = v.T @ v, np.tril_indices(2)
    half = np.where(places[0] == places[1], 1.0, OFF_DIAGONAL / DIAGONAL) * matrix[places]
    first = Releases(people, exit_edges(40, 5), Released(np.ones(20), 1.0), Stretches((0, 40)))
    releases = first.having(marginals=marginals, moments=Released(half, 1e-8))
    found = moments_of(design, releases, shares, spreads)
    assert np.diag(matrix).max() < 0.75 * people
    assert np.diag(found) == pytest.approx([1.0, 1.0], abs=0.06)
    scale = np.sqrt(np.diag(found))
    true = np.corrcoef(x.T)[1, 0]
    assert found[1, 0] / np.prod(scale) == pytest.approx(true, abs=0.05)


def test_the_prior_of_a_baseline_is_where_the_people_are():
    """Bounds that are generous on one side move the middle of the range, hardly what is believed."""
    found = []
    for high, known in ((10.0, True), (1000.0, True), (1000.0, False)):
        design = two_numbers(0.0, high)
        edges = exit_edges(40, 5)
        counts = np.repeat([100.0, 20.0], len(edges) - 1)
        profile = Profile.make(counts, edges, 1200, 1.0)
        mean = (np.array([2.0, 3.0]) - design.covariates.centre) * design.covariates.scale
        setting = Setting(design, Logit(), split(1, 3, pure=False))
        spreads = np.full(2, 0.8) * design.covariates.scale
        prior = setting.prior(profile, spreads, mean=mean if known else None)
        at_people = np.concatenate([design.constant / (design.constant @ design.constant), mean])
        covariance = np.linalg.inv(prior.precision)
        effect = covariance[2, 2] * design.covariates.scale[0] ** 2
        found.append((at_people @ covariance @ at_people, effect))
    (level, effect), (generous, same), (far, _) = found
    assert generous < 3.0 * level
    assert far > 1000.0 * level
    assert effect == pytest.approx(same, rel=1e-6)


def test_small_effects_are_held_back_and_large_ones_let_go():
    """The slope of the prior around f is that of a normal and a Cauchy density."""
    prior = Prior(np.zeros(3), np.diag([1.0, 4.0, 4.0]), effects=np.array([0.0, 4.0, 4.0]))
    f = np.array([0.3, 1e-3, 20.0])
    found = np.diag(prior.around(f).precision) * f

    def density(x):
        cauchy = np.log(CAUCHY**2 + prior.effects[1:] * x[1:] ** 2).sum()
        return x @ prior.precision @ x / 2.0 + cauchy

    slopes = [(density(f + h) - density(f - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
    assert found == pytest.approx(slopes, rel=1e-4)
    assert found[1] / f[1] > 8.0 * 4.0
    assert found[2] / f[2] == pytest.approx(4.0, rel=1e-2)


def test_a_life_table_that_is_noise_leaves_the_model_in_doubt():
    """Where it could not show that the model is wrong, that is doubted as far as it is noise."""
    design, edges = two_numbers(0.0, 10.0), exit_edges(40, 5)
    counts, doubts = np.repeat([100.0, 20.0], len(edges) - 1), []
    for deviation in (0.01, 20.0, 2000.0):
        profile = Profile.make(counts, edges, 1200, deviation)
        four = np.zeros((4, 1, 2)), np.full((4, 1), 300.0), np.array([0, 40])
        shape = Shape(design, Logit(), Cohort(*four, profile.present, 200.0), (profile,))
        point = np.append(baseline_start(design, Logit(), profile, np.eye(2)), [0.0, 0.0])
        doubts.append(shape.at(point).wrong - not_chance(shape.contradiction(point)))
    assert doubts[0] == pytest.approx(0.0, abs=1e-3)
    assert 0.1 < doubts[1] < doubts[2] < UNSEEN


def test_a_slope_that_is_not_lost_stays_as_it_is():
    """Slopes enter standard errors: those of 1 must be 1."""
    turn = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))[0]
    slope = (turn * np.array([1.0, 0.4, 1e-5])) @ turn.T
    assert np.linalg.eigvalsh(sloped(slope)) == pytest.approx([FLOOR, 0.4, 1.0])
    assert sloped(np.eye(3)) == pytest.approx(np.eye(3))


@pytest.mark.parametrize("pure", [True, False])
def test_the_bound_suits_the_noise_that_steps_have_together(pure):
    """Laplace noise goes with 1/share, so shares that are added up would promise too little."""
    design, budget = Design(mixed_schema(), NaturalSpline(3)), split(1, 3, pure=pure)
    setting = Setting(design, Logit(), budget)
    deviations = [setting._deviation(share) for share in budget.steps[1:]]
    together = sum(one**-2.0 for one in deviations) ** -0.5
    assert setting._unit_noise(budget.steps[-1]) == pytest.approx(together)
    assert setting._unit_noise(budget.steps[0]) == setting._deviation(budget.steps[0])


def test_what_is_not_known_of_relations_is_allowed_for():
    exits, stretches = Released(np.zeros(20), 1.0), Stretches((0, 10))
    releases = Releases(1000, time_edges(10, 10), exits, stretches)
    noises = (0.0, 1.0, 1e2, 1e8)
    known = [replace(releases, moments=Released(np.zeros(10), noise)) for noise in noises]
    found = [unrelated(one, 4) for one in known]
    assert found[0] == 0.0
    assert found == sorted(found)
    assert found[-1] == pytest.approx(1.0)
    assert unrelated(releases, 4) == 1.0
    assert unrelated(releases, 1) == 0.0


def test_noise_is_not_taken_for_a_slope():
    for seed in range(20):
        point, _, released = run_of_steps(np.eye(3), deviation=2.0, seed=seed)
        lacking = lacking_curvature([item(point) for item in released], point)
        assert np.trace(lacking) < 3.0


def test_the_occupied_part_of_a_range_is_found():
    """A spike, a spike with a tail that stands out, everybody everywhere, and nothing but noise."""
    empty = np.zeros(64)
    spike = np.where(np.arange(64) == 20, 1000.0, 0.0)
    assert occupied(spike, 10.0) == (20, 21)
    assert occupied(spike + np.where(np.arange(64) == 50, 100.0, 0.0), 10.0) == (20, 51)
    assert occupied(np.full(64, 100.0), 10.0) == (0, 64)
    assert occupied(empty, 10.0) == (0, 64)
    noisy = spike + 10.0 * np.random.default_rng(14).normal(size=64)
    assert occupied(noisy, 10.0) == (20, 21)


def test_far_from_everybody_more_has_to_stand_out_than_nearby():
    spike = np.where(np.arange(64) == 20, 1000.0, 0.0)
    near, far = (spike + np.where(np.arange(64) == place, 40.0, 0.0) for place in (21, 50))
    assert occupied(near, 10.0) == (20, 22)
    assert occupied(far, 10.0) == (20, 22)  # once as far as those who are surely there


def test_noise_far_away_is_never_taken_for_people():
    """Over 2% of such draws had a spread of up to 13 times the people's: no step came through."""
    design = Design(mixed_schema(), NaturalSpline(3))
    marginals, noise = marginals_of(design, 64), 50.0
    people = np.exp(-0.5 * ((np.arange(64) - 31.5) / 0.7) ** 2)
    people *= 10_000.0 / people.sum()
    truth, found = 0.7 * 2.0 * design.covariates.ranges[0] / 64, []
    for seed in range(300):
        random = np.random.default_rng(seed)
        finer = narrowed(marginals, people + noise * random.normal(size=64), noise, 64)
        edges = np.array(finer[0].edges)
        shown = np.diff(np.interp(edges, marginals[0].edges, np.append(0.0, np.cumsum(people))))
        noisy = shown + noise * random.normal(size=len(shown))
        rest = [np.full(item.bins, 1000.0) for item in finer[1:]]
        counts = np.concatenate([noisy, *rest])
        found.append(released_shares(design, finer, counts, 10_000, noise)[0].spread[0] / truth)
    assert min(found) > 0.9
    assert max(found) < 2.5


def spread_with_far_counts(far):
    """Of people in eight narrow bins with these noisy counts in wide ones beyond; the noise is 25."""
    design = Design(mixed_schema(), NaturalSpline(3))
    reach = float(design.covariates.ranges[0])
    edges = (*np.linspace(-1.0, -0.7, 9), -0.4, 0.2, 1.0)
    age = Marginal((0,), 11, tuple(reach * edge for edge in edges))
    marginals = (age, *marginals_of(design, 4)[1:])
    inner = [400.0, 1500.0, 2500.0, 1500.0, 1000.0, 600.0, 300.0, 200.0]
    rest = [np.full(item.bins, 1000.0) for item in marginals[1:]]
    counts = np.concatenate([inner, far, *rest])
    return float(released_shares(design, marginals, counts, 8000, 25.0)[0].spread[0])


def test_a_tail_that_surely_begins_is_expected_to_go_on():
    """Far away noise hides whoever is there: neither nobody nor all that was counted."""
    none, some = (spread_with_far_counts([200.0, count, 0.0]) for count in (-1000.0, 0.0))
    more = spread_with_far_counts([200.0, 40.0, 0.0])
    assert 1.02 * none < some < more < 2.0 * none


def test_where_no_tail_begins_none_goes_on():
    nothing, noise = (spread_with_far_counts([0.0, count, 0.0]) for count in (0.0, 60.0))
    assert noise < 1.05 * nothing


def test_a_group_apart_from_all_others_is_kept():
    assert spread_with_far_counts([0.0, 0.0, 300.0]) > 2.0 * spread_with_far_counts([0.0] * 3)


def test_bins_grow_outside_the_occupied_part_and_reach_the_public_ends():
    marginal = Marginal((0,), 64, tuple(np.linspace(-1.0, 1.0, 65)))
    counts = np.where(np.arange(64) == 40, 1000.0, 0.0)
    (finer,) = narrowed([marginal], counts, 1.0, 16)
    edges = np.array(finer.edges)
    assert edges[0] == -1.0
    assert edges[-1] == 1.0
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


def test_a_few_people_far_away_are_kept_and_noise_there_is_not():
    design = Design(mixed_schema(), NaturalSpline(3))
    counts = np.where(np.arange(64) == 32, 10_000.0, 0.0)
    finer = narrowed(marginals_of(design, 64), counts, 10.0, 16)
    age = finer[0]
    random = np.random.default_rng(15)
    inner = np.where(np.diff(age.edges) < 1.5 * np.diff(age.edges).min(), 10_000.0 / 16, 0.0)
    spreads = []
    for tail in (0.0, 1500.0):
        values = inner + 10.0 * random.normal(size=age.bins)
        values[-1] += tail
        noisy = np.concatenate([values, *(np.full(item.bins, 1000.0) for item in finer[1:])])
        spreads.append(released_shares(design, finer, noisy, 10_000, 10.0)[0].spread[0])
    assert spreads[0] < 0.03
    assert spreads[1] > 5 * spreads[0]


def changing_shares(late):
    """A two-level covariate that nobody has at first and a share `late` has in the end."""
    design = Design(mixed_schema(), NaturalSpline(3))
    marginals = marginals_of(design, 4)
    rows = []
    for item in marginals:
        counts = np.full((4, item.bins), 4000.0 / item.bins)
        if item.bins == 2:
            shares = np.linspace(0.0, late, 4)
            counts = 4000.0 * np.column_stack([1 - shares, shares])
        rows.append(counts.ravel())
    shares = released_shares(design, marginals, np.concatenate(rows), 4000, 1.0, 4)
    return shares, draw_cohort(shares, np.eye(len(design.covariates.names)), COHORT)


def test_correlations_of_columns_that_change_are_those_of_all_time():
    shares, _ = changing_shares(0.6)
    width = sum(len(item.marginal.columns) for item in shares)
    wanted = np.full((width, width), 0.3) + 0.7 * np.eye(width)
    apart, _ = before_cuts(shares, wanted, spreads_of(shares), np.ones_like)
    assert np.all(np.abs(apart) <= 1.0)
    assert np.all(np.diag(apart) == 1.0)
    for item in shares:
        own = np.ix_(item.marginal.columns, item.marginal.columns)
        apart[own] = 0.5
    assert np.min(apart) >= 0.3


def test_the_cohort_changes_as_the_people_do():
    shares, (cohort, weights) = changing_shares(0.6)
    treated = cohort[:, :, -1] > 0
    found = (treated * weights).sum(axis=0)
    assert np.allclose(found, shares[-1].shares[:, 1], atol=0.02)
    assert np.allclose(found, [0.0, 0.2, 0.4, 0.6], atol=0.03)
    assert not np.any(treated[:, :-1] & ~treated[:, 1:])  # who is treated stays so
    assert np.allclose(weights.sum(axis=0), 1.0)


def picture_of(truth, *, noise, edges, people=20_000, events=None):
    """A life table of people with a constant covariate-free hazard by interval, and its picture."""
    design = Design(plain_schema(), NaturalSpline(2))
    survival = np.concatenate([[1.0], np.cumprod(1.0 - truth)])
    died = people * survival[:-1] * truth
    by_bin = np.add.reduceat(died, edges[:-1])
    ends = np.zeros(len(by_bin))
    ends[-1] = people * survival[-1]
    counts = np.concatenate([ends, by_bin])
    releases = Releases(people, edges, Released(counts, noise), Stretches((0, len(truth))))
    return Picture.of(design, Logit(), releases, np.zeros(0))


def plain_schema():
    time = {"duration": "t", "event": "e", "horizon": 1.0, "intervals": 40}
    return Schema.from_mapping({"time": time, "covariate": []})


def test_the_life_table_shows_what_the_baseline_cannot_follow():
    """A peak in the first interval: delta finds it, and the full score is zero at the maximum."""
    edges = exit_edges(40, 10)
    hazard = np.full(40, 0.02)
    hazard[0] = 0.2
    picture = picture_of(hazard, noise=1.0, edges=edges)
    basis = picture.shape.design.basis
    f = np.linalg.lstsq(basis, np.full(40, np.log(0.02 / 0.98)), rcond=None)[0]
    shift = picture.shape.at(f).shift
    assert shift[0] == pytest.approx(np.log(0.25 / 0.0204), abs=0.4)
    assert np.abs(shift[8:]).max() < 0.2
    # where the table is followed there is nothing to correct
    smooth = picture_of(np.full(40, 0.02), noise=1.0, edges=edges)
    assert np.abs(smooth.shape.at(f).shift).max() < 0.05
    assert np.linalg.norm(smooth.shape.at(f).score) < 0.05 * np.linalg.norm(
        picture.shape.at(f).score
    )


def test_the_life_table_pins_the_baseline_at_the_maximum_of_the_likelihood():
    """The equations' root is the exact fit of the same table, wrong model or not."""
    edges = exit_edges(40, 40)
    hazard = np.linspace(0.05, 0.01, 40)
    hazard[0] = 0.2
    picture = picture_of(hazard, noise=0.1, edges=edges)
    profile, basis = picture.releases.profile, picture.shape.design.basis
    weak = Prior(np.array([-3.0, 0.0]), 1e-8 * np.eye(2))
    f = weak.centre
    for _ in range(30):
        f = Pinned(weak, picture.shape).around(f).centre
    expected = profile.at_risk / (1.0 + np.exp(-basis @ f))
    died = profile.events
    assert np.abs(basis.T @ (expected - died)).max() < 0.02 * died.sum()
    assert np.ptp(basis @ f) > 0.5


def test_pictures_differ_by_as_much_as_the_table_is_unknown():
    edges = exit_edges(40, 10)
    exact = picture_of(np.full(40, 0.02), noise=1e-9, edges=edges)
    noisy = picture_of(np.full(40, 0.02), noise=50.0, edges=edges)
    random = np.random.default_rng(16)
    quiet, loud = exact.again(random), noisy.again(random)
    assert np.allclose(quiet.people.present, exact.people.present, atol=1e-4)
    assert np.abs(loud.people.present - noisy.people.present).max() > 1e-3
    values = np.array([noisy.again(random).releases.exits.values for _ in range(200)])
    risk = np.cumsum(values.reshape(200, 2, -1).sum(axis=1), axis=1)
    assert 25.0 < values.std(axis=0).mean() < 75.0
    assert risk.std(axis=0).max() < 50.0 * np.sqrt(values.shape[1])  # everybody leaves in the end
    assert risk[:, -1] == pytest.approx(20_000.0)


def test_a_lens_gives_the_cohort_the_released_information():
    """Uncorrelated in the counts, correlated in the people: the information shows it."""
    design = Design(mixed_schema(), NaturalSpline(3))
    marginals = marginals_of(design, 4)
    even = np.concatenate([np.full(item.bins, 1000.0) for item in marginals])
    exits = np.concatenate([np.full(5, 600.0), np.full(5, 200.0)])
    releases = Releases(
        4000,
        time_edges(20, 5),
        Released(exits, 1.0),
        Stretches((0, 20)),
        marginals,
        Released(even, 1.0),
    )
    spreads = spreads_of(releases.shares(design))
    picture = Picture.of(design, Logit(), releases, spreads)
    point = np.zeros(8)
    point[0] = -3.0
    own = picture.shape.at(point).information
    frame = power(own, -0.5, 1e-9)
    random = np.random.default_rng(17).normal(size=(8, 8)) / 8
    wanted = np.eye(8) + random @ random.T * 3
    scores = CohortScores(design, Logit(), point, frame, 1.0)
    seen = picture.informed(Information(scores, wanted, 1e-6))
    plain = replace(scores, bound=np.inf)
    found = seen.people.seen(plain).expected(seen.people)[2]
    assert np.allclose(found, wanted, rtol=0.02, atol=0.02)
    # drowned in noise it is not believed
    drowned = picture.informed(Information(scores, wanted, 100.0))
    assert np.allclose(drowned.people.lens, np.eye(8), atol=1e-6)


def test_what_nobody_is_shown_to_reach_is_found():
    """A level that nobody has, and a baseline after everybody has left."""
    design = Design(mixed_schema(), PiecewiseConstant(5))
    marginals = marginals_of(design, 4)
    counts = [np.full(item.bins, 1000.0) for item in marginals]
    counts[1][2] = 3.0
    exits = np.concatenate([[3000.0, 0, 0, 0, 0], [1000.0, 0, 0, 0, 0]])
    made = [
        Releases(
            4000,
            time_edges(20, 5),
            Released(table, 10.0),
            Stretches((0, 20)),
            marginals,
            Released(np.concatenate(counts), 10.0),
        )
        for table in (exits, np.full(10, 400.0))
    ]
    found = []
    for releases in made:
        spreads = spreads_of(releases.shares(design))
        found.append(unreached(Picture.of(design, Logit(), releases, spreads), 10))
    column = marginals[1].columns[1]
    assert found[1].shape == (10, 1)
    user = design.to_user @ found[1][:, 0]
    assert np.flatnonzero(np.abs(user) > 1e-9).tolist() == [5 + column]  # not the baseline
    assert found[0].shape[1] == 5
    assert np.abs(found[0][:5, 1:]).max() > 0.0
    prior = Prior(np.zeros(10), 0.25 * np.eye(10))
    assert np.trace(widened(found[1], prior)) == pytest.approx(4.0)


def test_a_risk_set_that_noise_took_away_is_not_taken_for_empty():
    """With nobody left by the counts, a hazard of 1 would be read off a few late events."""
    edges = time_edges(20, 5)
    counts = np.array([900.0, 100.0, 0.0, 0.0, 0.0, 100.0, 10.0, 0.0, 0.0, 5.0])
    noisy = Profile.make(counts, edges, 1115, 20.0)
    assert (noisy.events / noisy.at_risk).max() < 0.2  # 900 of 1,115 were censored before
    assert np.all(np.diff(noisy.at_risk) <= 1e-9)
    exact = Profile.make(counts, edges, 1115, 0.0)
    assert exact.at_risk[-1] < 5.0


def test_bins_by_division_are_bins_by_search():
    marginal = Marginal((0,), 64, tuple(np.linspace(-1.0, 1.0, 65)))
    counts = np.where(np.arange(64) == 40, 1000.0, 0.0)
    (finer,) = narrowed([marginal], counts, 1.0, 16)
    values = np.random.default_rng(18).uniform(-1, 1, 2000)
    values = np.concatenate([values, values * 0.05 + 0.26, [-1.0, 1.0]])
    block = Episodes(
        values[:, None],
        np.zeros(len(values), np.int32),
        np.ones(len(values), np.int32),
        np.zeros(len(values), bool),
        None,
        len(values),
    )
    for item in (marginal, finer):
        (found,) = block_marginals(block, (item,), Stretches((0, 20)))
        assert found.sum() == len(values)
        assert np.abs(found - np.histogram(values, item.edges)[0]).sum() <= 2


@pytest.mark.parametrize(("peak", "wrong"), [(0.02, False), (0.2, True)])
def test_a_life_table_contradicts_a_baseline_that_cannot_follow_it(peak, wrong):
    edges, hazard = exit_edges(40, 10), np.full(40, 0.02)
    hazard[0] = peak
    picture = picture_of(hazard, noise=20.0, edges=edges)
    basis = picture.shape.design.basis
    f = np.linalg.lstsq(basis, np.full(40, math.log(0.02 / 0.98)), rcond=None)[0]
    chi = picture.shape.contradiction(f)
    assert (chi > 30.0) is wrong
    assert (chi < 1.0) is not wrong


def test_a_bias_that_all_steps_share_is_not_averaged_away():
    """Many steps with little noise know the score, and not the root: the bias stays."""
    own = np.zeros(3), np.eye(3), np.eye(3), np.eye(3), 1e-3, np.zeros(3)
    steps = [Step(*own, doubt=0.25, wrong=1.0, time=1) for _ in range(20)]
    weak = Prior(np.zeros(3), 1e-9 * np.eye(3))
    errors = [1e-6 * np.eye(3)] * 20
    total, lifts = lifted(steps, errors, weak)
    assert sum(lifts) == pytest.approx(np.eye(3), abs=1e-4)
    assert np.diag(steps[-1].bias) == pytest.approx([16.0 * 0.25, 0.25, 0.25])
    assert np.diag(total) == pytest.approx([16.0 * 0.25, 0.25, 0.25], rel=1e-3)
    trusted = [replace(step, wrong=0.0) for step in steps]
    assert np.diag(lifted(trusted, errors, weak)[0]).max() < 1e-6


def test_a_life_table_speaks_for_the_baseline_where_bounds_are_doubted():
    """The same score and the same equation for the baseline: the doubt moves the estimate to it."""
    own = np.zeros(2), np.eye(2), np.eye(2), np.eye(2), 0.1, np.array([3.0, 3.0])
    prior = Prior(np.zeros(2), np.diag([0.3, 1e-9]))
    found = [
        combine([lambda _, step=step: step], np.zeros(2), prior, events=1e6)
        for step in (Step(*own, doubt=0.25, wrong=w, time=1) for w in (0.0, 1.0))
    ]
    assert found[0] == pytest.approx([3.0, 3.0], abs=1.0)
    assert found[1][0] < 0.6 * found[0][0]
    assert found[1][1] == pytest.approx(3.0, abs=1e-3)

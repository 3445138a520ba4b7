"""The model of noisy counts: derivatives, covariances and draws against plain computations."""

import numpy as np
import pytest

from discreet.results.arrow import ArrowFactor
from discreet.results.hazard_posterior import (
    CHAINS,
    COSINES,
    KEEP,
    Counts,
    HazardModel,
    draw_points,
    exposures,
    needed_scales,
    shapes,
)

KINDS = [(1, False), (3, False), (1, True), (2, True)]


def model_of(causes=1, *, late=False, groups=3, stretches=8, people=3000, deviation=5.0, seed=0):
    random = np.random.default_rng(seed)
    size = people / groups / stretches / (causes + 2)
    counts = Counts(
        random.poisson(size, (groups, causes, stretches)).astype(float),
        random.poisson(size, (groups, stretches + 1)).astype(float),
        random.poisson(size, (groups, stretches + 1)).astype(float) if late else None,
        np.tile([1.0, 2.0], stretches)[:stretches],
    )
    noise = {k: deviation**2 * np.eye(k) for k in (stretches, stretches + 1)}
    return HazardModel(counts, noise, people)


def somewhere(model, seed=1):
    random = np.random.default_rng(seed)
    point = model.start() + 0.3 * random.standard_normal(model.dimension)
    model.set_precision(model.flow(point[None]))
    return point


def derivative(function, point, step=1e-5):
    rows = step * np.eye(len(point))
    return np.array([(function(point + row) - function(point - row)) / (2 * step) for row in rows])


@pytest.mark.parametrize(("causes", "late"), KINDS)
def test_the_gradient_is_that_of_the_density(causes, late):
    model = model_of(causes, late=late)
    point = somewhere(model)
    model.lift = np.random.default_rng(2).uniform(0.0, 0.5, model.released.shape)
    _, gradient = model.density(point[None])
    found = derivative(lambda place: model.density(place[None])[0][0], point)
    assert np.allclose(gradient[0], found, atol=1e-5 * np.abs(found).max())


@pytest.mark.parametrize(("causes", "late"), KINDS)
def test_the_curvature_is_that_of_gauss_and_newton(causes, late):
    model = model_of(causes, late=late)
    point = somewhere(model)
    arrow = model.curvature(model.flow(point[None]))
    size, groups = model.shared, model.groups
    whole = np.zeros((model.dimension, model.dimension))
    for group in range(groups):
        own = slice(group * size, (group + 1) * size)
        whole[own, own] = arrow.blocks[group]
        whole[own, model.own :] = arrow.border[group]
        whole[model.own :, own] = arrow.border[group].T
    whole[model.own :, model.own :] = arrow.corner
    moves = derivative(lambda place: model.flow(place[None]).counts[0], point)
    likelihood = np.einsum("pgd,gde,qge->pq", moves, model.precision, moves)
    plain = model.own + model.shared
    found = whole - likelihood
    assert np.allclose(found[:plain, :plain], np.eye(plain), atol=1e-5)
    assert np.allclose(found[:plain, plain:], 0.0, atol=1e-4)
    factor, vector = ArrowFactor.of(arrow), np.arange(model.dimension) / 10.0
    assert np.allclose(factor.solve(vector), np.linalg.solve(whole, vector))
    assert np.allclose(arrow.variances(), np.diag(np.linalg.inv(whole)))


@pytest.mark.parametrize(("causes", "late"), KINDS)
def test_expected_counts_and_their_covariance_are_those_of_people(causes, late):
    """100,000 people who enter and leave at random, counted as a release counts them."""
    model = model_of(causes, late=late, groups=1, stretches=4)
    flow = model.flow(somewhere(model)[None])
    random, number = np.random.default_rng(3), 100_000
    chances = flow.entering[0, 0] / flow.entering[0, 0].sum()
    place = random.choice(5, number, p=chances)
    entry = np.where(place == 0, 0.0, place - 1 + random.random(number))
    hazards = flow.hazards[0, 0]
    risk = np.append(0.0, np.cumsum(hazards.sum(axis=0)))
    left = np.interp(entry, range(5), risk) + random.exponential(size=number)
    exit_ = np.interp(left, risk, range(5), right=5.0)
    stretch = np.minimum(exit_.astype(int), 4)
    shares = np.cumsum(hazards / hazards.sum(axis=0), axis=0)[:, np.minimum(stretch, 3)]
    kind = np.sum(random.random(number) > shares, axis=0)
    cell = np.where(stretch == 4, model.kinds * 4, kind * 4 + stretch)
    people = np.zeros((number, flow.counts.shape[-1]))
    people[np.arange(number), cell] = 1.0
    if late:
        people[np.arange(number), model.kinds * 4 + 1 + place] = 1.0
    size = flow.entering[0, 0].sum()
    assert np.allclose(people.mean(axis=0), flow.counts[0, 0] / size, atol=0.007)
    assert np.allclose(np.cov(people.T), model.covariance(flow)[0] / size, atol=0.007)


def test_series_and_formulas_of_exposures_meet():
    t = np.array([1e-12, 0.9e-3, 1.1e-3, 1.0, 30.0])
    q, r, dq, dr = exposures(t)
    for values, slope, step in ((q, dq, 1e-5), (r, dr, 1e-5)):
        ahead, behind = (
            exposures(t[2:] + side * step)[0 if values is q else 1] for side in (1, -1)
        )
        assert np.allclose((ahead - behind) / (2 * step), slope[2:], rtol=1e-4, atol=1e-9)
    assert np.allclose(q[1], -np.expm1(-t[1]) / t[1], rtol=1e-12)
    assert np.allclose(q[0], 1.0)
    assert np.allclose([dq[1], dr[1]], [dq[2], dr[2]], atol=1e-3)


def test_shapes_of_one_stretch_and_of_many():
    assert shapes(1).shape == (2, 1)
    assert shapes(40).shape == (2 + COSINES, 40)
    assert np.allclose(shapes(40)[1:].sum(axis=1), 0.0)


def test_draws_have_the_moments_of_the_mode_where_much_is_known():
    """With 50,000 people the posterior of the sizes is normal: what the noise leaves of them."""
    model = model_of(people=50_000, deviation=20.0)
    points = draw_points(model, np.random.default_rng(4))
    assert points.shape == (CHAINS * KEEP, model.dimension)
    sizes = model.flow(points).entering.sum(axis=-1)
    released = model.released.sum(axis=1)
    expected = 20.0 * np.sqrt(model.released.shape[1])
    assert np.all(np.abs(sizes.mean(axis=0) - released) < 4 * expected)
    # n is public, and so the deviation is between that of two thirds and that of all of the noise
    assert np.all(sizes.std(axis=0) > 0.5 * expected)
    assert np.all(sizes.std(axis=0) < 1.1 * expected)


def test_hazards_are_not_too_low_where_events_are_few():
    """Twelve events of a rare cause in a group: without noise their mean is what was counted.

    With a covariance that does not grow with what is expected it would be half as many.
    """
    random = np.random.default_rng(1)
    rare, often = (
        random.multinomial(12, np.ones(30) / 30, 2),
        random.multinomial(600, np.ones(30) / 30, 2),
    )
    counts = Counts(
        np.stack([often, rare], axis=1).astype(float),
        np.append(random.multinomial(300, np.ones(30) / 30, 2), [[400], [400]], axis=1).astype(
            float
        ),
        None,
        np.ones(30),
    )
    noise = {k: 0.01 * np.eye(k) for k in (30, 31)}
    model = HazardModel(counts, noise, int(counts.events.sum() + counts.censored.sum()))
    flow = model.flow(draw_points(model, np.random.default_rng(2)))
    found = (flow.hazards * flow.exposed[:, :, None]).sum(axis=-1).mean(axis=0)
    assert np.allclose(found[:, 1], 12.0, atol=2.5)
    assert np.allclose(found[:, 0], 600.0, atol=12.0)


def test_chains_forget_where_they_began():
    """Draws of another seed have the same means, within a tenth of a deviation, and deviations."""
    model = model_of(2, late=True, people=600, deviation=8.0)
    one, other = (draw_points(model, np.random.default_rng(seed)) for seed in (1, 2))
    away = (one.mean(axis=0) - other.mean(axis=0)) / one.std(axis=0)
    assert np.sqrt(np.mean(away**2)) < 0.1
    assert np.median(np.abs(np.log(one.std(axis=0) / other.std(axis=0)))) < 0.05


@pytest.mark.parametrize("deviation", [1e-3, 1e6])
@pytest.mark.parametrize("people", [1, 30, 10**9])
def test_any_noise_and_any_size_give_numbers(people, deviation):
    random = np.random.default_rng(5)
    counts = Counts(
        random.normal(people / 20, deviation, (2, 1, 5)),
        random.normal(people / 20, deviation, (2, 6)),
        random.normal(people / 20, deviation, (2, 6)),
        np.ones(5),
    )
    model = HazardModel(counts, {k: deviation**2 * np.eye(k) for k in (5, 6)}, people)
    points = draw_points(model, np.random.default_rng(6))
    assert np.all(np.isfinite(points))
    assert np.all(model.flow(points).counts >= 0.0)


def test_counts_that_no_smooth_hazard_explains_still_give_draws():
    """Events in every other stretch, without noise: whole years on a grid of half years."""
    events = np.zeros((3, 1, 30))
    events[:, :, 1:20:2] = [[[200.0]], [[50.0]], [[3.0]]]
    counts = Counts(events, np.zeros((3, 31)), None, np.ones(30))
    noise = {k: 1e-12 * np.eye(k) for k in (30, 31)}
    points = draw_points(HazardModel(counts, noise, 2530), np.random.default_rng(1))
    assert np.all(np.isfinite(points))


def test_more_people_are_needed_where_noise_is_larger():
    needed = [
        needed_scales(model, model.mode()[0], 0.25)
        for model in (model_of(people=240, deviation=sd) for sd in (10.0, 40.0))
    ]
    assert np.all(needed[1] >= 2.0 * needed[0])

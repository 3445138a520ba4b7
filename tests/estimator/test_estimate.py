"""The estimate against what it must be: exact where all is known, as wrong as it says where not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from discreet.core.released import Released
from discreet.estimator import asking
from discreet.estimator.estimate import Linear, Solver, estimate, sampling_of
from discreet.estimator.expected import expectations
from discreet.estimator.lives import Chances
from discreet.estimator.picture import picture_of
from discreet.estimator.transcript import ScoreSum
from tests.estimator.pictures import field_of, raw_rows


@pytest.mark.parametrize("rank", [3, 40])
def test_solver_inverts_a_block_a_diagonal_and_a_low_rank(rank):
    random = np.random.default_rng(1)
    root, low = random.normal(size=(6, 6)), random.normal(size=(25, rank))
    block, diagonal = root @ root.T + np.eye(6), random.uniform(1.0, 2.0, 19)
    whole = low @ low.T + np.diag(np.concatenate([np.zeros(6), diagonal]))
    whole[:6, :6] += block
    right = random.normal(size=(25, 2))
    found = Solver(block, diagonal, low)(right)
    np.testing.assert_allclose(found, cho_solve(cho_factor(whole), right), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("causes", [1, 3])
def test_sampling_of_columns_of_unlike_units_is_a_covariance(causes):
    """Columns a million times as narrow as others, and one that repeats another."""
    random, size = np.random.default_rng(5), 6
    scale = np.tile(10.0 ** np.array([0.0, -6.0, -3.0, 0.0, -5.0, 0.0]), causes)
    scores = random.normal(size=(400, causes * size)) + random.normal(size=(400, 1))
    scores[:, size - 1] = scores[:, 0]
    within = 1e3 * (scores * scale).T @ (scores * scale)
    parts = [slice(r * size, (r + 1) * size) for r in range(causes)]
    informations = np.array([within[p, p] + np.diag(scale[p] ** 2) for p in parts])
    found = sampling_of(within, informations)
    for p, information in zip(parts, informations, strict=True):
        np.testing.assert_allclose(found[p, p], np.linalg.inv(information), rtol=1e-6)
    errors = np.sqrt(np.diag(found))
    assert np.linalg.eigvalsh(found / np.outer(errors, errors))[0] > -1e-8


def exact_sum(field, f, values, deviation=1e-4):
    """The full score of the people at f, released as good as without noise."""
    lay = field.layout
    plain = np.tile(np.eye(lay.size), (lay.causes, 1, 1))
    infinite, deviations = np.full(lay.causes, np.inf), np.full(lay.causes, deviation)
    return ScoreSum(f, plain, infinite, values, deviations)


@pytest.mark.parametrize("facts", [{}, {"causes": 2}, {"strata": 2, "late": True}])
def test_the_full_score_is_what_was_released_of_it(facts):
    """Where the target is the point of a released full score, U_hat is that score."""
    field, prior, phi = field_of(**facts)
    f = field.transcript.steps[0].points
    values = np.random.default_rng(2).normal(0.0, 10.0, f.shape)
    step = exact_sum(field, f, values)
    field = replace(field, transcript=field.transcript.having(steps=(step,)))
    linear = Linear(field, expectations(field, phi, f), prior.covariance)
    observed = field.observed
    away = prior.mean - phi
    gap = field.released - linear.expected.mean[observed] - linear.expected.slope[observed] @ away
    predicted = linear.expected.mean[~observed] + linear.expected.slope[~observed] @ away
    predicted = predicted + linear.across @ linear.inverse(gap)
    own = ~observed[: len(linear.expected.within)]
    sampling = np.diag(linear.expected.within[np.ix_(own, own)])  # that of the score: I
    assert np.all(np.abs(predicted - values.ravel()) < 0.02 * np.sqrt(sampling))
    assert np.all(np.diag(linear.error(linear.gain)) < 0.02**2 * sampling)


def lives_drawn(field, phi, random):
    """People of the picture: members by systematic sampling, and a life of each: (piece, outcome)."""
    t = field.transcript
    shares = np.cumsum(field.members.weights)
    chosen = np.searchsorted(shares, random.random(int(field.persons)) * shares[-1])
    chances = Chances.of(t.link, *field.hazards(phi), field.members.entry, field.pieces.lengths)
    alive = chances.at_risk
    ways = np.concatenate([alive * chances.happen, (alive * chances.leave)[None]])
    pieces, flat = ways.shape[2], ways.transpose(1, 2, 0).reshape(len(alive), -1)
    reached = np.cumsum(flat, axis=1) / flat.sum(axis=1, keepdims=True)
    place = np.sum(reached[chosen] < random.random(len(chosen))[:, None], axis=1)
    place = np.minimum(place, flat.shape[1] - 1)
    return chosen, place // len(ways), place % len(ways), chances, pieces


def sums_drawn(field, phi, target, random):
    """Released sums of drawn people with noise, and their full score."""
    t = field.transcript
    chosen, piece, outcome, chances, _ = lives_drawn(field, phi, random)
    plain = exact_sum(field, target, np.zeros_like(target))
    asked = replace(field, transcript=t.having(steps=(*t.steps, plain)))
    values = asked.values(chances, asked.walks)
    values = values[chosen, outcome, piece]
    place, times = raw_rows(field)
    raw = (values[:, place] * times[chosen]).sum(axis=0)
    first = field.mix @ raw
    observed = field.observed[: len(first)]
    static = field.static.adds[chosen].sum(axis=0)
    noise = field.noise[: len(first[observed]) + len(static)]
    released = np.concatenate([first[observed], static])
    return released + noise * random.normal(size=len(noise)), first[~observed]


@pytest.mark.parametrize("facts", [{"causes": 1}, {"causes": 2}])
def test_prediction_error_is_what_it_is_said_to_be(facts):
    """U - U_hat of 60 drawn groups of people, with the picture known: mean 0, variance MSE(U)."""
    field, prior, _ = field_of(**facts)
    field = replace(field, transcript=field.transcript.having(information=None))
    lay, phi, f = field.layout, prior.mean.copy(), field.transcript.steps[0].points
    for r in range(lay.causes):
        phi[lay.f(r)] = f[r]
    known = Linear(field, expectations(field, phi, f), 1e-12 * np.eye(len(phi)))
    gain = known.gain
    random, found = np.random.default_rng(3), []
    for _ in range(60):
        released, score = sums_drawn(field, phi, f, random)
        gap = released - known.expected.mean[field.observed]
        found.append(score - known.expected.mean[~field.observed] - gain @ gap)
    # the cohort is the people here: without the doubt about who they are
    n = field.persons
    between = known.expected.between * np.sqrt(n * field.members.weights)[:, None]
    whole = between.T @ between
    whole[: len(known.expected.within), : len(known.expected.within)] += known.expected.within
    observed = field.observed
    whole[observed, observed] += field.noise**2
    turn = np.zeros((len(gain), len(observed)))
    turn[:, observed] = -gain
    turn[:, ~observed] = np.eye(len(gain))
    stated = np.diag(turn @ whole @ turn.T)
    drawn = np.array(found)
    assert np.all(np.abs(drawn.mean(axis=0)) < 4.5 * np.sqrt(stated / 60))
    ratio = np.mean(drawn**2, axis=0) / stated
    assert 0.75 < np.mean(ratio) < 1.3
    assert np.all(
        np.linalg.eigvalsh(known.error(gain) - turn @ whole @ turn.T) > -1e-6 * stated.max()
    )


@pytest.mark.parametrize("facts", [{}, {"causes": 2}, {"strata": 2, "late": True}])
def test_without_noise_the_estimate_is_the_root_of_the_score(facts):
    """People drawn from the model: after a few sums of their full score the estimate is their fit."""
    field, prior, _ = field_of(**facts)
    t, lay = field.transcript, field.layout
    truth, random = t.steps[0].points, np.random.default_rng(4)
    phi = prior.mean.copy()
    for r in range(lay.causes):
        phi[lay.f(r)] = truth[r]
    chosen, piece, outcome, chances, _ = lives_drawn(field, phi, random)
    people = field

    def full_score(f):
        asked = replace(people, transcript=t.having(steps=(exact_sum(field, f, 0.0 * f),)))
        values = asked.values(chances, asked.walks)
        values = values[chosen, outcome, piece]
        place, times = raw_rows(asked)
        raw = (values[:, place] * times[chosen]).sum(axis=0)
        return (asked.mix @ raw)[: f.size].reshape(f.shape)

    exits = np.zeros_like(t.exits.values)
    kinds = np.where(outcome == lay.causes, 0, outcome + 1)
    bins = (field.members.stratum[chosen], kinds, field.pieces.bins[piece])
    np.add.at(exits, bins, 1.0)
    made = t.having(steps=(), information=None, exits=Released(exits, 0.5))
    field, prior, phi = picture_of(made)
    f = np.array([prior.mean[lay.f(r)] for r in range(lay.causes)])
    found = estimate(field, prior, phi, f)
    for _ in range(4):
        step = exact_sum(field, found.f, full_score(found.f))
        made = made.having(steps=(*made.steps, step))
        field = replace(field, transcript=made)
        found = estimate(field, prior, found.phi, found.f)
    errors = np.sqrt(np.diag(found.sampling)).reshape(found.f.shape)
    score = full_score(found.f)
    left = np.array([np.linalg.solve(i, u) for i, u in zip(found.informations, score, strict=True)])
    assert np.max(np.abs(left) / errors) < 0.02
    noise = np.diag(found.covariance) - np.diag(found.sampling)
    assert np.max(noise / np.diag(found.sampling)) < 0.05
    assert np.max(np.abs(found.f - truth) / errors) < 5.0


def test_more_noise_asks_for_smaller_bounds_and_limits():
    field, prior, phi = field_of()
    f = field.transcript.steps[0].points
    found = estimate(field, prior, phi, f)
    given = field, prior, found.phi, found.f, found.informations
    scores = [asking.next_score(*given, noise) for noise in (0.02, 0.3, 3.0)]
    bounds = [float(one.bounds[0]) for one in scores]
    assert bounds[0] > bounds[1] > bounds[2]
    limits = [
        asking.information_limit(field, found.phi, scores[0], noise) for noise in (0.001, 0.1, 1.0)
    ]
    assert limits[0] > limits[1] > limits[2]
    whole = scores[0].mappings[0].T @ found.informations[0] @ scores[0].mappings[0]
    np.testing.assert_allclose(whole, np.eye(len(whole)), atol=1e-6)

"""Means and covariances of a member's sums against all its ways to leave, one by one."""

import itertools

import numpy as np
import pytest

from discreet.design.link import get_link
from discreet.estimator.lives import Chances, Lives, Pieces

PIECES, MEMBERS, SUMS = 4, 3, 5


def lives_of(causes, link, lengths, entry, seed=1):
    """A member's chances and values at random."""
    random = np.random.default_rng(seed)
    eta = random.normal(-1.0, 0.7, (causes, MEMBERS, PIECES))
    leave = random.normal(-1.5, 0.5, (MEMBERS, PIECES))
    chances = Chances.of(get_link(link), eta, leave, entry, lengths)
    return eta, leave, chances, random.normal(size=(MEMBERS, causes + 1, PIECES, SUMS))


def outcomes(chances, values, member):
    """All ways to leave: probabilities and values."""
    alive, found = 1.0, []
    for j in range(PIECES):
        found += [
            (alive * chances.happen[r, member, j], values[member, r, j])
            for r in range(len(chances.happen))
        ]
        found.append((alive * chances.leave[member, j], values[member, -1, j]))
        alive *= chances.stay[member, j]
    chance, values = zip(*found, strict=True)
    return np.array(chance), np.array(values)


@pytest.mark.parametrize("link", ["logit", "cloglog", "probit"])
@pytest.mark.parametrize("causes", [1, 2, 3])
def test_mean_and_covariance_are_those_of_all_ways_to_leave(causes, link):
    entry = np.array([0, 0, 2])
    _, _, chances, values = lives_of(causes, link, np.array([1.0, 3.0, 2.0, 1.0]), entry)
    lives = Lives.of(chances, values.copy())
    mass = np.array([1.0, 4.0, 9.0])
    choices = lives.choices(SUMS, mass)
    for member in range(MEMBERS):
        chance, each = outcomes(chances, values, member)
        np.testing.assert_allclose(chance.sum(), 1.0, rtol=1e-12)
        mean = chance @ each
        covariance = mass[member] * (each - mean).T @ ((each - mean) * chance[:, None])
        np.testing.assert_allclose(lives.mean[member], mean, atol=1e-12)
        found = choices[member].T @ choices[member]
        np.testing.assert_allclose(found, covariance, atol=1e-11)


@pytest.mark.parametrize("causes", [1, 2])
def test_a_piece_of_several_intervals_is_these_intervals_one_by_one(causes):
    """Its chances, expected intervals and intervals before leaving, interval after interval."""
    lengths = np.array([5.0, 1.0, 3.0, 1.0])
    eta, leave, chances, _ = lives_of(causes, "logit", lengths, np.zeros(MEMBERS, dtype=int))
    odds = np.exp(eta)
    for member, j in itertools.product(range(MEMBERS), range(PIECES)):
        each = odds[:, member, j] / (1.0 + odds[:, member, j].sum())
        none = 1.0 - each.sum()
        gone = 1.0 if j == PIECES - 1 else 1.0 - np.exp(-np.exp(leave[member, j]))
        here, happen, out, spent, before = 1.0, np.zeros(causes), 0.0, 0.0, 0.0
        for k in range(int(lengths[j])):
            happen, out, spent = happen + here * each, out + here * none * gone, spent + here
            before += k * here * (1.0 - none * (1.0 - gone))
            here *= none * (1.0 - gone)
        np.testing.assert_allclose(chances.happen[:, member, j], happen, rtol=1e-10)
        np.testing.assert_allclose(chances.leave[member, j], out, rtol=1e-10)
        np.testing.assert_allclose(chances.stay[member, j], here, rtol=1e-10, atol=1e-15)
        np.testing.assert_allclose(chances.spent[member, j], spent, rtol=1e-10)
        np.testing.assert_allclose(
            chances.before[member, j] * (1.0 - here), before, rtol=1e-9, atol=1e-12
        )


def test_pieces_keep_bins_and_stretches_and_average_the_basis():
    basis = np.random.default_rng(2).normal(size=(40, 3))
    pieces = Pieces.of(
        basis, np.array([0, 1, 2, 10, 39, 40]), np.array([0, 13, 40]), np.array([0, 40]), 16
    )
    assert {0, 1, 2, 10, 13, 39, 40} <= set(pieces.edges.tolist())
    assert len(pieces.bins) == 16
    np.testing.assert_allclose(pieces.lengths @ pieces.basis, basis.sum(axis=0))
    for j, (low, high) in enumerate(itertools.pairwise(pieces.edges)):
        assert pieces.bins[j] == np.searchsorted([0, 1, 2, 10, 39, 40], high) - 1
        assert pieces.stretches[j] == int(low >= 13)

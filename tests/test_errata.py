"""The numbers of docs/mechanisms.md, computed again."""

import math
from pathlib import Path

import numpy as np
import pytest

from discreet.design.baseline import NaturalSpline
from discreet.design.link import get_link
from discreet.engine.local import LocalEngine
from discreet.likelihood.problem import Problem
from discreet.mechanisms.bounds import (
    Basis,
    Slopes,
    gradient_sensitivity,
    jacobian_bound,
)
from discreet.paper.printed import gradient_sensitivity as printed_gradient_sensitivity
from discreet.paper.printed import jacobian_bound as printed_jacobian_bound
from discreet.people.episodes import Episodes
from discreet.solve import minimise
from tests.support import make_design

TEXT = (Path(__file__).parents[1] / "docs" / "mechanisms.md").read_text()


def entry(number):
    """The text of one erratum."""
    start = TEXT.index(f"**E{number}.")
    end = TEXT.find(f"**E{number + 1}.")
    return TEXT[start : end if end > 0 else None]


def test_e1_the_printed_jacobian_is_violated():
    norms, ridge = np.full(10, 10.0), 1000.0
    jacobian = printed_jacobian_bound(norms, ridge)
    claimed = 2 * jacobian  # the algorithm gives the tilt as much as the Jacobian takes
    z = np.array([10.0, 1.0])
    hessians = [0.25 * count * np.outer(z, z) + ridge * np.eye(2) for count in (10, 1)]
    gradients = [0.5 * count * z for count in (10, 1)]
    scale = printed_gradient_sensitivity(norms) / jacobian
    tilts = [np.linalg.norm(gradient) for gradient in gradients]
    determinants = [np.linalg.slogdet(hessian)[1] for hessian in hessians]
    ratio = determinants[0] - determinants[1] - (tilts[0] - tilts[1]) / scale
    assert ratio > 1.8 * claimed
    assert f"{claimed:.4f}" in entry(1)
    assert f"{ratio:.4f}" in entry(1)


def test_e1_ours_covers_the_same_pair():
    basis = Basis(np.full((10, 1), 10.0), has_covariates=True)
    z = np.array([10.0, 1.0])
    determinants = [
        np.linalg.slogdet(0.25 * count * np.outer(z, z) + 1000.0 * np.eye(2))[1]
        for count in (10, 1)
    ]
    ours = jacobian_bound(basis, 1, 0.25, 1000.0, time_varying=False)
    assert determinants[0] - determinants[1] <= ours


def test_e1_three_knots_on_the_unit_interval_are_rescued_by_the_square():
    norms = NaturalSpline(3).basis(200)
    record = np.sqrt((norms**2).sum(axis=1) + 1)
    assert (record**2).sum() <= 2 * record.sum()
    unscaled = np.sqrt((NaturalSpline(3).basis(200)[:, :2] * [1, 200]) ** 2).sum(axis=1)
    assert (unscaled**2).sum() > 2 * unscaled.sum()


def test_e2_the_printed_sampler_has_half_the_variance():
    """f <- (1 - step) f + sqrt(step) N has the stationary variance 1 / (2 - step)."""
    random = np.random.default_rng(2)
    step, chains = 0.02, random.normal(size=20_000)
    for _ in range(400):
        chains = (1 - step) * chains + math.sqrt(step) * random.normal(size=len(chains))
    assert chains.var() == pytest.approx(1 / (2 - step), rel=0.05)
    assert f"{1 / (2 - 0.001):.2f} instead of 1" in entry(2)


def test_e3_an_inexact_minimiser_moves_beyond_the_printed_noise():
    sensitivity = printed_gradient_sensitivity(np.linalg.norm(NaturalSpline(3).basis(200), axis=1))
    small, large = 2 * 1e4 * 1e-5 / sensitivity, 2 * 1e7 * 1e-5 / sensitivity
    assert f"{100 * small:.2f} %" in entry(3)
    assert f"{100 * large:.0f} %" in entry(3)


def test_e4_low_bits_betray_the_summand():
    random = np.random.default_rng(4)
    noise = random.gamma(1.0, 1.0, 100_000) * random.choice([-1.0, 1.0], 100_000)
    off_grid = [np.ldexp(value + noise, 53) % 1.0 != 0.0 for value in (0.0, 1.0)]
    assert not off_grid[1].any()
    assert f"frequency {off_grid[0].mean():.2f}" in entry(4)


def test_e10_the_product_is_not_symmetric():
    product = np.linalg.inv(np.diag([2.0, 1.0])) @ np.ones((2, 2))
    assert product[0, 1] == 0.5
    assert product[1, 0] == 1.0
    assert "0.5 above and 1.0 below" in entry(10)


def test_e13_the_printed_lemma_is_not_tight():
    rows = NaturalSpline(3).basis(200)
    printed = printed_gradient_sensitivity(np.linalg.norm(rows, axis=1))
    basis = Basis(rows, has_covariates=True)
    ours = gradient_sensitivity(basis, Slopes.constant(200, 1.0))
    opposite = np.column_stack([np.zeros((200, 3)), np.full(200, 2.0)])
    assert f"{printed:.1f}" in entry(13)
    assert f"{ours:.1f} holds" in entry(13)
    assert f"{np.linalg.norm(opposite.sum(axis=0)):.1f} is attained" in entry(13)


def test_e16_unscaled_time_makes_the_constants_enormous():
    scaled = np.linalg.norm(NaturalSpline(3).basis(200), axis=1)
    unscaled = np.linalg.norm(NaturalSpline(3).evaluate(np.arange(1.0, 201.0)), axis=1)
    before, after = printed_gradient_sensitivity(scaled), printed_gradient_sensitivity(unscaled)
    assert f"{after / before:.0f}-fold ({after:,.0f} instead of {before:.1f}" in entry(16)


def test_e17_zero_means_give_other_coefficients(data_folder):
    """The printed coefficients fit one centring; others scale with their largest norm."""
    table = np.genfromtxt(data_folder / "tb.csv", delimiter=",", skip_header=1)
    covariates = table[:, 2:]
    low, high = covariates.min(axis=0), covariates.max(axis=0)
    mapped = (covariates - low) / (high - low)
    halves, means = mapped - 0.5, mapped - mapped.mean(axis=0)
    radii = [np.linalg.norm(values, axis=1).max() for values in (halves, means)]
    fitted = tb_coefficients(table, halves / radii[0])
    assert [f"{value:.4f}" for value in fitted[1:]] == ["-0.8498", "-0.2395"]
    assert f"{-fitted[1] * radii[1] / radii[0]:.4f}" in entry(17)


def tb_coefficients(table, covariates):
    """Covariate coefficients of the unregularised fit, q = 200 and three knots."""
    exits = np.minimum(np.floor(200 * table[:, 0] / table[:, 0].max()) + 1, 200)
    order = np.argsort(exits, kind="stable")
    people = Episodes(
        covariates=np.ascontiguousarray(covariates[order]),
        entry=np.zeros(len(order), dtype=np.int32),
        exit=exits[order].astype(np.int32),
        event=table[order, 1] == 1,
        offsets=None,
        persons=len(order),
    )
    design = make_design(200, 3, NaturalSpline(3), "paper")
    loss = Problem(LocalEngine(people), design, get_link("logit"))
    return minimise(loss, np.zeros(6), tolerance=1e-6).point[3:]

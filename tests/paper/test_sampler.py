"""pSGLD on a Gaussian whose law is known: the corrected chain is accepted, the printed rejected."""

import numba
import numpy as np
import pytest
from scipy import stats

from discreet.errors import SettingsError
from discreet.paper.diagnostics import compare, diagnose
from discreet.paper.sampler import (
    PSGLD,
    StochasticDensity,
    begin_step,
    end_step,
    fill_indices,
    fill_normals,
    make_state,
    next_word,
)
from tests.conftest import FALSE_ALARM

KEY = 0x9E3779B97F4A7C15F39CC0605CEDC8341082276BF3A27251F86C6A11D0C18E95
TERMS = 400
CENTRES = np.random.default_rng(11).normal([0.5, -2.0], [0.2, 0.6], (TERMS, 2))
CURVATURE = np.array([1.0, 9.0])


def make_run(gradient):
    """The loop over steps of a chain, for a compiled gradient."""

    @numba.njit(nogil=True)
    def run(context, setting, state, span):
        for step in range(span.steps):
            begin_step(setting, state)
            gradient(context, state.point, state.picks, state.mean)
            end_step(setting, state, span, step)

    return run


@numba.njit
def gaussian_gradient(context, f, picks, out):
    """u_i(f) = sum_j curvature_j (f_j - centre_ij)^2 / 2."""
    centres, curvature = context
    for index in range(len(f)):
        out[index] = 0.0
        for pick in picks:
            out[index] += curvature[index] * (f[index] - centres[pick, index])
    return 0.0


RUN = make_run(gaussian_gradient)


def gaussian(radius=np.inf):
    """exp(-E), E = |f|^2/20 + sum_i u_i / 50: independent normals."""
    return StochasticDensity(
        run=RUN,
        context=(CENTRES, CURVATURE),
        terms=TERMS,
        dimension=2,
        scale=0.02,
        precision=0.1,
        radius=radius,
    )


def exact_law():
    precision = 0.1 + 0.02 * TERMS * CURVATURE
    mean = 0.02 * TERMS * CURVATURE * CENTRES.mean(axis=0) / precision
    return mean, 1.0 / np.sqrt(precision)


def chains(variant, step, count=3, steps=150_000):
    """Constant steps after the burn-in: small, so that what is left is Monte-Carlo error."""
    settings = PSGLD(batch=100, tau=0.0, step=step, burn_in=10_000, variant=variant)
    found = []
    for index in range(count):
        chain = settings.start(gaussian(), KEY + index)
        chain.advance(12_000, 12_000)
        found.append(chain.advance(steps, 25))
    return np.stack(found)


def reference(count=3, draws=20_000):
    mean, deviation = exact_law()
    return np.random.default_rng(5).normal(mean, deviation, (count, draws, 2))


@pytest.fixture(scope="module")
def corrected():
    return chains("corrected", 2e-6)


def test_the_corrected_chain_has_the_right_law(corrected):
    comparison = compare(corrected, reference(), FALSE_ALARM)
    assert comparison.accepted, comparison.scores


def test_the_printed_chain_is_rejected_for_too_little_variance():
    printed = chains("printed", 2e-6)
    assert not compare(printed, reference(), FALSE_ALARM).accepted
    # half the variance where G is constant; here G follows the gradient, which blurs the factor
    assert np.all(printed.std(axis=(0, 1)) < 0.95 * exact_law()[1])


def test_a_law_of_another_centre_is_rejected(corrected):
    shifted = reference() + 0.8 * exact_law()[1]
    assert not compare(corrected, shifted, FALSE_ALARM).accepted


def test_chains_agree_with_each_other(corrected):
    r_hat, effective = diagnose(corrected)
    assert np.all(r_hat < 1.02)
    assert np.all(effective > 200)
    stuck = corrected + np.array([[[0.0]], [[1.0]], [[2.0]]])
    assert np.all(diagnose(stuck)[0] > 1.2)


def test_the_same_key_gives_the_same_chain_and_another_key_another():
    settings = PSGLD(batch=10, burn_in=100)
    first, second = (settings.start(gaussian(), KEY).advance(500, 1) for _ in range(2))
    other = settings.start(gaussian(), KEY + 1).advance(500, 1)
    np.testing.assert_array_equal(first, second)
    assert np.all(first != other)


def test_a_chain_goes_on_where_it_stopped():
    settings = PSGLD(batch=10, burn_in=100)
    whole = settings.start(gaussian(), KEY).advance(300, 1)
    chain = settings.start(gaussian(), KEY)
    parts = np.concatenate([chain.advance(120, 1), chain.advance(180, 1)])
    np.testing.assert_array_equal(whole, parts)
    assert chain.steps == 300


def test_a_branch_is_as_old_as_its_chain_and_goes_its_own_way():
    settings = PSGLD(batch=10, burn_in=100)
    chain = settings.start(gaussian(), KEY)
    chain.advance(300, 1)
    before, point = chain.point.copy(), np.array([3.0, -1.0])
    branch = settings.start(gaussian(), KEY + 1)
    branch.resume(chain, point)
    assert branch.steps == 300
    np.testing.assert_array_equal(branch.point, point)
    first = branch.advance(1, 1)[0]
    # a step as short as the 301st, with the same V: a fresh chain's first is 18 times longer
    fresh = settings.start(gaussian(), KEY + 1)
    fresh.point[:] = point
    assert np.abs(first - point).max() < 0.5 * np.abs(fresh.advance(1, 1)[0] - point).max()
    np.testing.assert_array_equal(chain.point, before)


def test_the_ball_is_never_left():
    chain = PSGLD(batch=10, burn_in=100).start(gaussian(radius=0.9), KEY)
    states = chain.advance(5000, 1)
    norms = np.linalg.norm(states, axis=1)
    assert norms.max() <= 0.9
    assert norms.max() > 0.8


@numba.njit
def plateau_gradient(context, f, picks, out):
    """u_i(f) = 25 tanh(|f - 8|^2 / 25): flat at the start f = 0, steep on the way, 0 at 8."""
    away = f[0] - context
    decay = np.exp(-2.0 * away * away / 25.0)
    out[0] = len(picks) * 2.0 * away * 4.0 * decay / (1.0 + decay) ** 2
    return 0.0


def test_a_chain_that_starts_on_a_plateau_does_not_leap_over_the_valley():
    density = StochasticDensity(make_run(plateau_gradient), 8.0, 1000, 1, 0.1, 1e-3)
    chain = PSGLD(burn_in=2000).start(density, KEY)
    states = chain.advance(4000, 1)
    assert np.abs(np.diff(states[:, 0], prepend=0.0)).max() < 1.0
    assert np.abs(states[-1000:] - 8.0).max() < 1.0


def test_an_epoch_is_as_many_steps_as_terms():
    chain = PSGLD(batch=10, burn_in=100).start(gaussian(), KEY)
    sizes = [len(states) for states in chain.epochs(3, kept=20)]
    assert chain.steps == 3 * TERMS
    assert sizes == [20, 20, 20]


def test_normals_are_normal_and_indices_uniform():
    state = make_state(KEY)
    normals = np.zeros(200_001)
    fill_normals(state, normals)
    assert stats.kstest(normals, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(normals * 1.05, "norm").pvalue < FALSE_ALARM
    picks = np.zeros(200_000, dtype=np.int64)
    fill_indices(state, 37, picks)
    assert stats.chisquare(np.bincount(picks, minlength=37)).pvalue > FALSE_ALARM


def test_the_generator_is_the_published_one():
    # xoshiro256++ from the state (1, 2, 3, 4), as in the authors' reference implementation
    state = make_state(1 | 2 << 64 | 3 << 128 | 4 << 192)
    words = [int(next_word(state)) for _ in range(4)]
    assert words == [41943041, 58720359, 3588806011781223, 3591011842654386]


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch": 1.5},
        {"tau": 2.0},
        {"memory": 1.0},
        {"damping": 0.0},
        {"step": -1.0},
        {"variant": "other"},
    ],
)
def test_invalid_settings_are_refused(wrong):
    with pytest.raises(SettingsError):
        PSGLD(**wrong)


@pytest.mark.parametrize("key", [0, -1, 1 << 256])
def test_a_key_has_256_bits(key):
    with pytest.raises(SettingsError):
        make_state(key)

"""Private selection: the cost of tuning is what the proof says, and the best tends to win."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import SettingsError
from discreet.privacy.noise import SystemNoise
from discreet.privacy.scales import exact
from discreet.privacy.selection import (
    RandomStopping,
    sample_logarithmic,
    uniform_below,
)
from discreet.privacy.testing import SeededNoise
from tests.conftest import FALSE_ALARM


@given(st.floats(1e-3, 100).map(lambda x: float(f"{x:.6g}")), st.floats(0.05, 0.95))
def test_the_parts_never_exceed_the_whole(epsilon, share):
    plan = RandomStopping(epsilon, 10, score_share=share)
    whole = 2 * (exact(plan.trial_epsilon) + exact(plan.score_epsilon))
    assert whole <= exact(epsilon)
    assert float(whole) == pytest.approx(epsilon, rel=1e-4)


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 0.0, "mean_trials": 5},
        {"epsilon": 1e-9, "mean_trials": 5},
        {"epsilon": 1.0, "mean_trials": 1},
        {"epsilon": 1.0, "mean_trials": math.nan},
        {"epsilon": 1.0, "mean_trials": 1e9},
        {"epsilon": 1.0, "mean_trials": 5, "score_share": 1.0},
    ],
)
def test_settings_that_select_nothing_are_refused(settings):
    with pytest.raises(SettingsError):
        RandomStopping(**settings)


@pytest.mark.parametrize("mean", [2, 12, 100])
def test_the_number_of_trials_has_the_logarithmic_law(mean):
    stopping = RandomStopping(1.0, mean).stopping
    law = stats.logser(float(1 - stopping))
    assert law.mean() == pytest.approx(mean, rel=1e-6)
    source = SystemNoise()
    draws = np.array([sample_logarithmic(stopping, source.uniform_bits) for _ in range(3_000)])
    observed = [np.count_nonzero(draws == k) for k in (1, 2, 3)]
    masses = law.pmf([1, 2, 3])
    cells = [*observed, 3_000 - sum(observed)]
    expected = 3_000 * np.array([*masses, 1 - masses.sum()])
    assert stats.chisquare(cells, expected).pvalue > FALSE_ALARM
    wrong = 3_000 * np.array([*masses[[1, 0, 2]], 1 - masses.sum()])
    assert stats.chisquare(cells, wrong).pvalue < FALSE_ALARM


def output_law(trial, stopping):
    """P(y) of the best of K trials for a trial law over (score, model), by the proof's formula."""
    scores = sorted({score for score, _ in trial})

    def generating(x):
        return math.log(1 - (1 - stopping) * x) / math.log(stopping)

    law, below = {}, 0.0
    for score in scores:
        tied = sum(mass for (s, _), mass in trial.items() if s == score)
        gain = generating(min(1.0, below + tied)) - generating(below)
        for y, mass in trial.items():
            if y[0] == score:
                law[y] = mass / tied * gain
        below += tied
    return law


@given(st.lists(st.tuples(st.floats(0.05, 1), st.booleans()), min_size=4, max_size=4))
def test_two_neighbouring_selections_differ_by_at_most_twice_a_trial(weights):
    epsilon = 0.7
    outputs = list(itertools.product((0, 1), ("a", "b")))
    first = np.array([weight for weight, _ in weights])
    second = first * np.exp([epsilon / 2 if up else -epsilon / 2 for _, up in weights])
    laws = [dict(zip(outputs, w / w.sum(), strict=True)) for w in (first, second)]
    worst_trial = max(abs(math.log(laws[0][y] / laws[1][y])) for y in outputs)
    released = [output_law(law, 0.05) for law in laws]
    assert sum(released[0].values()) == pytest.approx(1.0)
    for y in outputs:
        assert abs(math.log(released[0][y] / released[1][y])) <= 2 * worst_trial + 1e-9


def test_the_code_draws_from_the_law_of_the_proof():
    """Two candidates with known exact scores, no noise to speak of: P(best) = 1 - E 2^-K."""
    plan = RandomStopping(1e6, 3)
    noise = SystemNoise()
    draws = [plan.select(["poor", "good"], str, len_of_word, 1, noise) for _ in range(1_500)]
    stopping = float(plan.stopping)
    missed = math.log(1 - (1 - stopping) / 2) / math.log(stopping)
    error = 4.9 * math.sqrt(missed * (1 - missed) / len(draws))
    assert abs(draws.count("poor") / len(draws) - missed) < error


def len_of_word(word):
    return 10 if word == "good" else 0


def test_a_small_epsilon_hides_the_better_candidate():
    plan = RandomStopping(1e-3, 3)
    draws = [plan.select(["poor", "good"], str, len_of_word, 1, SeededNoise(i)) for i in range(400)]
    assert 120 < draws.count("good") < 280


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_candidates_are_drawn_uniformly(count):
    bits = SystemNoise().uniform_bits
    draws = [uniform_below(count, bits) for _ in range(2_000)]
    assert set(draws) == set(range(count))
    if count > 1:
        assert stats.chisquare(np.bincount(draws)).pvalue > FALSE_ALARM


def test_no_candidates_is_an_error():
    with pytest.raises(SettingsError, match="at least one candidate"):
        uniform_below(0, SystemNoise().uniform_bits)


def test_a_rational_stopping_parameter():
    assert isinstance(RandomStopping(1.0, 5).stopping, Fraction)
    assert 0 < RandomStopping(1.0, 5).stopping < 1

"""Selection among settings on the private data, within the budget.

`RandomStopping` tries randomly chosen candidates a random number of times and keeps the best: the
whole costs twice the epsilon of one trial, for any number of candidates (Papernot and Steinke 2022,
with the logarithmic law).  Proof: docs/proofs/selection.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import TypeVar

from flint import arb, ctx

from discreet.errors import SettingsError
from discreet.privacy.accountant import NANO
from discreet.privacy.exact import GUARD_BITS, BitSource, LazyUniform, rational
from discreet.privacy.guarantee import checked_epsilon
from discreet.privacy.noise import NoiseSource
from discreet.privacy.scales import exact, laplace_scale

Candidate = TypeVar("Candidate")
Released = TypeVar("Released")

MOST_TRIALS = 1000

TRIAL_FACTOR = 2
"""The epsilon of the whole in units of one trial's."""


@dataclass(frozen=True)
class RandomStopping:
    """A selection that is epsilon-DP as a whole.

    One trial draws a candidate uniformly, releases a model with `trial_epsilon` and scores it with
    `score_epsilon`; `mean_trials` trials are made on average.
    """

    epsilon: float
    mean_trials: float
    score_share: float = 0.2

    def __post_init__(self) -> None:
        checked_epsilon(self.epsilon)
        if not 1 < self.mean_trials <= MOST_TRIALS:
            raise SettingsError(f"the mean number of trials must be above 1, at most {MOST_TRIALS}")
        if not 0 < self.score_share < 1:
            raise SettingsError("the score's share of the budget must lie between 0 and 1")
        if self.score_epsilon <= 0 or self.trial_epsilon <= 0:
            raise SettingsError("epsilon is too small to be divided between trials and scores")

    @property
    def score_epsilon(self) -> float:
        """The epsilon of one score, in whole billionths."""
        share = exact(self.epsilon) * exact(self.score_share) / TRIAL_FACTOR
        return math.floor(share * NANO) / NANO

    @property
    def trial_epsilon(self) -> float:
        """The epsilon of one released model: the rest of a trial, in whole billionths."""
        rest = exact(self.epsilon) / TRIAL_FACTOR - exact(self.score_epsilon)
        return math.floor(rest * NANO) / NANO

    @property
    def stopping(self) -> Fraction:
        """The parameter g of the logarithmic law, P(K = k) = (1 - g)^k / (k log(1/g))."""
        low, high = 1e-12, 1.0 - 1e-12
        for _ in range(100):
            middle = math.sqrt(low * high)
            mean = (1 / middle - 1) / -math.log(middle)
            low, high = (middle, high) if mean > self.mean_trials else (low, middle)
        return Fraction(high)

    def select(
        self,
        candidates: Sequence[Candidate],
        release: Callable[[Candidate], Released],
        score: Callable[[Released], int],
        sensitivity: int,
        noise: NoiseSource,
    ) -> Released:
        """Return the released model with the best noisy score.

        `release` must be `trial_epsilon`-DP; `score` is an integer that one person changes by at
        most `sensitivity`, for every released model.
        """
        scale = laplace_scale(sensitivity, self.score_epsilon)

        def trial() -> tuple[int, Released]:
            model = release(candidates[uniform_below(len(candidates), noise.uniform_bits)])
            return int(noise.l1_laplace([score(model)], scale)[0]), model

        trials = sample_logarithmic(self.stopping, noise.uniform_bits)
        # `max` keeps the earliest of equals, as the proof requires
        return max((trial() for _ in range(trials)), key=itemgetter(0))[1]


def uniform_below(count: int, bits: BitSource) -> int:
    """Draw a uniform integer in 0 ... count - 1, by rejection."""
    if count < 1:
        raise SettingsError("a selection needs at least one candidate")
    while True:
        draw = bits(count.bit_length())
        if draw < count:
            return draw


def sample_logarithmic(stopping: Fraction, bits: BitSource) -> int:
    """Draw K >= 1 with P(K = k) = (1 - g)^k / (k log(1/g)), exactly, by inversion."""
    uniform = LazyUniform(bits)
    precision = GUARD_BITS
    while True:
        count = _invert(stopping, uniform.enclose(precision), precision)
        if count is not None:
            return count
        precision *= 2


def _invert(stopping: Fraction, uniform: arb, precision: int) -> int | None:
    """Return the smallest k with P(K <= k) >= U, or None while a comparison is not decided."""
    with ctx.workprec(precision):
        ratio = rational(1 - stopping)
        target = -uniform * rational(stopping).log()
        power, total, count = arb(1), arb(0), 0
        while not total > target:
            count += 1
            power *= ratio
            total += power / count
            if total.overlaps(target):
                return None
        return count

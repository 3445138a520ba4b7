"""Preconditioned stochastic gradient Langevin dynamics (pSGLD), as printed and corrected.

The target is exp(-E), E(f) = pi/2 |f|^2 + a sum_i u_i(f), pi the prior precision. With the mean
over a batch of k of the n terms,

    g = pi f / n + a mean_batch grad u_i,        n g estimates grad E without bias,
    V <- mu V + (1 - mu) g^2,   G = 1 / (lambda + sqrt V),   h_t = step t^-tau.

printed (Nguyen and Hui, Algorithm 4; V includes the current g, step = 1):

    f <- f - h_t G n g + N(0, h_t G)             leaves exp(-2 E) invariant, not exp(-E)

corrected (Li, Chen, Carlson and Carin 2016):

    f <- f - h_t/2 G n g + N(0, h_t G)           V frozen after the burn-in

so that G is constant and the term sum_j dG_ij/df_j, which a moving G needs, is zero. During the
burn-in G = 1 / (lambda + sqrt max(V, g^2)): no step is longer than n h_t/2 in any coordinate. Without
that a chain that starts where the sanitized loss is flat, so that V is tiny, leaves with one leap
when the first gradient arrives, and lands where it is flat again. The corrected default is
step = 1/n: G n g alone is of size n whatever the target, and with step = 1 the chain jumps over it. Indices are drawn with replacement. `docs/proofs/sanitized-exponential.md`, section 4.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from discreet.errors import SettingsError
from discreet.privacy.scales import is_count, is_number
from discreet.types import Array

Bits = NDArray[np.uint64]

KEY_BITS = 256

# numba makes floats of mixed signed and unsigned numbers, so every constant is unsigned
_U11, _U17, _U19, _U23, _U32, _U41, _U45 = (
    np.uint64(count) for count in (11, 17, 19, 23, 32, 41, 45)
)
_UNIT = 2.0**-53


# The generator: xoshiro256++ (Blackman and Vigna 2021), keyed with 256 bits. A chain needs billions
# of numbers, more than the operating system's generator gives in time. The key comes from there,
# once a chain, and is not stored.


def make_state(key: int) -> Bits:
    """The generator's state from a key of 256 bits."""
    if not 0 < key < 1 << KEY_BITS:
        raise SettingsError("the key of a chain's generator has 256 bits, not all of them 0")
    words = [(key >> (64 * word)) & 0xFFFFFFFFFFFFFFFF for word in range(4)]
    return np.array(words, dtype=np.uint64)


@numba.njit(nogil=True)
def next_word(state: Bits) -> np.uint64:
    """64 uniform bits."""
    total = state[0] + state[3]
    result = ((total << _U23) | (total >> _U41)) + state[0]
    shifted = state[1] << _U17
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = (state[3] << _U45) | (state[3] >> _U19)
    return np.uint64(result)


@numba.njit(nogil=True)
def fill_indices(state: Bits, count: int, picks: NDArray[np.int64]) -> None:
    """Uniform indices below ``count`` < 2^32, with replacement (bias below count 2^-32)."""
    size = np.uint64(count)
    for index in range(len(picks)):
        picks[index] = np.int64(((next_word(state) >> _U32) * size) >> _U32)


@numba.njit(nogil=True)
def fill_normals(state: Bits, normals: Array) -> None:
    """Standard normal numbers, in pairs (Box and Muller 1958)."""
    for index in range(0, len(normals), 2):
        # in (0, 1], so that the logarithm is finite
        first = float((next_word(state) >> _U11) + np.uint64(1)) * _UNIT
        angle = 2.0 * math.pi * float(next_word(state) >> _U11) * _UNIT
        radius = math.sqrt(-2.0 * math.log(first))
        normals[index] = radius * math.cos(angle)
        if index + 1 < len(normals):
            normals[index + 1] = radius * math.sin(angle)


Variant = Literal["corrected", "printed"]
Run = Callable[[Any, "Setting", "State", "SamplerSpan"], None]


@dataclass(frozen=True)
class StochasticDensity:
    """exp(-E), E(f) = precision/2 |f|^2 + scale sum_i u_i(f), known through its terms.

    ``run`` is the compiled loop over steps: `begin_step`, the gradient of the terms, `end_step`.
    Where ``radius`` is finite the density is zero outside the ball of that radius.
    """

    run: Run
    context: Any
    terms: int
    dimension: int
    scale: float
    precision: float
    radius: float = math.inf


@dataclass(frozen=True)
class PSGLD:
    """Public settings of a chain; the defaults are the paper's, but for the variant.

    epochs: an epoch is n steps. batch: k. tau, damping (lambda), memory (mu): as above. step: the
    factor of t^-tau; None is 1 as printed and 1/n corrected. burn_in: steps before G is frozen.
    """

    epochs: int = 250
    batch: int = 200
    tau: float = 0.51
    damping: float = 1e-5
    memory: float = 0.99
    step: float | None = None
    burn_in: int = 10_000
    variant: Variant = "corrected"

    def __post_init__(self) -> None:
        """Raise `SettingsError` for settings without a chain."""
        if self.variant not in {"corrected", "printed"}:
            raise SettingsError("variant of the sampler must be corrected or printed")
        for name in ("epochs", "batch", "burn_in"):
            if not is_count(getattr(self, name)):
                raise SettingsError(f"{name} of the sampler must be a whole number of at least 1")
        for name in ("damping", "step"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and value > 0):
                raise SettingsError(f"{name} of the sampler must be a finite number greater than 0")
        if not (0.0 <= self.tau <= 1.0 and 0.0 <= self.memory < 1.0):
            raise SettingsError("the sampler needs 0 <= tau <= 1 and 0 <= memory < 1")

    def start(self, density: StochasticDensity, key: int) -> "Chain":
        """Return a chain at f = 0, V = 0 whose generator has the given key of 256 bits."""
        return Chain(self, density, key)


class Setting(NamedTuple):
    """Numbers for compiled code."""

    terms: int
    scale: float
    precision: float
    radius: float
    step: float
    tau: float
    damping: float
    memory: float
    drift: float
    burn_in: int
    corrected: bool


class State(NamedTuple):
    """Arrays that a step reads and writes: generator, batch, point, V and its mean, scratch."""

    random: Bits
    picks: NDArray[np.int64]
    point: Array
    squares: Array
    mean: Array
    normals: Array
    kept: Array


class SamplerSpan(NamedTuple):
    """Steps taken so far, steps to take, and which of the states to keep."""

    taken: int
    steps: int
    thin: int


class Chain:
    """A running chain."""

    def __init__(self, settings: PSGLD, density: StochasticDensity, key: int) -> None:
        self.steps = 0
        self.point = np.zeros(density.dimension)
        self._density = density
        corrected = settings.variant == "corrected"
        usual = 1.0 / density.terms if corrected else 1.0
        self._setting = Setting(
            terms=density.terms,
            scale=density.scale,
            precision=density.precision,
            radius=density.radius,
            step=usual if settings.step is None else settings.step,
            tau=settings.tau,
            damping=settings.damping,
            memory=settings.memory,
            drift=0.5 if corrected else 1.0,
            burn_in=settings.burn_in,
            corrected=corrected,
        )
        self.state = State(
            random=make_state(key),
            picks=np.zeros(settings.batch, dtype=np.int64),
            point=self.point,
            squares=np.zeros((2, density.dimension)),
            mean=np.zeros(density.dimension),
            normals=np.zeros(density.dimension),
            kept=np.empty((0, density.dimension)),
        )

    def resume(self, pilot: "Chain", point: Array) -> None:
        """Become as old as a pilot (in step length and V), at another point, with noise of its own."""
        self.steps = pilot.steps
        self.point[:] = point
        self.state.squares[:] = pilot.state.squares

    def advance(self, steps: int, thin: int) -> Array:
        """Take ``steps`` steps; return every ``thin``-th state."""
        kept = np.empty((steps // thin, len(self.point)))
        span = SamplerSpan(self.steps, steps, thin)
        self._density.run(
            self._density.context, self._setting, self.state._replace(kept=kept), span
        )
        self.steps += steps
        return kept

    def epochs(self, count: int, kept: int = 100) -> Iterator[Array]:
        """Run ``count`` epochs of n steps; yield about ``kept`` states of each."""
        length = self._density.terms
        for _ in range(count):
            yield self.advance(length, max(1, length // kept))


@numba.njit(nogil=True, error_model="numpy")
def begin_step(setting: Setting, state: State) -> None:
    """Draw the batch and the noise."""
    fill_indices(state.random, setting.terms, state.picks)
    fill_normals(state.random, state.normals)


@numba.njit(nogil=True, error_model="numpy")
def end_step(setting: Setting, state: State, span: SamplerSpan, step: int) -> None:
    """Move to the next point, given the sum of the batch's gradients in ``mean``."""
    point, mean = state.point, state.mean
    for index in range(len(point)):
        mean[index] *= setting.scale / len(state.picks)
        mean[index] += setting.precision * point[index] / setting.terms
    _move(setting, span.taken + step + 1, point, state.squares, mean, state.normals)
    if (step + 1) % span.thin == 0 and (step + 1) // span.thin <= len(state.kept):
        state.kept[(step + 1) // span.thin - 1] = point


@numba.njit(nogil=True, error_model="numpy")
def _move(
    setting: Setting, time: int, point: Array, squares: Array, mean: Array, normals: Array
) -> None:
    """Take one Langevin step, unless it leaves the ball."""
    length = setting.step * time ** (-setting.tau)
    distance = 0.0
    for index in range(len(point)):
        _adapt(setting, time, squares, index, mean[index])
        square = squares[0, index]
        if setting.corrected and time < setting.burn_in:
            square = max(square, mean[index] * mean[index])
        scale = 1.0 / (setting.damping + math.sqrt(square))
        change = -setting.drift * length * scale * setting.terms * mean[index]
        change += math.sqrt(length * scale) * normals[index]
        mean[index] = point[index] + change
        distance += mean[index] * mean[index]
    if distance <= setting.radius * setting.radius:
        for index in range(len(point)):
            point[index] = mean[index]


@numba.njit(nogil=True, error_model="numpy")
def _adapt(setting: Setting, time: int, squares: Array, index: int, mean: float) -> None:
    """V <- mu V + (1 - mu) g^2; corrected: until the burn-in ends, then its second half's mean."""
    square = mean * mean
    if setting.corrected and time > setting.burn_in:
        return
    if setting.corrected and time == 1:
        squares[0, index] = square
    squares[0, index] = setting.memory * squares[0, index] + (1.0 - setting.memory) * square
    half = setting.burn_in // 2
    if setting.corrected and time > half:
        squares[1, index] += square / (setting.burn_in - half)
    if setting.corrected and time == setting.burn_in:
        squares[0, index] = squares[1, index]

"""A fast generator for chains: xoshiro256++ (Blackman and Vigna 2021), keyed with 256 bits.

A chain needs billions of numbers, more than the operating system's generator gives in time. The
key comes from there, once a chain, and is not stored.
"""

import math

import numba
import numpy as np
from numpy.typing import NDArray

from discreet.errors import SettingsError
from discreet.types import Array

State = NDArray[np.uint64]

KEY_BITS = 256

# numba makes floats of mixed signed and unsigned numbers, so every constant is unsigned
_U11, _U17, _U19, _U23, _U32, _U41, _U45 = (
    np.uint64(count) for count in (11, 17, 19, 23, 32, 41, 45)
)
_UNIT = 2.0**-53


def make_state(key: int) -> State:
    """The generator's state from a key of 256 bits."""
    if not 0 < key < 1 << KEY_BITS:
        raise SettingsError("the key of a chain's generator has 256 bits, not all of them 0")
    words = [(key >> (64 * word)) & 0xFFFFFFFFFFFFFFFF for word in range(4)]
    return np.array(words, dtype=np.uint64)


@numba.njit(nogil=True)
def next_word(state: State) -> np.uint64:
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
def fill_indices(state: State, count: int, picks: NDArray[np.int64]) -> None:
    """Uniform indices below ``count`` < 2^32, with replacement (bias below count 2^-32)."""
    size = np.uint64(count)
    for index in range(len(picks)):
        picks[index] = np.int64(((next_word(state) >> _U32) * size) >> _U32)


@numba.njit(nogil=True)
def fill_normals(state: State, normals: Array) -> None:
    """Standard normal numbers, in pairs (Box and Muller 1958)."""
    for index in range(0, len(normals), 2):
        # in (0, 1], so that the logarithm is finite
        first = float((next_word(state) >> _U11) + np.uint64(1)) * _UNIT
        angle = 2.0 * math.pi * float(next_word(state) >> _U11) * _UNIT
        radius = math.sqrt(-2.0 * math.log(first))
        normals[index] = radius * math.cos(angle)
        if index + 1 < len(normals):
            normals[index + 1] = radius * math.sin(angle)

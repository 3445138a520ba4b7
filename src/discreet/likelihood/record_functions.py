"""Compiled pointwise losses over flat arrays of (record, node) pairs; every loop vectorises.

`odds` comes in as y = exp(eta) where that is safe and as eta itself otherwise; `losses` and
`slopes` go out as phi and phi'. Array arguments never overlap within a loop, or the compiler
would not vectorise it: that is why the bits of a float are a second view used in a loop of its own.
"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.likelihood.jit import compiled
from discreet.types import Array

Bits = NDArray[np.uint64]

LOGIT, CLOGLOG, PROBIT = 0, 1, 2
ODDS, ETA = 0, 1
LARGEST = 300.0
"""While |a| + |c| stays below this, exp(a) exp(c) neither overflows nor loses digits."""
CELLS = 64
"""Cells a unit of eta in the table of the probit loss."""
TABLE_REACH = 40.0

# numba makes floats of mixed signed and unsigned numbers, so these are unsigned
_TWO_THIRDS = np.uint64(0x3FE5555555555555)
_TWO_TO_52 = np.uint64(0x4330000000000000)
_MANTISSA_BITS = np.uint64(52)
_ROUNDING = 1.5 * 2.0**52


@compiled
def logistic(
    odds: Array, bits: Bits, losses: Array, loss_bits: Bits, slopes: Array, total: int
) -> None:
    """phi = log(1 + y) and phi' = y/(1 + y); `bits`, `loss_bits` are views of odds and losses."""
    for index in range(total):
        denominator = 1.0 + odds[index]
        slopes[index] = odds[index] / denominator
        odds[index] = denominator
    _split(bits, loss_bits, total)
    for index in range(total):
        mantissa = odds[index]
        ratio = (mantissa - 1.0) / (mantissa + 1.0)
        square = ratio * ratio
        series = 1.0 / 13.0 + square * (1.0 / 15.0)
        series = 1.0 / 11.0 + square * series
        series = 1.0 / 9.0 + square * series
        series = 1.0 / 7.0 + square * series
        series = 1.0 / 5.0 + square * series
        series = 1.0 / 3.0 + square * series
        series = 1.0 + square * series
        exponent = losses[index] - 4503599627370496.0
        losses[index] = exponent * 0.6931471805599453 + 2.0 * ratio * series


@compiled
def _split(bits: Bits, exponents: Bits, total: int) -> None:
    """value = 2^e m with m in [2/3, 4/3), for values >= 1: bits of m, and bits of 2^52 + e.

    Then log(value) = e log 2 + 2 artanh((m - 1)/(m + 1)). Subtracting the bits of 2/3 moves the
    cut of the exponent there. Adding e to the bits of 2^52 makes the float 2^52 + e: AVX2 has no
    conversion from 64-bit integers.
    """
    for index in range(total):
        exponent = (bits[index] - _TWO_THIRDS) >> _MANTISSA_BITS
        bits[index] = bits[index] - (exponent << _MANTISSA_BITS)
        exponents[index] = exponent + _TWO_TO_52


@compiled
def decay(values: Array, bits: Bits, powers: Array, power_bits: Bits, total: int) -> None:
    """values <- exp(-values) for values >= 0, in vectors; `bits`, `power_bits` are views.

    x = k log 2 - r with |r| <= log(2)/2, exp(-x) = 2^-k e^r: adding 1.5 2^52 rounds -x/log 2 to
    the integer -k and leaves it in the last bits, from where it moves to the exponent.
    """
    for index in range(total):
        powers[index] = _ROUNDING - min(values[index], 700.0) * 1.4426950408889634
    for index in range(total):
        whole = powers[index] - _ROUNDING
        rest = -min(values[index], 700.0) - whole * 0.693147180369123816490
        rest -= whole * 1.90821492927058770002e-10
        series = 1.0 / 39916800.0 * rest + 1.0 / 3628800.0
        series = series * rest + 1.0 / 362880.0
        series = series * rest + 1.0 / 40320.0
        series = series * rest + 1.0 / 5040.0
        series = series * rest + 1.0 / 720.0
        series = series * rest + 1.0 / 120.0
        series = series * rest + 1.0 / 24.0
        series = series * rest + 1.0 / 6.0
        series = series * rest + 0.5
        values[index] = (series * rest + 1.0) * rest + 1.0
    for index in range(total):
        bits[index] += power_bits[index] << _MANTISSA_BITS


@compiled
def exponential(odds: Array, losses: Array, slopes: Array, total: int) -> None:
    """phi = phi' = y."""
    for index in range(total):
        losses[index] = odds[index]
        slopes[index] = odds[index]


@compiled
def logistic_everywhere(eta: Array, losses: Array, slopes: Array, total: int) -> None:
    """phi and phi' from eta of any size, without overflow."""
    for index in range(total):
        small = math.exp(-abs(eta[index]))
        losses[index] = max(eta[index], 0.0) + math.log1p(small)
        slopes[index] = (1.0 if eta[index] > 0.0 else small) / (1.0 + small)


@compiled
def exponential_everywhere(eta: Array, losses: Array, slopes: Array, total: int) -> None:
    """e^eta, cut at e^300: C_v is flat there, and infinity times zero is no number."""
    for index in range(total):
        rate = math.exp(min(eta[index], LARGEST))
        losses[index] = rate
        slopes[index] = rate


@compiled
def probit_everywhere(table: Array, eta: Array, losses: Array, slopes: Array, total: int) -> None:
    """-log Phi(-eta) and its slope."""
    for index in range(total):
        losses[index], slopes[index] = probit_loss(table, eta[index])


@compiled
def probit_loss(table: Array, eta: float) -> tuple[float, float]:
    """Hermite interpolation of (phi, phi', phi''), with the asymptotic form beyond the table."""
    if eta <= -TABLE_REACH:
        return 0.0, 0.0
    if not eta < TABLE_REACH:
        return 0.5 * eta * eta + math.log(eta) + 0.9189385332046727, eta + 1.0 / eta
    place = (eta + TABLE_REACH) * CELLS
    cell = int(place)
    u = place - cell
    flipped = 1.0 - u
    first, second = flipped * flipped * (1.0 + 2.0 * u), u * flipped * flipped / CELLS
    third, fourth = u * u * (3.0 - 2.0 * u), -u * u * flipped / CELLS
    loss = first * table[cell, 0] + second * table[cell, 1]
    loss += third * table[cell + 1, 0] + fourth * table[cell + 1, 1]
    slope = first * table[cell, 1] + second * table[cell, 2]
    slope += third * table[cell + 1, 1] + fourth * table[cell + 1, 2]
    return loss, slope


@compiled
def event_loss(link: int, table: Array, eta: float) -> tuple[float, float]:
    """What the event's interval contributes: psi and psi'.

    For the logit link the interval counts as survived as well, and psi - phi = -eta is added.
    """
    if link == LOGIT:
        return -eta, -1.0
    if link == PROBIT:
        loss, slope = probit_loss(table, -eta)
        return loss, -slope
    return cloglog_event(eta)


@compiled
def cloglog_event(eta: float) -> tuple[float, float]:
    """psi = -log(1 - exp(-y)) and psi' = -y/(e^y - 1), y = e^eta."""
    if eta < -30.0:
        return -eta, -1.0
    rate = math.exp(min(eta, LARGEST))
    if rate > 700.0:
        return 0.0, 0.0
    return -math.log(-math.expm1(-rate)), -rate / math.expm1(rate)

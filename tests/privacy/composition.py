"""Theorem 2 of docs/proofs/accounting.md: guarantees that were fixed before the first release.

A ledger decides by a filter whose order is fixed in advance; this is the other formula, beside it.
"""

import math
from fractions import Fraction

import numpy as np
from flint import ctx

from discreet.privacy.accountant import (
    NANO,
    PRECISION,
    Totals,
    best_order,
    conversion,
    epsilon_of,
    from_nano,
    to_nano,
)
from discreet.privacy.exact import rational
from discreet.privacy.gaussian import SMALLEST_DELTA
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.scales import exact


def totals_of(guarantees):
    """The totals of the guarantees, in their order."""
    totals = Totals()
    for guarantee in guarantees:
        totals = totals.plus(guarantee)
    return totals


def composed_rho(totals):
    """R + sum of epsilon_i tanh(epsilon_i / 2), rounded up."""
    with ctx.workprec(PRECISION):
        total = rational(totals.rho)
        for epsilon, count in totals.pure.items():
            size = rational(epsilon)
            total += count * (size * (size / 2).tanh())
        shown = float(upper(total))
        return shown if exact(shown) >= upper(total) else math.nextafter(shown, math.inf)


def compose(guarantees, delta):
    """One guarantee for all of them, at the delta given (0 if all are pure)."""
    totals = totals_of(guarantees)
    gaussian = totals.gaussian and exact(delta) >= SMALLEST_DELTA
    if gaussian and totals.rho > 0:
        epsilon = epsilon_of(float(totals.rho), delta)
    else:
        candidates = [to_nano(totals.pure_epsilon)] if totals.rho == 0 else []
        candidates += [at_best_order(totals, exact(delta))] if delta > 0 else []
        epsilon = from_nano(max(1, min(candidates)))
    rho = composed_rho(totals) if delta > 0 else None
    return Guarantee(epsilon, delta, rho, totals.relation, gaussian=gaussian)


def at_best_order(totals, delta):
    """The epsilon of theorem 2 at the best order, in billionths, rounded up."""
    pure = [(float(epsilon), count) for epsilon, count in totals.pure.items()]

    def epsilon_at(orders):
        total = orders * float(totals.rho) + np.log1p(-1 / orders)
        total -= (math.log(delta) + np.log(orders)) / (orders - 1)
        for epsilon, count in pure:
            divergence = log_cosh((orders - 0.5) * epsilon) - log_cosh(epsilon / 2)
            total += count * divergence / (orders - 1)
        return total

    order = best_order(epsilon_at)
    with ctx.workprec(PRECISION):
        return math.ceil(upper(totals.divergence(order) + conversion(order, delta)) * NANO)


def log_cosh(x):
    return np.logaddexp(x, np.negative(x)) - math.log(2)


def upper(ball):
    """The upper end of a ball, exactly."""
    mantissa, exponent = ball.upper().man_exp()
    return int(mantissa) * Fraction(2) ** int(exponent)

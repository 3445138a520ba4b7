"""Composition of guarantees and conversion of noise to epsilon, rounded against the user.

Gaussian noise has a curve of its own (`privacy.gaussian`).  All other noise, and mixtures, follow

    epsilon(rho, delta) = min_a [a rho + c(a, delta)],
    c(a, delta) = log(1 - 1/a) + (log(1/delta) - log a) / (a - 1),

the curve of Canonne, Kamath and Steinke (2020), proposition 12, which OpenDP uses too.  Every order
a > 1 gives a valid bound: the search for the best order is in floating point, the value at that order
is certified by ball arithmetic.

`PrivacyFilter` is a budget that is spent step by step, by requests that may depend on all earlier
releases.  The order at which divergences are added and the division of delta depend on the budget and
the kind of the first request alone, so that the total is (epsilon, delta)-DP for every strategy
(section 5).  Proofs: docs/proofs/accounting.md.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Self

import numpy as np
from flint import arb, ctx

from discreet.errors import SettingsError
from discreet.privacy.exact import rational
from discreet.privacy.gaussian import SMALLEST_DELTA, largest_rho, satisfies, smallest_integer
from discreet.privacy.guarantee import (
    Guarantee,
    Relation,
    checked_delta,
    checked_epsilon,
)
from discreet.privacy.scales import Number, exact
from discreet.types import Array

NANO = 10**9
"""Budgets are kept in billionths."""

UNUSED_SHARE = Fraction(1, 1024)
"""The part of delta that nothing is admitted with.

Earlier versions kept it for a kind of guarantee that no release has had.  Requests and ledgers are
computed without it since, so it stays.
"""

MIXED_SHARE = Fraction(1, 16)
"""The part of delta that is set aside for mixtures in a budget that begins with Gaussian noise."""

PRECISION = 128
ORDERS = 1 + np.logspace(-7, 13, 401)
"""The first grid of the search for the best order."""

LARGEST_CURVED = 64
"""Above this epsilon the divergence of a pure guarantee is epsilon itself, to many digits."""


def to_nano(value: Number) -> int:
    """Return the number in billionths, rounded up, as it is charged."""
    return math.ceil(exact(value) * NANO)


def from_nano(units: int) -> float:
    """Return the smallest float whose decimal is not below this many billionths."""
    shown = units / NANO
    return shown if exact(shown) * NANO >= units else math.nextafter(shown, math.inf)


@dataclass(frozen=True)
class Totals:
    """The sums of a sequence of guarantees, in exact rationals.

    `pure` counts the epsilons of pure guarantees; `gaussian` is true if all noise is Gaussian.
    """

    relation: Relation | None = None
    first_kind: str | None = None
    pure: Mapping[Fraction, int] = field(default_factory=lambda: MappingProxyType({}))
    rho: Fraction = Fraction(0)
    gaussian: bool = True

    def plus(self, guarantee: Guarantee) -> Self:
        """Return the totals with one more guarantee; relations are never mixed."""
        if self.relation not in {None, guarantee.relation}:
            raise SettingsError("guarantees under different neighbouring relations do not compose")
        pure = self.pure
        if guarantee.rho is None:
            epsilon = guarantee.exact_epsilon
            pure = MappingProxyType({**pure, epsilon: pure.get(epsilon, 0) + 1})
        return replace(
            self,
            relation=guarantee.relation,
            first_kind=self.first_kind or guarantee.kind,
            pure=pure,
            rho=self.rho + guarantee.exact_rho,
            gaussian=self.gaussian and guarantee.gaussian,
        )

    def divergence(self, order: Fraction) -> arb:
        """Return a ball around a R + sum of g(a, epsilon_i), the Rényi divergence."""
        terms = (count * pure_divergence(order, epsilon) for epsilon, count in self.pure.items())
        return sum(terms, rational(order * self.rho))

    @property
    def pure_epsilon(self) -> Fraction:
        """The sum of the epsilons of pure guarantees."""
        return sum((count * epsilon for epsilon, count in self.pure.items()), Fraction(0))


def epsilon_of(rho: float, delta: float) -> float:
    """Return epsilon, rounded up to 1e-9, such that Gaussian noise of rho is (epsilon, delta)-DP."""
    size, chance = exact(rho), _gaussian_delta(delta)
    most = max(1, _renyi_nano(size, chance))  # such noise is rho-zCDP too
    return from_nano(
        smallest_integer(lambda units: satisfies(Fraction(units, NANO), chance, size), 0, most)
    )


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return epsilon, rounded up to 1e-9, such that rho-zCDP is (epsilon, delta)-DP."""
    return from_nano(_renyi_nano(exact(rho), _positive_delta(delta)))


def rho_for(epsilon: float, delta: float) -> float:
    """Return rho, rounded down, of Gaussian noise for an (epsilon, delta)-DP release.

    A part of delta is not used, so that the request fills a budget of the same size exactly.
    """
    share = gaussian_share(_gaussian_delta(delta))
    return float(largest_rho(exact(checked_epsilon(epsilon)), share))


def promised(epsilon: float, delta: float, relation: Relation = "replace-one") -> Guarantee:
    """Return the guarantee of a release: pure if delta is 0, of Gaussian noise otherwise."""
    if delta == 0:
        return Guarantee(epsilon, relation=relation)
    return Guarantee(epsilon, delta, rho_for(epsilon, delta), relation, gaussian=True)


def conversion(order: Fraction, delta: Fraction) -> arb:
    """Return a ball around c(a, delta)."""
    a = rational(order)
    return (1 - 1 / a).log() - (rational(delta).log() + a.log()) / (a - 1)


def pure_divergence(order: Fraction, epsilon: Fraction) -> arb:
    """Return a ball around g(a, epsilon), or epsilon itself if the two hardly differ."""
    if epsilon > LARGEST_CURVED:
        return rational(epsilon)
    a, size = rational(order), rational(epsilon)
    return (((2 * a - 1) * size / 2).cosh() / (size / 2).cosh()).log() / (a - 1)


def gaussian_share(delta: Fraction) -> Fraction:
    """Return the part of delta that is used, and not set aside for mixtures."""
    return delta * (1 - UNUSED_SHARE - MIXED_SHARE)


@lru_cache(maxsize=64)
def filter_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the best order for the zCDP request that uses up (epsilon, delta)."""
    room, log_delta = float(epsilon), math.log(delta)
    return best_order(lambda a: (_float_conversion(a, log_delta) - room) / a)


def best_order(objective: Callable[[Array], Array]) -> Fraction:
    """Return an order near the minimum of the objective, rounded so that all machines agree."""
    orders = ORDERS
    for _ in range(3):
        middle = int(np.argmin(objective(orders)))
        low, high = orders[max(middle - 1, 0)], orders[min(middle + 1, orders.size - 1)]
        orders = 1 + np.geomspace(low - 1, high - 1, 101)
    excess = float(orders[int(np.argmin(objective(orders)))]) - 1
    mantissa, exponent = math.frexp(excess)
    return 1 + Fraction(round(mantissa * 2**12), 2**12) * Fraction(2) ** exponent


def _renyi_nano(rho: Fraction, delta: Fraction) -> int:
    """Return the epsilon of rho-zCDP at the best order, in billionths, rounded up."""
    size, log_delta = float(rho), math.log(delta)
    order = best_order(lambda orders: orders * size + _float_conversion(orders, log_delta))
    with ctx.workprec(PRECISION):
        bound = (rational(order * rho) + conversion(order, delta)).upper()
        if not bound.is_finite():
            raise SettingsError("epsilon or delta is out of the range that can be accounted for")
        mantissa, exponent = bound.man_exp()
    return math.ceil(int(mantissa) * Fraction(2) ** int(exponent) * NANO)


def _float_conversion(orders: Array, log_delta: float) -> Array:
    return np.log1p(-1 / orders) - (log_delta + np.log(orders)) / (orders - 1)


def _positive_delta(delta: float) -> Fraction:
    if not checked_delta(delta) > 0:
        raise SettingsError("Gaussian noise needs a delta greater than 0")
    return exact(delta)


def _gaussian_delta(delta: float) -> Fraction:
    if _positive_delta(delta) < SMALLEST_DELTA:
        raise SettingsError("Gaussian noise needs a delta of at least 1e-18")
    return exact(delta)


@dataclass(frozen=True)
class PrivacyFilter:
    """Admits requests as long as all releases together are (epsilon, delta)-DP."""

    epsilon: float
    delta: float = 0.0
    relation: Relation = "replace-one"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "delta", checked_delta(self.delta))

    def admits(self, spent: Totals, request: Guarantee) -> bool:
        """Return whether the budget covers the request in addition to what was spent."""
        if request.relation != self.relation:
            raise SettingsError("the request and the budget speak of different relations")
        _require_consistent(request)
        return self.covers(spent.plus(request))

    def covers(self, totals: Totals) -> bool:
        """Return whether the budget covers the totals; undecidable cases are not covered."""
        if totals.rho == 0 and totals.pure_epsilon <= exact(self.epsilon):
            return True
        if not self.delta > 0:
            return False
        limit = self._gaussian_limit(totals)
        if limit is not None and totals.rho <= limit:
            return True
        # rule (B) certainly holds: a* R + sum g(a*, eps_i) + c(a*, delta_z) <= eps
        order, offset = self._conversion(totals)
        with ctx.workprec(PRECISION):
            return bool(totals.divergence(order) + offset <= rational(exact(self.epsilon)))

    def left(self, spent: Totals, delta: float = 0.0) -> float:
        """Return the largest epsilon, in whole billionths, of one more request; 0 if there is none.

        The request is pure for delta = 0 and has Gaussian noise, calibrated at `delta`, otherwise.
        """

        def refused(units: int) -> bool:
            request = promised(from_nano(units), delta, self.relation)
            return not self.covers(spent.plus(request))

        return from_nano(smallest_integer(refused, 0, to_nano(self.epsilon) + 1) - 1)

    def more_like(self, spent: Totals, request: Guarantee, most: int = 1000) -> int:
        """Count the further requests like this one that the budget covers, up to `most`."""
        for count in range(most):
            spent = spent.plus(request)
            if not self.covers(spent):
                return count
        return most

    def spent_share(self, spent: Totals, request: Guarantee) -> float:
        """Return the spent part of the budget, by the rule with most room for the request.

        The rules add up epsilons, rho, or divergences at the filter's order.
        """
        now, then = self._shares(spent), self._shares(spent.plus(request))
        # without a rule nothing like the request was ever admitted
        return now.get(min(then, key=then.__getitem__), 0.0) if then else 1.0

    def _shares(self, totals: Totals) -> dict[str, float]:
        """Return the spent part by each of the rules (A), (G) and (B) that applies."""
        shares, epsilon = {}, exact(self.epsilon)
        if totals.rho == 0:
            shares["A"] = float(totals.pure_epsilon / epsilon)
        limit = self._gaussian_limit(totals)
        if limit is not None:
            shares["G"] = float(totals.rho / limit)
        if self.delta > 0:
            order, offset = self._conversion(totals)
            with ctx.workprec(PRECISION):
                shares["B"] = float(totals.divergence(order) / (rational(epsilon) - offset))
        return shares

    def _gaussian_limit(self, totals: Totals) -> Fraction | None:
        """Return rho*, or None if rule (G) does not apply."""
        if not totals.gaussian or exact(self.delta) < SMALLEST_DELTA:
            return None
        return exact(rho_for(self.epsilon, self.delta))

    def _conversion(self, totals: Totals) -> tuple[Fraction, arb]:
        """Return a* and c(a*, delta_z): less of delta is left for (B) if (G) may admit requests."""
        share = MIXED_SHARE if totals.first_kind == "gaussian" else 1 - UNUSED_SHARE
        delta = exact(self.delta) * share
        order = filter_order(exact(self.epsilon), delta)
        with ctx.workprec(PRECISION):
            return order, conversion(order, delta)


def _require_consistent(guarantee: Guarantee) -> None:
    """Raise `SettingsError` if a request states a smaller epsilon than its rho gives."""
    if guarantee.rho is None:
        return
    least_epsilon = epsilon_of if guarantee.gaussian else zcdp_epsilon
    counted = least_epsilon(guarantee.rho, guarantee.delta)
    if guarantee.epsilon < counted:
        raise SettingsError(
            f"epsilon {guarantee.epsilon:g} is less than a ledger counts for its rho and delta, "
            f"{counted:g}: state at least that."
        )

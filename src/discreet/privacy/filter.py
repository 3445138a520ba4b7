"""A budget that is spent step by step, by requests that may depend on every earlier release.

The order at which divergences are added and the part of delta set aside for leaks are functions of
the budget alone; that is what makes the total (epsilon, delta)-DP whatever strategy asks.  Proof:
docs/proofs/accounting.md, section 4.
"""

from dataclasses import dataclass

from flint import ctx

from discreet.errors import SettingsError
from discreet.privacy.accountant import (
    LEAK_SHARE,
    PRECISION,
    Totals,
    conversion,
    epsilon_of,
    filter_order,
    from_nano,
    rho_for,
    to_nano,
    zcdp_delta,
)
from discreet.privacy.guarantee import Guarantee, Relation, checked_delta, checked_epsilon
from discreet.privacy.reals import rational
from discreet.privacy.scales import exact


@dataclass(frozen=True)
class PrivacyFilter:
    """Admits requests as long as everything released stays (epsilon, delta)-DP."""

    epsilon: float
    delta: float = 0.0
    relation: Relation = "replace-one"

    def __post_init__(self) -> None:
        """Refuse what is no budget."""
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "delta", checked_delta(self.delta))

    def admits(self, spent: Totals, request: Guarantee) -> bool:
        """Whether the request fits on top of what was spent."""
        if request.relation != self.relation:
            raise SettingsError("the request and the budget speak of different relations")
        _require_consistent(request)
        return self.covers(spent.plus(request))

    def covers(self, totals: Totals) -> bool:
        """Whether the budget covers the totals; undecidable cases count as not covered."""
        if totals.first_kind == "approximate":
            return self._covers_as_stated(totals)
        leak_room = exact(self.delta) * LEAK_SHARE
        if totals.leaks > leak_room:
            return False
        if totals.rho == 0 and totals.pure_epsilon <= exact(self.epsilon):
            return True
        return self.delta > 0 and self._covers_divergence(totals)

    def left(self, spent: Totals, delta: float = 0.0) -> float:
        """The largest epsilon, in whole billionths, of one more request; 0 if there is none.

        The request is pure for delta = 0 and zCDP, calibrated at `delta`, otherwise.
        """
        low, high = 0, to_nano(self.epsilon) + 1
        while high - low > 1:
            middle = (low + high) // 2
            admitted = self._admits_epsilon(spent, from_nano(middle), delta)
            low, high = (middle, high) if admitted else (low, middle)
        return from_nano(low)

    def more_like(self, spent: Totals, request: Guarantee, most: int = 1000) -> int:
        """How many more requests like this one fit, counted up to `most`."""
        for count in range(most):
            spent = spent.plus(request)
            if not self.covers(spent):
                return count
        return most

    def spent_share(self, spent: Totals, request: Guarantee) -> float:
        """The part of the budget that is used up, by the rule that has most room for the request.

        Each rule adds numbers up: epsilons, or divergences at the filter's order.
        """
        rules = [
            rule
            for rule in (self._pure_share, self._divergence_share)
            if rule(spent.plus(request)) is not None
        ]
        if spent.first_kind == "approximate" or not rules:
            return self._stated_share(spent)
        best = min(rules, key=lambda rule: rule(spent.plus(request)) or 0.0)
        return best(spent) or 0.0

    def _pure_share(self, totals: Totals) -> float | None:
        return float(totals.pure_epsilon / exact(self.epsilon)) if totals.rho == 0 else None

    def _divergence_share(self, totals: Totals) -> float | None:
        if not self.delta > 0:
            return None
        order = filter_order(self.epsilon, self.delta)
        with ctx.workprec(PRECISION):
            room = rational(exact(self.epsilon)) - conversion(order, zcdp_delta(exact(self.delta)))
            return float(totals.divergence(order) / room)

    def _stated_share(self, totals: Totals) -> float:
        share = totals.stated_epsilon / exact(self.epsilon)
        return float(max(share, totals.stated_delta / exact(self.delta) if self.delta else share))

    def _admits_epsilon(self, spent: Totals, epsilon: float, delta: float) -> bool:
        rho = rho_for(epsilon, delta) if delta > 0 else None
        return self.covers(spent.plus(Guarantee(epsilon, delta, rho, self.relation)))

    def _covers_as_stated(self, totals: Totals) -> bool:
        fits = totals.stated_epsilon <= exact(self.epsilon)
        return fits and totals.stated_delta <= exact(self.delta)

    def _covers_divergence(self, totals: Totals) -> bool:
        """Rule (B): a* R + sum g(a*, epsilon_i) + c(a*, delta_z) <= epsilon, for certain."""
        order = filter_order(self.epsilon, self.delta)
        with ctx.workprec(PRECISION):
            used = totals.divergence(order) + conversion(order, zcdp_delta(exact(self.delta)))
            return bool(used <= rational(exact(self.epsilon)))


def _require_consistent(guarantee: Guarantee) -> None:
    """A request that states less than its rho gives is refused, not believed."""
    if guarantee.rho is None:
        return
    if guarantee.epsilon < epsilon_of(guarantee.rho, guarantee.delta):
        raise SettingsError("the guarantee states an epsilon below the one its rho and delta give")

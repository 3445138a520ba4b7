"""How large the error of a private fit will be, before any data is touched.

From public facts alone: a synthetic cohort (numbers uniform on their ranges, levels equally likely),
nobody censored before the horizon, the constant hazard h with n (1 - (1 - h)^q) = events, and the
expected information H there. Every mechanism's noise is then set against H:

    err = sqrt(E (f - f*)' H (f - f*) / d),   f* the maximum likelihood estimate,

so 1 is what sampling costs anyway. A prediction is a guess of accuracy; privacy never rests on it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from discreet.design.baseline import parse_baseline
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.errors import SettingsError
from discreet.mechanisms import registered
from discreet.mechanisms.contract import Plan, Predicts, require_positive
from discreet.mechanisms.outlook import Outlook
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.shares import ALONE, NoiseShares

PROOFS = {
    "proved": "proved",
    "conditional": "conditional",
    "ideal-draw-only": "for an ideal draw only",
    "unproved": "without a proof",
}
NOT_ACROSS_SITES = "not offered across sites"
NO_PREDICTION = "no prediction for this mechanism"


@dataclass(frozen=True)
class Forecast:
    """One mechanism: its guarantee, err and standard errors, or why there are none."""

    mechanism: str
    guarantee: Guarantee | None = None
    error: float | None = None
    standard_errors: tuple[float, ...] = ()
    note: str = ""

    @property
    def promise(self) -> str:
        """The guarantee in a few words."""
        if self.guarantee is None:
            return "-"
        proof = PROOFS[self.guarantee.status]
        return f"epsilon = {self.guarantee.epsilon:g}, delta = {self.guarantee.delta:.2g}; {proof}"


def outlook_for(
    schema: Schema,
    persons: int,
    events: int,
    link: str = "logit",
    baseline: str = "natural-spline:3",
    sites: NoiseShares = ALONE,
) -> Outlook:
    """The outlook with names read; every error a user can fix comes from here."""
    schema.require_bounds()
    return Outlook(schema, persons, events, get_link(link), parse_baseline(baseline), sites)


def forecasts(outlook: Outlook, epsilon: float, delta: float | None = None) -> list[Forecast]:
    """Every registered mechanism, the most accurate first."""
    require_positive("epsilon", epsilon)
    if delta is not None and not 0 <= delta < 1:
        raise SettingsError("delta must be at least 0 and below 1")
    given = {"epsilon": epsilon, "delta": delta, "survival": outlook.survival}
    found = [_forecast(outlook, name, kind, given) for name, kind in registered().items()]
    return sorted(found, key=lambda item: math.inf if item.error is None else item.error)


def _forecast(
    outlook: Outlook, name: str, kind: type[Any], given: Mapping[str, float | None]
) -> Forecast:
    known = {item.name for item in fields(kind)}
    if outlook.sites != ALONE and not getattr(kind, "across_sites", False):
        return Forecast(name, note=NOT_ACROSS_SITES)
    try:
        mechanism = kind(**{key: value for key, value in given.items() if key in known})
        plan: Plan = mechanism.plan(outlook.facts)
    except SettingsError as refusal:
        return Forecast(name, note=str(refusal))
    if not isinstance(mechanism, Predicts):
        return Forecast(name, plan.guarantee, note=NO_PREDICTION)
    extra = mechanism.variance(plan, outlook)
    total = extra + outlook.sampling_variance
    return Forecast(name, plan.guarantee, outlook.error(extra), outlook.deviations(total))

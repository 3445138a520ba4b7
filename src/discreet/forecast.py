"""How large the error of a private fit will be, before any data is touched.

From public facts alone: a synthetic cohort (numbers uniform on their ranges, levels equally likely),
nobody censored before the horizon, the constant hazard h with n (1 - (1 - h)^q) = events, and the
expected information H there. Every mechanism's noise is then set against H:

    err = sqrt(E (f - f*)' H (f - f*) / d),   f* the maximum likelihood estimate,

so 1 is what sampling costs anyway. A prediction is a guess of accuracy; privacy never rests on it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.design.baseline import Baseline, parse_baseline
from discreet.design.design import Design
from discreet.design.link import Link, get_link
from discreet.design.schema import Schema
from discreet.errors import SettingsError
from discreet.mechanisms import registered
from discreet.mechanisms.contract import (
    MOST_PERSONS,
    Facts,
    Plan,
    is_count,
    require_positive,
)
from discreet.mechanisms.newton.bound import Cohort
from discreet.mechanisms.newton.cohort import COHORT, Profile, draw_cohort, released_shares
from discreet.mechanisms.newton.counts import marginals_of
from discreet.mechanisms.newton.equation import Setting, expected_information
from discreet.mechanisms.newton.mechanism import Layout
from discreet.mechanisms.newton.prediction import predicted_variance
from discreet.mechanisms.newton.shape import Shape
from discreet.mechanisms.outlook import BASELINE_VARIANCE, HALF_RANGE_VARIANCE
from discreet.mechanisms.selected import SelectedPlan
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.shares import ALONE, NoiseShares
from discreet.types import Array

VALUE_BINS = 64
EFFECT_SHARE = 0.25
"""Effects are taken to be half as large as the cautious guess by which the perturbation mechanisms
choose their ridge: what the designs of studies/results/planner.csv come to."""
PROOFS = {
    "proved": "proved",
    "conditional": "conditional",
    "ideal-draw-only": "for an ideal draw only",
    "unproved": "without a proof",
}
NOT_ACROSS_SITES = "not offered across sites"
NO_PREDICTION = "no prediction for this mechanism"


@dataclass(frozen=True)
class Outlook:
    """The public facts of a fit that is being planned, and the cohort guessed from them."""

    schema: Schema
    persons: int
    events: int
    link: Link
    baseline: Baseline
    sites: NoiseShares = ALONE

    def __post_init__(self) -> None:
        """Refuse numbers that no cohort has."""
        if not is_count(self.persons) or self.persons > MOST_PERSONS:
            raise SettingsError(f"n must be a whole number of persons from 1 to {MOST_PERSONS:,}.")
        if not is_count(self.events) or self.events > self.persons:
            raise SettingsError("events must be a whole number from 1 to n")

    @cached_property
    def design(self) -> Design:
        """In the coordinates that the corrected mechanisms use."""
        return Design(self.schema, self.baseline)

    @property
    def facts(self) -> Facts:
        """What plans are made from."""
        return Facts.of(self.persons, self.design, self.link, self.sites)

    @property
    def survival(self) -> float:
        """The share that reaches the horizon; half a person where everybody has an event."""
        return max(self.persons - self.events, 0.5) / self.persons

    @cached_property
    def profile(self) -> Profile:
        """Expected events and risk set by interval at a constant hazard."""
        intervals = self.design.intervals
        at_risk = self.persons * self.survival ** (np.arange(intervals) / intervals)
        events = at_risk * self._hazard
        edges = np.array([0, intervals], dtype=np.int64)
        table = np.array([[0.0], [events.sum()]])
        made = Profile(events, at_risk, np.ones(intervals), float(self.events))
        return replace(made, table=table, edges=edges)

    @cached_property
    def people(self) -> Cohort:
        """The synthetic cohort."""
        marginals = marginals_of(self.design, VALUE_BINS)
        cohort, parts = np.zeros((1, 1, 0)), np.ones((1, 1))
        if marginals:
            equal = [np.full(item.bins, self.persons / item.bins) for item in marginals]
            noisy = np.concatenate(equal)
            shares = released_shares(self.design, marginals, noisy, self.persons, 0.0)
            cohort, parts = draw_cohort(shares, np.eye(len(self.design.covariates.names)), COHORT)
        edges = np.array([0, self.design.intervals], dtype=np.int64)
        present, events = self.profile.present, float(self.events)
        return Cohort(cohort, self.persons * parts, edges, present, events)

    @cached_property
    def shape(self) -> Shape:
        """A life table that the model follows."""
        return Shape(self.design, self.link, self.people, self.profile)

    @cached_property
    def point(self) -> Array:
        """The constant hazard, no covariate effect."""
        level = self.link.predictor(self._hazard)
        constant = np.linalg.lstsq(self.design.basis, np.ones(self.design.intervals), rcond=None)[0]
        point = np.zeros(self.design.dimension)
        point[: len(constant)] = level * constant
        return point

    @cached_property
    def information(self) -> Array:
        """H: expected information of all persons at the point, in internal coordinates."""
        return expected_information(self.design, self.link, self.point, self.people)

    @property
    def effects(self) -> Array:
        """Guessed variances of the baseline's departures and of the covariates' effects."""
        size = self.design.basis.shape[1]
        width = self.design.dimension - size
        guessed = [np.full(size, BASELINE_VARIANCE), np.full(width, HALF_RANGE_VARIANCE * width)]
        return EFFECT_SHARE * np.concatenate(guessed)

    @property
    def sampling_errors(self) -> tuple[float, ...]:
        """Standard errors of the maximum likelihood estimate, one a covariate's coefficient."""
        return self.deviations(_inverse(self.information))

    def deviations(self, variance: Array) -> tuple[float, ...]:
        """Standard deviations of the covariates' coefficients on the user's scale."""
        user = self.design.to_user @ variance @ self.design.to_user.T
        return tuple(np.sqrt(np.diag(user)[self.design.basis.shape[1] :]).tolist())

    def error(self, variance: Array) -> float:
        """sqrt(tr(H V) / d)."""
        return math.sqrt(float(np.trace(self.information @ variance)) / len(variance))

    @property
    def _hazard(self) -> float:
        return -math.expm1(math.log(self.survival) / self.design.intervals)


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
    """The outlook with names read; every error a user can mend comes from here."""
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
    predict = _VARIANCES.get(name)
    if predict is None:
        return Forecast(name, plan.guarantee, note=NO_PREDICTION)
    extra = predict(outlook, plan)
    total = extra + _inverse(outlook.information)
    return Forecast(name, plan.guarantee, outlook.error(extra), outlook.deviations(total))


def _newton(outlook: Outlook, plan: Plan) -> Array:
    setting = Setting(outlook.design, outlook.link, Layout.read(plan).budget)
    prior = setting.prior(outlook.profile)
    far = float(np.sum(np.diag(outlook.information) * outlook.effects))
    return predicted_variance(setting, outlook.point, outlook.shape, prior, far)


def _perturbation(outlook: Outlook, plan: Plan, *, output: float, tilt: float) -> Array:
    """(H + k)^-1 (k^2 T + (d + 1) tilt^2) (H + k)^-1 + (d + 1) output^2 in w, f = f_0 + S w."""
    size, baseline = plan.dimension, int(plan.number("baseline"))
    scale = np.where(np.arange(size) < baseline, 2.0 ** plan.number("baseline_shift"), 1.0)
    ridge = plan.number("total_ridge")
    inverse = np.linalg.inv(outlook.information * np.outer(scale, scale) + ridge * np.eye(size))
    pull = ridge**2 * outlook.effects / scale**2 + (size + 1) * tilt**2
    spread = (inverse * pull) @ inverse + (size + 1) * output**2 * np.eye(size)
    return np.asarray(spread * np.outer(scale, scale))


def _output(outlook: Outlook, plan: Plan) -> Array:
    return _perturbation(outlook, plan, output=plan.noise_scale, tilt=0.0)


def _objective(outlook: Outlook, plan: Plan) -> Array:
    return _perturbation(outlook, plan, output=plan.number("output_scale"), tilt=plan.noise_scale)


def _selected(outlook: Outlook, plan: Plan) -> Array:
    """The best candidate: what a selection without mistakes would publish."""
    candidates = plan.candidates if isinstance(plan, SelectedPlan) else ()
    found = [_VARIANCES[item.mechanism](outlook, item) for item in candidates]
    return min(found, key=outlook.error)


def _inverse(matrix: Array) -> Array:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


_VARIANCES: dict[str, Callable[[Outlook, Plan], Array]] = {
    "newton": _newton,
    "output": _output,
    "objective": _objective,
    "selected": _selected,
}

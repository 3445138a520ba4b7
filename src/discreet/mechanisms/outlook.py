"""A public guess of the result of a fit, by which plans weigh noise against ridge.

A plan must choose a ridge, a scale of the baseline and a split of epsilon without the data. It
minimises the error predicted for a guessed cohort: a share `survival` reaches the horizon at a
constant hazard, covariates spread uniformly over their ranges, the baseline departs from the
constant by about one unit of the link's scale and half a range of a covariate moves it by half a
unit. A wrong guess costs accuracy, never privacy. See `docs/proofs/output-perturbation.md`.

`Outlook` is the guess for planning: the cohort that the schema, n and the number of events suggest,
for which every mechanism predicts its own error (`forecast`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import special

from discreet.core.bins import marginals_of
from discreet.core.released import Released
from discreet.design.baseline import Baseline
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.design.schema import Categorical, Numeric, Schema
from discreet.errors import SettingsError
from discreet.estimator.numerical import MEMBERS
from discreet.estimator.population import drawn_from, latent_columns, shares_of
from discreet.estimator.transcript import Transcript
from discreet.mechanisms.bounds import Basis
from discreet.mechanisms.contract import MOST_PERSONS, Facts
from discreet.privacy.scales import is_count
from discreet.privacy.shares import ALONE, NoiseShares
from discreet.types import Array, Integers

BASELINE_VARIANCE = 1.0
HALF_RANGE_VARIANCE = 0.25
CENTRE_BITS = 10
VALUE_BINS = 64
CORRELATION = 0.4
"""Between any two covariates. Chosen with 0.2.0 on the development sets of studies/plan.py: with
independent covariates predicted standard errors were too small by a tenth to a third."""
EFFECT_SHARE = 0.25
"""Effects are half as large as in the cautious guess by which the perturbation mechanisms choose their
ridge. Chosen with 0.1.0 on simulated designs."""


@dataclass(frozen=True)
class Guess:
    """Centre f_0 of the ridge, and per direction the information H_j and the variance tau_j^2."""

    centre: Array
    predictor: Array
    information: Array
    variance: Array
    baseline: int

    def scaled(self, factor: float) -> "Guess":
        """Return the guess in coordinates w with f = f_0 + (factor w_baseline, w_covariates)."""
        scale = np.where(np.arange(len(self.information)) < self.baseline, factor, 1.0)
        return Guess(
            self.centre,
            self.predictor,
            self.information * scale**2,
            self.variance / scale**2,
            self.baseline,
        )

    def error(self, ridge: float, tilt: float, output: float) -> float:
        """Predict the error in standard errors, sqrt(mean_j H_j E(w_j - w*_j)^2).

        E(w_j - w*_j)^2 = (k^2 tau_j^2 + (d + 1) tilt^2) / (H_j + k)^2 + (d + 1) output^2 for a
        tilt b and output noise of L2-Laplace scales `tilt`, `output`: Cov = (d + 1) scale^2 I.
        """
        factor = len(self.information) + 1.0
        shrunk = ridge**2 * self.variance + factor * tilt**2
        square = shrunk / (self.information + ridge) ** 2 + factor * output**2
        return math.sqrt(float(np.mean(self.information * square)))


def public_guess(facts: Facts, survival: float) -> Guess:
    """Return the guess for a cohort of which the share `survival` reaches the horizon.

    Centre: constant hazard h with (1 - h)^q = survival, no covariate effect, rounded to 2^-10 so
    that it lies on every release grid. Information: n sum_s S_{s-1} i(eta) z_s z_s' with
    E x x' = I / (3 p), the covariance of uniform covariates in the unit ball's box.
    """
    basis = Basis(facts.design.basis, facts.covariates > 0)
    hazard = -math.expm1(math.log(survival) / basis.intervals)
    level = facts.link.predictor(hazard)
    centre = np.zeros(facts.dimension)
    steps = np.rint(np.ldexp(level * basis.constant, CENTRE_BITS))
    centre[: basis.dimension] = np.ldexp(steps, -CENTRE_BITS)
    predictor = basis.rows @ centre[: basis.dimension]
    reached = survival ** (np.arange(basis.intervals) / basis.intervals)
    weights = facts.persons * reached * facts.link.information(predictor)
    covariates = facts.covariates
    information = np.concatenate(
        [
            np.linalg.eigvalsh((basis.rows * weights[:, None]).T @ basis.rows),
            np.full(covariates, weights.sum() / (3.0 * max(covariates, 1))),
        ]
    )
    variance = np.concatenate(
        [
            np.full(basis.dimension, BASELINE_VARIANCE),
            np.full(covariates, HALF_RANGE_VARIANCE * covariates),
        ]
    )
    return Guess(centre, predictor, information, variance, basis.dimension)


@dataclass(frozen=True)
class CovariateSpread:
    """Public knowledge of the covariates' distributions, by name.

    `sd` are standard deviations of numbers on the user's own scale; `shares` those of the levels of a
    category, the reference first, which need not add up to 1.
    """

    sd: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def require(self, schema: Schema) -> None:
        """Raise `SettingsError` for other names than the schema's, and impossible numbers."""
        known = {item.name: item for item in schema.covariates}
        for name in (*self.sd, *self.shares):
            if name not in known:
                raise SettingsError(f"the schema has no covariate '{name}' to know anything of.")
        for name, sd in self.sd.items():
            item = known[name]
            if not isinstance(item, Numeric) or not item.plain:
                raise SettingsError(f"'{name}' is not a number on its own scale; it has no sd.")
            low, high = item.bounds
            mean = (item.typical_value - low) / (high - low)
            largest = (high - low) * math.sqrt(mean * (1.0 - mean))
            if not 0.0 < sd < largest:
                raise SettingsError(
                    f"the sd of '{name}' must lie between 0 and {largest:.4g}, given its bounds."
                )
        for name, shares in self.shares.items():
            item = known[name]
            if not isinstance(item, Categorical) or len(shares) != len(item.levels):
                raise SettingsError(f"'{name}' needs one share for each of its levels.")
            if not all(share > 0.0 and math.isfinite(share) for share in shares):
                raise SettingsError(f"shares of '{name}' must be positive.")

    def counts(self, item: Numeric | Categorical, bins: int, persons: int) -> Array:
        """Return the number of persons in each bin, equal in all bins if nothing is known."""
        if isinstance(item, Categorical) and item.name in self.shares:
            shares = np.array(self.shares[item.name], dtype=np.float64)
            extra = np.full(bins - len(shares), 1e-3 * shares.sum())  # the indicator of missing
            whole = np.concatenate([shares, extra])
            return persons * whole / whole.sum()
        if isinstance(item, Numeric) and item.name in self.sd:
            # the beta law between the bounds with this deviation, its mean at the typical value
            low, high = item.bounds
            mean, sd = (item.typical_value - low) / (high - low), self.sd[item.name] / (high - low)
            size = mean * (1.0 - mean) / sd**2 - 1.0
            t = np.linspace(0.0, 1.0, bins + 1)
            return persons * np.diff(special.betainc(mean * size, (1.0 - mean) * size, t))
        return np.full(bins, persons / bins)


UNKNOWN_SPREAD = CovariateSpread()


@dataclass(frozen=True)
class Outlook:
    """The public facts of a fit that is being planned, and the cohort guessed from them.

    With competing risks `events` are those of one cause, `others` those of each other one.
    """

    schema: Schema
    persons: int
    events: int
    link: Link
    baseline: Baseline
    sites: NoiseShares = ALONE
    known: CovariateSpread = UNKNOWN_SPREAD
    others: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.known.require(self.schema)
        if not is_count(self.persons) or self.persons > MOST_PERSONS:
            raise SettingsError(f"n must be a whole number of persons from 1 to {MOST_PERSONS:,}.")
        if not is_count(self.events) or self.events > self.persons:
            raise SettingsError("events must be a whole number from 1 to the number of persons.")

    @cached_property
    def design(self) -> Design:
        """The design in the coordinates of the corrected mechanisms."""
        return Design(self.schema, self.baseline)

    @property
    def facts(self) -> Facts:
        """The public facts of plans."""
        return Facts(self.persons, self.design, self.link, self.sites)

    @property
    def survival(self) -> float:
        """The share that reaches the horizon; half a person if all have an event."""
        return max(self.persons - self.events, 0.5) / self.persons

    def transcript(self, edges: Integers, bins: int) -> Transcript:
        """Return the release without noise: exits by bin of time, covariates in `bins` bins each.

        All leave by their events, at constant hazards, or at the horizon; strata are of one size.
        """
        design, events = self.design, np.array([self.events, *self.others], dtype=np.float64)
        left = max(self.persons - events.sum(), 0.5) / self.persons
        reached = left ** (edges / design.intervals)
        exits = np.zeros((design.strata, 1 + len(events), len(edges) - 1))
        exits[:, 1:] = np.outer(events / events.sum(), -np.diff(reached))
        exits[:, 0, -1] = left
        exits *= self.persons / design.strata
        marginals = marginals_of(design, bins)
        parts, remaining = [np.zeros(0)], iter(marginals)  # persons in every bin of every marginal
        for item in self.schema.covariates:
            parts.append(self.known.counts(item, next(remaining).bins, self.persons))
            if isinstance(item, Numeric) and item.indicated:
                parts.append(np.full(next(remaining).bins, self.persons / 2.0))
        counts = Released(np.concatenate(parts), 0.0)
        facts = design, self.link, self.persons, len(events), edges, Released(exits, 0.0)
        return Transcript(*facts, marginals=marginals, counts=counts if marginals else None)

    @cached_property
    def leads(self) -> tuple[Array, Array]:
        """A cohort whose covariates go together, as those of people mostly do: (M, l), weights (M,)."""
        whole = np.array([0, self.design.intervals])
        shares = shares_of(self.transcript(whole, VALUE_BINS))
        if not shares:
            return np.zeros((1, 0)), np.ones(1)
        related = np.full((len(self.design.covariates.leads),) * 2, CORRELATION)
        for item in shares:
            own = list(item.marginal.columns)
            related[np.ix_(own, own)] = np.eye(len(own))
        leads, weights = drawn_from(shares, latent_columns(related, MEMBERS))
        return leads[:, 0], weights[:, 0]

    @cached_property
    def information(self) -> Array:
        """H: expected information of all persons at the constant hazard, in internal coordinates.

        The sum of n S_{s-1} i(eta) E z_s z_s': all have one hazard; strata are of one size.
        """
        design, total = self.design, np.zeros((self.design.dimension,) * 2)
        leads, shares = self.leads
        x = design.complete(leads)
        level = np.full(design.intervals, self.link.predictor(self.hazard))
        reached = self.survival ** (np.arange(design.intervals) / design.intervals)
        weights = self.persons / design.strata * reached * self.link.information(level)
        for stratum in range(design.strata):
            for period, (first, last) in enumerate(pairwise(design.periods.ends)):
                places = design.in_force(stratum, period)
                basis, weight = design.basis[first:last], weights[first:last]
                cross = np.outer(weight @ basis, shares @ x)
                second = weight.sum() * (x * shares[:, None]).T @ x
                total[np.ix_(places, places)] += np.block(
                    [[(basis * weight[:, None]).T @ basis, cross], [cross.T, second]]
                )
        return total

    @property
    def effects(self) -> Array:
        """Guessed variances of the baseline's departures and of the covariates' effects."""
        size = self.design.time_dimension
        width = self.design.dimension - size
        guessed = [np.full(size, BASELINE_VARIANCE), np.full(width, HALF_RANGE_VARIANCE * width)]
        return EFFECT_SHARE * np.concatenate(guessed)

    @property
    def sampling_errors(self) -> tuple[float, ...]:
        """Standard errors of the maximum likelihood estimate, one per coefficient of a covariate."""
        return self.deviations(self.sampling_variance)

    @cached_property
    def sampling_variance(self) -> Array:
        """The inverse information."""
        return np.asarray(np.linalg.inv(self.information), dtype=np.float64)

    def deviations(self, variance: Array) -> tuple[float, ...]:
        """Return standard deviations of the covariates' coefficients on the user's scale."""
        user = self.design.to_user @ variance @ self.design.to_user.T
        return tuple(np.sqrt(np.diag(user)[self.design.time_dimension :]).tolist())

    def error(self, variance: Array) -> float:
        """sqrt(tr(H V) / d)."""
        return math.sqrt(float(np.trace(self.information @ variance)) / len(variance))

    @property
    def hazard(self) -> float:
        """That of every interval."""
        return -math.expm1(math.log(self.survival) / self.design.intervals)

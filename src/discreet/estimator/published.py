"""What is published beside the estimate: life tables, the model against them, effects over time.

Conventions
-----------
    H strata, R causes, K bins; bin k holds the intervals edges[k] < s <= edges[k + 1]
    expected events of a bin   n sum p_i P(i at risk) P(event | at risk, f): who is at risk is as the
                               picture has it, the hazard is the model's, without delta and theta

Everything is a function of released numbers; by then the budget is spent, so there is an answer
whatever they are.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.design.covariates import Categorical, Numeric
from discreet.estimator.estimate import Estimate, Prior
from discreet.estimator.field import Field
from discreet.estimator.lives import Chances
from discreet.estimator.numerical import LARGEST_CHANGE
from discreet.estimator.population import Shares, shares_of
from discreet.estimator.reach import far_away, missing
from discreet.estimator.transcript import Transcript
from discreet.types import Array


@dataclass(frozen=True, eq=False)
class Ended:
    """What is known after the last question."""

    field: Field
    prior: Prior
    estimate: Estimate

    @property
    def transcript(self) -> Transcript:
        """All that was released."""
        return self.field.transcript

    @cached_property
    def missing(self) -> Array:
        """The prior's variance along directions that are not reached."""
        return missing(self.field, self.prior)

    @property
    def covariance(self) -> Array:
        """That of the estimate, the prior's along directions that are not reached, and of hidden people."""
        found = self.estimate
        far = far_away(self.field, found.f, found.sampling)
        return np.asarray(found.covariance + self.missing + far)

    @cached_property
    @np.errstate(all="ignore")
    def expected_events(self) -> Array:
        """The model's events of each cause and bin, (R, K)."""
        field, t = self.field, self.transcript
        eta, leave = field.hazards(self.estimate.phi)
        plain = np.zeros_like(self.estimate.phi)
        for r in range(t.causes):
            plain[field.layout.f(r)] = self.estimate.f[r]
        given = leave, field.members.entry, field.pieces.lengths
        seen = Chances.of(t.link, eta, *given)
        model = Chances.of(t.link, field.hazards(plain)[0], *given)
        mass = field.persons * field.members.weights[:, None] * seen.at_risk
        found = np.sum(mass * model.happen, axis=1) @ np.eye(t.bins)[field.pieces.bins]
        return np.asarray(np.nan_to_num(found))


def extras(ended: Ended) -> dict[str, Array]:
    """The tables of a release by name."""
    t, strata = ended.transcript, ended.transcript.design.strata
    deviation, counts = t.exits.deviation * math.sqrt(strata), t.exits.values
    if t.entries is not None:
        counts = np.concatenate([counts, t.entries.values[:, None]], axis=1)
    bins = np.column_stack([t.edges[:-1] + 1.0, t.edges[1:]])
    calibration = [
        np.column_stack([bins, events, expected, np.full(t.bins, deviation)])
        for events, expected in zip(counts.sum(axis=0)[1:], ended.expected_events, strict=False)
    ]
    found = {
        "covariance": ended.covariance,
        "life_table": np.column_stack([bins, counts.sum(axis=0).T]),
        "calibration": _by_cause(calibration),
    }
    if t.counts is not None:
        found["typical"] = typical_values(t)[None, :]
    if strata > 1:
        tables = (
            np.column_stack([np.full(t.bins, h), bins, own.T]) for h, own in enumerate(counts)
        )
        found["life_tables"] = np.vstack(list(tables))
    changes = [changes_with_time(ended, cause) for cause in range(t.causes)]
    if changes[0].size:
        found["proportionality"] = _by_cause(changes)
    return found


def _by_cause(tables: list[Array]) -> Array:
    """One table, or several of which the first index is the cause."""
    return tables[0] if len(tables) == 1 else np.stack(tables)


def typical_values(transcript: Transcript) -> Array:
    """One for each covariate of the schema: a number's median, the number of the commonest level."""
    values = {item.marginal.columns[0]: item for item in shares_of(transcript)}
    found: list[float] = []
    column = 0
    for covariate in transcript.design.schema.covariates:
        item = values[column]
        column += len(item.marginal.columns)
        if isinstance(covariate, Categorical):
            found.append(min(int(np.argmax(item.overall)), len(covariate.levels) - 1))
        else:
            found.append(_median(covariate, item))
            column += 1 if covariate.indicated else 0
    return np.array(found, dtype=np.float64)


def _median(covariate: Numeric, item: Shares) -> float:
    """On the user's scale, to a hundredth of the range: bins are equal in x or, on logs, in log x."""
    edges = np.array(item.marginal.edges)
    reached = np.concatenate([[0.0], np.cumsum(item.overall)])
    part = (np.interp(0.5, reached, edges) - edges[0]) / (edges[-1] - edges[0])
    low, high = covariate.bounds
    value = low * (high / low) ** part if covariate.logarithmic else low + part * (high - low)
    digits = max(0, 2 - math.floor(math.log10(high - low)))
    return float(np.clip(round(value, digits), low, high))


# -- effects over time -------------------------------------------------------------------------------


@np.errstate(all="ignore")
def changes_with_time(ended: Ended, cause: int) -> Array:
    """Rows (place, early, late, distance) of the coefficients of a cause, by the estimate of theta.

    With m, v the mean and variance of theta given the released sums, for a standard deviation of a
    column, and its prior N(0, T^2): m = b T^2 / (T^2 + s^2), v = 1 / (1 / T^2 + 1 / s^2) of an estimate
    b with variance s^2, so that b = m T^2 / (T^2 - v) and b / s = m / sqrt(v (1 - v / T^2)). An effect
    is about beta - b early and beta + b late; their distance is shorter where the released sums
    contradict the picture. Rows of a column of which others are made, or whose effect changes by the
    schema, are left out: its effect is no single number.
    """
    field, estimate, design = ended.field, ended.estimate, ended.transcript.design
    covariates, place = design.covariates, field.layout.theta(cause)
    first, last = design.periods.places[[0, -1]]  # of each column's effects
    single = [
        int(k)
        for k in covariates.leads
        if len(covariates.dependent_columns(int(k))) == 1 and first[k] == last[k]
    ]
    held = np.diag(ended.prior.covariance)[place]
    mean, variance = estimate.phi[place], np.clip(np.diag(estimate.spread)[place], 1e-300, None)
    left = np.clip(1.0 - variance / held, 1e-9, None)
    distance = mean / np.sqrt(max(1.0, estimate.misfit) * variance * left)
    columns, weights = field.members.columns.mean(axis=1), field.members.weights
    gaps = columns - weights @ columns
    spread = np.sqrt(np.maximum(weights @ gaps**2, 1e-12))
    change = np.clip(mean / left, -LARGEST_CHANGE, LARGEST_CHANGE) / spread
    time, user, f = design.time_dimension, design.to_user, estimate.f[cause]
    shift = np.zeros(design.dimension)
    shift[time + first] = change
    early, late = ((user @ (f + sign * shift))[time + first] for sign in (-1.0, 1.0))
    rows = np.column_stack([first, early, late, distance])
    return np.asarray(np.nan_to_num(rows[single]))

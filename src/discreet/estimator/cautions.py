"""Effects that change with time, by name: what the picture says of theta.

Conventions
-----------
    m, v      mean and variance of theta given the released sums, for a standard deviation of a column
    prior     N(0, THETA^2): m = b THETA^2 / (THETA^2 + s^2), v = 1 / (1 / THETA^2 + 1 / s^2) of an estimate
              b with variance s^2, so that b = m THETA^2 / (THETA^2 - v) and
              b / s = m / sqrt(v (1 - v / THETA^2))
    lean      from -1 (first events) to 1 (last): an effect is about beta - b early and beta + b late
"""

from dataclasses import dataclass

import numpy as np

from discreet.documents.caution import Caution
from discreet.estimator.estimate import Estimate, Prior
from discreet.estimator.field import Field
from discreet.types import Array

CLEARLY = 3.0
"""Standard deviations of its estimate that a change must exceed to be reported: one of ten effects that
do not change exceeds it once in forty releases."""


@dataclass(frozen=True)
class Change:
    """The change of one coefficient with time: its name and title, and the coefficient early and late.

    `early` and `late` are on the user's scale.
    """

    name: str
    title: str
    early: float
    late: float
    distance: float

    @property
    def sentence(self) -> str:
        """What the effect does."""
        if self.early * self.late <= 0.0:
            kind = "changes its sign"
        else:
            kind = "fades" if abs(self.late) < abs(self.early) else "grows"
        return f"{self.title} {kind} with time (coefficient about {self.early:.2g} at first, {self.late:.2g} at the end)"


def changes(field: Field, prior: Prior, estimate: Estimate, cause: int = 0) -> tuple[Change, ...]:
    """The effects of a cause whose change exceeds its noise; of columns that are not terms of others.

    Distances are shorter where the released sums contradict the picture.
    """
    design = field.transcript.design
    covariates, place = design.covariates, field.layout.theta(cause)
    if len(covariates.leads) < covariates.dimension:  # an effect is then no single number
        return ()
    held = np.diag(prior.covariance)[place]
    mean, variance = estimate.phi[place], np.clip(np.diag(estimate.spread)[place], 1e-300, None)
    left = np.clip(1.0 - variance / held, 1e-9, None)
    factor = np.sqrt(max(1.0, estimate.misfit))
    distance = mean / (factor * np.sqrt(variance * left))
    change = np.clip(mean / left, -LARGEST, LARGEST) / _spread(field)
    time, user = design.time_dimension, design.to_user
    f = estimate.f[cause]
    shift = np.concatenate([np.zeros(time), change])
    early, late = (user @ (f - shift))[time:], (user @ (f + shift))[time:]
    schema = design.schema
    facts = zip(
        schema.coefficient_names, schema.coefficient_titles, early, late, distance, strict=True
    )
    return tuple(
        Change(name, title, float(first), float(last), float(away))
        for name, title, first, last, away in facts
        if abs(away) > CLEARLY
    )


LARGEST = 3.0
"""A change is reported as at most so much, for a standard deviation of the column."""


def _spread(field: Field) -> Array:
    """Standard deviations of the columns, by which theta's were divided."""
    columns, weights = field.members.columns.mean(axis=1), field.members.weights
    gaps = columns - weights @ columns
    return np.asarray(np.sqrt(np.maximum(weights @ gaps**2, 1e-12)))


def caution(found: tuple[Change, ...]) -> Caution | None:
    """One caution of all of them."""
    if not found:
        return None
    told = "; ".join(one.sentence for one in found)
    return Caution.about(
        "varying",
        f"Effects that change with time: {told}. The model has one number for each, an average over "
        "time that weighs early and late as events and privacy noise have it.",
        tuple(one.name for one in found),
    )

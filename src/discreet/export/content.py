"""The content of every export: public axes, coefficients on the user's scale, their covariance.

Symbols: A_s the baseline's basis in interval s = 1 ... q, alpha its coefficients for each stratum, beta
the P effects of the user's columns x, R causes (one without a name where there is a single event).

    eta_s = alpha'A_s + sum over the effects j in force in s of beta_j x_c, c the column of j

The covariance is that of (alpha of the strata, beta), one cause after the other; in a release it holds
the privacy noise.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet.design.covariates import Numeric
from discreet.design.declared import parse_number
from discreet.design.design import Design
from discreet.design.periods import Periods
from discreet.design.schema import Schema
from discreet.documents.causes import Fitted
from discreet.documents.curves import CurvesRelease
from discreet.documents.model import Promised
from discreet.errors import ArtefactError
from discreet.results.description import NOT_PRIVATE, model_words
from discreet.types import Array


@dataclass(frozen=True, eq=False)
class CausePart:
    """One event, or one cause: alpha (strata, e) and beta (P,)."""

    cause: str
    alpha: Array
    beta: Array

    @property
    def vector(self) -> Array:
        """(alpha of the strata, beta)."""
        return np.concatenate([self.alpha.ravel(), self.beta])


@dataclass(frozen=True, eq=False)
class Content:
    """A model, in the form that every format is written from."""

    schema: Schema
    link: str
    design: Design
    edges: Array
    parts: tuple[CausePart, ...]
    covariance: Array | None
    words: tuple[str, ...]
    """Sentences: the model, its promise, its warnings."""

    @classmethod
    def of(cls, found: Fitted | CurvesRelease) -> Self:
        """Return the content of a document."""
        if isinstance(found, CurvesRelease):
            raise ArtefactError(
                "this file holds curves by group, not a model; its table is a CSV file."
            )
        models = found.models
        first = next(iter(models.values()))
        parts = tuple(
            CausePart(
                cause,
                np.array(model.coefficients.baselines),
                np.array(list(model.coefficients.covariates.values()), dtype=np.float64),
            )
            for cause, model in models.items()
        )
        return cls(
            found.public_schema,
            first.link,
            first.design,
            first.curves.grid.edges,
            parts,
            found.covariance,
            _words(found),
        )

    def codes(self, item: Numeric) -> tuple[float, ...]:
        """Return the numbers that mean "missing" (a code of a category is an unknown level)."""
        numbers = map(parse_number, self.schema.missing_codes.get(item.name, ()))
        return tuple(number for number in numbers if number is not None and math.isfinite(number))

    @property
    def periods(self) -> Periods:
        """The intervals in which each effect is in force."""
        return self.design.periods

    @property
    def names(self) -> tuple[str, ...]:
        """Names of one part's coefficients, baselines first."""
        return (*self.design.baseline_names, *self.schema.coefficient_names)

    @property
    def basis(self) -> Array:
        """A_s, one row an interval."""
        return self.design.baseline.basis(len(self.edges) - 1)


def _words(found: Fitted) -> tuple[str, ...]:
    first = model_words(found)
    if not isinstance(found, Promised):
        return first, NOT_PRIVATE
    kind = "Private release" if found.private else "Simulated release, not private"
    guarantee = found.guarantee
    promise = (
        f"{kind} {found.release_id}: epsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g}, "
        f"{guarantee.status}; {found.persons:,} persons."
    )
    return (first, promise, found.promise, *(f"Warning: {item.message}" for item in found.warnings))

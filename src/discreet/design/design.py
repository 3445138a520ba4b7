"""Public coordinates: from the schema and the baseline to the vectors z_s = (B_s, x).

If effects change with time (`periods`), x has the places of its coefficients in the period of s, and
the baseline has a step at the end of each. Nothing here sees a record. The model is fitted and noise
drawn in internal coordinates; ``to_user`` maps a parameter vector f = (baseline, covariates) to the
user's scale.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.design.baseline import Baseline, Stepped
from discreet.design.periods import Periods
from discreet.design.schema import Schema
from discreet.design.terms import CovariateMap
from discreet.errors import SettingsError
from discreet.types import Array, Integers

Coordinates = Literal["orthonormal", "paper"]
MOST_NUMBERS = 1 << 26
"""Limit on the numbers of the basis over the grid: half a GiB."""


@dataclass(frozen=True)
class Design:
    """The public half of a fit.

    orthonormal: ``B = sqrt(q) Q`` from ``A = QR`` over the grid, so ``mean_s B_s B_s' = I``.
    paper: ``B_s = A_s``, the basis as printed. The span, hence the model, is the same.
    """

    schema: Schema
    baseline: Baseline
    coordinates: Coordinates = "orthonormal"

    def __post_init__(self) -> None:
        declared = self.declared
        if declared.dimension > self.intervals:
            raise SettingsError(
                f"baseline {self.baseline.spelling} has more parameters than the time axis has "
                f"intervals ({self.intervals}): use fewer, or a finer grid"
            )
        if self.periods.number > 1:
            stepped = Stepped.of(declared, self.intervals, self.periods.ends[1:-1])
            object.__setattr__(self, "baseline", stepped)
        if self.baseline.dimension * self.intervals > MOST_NUMBERS:
            raise SettingsError(
                f"baseline {self.baseline.spelling} has too many parameters for a time axis of "
                f"{self.intervals} intervals: use fewer, or a coarser grid"
            )

    @property
    def intervals(self) -> int:
        """q."""
        return self.schema.time.intervals

    @property
    def declared(self) -> Baseline:
        """The baseline without the steps of effects that change."""
        return self.baseline.inner if isinstance(self.baseline, Stepped) else self.baseline

    @property
    def steps(self) -> tuple[int, ...]:
        """The last intervals before each of the baseline's steps."""
        return self.baseline.steps if isinstance(self.baseline, Stepped) else ()

    @cached_property
    def periods(self) -> Periods:
        """The periods, in each of which every effect is one number."""
        return Periods.of(self.schema)

    @cached_property
    def strata(self) -> int:
        """G, the number of baselines."""
        declared = self.schema.strata
        return 1 if declared is None else len(declared.levels)

    @cached_property
    def time_dimension(self) -> int:
        """Parameters of all baselines, G e, steps included."""
        return self.strata * self.baseline.dimension

    @cached_property
    def dimension(self) -> int:
        """d = G e + P, P the effects of all columns in all periods."""
        return self.time_dimension + self.periods.coefficients

    def columns(self, stratum: int) -> Integers:
        """Return the places in f of one stratum's baseline and of the effects that all share."""
        return self._places[stratum]

    def in_force(self, stratum: int, period: int) -> Integers:
        """Return the places in f of one stratum's baseline and of a period's p effects."""
        size = self.baseline.dimension
        effects = self.time_dimension + self.periods.places[period]
        return np.concatenate([self._places[stratum, :size], effects])

    def vectors(self, basis: Array, x: Array, stratum: int = 0) -> Array:
        """Return z_s of a person with constant x, one row an interval; `basis` has B_s."""
        z = np.zeros((self.intervals, self.dimension))
        for period in range(self.periods.number):
            rows = slice(*self.periods.ends[period : period + 2])
            columns = np.hstack([basis[rows], np.tile(x, (len(basis[rows]), 1))])
            z[rows, self.in_force(stratum, period)] = columns
        return z

    @cached_property
    def _places(self) -> Integers:
        """The places of `columns`, one row a stratum."""
        size, shared = self.baseline.dimension, np.arange(self.time_dimension, self.dimension)
        baselines = np.arange(self.time_dimension).reshape(self.strata, size)
        places = np.hstack([baselines, np.tile(shared, (self.strata, 1))])
        places.setflags(write=False)
        return places

    def without_strata(self) -> "Design":
        """Return the design with one baseline for all strata."""
        return replace(self, schema=self.schema.model_copy(update={"strata": None}))

    @cached_property
    def constant(self) -> Array:
        """v with v'B_s = 1 for every s: every baseline spans the constants."""
        return np.asarray(np.linalg.lstsq(self.basis, np.ones(self.intervals), rcond=None)[0])

    @cached_property
    def levels(self) -> Array:
        """v_k with v_k'B_s = 1 in the intervals s of period k, and 0 in others; one row a period."""
        if self.periods.number == 1:
            return self.constant[None]
        within = np.eye(self.periods.number)[self.periods.of_interval]
        return np.asarray(np.linalg.lstsq(self.basis, within, rcond=None)[0].T)

    @cached_property
    def covariates(self) -> CovariateMap:
        """The map from the public box of the covariates to the unit ball."""
        return CovariateMap.from_schema(self.schema)

    def complete(self, leads: Array) -> Array:
        """Return all internal covariates of the lead columns."""
        return self.covariates.complete(leads)

    @cached_property
    def basis(self) -> Array:
        """B_s, one row an interval."""
        return np.ascontiguousarray(self._factors[0])

    def basis_at(self, times: Array) -> Array:
        """Return the internal basis at times in [0, 1], one row a time."""
        return self.baseline.evaluate(times) @ self._factors[1]

    @cached_property
    def norms(self) -> Array:
        """|B_s| for s = 1 ... q."""
        return np.linalg.norm(self.basis, axis=1)

    @cached_property
    def to_user(self) -> Array:
        """T with f_user = T f_internal.

        From ``x_internal = x T_x + offset``: ``beta_user = T_x beta`` in every period k, and the
        offset moves into the baseline, ``alpha_user = M alpha + sum_k v_k offset'beta_k`` with
        v_k'A_s = 1 in the intervals of the period.
        """
        size, time = self.baseline.dimension, self.time_dimension
        levels = self.baseline.constant[None]  # v_k, one row a period
        if isinstance(self.baseline, Stepped) and self.periods.number > 1:
            levels = self.baseline.levels
        matrix = np.zeros((self.dimension, self.dimension))
        for start in range(0, time, size):
            baseline = slice(start, start + size)
            matrix[baseline, baseline] = self._factors[1]
            for places, level in zip(self.periods.places, levels, strict=True):
                matrix[baseline, time + places] += np.outer(level, self.covariates.offset)
        for places in time + self.periods.places:
            matrix[np.ix_(places, places)] = self.covariates.matrix
        return matrix

    @cached_property
    def baseline_names(self) -> tuple[str, ...]:
        """Names of the baselines' coefficients: ``baseline[1]``, or ``baseline[hospital=A][1]``.

        A step has the name ``baseline from 365``.
        """
        suffixes = [f"[{k}]" for k in range(1, self.declared.dimension + 1)]
        if self.steps:
            edges = self.schema.time.grid.edges
            suffixes += (f" from {edges[end]:.10g}" for end in self.steps)
        strata, prefixes = self.schema.strata, ["baseline"]
        if strata is not None:
            prefixes = [f"baseline[{strata.name}={level}]" for level in strata.levels]
        return tuple(prefix + suffix for prefix in prefixes for suffix in suffixes)

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        """(B, M) with B = A M: alpha_user = M alpha_internal."""
        printed = self.baseline.basis(self.intervals)
        if self.coordinates == "paper":
            return printed, np.eye(self.baseline.dimension)
        orthogonal, triangle = np.linalg.qr(printed)
        signs = np.where(np.diag(triangle) < 0, -1.0, 1.0)
        root = np.sqrt(self.intervals)
        return orthogonal * signs * root, np.linalg.inv(triangle * signs[:, None]) * root

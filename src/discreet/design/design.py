"""Public coordinates: from the schema and the baseline to the vectors z_s = (B_s, x).

Nothing here sees a record. The internal coordinates are those in which the model is fitted and
noise is drawn; ``to_user`` maps a parameter vector f = (baseline, covariates) to the user's scale.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.design.baseline import Baseline
from discreet.design.schema import Schema
from discreet.design.terms import CovariateMap
from discreet.errors import SettingsError
from discreet.types import Array, Integers

Coordinates = Literal["orthonormal", "paper"]
MOST_NUMBERS = 1 << 26
"""Of the basis over the grid: half a GiB."""


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
        if self.baseline.dimension > self.intervals:
            raise SettingsError(
                f"baseline {self.baseline.spelling} has more parameters than the time axis has "
                f"intervals ({self.intervals}): use fewer, or a finer grid"
            )
        if self.baseline.dimension * self.intervals > MOST_NUMBERS:
            raise SettingsError(
                f"baseline {self.baseline.spelling} has too many parameters for a time axis of "
                f"{self.intervals} intervals: use fewer, or a coarser grid"
            )

    @property
    def intervals(self) -> int:
        """q."""
        return self.schema.time.intervals

    @cached_property
    def strata(self) -> int:
        """G, the number of baselines."""
        declared = self.schema.strata
        return 1 if declared is None else len(declared.levels)

    @cached_property
    def time_dimension(self) -> int:
        """Parameters of all baselines, G e."""
        return self.strata * self.baseline.dimension

    @cached_property
    def dimension(self) -> int:
        """d = G e + p."""
        return self.time_dimension + len(self.covariates.names)

    def columns(self, stratum: int) -> Integers:
        """Places in f of one stratum's baseline and of the effects that all share."""
        return np.asarray(self._places[stratum])

    @cached_property
    def _places(self) -> Integers:
        """The same, one row a stratum: each is asked for many times."""
        size, shared = self.baseline.dimension, np.arange(self.time_dimension, self.dimension)
        own = np.arange(self.time_dimension).reshape(self.strata, size)
        found = np.hstack([own, np.tile(shared, (self.strata, 1))])
        found.setflags(write=False)
        return found

    def without_strata(self) -> "Design":
        """The same with one baseline for everybody."""
        if self.strata == 1:
            return self
        return replace(self, schema=self.schema.model_copy(update={"strata": None}))

    @cached_property
    def constant(self) -> Array:
        """v with v'B_s = 1 for every s: every baseline spans the constants."""
        return np.asarray(np.linalg.lstsq(self.basis, np.ones(self.intervals), rcond=None)[0])

    @cached_property
    def covariates(self) -> CovariateMap:
        """From the public box of the covariates to the unit ball."""
        return CovariateMap.from_schema(self.schema)

    def complete(self, leads: Array) -> Array:
        """All internal covariates from the lead columns: public functions, for records and not."""
        return self.covariates.complete(leads)

    @cached_property
    def basis(self) -> Array:
        """B_s, one row an interval."""
        return np.ascontiguousarray(self._factors[0])

    def basis_at(self, times: Array) -> Array:
        """The internal basis at any times in [0, 1], one row a time."""
        return np.asarray(self.baseline.evaluate(times) @ self._factors[1], dtype=np.float64)

    @cached_property
    def norms(self) -> Array:
        """|B_s| for s = 1 ... q."""
        return np.asarray(np.linalg.norm(self.basis, axis=1))

    @cached_property
    def to_user(self) -> Array:
        """T with f_user = T f_internal.

        From ``x_internal = x T_x + offset``: ``beta_user = T_x beta`` and the offset moves into
        the baseline, ``alpha_user = M alpha + v offset'beta`` with v'A_s = 1.
        """
        size, time = self.baseline.dimension, self.time_dimension
        matrix = np.zeros((self.dimension, self.dimension))
        for start in range(0, time, size):
            own = slice(start, start + size)
            matrix[own, own] = self._factors[1]
            matrix[own, time:] = np.outer(self.baseline.constant, self.covariates.offset)
        matrix[time:, time:] = self.covariates.matrix
        return matrix

    @cached_property
    def baseline_names(self) -> tuple[str, ...]:
        """Names of the baselines' coefficients: ``baseline[1]``, or ``baseline[hospital=A][1]``."""
        numbers = range(1, self.baseline.dimension + 1)
        declared = self.schema.strata
        if declared is None:
            return tuple(f"baseline[{k}]" for k in numbers)
        name, levels = declared.name, declared.levels
        return tuple(f"baseline[{name}={level}][{k}]" for level in levels for k in numbers)

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

"""The public map from the box of declared bounds into the unit ball.

A numeric covariate becomes u = (x - mid) / half-range.  A categorical with m = K - 1 indicators is
centred and scaled by the smallest ball around its points {0, e_1, ..., e_m}: centre 1/2 and radius
1/2 for m = 1, centre 1/m in every coordinate and radius sqrt(1 - 1/m) otherwise.  Every block has
norm at most 1, so after division by the square root of the number of covariates the whole vector
has norm at most 1, and the corners attain it.

Floating point: the scales are reduced by (p + 8) * 2^-52, more than all rounding in
(x - centre) * scale and in any summation of p squares, so that the norm of what is computed is at
most 1 without looking at it.  The same centre and scale map coefficients back, so nothing is lost.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet.design.schema import Categorical, Numeric, Schema
from discreet.types import Array


@dataclass(frozen=True)
class CovariateMap:
    """internal = (raw or indicator - centre) * scale, column by column."""

    names: tuple[str, ...]
    centre: Array
    scale: Array

    @classmethod
    def from_schema(cls, schema: Schema) -> Self:
        """The map of a schema; a SchemaError names the covariates without bounds."""
        schema.require_bounds()
        blocks = [_block(covariate) for covariate in schema.covariates]
        centre = np.concatenate([block[0] for block in blocks] or [np.empty(0)])
        radius = np.concatenate([block[1] for block in blocks] or [np.empty(0)])
        reduction = 1.0 - (len(radius) + 8) * np.finfo(np.float64).eps
        scale = reduction / (radius * np.sqrt(max(len(blocks), 1)))
        return cls(schema.coefficient_names, centre, scale)

    @property
    def dimension(self) -> int:
        """Number of internal covariate columns."""
        return len(self.names)


def _block(covariate: Numeric | Categorical) -> tuple[Array, Array]:
    """Centre and radius of one covariate's columns."""
    if isinstance(covariate, Numeric):
        return _numeric_block(*covariate.bounds)
    indicators = len(covariate.levels) - 1
    if indicators == 1:
        return np.array([0.5]), np.array([0.5])
    radius = np.sqrt(1.0 - 1.0 / indicators)
    return np.full(indicators, 1.0 / indicators), np.full(indicators, radius)


def _numeric_block(low: float, high: float) -> tuple[Array, Array]:
    """Midpoint and half-range, the latter as large as the rounded differences can be.

    Rounding is monotone, so the computed x - centre of any x in [low, high] lies between the
    computed differences at the ends.
    """
    centre = low / 2 + high / 2
    return np.array([centre]), np.array([max(high - centre, centre - low)])

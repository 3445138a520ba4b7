"""The public map from the box of declared bounds into the unit ball, and the terms derived there.

A covariate has *lead* columns; all others are public functions of the leads.

=============  ===================================================  ===========================
block          user's columns r                                     leads
=============  ===================================================  ===========================
number         x, or log x                                          the column itself
spline:k       b_2(t), ..., b_k(t) of the natural spline with k     the first, which is linear
               even knots, t = (x - low) / (high - low)             in x
category       an indicator of each level but the first; with       all of them
               ``missing = "indicator"`` one more for missing
indicator      1 where a number is missing                          the column itself
interaction    products of two blocks' columns                      none
=============  ===================================================  ===========================

Internal columns are z = r T + offset.  A number becomes (r - mid) / half-range.  A categorical with
m indicators is centred and scaled by the smallest ball around its points {0, e_1, ..., e_m}: centre
1/2 and radius 1/2 for m = 1, centre 1/m in every coordinate and radius sqrt(1 - 1/m) otherwise.  A
spline is orthonormalised over the range and divided by a bound of its norm there.  So every block
has norm at most 1, and an interaction, the product of two such blocks, too: |u v'| = |u| |v|.
After division by the square root of the number of blocks the whole vector has norm at most 1.
The product expands into the main effects, which is why interactions need them, and T stays a
matrix: (r_a A + a)(r_b B + b) = r_a r_b A B + b r_a A + a r_b B + a b.

Floating point: the scales are reduced by (p + 8) * 2^-52 (with terms 16 p + 256), more than all
rounding in (r - centre) * scale and in any summation of p squares, so that the norm of what is
computed is at most 1 without looking at it.  The same numbers map coefficients back, so nothing is
lost.  Proof: docs/proofs/box-to-ball.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np

from discreet.design.baseline import NaturalSpline
from discreet.design.covariates import Categorical, Numeric
from discreet.design.schema import Schema
from discreet.types import Array, Flags, Integers

EPSILON = float(np.finfo(np.float64).eps)
STEPS_A_GAP = 512
"""Steps from knot to knot of the grid on which a spline is orthonormalised and bounded."""
ROUNDING = 1e-9
"""Added to the bound of a spline's norm: more than its coefficients' rounding."""


@dataclass(frozen=True)
class Spline:
    """The columns of a spline: z = (b(t) - mean) matrix, the first of them linear in t."""

    columns: slice
    knots: int
    mean: Array
    matrix: Array

    def fill(self, internal: Array) -> None:
        """Compute all columns from the first."""
        first = internal[:, self.columns.start]
        t = np.clip(first / self.matrix[0, 0] + self.mean[0], 0.0, 1.0)
        raw = NaturalSpline(self.knots).evaluate(t)[:, 1:] - self.mean
        for place in range(1, self.knots - 1):
            # one product after the other: a matrix product may round a row by its place
            total = raw[:, 0] * self.matrix[0, place]
            for row in range(1, place + 1):
                total += raw[:, row] * self.matrix[row, place]
            internal[:, self.columns.start + place] = total


@dataclass(frozen=True)
class Filled:
    """A number with an indicator of missing values, which are replaced by the declared fill."""

    number: int
    indicator: int
    value: float

    def fill(self, internal: Array) -> None:
        """Set the fill where the indicator is 1."""
        internal[internal[:, self.indicator] > 0.0, self.number] = self.value


@dataclass(frozen=True)
class Product:
    """The columns of an interaction: root * z_a z_b for each pair."""

    columns: slice
    one: slice
    other: slice
    root: float

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """The two factors of each column; the second block's vary first."""
        return product(
            range(self.one.start, self.one.stop), range(self.other.start, self.other.stop)
        )

    def fill(self, internal: Array) -> None:
        """Multiply every pair of columns."""
        for place, (left, right) in enumerate(self.pairs, start=self.columns.start):
            internal[:, place] = internal[:, left] * internal[:, right] * self.root


@dataclass(frozen=True, eq=False)
class CovariateMap:
    """internal = (value - centre) * scale for lead columns, public functions of them for others.

    ``matrix`` and ``offset`` are the same map for whole rows of the user's columns. ``ranges`` are
    the largest sizes of the internal columns (1 / sqrt(blocks), the lead of a spline less), and
    ``numbers`` says which of them depend on a number.
    """

    names: tuple[str, ...]
    centre: Array
    scale: Array
    leads: Integers
    blocks: int
    matrix: Array
    offset: Array
    ranges: Array
    numbers: Flags
    derived: tuple[Filled | Spline | Product, ...] = field(default=(), repr=False)

    @classmethod
    def from_schema(cls, schema: Schema) -> "CovariateMap":
        """Return the map of a schema; raise a SchemaError if covariates have no bounds."""
        schema.require_bounds()
        return _Builder(schema).build()

    @property
    def dimension(self) -> int:
        """Number of internal covariate columns."""
        return len(self.names)

    def complete(self, leads: Array) -> Array:
        """Return all internal columns of the lead columns, one row a person."""
        if not self.derived:
            return leads
        internal = np.zeros((len(leads), self.dimension))
        internal[:, self.leads] = leads
        self.fill(internal)
        return internal

    def fill(self, internal: Array) -> None:
        """Compute derived columns in place from the leads."""
        for part in self.derived:
            part.fill(internal)

    def dependent_columns(self, column: int) -> Integers:
        """Return the columns that depend on a lead: itself, its spline, and their products."""
        columns = [column]
        for part in self.derived:
            if isinstance(part, Spline) and part.columns.start == column:
                columns += range(column + 1, part.columns.stop)
            if isinstance(part, Product):  # after the splines
                places = enumerate(part.pairs, start=part.columns.start)
                columns += [place for place, pair in places if set(pair) & set(columns)]
        return np.array(columns, dtype=np.int64)

    def raw(self, internal: Array) -> Array:
        """Return the user's columns of internal ones."""
        return np.asarray(np.linalg.solve(self.matrix.T, (internal - self.offset).T).T)


def transform(item: Numeric, values: Array) -> Array:
    """Return a number, or its logarithm, as it is centred and scaled."""
    return np.log(values) if item.logarithmic else values


def user_columns(schema: Schema, profile: Sequence[float]) -> Array:
    """Return the user's columns of a profile: a number, or the number of a level, by covariate."""
    columns: list[Array] = []
    blocks: dict[str, Array] = {}
    for item, value in zip(schema.covariates, profile, strict=True):
        if isinstance(item, Categorical):
            block = np.eye(len(item.levels))[int(value), 1:]
        elif item.knots is None:
            block = transform(item, np.array([float(value)]))
        else:
            low, high = item.bounds
            time = np.array([(float(value) - low) / (high - low)])
            block = NaturalSpline(item.knots).evaluate(time)[0, 1:]
        blocks[item.name] = block
        columns.append(block)
        if item.indicated:
            columns.append(np.zeros(1))
    pairs = (tuple(blocks[name] for name in item.of) for item in schema.interactions)
    return np.concatenate([*columns, *(np.kron(*pair) for pair in pairs), np.empty(0)])


class _Builder:
    """Centre, scale, matrix and offset, block after block in the order of the coefficients."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        size = len(schema.terms)
        # covariates, columns of missing numbers, interactions
        numbers = (item for item in schema.covariates if isinstance(item, Numeric))
        indicators = sum(item.indicated for item in numbers)
        self.blocks = len(schema.covariates) + indicators + len(schema.interactions)
        self.root = float(np.sqrt(max(self.blocks, 1)))
        margin = 16 * size + 256 if schema.has_terms else size + 8
        self.reduction = 1.0 - margin * EPSILON
        self.centre, self.scale = np.zeros(size), np.ones(size)
        self.matrix, self.offset = np.zeros((size, size)), np.zeros(size)
        self.ranges, self.numbers = np.full(size, 1.0 / self.root), np.zeros(size, dtype=np.bool_)
        self.leads: list[int] = []
        self.derived: list[Filled | Spline | Product] = []
        self.values: dict[str, slice] = {}
        self.place = 0

    def build(self) -> CovariateMap:
        """Return the map, with columns of every block."""
        for item in self.schema.covariates:
            if isinstance(item, Categorical):
                count = len(item.coefficient_names)
                columns = self._leads(*_ball(count))
                # interactions multiply levels, not the column of those without one
                self.values[item.name] = slice(columns.start, columns.start + len(item.levels) - 1)
            else:
                self._number(item)
        for interaction in self.schema.interactions:
            one, other = (self.values[name] for name in interaction.of)
            left, right = self.matrix[one, one], self.matrix[other, other]
            here, there = self.offset[one], self.offset[other]
            columns = slice(self.place, self.place + len(here) * len(there))
            self.place = columns.stop
            self.matrix[columns, columns] = np.kron(left, right) * self.root
            self.matrix[one, columns] = np.kron(left, there[None, :]) * self.root
            self.matrix[other, columns] = np.kron(here[None, :], right) * self.root
            self.offset[columns] = np.kron(here, there) * self.root
            self.numbers[columns] = self.numbers[one].any() or self.numbers[other].any()
            self.derived.append(Product(columns, one, other, self.root))
        # fills first: a spline and a product see the number that was filled in
        order = sorted(self.derived, key=lambda part: (Filled, Spline, Product).index(type(part)))
        return CovariateMap(
            tuple(term.name for term in self.schema.terms),
            self.centre,
            self.scale,
            np.array(self.leads, dtype=np.int64),
            self.blocks,
            self.matrix,
            self.offset,
            self.ranges,
            self.numbers,
            tuple(order),
        )

    def _number(self, item: Numeric) -> None:
        low, high = item.bounds
        if item.knots is not None:
            columns = self._spline(low, high, item.knots)
        elif item.logarithmic:
            columns = self._leads(*_numeric_block(float(np.log(low)), float(np.log(high))))
        else:
            columns = self._leads(*_numeric_block(low, high))
        self.values[item.name] = columns
        self.numbers[columns] = True
        if item.indicated:
            number, fill = columns.start, transform(item, np.array([item.fill]))[0]
            value = float((fill - self.centre[number]) * self.scale[number])
            indicator = self._leads(*_ball(1)).start
            self.derived.append(Filled(number, indicator, value))

    def _leads(self, centre: Array, radius: Array) -> slice:
        """Add columns that are read from the data, each (value - centre) * scale."""
        columns = slice(self.place, self.place + len(centre))
        self.place = columns.stop
        self.centre[columns] = centre
        self.scale[columns] = scale = self.reduction / (radius * self.root)
        self.matrix[columns, columns] = np.diag(scale)
        self.offset[columns] = -(centre * scale)
        self.leads += range(columns.start, columns.stop)
        return columns

    def _spline(self, low: float, high: float, knots: int) -> slice:
        mean, matrix = _spline_block(knots)
        matrix = matrix * (self.reduction / self.root)
        columns = slice(self.place, self.place + knots - 1)
        self.place = columns.stop
        length = high - low
        self.centre[columns.start] = low + mean[0] * length
        self.scale[columns.start] = matrix[0, 0] / length
        self.matrix[columns, columns] = matrix
        self.offset[columns] = -(mean @ matrix)
        self.ranges[columns.start] = matrix[0, 0] / 2.0
        self.leads.append(columns.start)
        self.derived.append(Spline(columns, knots, mean, matrix))
        return columns


def _ball(indicators: int) -> tuple[Array, Array]:
    """Return centre and radius of the smallest ball around {0, e_1, ..., e_m}."""
    if indicators == 1:
        return np.array([0.5]), np.array([0.5])
    radius = np.sqrt(1.0 - 1.0 / indicators)
    return np.full(indicators, 1.0 / indicators), np.full(indicators, radius)


def _numeric_block(low: float, high: float) -> tuple[Array, Array]:
    """Return midpoint and half-range, the latter as large as the rounded differences can be.

    Rounding is monotone, so the computed x - centre of any x in [low, high] lies between the
    computed differences at the ends.
    """
    centre = low / 2 + high / 2
    return np.array([centre]), np.array([max(high - centre, centre - low)])


@lru_cache(maxsize=16)
def _spline_block(knots: int) -> tuple[Array, Array]:
    """Return (mean, R^-1 / bound): (b(t) - mean) R^-1 is orthonormal on [0, 1], of norm <= bound.

    R is upper triangular, so the first column is linear in t.  Between two points of the grid the
    curve is cubic and lies in the hull of its four control points, the longest of which is the
    bound (docs/proofs/box-to-ball.md).
    """
    times = np.linspace(0.0, 1.0, (knots - 1) * STEPS_A_GAP + 1)
    raw = NaturalSpline(knots).evaluate(times)[:, 1:]
    mean = raw.mean(axis=0)
    _, triangle = np.linalg.qr(raw - mean)
    inverse = np.linalg.inv(triangle * np.where(np.diag(triangle) < 0, -1.0, 1.0)[:, None])
    curve, third = (raw - mean) @ inverse, _slopes(knots, times) @ inverse * (times[1] / 3.0)
    controls = np.vstack([curve, curve[:-1] + third[:-1], curve[1:] - third[1:]])
    bound = float(np.linalg.norm(controls, axis=1).max()) * (1.0 + ROUNDING)
    return mean, np.triu(inverse) / bound


def _slopes(knots: int, times: Array) -> Array:
    """b_j'(t) for j = 2 ... k: 1, and s_i - s_{k-1} with s_i = 3 (t - k_i)+^2 / (1 - k_i)."""
    places = np.linspace(0.0, 1.0, knots)[:-1]
    squares = [3.0 * np.maximum(times - place, 0.0) ** 2 / (1.0 - place) for place in places]
    return np.column_stack([np.ones_like(times), *(item - squares[-1] for item in squares[:-1])])

"""Chebyshev expansions in the scalar c = beta'x on a fixed public lattice of cells.

Within a row eta_s = a_s + c, so every sum over intervals is a smooth function of c alone. Cell k
covers [2wk, 2w(k+1)); inside it ``g(a + c) = sum_j G_j(a) T_j(u)``, u in [-1, 1]. The lattice is
anchored at 0 and does not depend on the data, so a row's value does not depend on the other rows of
its block.

Number of terms: logit's losses are analytic for |Im c| < pi, the Bernstein ellipse has
rho = pi/w + sqrt((pi/w)^2 + 1) and the error falls as rho^-J (Trefethen 2013, theorem 8.2). Probit
decays like exp(-eta^2/2), so relative accuracy down to eta = -9 asks for 2 (9w/2)^J / J! < 1e-15.
A link states the pairs (w, J) whose relative truncation is below 1e-14.

An expansion has ``cells`` and ``terms``; it locates each c, computes the amplitude of a row and the
``shifts`` of c at which the function is needed, and converts those values to coefficients.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.design.link import Link
from discreet.types import Array

MOST_CELLS = 4096
SMALL = 64
ENTRY = 2


@dataclass(frozen=True)
class Chebyshev:
    """Cells of half-width w from ``first`` on, with J terms each."""

    half_width: float
    terms: int
    first: int
    cells: int

    def locate(self, positions: Array) -> tuple[NDArray[np.int32], Array]:
        """Return floor(c / 2w) and the place inside the cell."""
        scaled = positions * (0.5 / self.half_width)
        cell = np.floor(scaled)
        return (cell - self.first).astype(np.int32), 2.0 * (scaled - cell) - 1.0

    @property
    def placing(self) -> tuple[float, int]:
        """1 / 2w and the first cell, by which compiled code locates a row."""
        return 0.5 / self.half_width, self.first

    def amplitudes(self, positions: Array, weights: Array) -> Array:  # noqa: ARG002, one interface
        """Return the weights: polynomials have no other amplitude."""
        return weights

    def shifts(self) -> Array:
        """Return the Chebyshev nodes of every cell."""
        centres = (2.0 * (self.first + np.arange(self.cells)) + 1.0) * self.half_width
        return (centres[:, None] + self.half_width * np.cos(self._angles)).ravel()

    def coefficients(self, values: Array) -> Array:
        """Return the discrete cosine transform, cell by cell."""
        cube = values.reshape(-1, self.terms)
        return np.reshape(np.matmul(cube, self._transform), (len(values), -1))

    @cached_property
    def _angles(self) -> Array:
        return np.pi * (np.arange(self.terms) + 0.5) / self.terms

    @cached_property
    def _transform(self) -> Array:
        cosines = np.cos(np.outer(self._angles, np.arange(self.terms))) * (2.0 / self.terms)
        cosines[:, 0] *= 0.5
        return cosines


@dataclass(frozen=True)
class Exponential:
    """g(a + c) = e^(a + m) e^(c - m) exactly: the complementary log-log link needs one term."""

    middle: float
    terms: int = 1
    cells: int = 1

    def locate(self, positions: Array) -> tuple[NDArray[np.int32], Array]:
        """Return cell 0; the polynomial is the constant."""
        return np.zeros(len(positions), np.int32), np.zeros(len(positions))

    @property
    def placing(self) -> tuple[float, int]:
        """Every position falls into cell 0."""
        return 0.0, 0

    def amplitudes(self, positions: Array, weights: Array) -> Array:
        """Return the weights times e^(c - m)."""
        return weights * np.exp(positions - self.middle)

    def shifts(self) -> Array:
        """Return the middle."""
        return np.array([self.middle])

    def coefficients(self, values: Array) -> Array:
        """Return the values: they are the coefficients."""
        return values


Expansion = Chebyshev | Exponential


def choose_expansion(
    link: Link, positions: Array, lengths: int, *, exact: bool = True
) -> Expansion | None:
    """Return the cheapest expansion over the range of c; None for direct summation.

    ``lengths`` is the number of prefix lengths that occur, each with its row of the table.
    ``exact`` allows cloglog's closed form, right for its losses but not for its information.
    """
    low, high = float(positions.min()), float(positions.max())
    if not np.isfinite(low + high):
        return None
    if link.exponential and exact:
        return Exponential(0.5 * (low + high))
    options = []
    for half_width, terms in link.cells:
        first = int(np.floor(low * (0.5 / half_width)))
        last = int(np.floor(high * (0.5 / half_width)))
        options.append(Chebyshev(half_width, terms, first, last - first + 1))
    # a few rows spread over many cells are summed directly: the tables would be larger
    most = min(MOST_CELLS, max(len(positions), SMALL))
    fitting = [option for option in options if option.cells <= most]
    # One unit is a row's work for one term; a table entry costs about ENTRY times as much.
    return min(
        fitting,
        key=lambda option: option.terms * (len(positions) + ENTRY * option.cells * lengths),
        default=None,
    )

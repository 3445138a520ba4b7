# ruff: noqa: INP001  # a script, no package
"""The noise at full counts: 100,000 draws a law, the low-bit attack on 200,000 releases.

Every row of results/noise.csv is one check; a run continues where an earlier one stopped, and
`--fresh` starts over.  The last column says whether the row came out as it must: the laws accepted
and the controls, whose scale is 20% off, rejected.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from checks import run_missing
from numpy.typing import NDArray

from discreet.audit import instruments as noise
from discreet.paper.results import Results
from discreet.privacy.noise import Grid, SystemNoise
from discreet.privacy.scales import laplace_scale

COLUMNS = ["check", "dimension", "scale", "factor", "draws", "statistic", "seconds", "as_it_must"]
RESULTS = Results(Path(__file__).parent / "results" / "noise.csv", COLUMNS, COLUMNS[:5])
FALSE_ALARM = 1e-6
DRAWS = 100_000
ATTACKS = 200_000
SCALE = Fraction(2**20)
DIMENSIONS = (1, 2, 5, 10)
FACTORS = (Fraction(1), Fraction(4, 5), Fraction(6, 5))
SMALL = ((1, Fraction(3, 2), 6), (2, Fraction(3, 2), 4), (3, Fraction(6, 5), 2))

Points = NDArray[np.float64]


@dataclass(frozen=True)
class Check:
    """One row: a name, what is drawn, and the p-value (or count of hits) it gives."""

    name: str
    dimension: int
    scale: Fraction
    factor: Fraction
    draws: int
    run: Callable[[], float]
    accepts: Callable[[float], bool]

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies the row in the results file."""
        parts = (self.name, self.dimension, self.scale, self.factor, self.draws)
        return tuple(map(str, parts))

    @property
    def facts(self) -> dict[str, object]:
        """Nothing beside the key."""
        return {}


def lattice(source: SystemNoise, dimension: int, scale: Fraction, draws: int) -> Points:
    """Lattice L2-Laplace draws."""
    return np.array([source.lattice_laplace(dimension, scale) for _ in range(draws)], dtype=float)


def continuous(source: SystemNoise, dimension: int, scale: Fraction, draws: int) -> Points:
    """Continuous L2-Laplace draws."""
    return np.array([source.continuous_laplace(dimension, scale).vector for _ in range(draws)])


def gaussian(source: SystemNoise, dimension: int, scale: Fraction, draws: int) -> Points:
    """Discrete Gaussian draws."""
    noise = source.discrete_gaussian(np.zeros(draws * dimension, dtype=np.int64), scale)
    return noise.astype(float).reshape(-1, dimension)


def l1_laplace(source: SystemNoise, dimension: int, scale: Fraction, draws: int) -> Points:
    """Discrete Laplace draws."""
    noise = source.l1_laplace(np.zeros(draws * dimension, dtype=np.int64), scale)
    return noise.astype(float).reshape(-1, dimension)


RADIAL = {
    "lattice radius": (lattice, noise.radius_p_value),
    "continuous radius": (continuous, noise.radius_p_value),
    "gaussian": (gaussian, noise.normal_p_value),
    "l1 laplace": (l1_laplace, noise.l1_laplace_p_value),
}
DIRECTIONAL = {"lattice direction": lattice, "continuous direction": continuous}


def verdict(factor: Fraction) -> Callable[[float], bool]:
    """A p-value must be above the false-alarm rate for the law, below it for a control."""
    return (lambda p: p > FALSE_ALARM) if factor == 1 else (lambda p: p < FALSE_ALARM)


def checks() -> Iterator[Check]:
    """All rows, in the order they are run."""
    source = SystemNoise()
    for dimension in DIMENSIONS:
        yield from radial_checks(source, dimension)
        yield from directional_checks(source, dimension)
    yield from small_checks(source)
    yield Check(
        "low bits", 1, SCALE, Fraction(1), ATTACKS, partial(off_grid, source), lambda n: n == 0
    )
    yield Check(
        "low bits, textbook noise", 1, SCALE, Fraction(1), ATTACKS, naive_off_grid, lambda n: n > 0
    )


def radial_checks(source: SystemNoise, dimension: int) -> Iterator[Check]:
    """Each law at its scale and at two wrong ones."""
    for (name, (draw, p_value)), factor in product(RADIAL.items(), FACTORS):
        run = partial(radial, partial(draw, source, dimension, SCALE * factor, DRAWS), p_value)
        yield Check(name, dimension, SCALE, factor, DRAWS, run, verdict(factor))


def radial(draw: Callable[[], Points], p_value: Callable[[Points, float], float]) -> float:
    """The p-value of fresh draws under the law at the right scale."""
    return p_value(draw(), float(SCALE))


def directional_checks(source: SystemNoise, dimension: int) -> Iterator[Check]:
    """Uniform directions."""
    for name, draw in DIRECTIONAL.items():
        run = partial(directional, partial(draw, source, dimension, SCALE, DRAWS))
        yield Check(name, dimension, SCALE, Fraction(1), DRAWS, run, verdict(Fraction(1)))


def directional(draw: Callable[[], Points]) -> float:
    """The p-value of fresh draws under uniform directions."""
    return noise.direction_p_value(draw())


def small_checks(source: SystemNoise) -> Iterator[Check]:
    """Every lattice point of a small lattice against its probability."""
    for (dimension, scale, reach), factor in product(SMALL, FACTORS):
        draw = partial(lattice, source, dimension, scale * factor, DRAWS)
        run = partial(pointwise, draw, scale, reach)
        yield Check("lattice points", dimension, scale, factor, DRAWS, run, verdict(factor))


def pointwise(draw: Callable[[], Points], scale: Fraction, reach: int) -> float:
    """The p-value of fresh draws under the lattice law at the right scale."""
    return noise.lattice_p_value(draw(), scale, reach)


def off_grid(source: SystemNoise) -> float:
    """Releases of 0.1 whose low bits exclude a neighbour, that is: that are off the grid."""
    grid = Grid(-20)
    scale = laplace_scale(grid.to_integers(1.0).item(), 1.0)
    base = grid.to_integers([0.1])
    noise = (source.lattice_laplace(1, scale) for _ in range(ATTACKS))
    outputs = np.concatenate([grid.to_floats(base + step) for step in noise])
    return hits(outputs, grid)


def naive_off_grid() -> float:
    """The same attack on float noise added to a float."""
    generator = np.random.default_rng(1)
    return hits(0.1 + generator.laplace(0.0, 1.0, ATTACKS), Grid(-20))


def hits(outputs: Points, grid: Grid) -> float:
    """How many outputs are no multiple of the grid."""
    steps = np.ldexp(outputs, -grid.exponent)
    return float(np.count_nonzero(steps != np.rint(steps)))


if __name__ == "__main__":
    sys.exit(run_missing(__doc__, RESULTS, checks()))

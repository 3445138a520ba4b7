"""Baselines that the package does not have, as somebody could add them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.design.baseline import Baseline


@dataclass(frozen=True)
class Cut(Baseline):
    """Indicators of the stretches between cuts at any places; `declared` are those it tells."""

    cuts: tuple[Fraction, ...]
    declared: tuple[Fraction, ...] | None = None
    kind: ClassVar[str] = "cut"

    @property
    def dimension(self):
        return len(self.cuts) + 1

    @property
    def spelling(self):
        return self.kind

    @property
    def constant(self):
        return np.ones(self.dimension)

    @property
    def breaks(self):
        inner = self.cuts if self.declared is None else self.declared
        return (Fraction(0), *inner, Fraction(1))

    def evaluate(self, times):
        places = np.searchsorted([float(cut) for cut in self.cuts], times, side="left")
        return np.eye(self.dimension)[places]

    def basis(self, intervals):
        exact = [
            sum(cut < Fraction(step, intervals) for cut in self.cuts)
            for step in range(1, intervals + 1)
        ]
        return np.eye(self.dimension)[exact]


@dataclass(frozen=True)
class Hinge(Baseline):
    """Straight lines that bend, and jump where `jumps`, at the places given."""

    places: tuple[Fraction, ...]
    jumps: bool = False
    kind: ClassVar[str] = "hinge"
    degree: ClassVar[int] = 1

    @property
    def dimension(self):
        return 2 + len(self.places) * (2 if self.jumps else 1)

    @property
    def spelling(self):
        return self.kind

    @property
    def breaks(self):
        return (Fraction(0), *self.places, Fraction(1))

    def evaluate(self, times):
        bends = [np.maximum(times - float(place), 0.0) for place in self.places]
        steps = [1.0 * (times > float(place)) for place in self.places if self.jumps]
        return np.column_stack([np.ones_like(times), times, *bends, *steps])


@dataclass(frozen=True)
class Wave(Baseline):
    """1 and a sine: no polynomial, so it declares nothing."""

    kind: ClassVar[str] = "wave"
    dimension: ClassVar[int] = 2
    spelling: ClassVar[str] = "wave"

    def evaluate(self, times):
        return np.column_stack([np.ones_like(times), np.sin(5 * times)])

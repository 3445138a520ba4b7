"""What is summed over intervals, and the sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet.design.link import Link
from discreet.types import Array

Pointwise = Callable[[Array], Array]


@dataclass(frozen=True)
class Functions:
    """Value, slope and curvature in eta of what an interval contributes."""

    value: Pointwise
    slope: Pointwise
    curvature: Pointwise


@dataclass
class Sums:
    """Totals over people: a value, its gradient and Hessian in f = (alpha, beta)."""

    value: float
    gradient: Array
    hessian: Array

    @classmethod
    def zeros(cls, dimension: int) -> Self:
        """The empty sum."""
        return cls(0.0, np.zeros(dimension), np.zeros((dimension, dimension)))

    def __iadd__(self, other: "Sums") -> Self:
        """Add another block's totals."""
        self.value += other.value
        self.gradient = self.gradient + other.gradient
        self.hessian = self.hessian + other.hessian
        return self


def survival_functions(link: Link) -> Functions:
    """phi, phi', phi''."""
    return Functions(
        link.survival_loss, link.survival_loss_derivative, link.survival_loss_curvature
    )


def event_functions(link: Link) -> Functions:
    """psi, psi', psi''."""
    return Functions(link.event_loss, link.event_loss_derivative, link.event_loss_curvature)


def information_functions(link: Link) -> Functions:
    """Only the curvature counts: (dh/deta)^2 / (h (1 - h))."""
    return Functions(np.zeros_like, np.zeros_like, link.information)

"""The total loss over people.

loss(f) = sum_i [ sum over survived intervals phi(eta_is) + [event] psi(eta_i,exit) ]

A stratum has its own baseline, a period the effects in force: the sums of each stratum in each period
are added in their places of f.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.design.design import Design
from discreet.design.link import Link
from discreet.engine.engine import Engine
from discreet.likelihood.rows import (
    closed_prefixes,
    event_rows,
    event_totals,
    open_prefixes,
    strata_blocks,
)
from discreet.likelihood.sums import Functions, Part, Sums, event_sums, prefix_sums
from discreet.people.episodes import Episodes
from discreet.solve import Evaluation
from discreet.types import Array


@dataclass(frozen=True)
class Problem:
    """Minus the log-likelihood, totalled over people by an engine."""

    engine: Engine
    design: Design
    link: Link

    @property
    def dimension(self) -> int:
        """d, the number of coefficients."""
        return self.design.dimension

    @property
    def persons(self) -> int:
        """n, the number of persons."""
        return self.engine.persons

    def __call__(self, f: Array) -> Evaluation:
        """Return value, gradient and Hessian at f."""
        value, gradient, hessian = self.engine.reduce(block_loss, self.design, self.link, f)
        return Evaluation(float(value), gradient, hessian)

    def information(self, f: Array) -> Array:
        """Return the expected information: sum over intervals at risk of (dh/deta)^2/(h(1-h)) z z'."""
        (hessian,) = self.engine.reduce(block_information, self.design, self.link, f)
        return hessian

    def totals(self) -> tuple[int, int, int]:
        """Return (events, intervals at risk, rows), for a starting value and a report."""
        (counts,) = self.engine.reduce(block_totals)
        return int(counts[0]), int(counts[1]), int(counts[2])


def block_loss(block: Episodes, design: Design, link: Link, f: Array) -> tuple[Array, Array, Array]:
    """Return loss, gradient and Hessian of the people of one block."""
    sums = _over_parts(_loss, block, design, link, f)
    return np.array(sums.value), sums.gradient, sums.hessian


def block_information(block: Episodes, design: Design, link: Link, f: Array) -> tuple[Array]:
    """Return the expected information of the people of one block."""
    return (_over_parts(_information, block, design, link, f).hessian,)


def _over_parts(
    sums_of: Callable[[Episodes, Design, Link, Part], Sums],
    block: Episodes,
    design: Design,
    link: Link,
    f: Array,
) -> Sums:
    """Add the sums of each stratum in each period, in the places of its baseline and effects."""
    total = Sums.zeros(design.dimension)
    # a design may have one baseline for the strata of all
    parts = strata_blocks(block) if design.strata > 1 else (block,)
    for stratum, people in enumerate(parts):
        for period, limits in enumerate(pairwise(design.periods.ends)):
            places = design.in_force(stratum, period)
            if people.rows:
                sums = sums_of(people, design, link, Part(f[places], limits, block.rows))
                total.value += sums.value
                total.gradient[places] += sums.gradient
                total.hessian[np.ix_(places, places)] += sums.hessian
    return total


def _loss(block: Episodes, design: Design, link: Link, part: Part) -> Sums:
    survival = Functions(
        link.survival_loss, link.survival_loss_derivative, link.survival_loss_curvature
    )
    if link.linear_event:
        rows = closed_prefixes(block, part.limits)
        sums = prefix_sums(rows, design, link, part, survival, exact=True)
        linear = event_totals(block, part.limits).linear(design.basis)
        sums.value -= float(linear @ part.f)
        sums.gradient = sums.gradient - linear
    else:
        rows = open_prefixes(block, part.limits)
        sums = prefix_sums(rows, design, link, part, survival, exact=True)
        event = Functions(link.event_loss, link.event_loss_derivative, link.event_loss_curvature)
        sums += event_sums(event_rows(block, part.limits), design.basis, part.f, event)
    return sums


def _information(block: Episodes, design: Design, link: Link, part: Part) -> Sums:
    # (dh/deta)^2 / (h (1 - h)) in the place of a curvature; nothing is summed beside it
    information = Functions(np.zeros_like, np.zeros_like, link.information)
    rows = closed_prefixes(block, part.limits)
    return prefix_sums(rows, design, link, part, information, exact=False)


def block_totals(block: Episodes) -> tuple[NDArray[np.int64]]:
    """Count events, intervals at risk and rows of one block."""
    at_risk = np.sum(block.exit, dtype=np.int64) - np.sum(block.entry, dtype=np.int64)
    return (np.array([np.count_nonzero(block.event), at_risk, block.rows], dtype=np.int64),)


def block_strata(block: Episodes, strata: int) -> tuple[NDArray[np.int64]]:
    """Count the rows at risk of each stratum."""
    numbers = np.zeros(0, dtype=np.int16) if block.stratum is None else block.stratum
    return (np.bincount(numbers, minlength=strata).astype(np.int64),)

"""Optimum: a minimiser of all people's loss, released with noise; the second way from records out.

    released    w on the grid 2^k + K, P(K = k) proportional to exp(-|k| / s)
    best        the model with the best noisy score -sum_i min(loss_i, bound), by random stopping

Output and objective perturbation release an optimum, not a sum. How far one person moves it is
proved and calibrated with each mechanism: docs/proofs/output-perturbation.md, section 7,
docs/proofs/objective-perturbation.md, section 5, docs/proofs/selection.md, section 1.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.scales import NoiseGrid
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.design.design import Design
    from discreet.design.link import Link
    from discreet.likelihood.problem import Problem
    from discreet.people.episodes import Episodes
    from discreet.privacy.exact import ContinuousDraw
    from discreet.privacy.noise import NoiseSource
    from discreet.privacy.selection import RandomStopping

SCORE_EXPONENT = -10


class SmoothLoss(Protocol):
    """A released model: its point is on a public grid."""

    @property
    def point(self) -> Array:
        """The released coordinates."""


Candidate = TypeVar("Candidate")
Chosen = TypeVar("Chosen", bound=SmoothLoss)


class Optimum:
    """Releases what minimises a loss: `find` sees the loss, is trusted, and its noised point comes out.

    It has no budget and counts nothing: it answers as often as it is asked.
    """

    __slots__ = ("_loss", "_noise")

    def __init__(self, loss: Any, noise: "NoiseSource") -> None:
        self._loss, self._noise = loss, noise

    @property
    def private(self) -> bool:
        """Whether the noise may protect people: False of a seeded source."""
        return self._noise.private

    def released(self, find: Callable[[Any], Array], scale: float, exponent: int) -> list[int]:
        """The point that `find` computes of the loss, in units of 2^exponent, with lattice noise."""
        return self._noisy(find(self._loss), scale, exponent)

    def tilted(
        self,
        find: Callable[[Any, "ContinuousDraw"], Array],
        tilt: tuple[int, float],
        scale: float,
        exponent: int,
    ) -> list[int]:
        """The same of the loss and a random tilt, of which `tilt` has the dimension and scale."""
        drawn = self._noise.continuous_laplace(*tilt)
        return self._noisy(find(self._loss, drawn), scale, exponent)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("an Optimum can be neither copied nor pickled")

    def _noisy(self, point: Array, scale: float, exponent: int) -> list[int]:
        steps = NoiseGrid(exponent).to_integers(point)
        drawn = self._noise.lattice_laplace(len(point), Fraction(scale) / Fraction(2) ** exponent)
        return [int(step) + int(extra) for step, extra in zip(steps, drawn, strict=True)]

    def best(
        self,
        stopping: "RandomStopping",
        candidates: Sequence[Candidate],
        release: Callable[[Candidate], Chosen],
        bound: float,
    ) -> Chosen:
        """The released model with the best noisy score; a person's loss counts up to `bound`."""
        return stopping.select(
            candidates,
            release,
            lambda model: clipped_score(self._loss, model.point, bound),
            int(NoiseGrid(SCORE_EXPONENT).to_integers(bound)),
            self._noise,
        )


def clipped_score(problem: "Problem", point: Array, bound: float) -> int:
    """-sum_i min(loss_i, bound), in units of 2^-10; integers, so the order of people is nothing."""
    public = (problem.design, problem.link, point, bound)
    (score,) = problem.engine.reduce(block_score, *public)
    return int(score)


def block_score(
    block: "Episodes", design: "Design", link: "Link", point: Array, bound: float
) -> tuple[NDArray[np.int64]]:
    """The clipped score of one block's people, each rounded to the grid on its own."""
    rows = _row_losses(block, design, link, point)
    people = rows if block.offsets is None else _by_person(rows, block.offsets)
    clipped = np.clip(np.nan_to_num(people, nan=bound, posinf=bound), 0.0, bound)
    steps = np.rint(np.ldexp(clipped, -SCORE_EXPONENT)).astype(np.int64)
    return (-steps.sum(dtype=np.int64).reshape(()),)


def _row_losses(block: "Episodes", design: "Design", link: "Link", point: Array) -> Array:
    """Loss of every row, interval by interval."""
    size = design.basis.shape[1]
    level = design.basis @ point[:size]
    losses = np.zeros(block.rows)
    for interval, height in enumerate(level, start=1):
        if interval - 1 in design.periods.ends:
            own = point[design.in_force(0, design.periods.of_interval[interval - 1])]
            effect = _effects(block.covariates, own[size:])
        here = np.flatnonzero((block.entry < interval) & (interval <= block.exit))
        eta = height + effect[here]
        dies = block.event[here] & (block.exit[here] == interval)
        losses[here] += np.where(dies, link.event_loss(eta), link.survival_loss(eta))
    return losses


def _effects(covariates: Array, beta: Array) -> Array:
    """x'beta of every row, one column after the other.

    A matrix product rounds a row differently in other company: whoever brings a row more would
    move the scores of the others.
    """
    effects = np.zeros(len(covariates))
    for column, coefficient in zip(covariates.T, beta, strict=True):
        effects += column * coefficient
    return effects


def _by_person(rows: Array, offsets: NDArray[np.int64]) -> Array:
    """Sums over rows offsets[i]:offsets[i + 1]; persons without rows have loss 0.

    Each sum takes its own rows alone: through a running total one person would round another's.
    """
    count = len(offsets) - 1
    owner = np.repeat(np.arange(count), np.diff(offsets))
    return np.asarray(np.bincount(owner, weights=rows, minlength=count))

"""Questions to people: a sum of integer vectors together with how far one person moves it.

    question      a person's integer vector          |w (x - x')|_2^2 at most           |x - x'|_1
    exits         one cell, with entries two         16^2 2 c                           2 c
    marginals     weights in a cell of m covariates  16^2 2 m K w^2                     2 m K w
    moments       lower triangle of sum w v v'       2 (128 w R)^2, |v|^2 <= R
    scores        |v| <= L                           (2 L)^2
    information   lower triangles of C_r C_r'        2 (128 Q^2)^2, sum |C_r|^2 <= Q^2
    group counts  c cells through M                  2 c |M e_1|^2                      2 c |M e_1|_1

A question is made here and nowhere else, so a vector and its calibration cannot drift apart. Proof:
docs/proofs/private-newton.md, sections 2, 3 and 4; docs/proofs/competing-risks.md, sections 1, 2 and 3;
docs/proofs/group-curves.md, section 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.bins import DIAGONAL, OFF_DIAGONAL, UNIT, Columns, Marginal, Stretches
from discreet.core.cells import block_exits, block_group_counts, block_marginals, block_moments
from discreet.core.information import LARGEST_FACTOR
from discreet.core.scores import (
    LARGEST,
    JointScores,
    Whitened,
    block_information,
    block_scores,
    information_tables,
    score_tables,
)
from discreet.core.split import FINE, Sensitivity
from discreet.design.groups import Groups, strategy, stretch_edges
from discreet.types import Array, Integers

if TYPE_CHECKING:
    from discreet.engine.engine import BlockFunction

SCORES = Sensitivity((2 * LARGEST) ** 2, unit=LARGEST)
"""Two integer vectors of norm at most L, in parts of the bound: private-newton, section 2."""
INFORMATION = Sensitivity(
    2 * (DIAGONAL * LARGEST_FACTOR**2) ** 2, least=DIAGONAL, unit=LARGEST_FACTOR**2
)
"""|C C' - D D'|_F^2 <= 2 Q^4, times 128^2, in parts of the limit: private-newton, section 3."""


@dataclass(frozen=True)
class Question:
    """A sum over people of integer vectors, its integer weights, and its sensitivity.

    `block` gives the sum over a block of people; `proof` names the page and section that prove the
    sensitivity.
    """

    name: str
    block: "BlockFunction"
    arguments: tuple[Any, ...]
    sensitivity: Sensitivity
    proof: str
    weights: int | Integers = 1


def of_counts(cells: int, mass: int = 1, square: int = 1, unit: int = 1) -> Sensitivity:
    """Of counts in which a person adds to `cells` sets, in each at most `mass` and `square` squared.

    Two such additions differ by at most 2 cells mass in L1, and by 2 cells square in squared L2.
    """
    return Sensitivity(FINE**2 * 2 * cells * square, 2 * cells * mass, FINE, unit)


def of_exits(*, late: bool) -> Sensitivity:
    """Of a person in one cell, and in another one of entries: private-newton, section 3."""
    return of_counts(2 if late else 1)


def of_marginals(covariates: int, stretches: Stretches) -> Sensitivity:
    """Of weights in the cells of so many covariates: private-newton, section 3."""
    return of_counts(covariates, stretches.mass, stretches.square, stretches.weight)


def of_moments(columns: int, weight: int) -> Sensitivity:
    """Of sum w v v' with |v|^2 <= R and weights of this sum: private-newton, section 3."""
    squared = 2 * (DIAGONAL * weight * moment_limit(columns)) ** 2
    return Sensitivity(squared, least=DIAGONAL, unit=UNIT**2 * weight)


def of_group_counts(cells: int, matrix: Integers) -> Sensitivity:
    """Of a person in so many cells, each released through M: group-curves, section 2."""
    first = matrix[:, 0]
    return Sensitivity(2 * cells * int(np.sum(first**2)), 2 * cells * int(np.sum(first)))


def moment_limit(columns: int) -> int:
    """The bound on |v|^2 in integers: seven tenths of what is expected.

    Most people are shortened: noise falls with the bound, and moments by less. What is left of them
    is seen on a cohort that is shortened too.
    """
    return 7 * columns * UNIT**2 // 10


def half_weights(size: int) -> Integers:
    """128 on the diagonal, 181 off it, of a lower triangle row after row."""
    rows, columns = np.tril_indices(size)
    return np.where(rows == columns, DIAGONAL, OFF_DIAGONAL)


def exits(edges: Integers, outcomes: int, strata: int, *, late: bool) -> Question:
    """Counts of exits by bin of time and outcome, and of entries where they may be late."""
    arguments = edges, outcomes, 1 + outcomes + late, strata
    size, proof = of_exits(late=late), "private-newton, section 3"
    return Question("exits", block_exits, arguments, size, proof, FINE)


def marginals(
    covariates: tuple[Marginal, ...], stretches: Stretches, leads: Integers | None
) -> Question:
    """Counts of every covariate's bins, by stretch of time."""
    arguments = covariates, stretches, leads
    size, proof = of_marginals(len(covariates), stretches), "private-newton, section 3"
    return Question("marginals", block_marginals, arguments, size, proof, FINE)


def moments(centre: Array, spread: Array, stretches: Stretches, columns: Columns) -> Question:
    """Second moments of the standardised covariates, and of strata where `centre` has more columns."""
    width = len(centre)
    arguments = centre, spread, moment_limit(width), stretches, columns
    size, proof = of_moments(width, stretches.weight), "private-newton, section 3"
    return Question("moments", block_moments, arguments, size, proof, half_weights(width))


def scores(causes: Sequence[Whitened], persons: int) -> Question:
    """The sum of bounded scores of all causes, one after another, in parts of each cause's bound."""
    joint = JointScores(tuple(causes))
    arguments = joint, *score_tables(joint, persons)
    several, page = _described(joint)
    return Question(f"scores{several}", block_scores, arguments, SCORES, f"{page}, section 2")


def information(causes: Sequence[Whitened], limit: float, persons: int) -> Question:
    """The sum of people's information of all causes, cut together to `limit`, in parts of it."""
    joint = JointScores(tuple(causes))
    arguments = joint, limit, *information_tables(joint, persons)
    weights = np.tile(half_weights(joint.size), len(joint.parts))
    several, page = _described(joint)
    name, proof = f"information{several}", f"{page}, section 3"
    return Question(name, block_information, arguments, INFORMATION, proof, weights)


def _described(joint: JointScores) -> tuple[str, str]:
    one = len(joint.parts) == 1
    return ("", "private-newton") if one else (" of causes", "competing-risks")


def group_counts(groups: Groups, stretches: int, *, pure: bool) -> Question:
    """Counts of events, censored people and entries by group and time, through M."""
    tables = groups.tables(stretches)
    matrices = tuple(strategy(places, pure=pure) for _, places in tables)
    edges = stretch_edges(groups.schema.time.intervals, stretches)
    arguments = edges, groups.levels, tables, matrices
    size, proof = group_sensitivity(groups, stretches, pure=pure), "group-curves, section 2"
    return Question("group counts", block_group_counts, arguments, size, proof)


def group_sensitivity(groups: Groups, stretches: int, *, pure: bool) -> Sensitivity:
    """Of the counts by group: a person is in one cell, and in one of the entries."""
    cells = 1 if groups.schema.time.entry is None else 2
    return of_group_counts(cells, strategy(stretches + 1, pure=pure))

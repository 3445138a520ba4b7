"""Bugs planted in counts by group."""

from discreet.core import cells, question
from discreet.core.ask import Ask
from discreet.design import groups
from discreet.mechanisms.group_counts import GroupCounts
from tests.mechanisms.bugs import Bug

CURVES_BUGS = [
    Bug(
        "sums of curves that can leave the integers",
        GroupCounts,
        "plan",
        "not sensitivity.keeps(persons)",
        "False",
        "curves: constants: several rows, late entry",
    ),
    Bug(
        "noise for adding or removing a person where one is replaced, in curves",
        question,
        "of_group_counts",
        "Sensitivity(2 * cells *",
        "Sensitivity(cells *",
        "curves: witness: several rows, late entry",
    ),
    Bug(
        "entries of curves not paid for",
        question,
        "group_sensitivity",
        "1 if groups.schema.time.entry is None else 2",
        "1",
        "curves: witness: several rows, late entry",
    ),
    Bug(
        "the matrix of curves weighs later than its first column says",
        groups,
        "strategy",
        "np.take(weights, np.maximum(rows - columns, 0))",
        "np.take(weights, np.maximum(rows - columns, 0)) * (1 + columns)",
        "curves: neighbours: several rows, late entry",
    ),
    Bug(
        "every row of a person counted as an exit of a curve",
        cells,
        "block_group_counts",
        "first, last = block.ends",
        "first = last = np.arange(block.rows)",
        "curves: neighbours: several rows, late entry",
    ),
    Bug(
        "people who are there to the end weigh more than the first column of curves says",
        question,
        "group_sensitivity",
        "strategy(stretches + 1, pure=pure)",
        "strategy(stretches, pure=pure)",
        "curves: witness: several rows, late entry",
    ),
    Bug(
        "curves released without their noise",
        Ask,
        "_noisy",
        "return self._noise.discrete_gaussian(weighted, scale)",
        "return weighted",
        "curves: witness: several rows, late entry",
    ),
]

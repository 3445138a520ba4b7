"""Bugs planted in counts by group."""

from discreet.core import cells, question
from discreet.core.ask import Ask
from discreet.design import groups
from discreet.mechanisms.group_counts import GroupCounts
from tests.mechanisms import curves_checks
from tests.mechanisms.bugs import Bug

CURVES_BUGS = [
    Bug(
        "sums of curves that can leave the integers",
        GroupCounts,
        "plan",
        "persons * int(longest[:, 0].sum()) > LARGEST_VALUE",
        "False",
        curves_checks.check_sums_stay_within_the_integers,
    ),
    Bug(
        "noise for adding or removing a person where one is replaced, in curves",
        question,
        "of_group_counts",
        "Sensitivity(2 * cells *",
        "Sensitivity(cells *",
        curves_checks.check_neighbours_stay_within_the_noise,
    ),
    Bug(
        "entries of curves not paid for",
        question,
        "group_sensitivity",
        "1 if groups.schema.time.entry is None else 2",
        "1",
        curves_checks.check_neighbours_stay_within_the_noise,
    ),
    Bug(
        "the matrix of curves weighs later than its first column says",
        groups,
        "strategy",
        "np.take(weights, np.maximum(rows - columns, 0))",
        "np.take(weights, np.maximum(rows - columns, 0)) * (1 + columns)",
        curves_checks.check_late_exits_move_no_further,
    ),
    Bug(
        "every row of a person counted as an exit of a curve",
        cells,
        "block_group_counts",
        "first, last = block.ends",
        "first = last = np.arange(block.rows)",
        curves_checks.check_a_person_of_several_rows_counts_once,
    ),
    Bug(
        "people who are there to the end weigh more than the first column of curves says",
        question,
        "group_sensitivity",
        "strategy(stretches + 1, pure=pure)",
        "strategy(stretches, pure=pure)",
        curves_checks.check_neighbours_stay_within_the_noise,
    ),
    Bug(
        "curves released without their noise",
        Ask,
        "_noisy",
        "return self._noise.discrete_gaussian(weighted, scale)",
        "return weighted",
        curves_checks.check_noise_is_added_once_to_every_sum,
    ),
]

"""Bugs planted in effects that change with time."""

from discreet.core import people
from discreet.likelihood import problem
from discreet.mechanisms import contract
from discreet.mechanisms.objective import Shape
from tests.mechanisms import changes_checks
from tests.mechanisms.bugs import Bug

CHANGES_BUGS = [
    Bug(
        "values placed in all periods at once",
        problem,
        "_over_parts",
        "Part(f[places], limits, block.rows)",
        "Part(f[places], (0, design.intervals), block.rows)",
        "objective: neighbours",
    ),
    Bug(
        "scores of every period bounded and rounded for themselves",
        people,
        "add_walked_scores",
        "limits, number = (period[0], period[1], intervals), 0",
        "limits, number = (period[0], period[1], intervals), 0; "
        "add_quantised(total, cut, point.bound, largest, whole, result); lanes.total[:] = 0.0",
        changes_checks.check_changing_scores_move_by_twice_the_bound,
        "private Newton refuses effects that change, so no draw asks such scores",
    ),
    Bug(
        "Jacobian bound of constant covariates used where effects change",
        Shape,
        "jacobian",
        "self.facts.time_varying or self.facts.design.periods.number > 1",
        "self.facts.time_varying",
        "objective: neighbours",
    ),
    Bug(
        "effects that change accepted without a proof",
        contract,
        "require_lasting_effects",
        "if changing and",
        "if False and",
        changes_checks.check_changes_without_a_proof_are_refused,
        "of the mechanisms that have no proof for such effects",
    ),
]

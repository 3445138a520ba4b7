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
        "walk_people",
        "limits, number = (period[0], period[1], intervals), ZERO",
        "limits, number = (period[0], period[1], intervals), ZERO; "
        "add_quantised(total, cut, point.bound, largest, whole, result); total[:] = 0.0",
        "newton: neighbours: effects that change",
    ),
    Bug(
        "a row at risk in two periods counted in full in both",
        people,
        "load_rows",
        "max(entry[row], begin), min(leave[row], end)\n",
        "entry[row], leave[row]\n",
        changes_checks.check_every_interval_is_in_one_period,
        "the check in integers keeps every score in its ball: this costs accuracy",
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
        "require_proof",
        "if changing and",
        "if False and",
        changes_checks.check_changes_without_a_proof_are_refused,
        "of the mechanisms that have no proof for such effects",
    ),
]

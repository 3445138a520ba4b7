"""Bugs planted in private strata."""

from discreet.core import cells, question
from discreet.mechanisms import contract
from discreet.mechanisms.newton.sequence import Sequence
from discreet.people import encode
from tests.mechanisms import strata_checks
from tests.mechanisms.bugs import Bug

STRATA_BUGS = [
    Bug(
        "a person who changes stratum is counted in each of them",
        encode,
        "_strata_of_people",
        "if spans.offsets is None:",
        "if True:",
        strata_checks.check_a_person_is_in_one_stratum,
        "no vector moves further for it: a person is counted once all the same",
    ),
    Bug(
        "every row of a person counted as an exit of a stratum",
        cells,
        "block_exits",
        "first, last = block.ends",
        "first = last = np.arange(block.rows)",
        "newton: neighbours: several rows, late entry",
    ),
    Bug(
        "strata among the second moments and not paid for",
        question,
        "moments",
        "of_moments(width,",
        "of_moments(2,",
        "newton: witness: several rows, late entry",
    ),
    Bug(
        "strata standardised by the people's own shares",
        Sequence,
        "_moments",
        "weight = self.layout.moment_weight(self.design.intervals)",
        "weight = self.layout.moment_weight(self.design.intervals); "
        "own = self.ask._engine.episodes.stratum; "
        "centre = np.append(centre[:-1], (own == 2).mean())",
        "newton: questions: strata",
    ),
    Bug(
        "strata without a proof accepted",
        contract,
        "require_proof",
        "facts.design.strata > 1 and",
        "False and",
        "newton: refusals: strata",
    ),
]

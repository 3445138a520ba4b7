"""Bugs planted in the private model of competing risks."""

from discreet.core import cells, people, question, walk
from discreet.mechanisms.newton.sequence import Sequence
from tests.mechanisms import causes_checks
from tests.mechanisms.bugs import Bug

CAUSES_BUGS = [
    Bug(
        "the weight forgets that a cause may happen",
        walk,
        "write_weights",
        "b = happen[r, s, lane]",
        "b = 0.0",
        causes_checks.check_the_weight_keeps_all_outcomes,
        "the check in integers keeps every score in its ball: this costs accuracy",
    ),
    Bug(
        "the weight forgets the interval without an event",
        walk,
        "write_weights",
        "if causes > 1:",
        "if False:",
        causes_checks.check_the_weight_keeps_all_outcomes,
        "the check in integers keeps every score in its ball: this costs accuracy",
    ),
    Bug(
        "every cause's score bounded by itself: sqrt(R) times the norm",
        people,
        "score_sums",
        "add_scores(records, point, Levels(), people, largest, result)",
        "[add_scores(records._replace(cause=(records.cause == r + 1).astype(np.int8)), "
        "Point(point.link[:1], *(item[r : r + 1] for item in point[1:4]), point.basis, "
        "point.baseline[r : r + 1], *point[6:]), Levels(), people, largest, part) "
        "for r, part in enumerate(np.split(result, len(point.link)))]",
        "newton: neighbours: causes",
    ),
    Bug(
        "every row of a person counted as an exit by a cause",
        cells,
        "block_exits",
        "first, last = block.ends",
        "first = last = np.arange(block.rows)",
        "newton: neighbours: causes",
    ),
    Bug(
        "scores of causes with the sensitivity of adding or removing a person",
        question,
        "scores",
        "arguments, SCORES,",
        "arguments, Sensitivity(LARGEST**2, unit=LARGEST),",
        "newton: witness: causes",
    ),
    Bug(
        "late entries of competing risks counted and not paid for",
        question,
        "exits",
        "of_exits(late=late)",
        "of_exits(late=False)",
        "newton: witness: causes",
    ),
    Bug(
        "the information of causes with half its squared sensitivity",
        question,
        "information",
        "arguments, INFORMATION,",
        "arguments, Sensitivity(INFORMATION.squared // 2, least=128, unit=2**26),",
        "newton: witness: causes",
    ),
    Bug(
        "units of the scores taken from the people",
        Sequence,
        "_score",
        "causes, persons = self._whitened(asked), self.ask.persons",
        "own = 1.0 + abs(float(self.ask._engine.reduce(lambda block: (block.covariates.sum(),))[0])); "
        "asked = replace(asked, bounds=own * asked.bounds); "
        "causes, persons = self._whitened(asked), self.ask.persons",
        "newton: questions: causes",
    ),
]

"""The integers that questions to made-up people have, against those that were committed.

People are made by whole-number arithmetic, and so are the public points that questions are put
with, so every machine asks the same.  What the proofs need of a processor, and why equal integers
are not among it: docs/threat-model.md, "Processors".

`python -m discreet.audit.machine` writes the committed file again, after a change that is meant to
change integers.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.audit.instruments import KnownNoise
from discreet.core import question
from discreet.core.ask import Ask
from discreet.core.bins import Columns, Stretches, marginals_of
from discreet.core.question import Question
from discreet.core.scores import Whitened
from discreet.core.split import Split
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.groups import Groups
from discreet.design.link import LINKS
from discreet.design.schema import Schema
from discreet.people.source import People

PERSONS, INTERVALS = 500, 12
FILE = files("discreet.audit") / "machine.json"


def made_up_people() -> pa.Table:
    """Multiples of 2^32 divided by the golden ratio, and no random numbers of a library."""
    numbers = [(index * 2654435769) % 2**32 for index in range(1, 6 * PERSONS + 1)]
    columns = [numbers[place::6] for place in range(6)]
    entry, stay, outcome, arm, first, second = columns
    start = [value % 6 for value in entry]
    return pa.table(
        {
            "start": [float(value) for value in start],
            "end": [one + 1.0 + value % 6 for one, value in zip(start, stay, strict=True)],
            "outcome": [("none", "cancer", "other")[(value >> 16) % 3] for value in outcome],
            "died": [int((value >> 16) % 3 == 1) for value in outcome],
            "arm": [("a", "b")[(value >> 12) % 2] for value in arm],
            "age": [(value >> 20) / 2**12 for value in first],
            "dose": [(value >> 20) / 2**12 for value in second],
        }
    )


def schema(*, causes: bool = False) -> Schema:
    """Two numbers and two levels; one kind of event, or two causes."""
    event: dict[str, Any] = {"event": "died"}
    if causes:
        event = {"event": "outcome", "causes": {"cancer": ["cancer"], "other": ["other"]}}
    axis = {"horizon": float(INTERVALS), "intervals": INTERVALS}
    numbers = [{"name": name, "low": 0, "high": 1} for name in ("age", "dose")]
    covariates = [*numbers, {"name": "arm", "levels": ["a", "b"]}]
    time = {"duration": "end", "entry": "start", **axis, **event}
    return Schema.from_mapping({"time": time, "covariate": covariates})


def questions() -> Iterator[tuple[str, Schema, Question]]:
    """Every kind of question, by name."""
    plain, several = schema(), schema(causes=True)
    design = Design(plain, NaturalSpline(1), "orthonormal")
    covariates = len(design.covariates.leads)
    whole, edges = Stretches((0, INTERVALS), 1), np.array([0, 3, 6, 9, INTERVALS])
    yield "exits", plain, question.exits(edges, 1, 1, late=True)
    yield "marginals", plain, question.marginals(marginals_of(design, 8), whole, None)
    centre, spread = np.full(covariates, 0.125), np.full(covariates, 0.25)
    yield "moments", plain, question.moments(centre, spread, whole, Columns())
    for name, link in LINKS.items():
        for clipped in (False, True):
            asked = whitened(design, link, clipped=clipped)
            kind = f"scores, {name}, {'clip' if clipped else 'ball'}"
            yield kind, plain, question.scores([asked], PERSONS)
        yield f"information, {name}", plain, question.information([asked], 0.25, PERSONS)
    design = Design(several, NaturalSpline(1), "orthonormal")
    for name, link in LINKS.items():
        both = [whitened(design, link), whitened(design, link, sign=-1)]
        yield f"scores of causes, {name}", several, question.scores(both, PERSONS)
        asking = question.information(both, 0.25, PERSONS)
        yield f"information of causes, {name}", several, asking
    yield "counts by group", plain, question.group_counts(Groups(plain, ("arm",)), 6, pure=False)


def whitened(design: Design, link: Any, *, clipped: bool = False, sign: int = 1) -> Whitened:
    """A point and coordinates that are exact binary fractions."""
    point = sign * np.arange(1, design.dimension + 1) / 8.0
    return Whitened(design, link, point, np.eye(design.dimension) / 2.0, 1.0, clipped)


def integers() -> dict[str, list[int]]:
    """The sums of integers of every question, without noise, on this machine."""
    data, found = made_up_people(), {}
    for name, public, asked in questions():
        noise = KnownNoise()
        whole = Split(Fraction(1), pure=False, shares=(("all", Fraction(1)),))
        Ask(People.of(data).open(public), noise, whole)(asked, Fraction(1))
        found[name] = noise.calls[0].values
    return found


def compared(found: dict[str, list[int]]) -> list[tuple[str, int, int]]:
    """Name, number of integers, and the largest difference from the committed ones."""
    committed: dict[str, list[int]] = json.loads(FILE.read_text(encoding="ascii"))
    return [
        (name, len(values), largest_difference(values, committed.get(name, [])))
        for name, values in found.items()
    ]


def largest_difference(values: Sequence[int], others: Sequence[int]) -> int:
    """Compare integers one by one; where their numbers differ, return the largest of all."""
    if len(values) != len(others):
        return max(map(abs, [*values, *others]))
    return max(abs(one - other) for one, other in zip(values, others, strict=True))


def sentence(name: str, count: int, difference: int) -> str:
    """One line for a terminal."""
    state = "the same" if difference == 0 else f"differ by {difference} at most"
    return f"{name}: {count} integers, {state}"


MEANING = (
    "no promise rests on equal integers, but the same noise would not give the same release here "
    '(docs/threat-model.md, "Processors").'
)

Write = Callable[[str], object]


def main(write: Write = sys.stdout.write) -> None:
    """Write the committed file again."""
    text = json.dumps(integers(), indent=1).replace("\n  ", " ").replace("\n ]", " ]")
    Path(str(FILE)).write_text(text + "\n", encoding="ascii")
    write(f"{FILE}\n")


if __name__ == "__main__":
    main()

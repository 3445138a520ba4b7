# ruff: noqa: INP001, S301, T201, scripts beside each other, no package; pickles are one's own
"""Two estimators compared on released numbers: without records, paired, in minutes.

    python studies/transcripts.py record --folder F --sets acath,rott2 --draws 12
    python studies/transcripts.py compare --folder F [--set KAPPA=25 CHANGE=0.3]
    python studies/transcripts.py constants --folder F
    python studies/transcripts.py page       the table of docs/estimator.md from the results

`record` draws with noise from a seed and keeps what was released in F, one file a set (a real set that
anyone may download, or a random registry with one cause as SEED/NUMBER: a transcript holds noisy sums
alone, but its noise is not that of a real release). Beside it are the exact fit and the release as the code of that day made
it (`today`). `compare` estimates once more from the
released numbers, with other constants, and `constants` does so with half and double of each in
`discreet.estimator.constants`; results/transcripts-constants.csv.

err is the root mean square over coefficients of covariates of (private - exact) / exact standard error,
inside the share of all coefficients whose interval holds the exact estimate, width the median of private
over exact standard errors, named the share of coefficients that a caution names. Points, bounds and limits
are those of the draw, whatever the constants.
"""

import argparse
import ast
import csv
import pickle
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from fresh.family import Registry, registry
from marked import fill
from numpy.typing import NDArray
from real_sets import load

import discreet as ds
from discreet.estimator import (
    asking,
    cautions,
    constants,
    picture,
    population,
    published,
    reach,
    root,
    tails,
    transcript,
)
from discreet.estimator import estimate as estimates
from discreet.estimator.published import Ended
from discreet.estimator.transcript import Transcript

Array = NDArray[np.float64]

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "estimator.md"
MARKS = ("<!-- constants: begin -->", "<!-- constants: end -->")
MODULES = (
    constants, transcript, population, tails, picture, estimates, root, asking, reach, published, cautions,
)  # fmt: skip
EPSILONS, DELTA = (1.0, 4.0), 1e-6
COLUMNS = ("set", "epsilon", "draws", "err", "err_today", "ratio", "ratio_error", "inside",
           "inside_today", "width", "width_today", "misfit")  # fmt: skip
CONSTANTS = ("constant", "value", "meaning", "transcripts", "half", "half_error",
             "half_width", "half_inside", "half_named", "double", "double_error", "double_width",
             "double_inside", "double_named")  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """An estimate against the exact fit."""

    err: float
    inside: float
    width: float
    named: float = 0.0

    @classmethod
    def of(cls, vector: Array, covariance: Array, exact: "Exact", named: float = 0.0) -> "Measured":
        """On the user's scale."""
        errors = np.sqrt(np.diag(exact.covariance))
        gaps, stated = (vector - exact.vector) / errors, np.sqrt(np.diag(covariance)) / errors
        own = slice(exact.baseline, None)
        inside = float(np.mean(np.abs(gaps) <= 1.96 * stated))
        err, width = float(np.sqrt(np.mean(gaps[own] ** 2))), float(np.median(stated[own]))
        return cls(err, inside, width, named)


@dataclass(frozen=True)
class Exact:
    """The fit without privacy; `baseline` is the number of its first coefficients."""

    vector: Array
    covariance: Array
    baseline: int


@dataclass(frozen=True)
class Recorded:
    """One draw: its transcript, the estimate, what today's release of the same people is."""

    name: str
    epsilon: float
    draw: int
    transcript: Transcript
    exact: Exact
    today: Measured


@contextmanager
def recorded() -> Iterator[list[Ended]]:
    """How each draw that is made within ended."""
    found, draw = list[Ended](), ds.PrivateNewton.ended

    def ended(self: ds.PrivateNewton, *given: Any) -> Ended:
        found.append(draw(self, *given))
        return found[-1]

    with patch.object(ds.PrivateNewton, "ended", ended):
        yield found


def record(name: str, draws: int) -> Iterator[Recorded]:
    """Draws of one set, or of a random registry by its seed and number, as 7/3."""
    seed, slash, number = name.partition("/")
    sample = registry(int(seed), int(number)) if slash and seed.isdigit() else load(name)
    exact = exact_of(sample)
    for draw in range(draws):
        for epsilon in EPSILONS:
            seed = zlib.crc32(f"{name}/{epsilon:g}/{draw}".encode())
            given = {"mechanism": ds.PrivateNewton(epsilon, delta=DELTA), "seed": seed}
            with recorded() as found:
                release = ds.simulate(model_of(sample), sample.frame, **given).model_
            vector, covariance = np.array(release.coefficients.vector), np.array(release.covariance)
            measured = Measured.of(vector, covariance, exact)
            yield Recorded(name, epsilon, draw, found[0].transcript, exact, measured)


def model_of(sample: Registry) -> ds.SurvivalRegression:
    """Of a set or a registry."""
    return ds.SurvivalRegression(ds.Schema.from_mapping(sample.schema), **sample.model)


def exact_of(sample: Registry) -> Exact:
    """Without privacy."""
    found = model_of(sample).fit(sample.frame).model_
    vector = np.array(found.coefficients.vector)
    names = ds.Schema.from_mapping(sample.schema).coefficient_names
    return Exact(vector, np.array(found.covariance), len(vector) - len(names))


def estimated(one: Recorded) -> tuple[Measured, float]:
    """Once more from the released numbers; the misfit."""
    field, prior, phi = picture.picture_of(one.transcript)
    points = one.transcript.steps[-1].points
    for r in range(field.layout.causes):
        phi[field.layout.f(r)] = points[r]
    found = estimates.estimate(field, prior, phi, points)
    turn, ended = one.transcript.design.to_user, Ended(field, prior, found)
    said = {name for caution in cautions.cautions(ended) for name in caution.coefficients}
    named = len(said) / one.exact.vector.size
    measured = (turn @ found.f[0], turn @ ended.covariance @ turn.T, one.exact, named)
    return Measured.of(*measured), found.misfit


def read(folder: Path) -> list[Recorded]:
    """All transcripts of a folder."""
    return [
        one for path in sorted(folder.glob("*.pickle")) for one in pickle.loads(path.read_bytes())
    ]


def compared(folder: Path) -> list[dict[str, Any]]:
    """A row for each set and epsilon."""
    rows, recorded = [], read(folder)
    for name, epsilon in sorted({(one.name, one.epsilon) for one in recorded}):
        own = [one for one in recorded if (one.name, one.epsilon) == (name, epsilon)]
        found, misfits = zip(*(estimated(one) for one in own), strict=True)
        logs = np.log([new.err / one.today.err for new, one in zip(found, own, strict=True)])
        mean, error = spread(logs)
        facts = (
            name, epsilon, len(own), np.median([new.err for new in found]),
            np.median([one.today.err for one in own]), mean, error,
            np.mean([new.inside for new in found]), np.mean([one.today.inside for one in own]),
            np.median([new.width for new in found]), np.median([one.today.width for one in own]),
            np.median(misfits),
        )  # fmt: skip
        rows.append(dict(zip(COLUMNS, facts, strict=True)))
        print({key: shown(value) for key, value in rows[-1].items()}, flush=True)
    return rows


def spread(logs: Array) -> tuple[float, float]:
    """The geometric mean and its standard error."""
    mean = float(np.exp(np.mean(logs)))
    return mean, mean * float(np.std(logs, ddof=1)) / len(logs) ** 0.5 if len(logs) > 1 else 0.0


def shown(value: Any) -> Any:
    """Numbers as they are written."""
    return f"{value:.3g}" if isinstance(value, float) else value


def statistical() -> Iterator[tuple[str, float, str]]:
    """(name, value, meaning) of every constant, with the sentence below it."""
    tree = ast.parse(Path(str(constants.__file__)).read_text(encoding="utf-8")).body[1:]
    for node, below in zip(tree[::2], tree[1::2], strict=True):
        target, text = node.targets[0], below.value.value
        for item in target.elts if isinstance(target, ast.Tuple) else [target]:
            yield item.id, float(getattr(constants, item.id)), " ".join(text.split())


def halved_and_doubled(folder: Path) -> list[dict[str, Any]]:
    """With half and double of each: err and width over those as they are, geometric means; inside, named."""
    recorded, rows = read(folder), []
    usual = [estimated(one)[0] for one in recorded]
    for name, value, meaning in statistical():
        found: list[float] = []
        for factor in (0.5, 2.0):
            with set_to(name, factor * value):
                changed = [estimated(one)[0] for one in recorded]
            pairs = list(zip(changed, usual, strict=True))
            found += spread(np.log([new.err / old.err for new, old in pairs]))
            found.append(spread(np.log([new.width / old.width for new, old in pairs]))[0])
            found += [
                float(np.mean([getattr(new, item) for new in changed]))
                for item in ("inside", "named")
            ]
        facts = (name, value, meaning, len(recorded), *found)
        rows.append(dict(zip(CONSTANTS, facts, strict=True)))
        print({key: shown(part) for key, part in rows[-1].items() if key != "meaning"}, flush=True)
    return rows


@contextmanager
def set_to(name: str, value: float) -> Iterator[None]:
    """A constant, in every module that has it."""
    with ExitStack() as stack:
        for module in MODULES:
            if hasattr(module, name):
                stack.enter_context(patch.object(module, name, value))
        yield


def table() -> Iterator[str]:
    """Every constant with its sentence and what half and double of it do, from the results file."""
    with (RESULTS / "transcripts-constants.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    yield (
        f"On {rows[0]['transcripts']} transcripts: err and width over those with the value of the code, inside, "
        "and the share of coefficients that a caution names."
    )
    yield ""
    yield (
        "| constant | value | what it is | half: err | width | inside | named | double: err | width | "
        "inside | named |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        parts = [
            f"{float(row[side]):.2f} ± {float(row[f'{side}_error']):.2f} | "
            f"{float(row[f'{side}_width']):.2f} | {float(row[f'{side}_inside']):.2f} | "
            f"{float(row[f'{side}_named']):.2f}"
            for side in ("half", "double")
        ]
        yield (f"| `{row['constant']}` | {row['value']} | {row['meaning']} | {' | '.join(parts)} |")


def write(path: Path, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """As a results file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: shown(value) for key, value in row.items()} for row in rows)


def main() -> None:
    """As the module's text says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("record", "compare", "constants", "page"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--sets", default="acath")
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--set", nargs="*", default=[], help="CONSTANT=value")
    given = parser.parse_args()
    if given.what == "page":
        fill(PAGE, MARKS, "\n".join(table()))
        return
    if given.folder is None:
        parser.error("say where transcripts are, with --folder")
    if given.what == "record":
        given.folder.mkdir(parents=True, exist_ok=True)
        for name in given.sets.split(","):
            made = list(record(name, given.draws))
            (given.folder / f"{name.replace('/', '_')}.pickle").write_bytes(pickle.dumps(made))
            print(name, len(made), flush=True)
        return
    if given.what == "constants":
        found = halved_and_doubled(given.folder)
        write(RESULTS / "transcripts-constants.csv", CONSTANTS, found)
        return
    changed = [item.split("=") for item in given.set]
    for name, value in changed:
        for module in MODULES:
            if hasattr(module, name):
                setattr(module, name, float(value))
    compared(given.folder)


if __name__ == "__main__":
    main()

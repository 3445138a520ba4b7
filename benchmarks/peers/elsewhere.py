"""Peers whose requirements conflict with discreet's: each runs in an environment of its own.

`make peers` builds them from `requirements/`. A run is a script with arguments: input and output are .npz files.
"""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from descent import orthonormal
from peer import (
    Answer,
    OneByOne,
    Peer,
    Run,
    Setting,
    UnavailableError,
    discreet_answer,
    exact_discrete,
)
from people import Array, People

import discreet as ds
from discreet.privacy.accountant import rho_for, zcdp_epsilon

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parent / "scratch" / "peers" / "environments"
COARSE = 3
"""Intervals of the person-period table of diffprivlib: a person has as many rows at most, so fewer mean less noise.
The baseline has three parameters; with 4 its error was about the same, with 6 and 12
larger, on the two sets where that was tried."""
BINS = 16
"""Bins of a number and of time in synthetic people."""


def run_in(environment: str, script: str, arrays: dict[str, Any]) -> dict[str, Array]:
    """Run a script of `scripts/` in an environment on arrays; return what it writes."""
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(given, **arrays)
        python = ENVIRONMENTS / environment / "bin" / "python"
        command = [str(python), str(HERE / "scripts" / script), str(given), str(answer)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{script}: {done.stderr[-2000:]}")
        with np.load(answer) as found:
            return dict(found)


def _require(environment: str) -> None:
    if not (ENVIRONMENTS / environment / "bin" / "python").exists():
        raise UnavailableError(
            f"run `make peers-environments`: there is no environment {environment}"
        )


class Diffprivlib(Peer):
    """diffprivlib's logistic regression on the person-period table, at the level of persons.

    Its unit is a row, so epsilon is divided by the number of rows that a person may have. Time is coarsened
    to 3 intervals in its favour; its L2 penalty is tuned on the data.
    """

    name: ClassVar[str] = "diffprivlib"
    label: ClassVar[str] = "diffprivlib, logistic regression, tuned on the data"
    promise: ClassVar[str] = "epsilon, a person replaced (its own is a row)"

    def require(self) -> None:
        """Raise `UnavailableError` without its environment."""
        _require("diffprivlib")

    def exact(self, people: People) -> Answer:
        """Return the logit fit on the coarse grid."""
        return exact_discrete(_coarse(people), "logit")

    def settings(self) -> Sequence[Setting]:
        """Return inverse penalties; large ones are the ordinary fit with more noise."""
        return [{"inverse_penalty": value} for value in (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)]

    def fits(
        self,
        people: People,
        epsilon: float,
        delta: float,  # noqa: ARG002 - pure
        runs: Sequence[Run],
    ) -> list[tuple[Answer, float]]:
        """Return a draw of each run."""
        coarse = _coarse(people)
        basis = orthonormal(COARSE)[:, 1:]
        person = np.repeat(np.arange(len(coarse)), coarse.last)
        step = np.arange(len(person)) - np.repeat(np.cumsum(coarse.last) - coarse.last, coarse.last)
        table = np.hstack([basis[step], coarse.centred[person]])
        outcome = (step == coarse.last[person] - 1) & coarse.event[person]
        norm = float(np.sqrt((basis**2).sum(axis=1).max() + people.largest_norm**2))
        found = run_in(
            "diffprivlib",
            "logistic.py",
            {
                "table": table,
                "outcome": outcome,
                "epsilon": epsilon / COARSE,
                "norm": norm,
                "inverse_penalties": [setting["inverse_penalty"] for setting, _ in runs],
                "seeds": [seed for _, seed in runs],
            },
        )
        answers = []
        for weights, level in zip(found["weights"], found["intercepts"], strict=True):
            effects = weights[2:]
            baseline = level + basis @ weights[:2] - people.middle @ effects
            answers.append(Answer(effects, None, _finer(baseline, people), "logit"))
        return list(zip(answers, found["seconds"].tolist(), strict=True))


def _coarse(people: People) -> People:
    last = np.ceil(people.last * COARSE / people.intervals).astype(np.int64)
    return People(people.columns, last, people.event, COARSE, people.covariates)


def _finer(predictor: Array, people: People) -> Array:
    """Return predictors of the fine grid whose survival meets the coarse one at its ends."""
    factor = people.intervals / COARSE
    hazard = -np.expm1(-np.logaddexp(0, predictor) / factor)
    place = np.ceil(np.arange(1, people.intervals + 1) / factor).astype(int) - 1
    return np.log(hazard / (1 - hazard))[place]


class Synthetic(OneByOne):
    """Synthetic people under differential privacy, and an ordinary fit of them (dpmm's MST and AIM).

    Columns: the bin of the last interval, the event, the covariates; numbers in equal public bins. The fit takes
    bin middles, time a uniform interval of its bin. Its standard errors are those that a user would read: they know
    nothing of the noise. dpmm counts a person as added or removed; a person replaced is one of each, which is twice
    the rho of zCDP, so it gets the epsilon of half of it (its choices of marginals would need less still).
    """

    name: ClassVar[str] = "aim"
    label: ClassVar[str] = "synthetic people by AIM, ordinary fit"
    model: ClassVar[str] = "aim"
    iterations: ClassVar[int] = 300
    """Of each estimate of the marginals, which begins where the one before it ended."""

    def require(self) -> None:
        """Raise `UnavailableError` without its environment."""
        _require("dpmm")

    def exact(self, people: People) -> Answer:
        """Return the cloglog fit."""
        return exact_discrete(people, "cloglog")

    def fit(
        self,
        people: People,
        epsilon: float,
        delta: float,
        setting: Setting,  # noqa: ARG002 - there is none
        seed: int,
    ) -> Answer:
        """Return one draw."""
        table = self.synthetic(people, epsilon, delta, seed)
        drawn = _unbinned(table, people, np.random.default_rng(seed))
        model = ds.SurvivalRegression(people.schema(), link="cloglog", baseline="natural-spline:3")
        return discreet_answer(model.fit(drawn.table()), people, "cloglog")

    def synthetic(self, people: People, epsilon: float, delta: float, seed: int) -> Array:
        """Return a binned table of people who do not exist."""
        table, sizes = _binned(people)
        half = zcdp_epsilon(rho_for(epsilon, delta) / 2, delta)
        arrays = {"table": table, "sizes": sizes, "epsilon": half, "delta": delta, "seed": seed}
        arrays |= {"model": self.model, "iterations": self.iterations}
        return run_in("dpmm", "synthesise.py", arrays)["table"].astype(int)


class SyntheticMST(Synthetic):
    """The same by MST."""

    name: ClassVar[str] = "mst"
    label: ClassVar[str] = "synthetic people by MST, ordinary fit"
    model: ClassVar[str] = "mst"
    iterations: ClassVar[int] = 1000


class Binned(Synthetic):
    """The people themselves, binned, without noise: how far synthetic people are at any epsilon."""

    name: ClassVar[str] = "bins"
    label: ClassVar[str] = "the people in 16 bins, no noise, no privacy"
    promise: ClassVar[str] = "none"

    def require(self) -> None:
        """Need nothing."""

    def synthetic(
        self,
        people: People,
        epsilon: float,  # noqa: ARG002 - nothing is protected
        delta: float,  # noqa: ARG002
        seed: int,  # noqa: ARG002
    ) -> Array:
        """Return the binned people."""
        return _binned(people)[0]


def _binned(people: People) -> tuple[Array, list[int]]:
    """Return the integer table and the number of values of each column."""
    time = ((people.last - 1) * BINS) // people.intervals
    columns, sizes, start = [time, people.event.astype(int)], [BINS, 2], 0
    for one in people.covariates:
        levels = getattr(one, "levels", None)
        width = 1 if levels is None else len(levels) - 1
        part = people.columns[:, start : start + width]
        if levels is None:
            columns.append(np.minimum(((part[:, 0] + 1) / 2 * BINS).astype(int), BINS - 1))
            sizes.append(BINS)
        else:
            columns.append((part @ np.arange(1, width + 1)).astype(int))
            sizes.append(len(levels))
        start += width
    return np.column_stack(columns), sizes


def _unbinned(table: Array, people: People, random: np.random.Generator) -> People:
    first = np.ceil(table[:, 0] * people.intervals / BINS).astype(int) + 1
    end = np.maximum(np.ceil((table[:, 0] + 1) * people.intervals / BINS).astype(int), first)
    last = random.integers(first, end + 1)
    columns = []
    for one, column in zip(people.covariates, table[:, 2:].T, strict=True):
        levels = getattr(one, "levels", None)
        if levels is None:
            columns.append(((column + 0.5) / BINS * 2 - 1)[:, None])
        else:
            columns.append((column[:, None] == np.arange(1, len(levels))).astype(float))
    event = table[:, 1].astype(bool)
    return People(np.hstack(columns), last, event, people.intervals, people.covariates)

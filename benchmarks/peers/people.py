"""The people of one comparison, as every method gets them.

Symbols: n people, q intervals of equal length, p columns. A number stands as (value - middle) / half
width of bounds from general knowledge, cut to [-1, 1]; a category as 0/1 columns, one for each level
but the first. So an effect means the same in every method: the change of the log hazard per half range
of a number, or against the first level.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]
TRAIN = 0.7
"""Share of the people that models are fitted on; the others judge predictions."""


@dataclass(frozen=True)
class Numeric:
    """A number and its public bounds."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class Categorical:
    """A category and its public levels, the first of them the reference."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class People:
    """Encoded people.

    Attributes
    ----------
    columns
        Covariates as numbers, (n, p).
    last
        Last interval at risk, 1 to q, (n,).
    event
        Whether the event falls into it, (n,).
    intervals
        q.
    covariates
        What the columns stand for.
    """

    columns: Array
    last: NDArray[np.int64]
    event: NDArray[np.bool_]
    intervals: int
    covariates: tuple[Numeric | Categorical, ...]

    def __len__(self) -> int:
        return len(self.last)

    def take(self, rows: NDArray[np.int64]) -> "People":
        """Return the people of these rows."""
        return People(
            self.columns[rows], self.last[rows], self.event[rows], self.intervals, self.covariates
        )

    def split(self, seed: int) -> tuple["People", "People"]:
        """Return the people to fit on and those kept apart."""
        order = np.random.default_rng(seed).permutation(len(self))
        middle = int(TRAIN * len(self))
        return self.take(order[:middle]), self.take(order[middle:])

    @cached_property
    def middle(self) -> Array:
        """Point in the middle of the public values: 0 of a number, 1/2 of each column of a category."""
        parts = [
            [0.0] if isinstance(one, Numeric) else [0.5] * (len(one.levels) - 1)
            for one in self.covariates
        ]
        return np.concatenate(parts)

    @cached_property
    def centred(self) -> Array:
        """Columns minus their middle, (n, p): effects are the same, the public bound is smaller."""
        return self.columns - self.middle

    @cached_property
    def largest_norm(self) -> float:
        """Public bound on the Euclidean norm of a row of centred columns."""
        squares = np.where(self.middle == 0, 1.0, 0.25)
        return float(np.sqrt(squares.sum()))

    def table(self) -> pd.DataFrame:
        """Return the people as discreet reads them, with the schema of `schema`."""
        columns = {"t": self.last - 0.5, "e": self.event.astype(int)}
        start = 0
        for covariate in self.covariates:
            if isinstance(covariate, Numeric):
                columns[covariate.name] = self.columns[:, start]
                start += 1
                continue
            levels = np.array(covariate.levels)
            dummies = self.columns[:, start : start + len(levels) - 1]
            columns[covariate.name] = levels[(dummies @ np.arange(1, len(levels))).astype(int)]
            start += len(levels) - 1
        return pd.DataFrame(columns)

    def schema(self) -> dict[str, object]:
        """Return the public schema: q intervals of length 1, numbers from -1 to 1."""
        time = {
            "duration": "t",
            "event": "e",
            "horizon": self.intervals,
            "intervals": self.intervals,
        }
        covariates = [
            {"name": one.name, "low": -1.0, "high": 1.0}
            if isinstance(one, Numeric)
            else {"name": one.name, "levels": list(one.levels)}
            for one in self.covariates
        ]
        return {"time": time, "covariate": covariates}


def encode(
    table: pd.DataFrame,
    horizon: float,
    intervals: int,
    covariates: Sequence[Numeric | Categorical],
) -> People:
    """Return the complete rows of a table with columns time and event, encoded."""
    names = ["time", "event", *(one.name for one in covariates)]
    complete = table[names].dropna()
    time = complete["time"].to_numpy(float)
    last = np.clip(np.ceil(time / horizon * intervals), 1, intervals).astype(np.int64)
    event = (complete["event"].to_numpy() > 0) & (time <= horizon)
    columns = []
    for one in covariates:
        if isinstance(one, Numeric):
            middle, half = (one.high + one.low) / 2, (one.high - one.low) / 2
            columns.append(((complete[one.name].to_numpy(float) - middle) / half).clip(-1, 1))
        else:
            text = complete[one.name].astype(str).to_numpy()
            columns += [(text == level).astype(float) for level in one.levels[1:]]
    return People(np.column_stack(columns), last, event, intervals, tuple(covariates))


AGE = Numeric("age", 0.0, 100.0)
REAL: dict[str, tuple[float, int, tuple[Numeric | Categorical, ...]]] = {
    "nafld1": (
        7300.0,
        60,
        (
            AGE,
            Categorical("male", ("0", "1")),
            Numeric("weight", 30.0, 200.0),
            Numeric("height", 120.0, 220.0),
        ),
    ),
    "dmlate": (
        15.0,
        60,
        (AGE, Categorical("sex", ("M", "F")), Numeric("year", 1995.0, 2010.0)),
    ),
    "colrec": (
        3652.0,
        40,
        (
            AGE,
            Categorical("sex", ("1", "2")),
            Categorical("stage", ("1", "2", "3", "99")),
            Categorical("site", ("colon", "rectum")),
        ),
    ),
    "mgus2": (
        360.0,
        60,
        (
            AGE,
            Categorical("sex", ("M", "F")),
            Numeric("hgb", 4.0, 20.0),
            Numeric("creat", 0.0, 10.0),
            Numeric("mspike", 0.0, 4.0),
        ),
    ),
}
"""Horizon, intervals and covariates with bounds from general knowledge."""

SIMULATED = "simulated-50000"
SETS = (*REAL, SIMULATED)


def raw(name: str, folder: Path) -> pd.DataFrame:
    """Return a set of R's with columns time and event; R packages are asked once, into `folder`.

    Raises
    ------
    FileNotFoundError
        The R package that has the set is not installed.
    """
    path = folder / f"{name}.csv"
    if not path.exists():
        script = Path(__file__).with_name("sets.R")
        command = ["Rscript", str(script), str(folder)]
        subprocess.run(command, check=True, capture_output=True)
    if not path.exists():
        raise FileNotFoundError(f"the R package with {name} is not installed (see sets.R)")
    return pd.read_csv(path)


def load(name: str, folder: Path) -> People:
    """Return a set by name, encoded."""
    if name == SIMULATED:
        return simulated(50_000, seed=40)
    return encode(raw(name, folder), *REAL[name])


def simulated(people: int, seed: int) -> People:
    """Return people of a proportional-hazards model: five covariates, 30 % events, censoring."""
    random = np.random.default_rng(seed)
    intervals = 60
    age = random.normal(0.1, 0.35, people).clip(-1, 1)
    marker = (np.exp(random.normal(0, 0.7, people)) / 5 - 1).clip(-1, 1)
    dose = random.uniform(-1, 1, people)
    sex, treated = random.random((2, people)) < np.array([[0.5], [0.2]])
    values = np.column_stack([age, marker, dose, sex, treated]).astype(float)
    predictor = values @ np.array([1.2, 0.8, 0.0, 0.3, -0.4])
    time = random.weibull(1.3, people) * 95 * np.exp(-predictor / 1.3)
    censored = random.uniform(20, 90, people)
    last = np.clip(np.ceil(np.minimum(time, censored)), 1, intervals).astype(np.int64)
    event = (time <= censored) & (time <= intervals)
    covariates = (
        Numeric("age", -1, 1),
        Numeric("marker", -1, 1),
        Numeric("dose", -1, 1),
        Categorical("sex", ("0", "1")),
        Categorical("treated", ("0", "1")),
    )
    return People(values, last, event, intervals, covariates)

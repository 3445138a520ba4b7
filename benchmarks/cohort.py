"""Simulated cohorts and their person-period expansion."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from discreet import NaturalSpline, Schema

Array = NDArray[np.float64]

# Six years in whole days: Cox models meet the ties on which they are fast.
HORIZON = 2_190
# The rate at x = 0; with the censoring below about 3 in 10 have the event.
EVENT_RATE = 0.46 / HORIZON
EFFECTS = np.array([0.5, -0.5, 0.25, -0.25, 0.1, -0.1, 0.8, 0.0])


@dataclass(frozen=True)
class Cohort:
    """n people with p covariates in [-1, 1] followed for six years; the grid plays no part."""

    covariates: Array
    time: Array
    event: NDArray[np.bool_]

    @property
    def names(self) -> list[str]:
        """The covariates' column names."""
        return [f"x{index + 1}" for index in range(self.covariates.shape[1])]

    def table(self) -> pa.Table:
        """The columns in memory, as a user would hold them."""
        columns = dict(zip(self.names, self.covariates.T.copy(), strict=True))
        return pa.table({"time": self.time, "status": self.event, **columns})

    def pandas(self) -> pd.DataFrame:
        """The same for lifelines."""
        return self.table().to_pandas()

    def schema(self, intervals: int) -> Schema:
        """The public side, with bounds."""
        axis = {"duration": "time", "event": "status", "horizon": HORIZON, "intervals": intervals}
        covariates = [{"name": name, "low": -1.0, "high": 1.0} for name in self.names]
        return Schema.from_mapping({"time": axis, "covariate": covariates})


def simulate(people: int, dimension: int, seed: int = 20_240_607) -> Cohort:
    """Exponential survival with log rate = log EVENT_RATE + effects'x, uniform censoring."""
    random = np.random.default_rng(seed)
    covariates = random.uniform(-1.0, 1.0, (people, dimension))
    rate = EVENT_RATE * np.exp(covariates @ EFFECTS[:dimension])
    survival = random.exponential(1.0 / rate)
    follow_up = random.uniform(0.3, 1.3, people).clip(max=1.0) * HORIZON
    days = np.floor(np.minimum(survival, follow_up))
    return Cohort(covariates, days, survival <= follow_up)


def expand(cohort: Cohort, intervals: int) -> tuple[Array, Array]:
    """Person-period rows: the design (A_s, x) and the outcome of each interval at risk."""
    last = np.minimum((cohort.time * intervals / HORIZON).astype(np.int64) + 1, intervals)
    stops = np.cumsum(last)
    interval = np.arange(stops[-1]) - np.repeat(stops - last, last)
    basis = NaturalSpline(3).basis(intervals)
    design = np.hstack([basis[interval], np.repeat(cohort.covariates, last, axis=0)])
    outcome = np.zeros(stops[-1])
    outcome[stops - 1] = cohort.event
    return design, outcome

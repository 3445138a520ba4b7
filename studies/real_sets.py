# ruff: noqa: INP001, scripts beside each other, no package
"""Sets of SurvSet and the paper's three, prepared by one fixed rule, as registries of `fresh`.

Numeric covariates and factors of at most `LEVELS` levels, the first eight in the order of the file;
bounds are the 0.5% and 99.5% quantiles rounded outward to two digits of the range, the horizon is
the largest time rounded up. Bounds and levels are read from the data: for measuring, not for privacy.
"""

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fresh.family import Registry
from fresh.real import MODEL

COVARIATES, LEVELS, INTERVALS = 8, 5, 100
QUANTILES = (0.005, 0.995)
HORIZONS = {"hdfail": 3000.0}
DEVELOPMENT = ("rhc", "hdfail", "flchain", "UnempDur", "rott2", "Framingham", "acath", "LeukSurv")
HELD_OUT = ("Dialysis", "Aids2", "scania", "oldmort")
"""Of these twelve, those on which no constant of the planner was chosen."""
LOG, FIRST = "/log", 1000
"""Behind a name: a grid in log time, whose first interval is a thousandth of the horizon."""
PAPER = ("fl", "tb", "wt")
NOT_COVARIATES = {"flchain": ("fac_chapter", "fac_sample_yr")}
"""The cause of death is known of the dead alone, and the year stands there twice."""


def load(name: str) -> Registry:
    """A set by name."""
    if name in PAPER:
        return _paper(name)
    found = _survset(name.removesuffix(LOG))
    if name.endswith(LOG):
        axis = found.schema["time"]
        axis = {**axis, "first": axis["horizon"] / FIRST}
        return replace(found, name=name, schema={**found.schema, "time": axis})
    return found


def _survset(name: str) -> Registry:
    from SurvSet.data import SurvLoader  # noqa: PLC0415 - slow, and only for these sets

    raw = SurvLoader().load_dataset(name)["df"]
    time = raw["time2"] - raw["time"] if "time2" in raw else raw["time"]  # no late entry here
    frame = pd.DataFrame({"time": time.astype(float), "event": raw["event"].astype(int)})
    covariates = []
    for column in _chosen(name, raw):
        frame[column] = raw[column].astype(float if column.startswith("num_") else str)
        covariates.append(_declared(column, frame[column], raw[column]))
    horizon = HORIZONS.get(name, _outward(float(time.max()), float(time.max()), up=True))
    axis = {"duration": "time", "event": "event", "horizon": horizon, "intervals": INTERVALS}
    return Registry(name, frame, {"time": axis, "covariate": covariates}, MODEL)


def _chosen(name: str, raw: pd.DataFrame) -> list[str]:
    """Numbers, and factors with few levels."""
    left = [column for column in raw if column not in NOT_COVARIATES.get(name, ())]
    return [column for column in left if _usable(column, raw[column])][:COVARIATES]


def _usable(column: str, values: pd.Series) -> bool:
    few = 2 <= values.nunique() <= LEVELS
    return column.startswith("num_") or (column.startswith("fac_") and few)


def _declared(column: str, values: pd.Series, raw: pd.Series) -> dict[str, Any]:
    if column.startswith("fac_"):
        levels = raw.astype(str).value_counts().index  # the most frequent is the reference
        return {"name": column, "levels": [level for level in levels if level != "nan"]}
    low, high = np.nanquantile(values, QUANTILES)
    width = float(high - low)
    bounds = _outward(float(low), width, up=False), _outward(float(high), width, up=True)
    return {"name": column, "low": bounds[0], "high": bounds[1]}


def _outward(value: float, width: float, *, up: bool) -> float:
    """Rounded up or down to two digits of the width."""
    step = 10.0 ** (math.floor(math.log10(width)) - 1)
    steps = math.ceil(value / step - 1e-9) if up else math.floor(value / step + 1e-9)
    return float(f"{steps * step:.12g}")


def _paper(name: str, intervals: int = 200) -> Registry:
    """The paper's preprocessing, which reads the data: fill by the mean, scale to [-1, 1]."""
    table = np.genfromtxt(
        Path(os.environ["DISCREET_DATA"]) / f"{name}.csv", delimiter=",", names=True
    )
    columns = [column for column in table.dtype.names or () if column not in {"time", "status"}]
    frame = pd.DataFrame({"time": table["time"], "event": (table["status"] > 0).astype(int)})
    covariates = []
    for column in columns:
        values = np.where(np.isnan(table[column]), np.nanmean(table[column]), table[column])
        if len(np.unique(values)) == 2:
            frame[column] = np.where(values == values.max(), "1", "0")
            covariates.append({"name": column, "levels": ["0", "1"]})
        else:
            frame[column] = values
            covariates.append({"name": column, "low": values.min(), "high": values.max()})
    horizon = float(frame["time"].max())
    axis = {"duration": "time", "event": "event", "horizon": horizon, "intervals": intervals}
    return Registry(name, frame, {"time": axis, "covariate": covariates}, MODEL)

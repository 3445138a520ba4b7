# ruff: noqa: INP001, scripts beside each other, no package
"""Twelve sets of SurvSet and the paper's three, prepared by one fixed rule.

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
from simulated import Sample

COVARIATES, LEVELS, INTERVALS = 8, 5, 100
QUANTILES = (0.005, 0.995)
HORIZONS = {"hdfail": 3000.0}
HELD_OUT = ("Dialysis", "Aids2", "scania", "oldmort")
DEVELOPMENT = ("rhc", "hdfail", "flchain", "UnempDur", "rott2", "Framingham", "acath", "LeukSurv")
OTHERS = (
    "support2", "dataDIVAT1", "nwtco", "smarto", "rdata", "colon", "prostateSurvival",
    "divorce", "dataDIVAT3", "TRACE", "dataDIVAT2", "grace", "GBSG2",
)  # fmt: skip
"""Sets of SurvSet on which no target was set, smaller ones among them."""
ONCE = (
    "prostate", "uis", "follic", "cost", "dataOvarian1", "whas500", "vlbw", "Unemployment",
)  # fmt: skip
"""The other sets of SurvSet with 450 people, 100 events and one row each: looked at once, at the end."""
FURTHER = ("rott2n",)
"""rott2 with its numbers first: the effect of the number of nodes is far from a line."""
LOGARITHMIC = tuple(f"{name}/log" for name in DEVELOPMENT)
"""The same sets on a grid in log time, whose first interval is a thousandth of the horizon."""
FIRST = 1000
PAPER = ("fl", "tb", "wt")
NOT_COVARIATES = {"flchain": ("fac_chapter", "fac_sample_yr")}
"""The cause of death is known of the dead alone, and the year stands there twice."""


def paper_sets() -> tuple[str, ...]:
    """The paper's sets, where there is a folder with them."""
    return PAPER if os.environ.get("DISCREET_DATA") else ()


def load(name: str) -> Sample:
    """A set by name."""
    if name in LOGARITHMIC:
        return _logarithmic(_survset(name.removesuffix("/log")))
    return _paper(name) if name in PAPER else _survset(name)


def _logarithmic(sample: Sample) -> Sample:
    """Intervals that grow by one factor; version 0.1.0 knows no such grid."""
    axis = sample.schema["time"]
    return replace(
        sample, schema={**sample.schema, "time": {**axis, "first": axis["horizon"] / FIRST}}
    )


def _survset(name: str) -> Sample:
    from SurvSet.data import SurvLoader  # noqa: PLC0415 - slow, and only for these sets

    raw = SurvLoader().load_dataset("rott2" if name == "rott2n" else name)["df"]
    time = raw["time2"] - raw["time"] if "time2" in raw else raw["time"]  # no late entry here
    frame = pd.DataFrame({"t": time.astype(float), "e": raw["event"].astype(int)})
    covariates = []
    for column in _chosen(name, raw):
        frame[column] = raw[column].astype(float if column.startswith("num_") else str)
        covariates.append(_declared(column, frame[column], raw[column]))
    horizon = HORIZONS.get(name, _outward(float(time.max()), float(time.max()), up=True))
    axis = {"duration": "t", "event": "e", "horizon": horizon, "intervals": INTERVALS}
    return Sample(frame, {"time": axis, "covariate": covariates})


def _chosen(name: str, raw: pd.DataFrame) -> list[str]:
    """Numbers, and factors with few levels."""
    left = [column for column in raw if column not in NOT_COVARIATES.get(name, ())]
    usable = [column for column in left if _usable(column, raw[column])]
    ordered = sorted(usable, key=lambda column: column[:4] != "num_") if name in FURTHER else usable
    return ordered[:COVARIATES]


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


def _paper(name: str, intervals: int = 200) -> Sample:
    """The paper's preprocessing, which reads the data: fill by the mean, scale to [-1, 1]."""
    table = np.genfromtxt(
        Path(os.environ["DISCREET_DATA"]) / f"{name}.csv", delimiter=",", names=True
    )
    columns = [column for column in table.dtype.names or () if column not in {"time", "status"}]
    frame = pd.DataFrame({"t": table["time"], "e": (table["status"] > 0).astype(int)})
    covariates = []
    for column in columns:
        values = np.where(np.isnan(table[column]), np.nanmean(table[column]), table[column])
        if len(np.unique(values)) == 2:
            frame[column] = np.where(values == values.max(), "1", "0")
            covariates.append({"name": column, "levels": ["0", "1"]})
        else:
            frame[column] = values
            covariates.append({"name": column, "low": values.min(), "high": values.max()})
    horizon = float(frame["t"].max())
    axis = {"duration": "t", "event": "e", "horizon": horizon, "intervals": intervals}
    return Sample(frame, {"time": axis, "covariate": covariates})

"""Real sets on which no constant of discreet was chosen, read from packages that are installed.

They ship with R's survival, KMsurv, Epi, popEpi, mets and riskRegression (Debian: r-cran-survival,
r-cran-kmsurv, r-cran-epi, r-cran-popepi, r-cran-mets, r-cran-riskregression) and with lifelines. None is
in SurvSet or was measured by another study here. Nothing of them is kept in the project. Schemas are
written from what such registries look like: bounds that hold for patients in general and levels from
the packages' manuals, not from these data. They are run once, after a freeze.
"""

import io
import subprocess
from collections.abc import Callable
from typing import Any

import pandas as pd

from fresh.family import Registry

MODEL = {"link": "logit", "baseline": "natural-spline:3"}
DAYS_A_YEAR = 365.25
Table = pd.DataFrame
Axis = dict[str, Any]


def from_r(package: str, name: str) -> Table:
    """A data frame of an R package, by way of CSV."""
    script = (
        f'data(list="{name}", package="{package}"); x <- as.data.frame({name}); '
        "write.csv(x, stdout(), row.names=FALSE)"
    )
    if package == "survival":  # its data load with it, in files that hold several
        script = f"library(survival); write.csv({name}, stdout(), row.names=FALSE)"
    done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=False)  # noqa: S603, S607
    if done.returncode:
        raise SystemExit(
            f"fresh: R's package {package} is not there; install it (see fresh/real.py)."
        )
    return pd.read_csv(io.StringIO(done.stdout))


def number(name: str, low: float, high: float, **further: Any) -> dict[str, Any]:
    """A number's declaration."""
    return {"name": name, "low": low, "high": high, **further}


def levels(name: str, *values: object) -> dict[str, Any]:
    """A category's declaration, the reference first."""
    return {"name": name, "levels": [str(value) for value in values]}


def axis(horizon: float, intervals: int, **further: Any) -> Axis:
    """Time in the columns time and event."""
    return {
        "duration": "time", "event": "event", "horizon": horizon, "intervals": intervals, **further,
    }  # fmt: skip


def mgus2() -> tuple[Table, dict[str, Any]]:
    """Monoclonal gammopathy, months to death; survival."""
    raw = from_r("survival", "mgus2").rename(columns={"futime": "time", "death": "event"})
    creatinine = number("creat", 0.3, 15, scale="log")
    covariates = [
        number("age", 20, 100), levels("sex", "F", "M"), number("hgb", 4, 20), creatinine,
        number("mspike", 0, 5),
    ]  # fmt: skip
    return raw, {"time": axis(360, 60), "covariate": covariates}


def transplant() -> tuple[Table, dict[str, Any]]:
    """Waiting list for a liver, days to transplant, death or withdrawal; survival."""
    raw = from_r("survival", "transplant").rename(columns={"futime": "time"})
    causes = {"transplant": ["ltx"], "death": ["death"], "withdrawal": ["withdraw"]}
    covariates = [
        number("age", 0, 90), levels("sex", "m", "f"), levels("abo", "O", "A", "B", "AB"),
        number("year", 1985, 2005),
    ]  # fmt: skip
    return raw, {"time": axis(1460, 48, causes=causes), "covariate": covariates}


def myeloid() -> tuple[Table, dict[str, Any]]:
    """Acute myeloid leukaemia, days to death; survival."""
    raw = from_r("survival", "myeloid").rename(columns={"futime": "time", "death": "event"})
    return raw, {
        "time": axis(2190, 72),
        "covariate": [levels("trt", "A", "B"), levels("sex", "m", "f")],
    }


def pbcseq() -> tuple[Table, dict[str, Any]]:
    """Primary biliary cirrhosis, visits with measurements that change; survival."""
    raw = from_r("survival", "pbcseq")
    following = raw.groupby("id")["day"].shift(-1)
    raw["entry"], raw["time"] = raw["day"], following.fillna(raw["futime"])
    raw["event"] = ((raw["status"] == 2) & following.isna()).astype(int)
    covariates = [
        number("age", 20, 90), levels("sex", "f", "m"), levels("trt", 0, 1),
        number("bili", 0.1, 50, scale="log"), number("albumin", 1, 6), number("protime", 8, 30),
        levels("edema", 0, 0.5, 1), levels("ascites", 0, 1),
    ]  # fmt: skip
    time = axis(5475, 60, entry="entry")
    return raw[raw["time"] > raw["entry"]], {"person": "id", "time": time, "covariate": covariates}


def kidtran() -> tuple[Table, dict[str, Any]]:
    """Kidney transplants, days to death; KMsurv."""
    raw = from_r("KMsurv", "kidtran").rename(columns={"delta": "event"})
    covariates = [number("age", 0, 90), levels("gender", 1, 2), levels("race", 1, 2)]
    return raw, {"time": axis(3650, 60), "covariate": covariates}


def pneumon() -> tuple[Table, dict[str, Any]]:
    """Pneumonia in the first year of life, months to hospital; KMsurv."""
    raw = from_r("KMsurv", "pneumon").rename(columns={"chldage": "time", "hospital": "event"})
    covariates = [
        number("mthage", 12, 50), levels("urban", 0, 1), levels("smoke", 0, 1, 2),
        levels("poverty", 0, 1), levels("bweight", 0, 1), levels("race", 1, 2, 3),
        number("education", 0, 20), number("nsibs", 0, 10), number("wmonth", 0, 30),
    ]  # fmt: skip
    return raw, {"time": axis(12, 12), "covariate": covariates}


def channing() -> tuple[Table, dict[str, Any]]:
    """A retirement centre, age in months as the time scale, late entry; KMsurv."""
    raw = from_r("KMsurv", "channing").drop(columns="time")
    raw = raw.rename(columns={"age": "time", "death": "event", "ageentry": "entry"})
    time = axis(1260, 55, origin=720, entry="entry")
    return raw, {"time": time, "covariate": [levels("gender", 1, 2)]}


def thoro() -> tuple[Table, dict[str, Any]]:
    """Thorotrast patients and controls, years from injection to death; Epi."""
    raw = from_r("Epi", "thoro")
    dates = {
        name: pd.to_datetime(raw[name], errors="coerce") for name in ("birthdat", "injecdat", "exitdat")
    }  # fmt: skip
    raw["time"] = (dates["exitdat"] - dates["injecdat"]).dt.days / DAYS_A_YEAR
    raw["age"] = (dates["injecdat"] - dates["birthdat"]).dt.days / DAYS_A_YEAR
    raw["event"] = (raw["exitstat"] == 1).astype(int)
    covariates = [number("age", 0, 90), levels("sex", 1, 2), levels("contrast", 2, 1)]
    return raw, {"time": axis(55, 55), "covariate": covariates}


def nickel() -> tuple[Table, dict[str, Any]]:
    """Nickel smelters, age as the time scale, late entry, lung cancer and other deaths; Epi."""
    raw = from_r("Epi", "nickel").rename(columns={"agein": "entry", "ageout": "time"})
    raw["event"] = [0 if code == 0 else 1 if code in {162, 163} else 2 for code in raw["icd"]]
    causes = {"lung": ["1"], "other": ["2"]}
    time = axis(100, 60, origin=30, entry="entry", causes=causes)
    return raw, {"time": time, "covariate": [number("exposure", 0, 25), number("age1st", 10, 60)]}


def _population(name: str) -> tuple[Table, dict[str, Any]]:
    raw = from_r("popEpi", name)
    begin, end = pd.to_datetime(raw["dg_date"]), pd.to_datetime(raw["ex_date"])
    raw["time"] = (end - begin).dt.days / DAYS_A_YEAR
    raw["event"], raw["year"] = (raw["status"] > 0).astype(int), begin.dt.year
    covariates = [number("dg_age", 0, 100), number("year", 1990, 2015)]
    return raw, {"time": axis(20, 80, first=1 / 52), "covariate": covariates}


def sire() -> tuple[Table, dict[str, Any]]:
    """Rectal cancer in Finnish women, years to death; popEpi."""
    return _population("sire")


def sibr() -> tuple[Table, dict[str, Any]]:
    """Breast cancer in Finnish women, years to death; popEpi."""
    return _population("sibr")


def prt() -> tuple[Table, dict[str, Any]]:
    """Nordic twins, age at prostate cancer or death; mets."""
    raw = from_r("mets", "prt").rename(columns={"status": "event"})
    covariates = [
        levels("country", "Denmark", "Finland", "Norway", "Sweden"), levels("zyg", "DZ", "MZ"),
    ]  # fmt: skip
    causes = {"death": ["1"], "cancer": ["2"]}
    return raw, {"time": axis(110, 70, origin=40, causes=causes), "covariate": covariates}


def paquid() -> tuple[Table, dict[str, Any]]:
    """Old people in France, years to dementia or death; riskRegression."""
    raw = from_r("riskRegression", "Paquid").rename(columns={"status": "event"})
    causes = {"dementia": ["1"], "death": ["2"]}
    covariates = [number("DSST", 0, 90), number("MMSE", 0, 30)]
    return raw, {"time": axis(16, 48, causes=causes), "covariate": covariates}


def dd() -> tuple[Table, dict[str, Any]]:
    """Political regimes, years to their end; lifelines."""
    from lifelines.datasets import load_dd  # noqa: PLC0415 - slow

    raw = load_dd().rename(columns={"duration": "time", "observed": "event"})
    raw["time"] -= 0.5  # whole years, from 1
    covariates = [
        levels("un_continent_name", "Africa", "Americas", "Asia", "Europe", "Oceania"),
        levels("democracy", "Democracy", "Non-democracy"),
        number("start_year", 1946, 2010),
    ]
    return raw, {"time": axis(50, 50), "covariate": covariates}


_MAKERS: tuple[Callable[[], tuple[Table, dict[str, Any]]], ...] = (
    mgus2, transplant, myeloid, pbcseq, kidtran, pneumon, channing, thoro, nickel, sire, sibr, prt,
    paquid, dd,
)  # fmt: skip
SETS = {maker.__name__: maker for maker in _MAKERS}


def load(name: str) -> Registry:
    """A set by name, with the columns of its schema alone."""
    frame, schema = SETS[name]()
    time = schema["time"]
    columns = ["time", "event", *([time["entry"]] if "entry" in time else [])]
    columns += [schema["person"]] if "person" in schema else []
    columns += [covariate["name"] for covariate in schema["covariate"]]
    frame = frame[columns].reset_index(drop=True)
    for covariate in schema["covariate"]:
        if "levels" in covariate:
            values = frame[covariate["name"]]
            frame[covariate["name"]] = [
                None if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)
                for value in values
            ]
    return Registry(name, frame, schema, MODEL)

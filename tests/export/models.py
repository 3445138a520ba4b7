"""Models of every kind on a few people, and people whose records are in no good order."""

import functools
import warnings

import numpy as np
import pandas as pd

import discreet as ds

HORIZON = 48.0
GRIDS = {
    "equal": {"horizon": HORIZON, "intervals": 24},
    "growing": {"horizon": HORIZON, "intervals": 20, "first": 0.5},
    "declared": {"edges": [0.0, 1.0, 3.0, 6.0, 12.0, 24.0, 36.0, HORIZON]},
}
COVARIATES = [
    {"name": "age", "low": 20, "high": 90, "missing_values": [-9, "unknown"]},
    {
        "name": "dose",
        "low": 0.1,
        "high": 40,
        "scale": "log",
        "missing": "indicator",
        "missing_values": [99],
    },
    {"name": "size of tumour", "low": 0, "high": 10, "scale": "spline:4", "missing": 2.5},
    {"name": "stage", "levels": ["I", "II", "III"], "missing": "indicator"},
    {"name": "grade", "levels": ["1", "2", "3"]},
    {"name": "männlich", "levels": ["nein", 'ja "sehr"']},
]
"""Every kind of column, with names that other languages must quote."""
ODD_LEVELS = (
    '=HYPERLINK("x")', "it's `so`", "back\\slash\\n", "<a>&amp;]]>", "naïve 日本 🎉", "+1-1",
    "  padded", "NA", "true", "0", "1.50", "a,b;c~*?", "%d {x} $y",
)  # fmt: skip
ODD = [
    {"name": "=1+1", "low": -3.5, "high": 1e-5},
    {"name": 'say "ah"\\', "levels": ODD_LEVELS, "missing": "indicator"},
    {"name": "it's", "low": 0, "high": 10, "scale": "spline:4"},
    {"name": "<b>&amp;", "low": 1e-7, "high": 1e7, "scale": "log", "missing": "indicator"},
    {"name": "survival", "low": 0, "high": 1},
    {"name": "x survival", "low": 0, "high": 1},
    {"name": "survival in bounds", "low": 0, "high": 1, "scale": "spline:3"},
]
"""Names and levels that are quotes, formulas, marks of other languages, or taken there."""
ODD_CAUSES = ("`tödlich`", 'if "=1" \\')
CHANGES = {
    "age": {"changes_at": [12.0, 24.0]},
    "size of tumour": {"changes_at": [24.0]},
    "stage": {"changes_at": [11.0, 24.0]},
    "dose": {"changes_at": [6.0]},
}
"""When effects change: numbers, logarithms, splines, levels, indicators, and a product of two of them."""
INTERACTIONS = [{"of": ["age", "stage"]}, {"of": ["size of tumour", "grade"]}]
CASES = {
    **{
        f"{link} {baseline}": (link, baseline, "equal", "terms")
        for link in ("logit", "cloglog", "probit")
        for baseline in ("natural-spline:3", "piecewise-constant:4", "log-time:3")
    },
    "one knot": ("logit", "natural-spline:1", "equal", "terms"),
    "strata": ("cloglog", "natural-spline:3", "growing", "strata"),
    "causes": ("logit", "natural-spline:3", "declared", "causes"),
    "causes cloglog": ("cloglog", "piecewise-constant:3", "growing", "causes"),
    "causes probit": ("probit", "log-time:2", "equal", "causes"),
    "changes": ("logit", "natural-spline:3", "growing", "changes"),
    "changes cloglog": ("cloglog", "piecewise-constant:4", "equal", "changes of strata"),
    "causes with changes": ("probit", "log-time:2", "declared", "changes of causes"),
    "odd names": ("cloglog", "natural-spline:3", "equal", "odd"),
    "causes with odd names": ("cloglog", "natural-spline:2", "equal", "odd causes"),
}


def people(number=400, seed=3):
    """Times, causes and covariates of people who do not exist; a few records are damaged."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": random.uniform(15, 95, number),
        "dose": np.exp(random.normal(1, 1, number)),
        "size of tumour": random.uniform(-1, 11, number),
        "stage": random.choice(["I", "II", "III", "unknown"], number),
        "grade": random.choice([1, 2, 3], number),
        "männlich": random.choice(["nein", 'ja "sehr"'], number),
        "hospital": random.choice(["A", "B", "C"], number),
    })  # fmt: skip
    frame.loc[::17, "age"] = np.nan
    frame.loc[::13, "dose"] = np.nan
    frame.loc[1::19, "age"] = -9.0
    frame.loc[1::7, "dose"] = 99.0
    frame.loc[::11, "size of tumour"] = np.nan
    for item in ODD:
        if "levels" in item:
            frame[item["name"]] = random.choice([*ODD_LEVELS, "unknown"], number)
        else:
            frame[item["name"]] = random.uniform(item["low"], item["high"], number)
    frame.loc[::23, [item["name"] for item in ODD]] = None
    frame["`日本`"] = random.choice(ODD_LEVELS[:4], number)
    rate = 0.02 * np.exp(
        0.02 * (frame["age"].fillna(55).clip(20, 90) - 55) + 0.4 * (frame["stage"] == "III")
    )
    time = random.exponential(1 / rate)
    end = random.uniform(1, 60, number)
    frame["time"], frame["event"] = np.minimum(time, end), (time <= end).astype(int)
    frame["cause"] = np.where(
        frame["event"] == 1, random.choice(["cancer", "other"], number), "none"
    )
    return frame


@functools.cache
def fitted(name):
    """The fit of a case, not private."""
    link, baseline, grid, kind = CASES[name]
    time = {"duration": "time", "event": "event", **GRIDS[grid]}
    schema = {"time": time, "covariate": COVARIATES, "interaction": INTERACTIONS}
    if kind.startswith("odd"):
        schema = {
            "time": time,
            "covariate": ODD,
            "interaction": [{"of": [ODD[0]["name"], ODD[1]["name"]]}],
        }
        schema["strata"] = {"name": "`日本`", "levels": ODD_LEVELS[:4]}
    if kind == "odd causes":
        del schema["strata"], schema["interaction"]
    if kind.endswith("strata"):
        schema["strata"] = {"name": "hospital", "levels": ["A", "B", "C"]}
    if kind.startswith("changes"):
        schema["covariate"] = [item | CHANGES.get(item["name"], {}) for item in COVARIATES]
    estimator = ds.SurvivalRegression
    if kind.endswith("causes"):
        names = ODD_CAUSES if "odd" in kind else ("cancer", "the other")
        time["event"], time["causes"] = (
            "cause",
            dict(zip(names, (["cancer"], ["other"]), strict=True)),
        )
        estimator = ds.SurvivalRegression
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(schema, link=link, baseline=baseline).fit(people())


def edges(name):
    """a_0, ..., a_q."""
    model = fitted(name).model_
    first = next(iter(model.models.values())) if hasattr(model, "models") else model
    return first.curves.grid.edges


def times(name):
    """Edges, times between them, and both ends."""
    found = edges(name)
    return np.unique(np.concatenate([found[::3], found[-1:], [0.7, 13.1, 30.0]]))

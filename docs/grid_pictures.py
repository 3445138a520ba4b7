"""The guide's pictures of a wrong and a right time grid, and of a wrong and a right scale.

    python docs/grid_pictures.py

The people are simulated, so the truth is known and drawn beside the two fits.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import discreet as ds

TARGET = Path(__file__).parent / "images"
HORIZON = 1826.0
PEOPLE = 6_000
WRONG, RIGHT, TRUTH = "#D55E00", "#0072B2", "#333333"


def main() -> None:
    """Both pictures."""
    TARGET.mkdir(exist_ok=True)
    for name, draw in (("grid", draw_grid), ("scale", draw_scale)):
        figure = Figure(figsize=(9.5, 3.6), layout="constrained")
        draw(figure)
        figure.savefig(TARGET / f"{name}.png", dpi=110)


def draw_grid(figure: Figure) -> None:
    """Most deaths in the first weeks: equal intervals, and a grid in log time."""
    random = np.random.default_rng(1)
    shape, scale = 0.35, 900.0  # a Weibull law whose hazard falls from the first day on
    time = scale * random.weibull(shape, PEOPLE)
    table = pa.table({"days": np.minimum(time, HORIZON), "dead": time <= HORIZON})
    axis = {"duration": "days", "event": "dead", "unit": "days", "horizon": HORIZON}
    grids: dict[str, tuple[dict[str, Any], str]] = {
        "intervals = 60": ({"intervals": 60}, WRONG),
        "intervals = 60, first = 1": ({"intervals": 60, "first": 1.0}, RIGHT),
    }
    for axes, last in zip(figure.subplots(1, 2), (90.0, HORIZON), strict=True):
        days = np.linspace(0.0, last, 400)
        axes.plot(days, np.exp(-((days / scale) ** shape)), color=TRUTH, ls="--", label="truth")
        for label, (grid, colour) in grids.items():
            model = ds.SurvivalRegression({"time": {**axis, **grid}}).fit(table)
            edges = model.model_.curves.grid.edges
            survival = model.predict_survival(table.slice(0, 1))[0]
            axes.step(edges, survival, where="post", color=colour, label=label)
        dress(axes, f"Survival in the first {last:.0f} days", "time in days", (0.0, last))


def draw_scale(figure: Figure) -> None:
    """A risk that doubles when a concentration doubles: linear, logarithm, spline."""
    random = np.random.default_rng(2)
    crea = np.exp(random.normal(0.2, 0.6, PEOPLE))
    time = random.exponential(2_000.0 / np.clip(crea, 0.3, 15.0))
    table = pa.table(
        {"days": np.minimum(time, HORIZON), "dead": time <= HORIZON, "crea": np.clip(crea, 0.3, 15)}
    )
    axis = {"duration": "days", "event": "dead", "horizon": HORIZON, "intervals": 60}
    scales = {"linear": WRONG, "log": RIGHT, "spline:4": "#009E73"}
    left, right = figure.subplots(1, 2)
    values = np.linspace(0.3, 15.0, 200)
    left.plot(values, np.log2(values), color=TRUTH, ls="--", label="truth")
    for scale, colour in scales.items():
        item: dict[str, Any] = {"name": "crea", "low": 0.3, "high": 15.0, "scale": scale}
        model = ds.SurvivalRegression({"time": axis, "covariate": [item]}, link="cloglog").fit(
            table
        )
        risk = model.predict_risk(pa.table({"crea": np.append(values, 1.0)}))
        left.plot(values, (risk[:-1] - risk[-1]) / np.log(2.0), color=colour, label=scale)
    right.hist(table["crea"].to_numpy(), bins=60, color="#999999")
    dress(left, "Effect against creatinine 1", "creatinine", (0.3, 15.0))
    left.set_ylabel("doublings of the hazard")
    left.set_ylim(-3.0, 12.0)
    dress(right, "Who there is to learn from", "creatinine", (0.3, 15.0), legend=False)
    right.set_ylabel("people")


def dress(
    axes: Axes, title: str, label: str, limits: tuple[float, float], *, legend: bool = True
) -> None:
    """Titles, limits and a quiet frame."""
    axes.set_title(title, loc="left", fontsize="medium", fontweight="bold", color=TRUTH)
    axes.set_xlabel(label)
    axes.set_xlim(*limits)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    if legend:
        axes.legend(frameon=False, fontsize="small")


if __name__ == "__main__":
    main()

"""The figures, drawn from the results files alone (Figures 1 and 2 from their formulas)."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from discreet.design.link import get_link
from discreet.paper.config import EPSILONS, Options
from discreet.paper.results import Results, Rows

COLOURS = {
    "corrected": "#1b6ca8",
    "printed, step 1/n": "#d1495b",
    "printed": "#9a9a9a",
    "reference": "#222222",
}
STYLES = {
    ("output", "printed"): ("#e0a458", "--", "o"),
    ("output", "corrected"): ("#e0a458", "-", "o"),
    ("objective", "printed"): ("#6a994e", "--", "s"),
    ("objective", "corrected"): ("#6a994e", "-", "s"),
    ("sampler", "printed, step 1/n"): ("#d1495b", "--", "^"),
    ("sampler", "corrected"): ("#1b6ca8", "-", "^"),
    ("newton", "delta 1e-6"): ("#7b2d8b", "-", "D"),
    ("newton", "pure"): ("#7b2d8b", ":", "D"),
    ("selected", "objective"): ("#2a9d8f", ":", "v"),
}


PLAIN: Any = {"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}


def draw_all(options: Options) -> list[Path]:
    """Draw every figure that has results, as SVG and PNG."""
    folder = options.docs / "images" / "reproduction"
    folder.mkdir(parents=True, exist_ok=True)
    drawn: list[Path] = []
    for name, source, draw in (
        ("figure-1", None, figure_1),
        ("figure-2", None, figure_2),
        ("figure-3", "figure-3", figure_3),
        ("figure-4", "figure-4", figure_4),
        ("figure-5", "figure-5", figure_5),
        ("figure-5-standard-errors", "figure-5", partial(figure_5, measure="err")),
    ):
        rows = Results.of(options, source).newest() if source else []
        if source and not rows:
            continue
        # the same names inside the file on every run
        with rc_context({**PLAIN, "svg.hashsalt": name}):
            figure = draw(rows, sorted({row["set"] for row in rows}))
            figure.savefig(folder / f"{name}.png", dpi=120)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
        drawn.append(folder / f"{name}.png")
    return drawn


def figure_1(*_: object) -> Figure:
    """Draw the links g(h)."""
    figure = Figure(figsize=(5, 3.6), layout="constrained")
    axes = figure.subplots()
    eta = np.linspace(-6, 6, 600)
    for name, colour in (("logit", "#1b6ca8"), ("cloglog", "#d1495b"), ("probit", "#6a994e")):
        axes.plot(get_link(name).hazard(eta), eta, color=colour, label=name)
    axes.set(xlabel="hazard h", ylabel="linear predictor g(h)", ylim=(-5, 5), xlim=(0, 1))
    axes.legend()
    return figure


def figure_2(*_: object) -> Figure:
    """Draw the sanitizer C_20."""
    figure = Figure(figsize=(5, 3.6), layout="constrained")
    axes = figure.subplots()
    loss = np.linspace(0, 40, 400)
    axes.plot(loss, loss, color="#d1495b", label="y = x")
    axes.plot(loss, 20 * np.tanh(loss / 20), color="#1b6ca8", label="y = 20 tanh(x/20)")
    axes.axhline(20, color="#222222", linestyle="--", linewidth=0.8)
    axes.set(xlabel="loss of a person", ylabel="sanitized loss", xlim=(0, 40), ylim=(0, 40))
    axes.legend()
    return figure


def figure_3(rows: Rows, names: list[str]) -> Figure:
    """Draw the densities of beta1 and beta2 at epsilon = 6.4, the reference over them."""
    figure = Figure(figsize=(7.5, 2.3 * len(names)), layout="constrained")
    panels = figure.subplots(len(names), 2, squeeze=False)
    for line, name in enumerate(names):
        for column, coefficient in enumerate(("beta1", "beta2")):
            axes = panels[line][column]
            for source in ("printed, step 1/n", "corrected", "reference"):
                found = _chosen(rows, set=name, source=source, coefficient=coefficient)
                if found:
                    x, y = _numbers(found, "value"), _numbers(found, "density")
                    axes.plot(x, y, color=COLOURS[source], label=source, linewidth=1.3)
            axes.set(title=f"{name}, {coefficient}", ylabel="density", ylim=(0, None))
    panels[0][0].legend(fontsize=8)
    return figure


def figure_4(rows: Rows, names: list[str]) -> Figure:
    """Draw MRE against epochs, a panel a set; the darker the larger epsilon."""
    figure, panels = _panel_a_set(names, 3.4)
    for axes, name in zip(panels, names, strict=True):
        keys = {(row["variant"], float(row["epsilon"])) for row in _chosen(rows, set=name)}
        for variant, epsilon in sorted(keys):
            if epsilon not in {0.4, 1.6, 6.4}:
                continue
            found = _chosen(rows, set=name, variant=variant)
            found = [row for row in found if float(row["epsilon"]) == epsilon]
            axes.plot(
                _numbers(found, "epoch"),
                _numbers(found, "mre"),
                color=COLOURS[variant],
                alpha={0.4: 0.35, 1.6: 0.6, 6.4: 1.0}[epsilon],
                marker="." if len(found) == 1 else None,
                label=f"{variant}, ε = {epsilon:g}",
            )
        axes.set(title=name, xlabel="epoch", yscale="log")
        _round_numbers(axes)
    panels[0].set_ylabel("MRE since step 10,000")
    _legend_below(figure, panels[0], 3)
    return figure


def figure_5(rows: Rows, names: list[str], measure: str = "mre") -> Figure:
    """Draw errors against epsilon, a panel a set."""
    figure, panels = _panel_a_set(names, 3.9)
    for axes, name in zip(panels, names, strict=True):
        for (mechanism, variant), (colour, line, marker) in STYLES.items():
            found = _chosen(rows, set=name, mechanism=mechanism, variant=variant)
            found.sort(key=lambda row: float(row["epsilon"]))
            if found:
                x, y = _numbers(found, "epsilon"), _numbers(found, measure)
                title = f"{mechanism}, {variant}"
                axes.plot(x, y, line, color=colour, marker=marker, ms=3, label=title)
        axes.set(title=name, xlabel="ε", xscale="log", yscale="log", xlim=(0.08, 8.0))
        axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        _round_numbers(axes)
    panels[0].set_ylabel("MRE" if measure == "mre" else "error in standard errors")
    _legend_below(figure, panels[0], 4)
    return figure


def _chosen(rows: Rows, **key: str) -> Rows:
    return [row for row in rows if key.items() <= row.items()]


def _numbers(rows: Rows, column: str) -> list[float]:
    return [float(row[column]) for row in rows]


def _round_numbers(axes: Any) -> None:
    """Write 1, 2, 5, 10 ... on a logarithmic axis."""
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())


def _panel_a_set(names: list[str], height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(3.4 * len(names), height), layout="constrained")
    return figure, figure.subplots(1, len(names), squeeze=False)[0]


def _legend_below(figure: Figure, first: Any, columns: int) -> None:
    place: Any = "outside lower center"
    style: dict[str, Any] = {"fontsize": 7, "handlelength": 3.6}  # a dashed line shows as one
    figure.legend(*first.get_legend_handles_labels(), loc=place, ncols=columns, **style)

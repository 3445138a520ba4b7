"""Curves by group as a picture: steps, bands, and numbers at risk under the axis."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.documents.curves import CurvesRelease
    from discreet.types import Array

# Okabe and Ito's palette, and dashes that go on where it begins again: no two groups are alike.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (7, 2, 2, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
)
MOST_LABELS = 8
"""Groups that are named beside their curves; of more there is a legend only."""
CLOSEST = 0.045
"""Labels are no nearer to each other than this share of the height."""
COUNTS_SHOWN = 6
INK, PALE = "#333333", "#AAAAAA"


def group_figure(
    release: "CurvesRelease",
    *,
    cause: str | None = None,
    simultaneous: bool = False,
    sample: bool = False,
) -> Figure:
    """All groups in one panel, a table of numbers at risk below it."""
    number = release.groups.number
    figure = Figure(figsize=(8.6, 4.4 + 0.24 * number), layout="constrained")
    axes, counts = figure.subplots(2, 1, sharex=True, height_ratios=[4.4, 0.5 + 0.24 * number])
    unit, label = release.axis
    times, start = release.times / unit, 1.0 if cause is None else 0.0
    ending = ("sample_" if sample else "", "_simultaneous" if simultaneous else "")
    ends = []
    for index, (name, curve) in enumerate(zip(release.titles, release.estimates, strict=True)):
        band = curve.survival if cause is None else curve.incidence[release.causes.index(cause)]
        title = f"{name} (may be empty)" if curve.may_be_empty else name
        lines = [
            np.append(start, values)
            for values in (
                band.estimate,
                getattr(band, f"{ending[0]}lower{ending[1]}"),
                getattr(band, f"{ending[0]}upper{ending[1]}"),
            )
        ]
        _draw(axes, times, lines, curve.reach, index, title)
        shown = curve.reach or len(times) - 1
        ends.append((float(times[shown]), float(band.estimate[shown - 1]), index, title))
    if number <= MOST_LABELS:
        _name(axes, ends, float(times[-1]))
    _finish(axes, release, cause, times, simultaneous=simultaneous, sample=sample)
    _write_counts(counts, release, times, label)
    return figure


def _draw(
    axes: "Axes", times: "Array", lines: "list[Array]", reach: int, index: int, title: str
) -> None:
    """Estimate and limits as steps; beyond what is known, and of a hidden group, the band alone."""
    style: dict[str, Any] = {"color": COLOURS[index % len(COLOURS)]}
    estimate, lower, upper = lines
    # within a stretch a curve is between its values at both ends
    low, high = np.minimum(lower[:-1], lower[1:]), np.maximum(upper[:-1], upper[1:])
    for first, last, alpha in ((0, reach, 0.16), (reach, len(times) - 1, 0.07)):
        if first < last:
            ends = slice(first, last + 1)
            bottom, top = (np.append(item[first:last], item[last - 1]) for item in (low, high))
            axes.fill_between(times[ends], bottom, top, step="post", alpha=alpha, lw=0, **style)
    dash = DASHES[index % len(DASHES)]
    known = slice(reach + 1)
    axes.step(times[known], estimate[known], where="post", ls=dash, lw=1.8, label=title, **style)
    if not reach:  # its limits in its own dash, so that the band can be told from others
        for edge in (lower, upper):
            axes.step(times, edge, where="post", ls=dash, lw=0.7, alpha=0.6, **style)


def _name(axes: "Axes", ends: list[tuple[float, float, int, str]], last: float) -> None:
    """Titles beside the ends of the curves, those at the end of the axis moved apart."""
    height = -np.inf
    for time, value, index, title in sorted(ends, key=lambda item: item[1]):
        if time == last:
            height = max(value, height + CLOSEST)
        axes.annotate(
            title,
            (time, height if time == last else value),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            color=COLOURS[index % len(COLOURS)],
            annotation_clip=False,
        )


def _finish(
    axes: "Axes",
    release: "CurvesRelease",
    cause: str | None,
    times: "Array",
    *,
    simultaneous: bool,
    sample: bool,
) -> None:
    kind = "whole-curve" if simultaneous else "pointwise"
    guarantee = release.guarantee
    promise = f"ε = {guarantee.epsilon:g}" + (
        f", δ = {guarantee.delta:g}" if guarantee.delta else ""
    )
    what = "Survival" if cause is None else f"Cumulative incidence of {cause}"
    title = f"{what} by {' and '.join(item.title for item in release.groups.covariates)}, {promise}"
    axes.set_title(title, loc="left", fontsize="medium", fontweight="bold", color=INK)
    axes.set_ylabel("without an event so far" if cause is None else f"{cause} so far")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlim(float(times[0]), float(times[-1]))
    axes.set_ylim(0.0, 1.02)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    whose = "of these people's own curve" if sample else "of the population's curve"
    heading = f"95 % {kind} bands {whose},\nnoise included"
    if release.log_rank is not None:
        heading += f"; log-rank {release.log_rank.words}"
    legend = axes.legend(frameon=False, loc="best", title=heading, handlelength=3.2)
    legend.get_title().set_fontsize("small")


def _write_counts(axes: "Axes", release: "CurvesRelease", times: "Array", label: str) -> None:
    """Estimated numbers at risk at the starts of a few stretches."""
    starts = times[:-1]
    chosen = np.unique(np.linspace(0, len(starts) - 1, COUNTS_SHOWN).round().astype(int))
    axes.set_ylim(release.groups.number - 0.4, -0.6)
    axes.set_yticks(range(release.groups.number), release.titles)
    axes.tick_params(axis="y", length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("at risk, estimated", loc="left", fontsize="small", color="#666666")
    axes.set_xlabel(label)
    for row, curve in enumerate(release.estimates):
        for index in chosen:
            side = "left" if index == 0 else "center"
            text = f"{curve.at_risk[index]:,.0f}"
            ink = INK if index < curve.reach else PALE
            axes.text(starts[index], row, text, ha=side, va="center", fontsize="small", color=ink)

"""Curves by group as a picture: steps, bands, and numbers at risk under the axis."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

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
TOGETHER = len(COLOURS) - 1
"""Groups that are drawn in one panel; of more each has its own."""
COLUMNS = 4
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
    """All groups in one panel, or each of many in its own, above a table of numbers at risk."""
    number, lines = release.groups.number, []
    ending = ("sample_" if sample else "", "_simultaneous" if simultaneous else "")
    for curve in release.estimates:
        band = curve.survival if cause is None else curve.incidence[release.causes.index(cause)]
        limits = (getattr(band, f"{ending[0]}{side}{ending[1]}") for side in ("lower", "upper"))
        start = 1.0 if cause is None else 0.0
        lines.append([np.append(start, values) for values in (band.estimate, *limits)])
    kind = "whole-curve" if simultaneous else "pointwise"
    whose = "of these people's own curve" if sample else "of the population's curve"
    heading = f"95 % {kind} bands {whose}, noise included"
    if release.log_rank is not None:
        heading += f"; log-rank {release.log_rank.words}"
    what = "without an event so far" if cause is None else f"{cause} so far"
    rows = 0 if number <= TOGETHER else -(-number // COLUMNS)
    heights = [1.2 + 1.5 * rows if rows else 4.6, 0.5 + 0.24 * number]
    figure = Figure(figsize=(8.6, sum(heights)), layout="constrained")
    if rows:
        upper, lower = figure.subfigures(2, 1, height_ratios=heights, squeeze=False).ravel()
        upper.supxlabel(heading, fontsize="small", color=INK)
        upper.supylabel(what, fontsize="medium")
        _panels(upper, release, lines, rows)
        counts = lower.subplots()
    else:
        axes, counts = figure.subplots(2, 1, sharex=True, height_ratios=heights)
        axes.set_ylabel(what)
        _together(axes, release, lines, heading)
    _entitle(figure, release, cause)
    _write_counts(counts, release)
    return figure


def _entitle(figure: Figure, release: "CurvesRelease", cause: str | None) -> None:
    guarantee = release.guarantee
    promise = f"ε = {guarantee.epsilon:g}" + (
        f", δ = {guarantee.delta:g}" if guarantee.delta else ""
    )
    what = "Survival" if cause is None else f"Cumulative incidence of {cause}"
    title = f"{what} by {' and '.join(item.title for item in release.groups.covariates)}, {promise}"
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium", fontweight="bold", color=INK)


def _together(
    axes: "Axes", release: "CurvesRelease", lines: "list[list[Array]]", heading: str
) -> None:
    """One panel, with titles beside the curves and above them."""
    times, ends = release.times / release.axis[0], []
    number = len(lines)
    for index, (title, curve) in enumerate(zip(_titles(release), release.estimates, strict=True)):
        _draw(axes, times, lines[index], curve.reach, index, title)
        shown = curve.reach or len(times) - 1
        drawn = lines[index][0 if curve.reach else 2]  # of a hidden group its upper limit
        ends.append((float(times[shown]), float(drawn[shown]), index, title))
    _name(axes, ends, float(times[-1]))
    _dress(axes, times)
    legend = axes.legend(
        title=heading,
        ncols=number if number <= COLUMNS else 3,
        handlelength=3.2,
        frameon=False,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        alignment="left",
    )
    legend.get_title().set_fontsize("small")


def _panels(
    figure: "SubFigure", release: "CurvesRelease", lines: "list[list[Array]]", rows: int
) -> None:
    """A panel for each group, the other groups' curves in grey."""
    times, titles = release.times / release.axis[0], _titles(release)
    panels = figure.subplots(rows, COLUMNS, sharex=True, sharey=True).ravel()
    for index, (axes, curve) in enumerate(zip(panels, release.estimates, strict=False)):
        for line, other in zip(lines, release.estimates, strict=True):
            known = slice(other.reach + 1)
            axes.step(times[known], line[0][known], where="post", lw=0.6, color=PALE)
        _draw(axes, times, lines[index], curve.reach, 0, titles[index])
        axes.set_title(titles[index], loc="left", fontsize="small", color=INK)
        _dress(axes, times)
    for axes in panels[len(lines) :]:
        axes.set_visible(False)


def _titles(release: "CurvesRelease") -> list[str]:
    return [
        f"{name} (may be empty)" if curve.may_be_empty else name
        for name, curve in zip(release.titles, release.estimates, strict=True)
    ]


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


def _dress(axes: "Axes", times: "Array") -> None:
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlim(float(times[0]), float(times[-1]))
    axes.set_ylim(0.0, 1.02)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _write_counts(axes: "Axes", release: "CurvesRelease") -> None:
    """Estimated numbers at risk at the starts of a few stretches."""
    unit, label = release.axis
    starts = release.times[:-1] / unit
    chosen = np.unique(np.linspace(0, len(starts) - 1, COUNTS_SHOWN).round().astype(int))
    axes.set_xlim(float(starts[0]), float(release.times[-1] / unit))
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

"""Curves by group as a picture: steps, bands, and numbers at risk under the axis."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from discreet.models.group_curves import Band

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.models.curves_release import CurvesRelease
    from discreet.types import Array

# Okabe and Ito's palette, then other strokes: told apart by every kind of eyes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
STROKES = ("-", "--", "-.", ":")
COUNTS_SHOWN = 6
INK, PALE = "#333333", "#AAAAAA"


def group_figure(
    release: "CurvesRelease", *, cause: str | None = None, simultaneous: bool = False
) -> Figure:
    """All groups in one panel, a table of numbers at risk below it."""
    number = release.groups.number
    figure = Figure(figsize=(8.0, 4.4 + 0.24 * number), layout="constrained")
    axes, counts = figure.subplots(2, 1, sharex=True, height_ratios=[4.4, 0.5 + 0.24 * number])
    for index, (name, curve) in enumerate(zip(release.titles, release.estimates, strict=True)):
        label = f"{name} (may be empty)" if curve.may_be_empty else name
        band = curve.survival if cause is None else curve.incidence[release.causes.index(cause)]
        limits = _limits(band, simultaneous=simultaneous)
        start = 1.0 if cause is None else 0.0
        lines = [np.append(start, values) for values in (band.estimate, *limits)]
        _draw(axes, release.times, lines, curve.reach, _Style(*_style(index), label))
    _finish(axes, release, cause, simultaneous=simultaneous)
    _write_counts(counts, release)
    return figure


class _Style(NamedTuple):
    colour: str
    stroke: str
    label: str


def _draw(axes: "Axes", times: "Array", lines: "list[Array]", reach: int, style: _Style) -> None:
    """Estimate and limits; dotted and pale from where the data do not reach."""
    known, estimate = slice(reach + 1), lines[0]
    colour: dict[str, Any] = {"color": style.colour}
    axes.plot(times[known], estimate[known], ls=style.stroke, lw=1.9, label=style.label, **colour)
    axes.fill_between(times[known], lines[1][known], lines[2][known], alpha=0.16, lw=0, **colour)
    if reach < len(times) - 1:
        later, low, high = times[reach:], lines[1][-1], lines[2][-1]
        axes.plot(later, estimate[reach:], ls=":", lw=1.2, alpha=0.7, **colour)
        axes.fill_between(later, low, high, alpha=0.06, lw=0, **colour)


def _style(index: int) -> tuple[str, str]:
    return COLOURS[index % len(COLOURS)], STROKES[index // len(COLOURS) % len(STROKES)]


def _limits(band: Band, *, simultaneous: bool) -> "tuple[Array, Array]":
    """Of each point, or of the whole curve."""
    if simultaneous:
        return band.lower_simultaneous, band.upper_simultaneous
    return band.lower, band.upper


def _finish(
    axes: "Axes", release: "CurvesRelease", cause: str | None, *, simultaneous: bool
) -> None:
    kind = "simultaneous" if simultaneous else "pointwise"
    guarantee = release.guarantee
    promise = f"ε = {guarantee.epsilon:g}" + (
        f", δ = {guarantee.delta:g}" if guarantee.delta else ""
    )
    what = "Survival" if cause is None else f"Cumulative incidence of {cause}"
    title = f"{what} by {' and '.join(item.title for item in release.groups.covariates)}, {promise}"
    axes.set_title(title, loc="left", fontsize="medium", fontweight="bold", color=INK)
    axes.set_ylabel("without an event so far" if cause is None else f"{cause} so far")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlim(float(release.times[0]), float(release.times[-1]))
    axes.set_ylim(0.0, 1.02)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    legend = axes.legend(frameon=False, loc="best", title=f"95 % {kind} bands, noise included")
    legend.get_title().set_fontsize("small")
    test = release.log_rank
    if test is not None:
        text = f"log-rank p = {test.p_value:.3f}" if test.p_value >= 0.002 else "log-rank p < 0.002"
        axes.text(0.99, 0.98, text, transform=axes.transAxes, ha="right", va="top", color=INK)


def _write_counts(axes: "Axes", release: "CurvesRelease") -> None:
    """Released numbers at risk at the starts of a few stretches."""
    starts = release.times[:-1]
    chosen = np.unique(np.linspace(0, len(starts) - 1, COUNTS_SHOWN).round().astype(int))
    axes.set_ylim(release.groups.number - 0.4, -0.6)
    axes.set_yticks(range(release.groups.number), release.titles)
    axes.tick_params(axis="y", length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("at risk, from released counts", loc="left", fontsize="small", color="#666666")
    axes.set_xlabel(release.public_schema.time.axis_label)
    for row, curve in enumerate(release.estimates):
        for index in chosen:
            side = "left" if index == 0 else "center"
            text = f"{curve.at_risk[index]:,.0f}"
            ink = INK if index < curve.reach else PALE  # noise alone where the data do not reach
            axes.text(starts[index], row, text, ha=side, va="center", fontsize="small", color=ink)

"""Pictures of a fitted model: baseline hazard, coefficients, survival curves.

Every function draws on given axes and returns them, so that pictures can be combined.  Bands and
bars are pointwise confidence intervals, drawn where the model knows its standard errors.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import figure as matplotlib_figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from discreet.design.link import get_link
from discreet.design.schema import Categorical, Numeric
from discreet.design.terms import user_columns
from discreet.documents.causes import Fitted
from discreet.documents.curves import CurvesRelease
from discreet.documents.model import Model, Release
from discreet.errors import SettingsError
from discreet.results.description import round_step
from discreet.results.life_table import Calibration, LifeTable
from discreet.results.normal import normal_quantile, standard_errors
from discreet.results.prediction import (
    Person,
    hazard_interval,
    incidence_interval,
    survival_interval,
)
from discreet.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

__all__ = [
    "Figure",
    "Profile",
    "baseline_hazard",
    "coefficients",
    "errors_by_epsilon",
    "events_by_stretch",
    "fit_by_time",
    "overview",
    "survival_curves",
    "survival_of_everybody",
    "typical",
]

# Okabe and Ito's palette, for every kind of eyes; groups also differ by their dashes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (7, 2, 2, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
)
INK, GREY, PALE = "#333333", "#666666", "#AAAAAA"
MOST_CURVES = 10
MOST_COEFFICIENTS = 30
TOGETHER = len(COLOURS) - 1
"""Groups that are drawn in one panel; of more each has its own."""
COLUMNS = 4
CLOSEST = 0.045
"""Labels are no nearer to each other than this share of the height."""
COUNTS_SHOWN = 6
"""Numbers at risk that are written under a curve."""


class Figure(matplotlib_figure.Figure):
    """A figure that shows itself in a notebook, without magic commands."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=100)
        return content.getvalue()


@dataclass(frozen=True)
class Profile:
    """A person to draw: a label and covariates on the user's scale (indicators for levels)."""

    label: str
    raw: Array
    stratum: int = 0


def overview(
    model: Fitted,
    encoded: Array | None = None,
    stratum: NDArray[np.int16] | None = None,
    confidence: float = 0.95,
) -> Figure:
    """Baseline, coefficients and curves side by side, as tall as the coefficients need.

    With competing risks there is a row for each cause, with its incidence in place of survival.
    """
    names = len(model.design.schema.coefficient_names)
    height = max(3.6, 1.2 + 0.3 * min(names, MOST_COEFFICIENTS))
    parts = model.models
    size = (13.0 if names else 9.0, height * len(parts))
    figure = Figure(figsize=size, layout="constrained")
    rows = figure.subplots(len(parts), 3 if names else 2, squeeze=False)
    for axes, (cause, part) in zip(rows, parts.items(), strict=True):
        baseline_hazard(part, axes[0], confidence)
        if names:
            coefficients(part, axes[1], confidence)
        survival_curves(model, axes[-1], encoded, confidence, stratum, cause)
        _head(axes[0], cause)
    return figure


def fit_by_time(model: Fitted) -> Figure:
    """Events by stretch and survival of all persons: released, and expected by the model.

    With competing risks there is a row for each cause, in which other causes censor.
    """
    found = {
        cause: part.calibration if isinstance(part, Release) else None
        for cause, part in model.models.items()
    }
    figure = Figure(figsize=(10.5, 4.0 * len(found)), layout="constrained")
    rows = figure.subplots(len(found), 2, squeeze=False)
    for (left, right), (cause, calibration) in zip(rows, found.items(), strict=True):
        if calibration is None:
            raise SettingsError(
                "only a release with a private life table can be compared with it: publish with "
                "private Newton."
            )
        events_by_stretch(calibration, left)
        survival_of_everybody(calibration, right)
        _head(left, cause)
    return figure


def _head(axes: "Axes", cause: str) -> None:
    """Put a cause before the title of the first picture in its row."""
    if cause:
        axes.set_title(f"{_plain(cause)}: {axes.get_title(loc='left')}", loc="left")


def events_by_stretch(calibration: Calibration, axes: "Axes") -> "Axes":
    """Released events per unit of time with 95% bars, and the model's."""
    edges, widths = calibration.edges, calibration.widths
    middle, margin = (edges[1:] + edges[:-1]) / 2, normal_quantile(0.95) * calibration.spread
    bars: dict[str, Any] = {
        "fmt": "o",
        "color": COLOURS[0],
        "markersize": 4,
        "linewidth": 1.2,
        "capsize": 2,
    }
    observed = calibration.observed / widths
    axes.errorbar(middle, observed, yerr=margin / widths, label="released, 95% noise", **bars)
    expected = calibration.expected / widths
    axes.stairs(expected, edges, color=COLOURS[1], linewidth=1.8, baseline=None, label="model")
    axes.axhline(0.0, color=INK, linewidth=0.6)
    axes.set_xlim(edges[0], edges[-1])
    _dress(axes, "Events by time", calibration.table.label, "events per unit of time")
    axes.legend(frameon=False)
    return axes


def survival_of_everybody(calibration: Calibration, axes: "Axes") -> "Axes":
    """The private life table with its band, and the model's survival of the same people.

    Drawn as far as the number at risk is distinguishable from the noise.
    """
    known = calibration.supported
    edges, (lower, upper) = calibration.edges[: known + 1], calibration.band()
    style: dict[str, Any] = {"color": COLOURS[0], "alpha": 0.2, "linewidth": 0}
    low, high = np.append(1.0, lower[:known]), np.append(1.0, upper[:known])
    axes.fill_between(edges, low, high, **style)
    points: dict[str, Any] = {"marker": "o", "markersize": 3.5, "color": COLOURS[0], "lw": 1.4}
    counted, model = calibration.table.survival[:known], calibration.survival[:known]
    axes.plot(edges, np.append(1.0, counted), label="life table", **points)
    axes.plot(edges, np.append(1.0, model), color=COLOURS[1], lw=1.8, label="model")
    axes.set_xlim(calibration.edges[0], calibration.edges[-1])
    axes.set_ylim(0.0, 1.02)
    _dress(axes, "Everybody together", calibration.table.label, "share without an event so far")
    axes.legend(frameon=False)
    return axes


def life_table(table: LifeTable, axes: "Axes") -> "Axes":
    """The survival curve of all persons, with numbers at risk, from released counts, under it."""
    columns = table.columns()
    axes.step(columns["time"], columns["survival"], where="post", color=COLOURS[0], lw=1.8)
    axes.set_xlim(table.zero, columns["time"][-1])
    axes.set_ylim(0.0, 1.02)
    _dress(axes, "Life table", table.label, "share without an event so far", pad=None)
    starts = columns["time"][:-1]
    style: dict[str, Any] = {
        "transform": axes.get_xaxis_transform(), "fontsize": "small", "color": GREY, "va": "bottom",
    }  # fmt: skip
    for index in _counted(len(starts)):
        side, space = ("left", " ") if index == 0 else ("center", "")
        text = f"{space}{table.at_risk[index]:.0f}"
        axes.text(starts[index], 0.02, text, ha=side, **style)
    axes.text(table.zero, 0.08, " at risk", ha="left", **style)
    return axes


def baseline_hazard(model: Model, axes: "Axes", confidence: float = 0.95) -> "Axes":
    """The hazard of the reference person in each interval, with a band."""
    person, edges = reference(model), model.curves.grid.edges
    declared = model.public_schema.strata
    titles = ("",) if declared is None else declared.level_titles[: len(COLOURS)]
    for stratum, title in enumerate(titles):
        drawn = Person.of(model, person.raw, stratum)
        middle, low, high = hazard_interval(drawn, confidence)
        colour = COLOURS[stratum % len(COLOURS)]
        label = _plain(title) if title else None
        axes.stairs(middle, edges, color=colour, linewidth=1.8, baseline=None, label=label)
        if low is not None and high is not None:
            axes.stairs(high, edges, baseline=low, color=colour, alpha=0.2, fill=True, linewidth=0)
    axes.set_ylim(bottom=0.0)
    axes.set_xlim(edges[0], edges[-1])
    _dress(
        axes,
        "Baseline hazard",
        model.public_schema.time.axis_label,
        "probability of the event in an interval",
    )
    if declared is not None:
        axes.legend(frameon=False, fontsize="small", loc="best")
    if person.label:
        _caption(axes, person.label)
    return axes


def coefficients(model: Model, axes: "Axes", confidence: float = 0.95) -> "Axes":
    """One line a covariate: the coefficient per step, and its interval."""
    steps = _steps(model)
    names = list(model.coefficients.covariates)[:MOST_COEFFICIENTS]
    values = np.array([model.coefficients.covariates[name] * steps[name] for name in names])
    rows = np.arange(len(names))[::-1]
    if model.covariance is not None:
        errors = standard_errors(model.covariance)[model.design.time_dimension :]
        margin = normal_quantile(confidence) * errors[: len(names)]
        margin *= np.array([steps[name] for name in names])
        axes.errorbar(values, rows, xerr=margin, fmt="none", color=INK, linewidth=1.4, capsize=2.5)
    axes.plot(values, rows, "o", color=COLOURS[0], markersize=5.5)
    axes.axvline(0.0, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    titles = dict(zip(steps, model.public_schema.coefficient_titles, strict=True))
    labels = [
        titles[name] if len(titles[name]) <= 28 else f"{titles[name][:27]}…" for name in names
    ]
    per = ["" if steps[name] == 1.0 else f" (per {steps[name]:g})" for name in names]
    axes.set_yticks(rows, [_plain(label + step) for label, step in zip(labels, per, strict=True)])
    axes.set_ylim(-0.7, len(names) - 0.3)
    _dress(axes, "Coefficients", get_link(model.link).effect, "")
    axes.tick_params(axis="y", length=0)
    if len(model.coefficients.covariates) > len(names):
        _caption(axes, f"the first {len(names)} of {len(model.coefficients.covariates)}")
    return axes


def survival_curves(
    model: Fitted,
    axes: "Axes",
    encoded: Array | None = None,
    confidence: float = 0.95,
    stratum: NDArray[np.int16] | None = None,
    cause: str = "",
) -> "Axes":
    """S(u), or F(u) of a cause, of these people or of typical ones (by the strongest covariate)."""
    people = typical(model.models.get(cause) or next(iter(model.models.values())))
    if encoded is not None:
        raw = model.design.covariates.raw(encoded[:MOST_CURVES])  # back on the user's scale
        numbers = np.zeros(len(raw), dtype=np.int16) if stratum is None else stratum
        people = [Profile(f"row {i + 1}", row, int(numbers[i])) for i, row in enumerate(raw)]
    edges = model.curves.grid.edges
    for index, person in enumerate(people):
        colour, style = COLOURS[index % len(COLOURS)], "-" if index < len(COLOURS) else "--"
        drawn = Person.of(model, person.raw, person.stratum)
        if cause:
            place = model.causes.index(cause)
            band = incidence_interval(drawn, place, edges, confidence)
        else:
            band = survival_interval(drawn, edges, confidence)
        axes.step(edges, band.estimate, style, where="post", color=colour, lw=1.8)
        axes.lines[-1].set_label(_plain(person.label))
        if band.lower is not None and band.upper is not None:
            axes.fill_between(
                edges, band.lower, band.upper, step="post", color=colour, alpha=0.15, lw=0
            )
    axes.set_ylim(0.0, 1.02)
    axes.set_xlim(edges[0], edges[-1])
    what, title = ("no event", "Survival") if not cause else (_plain(cause), "Incidence")
    _dress(axes, title, model.public_schema.time.axis_label, f"probability of {what} so far")
    if any(person.label for person in people):
        axes.legend(frameon=False, fontsize="small", loc="best")
    return axes


def reference(model: Model) -> Profile:
    """Numbers and levels at ``typical``; else the fill (or midpoint), and the first level."""
    schema = model.public_schema
    values = [item.typical_value for item in schema.covariates]
    words = [_words(item, value) for item, value in zip(schema.covariates, values, strict=True)]
    shown = ", ".join(words[:4]) + (", …" if len(words) > 4 else "")
    return Profile(f"at {shown}" if words else "", user_columns(schema, values))


def typical(model: Model) -> list[Profile]:
    """The reference person with the strongest covariate varied over its levels or bounds."""
    schema = model.public_schema
    start = [item.typical_value for item in schema.covariates]
    beta = np.array(list(model.coefficients.covariates.values()))[model.design.periods.places]
    strongest, people = 0.0, [Profile("", user_columns(schema, start))]
    for index, item in enumerate(schema.covariates):
        varied = []
        values: Sequence[float]
        if isinstance(item, Categorical):
            values = range(len(item.levels))
        else:
            low, high = item.bounds
            values = low, low / 2 + high / 2, high
        for value in values:
            row = user_columns(schema, [*start[:index], value, *start[index + 1 :]])
            varied.append(Profile(_words(item, value), row))
        effects = np.array([beta @ person.raw for person in varied])
        range_of_effects = float(np.max(np.ptp(effects, axis=0)))
        if range_of_effects > strongest:
            strongest, people = range_of_effects, varied[: len(COLOURS)]
    return people


def _words(item: Numeric | Categorical, value: float) -> str:
    shown = item.label or item.name
    if isinstance(item, Categorical):
        return f"{shown} {item.level_titles[int(value)]}"
    return f"{shown} {value:g}" + (f" {item.unit}" if item.unit else "")


def _steps(model: Model) -> dict[str, float]:
    """Round steps of numbers, so that numbers and indicators compare."""
    steps = dict.fromkeys(model.coefficients.covariates, 1.0)
    names = {term.name: term.names for term in model.public_schema.terms}
    for item in model.public_schema.covariates:
        if isinstance(item, Numeric) and item.value_names == (item.name,):
            steps |= dict.fromkeys(names[item.name], round_step(item))
    return steps


def _dress(
    axes: "Axes", title: str, horizontal: str, vertical: str, pad: float | None = 18
) -> None:
    axes.set_title(title, loc="left", fontsize="medium", fontweight="bold", color=INK, pad=pad)
    axes.set_xlabel(horizontal)
    axes.set_ylabel(vertical)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_axisbelow(True)
    _frame(axes)


def _frame(axes: "Axes") -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="both", color="#DDDDDD", linewidth=0.6)


def _counted(stretches: int) -> NDArray[np.int64]:
    """The stretches under whose starts numbers at risk are written."""
    return np.unique(np.linspace(0, stretches - 1, COUNTS_SHOWN).round().astype(int))


def _caption(axes: "Axes", text: str) -> None:
    place: Any = axes.transAxes
    axes.text(0.0, 1.02, _plain(text), transform=place, fontsize="small", color=GREY)


def _plain(text: str) -> str:
    """No part of a name is a formula to matplotlib."""
    return text.replace("$", r"\$")


def errors_by_epsilon(epsilons: Sequence[float], ratios: Array, names: Sequence[str]) -> Figure:
    """Standard errors over those without privacy, against epsilon; one line per coefficient."""
    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.subplots()
    for column, name in zip(ratios.T, names, strict=True):
        axes.plot(epsilons, column, marker="o", label=name)
    axes.axhline(1.0, linewidth=1, linestyle="--", color="gray")
    axes.set_xscale("log")
    axes.set_xticks(list(epsilons), [f"{value:g}" for value in epsilons])
    axes.minorticks_off()
    axes.set_xlabel("epsilon")
    axes.set_ylabel("standard error / that without privacy")
    axes.legend(frameon=False, fontsize=8)
    return figure


# Curves by group


def group_figure(
    release: CurvesRelease,
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
    delta = release.guarantee.delta
    promise = f"ε = {release.guarantee.epsilon:g}" + (f", δ = {delta:g}" if delta else "")
    subject = "Survival" if cause is None else f"Cumulative incidence of {cause}"
    by = " and ".join(item.title for item in release.groups.covariates)
    title = f"{subject} by {by}, {promise}"
    figure.suptitle(title, x=0.01, ha="left", fontsize="medium", fontweight="bold", color=INK)
    _write_counts(counts, release)
    return figure


def _together(axes: "Axes", release: CurvesRelease, lines: list[list[Array]], heading: str) -> None:
    """One panel, with titles beside the curves and above them."""
    times, ends = release.times / release.axis[0], []
    number = len(lines)
    for index, (title, curve) in enumerate(zip(_titles(release), release.estimates, strict=True)):
        _draw(axes, times, lines[index], curve.reach, index, title)
        shown = curve.reach or len(times) - 1
        drawn = lines[index][0 if curve.reach else 2]  # of a hidden group its upper limit
        ends.append((float(times[shown]), float(drawn[shown]), index, title))
    _name(axes, ends, float(times[-1]))
    _dress_group(axes, times)
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
    figure: "SubFigure", release: CurvesRelease, lines: list[list[Array]], rows: int
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
        _dress_group(axes, times)
    for axes in panels[len(lines) :]:
        axes.set_visible(False)


def _titles(release: CurvesRelease) -> list[str]:
    return [
        f"{name} (may be empty)" if curve.may_be_empty else name
        for name, curve in zip(release.titles, release.estimates, strict=True)
    ]


def _draw(
    axes: "Axes", times: Array, lines: list[Array], reach: int, index: int, title: str
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
    if not reach:  # its limits in its own dash, so that the band differs from others
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


def _dress_group(axes: "Axes", times: Array) -> None:
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlim(float(times[0]), float(times[-1]))
    axes.set_ylim(0.0, 1.02)
    _frame(axes)


def _write_counts(axes: "Axes", release: CurvesRelease) -> None:
    """Estimated numbers at risk at the starts of a few stretches."""
    unit, label = release.axis
    starts = release.times[:-1] / unit
    axes.set_xlim(float(starts[0]), float(release.times[-1] / unit))
    axes.set_ylim(release.groups.number - 0.4, -0.6)
    axes.set_yticks(range(release.groups.number), release.titles)
    axes.tick_params(axis="y", length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("at risk, estimated", loc="left", fontsize="small", color=GREY)
    axes.set_xlabel(label)
    for row, curve in enumerate(release.estimates):
        for index in _counted(len(starts)):
            side = "left" if index == 0 else "center"
            text = f"{curve.at_risk[index]:,.0f}"
            ink = INK if index < curve.reach else PALE
            axes.text(starts[index], row, text, ha=side, va="center", fontsize="small", color=ink)

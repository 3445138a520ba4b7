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
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from discreet.design.link import get_link
from discreet.design.schema import Categorical, Numeric
from discreet.design.terms import user_columns
from discreet.documents.causes import CausesFile
from discreet.documents.model import Model, Release
from discreet.errors import SettingsError
from discreet.results.calibration import Calibration
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

# Okabe and Ito's palette: told apart by every kind of eyes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
INK = "#333333"
MOST_CURVES = 10
MOST_COEFFICIENTS = 30


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
    model: Model | CausesFile,
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
        if cause:
            axes[0].set_title(f"{_plain(cause)}: {axes[0].get_title(loc='left')}", loc="left")
    return figure


def fit_by_time(model: Model | CausesFile) -> Figure:
    """Events by stretch and survival of everybody: released, and expected by the model.

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
        if cause:
            left.set_title(f"{_plain(cause)}: {left.get_title(loc='left')}", loc="left")
    return figure


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

    Drawn as far as those still at risk stand out of the noise.
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


def baseline_hazard(model: Model, axes: "Axes", confidence: float = 0.95) -> "Axes":
    """The hazard of the reference person in each interval, with a band."""
    person, edges = reference(model), model.curves.grid.edges
    for stratum, title in enumerate(_strata_shown(model)):
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
    if model.public_schema.strata is not None:
        axes.legend(frameon=False, fontsize="small", loc="best")
    if person.label:
        _caption(axes, person.label)
    return axes


def _strata_shown(model: Model) -> tuple[str, ...]:
    """The first strata, as many as there are colours; one without a name where there are none."""
    declared = model.public_schema.strata
    return ("",) if declared is None else declared.level_titles[: len(COLOURS)]


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
    axes.set_yticks(rows, [_step_label(titles[name], steps[name]) for name in names])
    axes.set_ylim(-0.7, len(names) - 0.3)
    _dress(axes, "Coefficients", get_link(model.link).effect, "")
    axes.tick_params(axis="y", length=0)
    if len(model.coefficients.covariates) > len(names):
        _caption(axes, f"the first {len(names)} of {len(model.coefficients.covariates)}")
    return axes


def survival_curves(
    model: Model | CausesFile,
    axes: "Axes",
    encoded: Array | None = None,
    confidence: float = 0.95,
    stratum: NDArray[np.int16] | None = None,
    cause: str = "",
) -> "Axes":
    """S(u), or F(u) of a cause, of these people or of typical ones (by the strongest covariate)."""
    people = typical(model.models.get(cause) or next(iter(model.models.values())))
    if encoded is not None:
        people = _people(model, encoded[:MOST_CURVES], stratum)
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


def _people(
    model: Model | CausesFile, encoded: Array, stratum: NDArray[np.int16] | None
) -> list[Profile]:
    """Rows of data as profiles, back on the user's scale."""
    raw = model.design.covariates.raw(encoded)
    numbers = np.zeros(len(raw), dtype=np.int16) if stratum is None else stratum
    return [Profile(f"row {index + 1}", row, int(numbers[index])) for index, row in enumerate(raw)]


def reference(model: Model) -> Profile:
    """Numbers and levels at ``typical``; else the fill (or midpoint), and the first level."""
    schema = model.public_schema
    values = [item.start for item in schema.covariates]
    words = [_words(item, value) for item, value in zip(schema.covariates, values, strict=True)]
    shown = ", ".join(words[:4]) + (", …" if len(words) > 4 else "")
    return Profile(f"at {shown}" if words else "", user_columns(schema, values))


def typical(model: Model) -> list[Profile]:
    """The reference person with the strongest covariate varied over its levels or bounds."""
    schema = model.public_schema
    start = [item.start for item in schema.covariates]
    beta = np.array(list(model.coefficients.covariates.values()))[model.design.periods.places]
    strongest, people = 0.0, [Profile("", user_columns(schema, start))]
    for index, item in enumerate(schema.covariates):
        varied = []
        for value in _varied(item):
            row = user_columns(schema, [*start[:index], value, *start[index + 1 :]])
            varied.append(Profile(_words(item, value), row))
        effects = np.array([beta @ person.raw for person in varied])
        range_of_effects = float(np.max(np.ptp(effects, axis=0)))
        if range_of_effects > strongest:
            strongest, people = range_of_effects, varied[: len(COLOURS)]
    return people


def _varied(item: Numeric | Categorical) -> Sequence[float]:
    """The levels, or the bounds and what lies in the middle."""
    if isinstance(item, Categorical):
        return range(len(item.levels))
    low, high = item.bounds
    return low, low / 2 + high / 2, high


def _words(item: Numeric | Categorical, value: float) -> str:
    shown = item.label or item.name
    if isinstance(item, Categorical):
        return f"{shown} {item.level_titles[int(value)]}"
    return f"{shown} {value:g}" + (f" {item.unit}" if item.unit else "")


def _steps(model: Model) -> dict[str, float]:
    """A round step near a quarter of the range, so that numbers and indicators compare."""
    steps = dict.fromkeys(model.coefficients.covariates, 1.0)
    names = {term.name: term.names for term in model.public_schema.terms}
    for item in model.public_schema.covariates:
        if isinstance(item, Numeric) and item.value_names == (item.name,):
            quarter = (item.bounds[1] - item.bounds[0]) / 4
            power = 10.0 ** np.floor(np.log10(quarter))
            step = float(power * max(k for k in (1, 2, 5) if k * power <= quarter))
            steps |= dict.fromkeys(names[item.name], step)
    return steps


def _step_label(name: str, step: float) -> str:
    short = name if len(name) <= 28 else f"{name[:27]}…"
    return _plain(short if step == 1.0 else f"{short} (per {step:g})")


def _dress(axes: "Axes", title: str, horizontal: str, vertical: str) -> None:
    axes.set_title(title, loc="left", fontsize="medium", fontweight="bold", color=INK, pad=18)
    axes.set_xlabel(horizontal)
    axes.set_ylabel(vertical)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.grid(axis="both", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)


def _caption(axes: "Axes", text: str) -> None:
    place: Any = axes.transAxes
    axes.text(0.0, 1.02, _plain(text), transform=place, fontsize="small", color="#666666")


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

"""`discreet predict`: predictions for new people, as a CSV file."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.output import csv_bytes, progress, say, wrapped
from discreet.documents.strict import require_free, write_new
from discreet.errors import ArtefactError, DataFormError, SettingsError

if TYPE_CHECKING:
    from discreet.design.schema import Schema
    from discreet.people.repairs import RepairReport
    from discreet.predictions import Predictions
    from discreet.results.prediction import Interval
    from discreet.types import Array


class Quantity(StrEnum):
    """What is predicted."""

    SURVIVAL = "survival"
    HAZARD = "hazard"
    CUMULATIVE_HAZARD = "cumulative-hazard"
    QUANTILE = "quantile"
    RMST = "rmst"
    RISK = "risk"


def predict(  # noqa: PLR0913 - one parameter an option
    model: options.ModelFile,
    data: Annotated[
        str,
        typer.Argument(
            help="New people: a file (.csv, .xlsx, .parquet, .dta, ...), or with --query a database."
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(help="The CSV file to write.")],
    times: Annotated[
        str,
        typer.Option(
            help="Times in the schema's unit, such as 30,180,365; of rmst up to when (the horizon)."
        ),
    ] = "",
    quantity: Annotated[
        Quantity, typer.Option(help=", ".join(Quantity) + ".", metavar="NAME")
    ] = Quantity.SURVIVAL,
    incidence: Annotated[
        str, typer.Option(help="With competing risks: the cause whose incidence is predicted.")
    ] = "",
    query: options.Select = None,
    probabilities: Annotated[str, typer.Option(help="Of quantiles, such as 0.25,0.5.")] = "0.5",
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals", help="Add 95 % limits, privacy noise included: _lower, _upper."
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Predict only if every value of every row fits the schema."),
    ] = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Predict for new people; one row a person, one column a time.

    Columns of the file that the model does not use, such as ids and names, come first. A column
    "repaired" says what did not fit the schema in a row: its prediction is for the repaired values.
    """
    from discreet.curves import GroupCurves  # noqa: PLC0415 - numpy and scipy
    from discreet.loading import load  # noqa: PLC0415
    from discreet.people.repairs import REPAIRED, repaired_rows  # noqa: PLC0415 - loads pyarrow
    from discreet.people.tables import held  # noqa: PLC0415

    require_free(out, overwrite=overwrite)
    found = load(model)
    if isinstance(found, GroupCurves):
        raise ArtefactError(f"'{model}': this file holds curves by group, not a model.")
    with progress("Predicting"):
        people = held(options.people(data, query))
        report = _repairs(found.schema_, people, strict=strict)
        wanted = _Wanted(quantity, _numbers("times", times), probabilities, intervals, incidence)
        columns = _predicted(found, people, wanted)
        number = len(next(iter(columns.values())))
        kept = _kept(found.schema_, people, number)
        written = {**kept, **columns, REPAIRED: repaired_rows(report)}
        rows = zip(*written.values(), strict=True)
        write_new(out, csv_bytes([list(written), *rows]), overwrite=overwrite)
    made = "1 prediction is" if number == 1 else f"{number:,} predictions are"
    say(f"{made} in '{out}'.")
    if report.repairs:
        say(wrapped(report.sentence()))


Columns = dict[str, list[float]]
"""A heading and one number a person."""


@dataclass(frozen=True)
class _Wanted:
    """What is predicted."""

    quantity: Quantity
    times: list[float]
    probabilities: str
    limits: bool
    cause: str


def _predicted(fitted: "Predictions", data: Any, wanted: _Wanted) -> Columns:
    quantity, limits = wanted.quantity, wanted.limits
    if wanted.cause:
        _require_times(wanted.times)
        if quantity is not Quantity.SURVIVAL:
            raise SettingsError(f"--incidence and --quantity {quantity} are two things: drop one.")
        headings = _headings(f"incidence_{wanted.cause}", wanted.times)
        found = fitted.predict_incidence(data, wanted.cause, wanted.times, interval=limits)
        return _columns(headings, found)
    if quantity is Quantity.RMST:
        return _means(fitted, data, wanted)
    if quantity in {Quantity.QUANTILE, Quantity.RISK}:
        _no_times(wanted.times, quantity)
    levels = _numbers("probabilities", wanted.probabilities)
    if quantity is Quantity.QUANTILE and not (limits and levels == [0.5]):
        _no_limits(limits)
        return _columns(_headings("quantile", levels), fitted.predict_quantile(data, levels))
    if quantity is Quantity.QUANTILE:
        return _columns(["quantile_0.5"], fitted.predict_median(data, interval=True))
    if quantity is Quantity.RISK:
        _no_limits(limits)
        return _columns(["risk"], fitted.predict_risk(data))
    return _at_times(fitted, data, wanted)


def _means(fitted: "Predictions", data: Any, wanted: _Wanted) -> Columns:
    """Restricted means up to each of the times, or to the horizon where none is given."""
    if not wanted.times:
        return _columns(["rmst"], fitted.predict_rmst(data, interval=wanted.limits))
    columns: Columns = {}
    for heading, until in zip(_headings("rmst", wanted.times), wanted.times, strict=True):
        columns |= _columns([heading], fitted.predict_rmst(data, until, interval=wanted.limits))
    return columns


def _at_times(fitted: "Predictions", data: Any, wanted: _Wanted) -> Columns:
    _require_times(wanted.times)
    headings = _headings(wanted.quantity.value.replace("-", "_"), wanted.times)
    if wanted.quantity is Quantity.SURVIVAL:
        found = fitted.predict_survival(data, wanted.times, interval=wanted.limits)
        return _columns(headings, found)
    _no_limits(wanted.limits)
    by_name = {
        Quantity.HAZARD: fitted.predict_hazard,
        Quantity.CUMULATIVE_HAZARD: fitted.predict_cumulative_hazard,
    }
    return _columns(headings, by_name[wanted.quantity](data, wanted.times))


def _columns(headings: list[str], found: "Array | Interval") -> Columns:
    """A column a heading; after each, its limits where there are any."""
    import numpy as np  # noqa: PLC0415 - help and errors come without it

    parts = {"": found}
    if not isinstance(found, np.ndarray):
        parts = {"": found.estimate, **_ends(found)}
    size = (-1, len(headings))
    tables = {end: np.asarray(part, dtype=np.float64).reshape(size) for end, part in parts.items()}
    return {
        heading + end: table[:, place].tolist()
        for place, heading in enumerate(headings)
        for end, table in tables.items()
    }


def _ends(found: "Interval") -> dict[str, "Array"]:
    if found.lower is None or found.upper is None:
        raise SettingsError("this model has no covariance, so there are no intervals.")
    return {"_lower": found.lower, "_upper": found.upper}


def _no_limits(limits: bool) -> None:  # noqa: FBT001 - a check of one flag
    if limits:
        raise SettingsError(
            "--intervals go with survival, incidence, rmst and the median (--probabilities 0.5)."
        )


def _no_times(times: list[float], quantity: Quantity) -> None:
    if times:
        raise SettingsError(f"--times say nothing of a {quantity}: leave them out.")


def _require_times(times: list[float]) -> None:
    if not times:
        raise SettingsError("say at which times, such as --times 30,180,365.")


def _repairs(schema: "Schema", data: Any, *, strict: bool) -> "RepairReport":
    """What does not fit the schema; a `DataFormError` where that is not wanted."""
    from discreet.people.repairs import count_covariate_repairs  # noqa: PLC0415 - loads pyarrow

    report = count_covariate_repairs(data, schema)
    if strict and report.repairs:
        listed = "; ".join(
            f"{item.column}: {item.count:,} {item.problem}" for item in report.repairs
        )
        raise DataFormError(f"values do not fit the schema, and --strict asks for it: {listed}.")
    return report


def _headings(quantity: str, points: Sequence[float]) -> list[str]:
    return [f"{quantity}_{point:.10g}" for point in points]


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise SettingsError(f"--{option} takes numbers with commas between them.") from None


def _kept(schema: "Schema", data: Any, count: int) -> dict[str, list[object]]:
    """Ids, names and notes of the file, by which a row is known; otherwise its number."""
    from discreet.people.tables import other_columns  # noqa: PLC0415 - loads pyarrow

    found = other_columns(data, schema) or {"row": list(range(1, count + 1))}
    return {
        name: ["" if value is None else value for value in values] for name, values in found.items()
    }

"""`discreet predict`: predictions for new people, as a CSV file."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.output import csv_bytes, progress, say, wrapped
from discreet.documents.strict import require_free, write_new
from discreet.errors import ArtefactError, DataFormError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.predictions import Predictions


class Quantity(StrEnum):
    """A quantity to predict."""

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
    from discreet.loading import load
    from discreet.people.repairs import (
        REPAIRED,
        count_covariate_repairs,
        repaired_rows,
    )
    from discreet.people.tables import held, other_columns
    from discreet.regression import SurvivalRegression

    require_free(out, overwrite=overwrite)
    found = load(model)
    if not isinstance(found, SurvivalRegression):
        raise ArtefactError(f"'{model}': this file holds curves by group, not a model.")
    with progress("Predicting"):
        people, schema = held(options.people(data, query)), found.schema_
        report = count_covariate_repairs(people, schema)
        if strict and report.repairs:
            listed = "; ".join(f"{r.column}: {r.count:,} {r.problem}" for r in report.repairs)
            raise DataFormError(
                f"values do not fit the schema, and --strict refuses them: {listed}."
            )
        numbers = "numbers with commas between them"
        points = options.numbers("times", times, numbers) if times.strip() else []
        levels = options.numbers("probabilities", probabilities, numbers)
        columns = _predicted(found, people, quantity, points, levels, incidence, limits=intervals)
        number = len(next(iter(columns.values())))
        # ids, names and notes of the file identify a row, otherwise its number does
        kept = other_columns(people, schema) or {"row": list(range(1, number + 1))}
        kept = {name: ["" if v is None else v for v in values] for name, values in kept.items()}
        written = {**kept, **columns, REPAIRED: repaired_rows(report)}
        rows = zip(*written.values(), strict=True)
        write_new(out, csv_bytes([list(written), *rows]), overwrite=overwrite)
    made = "1 prediction is" if number == 1 else f"{number:,} predictions are"
    say(f"{made} in '{out}'.")
    if report.repairs:
        say(wrapped(report.sentence()))


def _predicted(
    fitted: "Predictions",
    data: Any,
    quantity: Quantity,
    times: list[float],
    levels: list[float],
    cause: str,
    *,
    limits: bool,
) -> dict[str, list[float]]:
    """Return the columns of a quantity, each followed by its limits if they are asked for."""
    from discreet.results.prediction import prediction_columns

    quantile = quantity is Quantity.QUANTILE
    if cause and quantity is not Quantity.SURVIVAL:
        raise SettingsError(f"--incidence and --quantity {quantity} exclude each other: drop one.")
    if quantile or quantity is Quantity.RISK:
        if times:
            raise SettingsError(f"--times do not go with a {quantity}: leave them out.")
    elif quantity is not Quantity.RMST and not times:
        raise SettingsError("say at which times, such as --times 30,180,365.")
    median = quantile and levels == [0.5]
    if limits and not median and quantity not in {Quantity.SURVIVAL, Quantity.RMST}:
        raise SettingsError(
            "--intervals go with survival, incidence, rmst and the median (--probabilities 0.5)."
        )
    name = f"incidence_{cause}" if cause else quantity.value.replace("-", "_")
    headings = [f"{name}_{point:.10g}" for point in (levels if quantile else times)] or [name]
    if quantity is Quantity.RMST:  # up to each time, or to the horizon
        columns: dict[str, list[float]] = {}
        ends: list[float | None] = [*times] or [None]
        for heading, end in zip(headings, ends, strict=True):
            found = fitted.predict_rmst(data, end, interval=limits)
            columns |= prediction_columns([heading], found)
    else:
        asked: dict[Quantity, Callable[[], Any]] = {
            Quantity.SURVIVAL: lambda: fitted.predict_survival(data, times, interval=limits),
            Quantity.HAZARD: lambda: fitted.predict_hazard(data, times),
            Quantity.CUMULATIVE_HAZARD: lambda: fitted.predict_cumulative_hazard(data, times),
            Quantity.QUANTILE: lambda: fitted.predict_quantile(data, levels),
            Quantity.RISK: lambda: fitted.predict_risk(data),
        }
        if cause:
            found = fitted.predict_incidence(data, cause, times, interval=limits)
        elif limits and median:
            found = fitted.predict_median(data, interval=True)
        else:
            found = asked[quantity]()
        columns = prediction_columns(headings, found)
    if limits and f"{headings[0]}_lower" not in columns:
        raise SettingsError("this model has no covariance, so it gives no intervals.")
    return columns

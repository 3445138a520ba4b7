"""`discreet predict`: predictions for new people, as a CSV file."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.output import csv_bytes, progress, say, wrapped
from discreet.errors import ArtefactError, DataFormError, SettingsError
from discreet.models.strict import require_free, write_new

if TYPE_CHECKING:
    from discreet.fitted import FittedModel
    from discreet.models.causes import CausesModel


class Quantity(StrEnum):
    """What is predicted."""

    SURVIVAL = "survival"
    HAZARD = "hazard"
    CUMULATIVE_HAZARD = "cumulative-hazard"
    QUANTILE = "quantile"
    RISK = "risk"


def predict(  # noqa: PLR0913 - one parameter an option
    model: options.ModelFile,
    data: Annotated[
        Path, typer.Argument(help="New people: a file (.csv, .xlsx, .parquet, .dta, ...).")
    ],
    *,
    out: Annotated[Path, typer.Option(help="The CSV file to write.")],
    times: Annotated[str, typer.Option(help="Times, such as 30,180,365.")] = "",
    quantity: Annotated[
        Quantity, typer.Option(help=", ".join(Quantity) + ".", metavar="NAME")
    ] = Quantity.SURVIVAL,
    incidence: Annotated[
        str, typer.Option(help="With competing risks: the cause whose incidence is predicted.")
    ] = "",
    probabilities: Annotated[str, typer.Option(help="Of quantiles, such as 0.25,0.5.")] = "0.5",
    overwrite: options.Overwrite = False,
) -> None:
    """Predict for new people; one row a person, one column a time."""
    from discreet.fitted import FittedModel  # noqa: PLC0415 - numpy and scipy
    from discreet.models.causes import CausesModel  # noqa: PLC0415
    from discreet.models.curves_release import CurvesRelease, read_file  # noqa: PLC0415

    require_free(out, overwrite=overwrite)
    found = read_file(model)
    if isinstance(found, CausesModel):
        wanted = _numbers("times", times)
        _predict_causes(found, data, out, incidence, wanted, overwrite=overwrite)
        return
    if isinstance(found, CurvesRelease):
        raise ArtefactError(f"'{model}': this file holds curves by group, not a model.")
    if incidence:
        raise SettingsError("--incidence needs a model of competing risks; this one has one event.")
    fitted = FittedModel(found)
    with progress("Predicting"):
        headings, values = _predictions(
            fitted, data, quantity, _numbers("times", times), probabilities
        )
        identity, names = _identity(fitted, data, len(values))
        rows = ([name, *row] for name, row in zip(names, values, strict=True))
        write_new(out, csv_bytes([[identity, *headings], *rows]), overwrite=overwrite)
    made = "1 prediction is" if len(values) == 1 else f"{len(values):,} predictions are"
    say(f"{made} in '{out}'.")
    _tell_repairs(fitted, data)


def _predict_causes(
    model: "CausesModel", data: Path, out: Path, cause: str, times: list[float], *, overwrite: bool
) -> None:
    """Survival without any event, or the incidence of a cause with its interval."""
    import numpy as np  # noqa: PLC0415 - help and errors come without it

    from discreet.competing import incidence_interval, predict_survival  # noqa: PLC0415

    if not times:
        raise SettingsError("say at which times, such as --times 30,180,365.")
    shown = [f"{time:.10g}" for time in times]
    if cause:
        found = incidence_interval(model, data, cause, times)
        parts = {"": found.estimate, "_lower": found.lower, "_upper": found.upper}
        head = [f"incidence_{cause}_{time}{end}" for time in shown for end in parts]
        values = np.stack(list(parts.values()), axis=2).reshape(len(found.estimate), -1)
    else:
        head, values = [f"survival_{time}" for time in shown], predict_survival(model, data, times)
    rows = [[number, *row] for number, row in enumerate(values.tolist(), start=1)]
    write_new(out, csv_bytes([["row", *head], *rows]), overwrite=overwrite)
    say(f"{len(rows):,} predictions are in '{out}'.")


def _predictions(
    fitted: "FittedModel",
    data: Path,
    quantity: Quantity,
    times: list[float],
    probabilities: str,
) -> tuple[list[str], list[list[float]]]:
    """Headings and one list of numbers a person."""
    if quantity is Quantity.RISK:
        return ["risk"], [[value] for value in fitted.predict_risk(data).tolist()]
    if quantity is Quantity.QUANTILE:
        levels = _numbers("probabilities", probabilities)
        return _headings(quantity, levels), fitted.predict_quantile(data, levels).tolist()
    if not times:
        raise SettingsError("say at which times, such as --times 30,180,365.")
    by_name = {
        Quantity.SURVIVAL: fitted.predict_survival,
        Quantity.HAZARD: fitted.predict_hazard,
        Quantity.CUMULATIVE_HAZARD: fitted.predict_cumulative_hazard,
    }
    return _headings(quantity, times), by_name[quantity](data, times).tolist()


def _tell_repairs(fitted: "FittedModel", data: Path) -> None:
    """A person whose values were changed is told: the prediction is somebody else's."""
    from discreet.people.repairs import count_covariate_repairs  # noqa: PLC0415 - loads pyarrow

    report = count_covariate_repairs(data, fitted.model.public_schema)
    if report.repairs:
        say(wrapped(report.sentence()))


def _headings(quantity: Quantity, points: Sequence[float]) -> list[str]:
    return [f"{quantity.value.replace('-', '_')}_{point:.10g}" for point in points]


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise SettingsError(f"--{option} takes numbers with commas between them.") from None


def _identity(fitted: "FittedModel", data: Path, count: int) -> tuple[str, Iterator[object]]:
    """The person column where the file has it, otherwise the number of the row."""
    from discreet.people.columns import to_values  # noqa: PLC0415 - loads pyarrow
    from discreet.people.tables import read_file  # noqa: PLC0415

    person = fitted.model.public_schema.person
    if person is not None:
        try:
            table = read_file(data, (person,), ())
        except DataFormError:  # a table of new people need not have ids
            pass
        else:
            return person, ("" if item is None else item for item in to_values(table[person]))
    return "row", iter(range(1, count + 1))

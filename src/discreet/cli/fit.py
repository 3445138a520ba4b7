"""`discreet fit`: a model that says it is not private, or a private release."""

from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.charge import Terms, publishing
from discreet.cli.output import complain, progress, say, warnings_as_lines, wrapped
from discreet.cli.reproduce import load_mechanism
from discreet.errors import SettingsError

if TYPE_CHECKING:
    from discreet.mechanisms.contract import Mechanism
    from discreet.regression import SurvivalRegression

NONE = "none"
DEFAULT_MECHANISM = "newton"
NO_SEED = (
    "a release takes no seed: noise that can be repeated can be subtracted. To try a method on data "
    "that need no protection use ds.simulate(..., seed=...) in Python."
)


@publishing
def fit(  # noqa: PLR0913 - one parameter an option
    data: options.Data,
    *,
    schema: options.SchemaFile,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="'none' for a fit that is not private, or newton (the default), objective, output, "
            "sampler, selected."
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Privacy: the smaller, the stronger.", parser=options.number),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Of private Newton: 1e-6, or less if people are many, unless given; 0 for none."
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(help="A further setting of the mechanism.", metavar="NAME=VALUE"),
    ] = None,
    query: options.Select = None,
    accept_approximate: Annotated[
        bool, typer.Option("--accept-approximate", help="Publish an approximate draw.")
    ] = False,
    link: options.Link = options.DEFAULT_LINK,
    baseline: options.Baseline = "natural-spline:3",
    solver: Annotated[str, typer.Option(help="newton or bfgs, if not private.")] = "newton",
    ridge: Annotated[float | None, typer.Option(help="Lambda, the ridge on the mean loss.")] = None,
    information: Annotated[
        str, typer.Option(help="expected or observed: what standard errors come from.")
    ] = "expected",
    engine: Annotated[
        str, typer.Option(help="auto, or dask: on worker processes that send back sums only.")
    ] = "auto",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of an existing Dask cluster.")
    ] = None,
    seed: Annotated[str | None, options.refused("--seed", NO_SEED)] = None,  # noqa: ARG001
    terms: Terms,
) -> None:
    """Fit a model: privately with --epsilon, or not with --mechanism none."""
    if mechanism is None and epsilon is None:
        raise SettingsError(
            "say --mechanism none for a fit that is not private, or give --epsilon for one that is."
        )
    if mechanism == NONE and epsilon is not None:
        raise SettingsError("--mechanism none is not private and takes no --epsilon; drop one.")
    name = mechanism or DEFAULT_MECHANISM
    numbers = {"epsilon": epsilon, "delta": delta, "ridge": ridge}
    chosen = None if name == NONE else build_mechanism(name, numbers, setting or [])
    from discreet.people.source import People
    from discreet.regression import SurvivalRegression

    regression = SurvivalRegression(
        schema,
        link=link,
        baseline=baseline,
        solver=solver,  # type: ignore[arg-type]  # checked by the estimator
        ridge=0.0 if chosen is not None or ridge is None else ridge,
        information=information,  # type: ignore[arg-type]  # checked by the estimator
        engine=engine,  # type: ignore[arg-type]  # checked by the estimator
        scheduler=scheduler,
    )
    people = options.people(data, query)
    if chosen is None:
        if terms.federation is not None:
            raise SettingsError("a joint fit is private: give --epsilon, not --mechanism none.")
        if delta is not None or setting or terms.ledger or terms.no_ledger or terms.persons:
            raise SettingsError(
                "a fit with --mechanism none takes no privacy settings; remove them."
            )
        _fit(regression, people, terms.out, overwrite=terms.overwrite)
        return
    source = People.of(people, None, regression.engine, scheduler)
    charge = f"epsilon {epsilon:g} (mechanism {name})"
    terms.publish(regression, source, schema, chosen, charge, accept_approximate=accept_approximate)
    say(wrapped(f"'discreet summary {terms.out}' shows it and what it promises."))


def _fit(regression: "SurvivalRegression", data: Any, out: Path, *, overwrite: bool) -> None:
    """Fit and write a model that is marked as not private."""
    from discreet.documents.model import PlainModel

    with warnings_as_lines(), progress("Fitting"):
        regression.fit(data)
        regression.save(out, overwrite=overwrite)
    # a ridge that made the answer finite was warned of before
    if isinstance(regression.model_, PlainModel) and not regression.model_.fit.ridge:
        for note in regression.model_.fit.notes:
            complain(f"note: {note}")
    shown = f"'discreet summary {out}' shows it"
    say(wrapped(f"The model is in '{out}'. It is not private: {shown}."))


def build_mechanism(
    name: str, numbers: dict[str, float | None], settings: list[str]
) -> "Mechanism":
    """Return the mechanism of that name; raise `SettingsError` for a setting it does not have."""
    from discreet.mechanisms.contract import get_mechanism

    load_mechanism(name)
    kind: Any = get_mechanism(name)
    given: dict[str, Any] = {key: value for key, value in numbers.items() if value is not None}
    for item in settings:
        key, equals, value = item.partition("=")
        if not equals or key in given:
            raise SettingsError("--setting takes NAME=VALUE, each name once.")
        given[key] = {"true": True, "false": False, "none": None}.get(value.lower(), value)
        for read in (float, int):  # a whole number if it is one
            with suppress(ValueError):
                given[key] = read(value)
    known = [item.name for item in fields(kind)]
    unknown = next((key for key in given if key not in known), None)
    if unknown is not None:
        listed = ", ".join(known)
        raise SettingsError(f"the mechanism {name} has no setting '{unknown}'; it has {listed}.")
    mechanism: Mechanism = kind(**given)
    return mechanism

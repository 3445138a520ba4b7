"""`discreet fit`: a model that says it is not private, or a private release."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.check import show
from discreet.cli.output import at_terminal, complain, progress, say, warnings_as_lines, wrapped
from discreet.cli.reproduce import load_mechanism
from discreet.documents.strict import require_free
from discreet.errors import RefusedError, SettingsError

if TYPE_CHECKING:
    from discreet.checkup import Check
    from discreet.documents.model import Promised
    from discreet.joint import Federation
    from discreet.mechanisms.contract import Mechanism
    from discreet.people.source import People
    from discreet.regression import SurvivalRegression
    from discreet.release import Payer

NONE = "none"
DEFAULT_MECHANISM = "newton"
UNCHARGED = "no ledger"  # as a release prints it


def fit(  # noqa: PLR0913 - one parameter an option
    data: options.Data,
    *,
    schema: options.SchemaFile,
    out: Annotated[Path, typer.Option(help="The model or release to write, a .json file.")],
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
    persons: options.Persons = None,
    ledger: options.LedgerPlace = None,
    no_ledger: options.NoLedger = False,
    release_id: options.ReleaseName = None,
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
    federation: options.SitesFile = None,
    party: options.Party = None,
    wait: options.Wait = 600.0,
    accept: options.Accept = None,
    yes: options.Yes = False,
    overwrite: options.Overwrite = False,
    seed: options.NoSeed = None,  # noqa: ARG001 - its callback says what to write
) -> None:
    """Fit a model: privately with --epsilon, or not with --mechanism none."""
    require_json(out)
    require_free(out, overwrite=overwrite)
    name = _mechanism_name(mechanism, epsilon)
    numbers = {"epsilon": epsilon, "delta": delta, "ridge": ridge}
    chosen = None if name == NONE else build_mechanism(name, numbers, setting or [])
    from discreet.people.source import People  # noqa: PLC0415 - loads pyarrow
    from discreet.regression import SurvivalRegression  # noqa: PLC0415

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
        if federation is not None:
            raise SettingsError("a joint fit is private: give --epsilon, not --mechanism none.")
        if delta is not None or setting or ledger or no_ledger or persons:
            raise SettingsError(
                "a fit with --mechanism none takes no privacy settings; remove them."
            )
        _fit(regression, people, out, overwrite=overwrite)
        return
    from discreet.release import require_affordable  # noqa: PLC0415

    pays = payer(ledger, no_ledger=no_ledger)
    sites = joint_sites(federation, party, wait, release_id)
    source = People.of(people, None, regression.engine, scheduler)
    seen = Seen(source, schema, frozenset(accept or ()))
    if ledger is not None and (at_terminal() or seen.first(persons, federation, yes=yes)):
        require_affordable(chosen, ledger, persons=persons, release_id=release_id)
    if ledger is not None and at_terminal():
        seen.ask(f"epsilon {epsilon:g} (mechanism {name})", ledger, yes=yes)
    elif seen.first(persons, federation, yes=yes):
        seen.refuse()
    with warnings_as_lines(), progress("Fitting"):
        regression.publish(
            source,
            mechanism=chosen,
            ledger=pays,
            path=out,
            persons=persons,
            release_id=release_id,
            accept_approximate=accept_approximate,
            overwrite=overwrite,
            federation=sites,
        )
    conclude(regression.release_, out)
    say(wrapped(f"'discreet summary {out}' shows it and what it promises."))


def _fit(regression: "SurvivalRegression", data: Any, out: Path, *, overwrite: bool) -> None:
    """A model that says that it is not private."""
    from discreet.documents.model import PlainModel  # noqa: PLC0415 - numpy

    with warnings_as_lines(), progress("Fitting"):
        regression.fit(data)
        regression.save(out, overwrite=overwrite)
    # a ridge that made the answer finite was warned of before
    if isinstance(regression.model_, PlainModel) and not regression.model_.fit.ridge:
        for note in regression.model_.fit.notes:
            complain(f"note: {note}")
    shown = f"'discreet summary {out}' shows it"
    say(wrapped(f"The model is in '{out}'. It is not private: {shown}."))


@dataclass(frozen=True)
class Seen:
    """What a custodian sees of a file before a release is charged.

    Whether a file is refused depends on exact counts, so it is between program and custodian: the
    text is the same for every file, and ``--yes`` publishes whatever the records hold
    (`docs/threat-model.md`, "Whether a release is made at all").
    """

    source: "People"
    schema: Path
    accept: frozenset[str]

    def first(self, persons: int | None, federation: Path | None, *, yes: bool) -> bool:
        """Whether the file is looked at before the charge where there is no person to ask.

        Not with a declared number of persons, where the charge comes before the data are parsed,
        and not in a joint fit, where the other sites would learn of a refusal.
        """
        return not yes and persons is None and federation is None

    def check(self) -> "Check":
        """The file against its schema."""
        from discreet.checkup import check  # noqa: PLC0415 - loads pyarrow

        with progress("Checking"):
            return check(self.source, self.schema, accept=self.accept)

    def refuse(self) -> None:
        """`RefusedError` for a file that gives no useful model, or a wrong one."""
        found = self.check()
        if found.report.persons and found.obstacles:  # a file without rows is a matter of its form
            raise RefusedError(REFUSED)

    def ask(self, charge: str, ledger: str, *, yes: bool) -> None:
        """At a terminal, show what `check` finds and let a person decide, who may say --yes."""
        from discreet.release import Ledger  # noqa: PLC0415 - loads the mechanisms

        found = self.check()
        if yes:
            _warn(found)
            return
        show(found)
        hopeless = "This file would give no useful model, or a wrong one. " * bool(found.obstacles)
        anyway = " all the same" if found.obstacles else ""
        # the URL of a server may hold a password
        place = Ledger(ledger).name if "://" in ledger else f"'{ledger}'"
        question = f"{hopeless}Charge {charge} to {place} and publish{anyway}?"
        if not typer.confirm(question, default=not found.obstacles):
            say("Nothing was charged and nothing was released.")
            raise typer.Exit(1)


REFUSED = (
    "nothing was charged and nothing was released: this file would give no useful model, or a wrong "
    "one. 'discreet check' says why. Correct the file or its schema, accept what is right as it is "
    "with --accept NAME, or publish whatever the records hold with --yes."
)


def _warn(found: "Check") -> None:
    """Why the charge that follows will buy nothing."""
    if found.obstacles:
        complain("warning: --yes charges a file that gives no useful model, or a wrong one:")
    for item in found.obstacles:
        complain(f"- {item.text} ({item.name})")


def conclude(release: "Promised", out: Path, what: str = "release") -> None:
    """What was written, what it promises and what it was charged to; first its warnings."""
    guarantee = release.guarantee
    paid = "charged to no ledger" if release.ledger == UNCHARGED else "charged to the ledger"
    for text in release.warnings:
        complain(f"warning: {text}")
    say(
        wrapped(
            f"The {what} {release.release_id} {'are' if what == 'curves' else 'is'} in '{out}': "
            f"epsilon {guarantee.epsilon:g}, "
            f"delta {guarantee.delta:g}, {release.persons:,} persons, {paid}."
        )
    )


def require_json(out: Path) -> None:
    """`SettingsError` for a file that no later command would read as what it is."""
    if out.suffix.lower() != ".json":
        raise SettingsError(f"models and releases are JSON; name it '{out.with_suffix('.json')}'.")


def payer(ledger: str | None, *, no_ledger: bool) -> "Payer | str":
    """The ledger that was named, or none because that was said."""
    from discreet.release import NO_LEDGER  # noqa: PLC0415 - loads the mechanisms

    if (ledger is None) != no_ledger:
        raise SettingsError(
            "say which budget pays for the release, with --ledger ('discreet budget init' makes "
            "one), or --no-ledger to publish without a budget: one of the two."
        )
    return NO_LEDGER if ledger is None else ledger


def joint_sites(
    sites: Path | None, party: int | None, wait: float, release_id: str | None
) -> "Federation | None":
    """The sites of a joint fit; a fit at one place has none."""
    if sites is None:
        if party is not None:
            raise SettingsError("--party belongs to a joint fit; name its sites with --federation.")
        return None
    from discreet.joint import Federation  # noqa: PLC0415 - only joint fits need it

    return Federation.read(sites, party, wait, release_id)


def _mechanism_name(mechanism: str | None, epsilon: float | None) -> str:
    if mechanism is None and epsilon is None:
        raise SettingsError(
            "say --mechanism none for a fit that is not private, or give --epsilon for one that is."
        )
    if mechanism == NONE and epsilon is not None:
        raise SettingsError("--mechanism none is not private and takes no --epsilon; drop one.")
    return mechanism or DEFAULT_MECHANISM


def build_mechanism(
    name: str, numbers: dict[str, float | None], settings: list[str]
) -> "Mechanism":
    """The mechanism of that name; a setting it does not have is an error."""
    from discreet.mechanisms import get_mechanism  # noqa: PLC0415 - loads the mechanisms

    load_mechanism(name)
    kind: Any = get_mechanism(name)
    given: dict[str, Any] = {key: value for key, value in numbers.items() if value is not None}
    for item in settings:
        key, equals, value = item.partition("=")
        if not equals or key in given:
            raise SettingsError("--setting takes NAME=VALUE, each name once.")
        given[key] = _value(value)
    known = [item.name for item in fields(kind)]
    unknown = next((key for key in given if key not in known), None)
    if unknown is not None:
        listed = ", ".join(known)
        raise SettingsError(f"the mechanism {name} has no setting '{unknown}'; it has {listed}.")
    mechanism: Mechanism = kind(**given)
    return mechanism


def _value(text: str) -> object:
    """true, false, none, a whole number, a number, or else a text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text

"""The options of a release that `fit` and `curves` share, and the question before its charge."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.check import show
from discreet.cli.output import at_terminal, complain, progress, say, warnings_as_lines, wrapped
from discreet.documents.strict import require_free
from discreet.errors import RefusedError, SettingsError

if TYPE_CHECKING:
    from discreet.base import Estimator
    from discreet.mechanisms.contract import Mechanism
    from discreet.mechanisms.group_counts import GroupCounts
    from discreet.people.source import People

REFUSED = (
    "nothing was charged and nothing was released: this file would give no useful model, or a wrong "
    "one. 'discreet check' says why. Correct the file or its schema, accept what is right as it is "
    "with --accept NAME, or publish whatever the records hold with --yes."
)


@dataclass(frozen=True)
class Terms:
    """The options of a release, whatever is released.

    Whether a file is refused depends on exact counts, so it is between program and custodian: the
    text is the same for every file, and ``--yes`` publishes whatever the records hold
    (`docs/threat-model.md`, "Whether a release is made at all").
    """

    out: Annotated[Path, typer.Option(help="The model, release or curves to write, a .json file.")]
    persons: Annotated[
        int | None,
        typer.Option(
            help="Number of persons (public): plan and charge before reading.", parser=options.whole
        ),
    ] = None
    ledger: Annotated[
        str | None, typer.Option(help="The budget to charge: a path or postgresql:// URL.")
    ] = None
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Publish without a budget: nothing adds it up.")
    ] = False
    release_id: Annotated[str | None, typer.Option(help="Name of the release.")] = None
    federation: Annotated[
        Path | None,
        typer.Option(help="The sites that make one release together, a sites.toml; see --party."),
    ] = None
    party: Annotated[int | None, typer.Option(help="Which of the sites this is, from 0.")] = None
    wait: Annotated[float, typer.Option(help="Seconds to wait for the other sites.")] = 600.0
    accept: options.Accept = None
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Publish whatever the records hold: no question is asked and no file refused.",
        ),
    ] = False
    overwrite: options.Overwrite = False

    def require_writable(self) -> None:
        """Raise `SettingsError` unless `out` is a name of JSON that may be written."""
        out = self.out
        if out.suffix.lower() != ".json":
            raise SettingsError(
                f"models and releases are JSON; name it '{out.with_suffix('.json')}'."
            )
        require_free(out, overwrite=self.overwrite)

    def publish(
        self,
        model: "Estimator",
        source: "People",
        schema: Path,
        mechanism: "Mechanism | GroupCounts",
        charge: str,
        **more: Any,
    ) -> None:
        """Publish once a person agreed; print warnings, the file, the promise, who paid."""
        if (self.ledger is None) != self.no_ledger:
            raise SettingsError(
                "say which budget pays for the release, with --ledger ('discreet budget init' makes "
                "one), or --no-ledger to publish without a budget: one of the two."
            )
        if self.federation is None and self.party is not None:
            raise SettingsError("--party belongs to a joint fit; name its sites with --federation.")
        from discreet.mechanisms.group_counts import GroupCounts
        from discreet.release import NO_LEDGER, UNCHARGED

        sites = None
        if self.federation is not None:
            from discreet.joint import Federation

            sites = Federation.read(self.federation, self.party, self.wait, self.release_id)
        self._agree(source, schema, mechanism, charge)
        curves = isinstance(mechanism, GroupCounts)
        with warnings_as_lines(), progress("Counting" if curves else "Fitting"):
            model.publish(
                source,
                mechanism=mechanism,
                ledger=NO_LEDGER if self.ledger is None else self.ledger,
                path=self.out,
                persons=self.persons,
                release_id=self.release_id,
                overwrite=self.overwrite,
                federation=sites,
                **more,
            )
        release = model.release_
        guarantee = release.guarantee
        for text in release.warnings:
            complain(f"warning: {text}")
        paid = "no ledger" if release.ledger == UNCHARGED else "the ledger"
        what = "curves" if curves else "release"
        say(
            wrapped(
                f"The {what} {release.release_id} {'are' if curves else 'is'} in '{self.out}': "
                f"epsilon {guarantee.epsilon:g}, delta {guarantee.delta:g}, "
                f"{release.persons:,} persons, charged to {paid}."
            )
        )

    def _agree(
        self, source: "People", schema: Path, mechanism: "Mechanism | GroupCounts", charge: str
    ) -> None:
        """Compare the file with its schema before the charge; at a terminal let a person decide.

        Elsewhere a file that gives no useful model, or a wrong one, is refused.  Nothing is compared
        with a declared number of persons, where the charge comes before the data are parsed, nor in
        a joint fit, where the other sites would learn of a refusal: a person is then asked without
        it.  With ``--yes`` the comparison is only shown, at a terminal.
        """
        asks = self.ledger is not None and at_terminal()
        unread = self.persons is not None or self.federation is not None
        if (not asks and (self.yes or unread)) or (self.yes and unread):
            return
        from discreet.checkup import check
        from discreet.privacy.guarantee import require_small_delta
        from discreet.release import require_affordable

        if self.ledger is not None:
            require_affordable(
                mechanism, self.ledger, persons=self.persons, release_id=self.release_id
            )
        found = None
        if not unread:
            with progress("Checking"):
                found = check(source, schema, accept=frozenset(self.accept or ()))
        persons = self.persons if found is None else found.report.persons
        if persons:
            require_small_delta(mechanism.promise(persons).delta, persons)
        if found is None:
            self._ask(charge)
            return
        if not asks:
            if found.report.persons and found.obstacles:  # a file without rows is an error of form
                raise RefusedError(REFUSED)
            return
        if self.yes:
            if found.obstacles:
                complain(
                    "warning: --yes charges a file that gives no useful model, or a wrong one:"
                )
            for item in found.obstacles:
                complain(f"- {item.text} ({item.name})")
            return
        show(found)
        self._ask(charge, hopeless=bool(found.obstacles))

    def _ask(self, charge: str, *, hopeless: bool = False) -> None:
        """End the command unless a person agrees to the charge."""
        question = f"Charge {charge} to {{}} and publish?"
        if hopeless:
            wrong = "This file would give no useful model, or a wrong one."
            question = f"{wrong} Charge {charge} to {{}} and publish all the same?"
        from discreet.release import Ledger

        # the URL of a server may hold a password
        ledger = str(self.ledger)
        place = Ledger(ledger).name if "://" in ledger else f"'{ledger}'"
        if not typer.confirm(question.format(place), default=not hopeless):
            say("Nothing was charged and nothing was released.")
            raise typer.Exit(1)


def publishing(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Terms`, which reach it as one argument, ``terms``."""
    shared = {
        name: item.replace(kind=Parameter.KEYWORD_ONLY)
        for name, item in signature(Terms).parameters.items()
    }

    @wraps(command)
    def run(**given: Any) -> None:
        terms = Terms(**{name: given.pop(name) for name in shared})
        terms.require_writable()
        command(**given, terms=terms)

    own = [item for name, item in signature(command).parameters.items() if name != "terms"]
    run.__signature__ = signature(command).replace(parameters=[*own, *shared.values()])  # type: ignore[attr-defined]
    run.__annotations__ = {item.name: item.annotation for item in (*own, *shared.values())}
    return run

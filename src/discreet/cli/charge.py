"""The terms of a release that `fit` and `curves` share, and the question before its charge."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.check import show
from discreet.cli.output import at_terminal, complain, progress, say, wrapped
from discreet.documents.strict import require_free
from discreet.errors import RefusedError, SettingsError

if TYPE_CHECKING:
    from discreet.documents.model import Promised
    from discreet.people.source import People
    from discreet.release import Promising

REFUSED = (
    "nothing was charged and nothing was released: this file would give no useful model, or a wrong "
    "one. 'discreet check' says why. Correct the file or its schema, accept what is right as it is "
    "with --accept NAME, or publish whatever the records hold with --yes."
)
UNCHARGED = "no ledger"  # as a release prints it


def require_writable(out: Path, *, overwrite: bool) -> None:
    """Raise `SettingsError` unless `out` is a name of JSON that may be written."""
    if out.suffix.lower() != ".json":
        raise SettingsError(f"models and releases are JSON; name it '{out.with_suffix('.json')}'.")
    require_free(out, overwrite=overwrite)


@dataclass(frozen=True)
class Terms:
    """The options of a release, whatever is released.

    Whether a file is refused depends on exact counts, so it is between program and custodian: the
    text is the same for every file, and ``--yes`` publishes whatever the records hold
    (`docs/threat-model.md`, "Whether a release is made at all").
    """

    out: Path
    ledger: str | None
    no_ledger: bool
    persons: int | None
    release_id: str | None
    federation: Path | None
    party: int | None
    wait: float
    accept: list[str] | None
    yes: bool
    overwrite: bool

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `publish`."""
        if (self.ledger is None) != self.no_ledger:
            raise SettingsError(
                "say which budget pays for the release, with --ledger ('discreet budget init' makes "
                "one), or --no-ledger to publish without a budget: one of the two."
            )
        if self.federation is None and self.party is not None:
            raise SettingsError("--party belongs to a joint fit; name its sites with --federation.")
        from discreet.release import NO_LEDGER

        sites = None
        if self.federation is not None:
            from discreet.joint import Federation

            sites = Federation.read(self.federation, self.party, self.wait, self.release_id)
        return {
            "ledger": NO_LEDGER if self.ledger is None else self.ledger,
            "path": self.out,
            "persons": self.persons,
            "release_id": self.release_id,
            "overwrite": self.overwrite,
            "federation": sites,
        }

    def agree(self, source: "People", schema: Path, mechanism: "Promising", charge: str) -> None:
        """Compare the file with its schema before the charge; at a terminal let a person decide.

        Elsewhere a file that gives no useful model, or a wrong one, is refused.  Nothing is compared
        with a declared number of persons, where the charge comes before the data are parsed, nor in
        a joint fit, where the other sites would learn of a refusal, nor with ``--yes``.
        """
        from discreet.checkup import check
        from discreet.release import Ledger, require_affordable

        asks = self.ledger is not None and at_terminal()
        compares = not self.yes and self.persons is None and self.federation is None
        if not asks and not compares:
            return
        if self.ledger is not None:
            require_affordable(
                mechanism, self.ledger, persons=self.persons, release_id=self.release_id
            )
        with progress("Checking"):
            found = check(source, schema, accept=frozenset(self.accept or ()))
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
        question = f"Charge {charge} to {{}} and publish?"
        if found.obstacles:
            hopeless = "This file would give no useful model, or a wrong one."
            question = f"{hopeless} Charge {charge} to {{}} and publish all the same?"
        # the URL of a server may hold a password
        ledger = str(self.ledger)
        place = Ledger(ledger).name if "://" in ledger else f"'{ledger}'"
        if not typer.confirm(question.format(place), default=not found.obstacles):
            say("Nothing was charged and nothing was released.")
            raise typer.Exit(1)


def conclude(release: "Promised", out: Path, what: str = "release") -> None:
    """Print the release's warnings, its file, its promise and whether it was charged."""
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

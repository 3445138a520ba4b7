"""The commands, one file each; what they need is imported when they run."""

import re
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from discreet.cli import (
    audit,
    check,
    curves,
    demo,
    export,
    fit,
    new,
    page,
    plan,
    predict,
    reproduce,
    summary,
)
from discreet.cli.budget import budget_app
from discreet.cli.federation import federation_app
from discreet.text import without_addresses
from discreet.version import __version__

ELSEWHERE = {
    "--n": "The number of persons is --persons",
    "--group": "'discreet curves' takes the column of the groups as --by",
    "--formula": "Time, event and covariates are in the schema, which 'discreet new DATA' drafts",
}
"""Options of other programs, and what stands in their place here."""


class Commands(TyperGroup):
    """All commands; what is said of a wrong word repeats no address, which may hold a password."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the words name."""
        # after an address words without an option may be the rest of a password with a blank
        rests, address = [], False
        for word in (*getattr(ctx, "_protected_args", ()), *ctx.args):
            begins = "://" in word or without_addresses(word) != word
            address = begins or (address and not word.startswith("--"))
            if address and not begins:
                rests.append(word)
        try:
            return super().invoke(ctx)
        except Exception as error:
            known = ELSEWHERE.get(getattr(error, "option_name", ""))
            if known is not None:
                error.message += f". {known}."  # type: ignore[attr-defined]
                error.possibilities = None  # type: ignore[attr-defined]
            if hasattr(error, "format_message"):  # of click, or of the copy that typer has of it
                message = without_addresses(error.message)  # type: ignore[attr-defined]
                for word in rests:
                    message = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "...", message)
                error.message = message  # type: ignore[attr-defined]
            raise


app = typer.Typer(
    name="discreet",
    cls=Commands,
    help="Survival regression that can be published: fit on sensitive records, release the model.",
    epilog="See it work with discreet demo. Begin with discreet new DATA > schema.toml, then discreet check DATA --schema schema.toml.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:  # noqa: FBT001 - typer calls it
    if asked:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def common(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Survival regression that can be published."""


for command in (
    new.new, check.check, plan.plan, fit.fit, curves.curves, summary.summary, predict.predict,
    page.page, export.export, page.report, audit.audit, demo.demo, reproduce.reproduce,
):  # fmt: skip
    app.command(command.__name__)(command)
app.add_typer(budget_app)
app.add_typer(federation_app)

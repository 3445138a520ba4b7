"""The commands, one file each; what they need is imported when they run."""

from typing import Annotated

import typer

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
    report,
    reproduce,
    summary,
)
from discreet.cli.budget import budget_app
from discreet.cli.federation import federation_app
from discreet.version import __version__

app = typer.Typer(
    name="discreet",
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


app.command("new")(new.new)
app.command("check")(check.check)
app.command("plan")(plan.plan)
app.command("fit")(fit.fit)
app.command("curves")(curves.curves)
app.command("summary")(summary.summary)
app.command("predict")(predict.predict)
app.command("page")(page.page)
app.command("export")(export.export)
app.command("report")(report.report)
app.command("audit")(audit.audit)
app.command("demo")(demo.demo)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(budget_app)
app.add_typer(federation_app)

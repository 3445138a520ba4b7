"""`discreet federation`: keys and certificates for sites that fit together."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import say, wrapped

federation_app = typer.Typer(
    name="federation",
    help="Several registries, one model: the sites, their keys and their certificates.",
    no_args_is_help=True,
)

Days = Annotated[int, typer.Option(help="How long the certificates are valid.")]


@federation_app.command("init")
def initialise(
    sites: Annotated[str, typer.Option(help="host:port of each site, with commas.")],
    out: Annotated[Path, typer.Option(help="A folder to make.")],
    colluding: Annotated[
        int | None,
        typer.Option(help="How many sites may collude; unless given, all below half of them."),
    ] = None,
    certificate: Annotated[
        list[Path] | None,
        typer.Option(help="Certificates that the sites made themselves, once for each in order."),
    ] = None,
    days: Days = 730,
) -> None:
    """Write sites.toml for all sites, and a folder with key and certificate for each."""
    from discreet.federation.certificates import write_sites

    listed = write_sites(out, sites.split(","), colluding, days, certificate or [])
    if certificate:
        say(wrapped(f"The sites are in '{listed}': give it to every site."))
        return
    say(
        wrapped(
            f"The sites are in '{listed}': give it to every site, and to site K the folder site-K "
            "beside it, over a safe channel. Then delete the keys here: who has a key can pose as "
            "that site."
        )
    )


@federation_app.command("key")
def key(
    host: Annotated[str, typer.Option(help="The name or address by which others reach this site.")],
    party: Annotated[int, typer.Option(help="The number of this site, from 0.")],
    out: Annotated[Path, typer.Option(help="A folder to make: site-K, beside sites.toml.")],
    days: Days = 730,
) -> None:
    """Make a key and a certificate at the site itself, so that the key never leaves it."""
    from discreet.federation.certificates import write_pair

    write_pair(out, party, host, days)
    shown = out / "certificate.pem"
    say(wrapped(f"Send '{shown}' to who writes sites.toml; 'key.pem' beside it stays here."))

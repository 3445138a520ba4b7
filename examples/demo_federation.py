"""Three hospitals, one model, no pooled records: a joint release from beginning to end.

    python examples/demo_federation.py [--out FOLDER]

Three processes on this machine play the hospitals; each has its own patients, its own budget and its
own key, and they talk over the loopback device as they would over a network.  The patients are those
of `discreet demo`, who do not exist, so the table at the end can show the truth.
"""

import argparse
import csv
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from discreet.cli import demonstration as demo
from discreet.cli.demonstration import EFFECTS, EPSILON, PEOPLE, SCHEMA, console, simulate

HOSPITALS = 3


def main() -> None:
    """Simulate, make keys, set budgets, fit together, show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo-federation"), help="folder to write")
    folder = parser.parse_args().out
    if folder.exists():  # these people are made up again, and so are their budgets
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    console.rule(f"{HOSPITALS} hospitals with {PEOPLE:,} patients who do not exist")
    write_parts(folder)
    addresses = ",".join(f"127.0.0.1:{port}" for port in free_ports())
    demo.run(folder, f"federation init --sites {addresses} --out sites")
    for site in range(HOSPITALS):
        demo.run(folder, f"budget init budget-{site}.db --population 'hospital {site}' --epsilon 4 --delta 1e-6")  # fmt: skip
    fit_together(folder)
    demo.run(folder, "page release-0.json --out page.html")
    console.rule("What the simulation put in, and what came out")
    show(folder)


def write_parts(folder: Path) -> None:
    """Every patient is at one hospital."""
    (folder / "schema.toml").write_text(SCHEMA)
    rows = list(simulate())
    for site in range(HOSPITALS):
        with (folder / f"hospital-{site}.csv").open("w", newline="") as file:
            heading = ("id", "days", "died", "age", "sex", "stage")
            csv.writer(file).writerows([heading, *rows[site::HOSPITALS]])


def free_ports() -> list[int]:
    """Ports of the loopback device that nobody uses."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(HOSPITALS)]
    ports = [int(item.getsockname()[1]) for item in held]
    for item in held:
        item.close()
    return ports


def fit_together(folder: Path) -> None:
    """The same command at every hospital, at the same time."""
    program = str(Path(sys.executable).with_name("discreet"))
    running = []
    for command in commands():
        console.print(f"[bold]$ discreet {command}[/bold]")
        running.append(subprocess.Popen([program, *shlex.split(command)], cwd=folder))
    statuses = [process.wait() for process in running]
    if any(statuses):
        sys.exit("a hospital failed; the others stopped with it.")


def commands() -> Iterator[str]:
    """What each hospital types."""
    for site in range(HOSPITALS):
        yield (
            f"fit hospital-{site}.csv --schema schema.toml --link cloglog --epsilon {EPSILON} "
            f"--ledger budget-{site}.db --federation sites/sites.toml --party {site} "
            f"--out release-{site}.json --yes"
        )


def show(folder: Path) -> None:
    """Hazard ratios beside the truth, and where the files are."""
    release = demo.ds.load(folder / "release-0.json")
    columns = release.summary().columns()
    size = len(columns["coefficient"]) - len(EFFECTS)
    for position, (name, truth) in enumerate(EFFECTS.items(), start=size):
        ends = [columns[key][position] for key in ("lower", "coefficient", "upper")]
        console.print(f"{name:12}{demo.bar(ends, truth, 0.9, 5.0)}")
    console.print("├● joint private fit, 95 % ┤    ◆ truth\n")
    console.print("The three release files differ in the line of their ledgers alone.")
    console.print(f"The release, to publish:     [bold]{folder / 'release-0.json'}[/bold]")
    console.print(f"Its page, for any browser:   [bold]{folder / 'page.html'}[/bold]")


if __name__ == "__main__":
    main()

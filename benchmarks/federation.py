"""What a joint fit costs: seconds and bytes of 3 and 5 sites, beside one process with all people.

    python benchmarks/federation.py [--fresh]

Every site is a process of this machine that talks over the loopback device.  Each process first fits
once by itself, so that nothing is compiled or loaded during the measurement; then the sites connect,
agree and draw, and each measures its own wall and processor time.  Noise is that of a real release;
nothing is charged.  On a machine with fewer cores than sites, the sites share the cores: processor
time says what one site needs.  It resumes; `--fresh` begins again.
"""

import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from cohort import simulate
from pyarrow import parquet
from results_file import Key, Results

from discreet import NO_LEDGER, Federation, PrivateNewton, SurvivalRegression
from discreet.federation import mesh as meshes
from discreet.federation.certificates import write_sites

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = Path(__file__).parent / "results" / "federation.csv"
PAGE = Path(__file__).parents[1] / "docs" / "federation.md"
BEGIN, END = "<!-- measured: benchmarks/federation.py -->", "<!-- end -->"
PEOPLE, COVARIATES, INTERVALS, ROUNDS = 30_000, 8, 200, 3
SITES = (3, 5)
MEASURES = {"seconds": "s", "processor seconds": "s", "bytes": "bytes", "messages": "messages"}


def main() -> None:
    """Measure what is missing, then print what a joint fit adds."""
    results = Results(FILE, fresh="--fresh" in sys.argv)
    for number in range(ROUNDS):
        for contender in ("pooled", *(f"{sites} sites" for sites in SITES)):
            run = lru_cache(maxsize=1)(lambda contender=contender: measured(contender))
            for measure, unit in MEASURES.items():
                if contender == "pooled" and unit != "s":
                    continue
                take: Callable[[], object] = lambda run=run, measure=measure: run()[measure]  # noqa: E731
                results.measure(Key(measure, contender, number), unit, take)
    content = PAGE.read_text()
    before, after = content.split(BEGIN)[0], content.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}")


def table(results: Results) -> str:
    """The rows of the page: medians over the rounds."""
    lines = [
        "| | seconds, the slowest site | processor seconds per site | bytes sent per site | messages |",
        "|---|---|---|---|---|",
    ]
    for who in ("pooled", *(f"{sites} sites" for sites in SITES)):
        found = [results.numbers(measure, who) for measure in MEASURES]
        middle = [statistics.median(item) if item else None for item in found]
        shown = ["-" if item is None else f"{item:,.0f}" for item in middle[2:]]
        lines.append(f"| {who} | {middle[0]:.1f} | {middle[1]:.1f} | {' | '.join(shown)} |")
    return "\n".join(lines)


def measured(contender: str) -> dict[str, float]:
    """One round: the slowest site's wall time, a site's mean of the rest."""
    sites = 1 if contender == "pooled" else int(contender.split(maxsplit=1)[0])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = simulate(PEOPLE, COVARIATES).table()
        for site in range(sites):
            rows = range(site, PEOPLE, sites)
            parquet.write_table(table.take(list(rows)), folder / f"part{site}.parquet")
        if sites > 1:
            write_sites(folder / "sites", [f"127.0.0.1:{port}" for port in free_ports(sites)])
        command = [sys.executable, __file__, "--site", name]
        running = [
            subprocess.Popen([*command, str(site), str(sites)], stdout=subprocess.PIPE)
            for site in range(sites)
        ]
        found = [json.loads(process.communicate()[0]) for process in running]
    return {
        "seconds": max(item["seconds"] for item in found),
        **{name: statistics.mean(item[name] for item in found) for name in list(MEASURES)[1:]},
    }


def site(folder: Path, party: int, sites: int) -> None:
    """One process: fit alone to warm up, then measure; prints a JSON object."""
    schema = simulate(10, COVARIATES).schema(INTERVALS)
    data, model = folder / f"part{party}.parquet", SurvivalRegression(schema, link="logit")
    mechanism = PrivateNewton(epsilon=1.0, delta=1e-6)
    model.publish(data, mechanism=mechanism, ledger=NO_LEDGER)
    federation, sent = None, []
    if sites > 1:
        federation = Federation.read(folder / "sites" / "sites.toml", party)
        sent = watch_bytes()
        with federation.connect() as mesh:  # all are warm: nobody waits for another's compiler
            mesh.exchange(b"warm")  # nobody calls again before everybody is here
        sent.clear()
    begun, worked = time.perf_counter(), time.process_time()
    model.publish(data, mechanism=mechanism, ledger=NO_LEDGER, federation=federation)
    found = {
        "seconds": time.perf_counter() - begun,
        "processor seconds": time.process_time() - worked,
        "bytes": sum(sent),
        "messages": len(sent),
    }
    print(json.dumps(found))


def watch_bytes() -> list[int]:
    """Sizes of all messages that this process sends from now on."""
    sent: list[int] = []
    send = meshes.Connection.send

    def noted(self: meshes.Connection, label: int, payload: bytes) -> None:
        sent.append(12 + len(payload))
        send(self, label, payload)

    meshes.Connection.send = noted  # type: ignore[method-assign]
    return sent


def free_ports(number: int) -> list[int]:
    """Ports of the loopback device that nobody uses."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [int(item.getsockname()[1]) for item in held]
    for item in held:
        item.close()
    return ports


if __name__ == "__main__":
    if "--site" in sys.argv:
        site(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()

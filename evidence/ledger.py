# ruff: noqa: INP001  # a script, no package
"""The ledger under load and faults, at full counts; writes results/ledger.csv row by row.

A run continues where an earlier one stopped, and `--fresh` starts over.  `--report` writes
docs/reliability.md from the results file.  PostgreSQL is started (and, as root on Debian,
installed) for the run.  The last column says whether the row came out as it must.
"""

import argparse
import json
import os
import platform
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.ledger import ledger_faults, ledger_load, ledger_server_faults  # noqa: E402
from tests.ledger.ledger_faults import Scene  # noqa: E402
from tests.ledger.ledger_scenes import RECOVERS, NotPossibleHereError, Outcome  # noqa: E402
from tests.ledger.ledger_server import PostgresServer  # noqa: E402
from tests.ledger.ledger_server_faults import ServerScene  # noqa: E402

from discreet.ledger import Ledger, ReleaseRequest  # noqa: E402
from discreet.points import ReleasePoint  # noqa: E402

from evidence.ledger_report import COLUMNS, RESULTS, write_report  # noqa: E402  # isort: skip

PROCESSES = 16
BUDGET = "4"
DELTA = "1e-6"
LOCKED_SECONDS = 30.0

Rows = Iterator[tuple[str, object, bool]]
"""Measure, value, and whether it is as it must be."""


@dataclass(frozen=True)
class Setting:
    """How many processes reserve, beside how many busy ones."""

    name: str
    processes: int
    reserves: int = 800
    busy: int = 0


SETTINGS = (
    Setting("1 process", 1),
    Setting("16 processes", PROCESSES),
    Setting("16 processes beside 20 busy ones", PROCESSES, 320, 20),
)


class Stage:
    """The two backends, each with what a run needs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server: PostgresServer | None = None

    @property
    def server(self) -> PostgresServer:
        """A server of our own, started on first use."""
        if self._server is None:
            self._server = PostgresServer()
            self._server.start()
        return self._server

    def new_folder(self) -> Path:
        """An empty folder."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    def new_ledger(self, backend: str, folder: Path, epsilon: str) -> str:
        """The location of a fresh ledger."""
        location = str(folder / "registry.ledger")
        if backend == "postgres":
            self.server.forget_ledgers()
            location = self.server.url("postgres")
        Ledger(location).initialise("load", epsilon, DELTA)
        return location

    def stop(self) -> None:
        """Stop the server, if one was started."""
        if self._server is not None:
            self._server.stop()


@dataclass(frozen=True)
class Size:
    """How large a load is: requests, the share that is killed, blind kills, portions."""

    requests: int
    kill_share: float
    blind_kills: int
    portions: int
    least_kills: int


FULL = Size(10_000, 0.11, 60, 8, 500)
REDUCED = Size(300, 0.6, 10, 2, 150)


def load(stage: Stage, backend: str, size: Size) -> Rows:
    """Sixteen processes that call `release.publish`, killed at every named point."""
    folder = stage.new_folder()
    location = stage.new_ledger(backend, folder, BUDGET)
    kills = (size.kill_share, size.blind_kills, 6, size.portions)
    found = _harness(
        ledger_load.Load(location, str(folder), PROCESSES, size.requests, *kills), folder
    )
    yield "drove", "`release.publish`", True
    yield "processes", PROCESSES, PROCESSES >= 16
    yield "requests", found["requests"], found["requests"] >= size.requests
    yield "SIGKILLs", found["sigkills"], found["sigkills"] >= size.least_kills
    for name in ("attempts", "admitted", "refused", "releases"):
        unspent = name == "refused" and size is REDUCED  # its requests do not use the budget up
        yield name, found[name], found[name] > 0 or unspent
    for name in ledger_load.MUST_BE_ZERO:
        yield name, found[name], found[name] == 0
    yield "problems found by verify", len(found["problems"]), not found["problems"]
    for point in ReleasePoint:
        yield f"reached {point}", found["reached"][point], found["reached"][point] > 0
        yield f"killed at {point}", found["killed"][point], found["killed"][point] > 0
    yield "seconds", round(found["seconds"]), True


def _harness(settings: ledger_load.Load, folder: Path) -> dict[str, object]:
    path = folder / "settings.json"
    path.write_text(json.dumps(asdict(settings)))
    done = subprocess.run(  # noqa: S603  # our own interpreter and script
        [sys.executable, ledger_load.__file__, str(path)],
        check=True,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={
            **os.environ,
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        },
    )
    return json.loads(done.stdout)


def throughput(stage: Stage, backend: str, setting: Setting) -> Rows:
    """Durable reserves: fresh processes, one ledger, no kills."""
    folder = stage.new_folder()
    location = stage.new_ledger(backend, folder, "100")
    Ledger(location).show()
    requests = [ledger_load.request_of(number) for number in range(setting.reserves)]
    with busy(setting.busy):
        started = time.monotonic()
        works = [
            partial(_reserve, location, folder, requests[i :: setting.processes])
            for i in range(setting.processes)
        ]
        statuses = [os.waitpid(child, 0)[1] for child in [_forked(work) for work in works]]
        seconds = time.monotonic() - started
    slowest = max(float(path.read_text()) for path in folder.glob("slowest-*"))
    charged = len(Ledger(location).show().charges)
    sound = not any(statuses) and charged == setting.reserves
    yield "reserves per second", round(setting.reserves / seconds, 1), sound
    yield "slowest reserve in seconds", f"{slowest:.2f}", True
    yield "load average", round(os.getloadavg()[0], 1), True


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that only use up processor time."""
    children = [_forked(_spin) for _ in range(count)]
    try:
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _spin() -> None:
    while True:
        pass


def _reserve(location: str, folder: Path, requests: list[ReleaseRequest]) -> None:
    ledger, slowest = Ledger(location), 0.0
    for request in requests:
        started = time.monotonic()
        ledger.reserve(request)
        slowest = max(slowest, time.monotonic() - started)
    (folder / f"slowest-{requests[0].release_id}").write_text(str(slowest))


def _forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except Exception:  # noqa: BLE001  # a child never returns to its parent's code
        traceback.print_exc()
    finally:
        os._exit(status)


def file_fault(stage: Stage, name: str) -> Rows:
    """One story of the SQLite file."""
    scene = Scene(stage.new_folder() / "scene", LOCKED_SECONDS)
    if name in ledger_faults.HARMLESS:
        yield from _mended(ledger_faults.HARMLESS[name](scene))
    else:
        story, says, then = ledger_faults.STORIES[name]
        yield from _refused(story(scene), says, then)


def server_fault(stage: Stage, name: str) -> Rows:
    """One story of the server."""
    scene = ServerScene(stage.new_folder(), LOCKED_SECONDS, stage.server)
    if name in ledger_server_faults.PAID_FOR:
        rows = _mended(ledger_server_faults.PAID_FOR[name](scene))
    else:
        story, says, then = ledger_server_faults.STORIES[name]
        rows = _refused(story(scene), says, then)
    for measure, value, good in rows:  # the folder of this run means nothing to a reader
        yield measure, str(value).replace(str(stage.server.folder), "a socket"), good


def _refused(found: Outcome, says: str, then: str) -> Rows:
    yield "released", "yes" if found.released else "no", not found.released
    yield "said", found.said, says in found.said
    yield "next start", found.afterwards, then in found.afterwards


def _mended(found: Outcome) -> Rows:
    recovers = found.afterwards == RECOVERS
    yield "released", "yes, paid for", found.released and recovers
    yield "said", found.said or "nothing: the release went through", True
    yield "next start", found.afterwards, recovers


def machine(stage: Stage) -> Rows:
    """What the figures were measured on."""
    version = subprocess.run(  # noqa: S603  # the server we start
        [stage.server.binaries / "postgres", "--version"],
        check=True,
        capture_output=True,
        text=True,
    )
    yield "processors", os.cpu_count(), True
    yield "system", f"{platform.system()} {platform.machine()}", True
    yield "Python", platform.python_version(), True
    yield "SQLite", sqlite3.sqlite_version, True
    yield "PostgreSQL", version.stdout.split()[2], True


def experiments(stage: Stage) -> Iterator[tuple[tuple[str, str, str], Callable[[], Rows]]]:
    """Everything there is to run, by experiment, backend and item."""
    yield ("machine", "", ""), partial(machine, stage)
    for name in (*ledger_faults.STORIES, *ledger_faults.HARMLESS):
        yield ("fault", "sqlite", name), partial(file_fault, stage, name)
    for name in (*ledger_server_faults.STORIES, *ledger_server_faults.PAID_FOR):
        yield ("fault", "postgres", name), partial(server_fault, stage, name)
    for backend in ("sqlite", "postgres"):
        for setting in SETTINGS:
            work = partial(throughput, stage, backend, setting)
            yield ("throughput", backend, setting.name), work
    for backend in ("sqlite", "postgres"):
        yield ("reduced load", backend, ""), partial(load, stage, backend, REDUCED)
    for backend in ("sqlite", "postgres"):
        yield ("load", backend, ""), partial(load, stage, backend, FULL)


def run(stage: Stage) -> None:
    """Run what the results file lacks; the rows of one item are written together."""
    done = RESULTS.cells()
    for key, work in experiments(stage):
        if key in done:
            continue
        sys.stderr.write(f"{' '.join(key)}\n")
        try:
            rows = [
                (*key, measure, str(value), "yes" if good else "NO")
                for measure, value, good in work()
            ]
        except NotPossibleHereError as reason:
            sys.stderr.write(f"  not possible here: {reason}\n")
            continue
        RESULTS.append(*(dict(zip(COLUMNS, row, strict=True)) for row in rows))


@contextmanager
def staged() -> Iterator[Stage]:
    """A temporary folder and, when needed, a server."""
    with tempfile.TemporaryDirectory(prefix="discreet-evidence-") as folder:
        stage = Stage(Path(folder))
        try:
            yield stage
        finally:
            stage.stop()


def main() -> None:
    """Run, or write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--report", action="store_true", help="only write docs/reliability.md")
    options = parser.parse_args()
    if options.fresh:
        RESULTS.path.unlink(missing_ok=True)
    if not options.report:
        with staged() as stage:
            run(stage)
    write_report()


if __name__ == "__main__":
    main()

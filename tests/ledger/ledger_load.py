"""Many real processes that release against one ledger and are killed at named points.

Every release goes the way of a user's: `discreet.release.publish` reads a table, draws with the
noise of the operating system, writes the file and settles.  Only the mechanism is a cheap one.

Run as a script with the path of a JSON file of `Load` settings; prints the `outcome` as JSON.  The
script forks its workers, so that a worker that was killed is replaced within milliseconds; no
connection is open when it does.
"""

import hashlib
import json
import os
import random
import secrets
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

import tests.ledger.without_posix  # noqa: F401  # before the ledger
from discreet import release
from discreet.design.baseline import NaturalSpline
from discreet.design.link import Logit
from discreet.design.schema import Schema
from discreet.documents.model import Release
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import (
    Ledger,
    Payer,
    ReleaseRequest,
    Reservation,
    Statement,
    stored,
)
from discreet.ledger.book import Book, Budget
from discreet.mechanisms.contract import Draw, Facts, Mechanism, Plan, settings_of
from discreet.people.source import People
from discreet.points import ReleasePoint, install
from discreet.privacy.accountant import promised
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.noise import NoiseSource
from discreet.privacy.testing import SeededNoise
from discreet.release import Order
from tests.privacy.composition import compose, totals_of

SCHEMA = Schema.from_mapping(
    {"time": {"duration": "t", "event": "e", "horizon": 1.0, "intervals": 2}}
)
TABLE = pa.table({"t": [1.0], "e": [0]})
DELTA = 1e-6
EPSILONS = (0.001, 0.002, 0.003, 0.005)
MUST_BE_ZERO = (
    "overspends",
    "uncharged releases",
    "releases of one charge twice",
    "changed releases",
    "lost reserves",
    "lost settles",
    "settled without a release",
    "wrong refusals",
    "errors",
)
"""Of the outcome: what breaks the promise of a ledger."""


@dataclass(frozen=True)
class Load:
    """What to run.

    `kill_share` of the requests are killed at a named point at their first attempt; besides,
    `blind_kills` processes are killed from outside, wherever they happen to be.  In `portions`:
    between them all processes end and others go on.  `sabotage` breaks the ledger on purpose: the
    harness must notice.
    """

    location: str
    folder: str
    processes: int
    requests: int
    kill_share: float
    blind_kills: int = 0
    seed: int = 0
    portions: int = 1
    sabotage: str | None = None


def request_of(number: int) -> ReleaseRequest:
    """The request of that number: pure and Gaussian ones, of a few sizes."""
    guarantee = guarantee_of(number % 10, EPSILONS[number % len(EPSILONS)])
    return ReleaseRequest(name_of(number), guarantee, f"request {number}")


@cache
def guarantee_of(kind: int, epsilon: float) -> Guarantee:
    """Six pure and four Gaussian guarantees in ten."""
    return promised(20 * epsilon, DELTA) if 5 <= kind < 9 else Guarantee(epsilon)


def planned_kill(load: Load, number: int) -> ReleasePoint | None:
    """The point at which the first attempt at this request dies, if any."""
    chance = random.Random(f"{load.seed} {number}")  # noqa: S311  # a test's own plan
    points = list(ReleasePoint)
    return chance.choice(points) if chance.random() < load.kill_share else None


class Worker:
    """One process: works through every `processes`-th request, wherever its forerunner stopped."""

    def __init__(self, load: Load, index: int) -> None:
        self.load = load
        self.index = index
        self.path = _trace(load, index)
        self.ledger = Ledger(load.location)
        self.attempts = Counter(self._begun())
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self.trace = os.open(self.path, flags, 0o600)
        self.number = -1

    def run(self) -> None:
        """Try again what a killed forerunner had begun last, then go on."""
        install(self._reached)
        first = max(self.attempts, default=self.index)
        for number in range(first, self.load.requests, self.load.processes):
            self.number = number
            self.attempts[number] += 1
            self._note("begun")
            try:
                self._release(request_of(number))
            except LedgerError as error:
                self._note(f"error: {error}")

    def _release(self, request: ReleaseRequest) -> None:
        try:
            publish(Noting(self.ledger, self._note), Path(self.load.folder), request)
        except BudgetError:
            return self._note("refused")
        except LedgerError as error:
            if "one charge pays for one draw" not in str(error):
                raise
            return self._note("not drawn again")
        return self._note("settled")

    def _reached(self, point: ReleasePoint) -> None:
        self._note(point)
        plan = planned_kill(self.load, self.number)
        if plan == point and self.attempts[self.number] == 1:
            self._note(f"killed at {point}")
            os.kill(os.getpid(), signal.SIGKILL)

    def _note(self, what: str) -> None:
        os.write(self.trace, f"{self.number} {what}\n".encode())

    def _begun(self) -> list[int]:
        return [number for number, what in read_trace(self.path) if what == "begun"]


@dataclass(frozen=True)
class Cheap(Mechanism):
    """A mechanism that releases noise alone, under whatever guarantee it is charged for."""

    name: ClassVar[str] = "cheap"
    guarantee: Guarantee

    def promise(self, _persons: int) -> Guarantee:
        return self.guarantee

    def plan(self, constants: Facts) -> Plan:
        return Plan(
            mechanism=self.name,
            settings=settings_of(self),
            guarantee=self.guarantee,
            persons=constants.persons,
            dimension=constants.dimension,
            noise_scale=1.0,
            grid_exponent=-20,
        )

    def draw(self, plan: Plan, _loss: object, noise: NoiseSource) -> Draw:
        integers = [noise.uniform_bits(40) for _ in range(plan.dimension)]
        return Draw.from_integers(integers, plan.grid_exponent, private=noise.private)


@dataclass(frozen=True)
class Noting:
    """The ledger, and a note when a charge has come back from it."""

    ledger: Ledger
    note: Callable[[str], None]

    def check(self, request: ReleaseRequest, *, least: bool = False) -> None:
        self.ledger.check(request, least=least)

    def reserve(self, request: ReleaseRequest) -> Reservation:
        reservation = self.ledger.reserve(request)
        self.note("reserved")
        return reservation

    def settle(self, reservation: Reservation, digest: str) -> None:
        self.ledger.settle(reservation, digest)


def publish(ledger: Payer, folder: Path, request: ReleaseRequest) -> Release:
    """One release of one person, the way every release goes."""
    order = Order(
        Cheap(request.guarantee),
        SCHEMA,
        Logit(),
        NaturalSpline(1),
        persons=1,
        release_id=request.release_id,
        description=request.description,
    )
    # two draws have two names, so two releases of one id would both be seen
    name = f"{request.release_id}-{secrets.token_hex(8)}.json"
    path = folder / "published" / name
    return release.publish(order, People.of(TABLE), ledger=ledger, path=path)


def read_trace(path: Path) -> list[tuple[int, str]]:
    """The notes of one worker and its forerunners."""
    if not path.exists():
        return []
    lines = path.read_text().splitlines()
    return [(int(number), what) for number, _, what in (line.partition(" ") for line in lines)]


def run(load: Load) -> dict[str, object]:
    """Run the load to its end, then hold the ledger against the trace and the published files."""
    folder = Path(load.folder)
    (folder / "published").mkdir()
    started = time.monotonic()
    deaths = sum(_supervise(portion) for portion in _portions(load))
    seconds = time.monotonic() - started
    return {**outcome(load), "sigkills": deaths, "seconds": seconds}


def _portions(load: Load) -> Iterator[Load]:
    blind = -(-load.blind_kills // load.portions)
    for number in range(1, load.portions + 1):
        yield replace(load, requests=load.requests * number // load.portions, blind_kills=blind)


def _supervise(load: Load) -> int:
    """Keep every worker alive until it has finished; the number of SIGKILLed processes."""
    Ledger(load.location).show()  # what is imported and computed here, children need not
    release.simulate(
        Order(Cheap(Guarantee(1.0)), SCHEMA, Logit(), NaturalSpline(1)),
        People.of(TABLE),
        SeededNoise(0),
    )
    for number in range(40):
        request_of(number)
    alive = {_spawn(load, index): index for index in range(load.processes)}
    chance = random.Random(load.seed)  # noqa: S311  # a test's own plan
    blind, deaths = load.blind_kills, 0
    while alive:
        if blind and chance.random() < 0.2:
            os.kill(chance.choice(list(alive)), signal.SIGKILL)
            blind -= 1
        process, status = os.waitpid(-1, os.WNOHANG)
        if process == 0:
            time.sleep(0.002)
        elif os.WIFSIGNALED(status):
            deaths += os.WTERMSIG(status) == signal.SIGKILL
            index = alive.pop(process)
            alive[_spawn(load, index)] = index
        elif os.WEXITSTATUS(status) != 0:
            raise SystemExit(f"worker {alive[process]} failed: see stderr")
        else:
            del alive[process]
    return deaths


def _spawn(load: Load, index: int) -> int:
    process = os.fork()
    if process:
        return process
    try:
        if load.sabotage is not None:
            setattr(*SABOTAGE[load.sabotage])
        Worker(load, index).run()
    except BaseException:  # noqa: BLE001  # a forked child must never return to its parent's code
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def outcome(load: Load) -> dict[str, object]:
    """What the ledger, the published files and the trace say of each other."""
    ledger = Ledger(load.location)
    statement, verification = ledger.show(), ledger.verify()
    lines = {line.request.release_id: line for line in statement.charges}
    notes = [note for i in range(load.processes) for note in read_trace(_trace(load, i))]
    noted: dict[str, set[str]] = defaultdict(set)
    for number, what in notes:
        noted[what].add(name_of(number))
    published = _published(Path(load.folder))
    settled = {name for name, line in lines.items() if line.digest is not None}
    totals = totals_of(line.request.guarantee for line in statement.charges)
    refused = [request_of(n).guarantee for n, what in notes if what == "refused"]
    counts = Counter(what for _, what in notes)
    return {
        "requests": len(noted["begun"]),
        "attempts": counts["begun"],
        "admitted": len(lines),
        "refused": counts["refused"],
        "releases": len(published),
        "overspends": int(not _within(statement)),
        "uncharged releases": len(published.keys() - lines.keys()),
        "releases of one charge twice": sum(len(found) - 1 for found in published.values()),
        "changed releases": sum(
            name in lines and lines[name].digest not in {None, *found}
            for name, found in published.items()
        ),
        "lost reserves": len(noted["reserved"] - lines.keys()),
        "lost settles": len(noted["settled"] - settled),
        "settled without a release": len(settled - published.keys()),
        "errors": sum(what.startswith("error") for _, what in notes),
        "wrong refusals": sum(statement.budget.admits(totals, g) for g in refused),
        "problems": list(verification.problems),
        "reached": {point: counts[point] for point in ReleasePoint},
        "killed": {point: counts[f"killed at {point}"] for point in ReleasePoint},
    }


SABOTAGE: dict[str, tuple[object, str, object]] = {
    "retries may draw": (Reservation, "authorise_draw", lambda _reservation: None),
    "nothing is written": (stored, "_write", lambda *_arguments: None),
    "the budget is not looked at": (Book, "admits", lambda _book, _request: True),
    "half the budget is kept back": (
        Budget,
        "admits",
        lambda b, spent, _: b.filter.left(spent) > 0.1,
    ),
}
"""Name -> class or module, what is replaced in it, and by what."""


def name_of(number: int) -> str:
    """The release id of a request."""
    return f"release-{number:06d}"


def _trace(load: Load, index: int) -> Path:
    return Path(load.folder) / f"trace-{index}"


def _published(folder: Path) -> dict[str, list[str]]:
    """Release id -> the digests of the files published under it."""
    found: dict[str, list[str]] = {}
    for path in (folder / "published").glob("*.json"):
        content = path.read_bytes()
        name = json.loads(content)["release_id"]
        found.setdefault(name, []).append(hashlib.sha256(content).hexdigest())
    return found


def _within(statement: Statement) -> bool:
    """Whether all charges fit the budget, by composition at the best order.

    The ledger decides by a filter with an order fixed in advance; this is the other formula.
    """
    guarantees = [line.request.guarantee for line in statement.charges]
    if not guarantees:
        return True
    total = compose(guarantees, statement.budget.delta)
    return total.epsilon <= statement.budget.epsilon


if __name__ == "__main__":
    settings = Load(**json.loads(Path(sys.argv[1]).read_text()))
    sys.stdout.write(json.dumps(run(settings)))

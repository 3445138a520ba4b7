"""What can happen to a team's ledger on a server; each fault as a story with an outcome."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from discreet.ledger import Head, Ledger, ReleaseClaim
from discreet.points import ReleasePoint, install
from tests.ledger.ledger_scenes import (
    FIRST,
    RECOVERS,
    LedgerScene,
    Outcome,
    Story,
    attempt,
    fill,
    mounted,
    published,
    request,
    story,
)
from tests.ledger.ledger_server import PostgresServer

STORIES: dict[str, Story] = {}


@dataclass(frozen=True)
class ServerScene(LedgerScene):
    """A running server with an empty database, and a folder for releases."""

    server: PostgresServer

    @property
    def url(self) -> str:
        return self.server.url("postgres")

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.url, self.lock_timeout)

    def begin(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.server.forget_ledgers()
        self.ledger.initialise("norway-births", 4)
        assert attempt(self.ledger, self.folder, FIRST) is None

    def outcome(self, said: str | None) -> Outcome:
        released = request(2).release_id in published(self.folder)
        return Outcome(released, said or "", self.afterwards())

    def execute(self, *statements: str) -> None:
        """Commands of the server's owner, whom nothing can stop."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)


@story(STORIES, "server killed before", "no connection", RECOVERS)
def server_down(scene: ServerScene) -> Outcome:
    """The server was killed (SIGKILL) before the release."""
    scene.begin()
    scene.server.kill()
    said = attempt(scene.ledger, scene.folder, request(2))
    scene.server.start()
    return scene.outcome(said)


def killed_at(point: ReleasePoint) -> Callable[[ServerScene], Outcome]:
    """The server is killed when the release has come to the point."""

    def fault(scene: ServerScene) -> Outcome:
        scene.begin()
        with at(point, scene.server.kill):
            said = attempt(scene.ledger, scene.folder, request(2))
        scene.server.start()
        return scene.outcome(said)

    return fault


@story(STORIES, "locked by another session", "locked by another process", RECOVERS)
def row_locked(scene: ServerScene) -> Outcome:
    """Another session holds the population's row."""
    scene.begin()
    with psycopg.connect(scene.url) as other:
        other.execute("SELECT 1 FROM discreet_ledger.population FOR UPDATE")
        said = attempt(scene.ledger, scene.folder, request(2))
    return scene.outcome(said)


@story(STORIES, "read-only server", "read-only", RECOVERS)
def server_read_only(scene: ServerScene) -> Outcome:
    """Transactions are read-only, as on a server that ran into trouble."""
    scene.begin()
    scene.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
    said = attempt(scene.ledger, scene.folder, request(2))
    with psycopg.connect(scene.url, autocommit=True) as owner:
        owner.execute("SET default_transaction_read_only = off")
        owner.execute("ALTER DATABASE postgres RESET default_transaction_read_only")
    return scene.outcome(said)


@story(STORIES, "disk full (no free block)", "is full", RECOVERS)
def server_disk_full(scene: ServerScene) -> Outcome:
    """The disk of the entries has no free block."""
    scene.begin()
    disk = scene.server.folder / "small"
    with mounted(disk):
        scene.server.own(disk)
        scene.execute(
            f"CREATE TABLESPACE small LOCATION '{disk}'",
            "ALTER TABLE discreet_ledger.entry SET TABLESPACE small",
        )
        with fill(disk / "filler"):
            said = _until_refused(scene)
        outcome = scene.outcome(said)
        scene.server.forget_ledgers()
        scene.execute("DROP TABLESPACE small")
        return outcome


def _until_refused(scene: ServerScene) -> str | None:
    """Spend little by little: the table's last block takes a few entries more."""
    for number in (*range(100, 112), 2):
        said = attempt(scene.ledger, scene.folder, request(number, epsilon=1e-6))
        if said is not None:
            return said
    return None


@story(STORIES, "fsync off", "fsync = off", RECOVERS)
def fsync_off(scene: ServerScene) -> Outcome:
    """The server was configured to forget."""
    scene.begin()
    scene.server.kill()
    scene.server.start("fsync=off")
    said = attempt(scene.ledger, scene.folder, request(2))
    scene.server.kill()
    scene.server.start()
    return scene.outcome(said)


@story(STORIES, "copied database", "this is a copy", RECOVERS)
def database_copied(scene: ServerScene) -> Outcome:
    """The database was copied, and the copy is used."""
    scene.begin()
    with psycopg.connect(scene.server.url("template1"), autocommit=True) as owner:
        owner.execute("DROP DATABASE IF EXISTS copy")
        owner.execute("CREATE DATABASE copy TEMPLATE postgres")
    said = attempt(Ledger(scene.server.url("copy")), scene.folder, request(2))
    return scene.outcome(said)


@story(STORIES, "changed entry", "its hash differs", "its hash differs")
def entry_changed(scene: ServerScene) -> Outcome:
    """The owner switched the guards off and made a charge cheaper."""
    scene.begin()
    scene.execute(
        "SET session_replication_role = replica",
        "UPDATE discreet_ledger.entry SET content = replace(content, '1.0', '0.1')",
    )
    return scene.outcome(attempt(scene.ledger, scene.folder, request(2)))


@story(STORIES, "removed entries", "was promised", "was promised")
def entries_removed(scene: ServerScene) -> Outcome:
    """The owner removed the last entries: only a release can tell, and `verify` asks it."""
    scene.begin()
    newest = scene.ledger.reserve(request(1))
    scene.execute(
        "SET session_replication_role = replica",
        "DELETE FROM discreet_ledger.entry WHERE sequence > 3",
    )
    found = scene.ledger.verify(ReleaseClaim(newest.release_id, Head.parse(newest.head)))
    said = " ".join(found.problems)
    return Outcome(found.sound, said, said)


@story(STORIES, "newer format", "another format", "another format")
def newer_format(scene: ServerScene) -> Outcome:
    """A later version of the package made the tables."""
    scene.begin()
    scene.execute(
        "SET session_replication_role = replica",
        "UPDATE discreet_ledger.format SET version = 2",
    )
    return scene.outcome(attempt(scene.ledger, scene.folder, request(2)))


@story(STORIES, "no ledger", "holds no ledger", "holds no ledger")
def no_ledger(scene: ServerScene) -> Outcome:
    """The database is another one."""
    scene.begin()
    scene.server.forget_ledgers()
    return scene.outcome(attempt(scene.ledger, scene.folder, request(2)))


STORIES["server killed, reserve locked"] = (
    killed_at(ReleasePoint.RESERVE_LOCKED),
    "was lost",
    RECOVERS,
)
STORIES["server killed, reserve appended"] = (
    killed_at(ReleasePoint.RESERVE_APPENDED),
    "was lost",
    RECOVERS,
)

PAID_FOR: dict[str, Callable[[ServerScene], Outcome]] = {
    "server killed, release drawn": killed_at(ReleasePoint.RELEASE_DRAWN),
    "server killed, settle appended": killed_at(ReleasePoint.SETTLE_APPENDED),
}
"""The charge was durable when the server died: the release stands, unsettled."""


@contextmanager
def at(point: ReleasePoint, action: Callable[[], None]) -> Iterator[None]:
    """Do something when this process comes to the point, once."""

    def listen(reached: ReleasePoint) -> None:
        if reached == point:
            install(None)
            action()

    install(listen)
    try:
        yield
    finally:
        install(None)

"""What disks, files and people do to a ledger in a file; each fault as a story with an outcome."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discreet.ledger import Head, Ledger, ReleaseClaim
from discreet.ledger.sqlite import _newest
from tests.ledger.ledger_scenes import (
    FIRST,
    RECOVERS,
    LedgerScene,
    NotPossibleHereError,
    Outcome,
    Story,
    attempt,
    fill,
    mounted,
    published,
    request,
    run_as_root,
    story,
    unwritable,
)

ROOT = Path(__file__).parents[2]
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""On Windows any number ends a process at once."""


STORIES: dict[str, Story] = {}


@dataclass(frozen=True)
class Scene(LedgerScene):
    """A folder with a ledger in it."""

    @property
    def path(self) -> Path:
        return self.folder / "registry.ledger"

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.path, self.lock_timeout)

    def beside(self, ending: str) -> Path:
        return self.path.with_name(self.path.name + ending)

    def begin(self) -> Head:
        """Make the ledger and its first release."""
        self.folder.mkdir(exist_ok=True)
        self.ledger.initialise("norway-births", 4)
        assert attempt(self.ledger, self.folder, FIRST) is None
        return self.ledger.verify().head

    def outcome(self, number: int = 2) -> Outcome:
        """Try to release twice: while the fault is there, and at the next start."""
        said = attempt(self.ledger, self.folder, request(number))
        return Outcome(said is None, said or "", self.afterwards())


def crash(location: Path | str, point: str) -> None:
    """A real process that reserves and is killed at the point, with its log still open."""
    code = (
        "import os, sys\n"
        "from discreet.ledger import Ledger\n"
        "from discreet.points import install\n"
        "from tests.ledger.ledger_scenes import request\n"
        "def listen(point):\n"
        f"    if point == sys.argv[2]: os.kill(os.getpid(), {KILL:d})\n"
        "install(listen)\n"
        "Ledger(sys.argv[1]).reserve(request(50))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(location), point], cwd=ROOT, check=False)
    assert done.returncode in {-KILL, KILL}  # TerminateProcess ends with the number itself


@story(STORIES, "disk full (file size limit)", "disk", RECOVERS)
def disk_full_by_limit(scene: Scene) -> Outcome:
    """The file may not grow (RLIMIT_FSIZE)."""
    scene.begin()
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from discreet.ledger import Ledger\n"
        "from tests.ledger.ledger_faults import attempt, request\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "sys.stdout.write(attempt(Ledger(sys.argv[1]), Path(sys.argv[2]), request(2)) or '')\n"
    )
    command = [sys.executable, "-c", code, str(scene.path), str(scene.folder)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    released = request(2).release_id in published(scene.folder)
    return Outcome(released, done.stdout, scene.afterwards())


@story(STORIES, "disk full (no free block)", "full", RECOVERS)
def disk_full(scene: Scene) -> Outcome:
    """A file system without a free block."""
    with mounted(scene.folder):
        scene.begin()
        with fill(scene.folder / "filler"):
            said = attempt(scene.ledger, scene.folder, request(2))
        released = request(2).release_id in published(scene.folder)
        return Outcome(released, said or "", scene.afterwards())


@story(STORIES, "read-only file system", "read-only", RECOVERS)
def read_only(scene: Scene) -> Outcome:
    """A file system mounted read-only."""
    with mounted(scene.folder):
        scene.begin()
        run_as_root("mount", "-o", "remount,ro", str(scene.folder))
        said = attempt(scene.ledger, scene.folder, request(2))
        run_as_root("mount", "-o", "remount,rw", str(scene.folder))
        return Outcome(said is None, said or "", scene.afterwards())


@story(STORIES, "no permission to write", "read-only", RECOVERS)
def not_permitted(scene: Scene) -> Outcome:
    """A file and folder that this user may only read."""
    if os.geteuid() == 0:
        raise NotPossibleHereError("root may write everywhere")
    scene.begin()
    with unwritable(scene.folder, scene.path, scene.beside("-head")):
        said = attempt(scene.ledger, scene.folder, request(2))
    return Outcome(said is None, said or "", scene.afterwards())


@story(STORIES, "locked by another process", "locked by another process", RECOVERS)
def locked(scene: Scene) -> Outcome:
    """Another process holds the write lock."""
    scene.begin()
    other = sqlite3.connect(scene.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    said = attempt(scene.ledger, scene.folder, request(2))
    other.close()
    return Outcome(said is None, said or "", scene.afterwards())


@story(STORIES, "torn write-ahead log", "was promised and is not in", "was promised and is not in")
def log_torn(scene: Scene) -> Outcome:
    """A process was killed, and the end of its write-ahead log did not reach the disk."""
    scene.begin()
    crash(scene.path, "reserve: witnessed")
    log = scene.beside("-wal")
    os.truncate(log, log.stat().st_size - 100)
    return scene.outcome()


@story(STORIES, "deleted write-ahead log", "was promised", "was promised")
def log_deleted(scene: Scene) -> Outcome:
    """A process was killed, and somebody tidied its write-ahead log away."""
    scene.begin()
    crash(scene.path, "reserve: witnessed")
    scene.beside("-wal").unlink()
    scene.beside("-shm").unlink()
    return scene.outcome()


def killed_before_the_witness(scene: Scene) -> Outcome:
    """A process was killed between its commit and its promise."""
    scene.begin()
    crash(scene.path, "reserve: committed")
    return scene.outcome()


@story(STORIES, "truncated file", "damaged", "damaged")
def truncated(scene: Scene) -> Outcome:
    """The file lost its second half."""
    scene.begin()
    os.truncate(scene.path, scene.path.stat().st_size // 2)
    return scene.outcome()


@story(STORIES, "emptied file", "it is empty", "it is empty")
def emptied(scene: Scene) -> Outcome:
    """The file is there, with nothing in it."""
    scene.begin()
    os.truncate(scene.path, 0)
    return scene.outcome()


@story(STORIES, "changed byte", "its hash differs", "its hash differs")
def overwritten_byte(scene: Scene) -> Outcome:
    """One byte of an entry was changed in the file."""
    scene.begin()
    content = scene.path.read_bytes()
    changed = content.replace(b'"epsilon":1.0', b'"epsilon":0.1')
    assert changed != content
    with scene.path.open("r+b") as file:
        file.write(changed)
    return scene.outcome()


@story(STORIES, "copied file", "this is a copy", RECOVERS)
def copied(scene: Scene) -> Outcome:
    """The ledger and all its files were copied elsewhere, and the copy is used."""
    scene.begin()
    copy = Scene(scene.folder / "copy", scene.lock_timeout)
    copy.folder.mkdir()
    for path in scene.folder.glob("registry.ledger*"):
        shutil.copy2(path, copy.folder)
    said = attempt(copy.ledger, copy.folder, request(2))
    return Outcome(said is None, said or "", scene.afterwards())


@story(STORIES, "rolled back", "was promised", "was promised")
def rolled_back(scene: Scene) -> Outcome:
    """An older copy was written back into the file."""
    scene.begin()
    older = scene.path.read_bytes()
    assert attempt(scene.ledger, scene.folder, request(1)) is None
    with scene.path.open("r+b") as file:
        file.write(older)
        file.truncate()
    return scene.outcome()


@story(STORIES, "rolled back with its witness", "was promised", "was promised")
def rolled_back_with_its_witness(scene: Scene) -> Outcome:
    """As above, and the witness with it: only a release can tell, and `verify` asks it."""
    scene.begin()
    files = [scene.path, scene.beside("-head")]
    older = [path.read_bytes() for path in files]
    assert attempt(scene.ledger, scene.folder, request(1)) is None
    newest = scene.ledger.reserve(request(1))
    for path, content in zip(files, older, strict=True):
        with path.open("r+b") as file:
            file.write(content)
            file.truncate()
    claim = ReleaseClaim(newest.release_id, Head.parse(newest.head))
    found = scene.ledger.verify(claim)
    return Outcome(found.sound, " ".join(found.problems), " ".join(found.problems))


@story(STORIES, "witness missing", "is missing", "is missing")
def witness_missing(scene: Scene) -> Outcome:
    """Only the ledger file was kept."""
    scene.begin()
    scene.beside("-head").unlink()
    return scene.outcome()


@story(STORIES, "witness damaged", "is damaged", "is damaged")
def witness_damaged(scene: Scene) -> Outcome:
    """The witness file was overwritten with nonsense."""
    scene.begin()
    scene.beside("-head").write_bytes(b"nonsense")
    return scene.outcome()


def witness_torn(scene: Scene) -> Outcome:
    """A promise was torn while it was written: the one before it counts."""
    scene.begin()
    crash(scene.path, "reserve: committed")
    promised = scene.ledger.verify().head
    assert promised is not None
    with scene.beside("-head").open("r+b") as file:
        # three promises were made; the fourth would go to the second block
        file.seek(4096 if _slot_to_write(scene) else 0)
        file.write(b"torn")
    return scene.outcome()


@story(STORIES, "not a ledger", "not an SQLite database", "not an SQLite database")
def not_a_ledger(scene: Scene) -> Outcome:
    """Another file stands at the path."""
    scene.folder.mkdir(exist_ok=True)
    scene.path.write_bytes(b"time,event,age\n" * 100)
    return scene.outcome()


@story(STORIES, "another database", "is not a ledger", "is not a ledger")
def another_database(scene: Scene) -> Outcome:
    """Somebody else's SQLite database stands at the path."""
    scene.folder.mkdir(exist_ok=True)
    with sqlite3.connect(scene.path) as connection:
        connection.execute("CREATE TABLE entry (x)")
    connection.close()
    return scene.outcome()


@story(STORIES, "newer format", "has format 3", "has format 3")
def newer_format(scene: Scene) -> Outcome:
    """A later version of the package wrote the ledger."""
    scene.begin()
    with sqlite3.connect(scene.path) as connection:
        connection.execute("PRAGMA user_version=3")
    connection.close()
    return scene.outcome()


@story(STORIES, "symbolic link", "symbolic link", RECOVERS)
def symbolic_link(scene: Scene) -> Outcome:
    """The path is a symbolic link to the ledger."""
    scene.begin()
    link = Scene(scene.folder / "link", scene.lock_timeout)
    link.folder.mkdir()
    link.path.symlink_to(scene.path)
    said = attempt(link.ledger, link.folder, request(2))
    return Outcome(said is None, said or "", scene.afterwards())


@story(STORIES, "hard link", "hard link", RECOVERS)
def hard_link(scene: Scene) -> Outcome:
    """The file has a second name, under which its log would not be found."""
    scene.begin()
    second = scene.folder / "second.ledger"
    second.hardlink_to(scene.path)
    said = attempt(Ledger(second), scene.folder, request(2))
    second.unlink()
    return Outcome(said is None, said or "", scene.afterwards())


@story(STORIES, "file missing", "no ledger at this path", "no ledger at this path")
def missing(scene: Scene) -> Outcome:
    """There is no file at the path."""
    scene.begin()
    scene.path.unlink()
    return scene.outcome()


HARMLESS: dict[str, Callable[[Scene], Outcome]] = {
    "killed before the witness": killed_before_the_witness,
    "torn promise": witness_torn,
}
"""Faults that the ledger fixes by itself: it releases, with every charge counted."""


def _slot_to_write(scene: Scene) -> int:
    with scene.beside("-head").open("rb", buffering=0) as file:
        return 1 - _newest(file)[1]

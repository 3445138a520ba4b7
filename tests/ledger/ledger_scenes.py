"""The stage on which faults befall a ledger, and what comes of them.

A story makes a ledger with a charge of 1 out of 4, breaks something, tries to release, and looks
at the next start.  Tests check the outcomes, `evidence/ledger.py` records them.
"""

import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger, ReleaseRequest
from discreet.privacy.guarantee import Guarantee
from tests.ledger.ledger_load import publish

FIRST = ReleaseRequest("first", Guarantee(1.0), "the first")
RECOVERS = "recovers"


class NotPossibleHereError(Exception):
    """This machine does not let us make the fault (no right to mount, for instance)."""


@dataclass(frozen=True)
class Outcome:
    """What came of it: whether a file was published, what was said, how it goes on.

    `afterwards` is "recovers" when the next start releases with every earlier charge counted,
    otherwise what it says.
    """

    released: bool
    said: str
    afterwards: str


@dataclass(frozen=True)
class LedgerScene(ABC):
    """A ledger somewhere, a folder for releases, and how long to wait for a lock."""

    folder: Path
    lock_timeout: float

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """The ledger, opened again."""

    def afterwards(self) -> str:
        """The next start: releases, with every published release counted, or says why not."""
        said = attempt(self.ledger, self.folder, request(99))
        if said is not None:
            return said
        lines = {line.request.release_id for line in self.ledger.show().charges}
        return RECOVERS if published(self.folder) <= lines else "charges are missing"


Story = tuple[Callable[..., Outcome], str, str]
"""A fault, a part of what must be said, a part of what the next start must say."""


def story(
    stories: dict[str, Story], name: str, says: str, then: str
) -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Enter a fault under its name."""

    def enter(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
        stories[name] = (function, says, then)
        return function

    return enter


def check_story(scene: LedgerScene, told: Story) -> None:
    """The fault stops the release, and both starts say what they must."""
    story, says, then = told
    try:
        found = story(scene)
    except NotPossibleHereError as reason:
        pytest.skip(str(reason))
    assert not found.released
    assert says in found.said
    assert then in found.afterwards


def request(number: int, epsilon: float = 0.25) -> ReleaseRequest:
    return ReleaseRequest(f"release-{number}", Guarantee(epsilon), f"request {number}")


def attempt(ledger: Ledger, folder: Path, asked: ReleaseRequest) -> str | None:
    """Release the way a fit does; None when it went through, otherwise what was said."""
    (releases(folder) / "published").mkdir(parents=True, exist_ok=True)
    try:
        publish(ledger, releases(folder), asked)
    except LedgerError as error:
        return str(error)
    return None


def published(folder: Path) -> set[str]:
    files = (releases(folder) / "published").glob("*.json")
    return {path.name.rpartition("-")[0] for path in files}


def releases(folder: Path) -> Path:
    """Beside the ledger's folder: what befalls that must not keep a release from being written."""
    return folder.with_name(f"{folder.name}-releases")


@contextmanager
def mounted(folder: Path) -> Iterator[None]:
    """A file system of one megabyte at the folder."""
    folder.mkdir(exist_ok=True)
    run_as_root("mount", "-t", "tmpfs", "-o", "size=1m", "discreet", str(folder))
    try:
        yield
    finally:
        # a descriptor that the ledger left open would keep the file system busy
        subprocess.run([shutil.which("umount") or "", str(folder)], check=True)


def run_as_root(name: str, *words: str) -> None:
    """A command that only root may give; `NotPossibleHereError` for others."""
    command = shutil.which(name)
    if os.geteuid() != 0 or command is None:
        raise NotPossibleHereError("needs the right to mount a file system")
    done = subprocess.run([command, *words], check=False, capture_output=True)
    if done.returncode != 0:
        raise NotPossibleHereError("needs the right to mount a file system")


@contextmanager
def fill(path: Path) -> Iterator[None]:
    """Take every free block."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    yield
    path.unlink()


@contextmanager
def unwritable(*paths: Path) -> Iterator[None]:
    """Without the permission to write."""
    modes = [path.stat().st_mode for path in paths]
    for path, mode in zip(paths, modes, strict=True):
        path.chmod(mode & ~0o222)
    yield
    for path, mode in zip(paths, modes, strict=True):
        path.chmod(mode)

"""One file on any system: made for its owner alone, opened safely, forced to disk.

| | Linux | macOS | Windows |
|---|---|---|---|
| a write is forced to disk | fsync | F_FULLFSYNC, else fsync | FlushFileBuffers (`os.fsync`) |
| a new name is forced to disk | fsync of the folder | fsync of the folder | by NTFS' own journal |
| mode 0600 | yes | yes | no: the folder's access list decides |
| a symbolic link is not followed | O_NOFOLLOW | O_NOFOLLOW | looked at before, not while opening |

Which rows are tested where: docs/threat-model.md, "Systems".
"""

import os
import sys
from contextlib import suppress
from io import FileIO, IOBase
from pathlib import Path

PRIVATE = 0o600
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def create(path: Path, mode: int = PRIVATE) -> FileIO:
    """Make the file, unbuffered; `FileExistsError` where there is anything of that name."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _SAFE, mode)
    return os.fdopen(descriptor, "r+b", buffering=0)


def open_existing(path: Path, *, writable: bool) -> FileIO:
    """Open the existing file, unbuffered; no symbolic link is followed."""
    descriptor = os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | _SAFE)
    return os.fdopen(descriptor, "r+b" if writable else "rb", buffering=0)


def force(file: IOBase) -> None:
    """Return once what was written to the file is on the disk."""
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 - not on every system

        with suppress(OSError):  # network drives have none
            fcntl.fcntl(file.fileno(), fcntl.F_FULLFSYNC)
            return
    os.fsync(file.fileno())


def force_folder(folder: Path) -> None:
    """Return once the names in the folder are on the disk, where a folder can be forced at all."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

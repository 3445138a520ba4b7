"""Two fresh file systems, one after the other, and a ledger restored on the second.

Run as `unshare --mount python -m tests.ledger.other_file_system TYPE FOLDER`: mounts an empty file
system of that type, makes a ledger on it, keeps a backup of its two files, spends the budget, then
restores the backup on a second empty file system at the same path.  Prints as JSON whether the
inode was the same, and what the next charge and `verify` said of the restored ledger.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger import Ledger, ReleaseRequest
from discreet.privacy.guarantee import Guarantee

MEGABYTES = {"tmpfs": 0, "ext4": 8, "xfs": 320, "btrfs": 120}


def fresh(kind: str, folder: Path, number: int) -> None:
    """An empty file system of that type at the folder."""
    folder.mkdir(exist_ok=True)
    if kind == "tmpfs":
        return run("mount", "-t", "tmpfs", "discreet", str(folder))
    image = folder.with_name(f"image-{number}")
    with image.open("wb") as file:
        file.truncate(MEGABYTES[kind] << 20)
    run(f"mkfs.{kind}", "-q", str(image))
    return run("mount", "-o", "loop", str(image), str(folder))


def run(name: str, *words: str) -> None:
    subprocess.run([shutil.which(name) or name, *words], check=True, capture_output=True)


def spend(path: Path, name: str) -> str:
    try:
        Ledger(path).reserve(ReleaseRequest(name, Guarantee(1.0)))
    except LedgerError as error:
        return str(error)
    return "charged"


def main(kind: str, work: Path) -> dict[str, object]:
    folder, backup = work / "volume", work / "backup"
    backup.mkdir()
    fresh(kind, folder, 1)
    path = folder / "budget.db"
    Ledger(path).initialise("registry", 1)
    names = ("budget.db", "budget.db-head")
    for name in names:
        shutil.copy2(folder / name, backup)
    inode = path.stat().st_ino
    before = spend(path, "first")
    run("umount", str(folder))
    fresh(kind, folder, 2)
    for name in names:
        shutil.copy2(backup / name, folder)
    found = {
        "same inode": path.stat().st_ino == inode,
        "first": before,
        "second": spend(path, "second"),
        "problems": Ledger(path).verify().problems,
    }
    run("umount", str(folder))
    return found


if __name__ == "__main__":
    os.umask(0o077)
    sys.stdout.write(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))

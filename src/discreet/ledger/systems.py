"""A ledger file and the operating system: a local disk, and the file's own identity.

| | Linux | macOS | Windows |
|---|---|---|---|
| writers take turns | SQLite's lock (fcntl) | SQLite's lock (fcntl) | SQLite's lock (LockFileEx) |
| a network drive is refused | by the table of mounts | no | by the type of the drive |
| inode | `st_ino` | `st_ino` | file index |
| birth | statx | `st_birthtime` | creation time |
| file system | `f_fsid`, where it comes from a UUID | volume UUID | serial number of the volume |
| machine | /etc/machine-id | gethostuuid | MachineGuid |

A killed process (SIGKILL, TerminateProcess) loses its locks on all three.  Which rows are tested
where: docs/threat-model.md, "Systems".
References: statx(2), statvfs(3), machine-id(5); getattrlist(2), gethostuuid(3) of macOS;
BY_HANDLE_FILE_INFORMATION of Windows.
"""

import ctypes
import hashlib
import os
import re
import stat
import struct
import sys
from pathlib import Path

from discreet.errors import LedgerError

NETWORK_FILE_SYSTEMS = frozenset(
    [
        *("afs", "beegfs", "ceph", "cifs", "davfs", "davfs2", "gcsfuse", "glusterfs", "gpfs"),
        *("lustre", "ncpfs", "nfs", "nfs4", "orangefs", "rclone", "s3fs", "smb3", "smbfs", "sshfs"),
    ]
)
"""As Linux names them, without its prefix "fuse."."""

UUID_FILE_SYSTEMS = frozenset(["btrfs", "ext2", "ext3", "ext4", "overlay", "tmpfs", "zfs"])
"""Their `f_fsid` comes from a UUID; XFS and others put the device's number there, which changes."""

MOUNTS = Path("/proc/self/mountinfo")
MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def require_local(folder: Path) -> None:
    """Refuse a network drive: locks and the log's shared memory do not reach other machines."""
    place = os.path.realpath(folder)
    if sys.platform == "win32":
        root, remote = os.path.splitdrive(place)[0] + "\\", 4
        kind = "a network drive" if ctypes.windll.kernel32.GetDriveTypeW(root) == remote else ""
    else:
        found = _mounted_type(place)  # empty if it is not known
        kind = found if found.removeprefix("fuse.") in NETWORK_FILE_SYSTEMS else ""
    if kind:
        raise LedgerError(
            f"the ledger lies on a network file system ({kind}), where two machines could spend "
            "the same budget: keep it on a local disk, or in PostgreSQL "
            "('discreet budget init postgresql://...'). Nothing was charged."
        )


def place_of(path: Path) -> dict[str, str]:
    """Properties that a copy of this file does not have, by name, as far as the system knows them.

    A second hard link or a symbolic link would give the same file a second write-ahead log under
    another name, which SQLite does not notice; both are refused.
    """
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise LedgerError("the ledger path is a symbolic link; give the file's own path.")
    if not stat.S_ISREG(status.st_mode):
        raise LedgerError("the ledger path is not a regular file.")
    if status.st_nlink != 1:
        raise LedgerError("the ledger file has a second name (a hard link); remove that name.")
    parts = {
        "inode": status.st_ino & 0xFFFFFFFFFFFFFFFF,
        "birth": _birth(path, status),
        "file system": _file_system_id(path, status),
        "machine": _machine(),
    }
    return {name: str(value) for name, value in parts.items() if value}


def _birth(path: Path, status: os.stat_result) -> int:
    """Nanoseconds since 1970 at which the file was made; 0 if not known.

    No copying tool of Linux can set it, so it also tells a file from one that was restored after
    the original was deleted and that was given the same inode (ext4 does that at once).
    """
    if sys.platform == "win32":
        return int(getattr(status, "st_birthtime_ns", status.st_ctime_ns))
    if sys.platform == "darwin":
        return round(status.st_birthtime * 10**6) * 1000
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return 0
    found, birth_is_known = ctypes.create_string_buffer(256), 0x800
    at_cwd, not_through_links = -100, 0x100
    if statx(at_cwd, os.fsencode(path), not_through_links, birth_is_known, found):
        return 0
    (known,) = struct.unpack_from("=I", found, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", found, 80)
    return int(seconds * 10**9 + nanoseconds) if known & birth_is_known else 0


def _file_system_id(path: Path, status: os.stat_result) -> str:
    """An identity that two fresh file systems do not share and a reboot keeps; empty if not known."""
    if sys.platform == "win32":
        return f"{status.st_dev & 0xFFFFFFFF:x}"
    if sys.platform == "darwin":
        return _volume_uuid(path)
    if _mounted_type(os.path.realpath(path.parent)) not in UUID_FILE_SYSTEMS:
        return ""
    identity = os.statvfs(path).f_fsid
    return f"{identity:x}" if identity else ""


def _volume_uuid(path: Path) -> str:
    """The UUID of the volume of macOS that holds the file; empty if it has none."""
    point = next(folder for folder in path.resolve().parents if folder.is_mount())
    # bitmapcount, reserved, then common, volume (ATTR_VOL_INFO | ATTR_VOL_UUID), three more groups
    asked = struct.pack("=HHIIIII", 5, 0, 0, 0x80000000 | 0x00040000, 0, 0, 0)
    found = ctypes.create_string_buffer(20)
    failed = ctypes.CDLL(None).getattrlist(os.fsencode(point), asked, found, len(found), 0)
    return "" if failed else found.raw[4:].hex()


def _machine() -> str:
    """A digest of the machine's identity, which is not to be published; empty if there is none."""
    if sys.platform == "win32":
        import winreg  # noqa: PLC0415 - not on every system

        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SOFTWARE\Microsoft\Cryptography") as key:
            name = str(winreg.QueryValueEx(key, "MachineGuid")[0]).encode()
    elif sys.platform == "darwin":
        found, wait = ctypes.create_string_buffer(16), struct.pack("=qq", 5, 0)
        name = b"" if ctypes.CDLL(None).gethostuuid(found, wait) else found.raw
    else:
        texts = (_text(path).strip() for path in MACHINE_IDS)
        # while a system is installed the file says "uninitialized"
        name = next((text for text in texts if re.fullmatch("[0-9a-f]{32}", text)), "").encode()
    return hashlib.sha256(b"discreet machine 1\n" + name).hexdigest()[:16] if name else ""


def _mounted_type(folder: str) -> str:
    """The type of the file system that holds a folder, by Linux' table; empty elsewhere."""
    found = "", ""
    for line in _text(MOUNTS).splitlines():
        before, _, after = line.partition(" - ")
        # blanks and the like are octal numbers in the table
        escaped = before.split()[4]
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), escaped)
        inside = folder == point or folder.startswith(f"{point.rstrip('/')}/")
        if inside and len(point) >= len(found[0]):  # the last of equal ones is on top
            found = point, after.split()[0]
    return found[1]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""

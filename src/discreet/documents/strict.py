"""Files that leave: strict JSON in, and out by way of a temporary file and a rename.

Reading refuses what a careless parser lets pass: duplicate keys, NaN and infinities, numbers that
overflow, deep nesting, files that are too large, texts that would steer the terminal on which they
are shown.  Writing never shows half a file, never follows a symbolic link, and never replaces a file
unless asked to.
"""

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from io import BufferedWriter
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from discreet import disk
from discreet.errors import ArtefactError, SettingsError
from discreet.points import ReleasePoint, reach

LARGEST_FILE = 1 << 25
DEEPEST_NESTING = 12


def parse_strict(content: bytes) -> dict[str, Any]:
    """The JSON object in the bytes, or an `ArtefactError`."""
    if len(content) > LARGEST_FILE:
        raise ArtefactError(f"the file is larger than {LARGEST_FILE >> 20} MiB.")
    _check_nesting(content)
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_short_integer,
        )
    except (UnicodeError, json.JSONDecodeError, RecursionError):
        raise ArtefactError("the file is not JSON in UTF-8.") from None
    if not isinstance(value, dict):
        raise ArtefactError("the file is not a JSON object.")
    if _UNUSUAL.search(content) and not all(text.isprintable() for text in _texts(value)):
        raise ArtefactError("the file has a text with control characters.")
    return value


def read_strict(path: str | Path) -> dict[str, Any]:
    """The JSON object in a file; errors name the file."""
    content = read_content(path)
    try:
        return parse_strict(content)
    except ArtefactError as error:
        raise ArtefactError(f"'{path}': {error}") from None


def read_content(path: str | Path) -> bytes:
    """The bytes of a file, or one more than the most that `parse_strict` takes."""
    try:
        with Path(path).open("rb") as file:
            return file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ArtefactError(f"'{path}' cannot be read: {error.strerror}.") from None


def serialise(value: Mapping[str, Any]) -> bytes:
    """The one spelling of an artefact: two spaces, keys in their order, finite numbers only."""
    text = json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)
    return (text + "\n").encode()


def require_free(path: Path, *, overwrite: bool) -> None:
    """Refuse an output path that cannot be written, before anything is computed."""
    if path.is_symlink():
        raise SettingsError(f"'{path}' is a symbolic link; name a file of its own.")
    if path.is_dir():
        raise SettingsError(f"'{path}' is a folder; name a file.")
    if path.exists() and not overwrite:
        raise SettingsError(
            f"'{path}' exists; choose another name, or say overwrite=True (--overwrite)."
        )
    folder = path.parent
    if not folder.is_dir():
        raise SettingsError(f"the folder '{folder}' does not exist; make it first.")
    if not os.access(folder, os.W_OK):
        raise SettingsError(f"nothing can be written in the folder '{folder}'.")


def write_new(
    path: str | Path, content: bytes, *, overwrite: bool = False, mode: int = disk.PRIVATE
) -> None:
    """Write the whole file or nothing: temporary file (mode 0600), fsync, mode, then its name."""
    from secrets import token_hex  # noqa: PLC0415 - help comes without it

    target = Path(path)
    require_free(target, overwrite=overwrite)
    temporary = target.with_name(f".{target.name[:80]}.{token_hex(8)}.part")
    try:
        _write_durably(temporary, content, mode)
        reach(ReleasePoint.RELEASE_WRITTEN)
        _name(temporary, target, overwrite=overwrite)
        reach(ReleasePoint.RELEASE_RENAMED)
        disk.force_folder(target.parent)
    except FileExistsError:
        raise SettingsError(f"'{target}' exists now; nothing was overwritten.") from None
    except OSError as error:
        raise SettingsError(f"'{target}' cannot be written: {error.strerror}.") from None
    finally:
        temporary.unlink(missing_ok=True)


def _write_durably(path: Path, content: bytes, mode: int) -> None:
    with BufferedWriter(disk.create(path)) as file:
        file.write(content)
        if mode != disk.PRIVATE and hasattr(os, "fchmod"):  # not on Windows before Python 3.13
            os.fchmod(file.fileno(), mode)
        file.flush()
        disk.force(file)


def _name(temporary: Path, target: Path, *, overwrite: bool) -> None:
    """Give the finished file its name; without ``overwrite`` only if the name is still free."""
    if overwrite:
        temporary.replace(target)
        return
    try:
        target.hardlink_to(temporary)
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL}:
            raise
        # a file system without hard links: claim the name first, then replace the empty file
        disk.create(target).close()
        temporary.replace(target)


def _check_nesting(content: bytes) -> None:
    """Refuse deep nesting before a recursive parser meets it."""
    depth = 0
    for byte in _TEXT.sub(b"", content).translate(None, _OTHER_BYTES):
        depth += 1 if byte in b"[{" else -1
        if depth > DEEPEST_NESTING:
            raise ArtefactError("the file is nested too deeply.")


def _texts(value: object) -> Iterator[str]:
    """Every text and key of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        yield from _texts(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


# What every character that is not printable, and half a character, is written with.
_UNUSUAL = re.compile(rb"\\[bfnrtu]|[\x7f-\xff]")
# A text that never ends goes to the end of the file: begun again at each of its quotes, the search
# would take the square of its length.
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.?)*+(?:"|\Z)', re.DOTALL)
_OTHER_BYTES = bytes(byte for byte in range(256) if byte not in b"[]{}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ArtefactError("the file has a key twice.")
    return found


def _no_constant(_: str) -> NoReturn:
    raise ArtefactError("the file has a number that is not finite.")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _no_constant(text)


def _short_integer(text: str) -> int:
    if len(text) > 20:
        raise ArtefactError("the file has a number that is too long.")
    return int(text)

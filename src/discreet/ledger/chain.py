r"""The hash chain: every entry names the hash of the one before it.

    hash(n) = SHA-256("discreet ledger entry 1\n" + canonical JSON of entry n)

Entry n contains its sequence number, the ledger's random identifier and hash(n - 1); hash(0) is
64 zeros.  So the head hash(n) commits to every entry up to n and to their order.  No clock enters:
clocks can be set back.  A chain alone cannot show that its end was cut off, which is why every
release prints the head of its reservation.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from discreet.errors import LedgerError

FORMAT = 1
"""Version of the entries and of the tables that hold them."""

_DOMAIN = b"discreet ledger entry 1\n"
_ZERO_HASH = "0" * 64
_HEAD = re.compile(r"([0-9a-f]{32}):([1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)
_LEDGER = re.compile(r"[0-9a-f]{32}", re.ASCII)
_MEMBERS = {"body", "kind", "ledger", "previous", "sequence"}


@dataclass(frozen=True)
class Head:
    """An entry's place in its chain; printed in a release as `ledger:sequence:hash`."""

    ledger: str
    sequence: int
    hash: str

    def __str__(self) -> str:
        return f"{self.ledger}:{self.sequence}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a printed head; anything else is a `LedgerError`."""
        match = _HEAD.fullmatch(text)
        if match is None:
            raise LedgerError("a ledger head is written identifier:sequence:hash; this is none.")
        return cls(match[1], int(match[2]), match[3])

    @classmethod
    def before_first(cls, ledger: str) -> Self:
        """The head of a chain that has no entry yet."""
        return cls(ledger, 0, _ZERO_HASH)


@dataclass(frozen=True)
class Row:
    """An entry as a backend stores it: nothing here is trusted before `read_entry`."""

    sequence: int
    content: str
    hash: str


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: its kind, its public body and where it stands in the chain."""

    kind: str
    body: dict[str, Any]
    previous: Head

    @property
    def sequence(self) -> int:
        """One more than the entry before."""
        return self.previous.sequence + 1

    @cached_property
    def content(self) -> str:
        """The canonical text that is hashed and stored."""
        members = {
            "body": self.body,
            "kind": self.kind,
            "ledger": self.previous.ledger,
            "previous": self.previous.hash,
            "sequence": self.sequence,
        }
        return canonical(members)

    @cached_property
    def head(self) -> Head:
        """The chain's head once this entry is its last."""
        return Head(self.previous.ledger, self.sequence, digest_of(self.content))

    @property
    def row(self) -> Row:
        """The entry as it is stored."""
        return Row(self.sequence, self.content, self.head.hash)

    @property
    def release_id(self) -> str | None:
        """The release the entry speaks of, for the backend's unique index."""
        value = self.body.get("release_id")
        return value if isinstance(value, str) else None


def canonical(value: Any) -> str:
    """The one JSON text of a value: keys sorted, no spaces, ASCII only, no NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def digest_of(content: str) -> str:
    """The entry hash of a canonical text."""
    return hashlib.sha256(_DOMAIN + content.encode("ascii")).hexdigest()


def read_entry(row: Row, previous: Head | None) -> Entry:
    """The stored entry, after its hash, its form and its link to `previous` were checked.

    `previous` is None for the first entry, which names the ledger itself.
    """
    try:
        content_hash = digest_of(row.content)
        members = json.loads(row.content)
        well_formed = set(members) == _MEMBERS and canonical(members) == row.content
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _broken(row.sequence, "cannot be read") from None
    if not well_formed or not isinstance(members["body"], dict):
        raise _broken(row.sequence, "is not in the form this ledger writes")
    if content_hash != row.hash:
        raise _broken(row.sequence, "was changed after it was written (its hash differs)")
    return _linked(row, members, previous)


def _linked(row: Row, members: dict[str, Any], previous: Head | None) -> Entry:
    before = previous or Head.before_first(str(members["ledger"]))
    if not _LEDGER.fullmatch(before.ledger):  # it is printed, and a reader parses it strictly
        raise _broken(row.sequence, "gives the ledger a name that no ledger has")
    if members["sequence"] != before.sequence + 1 or row.sequence != before.sequence + 1:
        raise _broken(before.sequence + 1, "is missing: the sequence has a gap there")
    if (members["ledger"], members["previous"]) != (before.ledger, before.hash):
        raise _broken(row.sequence, "does not follow the entry before it (broken chain)")
    entry = Entry(str(members["kind"]), members["body"], before)
    # checked above: no need to write and hash the entry again
    vars(entry).update(content=row.content, head=Head(before.ledger, row.sequence, row.hash))
    return entry


def _broken(sequence: int, what: str) -> LedgerError:
    return LedgerError(
        f"ledger entry {sequence} {what}. Nothing may be spent from this ledger: "
        "restore the newest undamaged copy and check it with `discreet budget verify`."
    )

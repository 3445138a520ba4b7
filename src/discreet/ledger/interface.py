"""The side of a ledger that a release sees: charge, draw once, record the published file.

    ledger.check(request)                      early, and again by reserve: does it fit?
    reservation = ledger.reserve(request)      charged, durably, before any data is read
    reservation.authorise_draw()               once, in the process that was charged
    ... read data, draw, write the release with reservation.head in it, rename into place ...
    ledger.settle(reservation, digest)         the SHA-256 of the published file

One charge permits one draw.  `reserve` is idempotent: the same release id with the same request
gives the same reservation and charges nothing more, but only the call that wrote the charge gets
the permission to draw.  A process that crashed has lost it for good, because it cannot be known how
far it came; trying again takes a new release id and a new charge.
"""

import os
import re
import threading
from dataclasses import dataclass, field
from typing import Final, NoReturn

from discreet.errors import LedgerError, SettingsError
from discreet.privacy.guarantee import Guarantee

UNCHARGED = "no ledger"
"""Printed in a release in place of a ledger head when it was charged to no budget."""

LONGEST_TEXT = 2000
_RELEASE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True)
class ReleaseRequest:
    """A release to charge, in public facts only.

    `private` is False for draws from a seeded generator; no ledger takes those.
    """

    release_id: str
    guarantee: Guarantee
    description: str = ""
    private: bool = True

    def __post_init__(self) -> None:
        """Raise `SettingsError` for a request that cannot be recorded."""
        if not _RELEASE_ID.fullmatch(self.release_id):
            raise SettingsError(
                "a release id has 1 to 100 letters, digits, dots, dashes and underscores "
                "and begins with a letter or a digit."
            )
        if len(self.description) > LONGEST_TEXT:
            raise SettingsError(f"a release's description has at most {LONGEST_TEXT} characters.")
        if not self.private:
            raise SettingsError(
                "a draw from a seeded generator is not private and is never charged to a budget."
            )


class DrawPermit:
    """The right to draw once, in the process and for the charge it was made for.

    It can be neither copied nor pickled, and a forked child cannot use its parent's: one charge
    would then pay for two draws.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._unused = True
        self._lock = threading.Lock()

    def use(self) -> None:
        """Use up the permit; a second use is an error."""
        with self._lock:
            usable = self._unused and self._process == os.getpid()
            self._unused = False
        if not usable:
            raise LedgerError(
                "one charge pays for one draw: this reservation's draw was used, or belongs to "
                "another process. Make a new reservation with a new release id."
            )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a permit to draw can be neither copied nor pickled.")


@dataclass(frozen=True)
class Reservation:
    """A charge that is durably recorded.

    `head` is the text to print in the release.  `digest` is that of the settled release, None
    while it is not settled.  `permit` is None when an earlier call made the charge.
    """

    release_id: str
    head: str
    population: str | None = None
    digest: str | None = None
    permit: DrawPermit | None = field(default=None, repr=False, compare=False)

    def authorise_draw(self) -> None:
        """Use the permit before the data are read; raise `LedgerError` unless the draw is paid."""
        if self.permit is None:
            state = "settled" if self.digest else "reserved by an earlier attempt"
            raise LedgerError(
                f"the release id is {state}, and one charge pays for one draw: an attempt that "
                "stopped may have published already. Use a new release id, which is a new charge."
            )
        self.permit.use()


class NullLedger:
    """A ledger without a budget: it admits every request and records nothing."""

    def __repr__(self) -> str:
        return "NO_LEDGER"

    def check(self, request: ReleaseRequest, *, least: bool = False) -> None:
        """Everything fits."""

    def reserve(self, request: ReleaseRequest) -> Reservation:
        """Return a reservation with the head "no ledger"."""
        return Reservation(request.release_id, UNCHARGED, permit=DrawPermit())

    def settle(self, reservation: Reservation, digest: str) -> None:  # noqa: ARG002  # a ledger's
        """Check the form of the digest."""
        require_digest(digest)


NO_LEDGER: Final = NullLedger()
"""Publishes without a budget when it is given in place of a ledger."""


def require_digest(digest: str) -> None:
    """Raise `LedgerError` unless the text is a SHA-256 digest in lower-case hexadecimal."""
    if not _DIGEST.fullmatch(digest):
        raise LedgerError("a release is settled with the SHA-256 digest of its file, in hex.")

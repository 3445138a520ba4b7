"""The privacy budget of a population, kept so that it cannot be overspent.

    ledger = open_ledger("registry.ledger")             a path, or a postgresql:// URL
    ledger.initialise("norway-births", epsilon=4)
    reservation = ledger.reserve(ReleaseRequest(release_id, guarantee, description))
    ...
    ledger.settle(reservation, digest)

Only `discreet.release` spends.  Proof: docs/proofs/ledger.md; load and faults: docs/reliability.md.
"""

from os import PathLike
from pathlib import Path

from discreet.errors import SettingsError
from discreet.ledger.book import Charge, Head, Statement
from discreet.ledger.interface import (
    NO_LEDGER,
    UNCHARGED,
    Ledger,
    NullLedger,
    ReleaseRequest,
    Reservation,
)
from discreet.ledger.location import PostgresLocation, is_postgres
from discreet.ledger.sqlite import SqliteStore
from discreet.ledger.stored import ReleaseClaim, Store, StoredLedger, Verification

__all__ = [
    "NO_LEDGER",
    "UNCHARGED",
    "Charge",
    "Head",
    "Ledger",
    "NullLedger",
    "OpenLedger",
    "ReleaseClaim",
    "ReleaseRequest",
    "Reservation",
    "Statement",
    "StoredLedger",
    "Verification",
    "open_ledger",
]

LOCK_TIMEOUT = 30.0
"""Seconds to wait for another process before failing closed."""


def open_ledger(location: str | PathLike[str], lock_timeout: float = LOCK_TIMEOUT) -> StoredLedger:
    """The ledger at a path or PostgreSQL URL; nothing is opened before it is used."""
    return OpenLedger(location, lock_timeout)


class OpenLedger(StoredLedger):
    """The privacy budget of a population, in a file or on a server.

    Nothing is opened before it is used.  `initialise` makes the ledger, `show` says what is spent
    and left, `verify` checks it; `SurvivalRegression.publish` spends from it.

    Parameters
    ----------
    location
        A path, or a ``postgresql://`` URL.
    lock_timeout
        Seconds to wait for another process before failing closed.

    Examples
    --------
    >>> ledger = ds.Ledger("budget.db")  # doctest: +SKIP
    >>> ledger.initialise("our patients", epsilon=4)  # doctest: +SKIP
    """

    def __init__(self, location: str | PathLike[str], lock_timeout: float = LOCK_TIMEOUT) -> None:
        if not lock_timeout > 0:
            raise SettingsError("the ledger's lock timeout must be a number of seconds above 0.")
        super().__init__(_store(location, lock_timeout))


def _store(location: str | PathLike[str], lock_timeout: float) -> Store:
    if isinstance(location, str) and is_postgres(location):
        from discreet.ledger.postgres import PostgresStore  # noqa: PLC0415  # optional

        return PostgresStore(PostgresLocation.parse(location), lock_timeout)
    return SqliteStore(Path(location), lock_timeout)

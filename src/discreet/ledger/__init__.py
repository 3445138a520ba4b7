"""The privacy budget of a population, kept so that it cannot be overspent.

    ledger = Ledger("registry.ledger")                  a path, or a postgresql:// URL
    ledger.initialise("norway-births", epsilon=4)
    reservation = ledger.reserve(ReleaseRequest(release_id, guarantee, description))
    ...
    ledger.settle(reservation, digest)

Only `discreet.release` spends.  Proof: docs/proofs/ledger.md; load and faults: docs/reliability.md.
"""

from discreet.ledger.book import Charge, Head, Statement
from discreet.ledger.interface import (
    NO_LEDGER,
    UNCHARGED,
    NullLedger,
    ReleaseRequest,
    Reservation,
)
from discreet.ledger.stored import Ledger, ReleaseClaim, Verification

Payer = Ledger | NullLedger
"""The payer of a release, which calls `check`, `reserve` and `settle`."""

__all__ = [
    "NO_LEDGER",
    "UNCHARGED",
    "Charge",
    "Head",
    "Ledger",
    "NullLedger",
    "Payer",
    "ReleaseClaim",
    "ReleaseRequest",
    "Reservation",
    "Statement",
    "Verification",
]

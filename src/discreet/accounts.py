"""The budget's ledger under the name that Python users call it by."""

from discreet.release import OpenLedger as Ledger

__all__ = ["Ledger"]

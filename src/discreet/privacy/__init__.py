"""Guarantees, exact noise and accounting; `ledger` spends, `testing` is for tests alone.

Nothing is imported here, so that reading a ledger does not load the samplers.
"""

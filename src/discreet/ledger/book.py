"""What the entries add up to: the budget, every charge, and what may still be spent."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

from discreet.errors import BudgetError, LedgerError
from discreet.ledger.budget import Budget
from discreet.ledger.chain import Entry, Head, Row, canonical, read_entry
from discreet.ledger.interface import ReleaseRequest
from discreet.privacy.accountant import Totals
from discreet.privacy.guarantee import Guarantee

INITIALISED = "initialised"
RESERVED = "reserved"
SETTLED = "settled"
ADOPTED = "adopted"


@dataclass(frozen=True)
class Charge:
    """One reservation and what became of it; `digest` is None while it is not settled."""

    head: Head
    request: ReleaseRequest
    digest: str | None = None


@dataclass
class Book:
    """The entries read so far, each checked against the one before it."""

    budget: Budget
    population: str
    place: str
    head: Head
    hashes: list[str] = field(default_factory=list)
    charges: dict[str, Charge] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)

    @classmethod
    def opened_with(cls, row: Row) -> Self:
        """The book of a ledger that has only its first entry."""
        entry = read_entry(row, None)
        if entry.kind != INITIALISED:
            raise LedgerError("the ledger does not begin with its budget: it is not a ledger.")
        try:
            budget = Budget.from_mapping(entry.body["budget"])
            population, place = str(entry.body["population"]), str(entry.body["place"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise _strange(entry) from None
        return cls(budget, population, place, entry.head, [entry.head.hash])

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Self:
        """The book of all rows, from the first."""
        remaining = iter(rows)
        first = next(remaining, None)
        if first is None:
            raise LedgerError("the ledger has no entries: its initialisation was interrupted.")
        book = cls.opened_with(first)
        book.extend(remaining)
        return book

    def extend(self, rows: Iterable[Row]) -> None:
        """Read further entries."""
        for row in rows:
            entry = read_entry(row, self.head)
            try:
                self._enter(entry)
            except (KeyError, TypeError, ValueError, OverflowError):
                raise _strange(entry) from None
            self.head = entry.head
            self.hashes.append(entry.head.hash)

    def contains(self, head: Head) -> bool:
        """Whether the chain went through `head`."""
        if head.ledger != self.head.ledger or head.sequence > len(self.hashes):
            return False
        return self.hashes[head.sequence - 1] == head.hash

    def next_entry(self, kind: str, body: dict[str, Any]) -> Entry:
        """The entry that would come next."""
        return Entry(kind, body, self.head)

    def admits(self, request: ReleaseRequest) -> bool:
        """Whether everything charged so far and the request fit the budget."""
        return self.budget.admits(self.totals, request.guarantee)

    def refusal(self, guarantee: Guarantee, *, least: bool = False) -> BudgetError:
        """What was asked (or the least that it could be) and what is left."""
        budget, totals = self.budget, self.totals
        asked = f"{'at least ' if least and guarantee.delta else ''}{guarantee.delta:g}"
        zcdp = f", or epsilon {budget.left_zcdp(totals):.15g} at delta {budget.delta:g} with zCDP"
        return BudgetError(
            f"the budget does not cover this release. Asked: epsilon {guarantee.epsilon:.15g}, "
            f"delta {asked}. Left: epsilon {budget.left_pure(totals):.15g} without "
            f"delta{zcdp if budget.delta_atto else ''}. Budget: epsilon {budget.epsilon:.15g}, "
            f"delta {budget.delta:g}. {_hint(budget, guarantee)}"
            "Nothing was charged and nothing was released."
        )

    def _enter(self, entry: Entry) -> None:
        if entry.kind == RESERVED:
            self._enter_charge(entry)
        elif entry.kind == SETTLED:
            self._enter_settlement(entry)
        elif entry.kind == ADOPTED:
            self.place = str(entry.body["place"])
        else:
            raise _strange(entry)

    def _enter_charge(self, entry: Entry) -> None:
        request = ReleaseRequest(
            entry.body["release_id"],
            _guarantee(canonical(entry.body["guarantee"])),
            entry.body["description"],
        )
        if request.release_id in self.charges:
            raise _strange(entry)
        self.totals = self.totals.plus(request.guarantee)
        self.charges[request.release_id] = Charge(entry.head, request)

    def _enter_settlement(self, entry: Entry) -> None:
        charge = self.charges[entry.body["release_id"]]
        if charge.digest is not None:
            raise _strange(entry)
        settled = replace(charge, digest=str(entry.body["digest"]))
        self.charges[charge.request.release_id] = settled


def _hint(budget: Budget, guarantee: Guarantee) -> str:
    if budget.delta_atto or not guarantee.delta:
        return ""
    return "The budget has no delta, so no release with one fits; --delta 0 asks for none. "


@lru_cache(maxsize=1024)
def _guarantee(content: str) -> Guarantee:
    """The guarantee of a charge; most ledgers hold many alike."""
    return Guarantee.from_mapping(json.loads(content))


def _strange(entry: Entry) -> LedgerError:
    return LedgerError(
        f"ledger entry {entry.sequence} is well linked but makes no sense: the ledger was written "
        "by something else than this package. Restore the newest copy that verifies."
    )

"""The ledger that remembers: one chain of entries over any backend.

Invariants (proved in docs/proofs/ledger.md):
    the composition of everything reserved never exceeds the budget;
    a draw is permitted only after its charge is durable, and once per charge;
    nothing is ever refunded, changed or deleted.
"""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from discreet.errors import LedgerError, SettingsError
from discreet.ledger import book as kinds
from discreet.ledger.book import Book, Charge
from discreet.ledger.budget import Amount, Budget
from discreet.ledger.chain import Entry, Head
from discreet.ledger.faults import with_consequence
from discreet.ledger.interface import (
    DrawPermit,
    ReleaseRequest,
    Reservation,
    require_digest,
)
from discreet.ledger.statement import Statement, statement_of
from discreet.ledger.store import Session, Store
from discreet.ledger.verification import (
    ReleaseClaim,
    Verification,
    lost_entries,
    require_newest,
    require_place,
    require_promise,
    verify_session,
)
from discreet.points import Point, reach

_LONGEST_POPULATION = 200


_NOT_CHARGED = "Nothing was charged and nothing was released."
_NOT_RELEASED = "No release was made; if the charge was recorded, it stays."
_NOT_SETTLED = "The release stands and is charged; it will be listed as never settled."


class StoredLedger:
    """The budget of one population, kept by a backend; `open_ledger` makes one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # what this thread has read already; plain data, so a fork or a thread harms nothing
        self._read = threading.local()

    def __repr__(self) -> str:
        return f"<ledger: {self.name}>"

    @property
    def name(self) -> str:
        """Where the ledger lives, as it may be printed."""
        return self._store.name

    def initialise(
        self,
        population: str,
        epsilon: Amount,
        delta: Amount = 0,
        relation: str = "replace-one",
        unit: str = "person",
    ) -> Head:
        """Declare the population and its budget, once; an existing ledger is never touched."""
        budget = Budget.of(epsilon, delta, relation, unit)
        if not 1 <= len(population) <= _LONGEST_POPULATION:
            raise SettingsError(f"a population's name has 1 to {_LONGEST_POPULATION} characters.")
        before = Head.before_first(secrets.token_hex(16))
        body = {"population": population, "budget": budget.to_mapping()}
        entry = self._store.create(
            population, lambda place: Entry(kinds.INITIALISED, {**body, "place": place}, before)
        )
        return entry.head

    def check(self, request: ReleaseRequest, *, least: bool = False) -> None:
        """`BudgetError` if the request does not fit what is left now; a known id is left to reserve.

        `least`: the request may turn out larger than this when the people are counted.
        """
        with with_consequence(_NOT_CHARGED), self._store.reading() as session:
            book = self._current(session)
        if request.release_id not in book.charges and not book.admits(request):
            raise book.refusal(request.guarantee, least=least)

    def reserve(self, request: ReleaseRequest) -> Reservation:
        """Charge the request; returns only after the charge is durable.

        `BudgetError` when it does not fit what is left, before anything is written.
        """
        reach(Point.RESERVE_ASKED)
        with with_consequence(_NOT_RELEASED), self._writing() as session:
            reach(Point.RESERVE_LOCKED)
            book = self._current(session)
            known = book.charges.get(request.release_id)
            if known is not None:
                return _repeated(book, known, request)
            entry = book.next_entry(kinds.RESERVED, _charge_body(request))
            admitted = book.admits(request)
            if admitted:
                _write(session, entry, _RESERVE_POINTS)
        if not admitted:  # working out what is left takes a while: not while others wait
            raise book.refusal(request.guarantee)
        return Reservation(
            request.release_id, str(entry.head), book.population, permit=DrawPermit()
        )

    def settle(self, reservation: Reservation, digest: str) -> None:
        """Record which file was published for the charge; again with the same digest is fine."""
        require_digest(digest)
        reach(Point.SETTLE_ASKED)
        with with_consequence(_NOT_SETTLED), self._writing() as session:
            reach(Point.SETTLE_LOCKED)
            book = self._current(session)
            charge = book.charges.get(reservation.release_id)
            if charge is None or str(charge.head) != reservation.head:
                raise LedgerError("this ledger holds no such reservation; nothing was settled.")
            if charge.digest == digest:
                return
            if charge.digest is not None:
                raise LedgerError("the release id is settled already, with another file.")
            body = {"release_id": reservation.release_id, "digest": digest}
            _write(session, book.next_entry(kinds.SETTLED, body), _SETTLE_POINTS)

    def show(self) -> Statement:
        """Budget, spending and every release."""
        with self._store.reading() as session:
            return statement_of(self._current(session))

    def verify(self, release: ReleaseClaim | None = None) -> Verification:
        """Check everything that can be checked: tables, chain, witness, place, budget, release."""
        with self._store.reading() as session:
            return verify_session(session, release)

    def adopt(self, head: Head) -> Head:
        """Make a restored or moved copy the ledger, given the head of its newest release.

        The head is the only evidence that the copy is the newest, so it must be in the chain.
        """
        with self._store.writing() as session:
            book = Book.of(session.rows(0))
            require_newest(session, book, head)
            entry = book.next_entry(kinds.ADOPTED, {"place": session.place})
            session.append(entry)
            session.commit()
            session.adopt(entry.head)
        return entry.head

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        """The write lock, taken after the past was read: nobody waits while it is checked."""
        if getattr(self._read, "book", None) is None:
            with self._store.reading() as session:
                self._current(session)
        with self._store.writing() as session:
            yield session

    def _current(self, session: Session) -> Book:
        """The book up to the newest entry, after the session proved to be its continuation."""
        promised = session.promised()  # before the rows: they may be newer than it, never older
        book = _continued(getattr(self._read, "book", None), session)
        require_place(session, book)
        require_promise(book, promised)
        self._read.book = book
        return book


_RESERVE_POINTS = (
    Point.RESERVE_APPENDED,
    Point.RESERVE_COMMITTED,
    Point.RESERVE_WITNESSED,
)
_SETTLE_POINTS = (Point.SETTLE_APPENDED, Point.SETTLE_COMMITTED, Point.SETTLE_WITNESSED)


def _write(session: Session, entry: Entry, points: tuple[Point, Point, Point]) -> None:
    appended, committed, witnessed = points
    session.append(entry)
    reach(appended)
    session.commit()
    reach(committed)
    session.promise(entry.head)
    reach(witnessed)


def _charge_body(request: ReleaseRequest) -> dict[str, Any]:
    return {
        "release_id": request.release_id,
        "guarantee": request.guarantee.to_mapping(),
        "description": request.description,
    }


def _repeated(book: Book, known: Charge, request: ReleaseRequest) -> Reservation:
    """The reservation that is there already, without the permission to draw."""
    if known.request != request:
        raise LedgerError(
            "the release id is taken by another request; ids are never reused. Nothing was charged."
        )
    return Reservation(request.release_id, str(known.head), book.population, known.digest)


def _continued(book: Book | None, session: Session) -> Book:
    """The book with what was appended since; the entry it ended with must still be there."""
    if book is None:
        return Book.of(session.rows(0))
    rows = list(session.rows(book.head.sequence - 1))
    if not rows or rows[0].hash != book.head.hash:
        raise lost_entries(book.head)
    book.extend(rows[1:])
    return book

"""A ledger: one chain of entries over either backend.

Invariants (proved in docs/proofs/ledger.md):
    the composition of everything reserved never exceeds the budget;
    a draw is permitted only after its charge is durable, and once per charge;
    nothing is ever refunded, changed or deleted.

A backend keeps rows in order, with one writer at a time, durably.

A chain proves that nothing inside it was changed.  It cannot prove that its end is still there:
for that something outside the ledger must remember a later head.  Three things do: the witness
file, the recorded place of the ledger, and the head printed in every release.
"""

import re
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from discreet.errors import LedgerError, SettingsError
from discreet.ledger import book as kinds
from discreet.ledger.book import (
    Amount,
    Book,
    Budget,
    Entry,
    Head,
    Statement,
    place_text,
    same_place,
)
from discreet.ledger.faults import with_consequence
from discreet.ledger.interface import (
    DrawPermit,
    ReleaseRequest,
    Reservation,
    require_digest,
)
from discreet.ledger.postgres import (
    POSTGRES_URLS,
    PostgresSession,
    PostgresStore,
)
from discreet.ledger.sqlite import SqliteSession, SqliteStore
from discreet.points import ReleasePoint, reach
from discreet.privacy.guarantee import Guarantee

Result = TypeVar("Result")

Session = SqliteSession | PostgresSession
"""An open connection; if it is writing, no other process can append before `commit`.

Sessions are short: one connection for one operation.  Nothing is held open while a fit runs for
hours, nothing is inherited by a forked child, and a restarted server is not a special case.
Leaving one without `commit` changes nothing; after `commit` what was appended survives a crash of
process, server and machine.
"""
Store = SqliteStore | PostgresStore
"""A backend: creates the tables once, then hands out sessions."""


@dataclass(frozen=True)
class ReleaseClaim:
    """The charge that a release prints; `digest` is the SHA-256 of its file."""

    release_id: str
    head: Head
    guarantee: Guarantee | None = None
    digest: str | None = None


@dataclass(frozen=True)
class Verification:
    """The result of a verification; `head` is None when the chain could not be read."""

    head: Head | None
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """True if there are no problems."""
        return not self.problems


def require_place(session: Session, book: Book) -> None:
    """Raise `LedgerError` for a copy of the ledger that was initialised or adopted."""
    if not same_place(book.place, session.place):
        raise LedgerError(
            "this is a copy: the ledger was last used at another place (another file, file system, "
            "machine, server or timeline). Two copies would spend one budget twice. Use the original; if "
            "it is gone for good, `discreet budget adopt` with the newest release takes this over."
        )


def require_promise(book: Book, promised: Head | None) -> None:
    """Raise `LedgerError` when the chain does not contain a head that was promised."""
    if promised is not None and not book.contains(promised):
        raise lost_entries(promised, book.head)


def require_release(book: Book, release: ReleaseClaim | None) -> None:
    """Raise `LedgerError` unless the release was charged to the entry whose head it prints."""
    if release is None:
        return
    if release.head.ledger != book.head.ledger:
        raise LedgerError("the release was charged to another ledger than this one.")
    require_promise(book, release.head)
    charge = book.charges.get(release.release_id)
    if charge is None or charge.head != release.head:
        raise LedgerError("the ledger entry the release prints is not this release's charge.")
    if release.guarantee not in {None, charge.request.guarantee}:
        raise LedgerError("the release claims another guarantee than it was charged for.")
    if charge.digest is not None and release.digest not in {None, charge.digest}:
        raise LedgerError("the release file is not the one that was settled: it was changed.")


def lost_entries(promised: Head, found: Head | None = None) -> LedgerError:
    """Return the error of a promised head that is not in the ledger."""
    there = "" if found is None else f"; the newest entry here is {found.sequence}"
    return LedgerError(
        f"ledger entry {promised.sequence} (hash {promised.hash[:12]}...) was promised and is not "
        f"in this ledger{there}. It was rolled back, cut off, or is an old or diverged copy, and "
        "charges are missing. Put back the newest copy with all its files; until then nothing "
        "can be spent."
    )


_LONGEST_POPULATION = 200

USUAL_DELTA = "1e-6"
"""Default delta of a budget and of the default mechanism."""

LOCK_TIMEOUT = 30.0
"""Seconds to wait for another process before failing closed."""

_NO_PATH = re.compile(
    r"[a-z][\w+.-]+:[/\\]|^[^/\\:]+:[^/\\]+@|\b(host\w*|user|dbname|\w*pass\w*)\s*=", re.IGNORECASE
)
"""Other addresses and settings of a server: as a path they would name a file after a password."""

_NOT_CHARGED = "Nothing was charged and nothing was released."
_NOT_RELEASED = "No release was made; if the charge was recorded, it stays."
_NOT_SETTLED = "The release stands and is charged; it will be listed as never settled."


class Ledger:
    """The privacy budget of a population, in a file or on a server.

    Nothing is opened before it is used.  `initialise` makes the ledger, `show` returns what is spent
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
        self._store: Store
        if isinstance(location, str) and location.lower().startswith(POSTGRES_URLS):
            self._store = PostgresStore(location, lock_timeout)
        elif _NO_PATH.search(str(location)):
            raise SettingsError(
                "a ledger is the path of a file, or a URL that begins with postgresql and ://."
            )
        else:
            self._store = SqliteStore(Path(location), lock_timeout)
        # what this thread has read already; plain data, so a fork or a thread harms nothing
        self._read = threading.local()

    def __repr__(self) -> str:
        return f"<ledger: {self.name}>"

    @property
    def name(self) -> str:
        """The location, without a password."""
        return self._store.name

    def initialise(
        self,
        population: str,
        epsilon: Amount,
        delta: Amount = USUAL_DELTA,
        relation: str = "replace-one",
        unit: str = "person",
    ) -> Head:
        """Declare the population and its budget, once; an existing ledger is never touched.

        Parameters
        ----------
        population
            The persons that the budget protects, in words.
        epsilon
            The total that may ever be spent.
        delta
            The budget's delta; 0 admits only releases without delta.
        relation
            The neighbouring relation that is counted.
        unit
            The protected unit: a person.

        Returns
        -------
        Head
            The head of the new ledger.

        Raises
        ------
        SettingsError
            The budget or the name is not valid.
        LedgerError
            There is a ledger, or part of one, already.
        """
        budget = Budget.of(epsilon, delta, relation, unit)
        if not 1 <= len(population) <= _LONGEST_POPULATION:
            raise SettingsError(f"a population's name has 1 to {_LONGEST_POPULATION} characters.")
        before = Head.before_first(secrets.token_hex(16))
        body = {"population": population, "budget": budget.to_mapping()}
        entry = self._store.create(
            population,
            lambda place: Entry(kinds.INITIALISED, {**body, "place": place_text(place)}, before),
        )
        return entry.head

    def check(self, request: ReleaseRequest, *, least: bool = False) -> None:
        """Raise `BudgetError` if the request does not fit what is left; `reserve` judges a known id.

        Parameters
        ----------
        request
            The release to charge.
        least
            The request may cost more than this once the persons are counted.
        """
        with with_consequence(_NOT_CHARGED), self._store.session(write=False) as session:
            book = self._current(session)
        if request.release_id not in book.charges and not book.admits(request):
            raise book.refusal(request.guarantee, least=least)

    def reserve(self, request: ReleaseRequest) -> Reservation:
        """Charge the request; returns only after the charge is durable.

        Raises `BudgetError` before anything is written when it does not fit what is left.

        Parameters
        ----------
        request
            The release to charge.
        """
        reach(ReleasePoint.RESERVE_ASKED)
        with with_consequence(_NOT_RELEASED), self._writing() as session:
            reach(ReleasePoint.RESERVE_LOCKED)
            book = self._current(session)
            known = book.charges.get(request.release_id)
            if known is not None:  # the call that wrote the charge got the permission to draw
                if known.request != request:
                    raise LedgerError(
                        "the release id is taken by another request; ids are never reused. "
                        "Nothing was charged."
                    )
                head = str(known.head)
                return Reservation(request.release_id, head, book.population, known.digest)
            admitted = book.admits(request)
            if admitted:
                body = {
                    "release_id": request.release_id,
                    "guarantee": request.guarantee.to_mapping(),
                    "description": request.description,
                }
                written = _write(session, book, kinds.RESERVED, body)
        if not admitted:  # computing what is left takes a while: not while others wait
            raise book.refusal(request.guarantee)
        return Reservation(request.release_id, str(written), book.population, permit=DrawPermit())

    def settle(self, reservation: Reservation, digest: str) -> None:
        """Record the published file of the charge; repeating it with the same digest is harmless.

        Parameters
        ----------
        reservation
            The charge.
        digest
            SHA-256 of the published file.
        """
        require_digest(digest)
        reach(ReleasePoint.SETTLE_ASKED)
        with with_consequence(_NOT_SETTLED), self._writing() as session:
            reach(ReleasePoint.SETTLE_LOCKED)
            book = self._current(session)
            charge = book.charges.get(reservation.release_id)
            if charge is None or str(charge.head) != reservation.head:
                raise LedgerError("this ledger holds no such reservation; nothing was settled.")
            if charge.digest == digest:
                return
            if charge.digest is not None:
                raise LedgerError("the release id is settled already, with another file.")
            body = {"release_id": reservation.release_id, "digest": digest}
            _write(session, book, kinds.SETTLED, body)

    def show(self) -> Statement:
        """Return the budget, what is spent and left, and every release."""
        with self._store.session(write=False) as session:
            return Statement.of(self._current(session))

    def verify(self, release: ReleaseClaim | None = None) -> Verification:
        """Check tables, chain, witness, place, budget and release; return every problem.

        Parameters
        ----------
        release
            A release whose charge must be in this ledger.
        """
        with self._store.session(write=False) as session:
            problems = session.inspect()

            def tried(check: Callable[..., Result], *arguments: Any) -> Result | None:
                try:
                    return check(*arguments)
                except LedgerError as problem:
                    problems.append(str(problem))
                    return None

            promised = tried(session.promised)
            book = tried(Book.of, session.rows(0))
            if book is None:
                return Verification(None, tuple(problems))
            tried(require_place, session, book)
            tried(require_promise, book, promised)
            tried(require_release, book, release)
            if not book.budget.filter.covers(book.totals):
                problems.append("more was charged than the budget allows.")
        notes = [
            f"entry {sequence} added parts to the recorded place of the ledger; a copy made before "
            "it may have done so too: verify with the newest release."
            for sequence in book.placed
        ]
        if list(book.place) == ["inode"]:
            notes.append(
                "the recorded place of this ledger is its inode alone, as before version 0.3 or on "
                "a system that knows no more: a copy elsewhere may have the same inode."
            )
        if release is not None and release.release_id in book.charges:
            settled = book.charges[release.release_id].digest is not None
            never = "but was never settled: its process stopped before the end"
            notes.append(f"the release is charged {'and settled' if settled else never}.")
        return Verification(book.head, tuple(problems), tuple(notes))

    def adopt(self, head: Head) -> Head:
        """Make a restored or moved copy the ledger, given the head of its newest release.

        The head is the only evidence that the copy is the newest, so it must be in the chain.

        Parameters
        ----------
        head
            The head printed in the newest release.
        """
        with self._store.session(write=True) as session:
            book, promised = Book.of(session.rows(0)), None
            require_promise(book, head)
            with suppress(LedgerError):  # without a witness the release's head is the evidence
                promised = session.promised()
            require_promise(book, promised)
            entry = Entry(kinds.ADOPTED, {"place": place_text(session.place)}, book.head)
            session.append(entry)
            session.commit()
            session.adopt(entry.head)
        return entry.head

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        """Take the write lock after the past was read: other writers need not wait for that."""
        if getattr(self._read, "book", None) is None:
            with self._store.session(write=False) as session:
                self._current(session)
        with self._store.session(write=True) as session:
            yield session

    def _current(self, session: Session) -> Book:
        """Return the book up to the newest entry, after checking place and witness."""
        promised = session.promised()  # before the rows: they may be newer than it, never older
        book: Book | None = getattr(self._read, "book", None)
        if book is None:
            book = Book.of(session.rows(0))
        else:  # the entry it ended with must still be there
            rows = list(session.rows(book.head.sequence - 1))
            if not rows or rows[0].hash != book.head.hash:
                raise lost_entries(book.head)
            book.extend(rows[1:])
        require_place(session, book)
        require_promise(book, promised)
        self._read.book = book
        return book


def _write(session: Session, book: Book, kind: str, body: dict[str, Any]) -> Head:
    """Append the entry durably, after new parts of the place in the same transaction."""
    stage, previous = "RESERVE" if kind == kinds.RESERVED else "SETTLE", book.head
    if not session.place.keys() <= book.place.keys():
        place = place_text({**book.place, **session.place})
        placed = Entry(kinds.PLACED, {"place": place}, previous)
        session.append(placed)
        previous = placed.head
    entry = Entry(kind, body, previous)
    session.append(entry)
    reach(ReleasePoint[f"{stage}_APPENDED"])
    session.commit()
    reach(ReleasePoint[f"{stage}_COMMITTED"])
    session.promise(entry.head)
    reach(ReleasePoint[f"{stage}_WITNESSED"])
    return entry.head

"""Whether a ledger is whole, the newest, and the one that a release was charged to.

A chain proves that nothing inside it was changed.  It cannot prove that its end is still there:
that needs something outside the ledger which remembers a later head.  Three things do: the witness
file, the place the ledger last lived at, and the head printed in every release.
"""

from collections.abc import Callable
from dataclasses import dataclass

from discreet.errors import LedgerError
from discreet.ledger.book import Book
from discreet.ledger.chain import Head
from discreet.ledger.store import Session
from discreet.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class ReleaseClaim:
    """What a release says of its charge; `digest` is the SHA-256 of its file."""

    release_id: str
    head: Head
    guarantee: Guarantee | None = None
    digest: str | None = None


@dataclass(frozen=True)
class Verification:
    """What was found; the ledger can be trusted when there are no problems.

    `head` is None when the chain itself could not be read.
    """

    head: Head | None
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify_session(session: Session, release: ReleaseClaim | None) -> Verification:
    """Everything that can be checked from outside, every problem named."""
    problems = session.inspect()
    try:
        promised = session.promised()
    except LedgerError as problem:
        problems, promised = [*problems, str(problem)], None
    try:
        book = Book.of(session.rows(0))
    except LedgerError as problem:
        return Verification(None, (*problems, str(problem)))
    problems += _failures(
        lambda: require_place(session, book),
        lambda: require_promise(book, promised),
        lambda: _require_budget(book),
        lambda: require_release(book, release),
    )
    return Verification(book.head, tuple(problems), tuple(_notes(book, release)))


def require_place(session: Session, book: Book) -> None:
    """`LedgerError` when the ledger is a copy of the one that was initialised or adopted."""
    if session.place != book.place:
        raise LedgerError(
            "this is a copy: the ledger was last used at another place (another file, file system, "
            "server or timeline). Two copies would spend one budget twice. Use the original; if "
            "it is gone for good, `discreet budget adopt` with the newest release takes this over."
        )


def require_promise(book: Book, promised: Head | None) -> None:
    """`LedgerError` when the chain does not contain what the witness was promised."""
    if promised is not None and not book.contains(promised):
        raise lost_entries(promised, book.head)


def require_newest(session: Session, book: Book, head: Head) -> None:
    """`LedgerError` unless the copy holds everything that is known to have been promised."""
    if not book.contains(head):
        raise lost_entries(head, book.head)
    try:
        promised = session.promised()
    except LedgerError:
        return  # no witness survived: the release's head is the evidence
    require_promise(book, promised)


def require_release(book: Book, release: ReleaseClaim | None) -> None:
    """`LedgerError` unless the release was charged here, to the very entry it prints."""
    if release is None:
        return
    if release.head.ledger != book.head.ledger:
        raise LedgerError("the release was charged to another ledger than this one.")
    if not book.contains(release.head):
        raise lost_entries(release.head, book.head)
    charge = book.charges.get(release.release_id)
    if charge is None or charge.head != release.head:
        raise LedgerError("the ledger entry the release prints is not this release's charge.")
    if release.guarantee not in {None, charge.request.guarantee}:
        raise LedgerError("the release claims another guarantee than it was charged for.")
    if charge.digest is not None and release.digest not in {None, charge.digest}:
        raise LedgerError("the release file is not the one that was settled: it was changed.")


def lost_entries(promised: Head, found: Head | None = None) -> LedgerError:
    """What to say when a head that was promised is not in the ledger."""
    there = "" if found is None else f"; the newest entry here is {found.sequence}"
    return LedgerError(
        f"ledger entry {promised.sequence} (hash {promised.hash[:12]}...) was promised and is not "
        f"in this ledger{there}. It was rolled back, cut off, or is an old or diverged copy, and "
        "charges are missing. Put back the newest copy with all its files; until then nothing "
        "can be spent."
    )


def _require_budget(book: Book) -> None:
    if not book.budget.covers(book.totals):
        raise LedgerError("more was charged than the budget allows.")


def _notes(book: Book, release: ReleaseClaim | None) -> list[str]:
    if release is None or release.release_id not in book.charges:
        return []
    charge = book.charges[release.release_id]
    if charge.digest is None:
        return ["the release is charged but was never settled: its process stopped before the end."]
    return ["the release is charged and settled."]


def _failures(*checks: Callable[[], None]) -> list[str]:
    problems = []
    for check in checks:
        try:
            check()
        except LedgerError as problem:
            problems.append(str(problem))
    return problems

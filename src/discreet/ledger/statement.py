"""What a custodian is shown: the budget, what is left of it, and every release."""

from dataclasses import dataclass
from typing import Literal

from discreet.ledger.book import Book, Charge
from discreet.ledger.budget import Budget
from discreet.ledger.chain import Head
from discreet.ledger.interface import ReleaseRequest
from discreet.privacy.guarantee import Status

State = Literal["settled", "reserved, never settled"]


@dataclass(frozen=True)
class Line:
    """One release; "reserved, never settled" is a charge whose process is running or died."""

    sequence: int
    request: ReleaseRequest
    digest: str | None

    @property
    def state(self) -> State:
        """Whether a published file is known."""
        return "reserved, never settled" if self.digest is None else "settled"

    @property
    def status(self) -> Status:
        """What is proved, from best to worst: see `discreet.privacy.guarantee.Status`."""
        return self.request.guarantee.status


@dataclass(frozen=True)
class Statement:
    """The ledger at one head.

    `left_pure` is the largest epsilon of a further release without delta, `left_zcdp` that of one
    with Gaussian noise at the budget's delta (0 for a budget without delta).  `spent` is the part
    that is used up, as seen by a further release like the last one, of which `more` still fit.
    """

    population: str
    budget: Budget
    left_pure: float
    left_zcdp: float
    lines: tuple[Line, ...]
    head: Head
    spent: float = 0.0
    more: int | None = None

    @property
    def proved(self) -> tuple[Line, ...]:
        """Releases whose guarantee is proved."""
        return self._of("proved")

    @property
    def conditional(self) -> tuple[Line, ...]:
        """Releases whose proof rests on an assumption that is tested and not proved."""
        return self._of("conditional")

    @property
    def ideal_draw_only(self) -> tuple[Line, ...]:
        """Releases charged as if their sampler were a perfect draw; shown apart."""
        return self._of("ideal-draw-only")

    @property
    def unproved(self) -> tuple[Line, ...]:
        """Releases by an algorithm without a valid proof; what they are charged means little."""
        return self._of("unproved")

    @property
    def unsettled(self) -> tuple[Line, ...]:
        """Charges without a known release."""
        return tuple(line for line in self.lines if line.digest is None)

    def _of(self, status: Status) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.status == status)


def statement_of(book: Book) -> Statement:
    """The statement of a ledger that was read to its end."""
    last = next(reversed(book.charges.values()), None)
    guarantee = None if last is None else last.request.guarantee
    return Statement(
        population=book.population,
        budget=book.budget,
        left_pure=book.budget.left_pure(book.totals),
        left_zcdp=book.budget.left_zcdp(book.totals),
        lines=tuple(_line(charge) for charge in book.charges.values()),
        head=book.head,
        spent=0.0 if guarantee is None else book.budget.spent_share(book.totals, guarantee),
        more=None if guarantee is None else book.budget.more_like(book.totals, guarantee),
    )


def _line(charge: Charge) -> Line:
    return Line(charge.head.sequence, charge.request, charge.digest)

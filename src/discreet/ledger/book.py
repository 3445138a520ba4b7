r"""The entries of a ledger, read into its budget and its charges.

Entries form a hash chain:

    hash(n) = SHA-256("discreet ledger entry 1\n" + canonical JSON of entry n)

Entry n contains its sequence number, the ledger's random identifier and hash(n - 1); hash(0) is
64 zeros.  So the head hash(n) commits to every entry up to n and to their order.  No clock enters:
clocks can be set back.  A chain alone cannot show that its end was cut off, which is why every
release prints the head of its reservation.

Epsilon is kept in billionths (1e-9) and delta in units of 1e-18, so 0.1 and 1e-6 are exact.
`discreet.privacy.accountant` composes the charges and decides whether one more fits; its proof
allows each request to depend on all earlier releases.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, Self, get_args

from discreet.errors import ArtefactError, BudgetError, LedgerError, SettingsError
from discreet.ledger.interface import ReleaseRequest
from discreet.privacy.accountant import PrivacyFilter, Totals
from discreet.privacy.guarantee import USUAL_DELTA, Guarantee, Relation, Status, Unit
from discreet.privacy.scales import exact
from discreet.text import at_most

Place = Mapping[str, str]
"""The place of a ledger: parts by name, such as its inode and the identity of its file system."""

_DOMAIN = b"discreet ledger entry 1\n"
_ZERO_HASH = "0" * 64
_HEAD = re.compile(r"([0-9a-f]{32}):([1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)
_LEDGER = re.compile(r"[0-9a-f]{32}", re.ASCII)
_MEMBERS = {"body", "kind", "ledger", "previous", "sequence"}


@dataclass(frozen=True)
class Head:
    """An entry's place in its chain; printed in a release as `ledger:sequence:hash`."""

    ledger: str
    sequence: int
    hash: str

    def __str__(self) -> str:
        return f"{self.ledger}:{self.sequence}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a printed head; raise `LedgerError` for any other text."""
        match = _HEAD.fullmatch(text)
        if match is None:
            raise LedgerError(
                "this is not a ledger head, which has the form identifier:sequence:hash."
            )
        return cls(match[1], int(match[2]), match[3])

    @classmethod
    def before_first(cls, ledger: str) -> Self:
        """Return the head of a chain without entries."""
        return cls(ledger, 0, _ZERO_HASH)


@dataclass(frozen=True)
class LedgerRow:
    """An entry as a backend stores it, unchecked before `read_entry`."""

    sequence: int
    content: str
    hash: str


@dataclass(frozen=True)
class Entry:
    """An entry: its kind, its public body and the head of the chain before it."""

    kind: str
    body: dict[str, Any]
    previous: Head

    @property
    def sequence(self) -> int:
        """The entry's number, from 1."""
        return self.previous.sequence + 1

    @cached_property
    def content(self) -> str:
        """The canonical text that is hashed and stored."""
        members = {
            "body": self.body,
            "kind": self.kind,
            "ledger": self.previous.ledger,
            "previous": self.previous.hash,
            "sequence": self.sequence,
        }
        return canonical(members)

    @cached_property
    def head(self) -> Head:
        """The chain's head once this entry is its last."""
        return Head(self.previous.ledger, self.sequence, digest_of(self.content))

    @property
    def release_id(self) -> str | None:
        """The entry's release, for the backend's unique index."""
        value = self.body.get("release_id")
        return value if isinstance(value, str) else None


def canonical(value: Any) -> str:
    """Return the value as JSON with sorted keys and no spaces, in ASCII, without NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def digest_of(content: str) -> str:
    """Return the hash of an entry with this canonical text."""
    return hashlib.sha256(_DOMAIN + content.encode("ascii")).hexdigest()


def read_entry(row: LedgerRow, previous: Head | None) -> Entry:
    """Return a stored entry; raise `LedgerError` unless hash, form and link to `previous` are right.

    `previous` is None for the first entry, which names the ledger.
    """
    try:
        content_hash = digest_of(row.content)
        members = json.loads(row.content)
        well_formed = set(members) == _MEMBERS and canonical(members) == row.content
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _broken(row.sequence, "cannot be read") from None
    if not well_formed or not isinstance(members["body"], dict):
        raise _broken(row.sequence, "is not in the form this ledger writes")
    if content_hash != row.hash:
        raise _broken(row.sequence, "was changed after it was written (its hash differs)")
    before = previous or Head.before_first(str(members["ledger"]))
    if not _LEDGER.fullmatch(before.ledger):  # it is printed, and a reader parses it strictly
        raise _broken(row.sequence, "has a ledger identifier that is not valid")
    if members["sequence"] != before.sequence + 1 or row.sequence != before.sequence + 1:
        raise _broken(before.sequence + 1, "is missing: the sequence has a gap there")
    if (members["ledger"], members["previous"]) != (before.ledger, before.hash):
        raise _broken(row.sequence, "does not follow the entry before it (broken chain)")
    entry = Entry(str(members["kind"]), members["body"], before)
    # checked above: no need to write and hash the entry again
    vars(entry).update(content=row.content, head=Head(before.ledger, row.sequence, row.hash))
    return entry


def _broken(sequence: int, what: str) -> LedgerError:
    return LedgerError(
        f"ledger entry {sequence} {what}. Nothing may be spent from this ledger: "
        "restore the newest undamaged copy and check it with `discreet budget verify`."
    )


NANO = 10**9
ATTO = 10**18

Amount = int | float | str | Decimal
"""A decimal number: 0.1 and "0.1" both mean one tenth."""


@dataclass(frozen=True)
class Budget:
    """The total epsilon and delta of a population, under one neighbouring relation."""

    epsilon_nano: int
    delta_atto: int
    relation: Relation = "replace-one"
    unit: Unit = "person"

    def __post_init__(self) -> None:
        """Raise `SettingsError` unless the numbers are exact and the relation is known."""
        whole = all(type(number) is int for number in (self.epsilon_nano, self.delta_atto))
        if not whole or self.epsilon_nano < 1:
            raise SettingsError("a budget's epsilon must be a finite number greater than 0.")
        if not 0 <= self.delta_atto < ATTO:
            raise SettingsError("a budget's delta must be at least 0 and less than 1.")
        epsilon, delta = exact(self.epsilon) * NANO, exact(self.delta) * ATTO
        if epsilon != self.epsilon_nano or delta != self.delta_atto:
            raise SettingsError("a budget's epsilon and delta have at most 15 significant digits.")
        if self.relation not in get_args(Relation) or self.unit not in get_args(Unit):
            raise SettingsError(
                f"a budget counts {' or '.join(get_args(Relation))} guarantees per person."
            )

    def __repr__(self) -> str:
        numbers = f"epsilon={self.epsilon:.15g}, delta={self.delta:g}"
        return f"Budget({numbers}, {self.relation}, per {self.unit})"

    @classmethod
    def of(cls, epsilon: Amount, delta: Amount, relation: str, unit: str) -> Self:
        """Return the budget with these decimal numbers."""
        counts = []
        for name, amount, per_one in (("epsilon", epsilon, NANO), ("delta", delta, ATTO)):
            try:
                value = Fraction(Decimal(repr(amount) if isinstance(amount, float) else amount))
            except (InvalidOperation, TypeError, ValueError, OverflowError):
                raise SettingsError(f"a budget's {name} must be a finite number.") from None
            if per_one % value.denominator:
                raise SettingsError(f"a budget's {name} must be a multiple of {1 / per_one:g}.")
            counts.append(int(value * per_one))
        return cls(counts[0], counts[1], relation, unit)  # type: ignore[arg-type]  # checked there

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Read what `to_mapping` wrote."""
        if set(mapping) != {item.name for item in fields(cls)}:
            raise ArtefactError("a budget has exactly the keys that this version writes.")
        return cls(**mapping)

    def to_mapping(self) -> dict[str, Any]:
        """Return the budget as a JSON object of integers and words."""
        return asdict(self)

    @property
    def epsilon(self) -> float:
        """The budget's epsilon."""
        return self.epsilon_nano / NANO

    @property
    def delta(self) -> float:
        """The budget's delta."""
        return self.delta_atto / ATTO

    @cached_property
    def filter(self) -> PrivacyFilter:
        """The filter that decides whether a request fits, and what is left."""
        return PrivacyFilter(self.epsilon, self.delta, self.relation)

    def admits(self, spent: Totals, request: Guarantee) -> bool:
        """Return whether the request fits on top of what is spent (all that is left fits)."""
        if (request.relation, request.unit) != (self.relation, self.unit):
            raise SettingsError(
                f"this ledger counts {self.relation} guarantees per {self.unit}; "
                "a release under another relation cannot be charged to it."
            )
        return self.filter.admits(spent, request)


INITIALISED = "initialised"
RESERVED = "reserved"
SETTLED = "settled"
ADOPTED = "adopted"
PLACED = "placed"
"""Adds parts to the recorded place; only an adoption changes a part."""

_MAY_BE_UNKNOWN = {"file system", "machine"}


def place_text(place: Place) -> str:
    """Return the place as an entry stores it: `inode 12, birth 1700000000000000000`."""
    return ", ".join(f"{name} {value}" for name, value in place.items())


def place_parts(text: str) -> Place:
    """Read what `place_text` wrote; before 0.3 the place of a file was its inode alone."""
    pairs = (part.rpartition(" ") for part in text.split(", "))
    return {name: value for name, _, value in pairs}


def same_place(recorded: Place, found: Place) -> bool:
    """Return whether every recorded part is found and equal.

    File system and machine may be missing, because a container may not know them; if they are
    found they must be equal.
    """
    return all(
        found.get(name) == value or (name in _MAY_BE_UNKNOWN and name not in found)
        for name, value in recorded.items()
    )


State = Literal["settled", "reserved, never settled"]


@dataclass(frozen=True)
class Charge:
    """A reservation, with the digest of its published file once it is settled.

    "reserved, never settled" is a charge whose process is running or died.
    """

    head: Head
    request: ReleaseRequest
    digest: str | None = None

    @property
    def state(self) -> State:
        """The state in words."""
        return "reserved, never settled" if self.digest is None else "settled"


@dataclass
class Book:
    """The sum of the entries read so far, each checked against the one before it."""

    budget: Budget
    population: str
    place: Place
    head: Head
    hashes: list[str] = field(default_factory=list)
    charges: dict[str, Charge] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    placed: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Iterable[LedgerRow]) -> Self:
        """Read all rows, from the first."""
        remaining = iter(rows)
        first = next(remaining, None)
        if first is None:
            raise LedgerError("the ledger has no entries: its initialisation was interrupted.")
        entry = read_entry(first, None)
        if entry.kind != INITIALISED:
            raise LedgerError("the ledger does not begin with its budget: it is not a ledger.")
        try:
            budget = Budget.from_mapping(entry.body["budget"])
            population, place = str(entry.body["population"]), _place_in(entry)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise _strange(entry) from None
        book = cls(budget, population, place, entry.head, [entry.head.hash])
        book.extend(remaining)
        return book

    def extend(self, rows: Iterable[LedgerRow]) -> None:
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
        """Return whether `head` is the head of an entry of the chain."""
        if head.ledger != self.head.ledger or head.sequence > len(self.hashes):
            return False
        return self.hashes[head.sequence - 1] == head.hash

    def admits(self, request: ReleaseRequest) -> bool:
        """Return whether all charges and the request fit the budget."""
        return self.budget.admits(self.totals, request.guarantee)

    def refusal(self, guarantee: Guarantee, *, least: bool = False) -> BudgetError:
        """Return the error of a request that does not fit; `least`: persons will set delta."""
        budget, left = self.budget, _left(self.budget, *_most(self.budget, self.totals))
        asked = f"{guarantee.delta:g}"
        if least and guarantee.delta:
            asked = f"by the number of persons ({USUAL_DELTA:g} unless they are many)"
        hint = (
            "The budget has no delta, so no release with one fits: ask for delta 0 "
            "(--delta 0, or delta=0 of the mechanism). "
        )
        return BudgetError(
            f"the budget does not cover this release. Asked: epsilon {guarantee.epsilon:.15g}, "
            f"delta {asked}. Left for one more release: {', or instead '.join(left)}. "
            f"Budget: epsilon {budget.epsilon:.15g}, delta {budget.delta:g}. "
            f"{hint if guarantee.delta and not budget.delta_atto else ''}"
            "Nothing was charged and nothing was released."
        )

    def _enter(self, entry: Entry) -> None:
        if entry.kind == RESERVED:
            request = ReleaseRequest(
                entry.body["release_id"],
                _guarantee(canonical(entry.body["guarantee"])),
                entry.body["description"],
            )
            if request.release_id in self.charges:
                raise _strange(entry)
            self.totals = self.totals.plus(request.guarantee)
            self.charges[request.release_id] = Charge(entry.head, request)
        elif entry.kind == SETTLED:
            charge = self.charges[entry.body["release_id"]]
            if charge.digest is not None:
                raise _strange(entry)
            settled = replace(charge, digest=str(entry.body["digest"]))
            self.charges[charge.request.release_id] = settled
        elif entry.kind == ADOPTED:
            self.place = _place_in(entry)
            self.placed.clear()
        elif entry.kind == PLACED and same_place(self.place, _place_in(entry)):
            self.place = _place_in(entry)
            self.placed.append(entry.sequence)
        else:
            raise _strange(entry)


def _place_in(entry: Entry) -> Place:
    return place_parts(str(entry.body["place"]))


def _left(budget: Budget, gaussian: float, pure: float) -> tuple[str, ...]:
    """Return the largest further release by kind of noise: alternatives, rounded down."""
    if not gaussian and not pure:
        return ("nothing",)
    more, less = at_most(gaussian), at_most(pure)
    if not budget.delta_atto:
        return (f"epsilon {less} without delta",)
    noise = f"Gaussian noise at delta {budget.delta:g}"
    if more == less:
        return (f"epsilon {more}, with {noise} or without delta",)
    return (f"epsilon {more} with {noise}", f"epsilon {less} without delta")


def _most(budget: Budget, totals: Totals) -> tuple[float, float]:
    """Return the largest epsilon of a further release with Gaussian noise, and without delta."""
    gaussian = budget.filter.left(totals, budget.delta) if budget.delta_atto else 0.0
    return gaussian, budget.filter.left(totals)


@lru_cache(maxsize=1024)
def _guarantee(content: str) -> Guarantee:  # many charges of a ledger have the same
    return Guarantee.from_mapping(json.loads(content))


def _strange(entry: Entry) -> LedgerError:
    return LedgerError(
        f"ledger entry {entry.sequence} is well linked but makes no sense: the ledger was written "
        "by something else than this package. Restore the newest copy that verifies."
    )


@dataclass(frozen=True)
class Statement:
    """The ledger at one head.

    `left_pure` is the largest epsilon of a further release without delta, `left_gaussian` that of one
    with Gaussian noise at the budget's delta (0 for a budget without delta).  `spent` is the share
    that is used up as seen by a further release like the last one, of which `more` still fit.
    """

    population: str
    budget: Budget
    left_pure: float
    left_gaussian: float
    charges: tuple[Charge, ...]
    head: Head
    spent: float = 0.0
    more: int | None = None

    @classmethod
    def of(cls, book: Book) -> Self:
        """Return the statement of a ledger that was read to its end."""
        budget, totals, charges = book.budget, book.totals, tuple(book.charges.values())
        gaussian, pure = _most(budget, totals)
        if not charges:
            return cls(book.population, budget, pure, gaussian, charges, book.head)
        last = charges[-1].request.guarantee
        spent, more = budget.filter.spent_share(totals, last), budget.filter.more_like(totals, last)
        return cls(book.population, budget, pure, gaussian, charges, book.head, spent, more)

    @property
    def left(self) -> tuple[str, ...]:
        """The largest further release, in words: with one kind of noise or the other, not both."""
        return _left(self.budget, self.left_gaussian, self.left_pure)

    def charges_with(self, status: Status) -> tuple[Charge, ...]:
        """Return the charges whose guarantee has this `discreet.privacy.guarantee.Status`."""
        return tuple(item for item in self.charges if item.request.guarantee.status == status)

    @property
    def unsettled(self) -> tuple[Charge, ...]:
        """Charges without a known release."""
        return tuple(item for item in self.charges if item.digest is None)

"""The chain by itself: every change is found, except the one that a chain cannot find."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import LedgerError
from discreet.ledger.book import (
    ADOPTED,
    INITIALISED,
    RESERVED,
    SETTLED,
    Book,
    Budget,
    Entry,
    Head,
    LedgerRow,
    canonical,
    digest_of,
    place_text,
    read_entry,
)
from discreet.privacy.guarantee import Guarantee

LEDGER = "0123456789abcdef" * 2
BUDGET = Budget.of(4, "1e-6", "replace-one", "person").to_mapping()
FIRST = (INITIALISED, {"population": "p", "budget": BUDGET, "place": "inode 1"})


def charge(name, epsilon=0.5):
    guarantee = Guarantee(epsilon).to_mapping()
    return RESERVED, {"release_id": name, "guarantee": guarantee, "description": ""}


def settlement(name):
    return SETTLED, {"release_id": name, "digest": "ab" * 32}


def rows_of(*entries, ledger=LEDGER):
    """The rows of well-linked entries."""
    head, rows = Head.before_first(ledger), []
    for kind, body in entries:
        entry = Entry(kind, body, head)
        head = entry.head
        rows.append(LedgerRow(entry.sequence, entry.content, entry.head.hash))
    return rows


ROWS = rows_of(
    FIRST, charge("a"), charge("b"), settlement("a"), (ADOPTED, {"place": "inode 2"}), charge("c")
)


def dropped(draw, rows):
    del rows[draw(st.integers(0, len(rows) - 1))]


def swapped(draw, rows):
    first, second = (draw(st.integers(0, len(rows) - 1)) for _ in range(2))
    rows[first], rows[second] = rows[second], rows[first]


def repeated(draw, rows):
    position = draw(st.integers(0, len(rows) - 1))
    rows.insert(position, rows[position])


def changed_text(draw, rows):
    position = draw(st.integers(0, len(rows) - 1))
    content = rows[position].content
    place = draw(st.integers(0, len(content) - 1))
    other = content[:place] + draw(st.characters()) + content[place + 1 :]
    rehashed = draw(st.booleans()) and other.isascii()
    hashed = digest_of(other) if rehashed else rows[position].hash
    rows[position] = LedgerRow(rows[position].sequence, other, hashed)


def renumbered(draw, rows):
    position = draw(st.integers(0, len(rows) - 1))
    rows[position] = replace(rows[position], sequence=draw(st.integers(-1, 9)))


CHANGES = (dropped, swapped, repeated, changed_text, renumbered)


@given(st.data())
def test_whatever_is_changed_only_a_shorter_chain_looks_whole(data):
    rows = list(ROWS)
    for _ in range(data.draw(st.integers(1, 2))):
        if rows:
            data.draw(st.sampled_from(CHANGES))(data.draw, rows)
    try:
        book = Book.of(rows)
    except LedgerError:
        return
    # the last entry may be replaced by another good one: the head, printed elsewhere, tells
    assert rows[:-1] == ROWS[: len(rows) - 1]
    assert rows[-1] == ROWS[len(rows) - 1] or not book.contains(head_of(ROWS[len(rows) - 1]))


def head_of(row):
    return Head(LEDGER, row.sequence, row.hash)


@given(st.text(), st.text(max_size=70), st.integers())
def test_nonsense_is_never_an_entry(content, hashed, sequence):
    with pytest.raises(LedgerError):
        read_entry(LedgerRow(sequence, content, hashed), None)


@pytest.mark.parametrize(
    "entries",
    [
        [charge("a")],
        [FIRST, FIRST],
        [FIRST, charge("a"), charge("a")],
        [FIRST, settlement("a")],
        [FIRST, charge("a"), settlement("a"), settlement("a")],
        [FIRST, ("refunded", {"release_id": "a"})],
        [FIRST, (RESERVED, {"release_id": "a"})],
        [FIRST, charge("a b")],
        [FIRST, (RESERVED, {**charge("a")[1], "guarantee": {"epsilon": -1}})],
        [FIRST, (RESERVED, {**charge("a")[1], "description": None})],
        [(INITIALISED, {})],
        [(INITIALISED, {**FIRST[1], "budget": {**BUDGET, "epsilon_nano": 0.5}})],
        [(INITIALISED, {**FIRST[1], "budget": [1]})],
        [],
    ],
)
def test_well_linked_nonsense_is_not_a_ledger(entries):
    with pytest.raises(LedgerError):
        Book.of(rows_of(*entries))


@pytest.mark.parametrize("ledger", ["", "\x1b[2J", LEDGER.upper(), LEDGER + "0"])
def test_a_malformed_ledger_identifier_is_refused(ledger):
    """The name is printed with every head."""
    with pytest.raises(LedgerError, match="identifier that is not valid"):
        Book.of(rows_of(FIRST, ledger=ledger))


def test_deeply_nested_text_is_an_error_and_no_crash():
    content = "[" * 100_000
    with pytest.raises(LedgerError, match="cannot be read"):
        read_entry(LedgerRow(1, content, digest_of(content)), None)


def test_an_entry_is_hashed_as_the_proof_page_says():
    content = canonical(json.loads(ROWS[0].content))
    assert content == ROWS[0].content
    assert ROWS[0].hash == digest_of(content)
    assert json.loads(ROWS[1].content)["previous"] == ROWS[0].hash
    assert json.loads(ROWS[0].content)["previous"] == "0" * 64


def test_the_book_knows_what_the_entries_say():
    book = Book.of(ROWS)
    assert place_text(book.place) == "inode 2"
    assert list(book.charges) == ["a", "b", "c"]
    assert [charge.digest for charge in book.charges.values()] == ["ab" * 32, None, None]
    assert book.totals.pure_epsilon == 1.5
    assert all(book.contains(head_of(row)) for row in ROWS)

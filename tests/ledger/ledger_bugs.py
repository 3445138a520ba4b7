"""Bugs of a ledger's place and witness; `tests/mechanisms/test_seeded_bugs.py` plants them."""

from discreet.ledger import book, sqlite, stored, systems
from tests.ledger import ledger_checks as checks
from tests.mechanisms.bugs import Bug

LEDGER_BUGS = [
    Bug(
        "the birth of a ledger's file not recorded",
        systems,
        "place_of",
        '"birth": _birth(path, status)',
        '"birth": 0',
        checks.check_a_restored_file_is_born_again,
    ),
    Bug(
        "the file system of a ledger not recorded",
        systems,
        "place_of",
        '"file system": _file_system_id(path, status)',
        '"file system": ""',
        checks.check_a_place_names_file_system_and_machine,
    ),
    Bug(
        "the machine of a ledger not recorded",
        systems,
        "place_of",
        '"machine": _machine()',
        '"machine": ""',
        checks.check_a_place_names_file_system_and_machine,
    ),
    Bug(
        "a place compared by its inode alone",
        book,
        "same_place",
        "recorded.items()",
        "list(recorded.items())[:1]",
        checks.check_every_part_of_a_place_counts,
    ),
    Bug(
        "a part of the place that is not found passed over",
        book,
        "same_place",
        "name in _MAY_BE_UNKNOWN and ",
        "",
        checks.check_every_part_of_a_place_counts,
    ),
    Bug(
        "an older ledger keeps its inode as its only place",
        stored,
        "_write",
        "not session.place.keys() <= book.place.keys()",
        "False",
        checks.check_an_old_ledger_learns_its_place_once,
    ),
    Bug(
        "an entry that adds to the place may change it",
        book.Book,
        "_enter",
        " and same_place(self.place, _place_in(entry))",
        "",
        checks.check_a_placed_entry_moves_nothing,
    ),
    Bug(
        "a promise written over the newest one",
        sqlite.Witness,
        "promise",
        "(1 - slot) * _BLOCK",
        "slot * _BLOCK",
        checks.check_a_torn_promise_leaves_the_one_before,
    ),
    Bug(
        "a promise made without the write lock",
        sqlite.SqliteSession,
        "promise",
        "begin_writing(self.connection, self.lock_timeout)",
        'self.connection.execute("BEGIN")',
        checks.check_a_promise_waits_for_the_write_lock,
    ),
]

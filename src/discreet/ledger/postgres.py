"""A team's ledger: PostgreSQL, several populations in one database, each with its own chain.

A writer locks its population's row (`SELECT ... FOR UPDATE`), so one population has one writer at
a time and populations do not wait for each other.  A row lock is not granted in order of arrival
and an advisory lock is, so writers take an advisory lock first.  `synchronous_commit` is on for
every session and a server that runs with `fsync = off` is refused.  The place of a ledger is the
cluster, its timeline and the database: a dump restored elsewhere, a point-in-time recovery or a
promoted standby is another place, because any of them may lack the last reservations.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString, cast
from urllib.parse import parse_qsl, urlencode

from discreet.errors import LedgerError, SettingsError, of_extra
from discreet.ledger.book import Entry, Head, LedgerRow, Place, canonical
from discreet.ledger.faults import LedgerFaultError, postgres_faults
from discreet.text import printable

if TYPE_CHECKING:
    from psycopg import Connection

POSTGRES_URLS = ("postgresql://", "postgres://")

FORMAT = 1
"""Version of the tables."""

_INITIALISE_LOCK = 0x44504C31
"""Advisory lock: two first initialisations at once would both create the tables."""

_CREATE: tuple[LiteralString, ...] = (
    "CREATE SCHEMA IF NOT EXISTS discreet_ledger",
    "CREATE TABLE IF NOT EXISTS discreet_ledger.format (version integer PRIMARY KEY)",
    """CREATE TABLE IF NOT EXISTS discreet_ledger.population (
        name text PRIMARY KEY,
        ledger text NOT NULL UNIQUE
    )""",
    """CREATE TABLE IF NOT EXISTS discreet_ledger.entry (
        ledger text NOT NULL REFERENCES discreet_ledger.population (ledger),
        sequence bigint NOT NULL,
        kind text NOT NULL,
        release_id text,
        content text NOT NULL,
        hash text NOT NULL UNIQUE,
        PRIMARY KEY (ledger, sequence),
        UNIQUE (ledger, kind, release_id)
    )""",
    """CREATE OR REPLACE FUNCTION discreet_ledger.refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'a ledger entry is never changed or deleted'; END $$""",
)
_GUARDED: tuple[LiteralString, ...] = ("format", "population", "entry")
_GUARD: LiteralString = """CREATE OR REPLACE TRIGGER never_changed
    BEFORE UPDATE OR DELETE OR TRUNCATE ON discreet_ledger.{}
    FOR EACH STATEMENT EXECUTE FUNCTION discreet_ledger.refuse()"""

_COLUMNS = {
    ("entry", "content", "text", "NO"),
    ("entry", "hash", "text", "NO"),
    ("entry", "kind", "text", "NO"),
    ("entry", "ledger", "text", "NO"),
    ("entry", "release_id", "text", "YES"),
    ("entry", "sequence", "bigint", "NO"),
    ("format", "version", "integer", "NO"),
    ("population", "ledger", "text", "NO"),
    ("population", "name", "text", "NO"),
}
_COLUMN_QUERY: LiteralString = """SELECT table_name, column_name, data_type, is_nullable
    FROM information_schema.columns WHERE table_schema = 'discreet_ledger'"""
_TRIGGER_QUERY: LiteralString = """SELECT relname FROM pg_trigger
    JOIN pg_class ON pg_class.oid = tgrelid
    WHERE tgname = 'never_changed' AND tgenabled = 'O'
    AND tgfoid = 'discreet_ledger.refuse()'::regprocedure"""

# The first eight digits of a log file's name are the timeline the server writes to now.
_PLACE: LiteralString = """SELECT
    (SELECT system_identifier::text FROM pg_control_system()),
    substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
    (SELECT oid::text FROM pg_database WHERE datname = current_database())"""


@dataclass(frozen=True)
class PostgresSession:
    """One connection in one transaction, used for one operation on one population."""

    connection: "Connection[tuple[Any, ...]]"
    ledger: str

    @property
    def place(self) -> Place:
        """The server's identity."""
        return _place(self.connection)

    def promised(self) -> Head | None:
        """Return None: releases are the witnesses of a server's ledger."""
        return None

    def rows(self, after: int) -> Iterable[LedgerRow]:
        """Rows above `after`, in order."""
        found = self.connection.execute(
            "SELECT sequence, content, hash FROM discreet_ledger.entry "
            "WHERE ledger = %s AND sequence > %s ORDER BY sequence",
            (self.ledger, after),
        )
        return [LedgerRow(*values) for values in found]

    def append(self, entry: Entry) -> None:
        """Insert the entry within the open transaction."""
        values = (entry.sequence, entry.kind, entry.release_id, entry.content, entry.head.hash)
        self.connection.execute(
            "INSERT INTO discreet_ledger.entry VALUES (%s, %s, %s, %s, %s, %s)",
            (self.ledger, *values),
        )

    def commit(self) -> None:
        """Return once the server has forced its log to disk."""
        self.connection.commit()

    def promise(self, head: Head) -> None:
        """Do nothing: releases are the witnesses of a server's ledger."""

    def adopt(self, head: Head) -> None:
        """Do nothing: the adopting entry itself names the new place."""

    def inspect(self) -> list[str]:
        """Compare columns and triggers with those of a new ledger."""
        columns = set(self.connection.execute(_COLUMN_QUERY))
        guarded = {name for (name,) in self.connection.execute(_TRIGGER_QUERY)}
        problems = []
        if columns != _COLUMNS:
            problems.append("the tables are not those a ledger has (a changed schema)")
        if guarded != set(_GUARDED):
            problems.append("a trigger that keeps entries from being changed is missing")
        return problems


class PostgresStore:
    """A ledger on a server, at `postgresql://user:password@host:port/database?population=NAME`.

    `name` is server and database, without user and password.
    """

    def __init__(self, url: str, lock_timeout: float) -> None:
        unreadable = (
            "the ledger URL cannot be read: it begins with postgresql: and two slashes, then "
            "USER:PASSWORD and @ where they are needed, HOST:PORT, a slash and DATABASE; signs such "
            "as @ / ? % in a password are written in %-escapes (%40 for @)."
        )
        # libpq ends user and password at the first of @ and /, so of a password that holds one it
        # would take the rest for a host or a database, which are shown
        place, _, query = url.partition("://")[2].partition("?")
        server, _, database = place.partition("/")
        if server.count("@") > 1 or "@" in database + query:
            raise SettingsError(unreadable)
        pairs = parse_qsl(query, keep_blank_values=True)
        populations = [value for key, value in pairs if key == "population"]
        if len(populations) > 1:
            raise SettingsError("the ledger URL names more than one population.")
        with of_extra("postgres", "a PostgreSQL ledger needs psycopg"):
            import psycopg  # noqa: PLC0415  # an optional dependency
            from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415
        try:
            rest = urlencode([pair for pair in pairs if pair[0] != "population"])
            address = f"postgresql://{place}?{rest}" if rest else f"postgresql://{place}"
            parameters = dict(conninfo_to_dict(address))
        except (psycopg.Error, UnicodeEncodeError):
            raise SettingsError(unreadable) from None
        host = printable(str(parameters.get("host", "local socket")))
        named = printable(str(parameters.get("dbname", "default database")))
        self.name = f"PostgreSQL at {host}, database {named}"
        self._population = next(iter(populations), None)
        self._lock_timeout = lock_timeout
        limits = {
            "connect_timeout": max(2, round(lock_timeout)),
            "tcp_user_timeout": max(2000, round(lock_timeout * 1000)),
            "application_name": "discreet",
        }
        self._parameters: dict[str, Any] = limits | parameters

    def create(self, population: str, first: Callable[[Place], Entry]) -> Entry:
        """Create the tables where they are missing, then the population with its first entry."""
        if self._population not in {None, population}:
            raise SettingsError("the ledger URL names another population than the command.")
        self._population = population
        with self._transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_INITIALISE_LOCK,))
            for statement in _CREATE:
                connection.execute(statement)
            for table in _GUARDED:
                connection.execute(_GUARD.format(table))
            connection.execute(
                "INSERT INTO discreet_ledger.format "
                "SELECT %s WHERE NOT EXISTS (SELECT 1 FROM discreet_ledger.format)",
                (FORMAT,),
            )
            _require_format(connection)
            entry = first(_place(connection))
            added = connection.execute(
                "INSERT INTO discreet_ledger.population VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (canonical(population), entry.previous.ledger),
            )
            if added.rowcount != 1:
                raise LedgerError("this population has a ledger there already; it is kept.")
            PostgresSession(connection, entry.previous.ledger).append(entry)
            connection.commit()
            return entry

    @contextmanager
    def session(self, *, write: bool) -> Iterator[PostgresSession]:
        """Open a session, which sees one state per statement or holds its population's lock."""
        with self._transaction() as connection:
            _require_format(connection)
            names = dict(connection.execute("SELECT name, ledger FROM discreet_ledger.population"))
            if self._population is None and len(names) > 1:
                raise SettingsError(
                    "this database holds the ledgers of several populations: "
                    "say which with ?population=NAME at the end of the URL."
                )
            wanted = self._population
            key = next(iter(names), None) if wanted is None else canonical(wanted)
            if key not in names:
                raise LedgerError(
                    "the database has no ledger of that population; initialise it first."
                )
            ledger = str(names[key])
            if write:
                lock = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
                connection.execute(lock, (ledger,))
                row = "SELECT 1 FROM discreet_ledger.population WHERE ledger = %s FOR UPDATE"
                connection.execute(row, (ledger,))
            yield PostgresSession(connection, ledger)

    @contextmanager
    def _transaction(self) -> Iterator["Connection[tuple[Any, ...]]"]:
        import psycopg  # noqa: PLC0415  # an optional dependency

        with postgres_faults(self._lock_timeout):
            try:
                connection = psycopg.connect(**self._parameters)
            except psycopg.Error:  # its text may quote the URL
                raise LedgerFaultError(
                    f"no connection to the ledger's server ({self.name}): check that it runs, "
                    "that it can be reached from here, and the user and password."
                ) from None
            try:
                milliseconds = str(max(1, round(self._lock_timeout * 1000)))
                row = connection.execute(_PREPARE, (milliseconds,)).fetchone()
                fsync, standby = row[3:] if row else ("off", True)
                if fsync != "on":
                    raise LedgerError(
                        "the server runs with fsync = off and may forget a charge; turn it on."
                    )
                if standby:
                    raise LedgerError("the server is a standby; give the URL of the primary.")
                yield connection
            finally:
                connection.close()


# One statement for all settings and checks: each costs a round trip to the server.
_PREPARE: LiteralString = """SELECT set_config('lock_timeout', %s, false),
    set_config('synchronous_commit', 'on', false), set_config('search_path', 'pg_catalog', false),
    current_setting('fsync'), pg_is_in_recovery()"""


def _require_format(connection: "Connection[tuple[Any, ...]]") -> None:
    found = connection.execute("SELECT to_regclass('discreet_ledger.format')").fetchone()
    if found is None or found[0] is None:
        raise LedgerError(
            "the database holds no ledger: check the URL; `discreet budget init` makes one."
        )
    versions = [
        version for (version,) in connection.execute("SELECT version FROM discreet_ledger.format")
    ]
    if versions != [FORMAT]:
        raise LedgerError(
            f"the ledger has another format than {FORMAT}, the one this version of discreet "
            "reads: use the version of discreet that wrote it, or a newer one."
        )


def _place(connection: "Connection[tuple[Any, ...]]") -> Place:
    found = connection.execute(_PLACE).fetchone()
    names = ("cluster", "timeline", "database")
    return dict(zip(names, cast("tuple[str, str, str]", found), strict=True))

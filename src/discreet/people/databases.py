"""Rows of a database, selected by a query.

==============  ========================================  ======================================
address         read by                                   a value has the type that
==============  ========================================  ======================================
sqlite:///      Python's sqlite3, value by value          it has itself: SQLite declares none
duckdb:///      DuckDB, through Arrow                     the query declares
postgresql://   ADBC, through Arrow                       the query declares
==============  ========================================  ======================================

ADBC's driver for SQLite would infer a column's type from its first values, and DuckDB's needs a
download.  Databases are opened for reading.  An address may hold a password, and a driver's error
text may quote the address or a record: only texts about the query, before a record is read, are
shown.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from discreet.errors import DataFormError, SettingsError, of_extra
from discreet.people.formats import Cells

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:[/\\]", re.IGNORECASE)
"""More than a letter, which would be a drive of Windows; of two slashes `pathlib` leaves one."""
ADDRESSES = "postgresql://..., sqlite:///FILE or duckdb:///FILE"
_PUBLIC_ERRORS = ("ParserException", "BinderException", "CatalogException")
"""DuckDB's errors for a query that was not run."""


def is_address(data: object) -> bool:
    """Return whether the data are an address and no file, of whatever kind."""
    return issubclass(type(data), str | Path) and ADDRESS.match(str(data)) is not None


def require_query(data: object) -> None:
    """Raise `SettingsError` for an address without a query; its text does not repeat the address."""
    if is_address(data):
        if _kind(str(data)) not in _KINDS:
            raise SettingsError(
                f"data are files of this machine, or rows of a database at {ADDRESSES}."
            )
        raise SettingsError(
            "the address of a database needs a query that says which rows and columns are read: "
            '--query "SELECT ...". In Python give the result of the query: a reader, a relation.'
        )


@dataclass(frozen=True, repr=False)
class Query:
    """A SELECT statement and the address of the database that answers it."""

    address: str
    sql: str

    def __repr__(self) -> str:
        return f"Query to {self._place}"

    def schema(self) -> Any:
        """Return names and types of the result; no record is read."""
        with self._connected() as (kind, connection), self._errors(public=True):
            schema = _KINDS[kind].schema(connection, self._statement)
            if not schema.names:
                raise DataFormError(f"the query to {self._place} is no SELECT of columns.")
            return schema

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """Return the named columns of the result, all of them if None."""
        schema = self.schema()
        wanted = list(schema.names if columns is None else columns or schema.names[:1])
        for name in wanted:
            if schema.names.count(name) != 1:
                how = "two columns" if name in schema.names else "no column"
                raise DataFormError(f"the query to {self._place} gives {how} '{name}'.")
        with self._connected() as (kind, connection), self._errors(public=False):
            return _KINDS[kind].read(connection, self._statement, schema, wanted)

    @property
    def _statement(self) -> str:
        return self.sql.strip().rstrip(";")

    @property
    def name(self) -> str:
        """The database, without user, server and password."""
        kind, place = _split(self.address)
        return "PostgreSQL" if kind == "postgresql" else Path(place).name

    @property
    def _place(self) -> str:
        return self.name if self.name == "PostgreSQL" else f"'{self.name}'"

    @contextmanager
    def _connected(self) -> Iterator[tuple[str, Any]]:
        kind, place = _split(self.address)
        if kind != "postgresql" and not Path(place).is_file():
            raise DataFormError(f"there is no database {self._place}.")
        try:
            connection = _KINDS[kind].connect(place)
        except SettingsError:
            raise
        except Exception:  # noqa: BLE001 - what the drivers raise has no common class
            hint = _KINDS[kind].hint
            raise DataFormError(f"no connection to {self._place}: check {hint}.") from None
        with closing(connection):
            yield kind, connection

    @contextmanager
    def _errors(self, *, public: bool) -> Iterator[None]:
        try:
            yield
        except (DataFormError, SettingsError):
            raise
        except Exception as error:  # noqa: BLE001 - what the drivers raise has no common class
            reason = _public_text(error) if public else "a record stopped it"
            raise DataFormError(f"the query to {self._place} failed: {reason}.") from None


def _kind(address: str) -> str:
    kind = address.partition(":")[0].lower()
    return "postgresql" if kind == "postgres" else kind


def _split(address: str) -> tuple[str, str]:
    """Return the kind of database, and the file or (PostgreSQL) the whole address."""
    kind, rest = _kind(address), address.partition(":")[2]
    if kind == "postgresql":
        return kind, address
    if kind not in _KINDS or not rest.startswith("///") or not rest[3:]:
        raise SettingsError(
            f"the address of a database is {ADDRESSES}; an absolute path has four slashes."
        )
    return kind, rest[3:]


def _public_text(error: Exception) -> str:
    """Return the text of an error about a query before it ran; else a text of ours."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else ""
    if type(error).__module__ == "sqlite3":
        return text
    if type(error).__name__ in _PUBLIC_ERRORS:
        return text.partition("Error: ")[2] or text
    if str(getattr(error, "sqlstate", None) or "").startswith("42"):  # syntax and names
        return text.partition("ERROR:")[2].strip() or text
    return "the database does not run it as a SELECT statement"


def _quoted(columns: Sequence[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in columns)


class _Sqlite:
    hint = "that the file may be read"
    """What to check where no connection comes about."""

    def connect(self, place: str) -> Any:
        import sqlite3

        def text(raw: bytes) -> str | bytes:
            # bytes that are not UTF-8 stay bytes: sqlite3 would refuse the table and quote the value
            try:
                return raw.decode()
            except UnicodeDecodeError:
                return raw

        connection = sqlite3.connect(f"file:{quote(place)}?mode=ro", uri=True)
        connection.text_factory = text
        return connection

    def schema(self, connection: Any, statement: str) -> Any:
        """Return names, and texts throughout: SQLite declares no types of results."""
        cursor = connection.execute(f"SELECT * FROM (\n{statement}\n) LIMIT 0")
        names = [item[0] for item in cursor.description]
        # of two columns `id` SQLite calls the second one `id:1`
        stems = [re.sub(r":\d+$", "", name) for name in names]
        plain = [stem if stem in names else name for name, stem in zip(names, stems, strict=True)]
        return pa.schema([(name, pa.string()) for name in plain])

    def read(self, connection: Any, statement: str, _: Any, columns: list[str]) -> Cells:
        rows = connection.execute(f"SELECT {_quoted(columns)} FROM (\n{statement}\n)").fetchall()
        values = zip(*rows, strict=True) if rows else [()] * len(columns)
        return Cells(len(rows), dict(zip(columns, values, strict=True)))


class _Duckdb:
    hint = "that it is a file of DuckDB, and that no other program has it open for writing"

    def connect(self, place: str) -> Any:
        with of_extra("databases", "the library that reads DuckDB is not installed"):
            import duckdb
        return duckdb.connect(place, read_only=True)

    def schema(self, connection: Any, statement: str) -> Any:
        # alone, COPY or EXPORT would run and write records to files, also before a SELECT
        if len(connection.extract_statements(self._selected("*", statement))) != 1:
            raise DataFormError("a query is one SELECT statement, and this one is more.")
        relation = connection.sql(statement)
        types = relation.limit(0).to_arrow_table().schema.types  # renames a column there twice
        return pa.schema(list(zip(relation.columns, types, strict=True)))

    def read(self, connection: Any, statement: str, _: Any, columns: list[str]) -> Any:
        return connection.sql(self._selected(_quoted(columns), statement)).to_arrow_table()

    def _selected(self, columns: str, statement: str) -> str:
        return f"SELECT {columns} FROM (\n{statement}\n) AS discreet_query"


class _Postgresql:
    hint = "host, port, database, user and password"

    def connect(self, place: str) -> Any:
        with of_extra("databases", "the library that reads PostgreSQL is not installed"):
            from adbc_driver_postgresql import dbapi
        return dbapi.connect(place)

    def schema(self, connection: Any, statement: str) -> Any:
        with connection.cursor() as cursor:
            # as it is read: a statement that changes a table is refused, whatever it returns
            return cursor.adbc_execute_schema(f"SELECT * FROM (\n{statement}\n) AS discreet_query")

    def read(self, connection: Any, statement: str, schema: Any, columns: list[str]) -> Any:
        """Read dates within the calendar, and values without an Arrow type as texts.

        The driver would convert PostgreSQL's infinity to a date millions of years ago.
        """
        selected = []
        for name in columns:
            kind, column = schema.field(name).type, _quoted([name])
            value = column
            if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
                within = f"LEAST(GREATEST({column}, '0001-01-01'), '9999-12-31')"
                value = f"CASE WHEN {column} IS NOT NULL THEN {within} END"
            elif isinstance(kind, pa.BaseExtensionType):
                number = getattr(kind, "type_name", "") == "numeric"  # 7.00 is 7
                value = f"trim_scale({column})::text" if number else f"{column}::text"
            selected.append(f"{value} AS {column}")
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(f"SELECT {', '.join(selected)} FROM (\n{statement}\n) AS discreet_query")
            return cursor.fetch_arrow_table()


_KINDS: dict[str, Any] = {"sqlite": _Sqlite(), "duckdb": _Duckdb(), "postgresql": _Postgresql()}
"""What connects to a database, describes the result of a statement and reads it, by the address."""

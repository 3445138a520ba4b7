"""Where a ledger lives: a path, or a PostgreSQL URL whose password is never printed."""

from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, urlencode

from discreet.errors import SettingsError
from discreet.ledger.faults import LedgerFaultError
from discreet.text import printable

if TYPE_CHECKING:
    from psycopg import Connection

_SCHEMES = ("postgresql://", "postgres://")


def is_postgres(location: str) -> bool:
    """Whether the text is a URL of a PostgreSQL server (otherwise it is a path)."""
    return location.lower().startswith(_SCHEMES)


@dataclass(frozen=True)
class PostgresLocation:
    """The parameters of a connection, and the population that was asked for, if any."""

    population: str | None
    printable: str
    _parameters: dict[str, Any] = field(repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read `postgresql://user:password@host:port/database?population=NAME`."""
        address, _, query = url.partition("?")
        pairs = parse_qsl(query, keep_blank_values=True)
        populations = [value for key, value in pairs if key == "population"]
        if len(populations) > 1:
            raise SettingsError("the ledger URL names more than one population.")
        rest = urlencode([pair for pair in pairs if pair[0] != "population"])
        parameters = _parameters_of(f"{address}?{rest}" if rest else address)
        return cls(next(iter(populations), None), _shown(parameters), parameters)

    def for_population(self, population: str) -> Self:
        """The same server for one population; the URL must not have named another."""
        if self.population not in {None, population}:
            raise SettingsError("the ledger URL names another population than the command.")
        return replace(self, population=population)

    def connect(self, timeout: float) -> "Connection[tuple[Any, ...]]":
        """A new connection; the errors of the library, which may quote the URL, stay here."""
        psycopg = _psycopg()
        limits = {
            "connect_timeout": max(2, round(timeout)),
            "tcp_user_timeout": max(2000, round(timeout * 1000)),
            "application_name": "discreet",
        }
        try:
            connection: Connection[tuple[Any, ...]] = psycopg.connect(**limits | self._parameters)
        except psycopg.Error:
            raise LedgerFaultError(
                f"no connection to the ledger's server ({self.printable}): check that it runs, "
                "that it can be reached from here, and the user and password."
            ) from None
        return connection


def _parameters_of(url: str) -> dict[str, Any]:
    psycopg = _psycopg()
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415  # an optional dependency

    try:
        return dict(conninfo_to_dict(url))
    except psycopg.Error:
        raise SettingsError(
            "the ledger URL cannot be read; it is written "
            "postgresql://user:password@host:port/database (with %-escapes in the password)."
        ) from None


def _shown(parameters: dict[str, Any]) -> str:
    host = printable(str(parameters.get("host", "local socket")))
    database = printable(str(parameters.get("dbname", "default database")))
    return f"PostgreSQL at {host}, database {database}"


def _psycopg() -> ModuleType:
    try:
        import psycopg  # noqa: PLC0415  # an optional dependency
    except ImportError:
        raise SettingsError(
            "a PostgreSQL ledger needs psycopg; install this package with its extra 'postgres'."
        ) from None
    return psycopg

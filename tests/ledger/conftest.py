"""Ledgers on both backends, on a real PostgreSQL server of our own."""

import pytest

import tests.ledger.without_posix  # noqa: F401  # before the ledger
from discreet.ledger import Ledger
from tests.ledger.ledger_server import NoServerError, PostgresServer

EPSILON, DELTA = 4, "1e-6"


@pytest.fixture(scope="session")
def server():
    """A running server; the test is skipped, with what to install, where there can be none."""
    try:
        found = PostgresServer()
    except NoServerError as reason:
        pytest.skip(str(reason))
    found.start()
    yield found
    found.stop()


@pytest.fixture
def database(server):
    """The URL of a database without a ledger."""
    server.forget_ledgers()
    return server.url("postgres")


@pytest.fixture(params=["sqlite", "postgres"])
def location(request, tmp_path):
    """Where a new ledger can be made, on either backend."""
    if request.param == "sqlite":
        return str(tmp_path / "registry.ledger")
    return request.getfixturevalue("database")


@pytest.fixture
def ledger(location):
    """A ledger with a budget of epsilon = 4, delta = 1e-6."""
    made = Ledger(location, lock_timeout=60)
    made.initialise("norway-births", EPSILON, DELTA)
    return made

"""Writers take turns on both backends, also when one dies; on a server in order of arrival."""

import os
import signal
import time
from contextlib import contextmanager

import psycopg
import pytest

from discreet.ledger import Ledger, ReleaseRequest
from discreet.privacy.guarantee import Guarantee

WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
NAMES = [f"writer-{number}" for number in range(5)]


def forked(work):
    """A process of its own: locks of files belong to processes."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    finally:
        os._exit(0)


def reserve(location, name):
    Ledger(location, 60).reserve(ReleaseRequest(name, Guarantee(0.01)))


@contextmanager
def held(location):
    """The ledger, taken by a process that does not let go before the end."""
    taken, take = os.pipe()
    release, let_go = os.pipe()

    def hold():
        os.close(let_go)
        with Ledger(location)._store.session(write=True):
            os.write(take, b"x")
            os.read(release, 1)

    child = forked(hold)
    os.read(taken, 1)
    yield
    os.write(let_go, b"x")
    os.waitpid(child, 0)


def line_up(location):
    """One process a name; on a server each starts when the one before it waits."""
    children = []
    for count, name in enumerate(NAMES, 1):
        children.append(forked(lambda name=name: reserve(location, name)))
        if "://" in location:
            wait_until_waiting(location, count)
    return children


def wait_until_waiting(location, count):
    with psycopg.connect(location, autocommit=True) as watcher:
        for _ in range(6000):
            if watcher.execute(WAITING).fetchone()[0] == count:
                return
            time.sleep(0.005)
    raise AssertionError("the process did not come to wait")


def order_of(location):
    return [charge.request.release_id for charge in Ledger(location).show().charges]


@pytest.mark.parametrize("killed", [[], NAMES[::2]], ids=["all live", "some die"])
def test_every_writer_that_lives_has_its_turn(ledger, location, killed):
    with held(location):
        children = line_up(location)
        for name, child in zip(NAMES, children, strict=True):
            if name in killed:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
    for name, child in zip(NAMES, children, strict=True):
        if name not in killed:
            os.waitpid(child, 0)
    order = order_of(location)
    served = [name for name in NAMES if name not in killed]
    assert (order if "://" in location else sorted(order)) == served
    assert ledger.verify().sound

"""Writers are served in order of arrival, on both backends, whoever dies while waiting."""

import fcntl
import os
import signal
import time
from contextlib import contextmanager

import psycopg
import pytest

from discreet.ledger import ReleaseRequest, open_ledger
from discreet.ledger.sqlite import Queue
from discreet.privacy.guarantee import Guarantee

WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


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
    open_ledger(location, 60).reserve(ReleaseRequest(name, Guarantee(0.01)))


def wait_until(condition):
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("nobody came to wait")


def line_up(location, names, arrived):
    """One process a name, each started when the one before it stands in line."""
    children = []
    for count, name in enumerate(names, 1):
        moment = time.monotonic_ns()
        children.append(forked(lambda name=name: reserve(location, name)))
        wait_until(lambda moment=moment, count=count: arrived(moment, count))
    return children


@contextmanager
def held(location):
    """The ledger, taken by a process that does not let go yet; yields how to see who waits."""
    taken, take = os.pipe()
    release, let_go = os.pipe()

    def hold():
        os.close(let_go)
        with open_ledger(location)._store.writing():
            os.write(take, b"x")
            os.read(release, 1)

    child = forked(hold)
    os.read(taken, 1)
    if "://" in location:
        with psycopg.connect(location, autocommit=True) as watcher:
            yield lambda _moment, count: watcher.execute(WAITING).fetchone()[0] == count
    else:
        yield lambda moment, _count: came_since(location, moment)
    os.write(let_go, b"x")
    os.waitpid(child, 0)


def came_since(location, moment):
    """Whether another process holds a byte of the queue at or after the moment."""
    descriptor = os.open(f"{location}-queue", os.O_RDWR)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, 0, moment)
    except (BlockingIOError, PermissionError):
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def order_of(location):
    return [line.request.release_id for line in open_ledger(location).show().lines]


NAMES = [f"writer-{number}" for number in range(5)]


def test_who_came_first_is_served_first(ledger, location):
    with held(location) as arrived:
        children = line_up(location, NAMES, arrived)
    for child in children:
        os.waitpid(child, 0)
    assert order_of(location) == NAMES
    assert ledger.verify().sound


def test_nobody_waits_for_the_dead(ledger, location):
    with held(location) as arrived:
        children = line_up(location, NAMES, arrived)
        for child in children[::2]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    for child in children[1::2]:
        os.waitpid(child, 0)
    assert order_of(location) == NAMES[1::2]
    assert ledger.verify().sound


def test_a_turn_that_does_not_come_is_an_error(tmp_path):
    queue = Queue(tmp_path / "ledger")
    queue._ledger.touch(0o640)
    read, write = os.pipe()

    def stay():
        with queue.turn(time.monotonic() + 60):
            os.write(write, b"x")
            time.sleep(60)

    child = forked(stay)
    os.read(read, 1)
    with pytest.raises(BlockingIOError), queue.turn(time.monotonic() + 0.02):
        raise AssertionError("two had a turn at once")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with queue.turn(time.monotonic()):
        assert queue.path.stat().st_mode & 0o777 == 0o640

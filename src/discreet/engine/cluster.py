"""People spread over the workers of a Dask cluster; only sums come back.

Each partition becomes one block of Episodes that stays in the memory of a worker. ``reduce`` collects
the sums of every worker and adds them in the order of the partitions, so neither the number of workers
nor a repeated task changes the result. Noise is drawn by the caller, never on a worker. Blocks must
not be spilled to disk, where records would remain.
"""

import secrets
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter, is_, itemgetter
from typing import TYPE_CHECKING, Any

import dask
import distributed as distributed_untyped
import numpy as np

from discreet.design.schema import Schema
from discreet.engine.engine import Arrays, BlockFunction, Engine, add, require_same_people
from discreet.engine.local import LocalEngine
from discreet.engine.stream import stamp_of_ids
from discreet.errors import DataFormError, SettingsError
from discreet.people.check import check_table
from discreet.people.encode import to_episodes
from discreet.people.episodes import Episodes, Stamp
from discreet.people.identity import Digests
from discreet.people.tables import open_table

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

    from discreet.people.check import Checked


distributed: Any = distributed_untyped

# Workers hold people in memory or fail; nothing is written to disk.
NO_SPILL = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}


def local_client(workers: int | None = None) -> Any:
    """Start a cluster of single-threaded worker processes on this machine that never spills."""
    with dask.config.set(NO_SPILL):
        # a copy for the workers' nannies, which pass it on when they restart a worker
        settings = deepcopy(dask.config.config)
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", config=settings
    )
    return distributed.Client(cluster)


def connect(address: str) -> Any:
    """Return a client of an existing cluster, after checking that its workers do not spill."""
    try:
        # not the default: a client that fails to connect must not change Dask's settings
        client = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError):
        raise SettingsError(f"no Dask scheduler answers at {address!r}.") from None
    try:
        return _without_spill(client)
    except SettingsError:
        client.close()
        raise


def _without_spill(client: Any) -> Any:
    """Return the client, or raise `SettingsError` if its workers may write to disk."""
    if any(client.run(_spills).values()):
        raise SettingsError(
            "the cluster's workers may spill records to disk: start them with "
            "distributed.worker.memory.spill and .target set to False."
        )
    return client


def current_client(address: str | None = None) -> Any:
    """Return the cluster at an address, the one already in use, or a new local one."""
    if address is not None:
        return connect(address)
    try:
        client = distributed.get_client()
    except ValueError:
        return local_client()
    return _without_spill(client)


@dataclass(frozen=True, eq=False)
class ClusterEngine:
    """Blocks of people in the memory of Dask workers."""

    client: Any  # Dask's client and futures carry no types
    parts: Sequence[Any]
    stamps: Sequence[Stamp]

    @property
    def persons(self) -> int:
        """n, the number of people."""
        return sum(persons for persons, _ in self.stamps)

    @classmethod
    def from_frame(cls, frame: "DataFrame", schema: Schema, client: Any) -> "ClusterEngine":
        """Make one block of each partition; a person's rows must lie in one partition."""
        schema.require_bounds()
        secret = secrets.token_bytes(16)
        partitions = frame[list(schema.columns)].to_delayed()
        raw = client.compute(partitions, optimize_graph=True)
        parts = client.map(_block, raw, schema=schema, secret=secret, pure=False, retries=3)
        both = client.gather(client.map(attrgetter("ids", "stamp"), parts, pure=False, retries=3))
        ids, stamps = zip(*both, strict=True)
        if schema.person is not None:
            require_same_people(_require_apart(client, raw, schema.person, secret), ids)
        return cls(client, parts, stamps)

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """Add the sums of every partition, in the order of the partitions."""
        # a task, which is repeated if its worker dies; scattered data would wait for that worker
        shared = self.client.submit(_same, _Call(function, arguments), pure=False, retries=3)
        sums = self.client.map(_apply, self.parts, call=shared, pure=False, retries=3)
        stamps, parts = zip(*self.client.gather(sums), strict=True)
        require_same_people(stamps, self.stamps)
        return reduce(add, parts)

    def sample(self) -> Engine:
        """Return the first partition."""
        return ClusterEngine(self.client, self.parts[:1], self.stamps[:1])


@dataclass(frozen=True)
class _Block:
    """The people of a partition, with the stamps of their ids and of their rows."""

    episodes: Episodes
    ids: Stamp
    stamp: Stamp


@dataclass(frozen=True)
class _Call:
    """A function and its arguments after the block."""

    function: BlockFunction
    arguments: tuple[Any, ...]


def _same(call: _Call) -> _Call:
    return call


def _block(partition: Any, schema: Schema, secret: bytes) -> _Block:
    """On a worker: encode one partition; repeated if the worker dies."""
    table = open_table(partition, schema.columns)
    episodes = to_episodes(table, schema)
    ids = stamp_of_ids(table, schema, episodes, secret)
    return _Block(episodes, ids, episodes.stamp(secret))


def _apply(block: _Block, call: _Call) -> tuple[Stamp, Arrays]:
    """On a worker: sum one block, on the worker's one thread."""
    engine = LocalEngine(block.episodes, threads=1)
    return block.stamp, engine.reduce(call.function, *call.arguments)


def _digests(partition: Any, person: str, secret: bytes) -> tuple[Stamp, Digests]:
    """On a worker: compute digests of the ids of a partition."""
    ids = open_table(partition, [person]).ids(person)
    return ids.stamp(secret), ids.digests(secret)


def check_partitions(frame: "DataFrame", schema: Schema, client: Any) -> "list[Checked]":
    """Return the repairs and a picture of each partition, for the custodian: exact, not private."""
    partitions = frame[list(schema.columns)].to_delayed()
    raw = client.compute(partitions, optimize_graph=True)
    if schema.person is not None:
        _require_apart(client, raw, schema.person, secrets.token_bytes(16))
    return client.gather(client.map(_check, raw, schema=schema, pure=False, retries=3))


def _check(partition: Any, schema: Schema) -> "Checked":
    return check_table(open_table(partition, schema.columns), schema)


def _require_apart(client: Any, raw: Sequence[Any], person: str, secret: bytes) -> list[Stamp]:
    """Raise `DataFormError` if a person is in two partitions; return the stamps of their ids.

    Keyed digests of ids are merged from worker to worker and deleted after the check; beside the
    stamps only yes or no comes back.
    """
    both = client.map(_digests, raw, person=person, secret=secret, pure=False, retries=3)
    stamps: list[Stamp] = client.gather(client.map(itemgetter(0), both, pure=False, retries=3))
    digests = client.map(itemgetter(1), both, pure=False, retries=3)
    while len(digests) > 1:
        pairs = [digests[at : at + 2] for at in range(0, len(digests), 2)]
        digests = [client.submit(_disjoint_union, *pair, pure=False, retries=3) for pair in pairs]
    if client.submit(is_, digests[0], None, pure=False).result():  # what overlaps is None
        raise DataFormError(
            f"the rows of one person lie in several partitions: partition the data by '{person}'."
        )
    return stamps


def _disjoint_union(*digests: Digests | None) -> Digests | None:
    """Return all digests, or None once two partitions share one."""
    known = [part for part in digests if part is not None]
    if len(known) < len(digests):
        return None
    union = np.unique(np.concatenate(known))
    return union if len(union) == sum(map(len, known)) else None


def _spills(dask_worker: Any) -> bool:
    manager = dask_worker.memory_manager
    return bool(getattr(manager, "memory_target_fraction", True)) or bool(
        getattr(manager, "memory_spill_fraction", True)
    )

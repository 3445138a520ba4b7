"""People spread over the workers of a Dask cluster; only sums come back.

Each partition becomes one block of Episodes that stays in the memory of a worker. ``reduce`` asks
every worker for its sums and adds them in the order of the partitions, so neither the number of
workers nor a repeated task changes the result. Noise is drawn by the caller, never on a worker.
Blocks must not be spilled to disk: that would write people where nobody looks after them.
"""

import secrets
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import dask
import distributed as distributed_untyped
import numpy as np
from numpy.typing import NDArray

from discreet.design.schema import Schema
from discreet.engine.engine import Arrays, BlockFunction, Engine, add
from discreet.engine.local import LocalEngine
from discreet.errors import DataFormError, SettingsError
from discreet.people import to_episodes
from discreet.people.episodes import Episodes
from discreet.people.runs import person_digests

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

distributed: Any = distributed_untyped

# Workers hold people in memory or fail; nothing is written to disk.
NO_SPILL = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}


def local_client(workers: int | None = None) -> Any:
    """A cluster of single-threaded worker processes on this machine that never spills."""
    with dask.config.set(NO_SPILL):
        # A copy for the workers' nannies: one that starts its worker again after a death would
        # otherwise pass on what Dask's settings are by then.
        settings = deepcopy(dask.config.config)
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", config=settings
    )
    return distributed.Client(cluster)


def connect(address: str) -> Any:
    """A client of an existing cluster, once its workers are known not to spill."""
    try:
        # not the default: a client that cannot be had must leave no mark on Dask's settings
        client = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError):
        raise SettingsError(f"no Dask scheduler answers at {address!r}.") from None
    try:
        return _without_spill(client)
    except SettingsError:
        client.close()
        raise


def _without_spill(client: Any) -> Any:
    """The client, if its workers never write what they hold to disk."""
    if any(client.run(_spills).values()):
        raise SettingsError(
            "the cluster's workers may spill records to disk: start them with "
            "distributed.worker.memory.spill and .target set to False."
        )
    return client


def current_client(address: str | None = None) -> Any:
    """The cluster at an address, the one already in use, or a new local one."""
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
    persons: int

    @classmethod
    def from_frame(cls, frame: "DataFrame", schema: Schema, client: Any) -> "ClusterEngine":
        """One block a partition; a person's rows must lie in one partition."""
        schema.require_bounds()
        partitions = frame[list(schema.columns)].to_delayed()
        raw = client.compute(partitions, optimize_graph=True)
        parts = client.map(to_episodes, raw, schema=schema, pure=False, retries=3)
        counts = client.map(_persons, parts, pure=False, retries=3)
        if schema.person is not None:
            _check_partitions(client, raw, schema.person)
        return cls(client, parts, sum(client.gather(counts)))

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """Sums of every partition, added in the order of the partitions."""
        # a task like any other, so that it is done again where a worker dies; data that were
        # scattered would wait for the dead one
        shared = self.client.submit(_same, _Call(function, arguments), pure=False, retries=3)
        sums = self.client.map(_apply, self.parts, call=shared, pure=False, retries=3)
        return reduce(add, self.client.gather(sums))

    def sample(self) -> Engine:
        """The first partition, where it is."""
        return ClusterEngine(self.client, self.parts[:1], self._first_persons)

    @cached_property
    def _first_persons(self) -> int:
        return int(self.client.submit(_persons, self.parts[0], pure=False).result())


@dataclass(frozen=True)
class _Call:
    """A function and what it is called with beside the block."""

    function: BlockFunction
    arguments: tuple[Any, ...]


def _same(call: _Call) -> _Call:
    """On a worker, from where the others fetch it."""
    return call


def _apply(block: Episodes, call: _Call) -> Arrays:
    """On a worker: the sums of one block, on the worker's one thread."""
    return LocalEngine(block, threads=1).reduce(call.function, *call.arguments)


def _persons(block: Episodes) -> int:
    return block.persons


def _check_partitions(client: Any, raw: Sequence[Any], person: str) -> None:
    """Nobody in two partitions, found by merging keyed digests of ids from worker to worker.

    Digests stay on the workers and die with the check; only yes or no comes back.
    """
    secret = secrets.token_bytes(16)
    found = client.map(person_digests, raw, column=person, secret=secret, pure=False, retries=3)
    while len(found) > 1:
        pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
        found = [client.submit(_disjoint_union, *pair, pure=False, retries=3) for pair in pairs]
    if client.submit(_overlapping, found[0], pure=False).result():
        raise DataFormError(
            f"the rows of one person lie in several partitions: partition the data by '{person}'."
        )


def _disjoint_union(*digests: NDArray[np.uint64] | None) -> NDArray[np.uint64] | None:
    """All digests, or None once two partitions share one."""
    known = [part for part in digests if part is not None]
    if len(known) < len(digests):
        return None
    union = np.unique(np.concatenate(known))
    return union if len(union) == sum(map(len, known)) else None


def _overlapping(digests: NDArray[np.uint64] | None) -> bool:
    return digests is None


def _spills(dask_worker: Any) -> bool:
    manager = dask_worker.memory_manager
    return bool(getattr(manager, "memory_target_fraction", True)) or bool(
        getattr(manager, "memory_spill_fraction", True)
    )

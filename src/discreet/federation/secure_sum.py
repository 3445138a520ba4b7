"""The sum of every site's integers, by MPyC: Shamir shares over a prime field, opened once.

A site splits each integer x into the values of a random polynomial of degree t with x at 0, one
value for each site.  Every site adds the values that it received; t + 1 of these sums determine the
sum of all integers, and t of them, or of the values of any one site, determine nothing.

MPyC's runtime does this.  We use its `input` and `output` of lists of field elements, whose bytes are
plain integers.  We use neither functions that unpickle messages of others (`transfer`, `shutdown`,
arrays) nor its connections, which trust the number that a caller gives itself.
"""

import importlib
import logging
import os
import sys
import warnings
from argparse import Namespace
from typing import Any

from discreet.errors import of_extra
from discreet.federation.connection import Connection

PRIME = 2**89 - 1
"""A sum over 64 sites of integers below 2^64 has at most 71 bits; a sum is read as signed."""


class SecureSum:
    """MPyC's runtime over connections that are already there.

    MPyC keeps the runtime in a global of its module, so a process has one at a time.
    """

    def __init__(self, party: int, connections: dict[int, Connection], colluding: int) -> None:
        mpyc = load_mpyc()
        parties = [mpyc.Party(number) for number in range(len(connections) + 1)]
        for number, connection in connections.items():
            parties[number].protocol = connection
        self._field = mpyc.finfields.GF(PRIME)
        # no logging, no keys for pseudorandom sharing (a sum needs none), everything asynchronous
        options = Namespace(
            threshold=colluding,
            no_log=True,
            no_prss=True,
            no_async=False,
            no_barrier=True,
            mix32_64bit=False,
        )
        self._runtime = mpyc.Runtime(party, parties, options)
        mpyc.asyncoro.runtime = self._runtime

    async def add(self, values: list[int]) -> list[int]:
        """Return the sums over all sites, entry by entry."""
        field = self._field
        shares = await self._runtime.input([field(value) for value in values])
        sums = [sum(column, field(0)) for column in zip(*shares, strict=True)]
        opened = await self._runtime.output(sums)
        residues = (element.value for element in opened)
        return [value if 2 * value < PRIME else value - PRIME for value in residues]


def load_mpyc() -> Any:
    """Import MPyC's runtime module without the side effects of its import.

    On import MPyC parses `sys.argv`, configures logging and makes a runtime, unless its own
    documentation is being built.
    """
    if "mpyc.runtime" in sys.modules:
        return sys.modules["mpyc.runtime"]
    arguments, building = sys.argv, os.environ.get("READTHEDOCS")
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    sys.argv, os.environ["READTHEDOCS"] = arguments[:1], "True"
    try:
        with of_extra("federation", "a joint fit needs MPyC"), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it asks numpy for old names
            runtime = importlib.import_module("mpyc.runtime")
    finally:
        sys.argv, root.handlers = arguments, handlers
        root.setLevel(level)
        if building is None:
            del os.environ["READTHEDOCS"]
        else:
            os.environ["READTHEDOCS"] = building
    return runtime

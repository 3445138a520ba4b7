"""People in this process's memory, in as many blocks as there are cores."""

import os
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.engine.engine import Arrays, BlockFunction, add, require_same_people
from discreet.engine.threads import in_threads, one_blas_thread
from discreet.people.episodes import Episodes

# Below this many rows a second thread costs more time than it saves.
ROWS_A_THREAD = 100_000
# Enough people for a start two or three Newton steps from the optimum, at a fraction of their cost.
ROWS_A_SAMPLE = (6_000, 20_000)
SHARE_OF_SAMPLE = 8


@dataclass(frozen=True, eq=False)
class LocalEngine:
    """Blocks of people of this process, summed in a fixed order."""

    episodes: Episodes
    threads: int | None = None

    @property
    def persons(self) -> int:
        """n, the number of people."""
        return self.episodes.persons

    @cached_property
    def blocks(self) -> list[Episodes]:
        """Views of about equal size, cut between people."""
        whole = self.episodes
        wanted = self.threads or min(os.cpu_count() or 1, max(1, whole.rows // ROWS_A_THREAD))
        units = whole.rows if whole.offsets is None else whole.persons
        edges = [units * block // wanted for block in range(wanted + 1)]
        blocks = [whole.slice(low, high) for low, high in pairwise(edges)]
        if whole.offsets is None:  # people who are never at risk have no row in any block
            blocks[-1] = replace(blocks[-1], persons=blocks[-1].persons + whole.persons - units)
        return blocks

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """Sum the blocks, in threads if there are several, and add in block order."""
        # each row and each person in one block: blocks are neighbours
        rows, persons = (
            sum(block.rows for block in self.blocks),
            sum(block.persons for block in self.blocks),
        )
        require_same_people([(persons, rows)], [(self.persons, self.episodes.rows)])
        with one_blas_thread():
            sums = in_threads(
                lambda block: function(block, *arguments), self.blocks, len(self.blocks)
            )
        return reduce(add, sums)

    def sample(self) -> "LocalEngine":
        """Return every k-th row of a large block of one row a person; the whole of smaller ones."""
        rows = self.episodes.rows
        step = rows // int(np.clip(rows // SHARE_OF_SAMPLE, *ROWS_A_SAMPLE))
        if step < 2 or self.episodes.offsets is not None:
            return self
        return LocalEngine(self.episodes.every(step))

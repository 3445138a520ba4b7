"""Encoded people: stretches of intervals at risk with constant covariates."""

import hashlib
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Stamp = tuple[int, int]
"""The number of people of a block, and a digest that differs from those of other blocks."""


@dataclass(frozen=True, eq=False)  # identity: arrays do not compare, and rows are memoised by it
class Episodes:
    """Rows of covariates in internal coordinates with the intervals in which they are at risk.

    A row is at risk in the 1-based intervals entry + 1, ..., exit, where
    0 <= entry < exit <= intervals; ``event`` says whether an event happened in interval ``exit``.
    Rows ``offsets[i]:offsets[i + 1]`` are person i; they are disjoint in time and in time order,
    and only the last of them may carry an event, so that a person is at risk at most once in each
    interval and has at most one event.  Without ``offsets`` every row is a person of its own and
    the rows are sorted by exit.  ``persons`` counts also those who are never at risk.
    ``stratum`` is the number of each row's stratum, the same for all rows of a person.
    ``cause`` is the number of each event's cause, from 1, and 0 where a row ends without one.
    """

    covariates: NDArray[np.float64]
    entry: NDArray[np.int32]
    exit: NDArray[np.int32]
    event: NDArray[np.bool_]
    offsets: NDArray[np.int64] | None
    persons: int
    stratum: NDArray[np.int16] | None = None
    cause: NDArray[np.int8] | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.exit)

    @property
    def dimension(self) -> int:
        """Number of covariate columns."""
        return int(self.covariates.shape[1])

    @property
    def ends(self) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """The first and the last row of every person who has one."""
        if self.offsets is None:
            rows = np.arange(self.rows, dtype=np.int64)
            return rows, rows
        some = self.offsets[1:] > self.offsets[:-1]
        return self.offsets[:-1][some], self.offsets[1:][some] - 1

    def stamp(self, secret: bytes) -> Stamp:
        """Return the number of people and a keyed digest of every number that a sum may read.

        SHA-256, which processors compute faster than they read Parquet; two blocks that differ
        have one digest with probability 2^-128.
        """
        digest = hashlib.sha256(secret)
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None:
                digest.update(item.name.encode())
                digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        return self.persons, int.from_bytes(digest.digest()[:16])

    def of_stratum(self, number: int) -> "Episodes":
        """Return the people of one stratum, in the same order."""
        if self.stratum is None:
            return self
        rows = self.stratum == number
        offsets = None
        if self.offsets is not None:
            counts = np.add.reduceat(np.append(rows, False), self.offsets[:-1], dtype=np.int64)
            counts[self.offsets[1:] == self.offsets[:-1]] = 0
            offsets = np.concatenate([[0], np.cumsum(counts[counts > 0])])
        place = np.flatnonzero(rows)
        persons = len(place) if offsets is None else len(offsets) - 1
        return replace(self._rows(place, offsets, persons), stratum=None)

    def of_cause(self, number: int) -> "Episodes":
        """Return rows in which only this cause is an event, without intervals of other causes.

        An interval that ends in another cause is removed (Begg and Gray 1984), so that the binary
        model of the rest is the cause's conditional likelihood.
        """
        if self.cause is None:
            return self
        other = self.event & (self.cause != number)
        exits = self.exit - other.astype(self.exit.dtype)
        kept = exits > self.entry
        rows, offsets = np.flatnonzero(kept), None
        if self.offsets is None:  # rows without offsets are sorted by exit
            rows = rows[np.argsort(exits[rows], kind="stable")]
        else:
            offsets = np.concatenate([[0], np.cumsum(kept)])[self.offsets]
        part = self._rows(rows, offsets, self.persons)
        return replace(part, exit=exits[rows], event=(self.event & ~other)[rows], cause=None)

    def slice(self, start: int, stop: int) -> "Episodes":
        """Return the rows start:stop (views, not copies), cut between people.

        With ``offsets`` the arguments count people, otherwise rows; people without a row are
        counted only if ``offsets`` lists them.
        """
        if self.offsets is None:
            return self._rows(slice(start, stop), None, stop - start)
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        offsets = self.offsets[start : stop + 1] - first
        return self._rows(slice(first, last), offsets, stop - start)

    def every(self, step: int) -> "Episodes":
        """Return each step-th row, where every row is a person."""
        part = self._rows(slice(None, None, step), None, len(self.exit[::step]))
        return replace(part, covariates=np.ascontiguousarray(part.covariates))

    def _rows(
        self,
        rows: Any,
        offsets: NDArray[np.int64] | None,
        persons: int,
    ) -> "Episodes":
        return Episodes(
            covariates=self.covariates[rows],
            entry=self.entry[rows],
            exit=self.exit[rows],
            event=self.event[rows],
            offsets=offsets,
            persons=persons,
            stratum=None if self.stratum is None else self.stratum[rows],
            cause=None if self.cause is None else self.cause[rows],
        )

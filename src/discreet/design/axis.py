"""The public time axis: its columns and its grid, as declared in ``[time]``."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    model_serializer,
    model_validator,
)

from discreet.design.declared import SMALLEST_RANGE, Name, Number, Public

MAX_INTERVALS = 1_000_000
UNITS = ("days", "weeks", "months", "years")


def _check_unit(unit: str) -> str:
    if unit not in UNITS:
        raise ValueError(f"must be one of {', '.join(UNITS)}")
    return unit


class TimeAxis(Public):
    """The time columns and the public grid zero = a_0 < a_1 < ... < a_q = horizon.

    equal      a_s = zero + (horizon - zero) s / q, with ``intervals`` = q
    growing    a_s = zero + first (r^s - 1) / (r - 1), with ``first`` and ``intervals``; the factor
               r >= 1 is the one with a_q = horizon
    declared   a_s = ``edges``[s]

    ``origin`` is time zero of the scale (age 60, for example); duration, entry and horizon are
    times on that scale. ``discreet.design.grid.TimeGrid`` makes the points.
    """

    duration: Name
    event: Name
    entry: Name | None = None
    unit: Annotated[Name, AfterValidator(_check_unit)] | None = None
    origin: Number | None = None
    first: Number | None = None
    edges: (
        Annotated[tuple[Number, ...], Field(min_length=2, max_length=MAX_INTERVALS + 1)] | None
    ) = None
    horizon: Number
    intervals: Annotated[int, Strict(), Field(ge=1, le=MAX_INTERVALS)]

    @model_validator(mode="before")
    @classmethod
    def _count_edges(cls, given: object) -> object:
        """Declared edges say what the horizon and the number of intervals are."""
        if not isinstance(given, Mapping) or given.get("edges") is None:
            return given
        for key in ("intervals", "first"):
            if given.get(key) is not None:
                raise ValueError(
                    f"key '{key}' in [time] does not go with edges; remove one or the other"
                )
        edges = given["edges"]
        if not isinstance(edges, list | tuple) or len(edges) < 2:
            return {"horizon": 1.0, **given, "intervals": 1}  # the complaint about edges is enough
        return {"horizon": edges[-1], **given, "intervals": len(edges) - 1}

    @model_validator(mode="after")
    def _check_grid(self) -> Self:
        if self.edges is not None:
            self._check_edges(self.edges)
        if not self.length >= SMALLEST_RANGE:
            relation = "lie after origin" if self.zero else "be a positive number"
            raise ValueError(f"key 'horizon' in [time] must {relation}")
        if self.first is not None:
            self._check_first(self.first)
        if self.narrowest < 8 * math.ulp(max(abs(self.zero), abs(self.horizon))):
            raise ValueError(
                "the intervals of [time] are too narrow for numbers of this size; use wider ones"
            )
        return self

    def _check_edges(self, edges: tuple[float, ...]) -> None:
        if any(not later > earlier for earlier, later in pairwise(edges)):
            raise ValueError("key 'edges' in [time] must increase from one entry to the next")
        for key, edge, place in (("origin", edges[0], "first"), ("horizon", edges[-1], "last")):
            if getattr(self, key) not in (None, edge):
                raise ValueError(
                    f"key '{key}' in [time] is not the {place} of the edges; leave it out"
                )

    def _check_first(self, first: float) -> None:
        if first <= 0:
            raise ValueError("key 'first' in [time] must be a positive number")
        if first * self.intervals > self.length:
            raise ValueError(
                "key 'first' in [time] is too long: first times intervals must not exceed the "
                "horizon"
            )
        if self.intervals == 1 and first < self.length:
            raise ValueError("key 'first' in [time] needs at least 2 intervals")

    @model_serializer(mode="wrap")
    def _write(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The keys of the file: with ``edges`` the number of intervals is not one of them."""
        written: dict[str, Any] = handler(self)
        if self.edges is not None:
            written.pop("intervals", None)
        return written

    @property
    def zero(self) -> float:
        """a_0, where the grid begins: ``origin``, or the first of ``edges``, or 0."""
        if self.edges is not None:
            return self.edges[0]
        return 0.0 if self.origin is None else self.origin

    @property
    def length(self) -> float:
        """From the beginning of the grid to the horizon."""
        return self.horizon - self.zero

    @property
    def narrowest(self) -> float:
        """The length of the shortest interval."""
        if self.edges is not None:
            return min(later - earlier for earlier, later in pairwise(self.edges))
        return self.length / self.intervals if self.first is None else self.first

    @property
    def axis_label(self) -> str:
        """What is written along an axis of time."""
        return "time" if self.unit is None else f"time in {self.unit}"

    @property
    def words(self) -> str:
        """The grid in a few words: ``200 intervals up to 2190``."""
        span = f"from {self.zero:g} to" if self.zero else "up to"
        unit = "" if self.unit is None else f" {self.unit}"
        kind = "" if self.first is None else f", the first {self.first:g} long and each next longer"
        unequal = "unequal " if self.edges is not None else ""
        return f"{self.intervals} {unequal}intervals {span} {self.horizon:g}{unit}{kind}"

"""The public time axis: its columns and its grid, as declared in ``[time]``."""

import math
import re
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    model_serializer,
    model_validator,
)

from discreet.design.declared import (
    SMALLEST_RANGE,
    MissingValues,
    Name,
    Number,
    SchemaTable,
    code_among,
    level_key,
    level_texts,
)
from discreet.design.grid import TimeGrid
from discreet.text import with_unit

MAX_INTERVALS = 1_000_000
MAX_EVENT_VALUES = 100
MAX_CAUSES = 20
DAYS = {"days": 1.0, "weeks": 7.0, "months": 30.4375, "years": 365.25}
"""Units of time; months and years are averages of the Julian calendar."""


def _check_unit(unit: str) -> str:
    if unit not in DAYS:
        raise ValueError(f"must be one of {', '.join(DAYS)}")
    return unit


def _check_format(date_format: str) -> str:
    # 1 February 2003 must keep its year when written and read
    sample = datetime(2003, 2, 1, tzinfo=UTC)
    try:
        with warnings.catch_warnings(action="ignore"):  # Python 3.13's, of a format without a year
            year = datetime.strptime(sample.strftime(date_format), date_format).year  # noqa: DTZ007
    except (ValueError, re.error):  # a repeated code is an error of the pattern
        year = None
    if year != sample.year:
        raise ValueError("must be a format of dates such as %d/%m/%Y")
    return date_format


def _check_cause(name: str) -> str:
    if name in {"baseline", "covariates"}:  # keys beside the causes in a model's file
        raise ValueError("must not be called baseline or covariates")
    return name


Values = Annotated[
    tuple[Name, ...],
    BeforeValidator(level_texts),
    Field(min_length=1, max_length=MAX_EVENT_VALUES),
]
"""Values of the event column."""


class TimeAxis(SchemaTable):
    """The time columns and the public grid zero = a_0 < a_1 < ... < a_q = horizon.

    equal      a_s = zero + (horizon - zero) s / q, with ``intervals`` = q
    growing    a_s = zero + first (r^s - 1) / (r - 1), with ``first`` and ``intervals``; the factor
               r >= 1 is the one with a_q = horizon
    declared   a_s = ``edges``[s]

    ``origin`` is time zero of the scale (age 60, for example); duration, entry and horizon are
    times on that scale. ``grid`` has the points.

    Instead of a ``duration`` there may be two dates, ``start`` and ``end``; ``entry`` is then a date
    too, and a time is the number of days since ``start`` divided by the days of a ``unit``, a day by
    default.

    ``causes`` are competing risks: each has its values of the event column.

    Parameters
    ----------
    duration, start, end, entry
        Columns: one of times, or two of dates; and the time at which a person came under observation.
    date_format
        Format of dates in the codes of ``strptime``; ISO by default.
    event, event_values, causes
        Column of outcomes, and its values for the event, or for each cause.
    missing_values
        Codes for missing values in these columns, such as 9999.
    unit, origin
        Unit of times, and beginning of the scale.
    horizon, intervals, first, edges
        The grid, as above.

    Examples
    --------
    >>> TimeAxis(duration="days", event="died", horizon=365, intervals=12).columns
    ('days', 'died')
    """

    duration: Name | None = None
    start: Name | None = None
    end: Name | None = None
    date_format: Annotated[Name, AfterValidator(_check_format)] | None = None
    event: Name
    event_values: Values | None = None
    causes: (
        Annotated[
            dict[Annotated[Name, AfterValidator(_check_cause)], Values],
            Field(max_length=MAX_CAUSES),
        ]
        | None
    ) = None
    entry: Name | None = None
    missing_values: MissingValues | None = None
    unit: Annotated[Name, AfterValidator(_check_unit)] | None = None
    origin: Number | None = None
    first: Number | None = None
    edges: (
        Annotated[tuple[Number, ...], Field(min_length=2, max_length=MAX_INTERVALS + 1)] | None
    ) = None
    horizon: Number
    intervals: Annotated[int, Strict(), Field(ge=1, le=MAX_INTERVALS)]

    def __hash__(self) -> int:
        # causes are left out: a mapping has no hash
        return hash((self.columns, self.horizon, self.intervals, self.first, self.edges))

    @model_validator(mode="before")
    @classmethod
    def _count_edges(cls, given: object) -> object:
        """Set the horizon and the number of intervals from declared edges."""
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
    def _check_columns(self) -> Self:
        if self.start is None and self.end is None:
            if self.duration is None:
                raise ValueError("key 'duration' in [time] is missing; add it, or start and end")
            if self.date_format is not None:
                raise ValueError("key 'date_format' in [time] needs dates: give start and end")
            return self
        if self.duration is not None:
            raise ValueError(
                "key 'duration' in [time] does not go with start and end; remove one or the other"
            )
        if self.start is None or self.end is None:
            lacking = "start" if self.start is None else "end"
            raise ValueError(f"key '{lacking}' in [time] is missing; dates need start and end")
        return self

    @model_validator(mode="after")
    def _check_outcomes(self) -> Self:
        causes = {} if self.causes is None else self.causes
        outcomes = [*(self.event_values or ()), *(one for some in causes.values() for one in some)]
        if self.causes is not None and self.event_values is not None:
            raise ValueError(
                "key 'causes' in [time] does not go with event_values; remove one or the other"
            )
        if self.causes is not None and len(causes) < 2:
            raise ValueError("key 'causes' in [time] needs two causes; use event_values for one")
        if causes and len(set(map(level_key, outcomes))) < len(outcomes):
            raise ValueError("key 'causes' in [time] has a value twice; causes must not overlap")
        # a code must not mean an outcome too, declared or by the convention of 0 and 1
        outcomes = outcomes or ["0", "1"]
        code = code_among(self.missing_values or (), outcomes)
        if code is not None:
            raise ValueError(
                f"key 'missing_values' in [time] has '{code}', which is an outcome of column "
                f"'{self.event}'; remove it from one of them"
            )
        return self

    @model_validator(mode="after")
    def _check_grid(self) -> Self:
        if self.edges is not None:
            if any(not later > earlier for earlier, later in pairwise(self.edges)):
                raise ValueError("key 'edges' in [time] must increase from one entry to the next")
            for key, edge, place in (
                ("origin", self.edges[0], "first"),
                ("horizon", self.edges[-1], "last"),
            ):
                if getattr(self, key) not in (None, edge):
                    raise ValueError(
                        f"key '{key}' in [time] is not the {place} of the edges; leave it out"
                    )
        if not self.length >= SMALLEST_RANGE:
            relation = "lie after origin" if self.zero else "be a positive number"
            raise ValueError(f"key 'horizon' in [time] must {relation}")
        if self.first is not None:
            if self.first <= 0:
                raise ValueError("key 'first' in [time] must be a positive number")
            if self.first * self.intervals > self.length:
                raise ValueError(
                    "key 'first' in [time] is too long: first times intervals must not exceed the "
                    "horizon"
                )
            if self.intervals == 1 and self.first < self.length:
                raise ValueError("key 'first' in [time] needs at least 2 intervals")
        if self.narrowest < 8 * math.ulp(max(abs(self.zero), abs(self.horizon))):
            raise ValueError(
                "the intervals of [time] are too narrow for numbers of this size; use wider ones"
            )
        return self

    @model_serializer(mode="wrap")
    def _write(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write the keys of the file; with ``edges`` the number of intervals is not one of them."""
        written: dict[str, Any] = handler(self)
        if self.edges is not None:
            written.pop("intervals", None)
        return written

    @property
    def grid(self) -> TimeGrid:
        """The points of the grid, and comparisons of times with them."""
        shape = (self.horizon, self.intervals, self.zero, self.first, self.edges)
        return TimeGrid(*shape, self.counted_in)

    @property
    def dated(self) -> bool:
        """Whether times are differences of dates."""
        return self.start is not None

    @property
    def date_columns(self) -> tuple[str, ...]:
        """The columns that hold dates."""
        if not self.dated:
            return ()
        return tuple(name for name in (self.start, self.end, self.entry) if name is not None)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of times and outcomes."""
        named = (self.duration, self.start, self.end, self.event, self.entry)
        return tuple(name for name in named if name is not None)

    @property
    def counted_in(self) -> str | None:
        """The unit of every time on the axis: dates without one are counted in days."""
        return "days" if self.unit is None and self.dated else self.unit

    @property
    def days(self) -> float:
        """Days in a unit of time, where times are differences of dates."""
        return DAYS[self.counted_in or "days"]

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
        """The label of an axis of time."""
        return "time" if self.counted_in is None else f"time in {self.counted_in}"

    @property
    def column_words(self) -> str:
        """The columns in words: ``“days”``, or ``“diagnosed” to “last_seen”``."""
        return f"“{self.start}” to “{self.end}”" if self.dated else f"“{self.duration}”"

    @property
    def words(self) -> str:
        """The grid in a few words: ``200 intervals up to 2190``."""
        span = f"from {self.zero:g} to" if self.zero else "up to"
        end = with_unit(f"{self.horizon:g}", self.counted_in)
        kind = "" if self.first is None else f", the first {self.first:g} long and each next longer"
        unequal = "unequal " if self.edges is not None else ""
        return f"{self.intervals} {unequal}intervals {span} {end}{kind}"

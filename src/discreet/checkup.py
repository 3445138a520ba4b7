"""What a custodian should see before a release is paid for: whether the file suits the schema.

Three outcomes: everything fits; some values are repaired, which is worth a look; no useful model
can come of it, or a wrong one.  Each reason for the last has a name, by which a person accepts it.

What is found are exact counts, so it is for the custodian alone: neither the reasons nor that there
were any may be published.  `docs/threat-model.md` says what follows for `discreet fit`.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from discreet.base import as_schema
from discreet.design.grid import TimeGrid
from discreet.design.periods import intervals_before, period_words
from discreet.design.schema import Categorical, PageWords, Schema
from discreet.documents.model import Release
from discreet.documents.read import read_document
from discreet.errors import ArtefactError, SettingsError
from discreet.mechanisms.contract import MOST_COEFFICIENTS
from discreet.people.check import (
    FEWEST_EVENTS,
    SHARE,
    TENTHS,
    Key,
    Picture,
    grid_hints,
    hints,
    quote_hints,
)
from discreet.people.repairs import LATE_EVENT, OVERLAP, RepairReport
from discreet.people.source import EngineName, People
from discreet.text import filled, fitted

USELESS = 6
"""Exit status of `discreet check` where no useful model can come of the file."""

Accepted = Literal[
    "no-risk",
    "one-interval",
    "few-events",
    "event-codes",
    "one-value",
    "unfit-column",
    "unreadable",
    "unknown-levels",
    "missing-codes",
    "negative-times",
    "dropped-rows",
    "not-fixed",
]
"""Names of what stands against a model; a person who knows better accepts it by name."""
NAMES: tuple[str, ...] = get_args(Accepted)

MANY_COEFFICIENTS = 30
"""Of the covariates; with fewer a private fit takes seconds."""
FEWEST_CODES = 5
RAREST_CODES = 1e-3
"""A value that looks like a code is one if it is in so many rows, and in this share of them."""

Verdict = Literal["fits", "repairs", "no useful model"]
WIDTH = 80
"""Tables are for terminals of this width."""
_BARS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Obstacle:
    """Something that stands against a model: its name, and a sentence for the custodian."""

    name: Accepted
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Check:
    """What `check` found; exact counts, for the custodian alone."""

    schema: Schema
    report: RepairReport
    picture: Picture
    notes: tuple[str, ...] = ()
    """What the file itself shows, such as a quote that was never closed."""
    proposals: tuple[str, ...] = ()
    """What an earlier release suggests: public, not learned from these records."""
    accepted: frozenset[str] = frozenset()
    """Names of obstacles that a person knows of and accepts."""

    @property
    def verdict(self) -> Verdict:
        """Fits, repairs worth a look, or no useful model."""
        if self.obstacles:
            return "no useful model"
        return "repairs" if self.report.repairs else "fits"

    @property
    def exit_status(self) -> int:
        """0, or 6 where no useful model can come of the file."""
        return USELESS if self.obstacles else 0

    @cached_property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """Why no useful model can come of it, or a wrong one; empty where one can."""
        return tuple(item for item in self._found if item.name not in self.accepted)

    @cached_property
    def _found(self) -> tuple[Obstacle, ...]:
        """All that stands against a model, accepted or not."""
        at_risk = self.picture.at_risk
        if not at_risk:
            found = [Obstacle("no-risk", "Not one person is at risk in any interval.")]
        else:
            found = [*self._lacking_events(), *self._constant()]
        return (*found, *self._misread(), *self._changing(), *self._unfit())

    def _constant(self) -> Iterator[Obstacle]:
        for name in self.picture.constant:
            text = (
                f"Column '{name}' has one value only, so it has no effect that could be estimated."
            )
            yield Obstacle("one-value", text)

    def _misread(self) -> Iterator[Obstacle]:
        """Values that probably mean something else than the schema says."""
        event = self.schema.time.event
        if self._miscoded:
            yield Obstacle(
                "event-codes",
                f"Column '{event}' holds nothing but 1 and 2. Are events coded 1 and 2? Then say "
                "event_values = [2] in [time]; as it is, 1 counts as the event and 2 as censored.",
            )
        elif self._many("neither 0 nor 1"):
            yield Obstacle(
                "event-codes",
                f"Many values of column '{event}' are neither 0 nor 1 and count as censored: name "
                "those that mean the event as event_values in [time], or as causes if there is more "
                "than one kind of event.",
            )
        for (column, value), count in self._codes().items():
            own = "in [time]" if column == self.schema.time.duration else "for that covariate"
            yield Obstacle(
                "missing-codes",
                f"'{value}' is in column '{column}' {count:,} times and does not fit: is it a code "
                f"for a missing value? Then write missing_values = [{value}] {own}.",
            )
        for column in self._many("unknown level"):
            yield Obstacle(
                "unknown-levels",
                f"Many rows have a level of column '{column}' that the schema does not declare: they "
                "would count as the reference level. Compare spellings, declare the level, or, if it "
                "means that there is no value, name it in missing_values.",
            )
        for column in self._many("not a number", "not a date"):
            yield Obstacle(
                "unreadable", f"Many values of column '{column}' cannot be read and are replaced."
            )
        for column in self._many("negative", "before the start"):
            yield Obstacle(
                "negative-times",
                f"Many times of column '{column}' lie before time zero: those people would never be "
                "at risk, or be at risk from the start.",
            )
        dropped = sum(item.count for item in self.report.repairs if item.problem == OVERLAP)
        if dropped > SHARE * self.report.rows:
            share = "Half or more" if 2 * dropped >= self.report.rows else "Many"
            yield Obstacle(
                "dropped-rows",
                f"{share} of the rows are dropped, because a later row of the same "
                f"'{self.schema.person}' covers them: was the file exported twice, or does it hold "
                "two endpoints? Keep one row for each stretch of time of a person.",
            )

    def _changing(self) -> Iterator[Obstacle]:
        """Covariates that are declared fixed, and change in more persons than mistakes explain."""
        for name, count in self.picture.changing.items():
            if count > SHARE * self.report.persons:
                yield Obstacle(
                    "not-fixed",
                    f"Column '{name}' is declared fixed, and changes from row to row of many persons: "
                    "who is in which group? Add a column that has the value at the person's start in "
                    "every row, declare that as fixed, and draw curves by it.",
                )

    def _many(self, *problems: str) -> tuple[str, ...]:
        """Columns in which one of the problems is in more rows than single records explain."""
        counts: Counter[str] = Counter()
        marked = {item.name for item in self.schema.covariates if item.indicated}
        coded = self._coded_rows()
        for item in self.report.repairs:
            if item.problem in problems and item.column not in marked:
                counts[item.column] += item.count
        return tuple(
            name for name, count in counts.items() if count - coded[name] > SHARE * self.report.rows
        )

    def _codes(self) -> dict[Key, int]:
        """Values that are codes for missing values by their look and by how often they are there."""
        least = max(FEWEST_CODES, RAREST_CODES * self.report.rows)
        return {key: count for key, count in self.picture.codes.items() if count >= least}

    def _coded_rows(self) -> Counter[str]:
        """Rows of each column that hold such a value: they are not asked about twice."""
        rows: Counter[str] = Counter()
        for (column, _), count in self._codes().items():
            rows[column] += count
        return rows

    def _unfit(self) -> Iterator[Obstacle]:
        """Columns of which too much is repaired to know what the coefficient is of."""
        for name, count in self._repaired().items():
            if 2 * count >= self.report.rows > 0:
                yield Obstacle(
                    "unfit-column", f"Half or more of column '{name}' does not fit the schema."
                )

    def _lacking_events(self) -> Iterator[Obstacle]:
        """Why the events there are, and where they are, fit no model."""
        picture, time = self.picture, self.schema.time
        if picture.first_exits == picture.at_risk:
            yield Obstacle(
                "one-interval",
                "All people leave in the first interval: is the horizon in the unit of the file?",
            )
        if picture.events < FEWEST_EVENTS:
            found = _number(picture.events, "event")
            verb = "is" if picture.events == 1 else "are"
            yield Obstacle(
                "few-events", f"There {verb} {found}; fewer than {FEWEST_EVENTS} fit no model."
            )
        elif picture.first_exits < picture.at_risk and len(picture.event_counts) == 1:
            yield Obstacle(
                "one-interval",
                f"All events are in one of the {time.intervals} intervals: is the horizon in the unit "
                "of the file? If it is, make intervals short where events come, by first or edges.",
            )
        if not picture.events and time.event_values:
            listed = ", ".join(f"'{word}'" for word in time.event_values)
            yield Obstacle(
                "few-events",
                f"Not one person at risk has one of event_values, {listed}, in column "
                f"'{time.event}': compare their spelling with the file; capitals count.",
            )

    def _repaired(self) -> Mapping[str, int]:
        """Repairs of the values of each column, a gap in an optional entry aside."""
        counts: dict[str, int] = {}
        for repair in self.report.repairs:
            if repair.column != self.schema.person and repair.problem not in _HARMLESS:
                counts[repair.column] = counts.get(repair.column, 0) + repair.count
        return counts

    def lines(self) -> Iterator[str]:
        """Paragraphs and tables, in the order in which they are read."""
        yield from self._people()
        yield from self._unit()
        yield from self._size()
        yield from self._changes()
        if self.schema.unbounded:
            listed = ", ".join(f"'{name}'" for name in self.schema.unbounded)
            yield f"A private fit also needs public bounds, low and high, for {listed}."
        if self.report.repairs:
            yield "These values do not fit the schema; every fit repairs them as shown:"
            yield fitted(self._table(), WIDTH, left=(0, 1, 3, 4))
        else:
            yield "Every value fits the schema."
        for name, count in self.picture.changing.items():
            yield (
                f"'{name}' is declared fixed, and changes within {_number(count, 'person')}: curves "
                "take the first row at risk."
            )
        yield from hints(self.report, self.schema, self._coded_rows())
        yield from self._questions()
        if not self._miscoded:  # where events come is known only once it is known what they are
            yield from grid_hints(self.report, self.picture, self.schema.time)
        yield from self.proposals
        yield from self.notes
        yield from self._words()
        if self.obstacles:
            yield "This file will give no useful model, or a wrong one:"
            yield from (f"- {item.text} ({item.name})" for item in self.obstacles)
            name = self.obstacles[0].name
            yield (
                "Correct the file or the schema. What is right as it is, a person who knows the data "
                f"accepts by its name, in brackets above, here and in fit: --accept {name}."
            )
        passed = sorted({item.name for item in self._found} & self.accepted)
        if passed:
            yield f"Accepted: {', '.join(passed)}."

    def _people(self) -> Iterator[str]:
        report, picture = self.report, self.picture
        unit = self.schema.time.counted_in or "units of time"
        yield (
            f"{_number(report.rows, 'row')}, {_number(report.persons, 'person')}, "
            f"{_number(picture.events, 'event')}, "
            f"{picture.time_at_risk:,.0f} {unit} at risk."
        )
        if report.never_at_risk:
            yield f"{report.never_at_risk:,} persons are never at risk and add nothing to a fit."
        if picture.at_risk:
            yield f"Exits by tenth of the time grid:  {_bars(picture.exits)}"
        if picture.events:
            yield f"Events by tenth of the time grid: {_bars(self._event_tenths())}"

    def _size(self) -> Iterator[str]:
        """How many coefficients are asked for, where they are many."""
        count = len(self.schema.coefficient_names)
        if count > MANY_COEFFICIENTS:
            yield (
                f"The covariates have {count:,} coefficients. The time of a private fit grows with "
                f"their square and more, and it takes at most {MOST_COEFFICIENTS}; few levels and "
                "large groups also make a more accurate release."
            )

    def _changes(self) -> Iterator[str]:
        """From when an effect that changes acts, and the events of each of its periods."""
        grid = TimeGrid.of(self.schema.time)
        slack = 1e-9 * (grid.horizon - grid.zero)
        for item in self.schema.covariates:
            cuts = item.changes_at or ()
            ends = intervals_before(cuts, grid)
            for cut, end in zip(cuts, ends, strict=True):
                if abs(cut - grid.edges[end]) > slack:
                    yield (
                        f"The effect of '{item.name}' changes at {cut:.10g}, within an interval: it "
                        f"acts from {grid.edges[end]:.10g} on, where the next interval begins."
                    )
            if cuts:
                events = [0] * (len(cuts) + 1)
                for place, count in self.picture.event_counts.items():
                    events[bisect_left(ends, place)] += count
                words = period_words(cuts)
                listed = (f"{count:,} {word}" for word, count in zip(words, events, strict=True))
                yield f"Events in the periods of '{item.name}': {', '.join(listed)}."

    def _event_tenths(self) -> tuple[int, ...]:
        """Events as exits are counted, to be read below them."""
        counts = [0] * TENTHS
        for place, count in self.picture.event_counts.items():
            counts[TENTHS * (place - 1) // self.schema.time.intervals] += count
        return tuple(counts)

    def _unit(self) -> Iterator[str]:
        """Dates without a unit are days: a horizon of 60 that was meant in months is said aloud."""
        time = self.schema.time
        if time.dated and time.unit is None:
            yield (
                f"[time] has no unit, so times between dates are counted in days and the horizon is "
                f'{time.horizon:g} days. Write unit = "days" in [time] if that is meant, or '
                '"weeks", "months" or "years".'
            )

    def _words(self) -> Iterator[str]:
        """What a page would show the names of columns for."""
        page = self.schema.page or PageWords()
        lacking = [key for key in ("title", "event", "contact") if getattr(page, key) is None]
        bare = [item.name for item in self.schema.covariates if item.label is None]
        if lacking:
            labels = f", nor labels for {len(bare)} of the covariates" if bare else ""
            yield (
                f"[page] has no {', '.join(lacking)}{labels}: a published page would show names of "
                "columns instead. 'discreet page --words' can set these words after the fit too."
            )

    def _table(self) -> Iterator[tuple[str, ...]]:
        """What is repaired and how often, with as many values as a terminal has room for."""
        repairs = [
            (item.column, item.problem, f"{item.count:,}", item.remedy)
            for item in self.report.repairs
        ]
        heading = ("column", "problem", "rows", "becomes")
        widths = (max(map(len, cells)) for cells in zip(heading, *repairs, strict=True))
        room = WIDTH - sum(width + 2 for width in widths)
        yield *heading, "first values"
        for row in repairs:
            yield *row, _some(self.picture.examples.get((row[0], row[1]), ()), room)

    def _questions(self) -> Iterator[str]:
        """Spellings that are near a level."""
        for covariate in self.schema.covariates:
            if isinstance(covariate, Categorical):
                shown = self.picture.examples.get((covariate.name, "unknown level"), ())
                for value in shown:
                    near = get_close_matches(value, covariate.levels, 1, 0.7)
                    folded = [item for item in covariate.levels if _same(item, value)]
                    for level in (folded or near)[:1]:
                        yield f"'{value}' in column '{covariate.name}' is near the level '{level}'."

    @property
    def _miscoded(self) -> bool:
        """Whether events seem to be coded 1 for censored and 2 for the event, and nothing says so."""
        time = self.schema.time
        declared = time.event_values is not None or time.causes is not None
        return not declared and self.picture.event_values == {"1", "2"}

    def __str__(self) -> str:
        return "\n".join(text if "\n" in text else filled(text, WIDTH) for text in self.lines())

    __repr__ = __str__


def check(
    data: Any,
    schema: Schema | str | PathLike[str] | Mapping[str, Any],
    outcome: Any = None,
    *,
    engine: EngineName = "auto",
    like: str | PathLike[str] | None = None,
    accept: Collection[str] = (),
) -> Check:
    """Compare a file or table with a schema, for the custodian: nothing here is private.

    Parameters
    ----------
    data, outcome
        As in `SurvivalRegression.fit`.
    schema
        A Schema, the path of its TOML file, or its mapping.
    engine
        As in `SurvivalRegression`.
    like
        The file of an earlier release, whose life table may propose a time grid.
    accept
        Names of obstacles that are known and no reason against a model, such as "few-events".

    Returns
    -------
    Check
        Prints as a report; ``verdict`` is "fits", "repairs" or "no useful model".

    Examples
    --------
    >>> ds.check("registry.csv", "schema.toml")  # doctest: +SKIP
    """
    declared, accepted = as_schema(schema), require_names(accept)
    proposals = () if like is None else (proposed_grid(like, declared),)
    source = People.of(data, outcome, engine)
    report, picture = source.check_report(declared)
    place = source.data
    file = isinstance(place, str | PathLike) and source.in_memory
    notes = tuple(quote_hints(Path(place), report.rows)) if file else ()
    return Check(declared, report, picture, notes, proposals, accepted)


def require_names(accept: Collection[str]) -> frozenset[str]:
    """The names of obstacles; a `SettingsError` lists them where one is misspelt."""
    wrong = next((name for name in accept if name not in NAMES), None)
    if wrong is not None:
        raise SettingsError(f"'{wrong}' is nothing to accept; the names are {', '.join(NAMES)}.")
    return frozenset(accept)


def proposed_grid(like: str | PathLike[str], schema: Schema) -> str:
    """A time grid in a sentence, from the life table of an earlier release and the schema alone."""
    model = read_document(Path(like))
    if not isinstance(model, Release) or (table := model.life_table) is None:
        raise ArtefactError(f"'{like}' has no private life table to propose a time grid from.")
    intervals = schema.time.intervals
    first, half, end = table.proposed_first(intervals), table.half_time, float(table.time[-1])
    said = (
        f"In the life table of release {model.release_id}, which is public, half of the events come by "
        f"{half:.3g} of {end:g}"
    )
    if first is None:
        return f"{said}: equal intervals suit such people."
    return (
        f"{said}. For such people [time] could have horizon = {end:g}, intervals = {intervals} and "
        f"first = {first:g}: each half of the intervals would then hold half of the events."
    )


_HARMLESS = (LATE_EVENT,)


def _some(values: tuple[str, ...], room: int) -> str:
    """As many values as there is room for; one at least, cut if it must be."""
    while len(values) > 1 and len(", ".join(values)) > room:
        values = values[:-1]
    text, most = ", ".join(values), max(room, len("first values"))
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _same(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()


def _bars(counts: tuple[int, ...]) -> str:
    """A row of bars, the highest full, and the shares in per cent."""
    total, most = sum(counts), max(counts)
    steps = len(_BARS) - 1
    bars = "".join(_BARS[-(-steps * count // most)] for count in counts)
    shares = " ".join(f"{100 * count / total:.0f}" for count in counts)
    return f"{bars}  ({shares} %)"


def _number(count: int, thing: str) -> str:
    """How many there are, in words that agree."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"

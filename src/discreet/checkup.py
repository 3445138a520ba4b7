"""What a custodian should see before a release is paid for: whether the file suits the schema.

Three outcomes: everything fits; some values are repaired, which is worth a look; no useful model
can come of it.  A person decides: a program that refused by itself would release, by refusing, a
fact about the records.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from discreet.design.schema import Categorical, Schema
from discreet.errors import ArtefactError
from discreet.models.model import Release, read_model
from discreet.people.grid_hints import grid_hints
from discreet.people.picture import FEWEST_EVENTS, TENTHS, Picture
from discreet.people.repairs import LATE_EVENT, OVERLAP, RepairReport, hints, quote_hints
from discreet.people.source import EngineName, People
from discreet.regression import as_schema
from discreet.text import filled, fitted

USELESS = 6
"""Exit status of `discreet check` where no useful model can come of the file."""

Verdict = Literal["fits", "repairs", "no useful model"]
WIDTH = 80
"""Tables are for terminals of this width."""
_BARS = " ▁▂▃▄▅▆▇█"


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

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why no useful model can come of it; empty where one can."""
        return tuple(self._obstacles())

    def _obstacles(self) -> Iterator[str]:
        picture = self.picture
        if not picture.at_risk:
            yield "Nobody is at risk in any interval."
        elif picture.first_exits == picture.at_risk:
            yield (
                "Everybody leaves in the first interval: is the horizon in the unit of the file?"
            )
        if picture.at_risk:
            yield from self._lacking_events()
        for name in picture.constant if picture.at_risk else ():
            yield f"Column '{name}' has one value only, so it has no effect that could be estimated."
        for name, count in self._repaired().items():
            if 2 * count > self.report.rows:
                yield f"More than half of column '{name}' does not fit the schema."
        if self.schema.time.entry is None and 2 * self._overlapping > self.report.rows:
            yield (
                "More than half of the rows are dropped, because a later row of the same "
                f"'{self.schema.person}' covers them."
            )

    @property
    def _overlapping(self) -> int:
        """Rows over which a later one of the same person lies."""
        return sum(item.count for item in self.report.repairs if item.problem == OVERLAP)

    def _lacking_events(self) -> Iterator[str]:
        """Why the events there are, and where they are, fit no model."""
        picture, time = self.picture, self.schema.time
        if picture.events < FEWEST_EVENTS:
            found = _number(picture.events, "event")
            verb = "is" if picture.events == 1 else "are"
            yield f"There {verb} {found}; fewer than {FEWEST_EVENTS} fit no model."
        elif picture.first_exits < picture.at_risk and len(picture.event_counts) == 1:
            yield (
                f"All events are in one of the {time.intervals} intervals: is the horizon in the unit "
                "of the file? If it is, make intervals short where events come, by first or edges."
            )
        if not picture.events and time.event_values:
            listed = ", ".join(f"'{word}'" for word in time.event_values)
            yield (
                f"Nobody at risk has one of event_values, {listed}, in column '{time.event}': compare "
                "their spelling with the file; capitals count."
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
        if self.schema.unbounded:
            listed = ", ".join(f"'{name}'" for name in self.schema.unbounded)
            yield f"A private fit also needs public bounds, low and high, for {listed}."
        if self.report.repairs:
            yield "These values do not fit the schema; every fit repairs them as shown:"
            yield fitted(self._table(), WIDTH, left=(0, 1, 3, 4))
        else:
            yield "Every value fits the schema."
        yield from hints(self.report, self.schema)
        yield from self._questions()
        if not self._miscoded:  # where events come is known only once it is known what they are
            yield from grid_hints(self.report, self.picture, self.schema.time)
        yield from self.proposals
        yield from self.notes
        if self.obstacles:
            yield "This file will not give a useful model:"
            yield from (f"- {text}" for text in self.obstacles)

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
        """Spellings that are near a level, and events in another code."""
        for covariate in self.schema.covariates:
            if isinstance(covariate, Categorical):
                shown = self.picture.examples.get((covariate.name, "unknown level"), ())
                for value in shown:
                    near = get_close_matches(value, covariate.levels, 1, 0.7)
                    folded = [item for item in covariate.levels if _same(item, value)]
                    for level in (folded or near)[:1]:
                        yield f"'{value}' in column '{covariate.name}' is near the level '{level}'."
        event = self.schema.time.event
        if self._miscoded:
            yield (
                f"Column '{event}' holds nothing but 1 and 2. Are events coded 1 and 2? Then say "
                "event_values = [2] in [time]; as it stands 1 counts as the event and 2 as censored."
            )

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

    Returns
    -------
    Check
        Prints as a report; ``verdict`` is "fits", "repairs" or "no useful model".

    Examples
    --------
    >>> ds.check("registry.csv", "schema.toml")  # doctest: +SKIP
    """
    declared = as_schema(schema)
    proposals = () if like is None else (proposed_grid(like, declared),)
    source = People.of(data, outcome, engine)
    report, picture = source.review(declared)
    place = source.data
    file = isinstance(place, str | PathLike) and source.in_memory
    notes = tuple(quote_hints(Path(place), report.rows)) if file else ()
    return Check(declared, report, picture, notes, proposals)


def proposed_grid(like: str | PathLike[str], schema: Schema) -> str:
    """A time grid in a sentence, from the life table of an earlier release and the schema alone."""
    model = read_model(Path(like))
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

"""Compare a file with its schema, for the custodian, before a release is paid for.

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
from discreet.design.axis import DAYS
from discreet.design.periods import intervals_before, period_words
from discreet.design.schema import Categorical, PageWords, Schema
from discreet.documents.model import Release
from discreet.documents.read import read_document
from discreet.errors import ArtefactError, SettingsError
from discreet.mechanisms.contract import MOST_COEFFICIENTS
from discreet.mechanisms.newton.duration import expected_time
from discreet.people.check import (
    FEWEST_EVENTS,
    SHARE,
    Key,
    Picture,
    grid_hints,
    hints,
    quote_hints,
    repeated_ids,
)
from discreet.people.repairs import LATE_EVENT, LATER_EVENT, OVERLAP, RepairReport
from discreet.people.source import EngineName, People
from discreet.results.tables import WIDTH
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
    "missing-levels",
    "negative-times",
    "dropped-rows",
    "no-person",
    "not-fixed",
]
"""Names of reasons against a model; a person who knows better accepts one by its name."""
NAMES: tuple[str, ...] = get_args(Accepted)

TENTHS = 10
MANY_COEFFICIENTS = 30
"""Coefficients of the covariates from which fewer are advised."""
FEWEST_CODES = 5
RAREST_CODES = 1e-3
"""A value that looks like a code is one from this number of rows on, and from this share of them."""

Verdict = Literal["fits", "repairs", "no useful model"]
LONGEST_LIFE = 125
"""In years; a longer horizon is probably in another unit than the schema says."""
_BARS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Obstacle:
    """A reason against a model: its name, and a sentence for the custodian."""

    name: Accepted
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Check:
    """Findings of `check`: exact counts, for the custodian alone."""

    schema: Schema
    report: RepairReport
    picture: Picture
    notes: tuple[str, ...] = ()
    """Sentences about the file itself, such as a quote that was never closed."""
    proposals: tuple[str, ...] = ()
    """Suggestions of an earlier release: public, not learned from these records."""
    accepted: frozenset[str] = frozenset()
    """Names of obstacles that a person knows of and accepts."""
    repeated: str | None = None
    """A column of ids that repeat, where the schema has no person."""

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
        """Every reason against a model, accepted or not."""
        found = [Obstacle("no-risk", "Not one person is at risk in any interval.")]
        if self.picture.at_risk:
            text = "Column '{}' has one value only, so it has no effect that could be estimated."
            constant = (Obstacle("one-value", text.format(name)) for name in self.picture.constant)
            found = [*self._lacking_events(), *constant]
        return (*found, *self._misread(), *self._unfit())

    def _misread(self) -> Iterator[Obstacle]:
        """Values that probably mean something else than the schema says."""
        event = self.schema.time.event
        if self.repeated is not None:
            yield Obstacle(
                "no-person",
                f"Ids repeat in column '{self.repeated}', and the schema has no person: every row would "
                f'count as a person and be protected alone. Write person = "{self.repeated}" above '
                "[time] if it says whose row it is.",
            )
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
            if column in self._references:
                own += ", or, better, declare it as one more level"
            yield Obstacle(
                "missing-codes",
                f"'{value}' is in column '{column}' {count:,} times and does not fit: is it a code "
                f"for a missing value? Then write missing_values = [{value}] {own}.",
            )
        for column in self._many("unknown level"):
            yield Obstacle(
                "unknown-levels",
                f"Many rows have a level of column '{column}' that the schema does not declare: they "
                "would count as the reference level. Compare spellings, or declare the level, also "
                "where it means that there is no value.",
            )
        for column in self._many("not a number", "not a date"):
            text = f"Many values of column '{column}' cannot be read and are replaced."
            yield Obstacle("unreadable", text)
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
        further = sum(item.count for item in self.report.repairs if item.problem == LATER_EVENT)
        if further > SHARE * (self.picture.events + further):
            yield Obstacle(
                "dropped-rows",
                f"{further:,} events come after the first one of the same '{self.schema.person}' and are "
                "dropped, because a person has one event: do events recur, or does the file hold several "
                "endpoints? Accept it if the first event of each person is what the model is of.",
            )

    def _unfit(self) -> Iterator[Obstacle]:
        """Columns that change though declared fixed, or of which too much is repaired."""
        for name, count in self.picture.changing.items():
            if count > SHARE * self.report.persons:  # more than mistakes explain
                yield Obstacle(
                    "not-fixed",
                    f"Column '{name}' is declared fixed, and changes from row to row of many persons: "
                    "who is in which group? Add a column that has the value at the person's start in "
                    "every row, declare that as fixed, and draw curves by it.",
                )
        for column in self._many("missing"):
            if column in self._references:
                yield Obstacle(
                    "missing-levels",
                    f"Many rows have no value of column '{column}' and would count as "
                    f"'{self._references[column]}', its reference level: the effects of all its levels "
                    "would be off. Declare what stands there, such as NA or 99, as one more of the "
                    "levels instead of in missing_values; where nothing stands there, write a word such "
                    "as unknown, or give the column missing = 'indicator'.",
                )
        repaired: Counter[str] = Counter()  # a gap in an optional entry aside
        for repair in self.report.repairs:
            if repair.column != self.schema.person and repair.problem not in _HARMLESS:
                repaired[repair.column] += repair.count
        for name, count in repaired.items():
            if 2 * count >= self.report.rows > 0:
                text = f"Half or more of column '{name}' does not fit the schema."
                yield Obstacle("unfit-column", text)

    @property
    def _references(self) -> dict[str, str]:
        """The reference level of each category."""
        items = (item for item in self.schema.covariates if isinstance(item, Categorical))
        return {item.name: item.levels[0] for item in items}

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

    def _lacking_events(self) -> Iterator[Obstacle]:
        """Why the events there are, and where they are, fit no model."""
        picture, time = self.picture, self.schema.time
        if picture.exits.get(1, 0) == picture.at_risk:
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
        for cause, count in picture.cause_events.items():
            if count < FEWEST_EVENTS <= picture.events:
                yield Obstacle(
                    "few-events",
                    f"Cause '{cause}' has {_number(count, 'event')}; fewer than {FEWEST_EVENTS} fit no "
                    "model of it.",
                )
        if (
            picture.events >= FEWEST_EVENTS
            and picture.exits.get(1, 0) < picture.at_risk
            and len(picture.event_counts) == 1
        ):
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
        causes = (f"{cause} {count:,}" for cause, count in picture.cause_events.items())
        by_cause = f" ({', '.join(causes)})" if picture.cause_events else ""
        yield (
            f"{_number(report.rows, 'row')}, {_number(report.persons, 'person')}, "
            f"{_number(picture.events, 'event')}{by_cause}, "
            f"{picture.time_at_risk:,.0f} {unit} at risk."
        )
        if report.never_at_risk:
            yield f"{report.never_at_risk:,} persons are never at risk and add nothing to a fit."
        if self.schema.person is not None and report.rows == report.persons > 0:
            yield (
                f"Each person has one row. If that is so by design, delete person = "
                f'"{self.schema.person}" from the schema: a private release is then more accurate, '
                "because it does not have to allow for several rows of a person."
            )
        if picture.at_risk:
            yield f"Exits by tenth of the time grid:  {_bars(self._tenths(picture.exits))}"
        if picture.events:
            yield f"Events by tenth of the time grid: {_bars(self._tenths(picture.event_counts))}"

    def _size(self) -> Iterator[str]:
        """The number of coefficients, and how long a private fit takes, were there the default baseline."""
        causes, strata = len(self.schema.time.causes or "1"), self.schema.strata
        each = len(self.schema.coefficient_names)
        words = "1 coefficient" if each == 1 else f"{each:,} coefficients"
        counted = f"The covariates have {words}{' for each cause' if causes > 1 else ''}."
        if causes * each > MOST_COEFFICIENTS:
            yield (
                f"{counted} A private fit takes at most {MOST_COEFFICIENTS} and refuses more: group "
                "levels, or leave a covariate out."
            )
        elif self.report.persons:
            baselines = 3 * (1 if strata is None else len(strata.levels))
            expected = expected_time(self.schema, self.report.persons, baselines)
            fewer = " Few levels and large groups also make a more accurate release."
            yield f"{counted} {expected}{fewer if causes * each > MANY_COEFFICIENTS else ''}"

    def _changes(self) -> Iterator[str]:
        """From when an effect that changes acts, and the events of each of its periods."""
        grid = self.schema.time.grid
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

    def _tenths(self, counts: Mapping[int, int]) -> tuple[int, ...]:
        """Counts by interval, by tenth of the grid."""
        tenths = [0] * TENTHS
        for place, count in counts.items():
            tenths[TENTHS * (place - 1) // self.schema.time.intervals] += count
        return tuple(tenths)

    def _unit(self) -> Iterator[str]:
        """Dates without a unit are days: a horizon of 60 that was meant in months is said aloud."""
        time = self.schema.time
        if time.dated and time.unit is None:
            yield (
                f"[time] has no unit, so times between dates are counted in days and the horizon is "
                f'{time.horizon:g} days. Write unit = "days" in [time] if that is meant, or '
                '"weeks", "months" or "years".'
            )
        years = (time.horizon - time.zero) * time.days / DAYS["years"]
        if time.counted_in is not None and years > LONGEST_LIFE:
            yield (
                f"{time.horizon:g} {time.counted_in} are {years:,.0f} years: is the horizon in the "
                "unit that [time] says, and are the times of the file?"
            )

    def _words(self) -> Iterator[str]:
        """Words that a page lacks, so that it would show names of columns."""
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
        """Repairs with their counts, and as many values as a terminal has room for."""
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
                    bare = value.strip().casefold()
                    folded = [one for one in covariate.levels if one.strip().casefold() == bare]
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
    wrong = next((name for name in accept if name not in NAMES), None)
    if wrong is not None:
        raise SettingsError(f"'{wrong}' is nothing to accept; the names are {', '.join(NAMES)}.")
    declared = as_schema(schema)
    proposals = () if like is None else (proposed_grid(like, declared),)
    source = People.of(data, outcome, engine)
    report, picture = source.check_report(declared)
    place = source.data
    file = isinstance(place, str | PathLike) and source.in_memory
    notes = tuple(quote_hints(Path(place), report.rows)) if file else ()
    repeated = repeated_ids(place, declared) if source.in_memory else None
    return Check(declared, report, picture, notes, proposals, frozenset(accept), repeated)


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


_HARMLESS = (LATE_EVENT, LATER_EVENT)


def _some(values: tuple[str, ...], room: int) -> str:
    """As many values as there is room for; one at least, cut if it must be."""
    while len(values) > 1 and len(", ".join(values)) > room:
        values = values[:-1]
    text, most = ", ".join(values), max(room, len("first values"))
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _bars(counts: tuple[int, ...]) -> str:
    """A row of bars, the highest full, and the shares in per cent."""
    total, most = sum(counts), max(counts)
    steps = len(_BARS) - 1
    bars = "".join(_BARS[-(-steps * count // most)] for count in counts)
    shares = " ".join(f"{100 * count / total:.0f}" for count in counts)
    return f"{bars}  ({shares} %)"


def _number(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"

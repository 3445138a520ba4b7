"""A schema to be filled in, from the names of a file's columns (and what it declares to be a date).

What a column is for is guessed from its name, where one column alone can be meant; everything else
stays an empty place.  No bound, level or horizon is guessed, nor a unit that no name says: these are
printed in a release, so a person takes them from the code book.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from discreet.design.axis import DAYS

Words = frozenset[str]
UNITS = tuple(DAYS)


def _set(words: str) -> Words:
    return frozenset(words.split())


_PARTS = {
    "person": (
        _set("id pid mrn patient person subject participant individual"),
        _set("number no nr code key study identifier"),
    ),
    "duration": (
        _set("time duration tte futime survtime") | frozenset(UNITS),
        _set("survival surv follow up followup fu to event death os pfs in of until"),
    ),
    "event": (
        _set("event status fustat died dead death deceased failed outcome"),
        _set("vital os pfs is indicator flag"),
    ),
    "entry": (_set("entry entered tstart"), _set("time late delayed start")),
    "row's start": (_set("start tstart"), _set("t time")),
    "row's stop": (_set("stop tstop"), _set("t time")),
}
"""Words that mean a part of ``[time]``, or the person, and words that may stand beside them."""
_DATE = _set("dob dod datum birthday")
_NO_DATE = _set("update updated candidate mandate")
_ZERO = _set(
    "diagnosis diagnosed diag start begin index surgery operation operated admission admitted "
    "baseline randomisation randomization randomised randomized treatment onset from"
)
_LAST = _set(
    "last end exit seen contact follow followup censoring censored event death died dod discharge "
    "stop until"
)
_LATER = _set("entry entered enrolment enrollment enrolled recruitment recruited consent inclusion")


@dataclass(frozen=True)
class Roles:
    """Which columns may play each part of ``[time]``, by their names."""

    person: tuple[str, ...]
    duration: tuple[str, ...]
    event: tuple[str, ...]
    entry: tuple[str, ...]
    dates: tuple[str, ...]
    start: tuple[str, ...]
    end: tuple[str, ...]
    later: tuple[str, ...]

    @classmethod
    def of(cls, columns: Sequence[str], typed: Collection[str] = ()) -> "Roles":
        """By name; ``typed`` are those that the file itself declares to hold dates."""
        dates = tuple(name for name in columns if name in typed or is_date_name(name))
        others = [name for name in columns if name not in dates]
        start, later = _with(dates, _ZERO), _with(dates, _LATER)
        end = tuple(name for name in _with(dates, _LAST) if name not in start)
        begins, stops = _named(others, "row's start"), _named(others, "row's stop")
        if not (begins and stops):  # a start without a stop may be anything
            begins, stops = (), ()
        return cls(
            person=_named(others, "person"),
            duration=tuple(dict.fromkeys([*stops, *_named(others, "duration")])),
            event=_named(others, "event"),
            entry=tuple(dict.fromkeys([*begins, *_named(others, "entry")])),
            dates=dates,
            start=start or later,
            end=end,
            later=later if start else (),
        )

    @property
    def dated(self) -> bool:
        """Whether times are differences of dates: there are two dates and no duration."""
        return len(self.dates) > 1 and not self.duration

    @property
    def taken(self) -> frozenset[str]:
        """Columns that are not covariates: every date, and those with a part of their own."""
        alone = (self.person, self.duration, self.event, self.entry)
        return frozenset(self.dates) | {part[0] for part in alone if len(part) == 1}


def is_date_name(name: str) -> bool:
    """Whether a column of this name holds dates: ``date_of_birth``, ``DiagDate``, ``last_seen``."""
    words = _words(name)
    if words & _DATE or {"last", "seen"} <= words or {"last", "contact"} <= words:
        return True
    return any(
        word.startswith("date") or word.endswith(("date", "datum")) for word in words - _NO_DATE
    )


def skeleton(
    file: str,
    columns: Sequence[str],
    typed_dates: Collection[str] = (),
    texts: Collection[str] = (),
) -> Iterator[str]:
    """The lines of the schema; each thing is said once, where it is needed first.

    ``typed_dates`` and ``texts`` are columns that the file itself declares to hold dates or texts.
    """
    roles = Roles.of(columns, typed_dates)
    yield f"# What is public about {quoted(file)}, from its columns alone: no record was looked at."
    yield '# Fill in every "" and delete what does not apply; columns that are named already were'
    yield "# guessed from their names. Take numbers and words from the code book, the study"
    yield "# protocol or general knowledge, never from the records."
    yield ""
    person = "the column that says whose row it is; delete it where each person has one row"
    codes = "codes in the covariates that mean that there is no value"
    yield from _aligned(
        [_optional("person", roles.person, person), ("# missing_values = [999]", codes)]
    )
    yield ""
    yield "[time]"
    if roles.dated:
        lines = [
            _key("start", roles.start, "the date of time zero", roles.dates),
            _key("end", roles.end, "the date of the event or of the end of follow-up", roles.dates),
            _optional("entry", roles.later, "the date since when a person is observed, if later"),
            ('# date_format = "%d/%m/%Y"', "if dates are not written as 2019-03-31"),
        ]
    else:
        time = "the time to the event or to the end of follow-up"
        lines = [_key("duration", roles.duration, time)]
        if roles.dates:
            listed = ", ".join(map(quoted, roles.dates))
            lines.append(('# start = ""', f"or two dates, start and end, instead: {listed}"))
        entry = "the time of a late entry, if there is one"
        lines.append(_optional("entry", roles.entry, entry))
    said = [unit for name in roles.duration for unit in UNITS if unit in _words(name)]
    choice = f"{', '.join(UNITS[:-1])} or {UNITS[-1]}"
    lines += [
        _key("event", roles.event, "1 where the event happened, 0 where it did not"),
        ('# event_values = [""]', "if words mean the event, such as dead"),
        (f'unit = "{"".join(said[:1])}"', f"{choice}: what times and horizon are counted in"),
        ('horizon = ""', "how far the model goes, a number: from the protocol"),
        ("intervals = 60", "as many as there are months, or whatever is fine enough"),
    ]
    yield from _aligned(lines)
    covariates = [name for name in columns if name not in roles.taken]
    if covariates:
        yield ""
        yield "# low and high are numbers: the least and the most that is plausible. A category has"
        yield '# levels = ["", ""] instead, the reference first. Delete what is not a covariate.'
    for name in covariates:
        values = ['levels = ["", ""]'] if name in texts else ['low = ""', 'high = ""']
        yield from ("", "[[covariate]]", f"name = {quoted(name)}", *values)


Line = tuple[str, str]
"""A key with its value, and what is said about it."""


def _key(key: str, found: Sequence[str], text: str, among: Sequence[str] = ()) -> Line:
    """The one column that can be meant, or an empty place that lists those that may be."""
    if len(found) == 1:
        return f"{key} = {quoted(found[0])}", text
    listed = ", ".join(map(quoted, found or among))
    return f'{key} = ""', f"{text}: {listed}?" if listed else text


def _optional(key: str, found: Sequence[str], text: str) -> Line:
    """Return the key as a comment, where no column is meant for certain."""
    written, said = _key(key, found, text)
    return (written if len(found) == 1 else f"# {written}"), said


def _aligned(lines: Sequence[Line]) -> Iterator[str]:
    width = max(len(key) for key, _ in lines)
    return (f"{key:{width}}  # {text}" for key, text in lines)


def _named(names: Sequence[str], part: str) -> tuple[str, ...]:
    """Return names with a word of the part and none that means something else."""
    some, others = _PARTS[part]
    found = ((name, _words(name)) for name in names)
    return tuple(name for name, words in found if words & some and words <= some | others)


def _with(names: Sequence[str], some: Words) -> tuple[str, ...]:
    return tuple(name for name in names if _words(name) & some)


def _words(name: str) -> Words:
    """The words of a name: parted by signs, digits or a capital after a small letter."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return frozenset(word.lower() for word in re.findall(r"[^\W\d_]+", parted))


def quoted(text: str) -> str:
    """A TOML string of any text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    shown = "".join(
        character if character.isprintable() else f"\\U{ord(character):08X}"
        for character in escaped
    )
    return f'"{shown}"'

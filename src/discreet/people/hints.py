"""What probably went wrong where much of a column does not fit; for `discreet check` alone."""

from collections.abc import Iterator
from pathlib import Path

from discreet.design.schema import Schema
from discreet.people.counts import Repair, RepairReport
from discreet.people.files import first_open_quote, lines_within_fields

# Less than this share of the rows is a matter of single records, not of the column.
SHARE = 0.05


def hints(report: RepairReport, schema: Schema) -> Iterator[str]:
    """One sentence for each kind of problem, with the columns that have it in many rows."""
    columns: dict[str, list[str]] = {}
    for repair in report.repairs:
        advice = _advice(repair, schema)
        if advice and (repair.count > SHARE * report.rows or repair.column == schema.person):
            columns.setdefault(advice, []).append(f"'{repair.column}'")
    for advice, names in columns.items():
        yield f"Look at {', '.join(names)}: {advice}"


def quote_hints(path: Path, rows: int) -> Iterator[str]:
    """Where one record of a CSV file may hold others: lines that begin within a quoted field.

    Parsing alone cannot tell a note of two lines from a quote that was never closed, and the
    promise of a private fit begins with parsed records.
    """
    lines = lines_within_fields(path, rows) if path.suffix.lower() == ".csv" else 0
    if lines:
        which = "1 line begins" if lines == 1 else f"{lines:,} lines begin"
        yield (
            f"{which} within a quoted field, the first after line {first_open_quote(path):,}: a "
            "line break in a text, or a quote that was opened and not closed and has other "
            "people's records in it. Look there before a private fit, and close the quote."
        )


def grid_hints(report: RepairReport, schema: Schema) -> Iterator[str]:
    """Where the time grid fits badly; it names no value, which would be learned from records."""
    time, present = schema.time, report.persons - report.never_at_risk
    guide = "See 'Choosing the time grid' in the guide."
    if present and 2 * report.early_exits > present:
        yield (
            "Most people leave within the first tenth of the time grid: intervals that are short "
            f"at the start, by first or edges in [time], describe them better. {guide}"
        )
    if present and not report.late_exits:
        yield (
            "Nobody leaves in the last third of the time grid: an earlier horizon in [time] would "
            f"lose nobody. {guide}"
        )
    if time.unit is not None and time.narrowest < 1.0:
        yield (
            f"Some intervals are shorter than one of the {time.unit} in which time is measured: "
            f"times in whole {time.unit} leave them empty. {guide}"
        )


def _advice(repair: Repair, schema: Schema) -> str:
    """What to look at first."""
    times = (schema.time.duration, schema.time.entry)
    by_problem = {
        "neither 0 nor 1": (
            "write events as 1 and 0, or true and false, or name the words that mean an event as "
            "event_values in [time]. Other words, such as yes and no, count as censored."
        ),
        "not a number": (
            "times are numbers, such as days since the start; dates are named as start and end in "
            "[time]; decimals have a point, not a comma."
            if repair.column in times
            else "decimals have a point, not a comma; texts need levels in the schema."
        ),
        "unknown level": (
            "compare the schema's levels with the code book, and their spelling with the file: "
            "capitals count, and the file must be UTF-8."
        ),
        "missing": (
            "to keep people without a value apart, give them a level of their own, such as "
            "unknown, in the file and in the schema."
            if repair.remedy == "the reference level"
            else ""
        ),
        "not a date": (
            "dates are read as 2019-03-31 unless date_format in [time] says how they are written."
        ),
        "double of 2^53 or more": (
            "doubles do not hold every integer from 2^53 on, so ids may have been merged before: "
            "keep ids as integers (of a nullable type where some are missing) or as texts."
        ),
        "below low": "is the schema's low in the unit of the file?",
        "above high": "is the schema's high in the unit of the file?",
    }
    return by_problem.get(repair.problem, "")

"""Where the time grid fits people badly: for `discreet check`, never for a private fit.

A grid can fail people who leave (exits) and those who have the event.  Where follow-up is long and
events come early, exits look fine and the model still sees all events in a few intervals.

No hint names a value to put into the schema: the grid is public, and that value would be learned
from the records.
"""

from collections.abc import Iterator
from itertools import pairwise

from discreet.design.axis import TimeAxis
from discreet.people.picture import FEWEST_EVENTS, Picture
from discreet.people.repairs import LATE_EVENT, RepairReport

FEW_INTERVALS = 3
"""The default baseline has so many parameters; events in fewer intervals do not tell them apart."""
NEARLY_ALL = 0.9
HARDLY_ANY = 0.01
FULL = 10
"""Events in an interval: with so many on both sides, one without is an accident of e^-10."""
FEWEST_HOLES = 3


def grid_hints(report: RepairReport, picture: Picture, time: TimeAxis) -> Iterator[str]:
    """What to change about the grid, one sentence for each thing that is wrong with it."""
    early = tuple(_crowded(picture, time)) or _early(report, picture, time)
    fine = tuple(_narrow(time)) or tuple(_coarse(picture))
    found = [*early, *_late(report, picture, time), *_beyond(report, picture), *fine]
    yield from found
    if found:
        yield "'Choosing the time grid' in the guide says more."


def busiest_intervals(picture: Picture, share: float) -> int:
    """The least number of intervals that hold this share of the events."""
    wanted, intervals = share * picture.events, 0
    for count in sorted(picture.event_counts.values(), reverse=True):
        if wanted <= 0:
            break
        wanted, intervals = wanted - count, intervals + 1
    return intervals


def _early(report: RepairReport, picture: Picture, time: TimeAxis) -> Iterator[str]:
    """Most of what happens is over soon."""
    leave = 2 * report.early_exits > picture.at_risk > 0
    happen = 2 * _events(picture, 0, time.intervals // 10) > picture.events >= FEWEST_EVENTS
    said = [text for text, true in (("people leave", leave), ("events come", happen)) if true]
    if said:
        yield (
            f"Most {' and most '.join(said)} within the first tenth of the time grid: intervals that "
            "are short at the start, by first or edges in [time], describe them better."
        )


def _crowded(picture: Picture, time: TimeAxis) -> Iterator[str]:
    """Nearly all events are in a few intervals, wherever these are."""
    found = busiest_intervals(picture, NEARLY_ALL)
    some = picture.events >= FEWEST_EVENTS and len(picture.event_counts) > 1  # else no hint helps
    if some and found <= FEW_INTERVALS and time.intervals >= 4 * found:
        where = "a single one" if found == 1 else f"{found}"
        yield (
            f"Nearly all events are in {where} of the {time.intervals} intervals, so the model cannot "
            "tell how the risk changes with time: is the horizon in the unit of the file? Make "
            "intervals short where events come, by first or edges in [time]; where people are seen "
            "at fixed visits, give these as edges."
        )


def _late(report: RepairReport, picture: Picture, time: TimeAxis) -> Iterator[str]:
    """The horizon lies far beyond what happens."""
    late = _events(picture, 2 * time.intervals // 3, time.intervals)
    if picture.at_risk and not report.late_exits:
        yield (
            "Nobody leaves in the last third of the time grid: an earlier horizon in [time] would "
            "lose nobody."
        )
    elif picture.events >= FEWEST_EVENTS and late <= HARDLY_ANY * picture.events:
        yield (
            "Hardly any event comes in the last third of the time grid, where people are only "
            "followed: an earlier horizon in [time] would lose little and spend the intervals where "
            "events are."
        )


def _beyond(report: RepairReport, picture: Picture) -> Iterator[str]:
    """The horizon lies before what happens."""
    lost = sum(repair.count for repair in report.repairs if repair.problem == LATE_EVENT)
    if lost > picture.events:
        yield (
            "More events come after the horizon than before it, and count as censored: is the "
            "horizon in [time] in the unit of the file? If it is, a later one keeps them."
        )


def _narrow(time: TimeAxis) -> Iterator[str]:
    if time.unit is not None and not time.dated and time.narrowest < 1.0:  # dates are days
        yield (
            f"Some intervals are shorter than one of the {time.unit} in which time is measured: "
            f"if times are whole {time.unit}, they stay empty."
        )


def _coarse(picture: Picture) -> Iterator[str]:
    """Intervals without an event between full ones: times come in longer units than intervals."""
    full = sorted(picture.event_counts.items())
    holes = sum(
        after > before + 1 and min(here, there) >= FULL
        for (before, here), (after, there) in pairwise(full)
    )
    if holes >= FEWEST_HOLES:
        yield (
            "Intervals without an event stand between intervals with many: times seem to be recorded "
            "in longer units than an interval. Make intervals as long as that unit, or give the times "
            "of visits as edges; bands of curves are too narrow otherwise."
        )


def _events(picture: Picture, after: int, until: int) -> int:
    """Events in the intervals after one up to another."""
    return sum(count for place, count in picture.event_counts.items() if after < place <= until)

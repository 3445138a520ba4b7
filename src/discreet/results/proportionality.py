"""Which effects seem to change with time, from numbers that a release has anyway.

A release may have the table ``proportionality`` with rows (place, early, late, distance):

    place      of a coefficient among those of the covariates, from 0
    early      the coefficient at the first events, on the user's own scale
    late       the same at the last events
    distance   (late - early) / its standard deviation, privacy noise included

It is computed from released numbers (`estimator.published`), so it costs no budget. Rows are left out where an
effect is not a single number, such as a spline's, or changes by the schema already. How little these numbers
may know is in the interval of late - early, which is wide where the data could hide a large change.

Reference: Grambsch and Therneau (1994), on tests of proportional hazards.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy import special

from discreet.design.schema import Schema
from discreet.errors import ArtefactError
from discreet.results.normal import normal_quantile
from discreet.results.tables import TextTable, cell_text
from discreet.text import fitted
from discreet.types import Array

MOST = 1e3
"""A ratio above it, or below its inverse, is shown without digits."""
CLEARLY = 3.0
"""Standard deviations that a change must exceed to be named, among ten effects or so."""
MEANING = (
    "{} at the first events (early) and at the last ones (late), from released numbers. The 95% "
    "interval of {} includes the privacy noise; every change within it is possible."
)
NOT_KNOWN = (
    "this file does not say whether effects change with time: only a private release of private Newton "
    "does."
)
TESTED = " Declare 'changes_at' for a covariate and read the test in the summary."
"""What helps where the coefficients have a covariance."""


class EffectOverTime(NamedTuple):
    """One effect: its coefficient early and late, and how many standard deviations these are apart."""

    name: str
    title: str
    early: float
    late: float
    distance: float

    @property
    def change(self) -> tuple[float, float, float]:
        """late - early, and the ends of its 95% interval."""
        change = self.late - self.early
        margin = abs(normal_quantile(0.95) * change / self.distance) if self.distance else np.inf
        return change, change - margin, change + margin

    @property
    def p(self) -> float:
        """Two-sided p value of no change."""
        return float(special.erfc(abs(self.distance) / np.sqrt(2.0)))

    @property
    def stands_out(self) -> bool:
        """True where the change exceeds what noise and chance do."""
        return abs(self.distance) > CLEARLY


def effects_over_time(rows: Array, schema: Schema) -> tuple[EffectOverTime, ...]:
    """The rows of a released table, named; an `ArtefactError` where they do not go with the schema."""
    names, titles = schema.coefficient_names, schema.coefficient_titles
    places = rows[:, 0] if rows.size else np.zeros(0)
    if rows.size and (rows.shape[1] != 4 or not np.all(np.isin(places, np.arange(len(names))))):
        raise ArtefactError("the released proportionality is not of the schema's coefficients.")
    return tuple(
        EffectOverTime(names[int(place)], titles[int(place)], *numbers)
        for place, *numbers in rows.tolist()
        if numbers
    )


def effect_cells(effect: EffectOverTime, *, ratio: bool) -> tuple[str, str, str, str]:
    """early, late, their ratio or difference and its 95% interval, as texts of three digits.

    Of a number that only says that it is large or small there are no digits.
    """

    def shown(value: float) -> str:
        with np.errstate(over="ignore"):
            value = float(np.exp(value)) if ratio else value
        if abs(value) >= MOST:
            return ">1000" if value > 0 else "<-1000"
        return "<0.001" if ratio and value < 1.0 / MOST else f"{value:.3g}"

    change, lower, upper = map(shown, effect.change)
    return shown(effect.early), shown(effect.late), change, f"{lower} to {upper}"


@dataclass(frozen=True, eq=False, repr=False)
class ProportionalityTable(TextTable):
    """Each effect early and late, those that are furthest apart first.

    ``ratio`` is what exp(coefficient) is called, "" where it means nothing.
    """

    effects: tuple[EffectOverTime, ...]
    heading: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()
    ratio: str = ""

    @classmethod
    def of(cls, effects: Sequence[EffectOverTime], ratio: str, tests: Sequence[str]) -> Self:
        """The table and what must be said of it; ``tests`` are of effects that change by the schema."""
        ordered = tuple(sorted(effects, key=lambda one: -abs(one.distance)))
        far = [one.title for one in ordered if one.stands_out]
        if not ordered:
            return cls((), (), tuple(tests), ratio)
        said = (
            f"Beyond {CLEARLY:g} standard deviations: {', '.join(far)}. Declare 'changes_at' there to "
            "estimate an effect for each period."
            if far
            else f"No difference exceeds {CLEARLY:g} standard deviations. This does not prove that effects "
            "stay the same: the intervals say which changes would not be seen."
        )
        what = f"{ratio[:1].upper()}{ratio[1:]}s" if ratio else "Effects"
        meaning = MEANING.format(what, "late / early" if ratio else "late - early")
        return cls(ordered, (meaning,), (said, *tests), ratio)

    @property
    def row_names(self) -> tuple[str, ...]:
        """The coefficients."""
        return tuple(one.name for one in self.effects)

    def columns(self) -> Mapping[str, Array | Sequence[object]]:
        """Numbers by heading."""
        found = {
            name: np.array([getattr(one, name) for one in self.effects])
            for name in ("early", "late", "distance", "p")
        }
        changes = np.array([one.change for one in self.effects]).reshape(-1, 3).T
        found |= dict(zip(("change", "change lower", "change upper"), changes, strict=True))
        if self.ratio:
            with np.errstate(over="ignore"):
                found |= {f"{self.ratio} {when}": np.exp(found[when]) for when in ("early", "late")}
        return found

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Cells as text, the heading first."""
        yield ("", "early", "late", f"late {'/' if self.ratio else '-'} early", "95% interval", "p")
        for one in self.effects:
            yield (one.title, *effect_cells(one, ratio=bool(self.ratio)), cell_text("p", one.p))

    @property
    def row_texts(self) -> Mapping[str, Sequence[str | None]]:
        """Names, and names for people."""
        return {"name": self.row_names, "label": [one.title for one in self.effects]}

    def blocks(self, width: int) -> Iterator[str]:
        """The table as text for a terminal of that width."""
        if self.effects:
            yield fitted(self.rows(), width)

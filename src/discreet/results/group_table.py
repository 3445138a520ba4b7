"""Curves by group as a table."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.documents.curves import BANDS, CurvesRelease
from discreet.results.group_curves import NORMAL_POINT, Band, GroupCurve, Number
from discreet.results.tables import TextTable
from discreet.text import in_blocks


@dataclass(frozen=True, eq=False, repr=False)
class GroupTable(TextTable):
    """One row per group; as a data frame one for each group and time."""

    release: CurvesRelease

    @property
    def heading(self) -> tuple[str, ...]:  # type: ignore[override]  # a property here
        """The lines above the table: what it is, the promise, the test, warnings."""
        by = " and ".join(item.title for item in self.release.groups.covariates)
        lines = [
            f"Survival curves by {by} of {self.release.persons:,} persons.",
            self.release.promise,
        ]
        if self.release.log_rank is not None:
            test = self.release.log_rank
            lines.append(
                f"Same curve in all groups: log-rank {test.statistic:.2f} on {test.freedom}, "
                f"{test.words}, privacy noise included."
            )
        if len(self.release.causes) > 1:
            lines.append(
                "The last columns are survival without any event and the cumulative incidence of every "
                f"cause at the end: {', '.join(self.release.causes)}."
            )
        return (*lines, *map(str, self.release.warnings))

    def rows(self) -> list[list[str]]:
        """A heading and one row per group: size, median, restricted mean, survival at the end.

        With competing risks the cumulative incidence of every cause at the end as well, and where
        the data of a group end early, up to when it is known.
        """
        unit = self.release.public_schema.time.counted_in
        times = (
            name if unit is None else f"{name} ({unit})" for name in ("median", "restricted mean")
        )
        heading = ["group", "persons", *times, "survival at the end"]
        rows = [heading]
        for name, curve in zip(self.release.titles, self.release.estimates, strict=True):
            named = f"{name} (may be empty)" if curve.may_be_empty else name
            size = f"{curve.size:,.0f} ± {NORMAL_POINT * curve.size_deviation:,.0f}"
            cells = _median_cell(curve), _cell(curve.restricted_mean), _end(curve.survival, curve)
            rows.append([named, size, *cells])
        if len(self.release.causes) > 1:
            rows[0] += [f"{name} at the end" for name in self.release.causes]
            for row, curve in zip(rows[1:], self.release.estimates, strict=True):
                row += [_end(band, curve) for band in curve.incidence]
        if any(curve.ends_early for curve in self.release.estimates):
            rows[0].append("known until")
            for row, curve in zip(rows[1:], self.release.estimates, strict=True):
                row.append(_shown(curve.known_until) if curve.reach else "not at all")
        return rows

    def columns(self) -> dict[str, list[Any]]:
        """One row for each group and time, with competing risks for each cause too.

        ``of`` is "survival" or the cause whose cumulative incidence the row has.
        """
        found: dict[str, list[Any]] = {
            name: [] for name in ("group", "of", "time", "at_risk", *BANDS)
        }
        for group, curve in zip(self.release.titles, self.release.estimates, strict=True):
            bands = {"survival": curve.survival}
            if len(self.release.causes) > 1:
                bands |= dict(zip(self.release.causes, curve.incidence, strict=True))
            size = len(self.release.times)
            for name, band in bands.items():
                found["group"] += [group] * size
                found["of"] += [name] * size
                found["time"] += self.release.times.tolist()
                # those at risk when a stretch begins; at its end the ones of the next
                found["at_risk"] += [*curve.at_risk.tolist(), float("nan")][:size]
                for key in BANDS:
                    start = 1.0 if name == "survival" else 0.0
                    found[key] += [start, *getattr(band, key).tolist()]
        return found

    def blocks(self, width: int) -> Iterator[str]:
        """The table as text for a terminal of that width."""
        yield in_blocks(self.rows(), width)


def _end(band: Band, curve: GroupCurve) -> str:
    """A band's last values; what lies beyond the group's data has no estimate."""
    estimate, lower, upper = (float(item[-1]) for item in (band.estimate, band.lower, band.upper))
    return _cell(Number(math.nan if curve.ends_early else estimate, lower, upper))


def _cell(number: Number) -> str:
    return f"{_shown(number.estimate)} ({_shown(number.lower)} to {_shown(number.upper)})"


def _median_cell(curve: GroupCurve) -> str:
    """A time after the end of the axis is "beyond"; what is not known is "unknown"."""
    if not curve.reach:
        return "unknown"
    open_end = "open" if curve.ends_early else "beyond"
    median = curve.median
    texts = (_shown(median.estimate), _shown(median.lower), _shown(median.upper, open_end))
    if set(texts) == {"beyond"}:
        return "beyond the end"
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def _shown(value: float, infinite: str = "beyond") -> str:
    if np.isnan(value):
        return "unknown"
    if np.isinf(value):
        return infinite
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"

"""Curves by group as a file: the released counts, what follows from them, and what is promised."""

import math
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from pydantic import ValidationError, model_validator

from discreet.design.grid import TimeGrid
from discreet.design.groups import Groups, strategy, stretch_edges
from discreet.errors import ArtefactError, SettingsError
from discreet.models.causes import CausesFile, causes_from_mapping, has_causes
from discreet.models.caution import Caution
from discreet.models.frames import Tabular
from discreet.models.group_curves import (
    NORMAL_POINT,
    Band,
    Counts,
    GroupCurve,
    LogRank,
    Noise,
    Number,
    group_curves,
    log_rank,
)
from discreet.models.model import Model, Promised, model_from_mapping, sentence
from discreet.models.strict import read_strict
from discreet.text import with_unit
from discreet.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST_SUM = 1e30
"""More than integers of 64 bits at 64 sites; squares of sums of these are still numbers."""
WIDE = 0.35
"""A curve is hardly known where its band is wider than this on average: a third of all there is."""
BANDS = ("estimate", "lower", "upper", "lower_simultaneous", "upper_simultaneous")


class CurvesRelease(Promised, Tabular):
    """Survival curves by group, private.

    ``released["sums"]`` are the noisy integers; ``curves`` and ``test`` follow from them and are
    printed for those who read the file without this package.
    """

    kind: ClassVar[str] = "discreet-curves"

    curves: tuple[dict[str, Any], ...] = ()
    test: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        sums = self.released.get("sums")
        if not isinstance(sums, list) or not all(type(item) in {int, float} for item in sums):
            raise ValueError("the released sums are not a list of numbers")
        if any(abs(item) > LARGEST_SUM for item in (*sums, self.noise_scale)):
            raise ValueError("a released sum, or its noise, is larger than any release has")
        if self.outcomes != len(self.causes):
            raise ValueError("the number of outcomes is not that of the schema's causes")
        if len(sums) != sum(math.prod(shape) for shape in self._tables):
            raise ValueError("there is not one released sum for each group, outcome and time")
        return self

    @cached_property
    def groups(self) -> Groups:
        """The groups, by level names."""
        by = self.mechanism.get("by")
        names = tuple(str(name) for name in by) if isinstance(by, list) else ()
        return Groups(self.public_schema, names)

    @property
    def names(self) -> tuple[str, ...]:
        """One text per group: its levels."""
        return tuple(", ".join(levels) for levels in self.groups.names)

    @property
    def titles(self) -> tuple[str, ...]:
        """The same for people: the levels' labels, unless two groups would be called alike."""
        found = tuple(", ".join(levels) for levels in self.groups.titles)
        return found if len(set(found)) == len(found) else self.names

    @property
    def outcomes(self) -> int:
        """How many kinds of events there are."""
        return _whole(self.details.get("outcomes"))

    @property
    def causes(self) -> tuple[str, ...]:
        """Names of the kinds of events: the schema's causes, or one event."""
        declared = self.public_schema.time.causes
        return ("event",) if declared is None else tuple(declared)

    @property
    def stretches(self) -> int:
        """How many stretches of time there are."""
        return _whole(self.details.get("stretches"))

    @cached_property
    def times(self) -> Array:
        """Start of the axis and ends of the stretches."""
        time = self.public_schema.time
        edges = stretch_edges(time.intervals, self.stretches)
        return np.asarray(TimeGrid.of(time).edges[edges])

    @cached_property
    def counts(self) -> Counts:
        """Noisy counts, decoded: M^-1 y."""
        sums = np.array(self.released["sums"], dtype=np.float64)
        ends = np.cumsum([math.prod(shape) for shape in self._tables])[:-1]
        events, *others = map(self._decoded, np.split(sums, ends), self._tables)
        by_group = events.reshape(self.outcomes, self.groups.number, -1).transpose(1, 0, 2)
        widths = np.diff(stretch_edges(self.public_schema.time.intervals, self.stretches))
        entered = others[1] if len(others) > 1 else None
        return Counts(by_group, others[0], entered, widths.astype(np.float64))

    @property
    def _tables(self) -> tuple[tuple[int, int], ...]:
        return self.groups.tables(self.stretches)

    def _decoded(self, sums: Array, shape: tuple[int, int]) -> Array:
        """Counts of sequences of this length from the sums that were released of them."""
        return np.asarray(np.linalg.solve(self._matrix(shape[1]), sums.reshape(shape).T).T)

    @property
    def _pure(self) -> bool:
        return self.guarantee.delta == 0

    def _matrix(self, size: int) -> Array:
        return strategy(size, pure=self._pure).astype(np.float64)

    @cached_property
    def noise(self) -> Noise:
        """The released law of the noise of cumulated counts."""
        sizes = (self.stretches, self.stretches + 1)
        return Noise({size: self._lift(size) * self.noise_scale for size in sizes}, self._pure)

    def _lift(self, size: int) -> Array:
        """Noise of released sums to noise of cumulated counts: C M^-1."""
        return np.asarray(np.tril(np.ones((size, size))) @ np.linalg.inv(self._matrix(size)))

    @cached_property
    def estimates(self) -> tuple[GroupCurve, ...]:
        """Curves with bands, medians and restricted means, one per group."""
        return group_curves(self.counts, self.times, self.noise)

    @property
    def possibly_empty(self) -> tuple[str, ...]:
        """Names of the groups whose released size could be noise alone."""
        pairs = zip(self.names, self.estimates, strict=True)
        return tuple(name for name, curve in pairs if curve.may_be_empty)

    @cached_property
    def log_rank(self) -> LogRank | None:
        """The test that all groups have the same hazards; None where there is one group."""
        return log_rank(self.counts, self.noise) if self.groups.number > 1 else None

    def with_results(self) -> Self:
        """The file with everything that follows from the released numbers printed in it."""
        test = None if self.log_rank is None else vars(self.log_rank)
        curves = tuple(
            _printed(levels, curve, self.times, self.causes)
            for levels, curve in zip(self.groups.names, self.estimates, strict=True)
        )
        found = {
            "curves": curves,
            "test": test,
            "warnings": (
                *self.warnings,
                *self._empty_groups(),
                *self._short_groups(),
                *self._hidden_groups(),
            ),
        }
        return self.model_copy(update=found)

    def _empty_groups(self) -> tuple[Caution, ...]:
        """A caution for each group of which nobody may be there."""
        return tuple(
            Caution.about(
                "empty-group",
                f"The group '{name}' may be empty: the 95 % range of its released size holds none. "
                "Nothing is said of its curve.",
            )
            for name, curve in zip(self.titles, self.estimates, strict=True)
            if curve.may_be_empty
        )

    def _short_groups(self) -> tuple[Caution, ...]:
        """A caution for each group whose data do not reach the end of the axis."""
        return tuple(
            Caution.about("short-follow-up", self._short(name, curve))
            for name, curve in zip(self.titles, self.estimates, strict=True)
            if curve.ends_early and not curve.may_be_empty
        )

    def _short(self, name: str, curve: GroupCurve) -> str:
        time = with_unit(f"{curve.known_until:.4g}", self.public_schema.time.counted_in)
        if not curve.reach:
            return (
                f"The numbers of '{name}' show nobody at risk at {time}, where the axis begins: "
                "nothing is said of its curve."
            )
        return (
            f"The numbers of '{name}' do not reach beyond {time}: the number still at risk "
            "cannot be distinguished from 0 under the noise. After it the curve is drawn flat, and its "
            "band covers every possible curve."
        )

    def _hidden_groups(self) -> tuple[Caution, ...]:
        """A caution for each group of which the band leaves little."""
        return tuple(
            Caution.about(
                "wide-band",
                f"The curve of the group '{name}' is hardly known: its band is {curve.width:.2f} wide "
                "on average. Fewer groups, more people or a larger epsilon would tell more.",
            )
            for name, curve in zip(self.titles, self.estimates, strict=True)
            if curve.width > WIDE and curve.reach and not curve.may_be_empty
        )

    def plot(self, *, cause: str | None = None, simultaneous: bool = False) -> "Figure":
        """Every group's curve with its band, and the numbers at risk.

        Parameters
        ----------
        cause
            With competing risks: the cause whose cumulative incidence is drawn instead of
            survival without any event.
        simultaneous
            Whether bands hold the whole curve at once, not each point.

        Returns
        -------
        matplotlib.figure.Figure
            One panel; where a group's data do not reach, its curve is dotted and its band pale.
        """
        from discreet.models.curves_plot import group_figure  # noqa: PLC0415 - matplotlib

        if cause is not None and cause not in self.causes:
            raise SettingsError(
                f"there is no cause '{cause}'; causes are {', '.join(self.causes)}."
            )
        return group_figure(self, cause=cause, simultaneous=simultaneous)

    def columns(self) -> dict[str, list[Any]]:
        """One row for each group and time, with competing risks for each cause too.

        ``of`` is "survival" or the cause whose cumulative incidence the row has.
        """
        found: dict[str, list[Any]] = {
            name: [] for name in ("group", "of", "time", "at_risk", *BANDS)
        }
        for group, curve in zip(self.titles, self.estimates, strict=True):
            bands = {"survival": curve.survival}
            if len(self.causes) > 1:
                bands |= dict(zip(self.causes, curve.incidence, strict=True))
            for name, band in bands.items():
                size = len(self.times)
                found["group"] += [group] * size
                found["of"] += [name] * size
                found["time"] += self.times.tolist()
                # those at risk when a stretch begins; at its end the ones of the next
                found["at_risk"] += [*curve.at_risk.tolist(), float("nan")][:size]
                for key in BANDS:
                    start = 1.0 if name == "survival" else 0.0
                    found[key] += [start, *getattr(band, key).tolist()]
        return found

    def table(self) -> list[list[str]]:
        """A heading and one row per group: size, median, restricted mean, survival at the end.

        With competing risks the cumulative incidence of every cause at the end as well, and where
        the data of a group end early, up to when it is known.
        """
        heading = ["group", "persons", "median", "restricted mean", "survival at the end"]
        rows = [heading, *map(_row, self.titles, self.estimates)]
        if len(self.causes) > 1:
            cells = [[f"{name} at the end" for name in self.causes], *map(_ends, self.estimates)]
            rows = [row + more for row, more in zip(rows, cells, strict=True)]
        if any(curve.ends_early for curve in self.estimates):
            until = ["known until", *(_shown(curve.known_until) for curve in self.estimates)]
            rows = [[*row, cell] for row, cell in zip(rows, until, strict=True)]
        return rows

    @property
    def lines(self) -> tuple[str, ...]:
        """What is said above the table."""
        by = " and ".join(item.title for item in self.groups.covariates)
        lines = [f"Survival curves by {by} of {self.persons:,} persons.", self.promise]
        if self.log_rank is not None:
            test = self.log_rank
            lines.append(
                f"Same curve in all groups: log-rank {test.statistic:.2f} on {test.freedom}, "
                f"{test.words}, privacy noise included."
            )
        if len(self.causes) > 1:
            lines.append(
                "At the end stand survival without any event and the cumulative incidence of every "
                f"cause: {', '.join(self.causes)}."
            )
        return (*lines, *map(str, self.warnings))


def read_file(path: str | Path) -> Model | CurvesRelease | CausesFile:
    """The model, release or curves in a file; an `ArtefactError` says in a sentence what is wrong."""
    mapping = read_strict(path)
    try:
        return _from_mapping(mapping)
    except ArtefactError as error:
        raise ArtefactError(f"'{path}': {error}") from None


def _from_mapping(mapping: dict[str, Any]) -> Model | CurvesRelease | CausesFile:
    if has_causes(mapping):
        return causes_from_mapping(mapping)
    is_curves = mapping.get("format") == CurvesRelease.kind
    return curves_from_mapping(mapping) if is_curves else model_from_mapping(mapping)


def curves_from_mapping(mapping: dict[str, Any]) -> CurvesRelease:
    """The curves in a JSON object."""
    try:
        return CurvesRelease.model_validate(mapping, by_alias=True, by_name=False)
    except ValidationError as error:
        raise ArtefactError(sentence(error)) from None


def _row(name: str, curve: GroupCurve) -> list[str]:
    cells = _median_cell(curve), _cell(curve.restricted_mean, curve), _end(curve.survival, curve)
    size = f"{curve.size:,.0f} ± {NORMAL_POINT * curve.size_deviation:,.0f}"
    return [f"{name} (may be empty)" if curve.may_be_empty else name, size, *cells]


def _ends(curve: GroupCurve) -> list[str]:
    """The incidence of every cause at the end."""
    return [_end(band, curve) for band in curve.incidence]


def _end(band: Band, curve: GroupCurve) -> str:
    """A band's last values."""
    values = (float(item[-1]) for item in (band.estimate, band.lower, band.upper))
    return _cell(Number(*values), curve)


def _cell(number: Number, curve: GroupCurve) -> str:
    """Estimate and interval; what lies beyond the group's data has no estimate."""
    if not curve.reach:
        return "unknown"
    estimate = "unknown" if curve.ends_early else _shown(number.estimate)
    return f"{estimate} ({_shown(number.lower)} to {_shown(number.upper)})"


def _median_cell(curve: GroupCurve) -> str:
    """A time after the end of the axis is "beyond", one after the group's data "not reached"."""
    if not curve.reach:
        return "unknown"
    missing = ("not reached", "open") if curve.ends_early else ("beyond", "beyond")
    median = curve.median
    estimate = _shown(median.estimate, missing[0])
    texts = (estimate, _shown(median.lower, missing[1]), _shown(median.upper, missing[1]))
    if set(texts) == {"beyond"}:
        return "beyond the end"
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def _shown(value: float, infinite: str = "beyond") -> str:
    if not np.isfinite(value):
        return infinite
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def _whole(value: object) -> int:
    if type(value) is not int or not 1 <= value <= 1_000_000:
        raise ValueError("a number of outcomes or stretches is not a positive whole number")
    return value


def _printed(
    levels: tuple[str, ...], curve: GroupCurve, times: Array, causes: tuple[str, ...]
) -> dict[str, Any]:
    return {
        "group": list(levels),
        "size": curve.size,
        "size_deviation": curve.size_deviation,
        "may_be_empty": curve.may_be_empty,
        "known_until": curve.known_until,
        "time": times[1:].tolist(),
        "at_risk": curve.at_risk.tolist(),
        "survival": _band(curve.survival),
        "incidence": {
            name: _band(band) for name, band in zip(causes, curve.incidence, strict=True)
        },
        "median": _number(curve.median),
        "restricted_mean": _number(curve.restricted_mean),
    }


def _band(band: Band) -> dict[str, list[float]]:
    return {name: getattr(band, name).tolist() for name in BANDS}


def _number(number: Number) -> dict[str, float | None]:
    """JSON has no infinity: a limit that is never reached is null."""
    return {key: value if np.isfinite(value) else None for key, value in vars(number).items()}

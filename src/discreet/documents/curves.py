"""Curves by group as a file: the released counts, what follows from them, and what is promised."""

import hashlib
import json
import math
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import model_validator

from discreet.design.axis import DAYS
from discreet.design.groups import Groups, strategy, stretch_edges
from discreet.documents.caution import Caution
from discreet.documents.model import Promised
from discreet.errors import ArtefactError
from discreet.results.group_curves import (
    Band,
    GroupCurve,
    LogRank,
    Number,
    ReleasedCounts,
    group_curves,
)
from discreet.results.hazard_posterior import Counts
from discreet.text import with_unit
from discreet.types import Array

LARGEST_SUM = 1e30
"""More than integers of 64 bits at 64 sites; squares of sums of these are still numbers."""
DIGITS = 6
"""Digits of printed numbers after the point, or one more in all: the third moves from draw to draw."""
LONG = 2 * DAYS["years"]
"""Days of an axis that is drawn in years."""
BANDS = tuple(field.name for field in fields(Band))
NUMBERS = ("median", "restricted_mean")
SCALARS = ("size", "size_deviation", "people_needed", "noise_needed")


class CurvesRelease(Promised):
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
        """The levels' labels, unless two groups would be called alike."""
        found = tuple(", ".join(levels) for levels in self.groups.titles)
        return found if len(set(found)) == len(found) else self.names

    @property
    def outcomes(self) -> int:
        """Number of kinds of events."""
        return _whole(self.details.get("outcomes"))

    @property
    def causes(self) -> tuple[str, ...]:
        """Names of the kinds of events: the schema's causes, or one event."""
        declared = self.public_schema.time.causes
        return ("event",) if declared is None else tuple(declared)

    @property
    def stretches(self) -> int:
        """Number of stretches of time."""
        return _whole(self.details.get("stretches"))

    @cached_property
    def times(self) -> Array:
        """Start of the axis and ends of the stretches."""
        time = self.public_schema.time
        edges = stretch_edges(time.intervals, self.stretches)
        return np.asarray(time.grid.edges[edges])

    @cached_property
    def counts(self) -> Counts:
        """Noisy counts, decoded: M^-1 y."""
        sums = np.array(self.released["sums"], dtype=np.float64)
        ends = np.cumsum([math.prod(shape) for shape in self._tables])[:-1]
        events, *others = (
            np.asarray(np.linalg.solve(self._matrix(shape[1]), part.reshape(shape).T).T)
            for part, shape in zip(np.split(sums, ends), self._tables, strict=True)
        )
        by_group = events.reshape(self.outcomes, self.groups.number, -1).transpose(1, 0, 2)
        widths = np.diff(stretch_edges(self.public_schema.time.intervals, self.stretches))
        entered = others[1] if len(others) > 1 else None
        return Counts(by_group, others[0], entered, widths.astype(np.float64))

    @property
    def _tables(self) -> tuple[tuple[int, int], ...]:
        return self.groups.tables(self.stretches)

    @property
    def _pure(self) -> bool:
        return self.guarantee.delta == 0

    def _matrix(self, size: int) -> Array:
        return strategy(size, pure=self._pure).astype(np.float64)

    @cached_property
    def _noise(self) -> dict[int, Array]:
        """Covariances of the noise of decoded counts, by the length of their sequence."""
        found = {}
        for size in (self.stretches, self.stretches + 1):
            inverse = np.linalg.inv(self._matrix(size)) * self.noise_scale
            found[size] = (2.0 if self._pure else 1.0) * inverse @ inverse.T
        return found

    @cached_property
    def _computed(self) -> tuple[tuple[GroupCurve, ...], LogRank | None]:
        """Curves and test from the released sums, whose digest is the seed of the draws."""
        words = json.dumps(self.released["sums"]).encode()
        seed = int.from_bytes(hashlib.sha256(words).digest()[:8])
        released = ReleasedCounts(self.counts, self._noise, self.persons, seed)
        try:
            return group_curves(released, self.times)
        except np.linalg.LinAlgError:
            raise ArtefactError("the released sums cannot be counts of people.") from None

    @cached_property
    def estimates(self) -> tuple[GroupCurve, ...]:
        """Curves with bands, medians and restricted means, one per group, as the file has them.

        Those of a file of version 0.2 are computed from its released sums.
        """
        if not self._has_results:
            return self._computed[0]
        return tuple(map(self._read, self.curves))

    @property
    def _has_results(self) -> bool:
        return bool(self.curves) and all("people_needed" in item for item in self.curves)

    @cached_property
    def log_rank(self) -> LogRank | None:
        """The test that all groups have the same hazards; None where there is one group."""
        if not self._has_results:
            return self._computed[1]
        if self.test is None:
            return None
        statistic, p_value = (_finite(self.test[name]) for name in ("statistic", "p_value"))
        return LogRank(statistic, _whole(self.test["degrees"]), p_value)

    def _read(self, printed: dict[str, Any]) -> GroupCurve:
        """A curve as `_printed` wrote it."""
        size = self.stretches
        early = printed["known_until"] < self.times[-1]
        numbers = {
            name: Number(
                _finite(printed[name]["estimate"], math.nan if early else math.inf),
                _finite(printed[name]["lower"]),
                _finite(printed[name]["upper"]),
            )
            for name in NUMBERS
        }
        curve = GroupCurve(
            **{name: _finite(printed[name]) for name in SCALARS},  # type: ignore[arg-type]
            **numbers,  # type: ignore[arg-type]
            known_until=float(printed["known_until"]),
            at_risk=_column(printed["at_risk"], size),
            reach=int(np.searchsorted(self.times, printed["known_until"])),
            survival=_read_band(printed["survival"], size),
            incidence=tuple(_read_band(printed["incidence"][name], size) for name in self.causes),
        )
        if not curve.known_until == self.times[min(curve.reach, size)]:
            raise ValueError("known_until is not the end of a stretch")
        return curve

    @model_validator(mode="after")
    def _check_results(self) -> Self:
        if not self._has_results:
            return self
        try:
            number = len(self.estimates)
            degrees = 0 if self.log_rank is None else self.log_rank.degrees
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise ValueError("the printed curves are not those of groups and times") from None
        if number != self.groups.number or degrees != number - 1:
            raise ValueError("there is not one printed curve for each group, with their test")
        return self

    def with_results(self) -> Self:
        """The file with everything that follows from the released numbers printed in it."""
        curves, test = self._computed
        printed = tuple(
            _printed(levels, curve, self.times, self.causes)
            for levels, curve in zip(self.groups.names, curves, strict=True)
        )
        rounded = None
        if test is not None:
            statistic, p_value = round(test.statistic, DIGITS), float(f"{test.p_value:.6g}")
            rounded = {"statistic": statistic, "degrees": test.degrees, "p_value": p_value}
        update = {"curves": printed, "test": rounded}
        cautions = self.model_copy(update=update).cautions
        return self.model_copy(update={**update, "warnings": (*self.warnings, *cautions)})

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """One for each group of which nothing is known, and one for those known in part."""
        unit, known, found = self.public_schema.time.counted_in, [], []
        for name, curve in zip(self.titles, self.estimates, strict=True):
            if curve.may_be_empty:
                text = f"The group '{name}' may be empty: the 95 % range of its size holds none."
                found.append(Caution.about("empty-group", text))
            elif not curve.reach:
                text = (
                    f"The group '{name}' (about {curve.size:,.0f} people) is too small for the noise: its "
                    "curve is not known, and only its band is drawn."
                )
                found.append(Caution.about("wide-band", text, remedy=self._needed(curve)))
            elif curve.ends_early:
                known.append((name, with_unit(f"{curve.known_until:.4g}", unit)))
        if known:
            listed = ", ".join(f"'{name}' until {until}" for name, until in known)
            first = f"Curves are known in part: {listed}."
            if len(known) == 1:
                first = f"The curve of '{known[0][0]}' is known until {known[0][1]}."
            text = (
                f"{first} Later the band takes up more than half of the picture, "
                "or fewer than five may be at risk."
            )
            found.append(Caution.about("short-follow-up", text))
        return tuple(found)

    def _needed(self, curve: GroupCurve) -> str:
        """What would show the curve of a group that is too small for the noise."""
        ways = []
        if np.isfinite(curve.people_needed):
            people = float(f"{curve.size * curve.people_needed:.2g}")
            ways.append(f"about {people:,.0f} people in the group")
        if np.isfinite(curve.noise_needed):
            ways.append(f"an epsilon of about {self.guarantee.epsilon * curve.noise_needed:.2g}")
        needed = f"{' or '.join(ways)} would show half of its curve." if ways else ""
        return f"{needed[:1].upper()}{needed[1:]}"

    @property
    def axis(self) -> tuple[float, str]:
        """The divisor of times that are drawn, and the label of their axis: long ones in years."""
        time = self.public_schema.time
        if time.counted_in == "days" and time.length > LONG:
            return DAYS["years"], "time in years"
        return 1.0, time.axis_label


def _whole(value: object) -> int:
    if type(value) is not int or not 1 <= value <= 1_000_000:
        raise ValueError("a number of outcomes or stretches is not a positive whole number")
    return value


def _printed(
    levels: tuple[str, ...], curve: GroupCurve, times: Array, causes: tuple[str, ...]
) -> dict[str, Any]:
    incidence = zip(causes, curve.incidence, strict=True)
    return {
        "group": list(levels),
        **{name: _number(getattr(curve, name)) for name in SCALARS},
        "known_until": curve.known_until,
        "may_be_empty": curve.may_be_empty,
        "time": times[1:].tolist(),
        "at_risk": np.round(curve.at_risk, DIGITS).tolist(),
        "survival": _band(curve.survival),
        "incidence": {name: _band(band) for name, band in incidence},
        **{
            name: {key: _number(value) for key, value in vars(getattr(curve, name)).items()}
            for name in NUMBERS
        },
    }


def _band(band: Band) -> dict[str, list[float]]:
    return {name: np.round(getattr(band, name), DIGITS).tolist() for name in BANDS}


def _number(value: float) -> float | None:
    """JSON has neither infinity nor NaN: what is never reached, or not known, is null."""
    return float(f"{value:.{DIGITS + 1}g}") if np.isfinite(value) else None


def _finite(value: object, missing: float = math.inf) -> float:
    """A number as `_number` writes it."""
    if value is None:
        return missing
    if type(value) not in {int, float}:
        raise TypeError("not a number")
    return float(value)  # type: ignore[arg-type]


def _column(values: object, size: int) -> Array:
    found = np.array(values, dtype=np.float64)
    if found.shape != (size,) or not np.isfinite(found).all():
        raise ValueError("a printed column has not one number for each stretch")
    return found


def _read_band(printed: dict[str, Any], size: int) -> Band:
    return Band(**{name: _column(printed[name], size) for name in BANDS})

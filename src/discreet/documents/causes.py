"""A model of competing risks as pure data: one binary model per cause, and their joint covariance."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from pydantic import model_validator
from scipy.linalg import block_diag

from discreet.design.design import Design
from discreet.design.schema import Schema
from discreet.documents.caution import Caution
from discreet.documents.model import (
    Coefficients,
    File,
    FitRecord,
    Internal,
    Model,
    PlainModel,
    Promised,
    Release,
    Text,
    Triangle,
    Uncertainty,
    from_triangle,
    is_triangle,
    numbers_of,
)
from discreet.errors import ArtefactError
from discreet.results.group_curves import GroupCurve, ReleasedCounts, group_curves
from discreet.results.hazard_posterior import Counts
from discreet.results.life_table import LifeTable
from discreet.results.survival import CausesCurves
from discreet.types import Array

BY_CAUSE = ("coefficients", "internal", "fit", "uncertainty")
"""Fields that have an entry for each cause, in the files that have them."""

AnyModel = TypeVar("AnyModel", bound=Model)


class CausesFile(File):
    """Fields of every file of competing risks; predictions follow from them."""

    link: Text
    baseline: Text
    coefficients: dict[str, Coefficients]
    internal: dict[str, Internal]

    @abstractmethod
    def of_cause(self, cause: str) -> Model:
        """One cause's binary model, in which other causes' intervals do not count."""

    @property
    @abstractmethod
    def internal_covariance(self) -> Array | None:
        """Joint covariance of all causes' internal coefficients, one cause after the other."""

    @cached_property
    def covariance(self) -> Array | None:
        """Joint covariance of all causes' coefficients on the user's scale."""
        internal = self.internal_covariance
        if internal is None:
            return None
        turn = block_diag(*(model.design.to_user for model in self.models.values()))
        with np.errstate(all="ignore"):
            return np.asarray(turn @ internal @ turn.T)

    @property
    def vector(self) -> Array:
        """All coefficients on the user's scale, one cause after the other."""
        return np.concatenate([item.vector for item in self.coefficients.values()])

    @cached_property
    def design(self) -> Design:
        """The public coordinates that all causes share."""
        return next(iter(self.models.values())).design

    @classmethod
    def joined(cls, schema: Schema, parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the fields of a file from those of the binary model of each cause."""
        shared = {name: next(iter(parts.values()))[name] for name in ("link", "baseline")}
        own = {
            name: {cause: part[name] for cause, part in parts.items()}
            for name in BY_CAUSE
            if name in cls.model_fields
        }
        return {**cls.heading(schema), **shared, **own}

    @model_validator(mode="after")
    def _check_causes(self) -> Self:
        """Every field by cause has the schema's causes, in their order."""
        causes = self.public_schema.time.causes
        parts = (getattr(self, name) for name in BY_CAUSE if name in type(self).model_fields)
        if causes is None or any(list(part) != list(causes) for part in parts):
            raise ValueError("the coefficients are not those of the schema's causes")
        return self

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        """Refuse a file in which one cause has no sound document."""
        _ = self.models
        return self

    def _part(self, kind: type[AnyModel], cause: str, **own: Any) -> AnyModel:
        """The document of one cause: what it shares with this file, and its entries of `BY_CAUSE`."""
        names = kind.model_fields.keys() & type(self).model_fields.keys()
        facts = {name: getattr(self, name) for name in names}
        facts |= {name: facts[name][cause] for name in BY_CAUSE if name in facts}
        facts |= kind.heading(self.public_schema.of_cause(cause))
        del facts["public_schema"]
        return kind.model_validate({**facts, "library_version": self.library_version, **own})

    @property
    def causes(self) -> tuple[str, ...]:
        """Their names, in the order of the schema."""
        return tuple(self.coefficients)

    @cached_property
    def models(self) -> dict[str, Model]:
        """Each cause's binary model."""
        return {cause: self.of_cause(cause) for cause in self.coefficients}

    @cached_property
    def curves(self) -> CausesCurves:
        """Survival without any event, and the incidence of each cause."""
        return CausesCurves(tuple(model.curves for model in self.models.values()))


class CausesModel(CausesFile):
    """A fit of competing risks that is not private; it says so."""

    kind: ClassVar[str] = "discreet-model"

    private: Literal[False]
    fit: dict[str, FitRecord]
    uncertainty: dict[str, Uncertainty]
    joint_covariance: Triangle | None = None

    @model_validator(mode="after")
    def _check_covariance(self) -> Self:
        rows = self.joint_covariance
        if rows is not None and not is_triangle(rows, len(self.vector)):
            raise ValueError("the joint covariance is not a lower triangle of the right size")
        return self

    def of_cause(self, cause: str) -> PlainModel:
        """One cause's binary model."""
        return self._part(PlainModel, cause)

    @cached_property
    def internal_covariance(self) -> Array | None:
        """Joint covariance of all causes' internal coefficients, one cause after the other."""
        return None if self.joint_covariance is None else from_triangle(self.joint_covariance)


class CausesRelease(Promised, CausesFile):
    """A private model of competing risks: one release of all causes under one promise.

    ``released`` has the joint ``covariance``, the ``life_table`` with rows (first interval, last,
    censored, cause 1, ..., cause R[, entered]) and for every cause its ``calibration`` and, where the
    mechanism has a picture of it, its ``proportionality``.
    """

    kind: ClassVar[str] = "discreet-release"

    @model_validator(mode="after")
    def _check_covariance(self) -> Self:
        if self.internal_covariance.shape != (len(self.vector),) * 2:
            raise ValueError("the released covariance has another size than the coefficients")
        if not np.all(np.isfinite(self.internal_covariance)):
            raise ValueError("the released covariance is too large")
        return self

    @cached_property
    def internal_covariance(self) -> Array:
        """Joint covariance, privacy noise included, in internal coordinates."""
        return numbers_of("covariance", self.released.get("covariance"))

    @cached_property
    def exits(self) -> Array:
        """The released life table of all causes."""
        rows = numbers_of("life table", self.released.get("life_table"))
        if rows.shape[1] not in {len(self.causes) + 3, len(self.causes) + 4}:
            raise ArtefactError("the released life table has not a column for every cause.")
        return rows

    def of_cause(self, cause: str) -> Release:
        """One cause as a release of its own: its block of the covariance, its life table."""
        place, size = self.causes.index(cause), len(self.internal[cause].vector)
        own, number = slice(place * size, (place + 1) * size), len(self.causes)
        exits = self.exits
        events = exits[:, 3 + place]
        rest = exits[:, 2 : 3 + number].sum(axis=1) - events
        table = np.column_stack([exits[:, :2], rest, events, exits[:, 3 + number :]])
        released = {
            "covariance": self.internal_covariance[own, own].tolist(),
            "life_table": table.tolist(),
        }
        for name in ("calibration", "proportionality"):
            tables = self.released.get(name)
            if name == "proportionality" and tables is None:
                continue
            if not isinstance(tables, list) or len(tables) != number:
                raise ArtefactError(f"the released {name} has not a table for every cause.")
            released[name] = tables[place]
        if "typical" in self.released:
            released["typical"] = self.released["typical"]
        start, name, cautions = f"Cause {cause}: ", f"{cause}: ", []
        for one in self.warnings:  # those of all causes, and those of this one without its name
            if one.message.startswith(start):
                coefficients = tuple(item.removeprefix(name) for item in one.coefficients)
                message = one.message.removeprefix(start)
                cautions.append(Caution.about(one.code, message, coefficients, one.remedy))
            elif not one.message.startswith("Cause "):
                cautions.append(one)
        return self._part(
            Release, cause, released=released, warnings=tuple(cautions), joint_digest=None
        )

    @cached_property
    def life_table(self) -> LifeTable:
        """Survival of all persons together without an event of any cause, from the released counts."""
        rows, last = self.exits, 3 + len(self.causes)
        events = rows[:, 3:last].sum(axis=1)
        time = self.public_schema.time
        table = np.column_stack([rows[:, :3], events, rows[:, last:]])
        return LifeTable.of(table, self.persons, time.grid.edges, time.axis_label)

    @cached_property
    def aalen_johansen(self) -> GroupCurve:
        """Incidence of every cause without a model, from the released counts, with bands."""
        rows, number = self.exits, len(self.causes)
        censored, entered = rows[:, 2], rows[:, 3 + number :].T
        # the last bin is one interval, whose censored were there to the end; the first is the start
        counts = Counts(
            rows[:, 3 : 3 + number].T[None],
            np.insert(censored, len(rows) - 1, 0.0)[None],
            np.insert(entered, 1, 0.0, axis=1) if len(entered) else None,
            rows[:, 1] - rows[:, 0] + 1.0,
        )
        table = numbers_of("calibration", self.released["calibration"][0])
        variance = float(np.max(table[:, 4])) ** 2
        noise = {size: variance * np.eye(size) for size in (len(rows), len(rows) + 1)}
        return group_curves(ReleasedCounts(counts, noise, self.persons, seed=0), self.times)[0][0]

    @property
    def times(self) -> Array:
        """Start of the axis and ends of the stretches of the life table."""
        edges = self.public_schema.time.grid.edges
        return np.asarray(edges[[0, *self.exits[:, 1].astype(np.int64)]])


Fitted = Model | CausesFile
"""A model of one event or of several causes."""
ModelRelease = Release | CausesRelease

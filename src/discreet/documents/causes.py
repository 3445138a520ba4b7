"""A model of competing risks as pure data: one binary model per cause, and their joint covariance."""

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from scipy.linalg import block_diag

from discreet.design.design import Design
from discreet.design.grid import TimeGrid
from discreet.design.link import Link
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
from discreet.errors import ArtefactError, SettingsError
from discreet.results.group_curves import GroupCurve, ReleasedCounts, group_curves
from discreet.results.hazard_posterior import Counts
from discreet.results.life_table import LifeTable
from discreet.results.survival import CausesCurves
from discreet.types import Array


class CausesFile(File):
    """What every file of competing risks has; predictions follow from it."""

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
    def shared_facts(cls, designs: dict[str, Design], link: Link, point: Array) -> dict[str, Any]:
        """What every kind of file says of a fit that came to ``point``, one cause after another."""
        parts = dict(zip(designs, np.split(point, len(designs)), strict=True))
        return {
            "link": link.name,
            "baseline": next(iter(designs.values())).baseline.spelling,
            "coefficients": {
                cause: Coefficients.of(design.to_user @ parts[cause], design)
                for cause, design in designs.items()
            },
            "internal": {
                cause: Internal.of(parts[cause], design) for cause, design in designs.items()
            },
        }

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

    @property
    def size(self) -> int:
        """Number of coefficients of all causes."""
        return sum(model.design.dimension for model in self.models.values())

    def require_causes(self, *parts: dict[str, Any]) -> None:
        """`ValueError` unless every part has the schema's causes, in their order."""
        causes = self.public_schema.time.causes
        if causes is None or any(list(part) != list(causes) for part in parts):
            raise ValueError("the coefficients are not those of the schema's causes")


class CausesModel(CausesFile):
    """A fit of competing risks that is not private; it says so."""

    kind: ClassVar[str] = "discreet-model"

    private: Literal[False]
    fit: dict[str, FitRecord]
    uncertainty: dict[str, Uncertainty]
    joint_covariance: Annotated[Triangle | None, Field()] = None

    @model_validator(mode="after")
    def _check_causes(self) -> Self:
        self.require_causes(self.coefficients, self.internal, self.fit, self.uncertainty)
        rows = self.joint_covariance
        if rows is not None and not is_triangle(rows, self.size):
            raise ValueError("the joint covariance is not a lower triangle of the right size")
        return self

    def of_cause(self, cause: str) -> PlainModel:
        """One cause's binary model."""
        return PlainModel.model_validate(
            {
                **PlainModel.heading(self.public_schema.of_cause(cause)),
                "library_version": self.library_version,
                "private": False,
                "link": self.link,
                "baseline": self.baseline,
                "coefficients": self.coefficients[cause],
                "internal": self.internal[cause],
                "fit": self.fit[cause],
                "uncertainty": self.uncertainty[cause],
            }
        )

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
    def _check_causes(self) -> Self:
        self.require_causes(self.coefficients, self.internal)
        if self.internal_covariance.shape != (self.size, self.size):
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
        return Release.model_validate(
            {
                **Release.heading(self.public_schema.of_cause(cause)),
                "library_version": self.library_version,
                "private": self.private,
                "link": self.link,
                "baseline": self.baseline,
                "persons": self.persons,
                "mechanism": self.mechanism,
                "guarantee": self.guarantee,
                "noise_scale": self.noise_scale,
                "grid_exponent": self.grid_exponent,
                "details": self.details,
                "release_id": self.release_id,
                "ledger": self.ledger,
                "promise": self.promise,
                "coefficients": self.coefficients[cause],
                "internal": self.internal[cause],
                "released": self._released(cause),
                "warnings": tuple(cautions_of(self.warnings, cause)),
            }
        )

    def _released(self, cause: str) -> dict[str, Any]:
        """What was released, as the cause sees it."""
        place, size = self.causes.index(cause), len(self.internal[cause].vector)
        own, number = slice(place * size, (place + 1) * size), len(self.causes)
        exits, tables = self.exits, self.released.get("calibration")
        events = exits[:, 3 + place]
        rest = exits[:, 2 : 3 + number].sum(axis=1) - events
        table = np.column_stack([exits[:, :2], rest, events, exits[:, 3 + number :]])
        if not isinstance(tables, list) or len(tables) != number:
            raise ArtefactError("the released calibration has not a table for every cause.")
        changes = self.released.get("proportionality")
        if changes is not None and (not isinstance(changes, list) or len(changes) != number):
            raise ArtefactError("the released proportionality has not a table for every cause.")
        return {
            "covariance": self.internal_covariance[own, own].tolist(),
            "life_table": table.tolist(),
            "calibration": tables[place],
            **({} if changes is None else {"proportionality": changes[place]}),
            **{key: item for key, item in self.released.items() if key == "typical"},
        }

    @cached_property
    def life_table(self) -> LifeTable:
        """Survival of everybody together without an event of any cause, from the released counts."""
        rows, last = self.exits, 3 + len(self.causes)
        events = rows[:, 3:last].sum(axis=1)
        time = self.public_schema.time
        table = np.column_stack([rows[:, :3], events, rows[:, last:]])
        return LifeTable.of(table, self.persons, TimeGrid.of(time).edges, time.axis_label)

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
        edges = TimeGrid.of(self.public_schema.time).edges
        return np.asarray(edges[[0, *self.exits[:, 1].astype(np.int64)]])


def require_no_strata(schema: Schema) -> None:
    """`SettingsError` for strata beside causes."""
    if schema.strata is not None:
        raise SettingsError("strata do not go with causes yet; remove [strata] or causes.")


def cautions_of(cautions: tuple[Caution, ...], cause: str) -> Iterator[Caution]:
    """Those of all causes, and those of this one without its name."""
    start, name = f"Cause {cause}: ", f"{cause}: "
    for caution in cautions:
        if caution.message.startswith(start):
            coefficients = tuple(item.removeprefix(name) for item in caution.coefficients)
            yield Caution.about(caution.code, caution.message.removeprefix(start), coefficients)
        elif not caution.message.startswith("Cause "):
            yield caution

"""A model of competing risks as pure data: one binary model per cause, and what they say together.

With h_r the cause's own (conditional) hazard and o_r = h_r / (1 - h_r) its odds against no event,

    P(none) = 1 / (1 + sum_k o_k),    P(cause r) = o_r / (1 + sum_k o_k)

in every interval. With the logit link this is the multinomial logit; with the complementary log-log
link it is cause-specific proportional hazards in the limit of a fine grid.

    S(u) = prod P(none),    F_r(u) = sum over intervals ended by u of S before it x P(cause r)

Reference: Begg and Gray (1984); Tutz and Schmid (2016), chapter 8.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, ValidationError, model_validator

from discreet.errors import ArtefactError, SettingsError
from discreet.models.curves import BLOCK, Curves
from discreet.models.model import (
    Coefficients,
    File,
    FitRecord,
    Internal,
    Number,
    PlainModel,
    Text,
    Uncertainty,
    sentence,
)
from discreet.models.strict import read_strict
from discreet.types import Array

Triangle = tuple[tuple[Number, ...], ...]


class CausesModel(File):
    """A fit of competing risks that is not private; it says so."""

    kind: ClassVar[str] = "discreet-model"

    private: Literal[False]
    link: Text
    baseline: Text
    coefficients: dict[str, Coefficients]
    internal: dict[str, Internal]
    fit: dict[str, FitRecord]
    uncertainty: dict[str, Uncertainty]
    joint_covariance: Annotated[Triangle | None, Field()] = None

    @model_validator(mode="after")
    def _check_causes(self) -> Self:
        causes = self.public_schema.time.causes
        parts = (self.coefficients, self.internal, self.fit, self.uncertainty)
        if causes is None or any(list(part) != list(causes) for part in parts):
            raise ValueError("the coefficients are not those of the schema's causes")
        size = sum(model.design.dimension for model in self.models.values())
        rows = self.joint_covariance
        if rows is not None and [len(row) for row in rows] != list(range(1, size + 1)):
            raise ValueError("the joint covariance is not a lower triangle of the right size")
        return self

    @property
    def causes(self) -> tuple[str, ...]:
        """Their names, in the order of the schema."""
        return tuple(self.coefficients)

    @cached_property
    def models(self) -> dict[str, PlainModel]:
        """Each cause's binary model, in which other causes' intervals do not count."""
        return {cause: self._of_cause(cause) for cause in self.coefficients}

    def _of_cause(self, cause: str) -> PlainModel:
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
    def curves(self) -> "CausesCurves":
        """Survival without any event, and the incidence of each cause."""
        return CausesCurves(tuple(model.curves for model in self.models.values()))

    @cached_property
    def covariance(self) -> Array | None:
        """Joint covariance of all causes' internal coefficients, one cause after the other."""
        rows = self.joint_covariance
        if rows is None:
            return None
        full = np.zeros((len(rows), len(rows)))
        for index, row in enumerate(rows):
            full[index, : len(row)] = row
        return np.asarray(full + np.tril(full, -1).T)

    def number_of(self, cause: str) -> int:
        """The place of a cause; a `SettingsError` names those that there are."""
        if cause not in self.causes:
            raise SettingsError(
                f"there is no cause '{cause}'; causes are {', '.join(self.causes)}."
            )
        return self.causes.index(cause)


@dataclass(frozen=True, eq=False)
class CausesCurves:
    """The causes' curves together."""

    parts: tuple[Curves, ...]

    def survival(self, encoded: Array, times: ArrayLike) -> Array:
        """Probability of no event of any cause by each time, (rows, times)."""
        first = self.parts[0]
        ended = first.grid.ended(first.checked_times(times))
        found = [staying for _, staying, _ in self._blocks(encoded)]
        whole = np.concatenate([np.empty((0, len(first.grid.edges))), *found])
        return whole[:, ended]

    def incidence(self, encoded: Array, cause: int, times: ArrayLike) -> Array:
        """Probability of an event of the cause by each time, (rows, times)."""
        first = self.parts[0]
        ended = first.grid.ended(first.checked_times(times))
        rows = []
        for _, staying, odds in self._blocks(encoded):
            # S after the interval is S before it times P(none), so S before x P(r) = S after x o_r
            steps = staying[:, 1:] * odds[cause]
            rows.append(np.hstack([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)])[:, ended])
        return np.concatenate([np.empty((0, len(ended))), *rows])

    def _blocks(self, encoded: Array) -> Iterator[tuple[slice, Array, list[Array]]]:
        """Survival at a_0 ... a_q and each cause's odds in every interval, block by block."""
        intervals = self.parts[0].effects.shape[1]
        size = max(1, BLOCK // (intervals * (len(self.parts) + 1)))
        for start in range(0, len(encoded), size):
            part = slice(start, start + size)
            odds = [np.expm1(_losses(curves, encoded[part])) for curves in self.parts]
            total = np.cumsum(np.log1p(np.add.reduce(odds)), axis=1)
            staying = np.exp(-np.hstack([np.zeros((len(total), 1)), total]))
            yield part, staying, odds


def _losses(curves: Curves, encoded: Array) -> Array:
    """-log(1 - h) of one cause, (rows, intervals); more than 700 overflows and means certainty."""
    positions = (encoded @ curves.slopes)[:, None] + curves.effects[0]
    return np.minimum(curves.link.survival_loss(positions), 700.0)


def read_causes(path: str | Path) -> CausesModel:
    """The model of competing risks in a file."""
    return causes_from_mapping(read_strict(path))


def causes_from_mapping(mapping: dict[str, Any]) -> CausesModel:
    """The model of competing risks in a JSON object."""
    try:
        return CausesModel.model_validate(mapping, by_alias=True, by_name=False)
    except ValidationError as error:
        raise ArtefactError(sentence(error)) from None


def has_causes(mapping: dict[str, Any]) -> bool:
    """Whether a JSON object is a model of competing risks."""
    schema = mapping.get("schema")
    time = schema.get("time") if isinstance(schema, dict) else None
    known = isinstance(time, dict) and time.get("causes") is not None
    return known and mapping.get("format") == CausesModel.kind

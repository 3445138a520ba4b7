"""A fitted model as pure data: strict, versioned JSON in and out; no data frame, no pickle.

`Model` is what every model file has.  `PlainModel` is a fit that is not private, with the facts a
statistician wants to see (standard errors, log-likelihood).  `Release` is a private one: released
numbers and public facts only.
"""

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    Strict,
    ValidationError,
    field_validator,
    model_validator,
)

from discreet.design.baseline import Baseline, parse_baseline
from discreet.design.design import Coordinates, Design
from discreet.design.link import Link, get_link
from discreet.design.schema import Schema
from discreet.documents.caution import Caution
from discreet.documents.strict import serialise, write_new
from discreet.errors import ArtefactError, SettingsError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.scales import LARGEST_EXPONENT
from discreet.results.life_table import Calibration, LifeTable
from discreet.results.proportionality import EffectOverTime, effects_over_time
from discreet.results.survival import Curves
from discreet.types import Array
from discreet.version import __version__

Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Count = Annotated[int, Strict(), Field(ge=0)]
Text = Annotated[str, Strict(), Field(max_length=4000)]

Triangle = tuple[tuple[Number, ...], ...]
"""A symmetric matrix: its lower triangle, row by row."""

VERSION = 1
# User-scale and internal values of one file are computed from each other; this is rounding.
AGREEMENT = 1e-9


def to_triangle(matrix: Array) -> tuple[tuple[float, ...], ...]:
    """Return the lower triangle of a symmetric matrix."""
    return tuple(tuple(row[: k + 1].tolist()) for k, row in enumerate(matrix))


def from_triangle(rows: Triangle) -> Array:
    """Return the symmetric matrix with this lower triangle."""
    full = np.zeros((len(rows), len(rows)))
    for index, row in enumerate(rows):
        full[index, : len(row)] = row
    return np.asarray(full + np.tril(full, -1).T)


def is_triangle(rows: Triangle, size: int) -> bool:
    """Return whether the rows are the lower triangle of a matrix of this size."""
    return [len(row) for row in rows] == list(range(1, size + 1))


def _as_mapping(kind: type[Schema | Guarantee]) -> tuple[BeforeValidator, PlainSerializer]:
    """Read a field from its mapping, and write it as one."""

    def read(value: object) -> object:
        return kind.from_mapping(value) if isinstance(value, dict) else value

    return BeforeValidator(read), PlainSerializer(kind.to_mapping, return_type=dict[str, Any])


class _Document(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, arbitrary_types_allowed=True
    )


class Coefficients(_Document):
    """On the user's own scale: the baseline in its basis, covariates by name.

    With strata there is one baseline for each, by the name of its level.
    """

    baseline: tuple[Number, ...] | dict[str, tuple[Number, ...]]
    covariates: dict[str, Number]

    @classmethod
    def of(cls, values: Array, design: Design) -> Self:
        """Split a vector (baselines, covariates)."""
        size, names = design.time_dimension, design.schema.coefficient_names
        covariates = dict(zip(names, values[size:].tolist(), strict=True))
        declared = design.schema.strata
        if declared is None:
            return cls(baseline=tuple(values[:size].tolist()), covariates=covariates)
        parts = values[:size].reshape(design.strata, -1).tolist()
        baselines = dict(zip(declared.levels, map(tuple, parts), strict=True))
        return cls(baseline=baselines, covariates=covariates)

    @property
    def baselines(self) -> tuple[tuple[float, ...], ...]:
        """The baseline of each stratum; without strata there is one."""
        return (
            tuple(self.baseline.values()) if isinstance(self.baseline, dict) else (self.baseline,)
        )

    @property
    def shape(self) -> tuple[object, ...]:
        """Names of the coefficients, and their number in each stratum's baseline."""
        strata = tuple(self.baseline) if isinstance(self.baseline, dict) else None
        return strata, tuple(map(len, self.baselines)), tuple(self.covariates)

    @property
    def vector(self) -> Array:
        """(baselines, covariates) in one array."""
        time = [value for part in self.baselines for value in part]
        return np.array([*time, *self.covariates.values()], dtype=np.float64)


class Internal(_Document):
    """Coefficients in the coordinates in which the model was fitted, every |x| at most 1."""

    coordinates: Coordinates
    baseline: tuple[Number, ...]
    covariates: tuple[Number, ...]

    @classmethod
    def of(cls, point: Array, design: Design) -> Self:
        """Split a vector (baseline, covariates)."""
        size, values = design.time_dimension, tuple(point.tolist())
        return cls(coordinates=design.coordinates, baseline=values[:size], covariates=values[size:])

    @property
    def vector(self) -> Array:
        """(baseline, covariates) in one array."""
        return np.array([*self.baseline, *self.covariates], dtype=np.float64)


class Uncertainty(_Document):
    """Standard errors on the user's scale; ``covariance`` is the lower triangle, row by row."""

    information: Literal["expected", "observed"]
    standard_errors: Coefficients
    covariance: Triangle | None = None


class FitRecord(_Document):
    """Course of a fit that is not private; all of it depends on the data."""

    persons: Count
    rows: Count
    events: Count
    intervals_at_risk: Count
    log_likelihood: Number
    ridge: Number
    solver: Text
    gradient_norm: Number
    notes: tuple[Text, ...] = ()


class File(_Document):
    """Fields of every file, and its writer."""

    kind: ClassVar[str] = ""

    format: Text
    version: Annotated[int, Strict()]
    library_version: Text
    private: Annotated[bool, Strict()]
    public_schema: Annotated[Schema, *_as_mapping(Schema), Field(alias="schema")]

    @classmethod
    def heading(cls, schema: Schema) -> dict[str, Any]:
        """Fields that every file of this kind begins with."""
        return {
            "format": cls.kind,
            "version": VERSION,
            "library_version": __version__,
            "schema": schema,
        }

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if self.format != self.kind:
            raise ValueError(f"the format is not '{self.kind}'")
        if self.version != VERSION:
            raise ValueError("the file was written by another version of this package")
        return self

    def to_mapping(self) -> dict[str, Any]:
        """The JSON object."""
        return self.model_dump(mode="json", by_alias=True)

    @cached_property
    def content(self) -> bytes:
        """The file, byte for byte."""
        return serialise(self.to_mapping())

    @property
    def digest(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self.content).hexdigest()

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the file, whole or not at all."""
        self.require_writable()
        write_new(path, self.content, overwrite=overwrite)

    def require_writable(self) -> None:
        """`SettingsError` for what must not be kept; nothing, unless a kind of file says."""


class Model(File):
    """Fields of every model file; predictions follow from them."""

    link: Text
    baseline: Text
    coefficients: Coefficients
    internal: Internal

    @classmethod
    def shared_facts(cls, design: Design, link: Link, point: Array) -> dict[str, Any]:
        """Fields of a fit that came to ``point``, in every kind of file."""
        return {
            **cls.heading(design.schema),
            "link": link.name,
            "baseline": design.baseline.spelling,
            "coefficients": Coefficients.of(design.to_user @ point, design),
            "internal": Internal.of(point, design),
        }

    @model_validator(mode="after")
    def _check(self) -> Self:
        """User-scale and internal values name the same coefficients and agree."""
        get_link(self.link)
        design, user, internal = self.design, self.coefficients, self.internal
        declared, size = design.schema.strata, design.baseline.dimension
        levels = None if declared is None else declared.levels
        shape = (levels, (size,) * design.strata, design.schema.coefficient_names)
        sizes = len(internal.baseline), len(internal.covariates)
        right = (design.time_dimension, len(design.schema.coefficient_names))
        if user.shape != shape or sizes != right:
            raise ValueError("the coefficients are not those that the schema and the baseline name")
        with np.errstate(all="ignore"):
            expected = design.to_user @ internal.vector
            margin = AGREEMENT * (np.abs(design.to_user) @ np.abs(internal.vector))
            gap = np.abs(user.vector - expected)
        if not np.all(gap <= margin) or not np.all(np.isfinite(margin)):
            raise ValueError("the coefficients and the internal values do not agree")
        return self

    @cached_property
    def design(self) -> Design:
        """The public coordinates of the fit."""
        baseline: Baseline = parse_baseline(self.baseline)
        return Design(self.public_schema, baseline, self.internal.coordinates)

    @property
    def causes(self) -> tuple[str, ...]:
        """Names of competing risks: none, this is a model of one event."""
        return ()

    @property
    def models(self) -> dict[str, "Model"]:
        """The binary model of each cause; of one event it is this model."""
        return {"": self}

    @property
    def vector(self) -> Array:
        """All coefficients on the user's scale."""
        return self.coefficients.vector

    @cached_property
    def curves(self) -> Curves:
        """Hazards and survival from encoded covariates."""
        return Curves.of(self.design, get_link(self.link), self.internal.vector)

    @property
    def covariance(self) -> Array | None:
        """Covariance of the coefficients on the user's scale, where it is known."""
        return None


class PlainModel(Model):
    """A fit that is not private; it says so."""

    kind: ClassVar[str] = "discreet-model"

    private: Literal[False]
    fit: FitRecord
    uncertainty: Uncertainty

    @model_validator(mode="after")
    def _check_uncertainty(self) -> Self:
        errors, rows = self.uncertainty.standard_errors, self.uncertainty.covariance
        if errors.shape != self.coefficients.shape:
            raise ValueError("there is not one standard error for each coefficient")
        if rows is not None and not is_triangle(rows, self.design.dimension):
            raise ValueError("the covariance is not a lower triangle of the right size")
        return self

    @cached_property
    def covariance(self) -> Array | None:
        """Covariance on the user's scale; None where there are too many coefficients to keep it."""
        rows = self.uncertainty.covariance
        return None if rows is None else from_triangle(rows)


class Promised(File):
    """Fields of every private file: released numbers, public facts, and the promise.

    ``private`` is False when the noise came from a seed; such a file is never written.
    ``joint_digest`` is in a file that several sites made together, see `without_ledger`.
    """

    persons: Annotated[int, Strict(), Field(ge=1)]
    mechanism: dict[str, Any]
    guarantee: Annotated[Guarantee, *_as_mapping(Guarantee)]
    noise_scale: Number
    grid_exponent: Annotated[int, Strict(), Field(ge=-LARGEST_EXPONENT, le=LARGEST_EXPONENT)]
    details: dict[str, Any]
    released: dict[str, Any]
    release_id: Text
    ledger: Text
    promise: Text
    warnings: tuple[Caution, ...] = ()
    joint_digest: Text | None = None

    @field_validator("mechanism")
    @classmethod
    def _check_name(cls, value: dict[str, Any]) -> dict[str, Any]:
        if type(value.get("name")) is not str:
            raise ValueError("the mechanism has no name")
        return value

    @model_validator(mode="after")
    def _check_promise(self) -> Self:
        if not self.guarantee.is_said_by(self.promise):
            raise ValueError("the promise in words is not that of the guarantee")
        if self.joint_digest is not None and self.joint_digest != self.without_ledger():
            raise ValueError("the joint digest is not that of the release")
        return self

    def __repr__(self) -> str:
        """Name and promise: a file of thousands of numbers is not printed."""
        numbers = f"epsilon {self.guarantee.epsilon:g}, delta {self.guarantee.delta:g}"
        kind = type(self).__name__
        return f"<{kind} {self.release_id}: {numbers}, {self.persons:,} persons>"

    __str__ = __repr__

    def to_mapping(self) -> dict[str, Any]:
        """The JSON object; a release of one place has no joint digest."""
        mapping = super().to_mapping()
        if self.joint_digest is None:
            del mapping["joint_digest"]
        return mapping

    def without_ledger(self) -> str:
        """SHA-256 of all but the ledger's head, in which alone the files of several sites differ."""
        mapping = self.to_mapping()
        rest = {key: item for key, item in mapping.items() if key not in {"ledger", "joint_digest"}}
        return hashlib.sha256(serialise(rest)).hexdigest()

    def require_writable(self) -> None:
        """Refused for a release whose noise can be repeated."""
        if not self.private:
            raise SettingsError(
                "this release was drawn with seeded noise, which can be repeated and subtracted; "
                "it is not private and is not written."
            )


class Release(Promised, Model):
    """A private model: what it is, what was released, what is promised.

    Coefficients are on the user's own scale, ``warnings`` say what a reader should not believe;
    ``released`` is everything that was drawn, by the public plan in ``details``.
    """

    kind: ClassVar[str] = "discreet-release"

    @model_validator(mode="after")
    def _check_released(self) -> Self:
        with np.errstate(over="ignore"):
            steps = np.ldexp(self.internal.vector, -self.grid_exponent)
        if not np.array_equal(steps, np.rint(steps)):
            raise ValueError("the internal values are not on the declared grid")
        covariance, table = self.covariance, self.life_table
        if covariance is not None and not np.all(np.isfinite(covariance)):
            raise ValueError("the released covariance is too large")
        if table is not None and not np.all(np.isfinite(table.at_risk)):
            raise ValueError("the released life table is too large")
        _ = self.calibration  # an error if it does not go with the life table
        _ = self.life_tables  # or these with the strata
        _ = self.typical
        _ = self.proportionality
        return self

    @cached_property
    def covariance(self) -> Array | None:
        """Covariance on the user's scale, privacy noise included, where the mechanism gave one."""
        internal = self._rows("covariance")
        if internal is None:
            return None
        if internal.shape != (self.design.dimension, self.design.dimension):
            raise ArtefactError("the released covariance has another size than the coefficients.")
        with np.errstate(all="ignore"):
            return np.asarray(self.design.to_user @ internal @ self.design.to_user.T)

    @cached_property
    def life_table(self) -> LifeTable | None:
        """Survival of all persons together, where the mechanism released counts of exits."""
        rows, time = self._rows("life_table"), self.public_schema.time
        if rows is None:
            return None
        return LifeTable.of(rows, self.persons, time.grid.edges, time.axis_label)

    @cached_property
    def typical(self) -> tuple[float, ...] | None:
        """A person of the released distribution: each number's median, the number of each level."""
        values = self._rows("typical", "typical person")
        if values is None:
            return None
        if values.shape != (1, len(self.public_schema.covariates)):
            raise ArtefactError("the typical person has not one number for each covariate.")
        return tuple(values[0].tolist())

    @cached_property
    def life_tables(self) -> dict[str, LifeTable]:
        """The life table of each stratum by its level; none where there are no strata.

        As many are at risk at the start as leave: the size of a stratum is not released.
        """
        strata, time = self.public_schema.strata, self.public_schema.time
        rows = None if strata is None else self._rows("life_tables")
        if strata is None or rows is None:
            return {}
        edges = time.grid.edges
        parts = [rows[rows[:, 0] == number, 1:] for number in range(len(strata.levels))]
        if {len(part) for part in parts} != {len(rows) / len(parts)}:
            raise ArtefactError("the released life tables are not one for each stratum.")
        starts = [max(round(part[:, 2:4].sum()), 1) for part in parts]
        tables = [
            LifeTable.of(part, persons, edges, time.axis_label)
            for part, persons in zip(parts, starts, strict=True)
        ]
        return dict(zip(strata.levels, tables, strict=True))

    @cached_property
    def proportionality(self) -> tuple[EffectOverTime, ...] | None:
        """Every effect early and late, where the mechanism released a picture of it."""
        rows = self._rows("proportionality")
        return None if rows is None else effects_over_time(rows, self.public_schema)

    @cached_property
    def calibration(self) -> Calibration | None:
        """The model against the life table, where the mechanism released the comparison."""
        table = self.life_table
        rows = None if table is None else self._rows("calibration")
        return None if table is None or rows is None else Calibration.of(rows, table)

    def _rows(self, name: str, words: str = "") -> Array | None:
        """A released table, where the mechanism released one."""
        if name not in self.released:
            return None
        return numbers_of(words or name.replace("_", " "), self.released[name])


def numbers_of(name: str, rows: Any) -> Array:
    """Rows of equally many numbers from a file."""
    table: list[Any] = rows if isinstance(rows, list) else [None]
    whole = all(isinstance(row, list) and len(row) == len(table[0]) for row in table)
    if not whole or not all(type(item) in {int, float} for row in table for item in row):
        raise ArtefactError(f"the released {name} is not a table of numbers.")
    return np.array(table, dtype=np.float64).reshape(len(table), -1)


def sentence(error: ValidationError) -> str:
    """One sentence for the first of pydantic's complaints."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"unknown key '{place}'; the file was not written by this version."
    if first["type"] == "missing":
        return f"key '{place}' is missing."
    message = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{message}." if not place else f"key '{place}': {message[:1].lower() + message[1:]}."

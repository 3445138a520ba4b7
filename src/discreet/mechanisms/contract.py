"""The interface of private mechanisms: public settings, a plan made from public facts, a draw.

A mechanism is a frozen dataclass of public settings that extends `Mechanism`, with three methods:

    promise(persons) -> Guarantee        of the settings alone: what a budget will be charged
    plan(facts) -> Plan                  public inputs only: noise scale, guarantee, grid
    draw(plan, problem, noise) -> Draw   the only method that touches the data, through `problem`

The split is a privacy argument: a plan is computed before a record is read, so it may be printed,
charged to a budget and refused without disclosing anything about a person. `Draw` holds released
numbers only, each a multiple of a public power of two.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import SettingsError
from discreet.privacy.scales import is_count, is_number
from discreet.privacy.shares import ALONE, NoiseShares
from discreet.types import Array

if TYPE_CHECKING:
    from discreet.design.design import Coordinates, Design
    from discreet.design.link import Link
    from discreet.design.schema import Schema
    from discreet.documents.caution import Caution
    from discreet.likelihood.problem import Problem
    from discreet.mechanisms.outlook import Outlook
    from discreet.privacy.guarantee import Guarantee
    from discreet.privacy.noise import NoiseSource
    from discreet.solve import Evaluation

Loss = Callable[[Array], "Evaluation"]
"""The total loss of all persons, or a plug-in of the audit whose release density is known."""

Json = None | bool | int | float | str | list[Any] | dict[str, Any]

MOST_PERSONS = 10**10
"""More than there are on Earth; sums of whole numbers over them stay within 64 bits."""

SMALLEST_SETTING, LARGEST_SETTING = 1e-12, 1e12

NOT_GIVEN = math.nan
"""Default of a required setting: construction without it is a `SettingsError`, not a guess."""


@dataclass(frozen=True)
class Facts:
    """The public facts that a plan is made from; nothing here was learned from records.

    `persons` is n, public under the replace-one relation. `sites` describes the noise: drawn in one
    place, or by several sites together.
    """

    persons: int
    design: "Design"
    link: "Link"
    sites: NoiseShares = ALONE

    def __post_init__(self) -> None:
        self.design.schema.require_bounds()
        if not is_count(self.persons):
            raise SettingsError("the number of persons must be a positive integer")
        if self.persons > MOST_PERSONS:
            raise SettingsError(f"the number of persons must be at most {MOST_PERSONS:,}")
        if self.design.schema.strata is not None and self.causes > 1:
            raise SettingsError("strata do not go with causes yet; remove [strata] or causes.")

    @property
    def time_varying(self) -> bool:
        """Whether the schema allows several rows a person."""
        return self.design.schema.person is not None

    @property
    def dimension(self) -> int:
        """Number of coefficients d = e + p, with strata d = G e + p."""
        return self.design.dimension

    @property
    def causes(self) -> int:
        """Number of competing causes; 1 for one kind of event."""
        return len(self.design.schema.time.causes or (None,))

    @property
    def leads(self) -> int:
        """Number of lead columns, of which all other columns of covariates are public functions."""
        return len(self.design.covariates.leads)

    @property
    def covariates(self) -> int:
        """Number of covariate coefficients p."""
        return self.dimension - self.design.time_dimension


@dataclass(frozen=True)
class Plan:
    """Everything public about a release that is about to be made.

    `noise_scale` is the scale of the noise added to the released point, in internal coordinates.
    `details` are the further public numbers (ridge, sensitivities, the split of the budget): the
    release prints them, and the draw reads them through `number`. `candidates` are the plans that a
    selection chooses from.
    """

    mechanism: str
    settings: Mapping[str, Json]
    guarantee: "Guarantee"
    persons: int
    dimension: int
    noise_scale: float
    grid_exponent: int
    details: Mapping[str, Json] = field(default_factory=dict)
    candidates: "tuple[Plan, ...]" = ()

    def __post_init__(self) -> None:
        # a plan that was charged must be the plan that is drawn
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))

    def number(self, name: str) -> float:
        """Return one of the plan's public numbers."""
        value = self.details[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SettingsError(f"the plan's {name} is not a number")
        return float(value)

    def public(self) -> dict[str, Json]:
        """Return the plan as it is printed in a release, beside the guarantee."""
        return {
            "mechanism": self.mechanism,
            "settings": dict(self.settings),
            "noise_scale": self.noise_scale,
            "grid_exponent": self.grid_exponent,
            "details": dict(self.details),
        }


@dataclass(frozen=True)
class Draw:
    """Released numbers: a point in internal coordinates and further arrays.

    Every coordinate of `point` is an integer times 2^`grid_exponent`: construction fails
    otherwise, so no float with data in its low bits can pass. `extras` are further released
    arrays: noisy integers (a life table), or computed from released numbers alone (a covariance),
    which no constructor can check. `cautions` are warnings for a
    reader, computed from these numbers alone. `private` is False when the noise came from a
    seeded source; such a draw is never published.
    """

    point: NDArray[np.float64]
    grid_exponent: int
    private: bool
    extras: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    cautions: tuple["Caution", ...] = ()

    def __post_init__(self) -> None:
        point = np.array(self.point, dtype=np.float64, copy=True)
        steps = np.ldexp(point, -self.grid_exponent)
        if point.ndim != 1 or not np.all(np.isfinite(steps)) or np.any(steps != np.rint(steps)):
            raise SettingsError("a released point must lie on the declared grid")
        point.flags.writeable = False
        object.__setattr__(self, "point", point)
        object.__setattr__(self, "extras", MappingProxyType(dict(self.extras)))

    @classmethod
    def from_integers(
        cls,
        integers: ArrayLike,
        grid_exponent: int,
        *,
        private: bool,
        extras: Mapping[str, NDArray[np.float64]] | None = None,
    ) -> Self:
        """Return the point integers * 2^k (integers beyond 2^53 keep their leading 53 bits)."""
        values = np.array([float(int(i)) for i in np.asarray(integers, dtype=object).ravel()])
        return cls(np.ldexp(values, grid_exponent), grid_exponent, private, extras or {})


class Mechanism(ABC):
    """A frozen dataclass of public settings that can plan and draw.

    name           as in `discreet fit --mechanism NAME`
    proof          its page in `docs/proofs/`
    coordinates    internal coordinates that the design must be made in
    needs_memory   cannot work on sums over blocks of people
    across_sites   several sites can draw its noise together
    takes_strata   its proof covers a baseline for each stratum
    takes_changes  its proof covers effects that change with time
    takes_causes   its proof covers competing risks
    """

    name: ClassVar[str]
    proof: ClassVar[str]
    needs_memory: ClassVar[bool] = False
    across_sites: ClassVar[bool] = False
    takes_strata: ClassVar[bool] = False
    takes_changes: ClassVar[bool] = False
    takes_causes: ClassVar[bool] = False

    @property
    def coordinates(self) -> "Coordinates":
        """Internal coordinates that the design must be made in."""
        return "orthonormal"

    @abstractmethod
    def promise(self, persons: int) -> "Guarantee":
        """Return the guarantee of a release of n persons, from the settings alone.

        It never falls as n does, so that the guarantee of the largest n is the weakest.
        """

    @abstractmethod
    def plan(self, facts: Facts) -> Plan:
        """Return noise scale, guarantee and grid, from public facts alone."""

    @abstractmethod
    def draw(self, plan: Plan, problem: "Problem", noise: "NoiseSource") -> Draw:
        """Draw from the mechanism that the plan describes."""

    def planned(
        self,
        facts: Facts,
        noise_scale: float,
        grid_exponent: int,
        details: Mapping[str, Json],
        candidates: tuple[Plan, ...] = (),
    ) -> Plan:
        """Return the plan of these settings for these facts, with its further public numbers."""
        return Plan(
            mechanism=self.name,
            settings=settings_of(self),
            guarantee=self.promise(facts.persons),
            persons=facts.persons,
            dimension=facts.causes * facts.dimension,
            noise_scale=noise_scale,
            grid_exponent=grid_exponent,
            details=details,
            candidates=candidates,
        )

    def refusal(self, facts: Facts) -> str:  # noqa: ARG002 - a proof for all facts
        """Return why there is no proof for these facts, as a sentence; empty if there is one."""
        return ""

    def variance(self, plan: Plan, outlook: "Outlook") -> Array | None:  # noqa: ARG002
        """Predict E (f - f*)(f - f*)' around the maximum likelihood estimate f*; None: unknown."""
        return None


def require_proof(mechanism: Mechanism, facts: Facts) -> None:
    """Raise `SettingsError` for what the mechanism has no proof of: causes, strata, changes, other facts."""
    changing = facts.design.schema.changing
    if facts.causes > 1 and not mechanism.takes_causes:
        raise SettingsError(
            "competing risks are released by private Newton alone: use the mechanism newton."
        )
    if facts.design.strata > 1 and not mechanism.takes_strata:
        raise SettingsError(
            f"the mechanism {mechanism.name} has no proof for strata: use newton, or leave [strata] "
            "out of the schema (a covariate with the same levels shares the baseline)."
        )
    if changing and not mechanism.takes_changes:
        raise SettingsError(
            f"the mechanism {mechanism.name} does not take effects that change with time: use newton, "
            f"or remove 'changes_at' from [[covariate]] '{changing[0]}'."
        )
    reason = mechanism.refusal(facts)
    if reason:
        raise SettingsError(reason)


MOST_COEFFICIENTS = 200
"""Limit on covariates' coefficients in a private fit: time grows with d^2 n + d^3, and the noise of each with d."""


def require_few_coefficients(schema: "Schema") -> None:
    """Raise `SettingsError` if there are more coefficients than a private fit takes."""
    causes = len(schema.time.causes or "1")
    count = causes * len(schema.coefficient_names)
    if count <= MOST_COEFFICIENTS:
        return
    widest = max(schema.covariates, key=lambda item: len(item.coefficient_names))
    each = f" for each of {causes} causes" if causes > 1 else ""
    raise SettingsError(
        f"the covariates have {count:,} coefficients, {len(widest.coefficient_names):,} of them of "
        f"'{widest.name}'{each}; a private fit takes at most {MOST_COEFFICIENTS}. Group the levels of "
        f"'{widest.name}' in file and schema, or leave it out."
    )


MechanismClass = TypeVar("MechanismClass", bound=type[Mechanism])

HOMES = {
    "newton": "newton.mechanism",
    "objective": "objective",
    "output": "output",
    "selected": "selected",
}
"""Modules of this folder that register a mechanism to choose, imported when it is asked for."""

_REGISTRY: dict[str, type[Mechanism]] = {}
_UNLISTED: dict[str, type[Mechanism]] = {}

_DROPPED: Mapping[str, Json] = {"variant": "corrected"}
"""Settings of version 0.1.0 that every release may still have; other values are not read."""


def register(mechanism: MechanismClass) -> MechanismClass:
    """Class decorator: register the mechanism by its `name`, also for the contract suite."""
    if mechanism.name in {*_REGISTRY, *_UNLISTED}:
        raise SettingsError(f"a mechanism named {mechanism.name} is registered already")
    _REGISTRY[mechanism.name] = mechanism
    return mechanism


def register_unlisted(mechanism: MechanismClass) -> MechanismClass:
    """Class decorator: register a mechanism that is not listed among the choices."""
    _UNLISTED[mechanism.name] = _REGISTRY.pop(register(mechanism).name)
    return mechanism


def registered() -> Mapping[str, type[Mechanism]]:
    """Return the mechanisms to choose from, by name."""
    return MappingProxyType({name: get_mechanism(name) for name in (*HOMES, *_REGISTRY)})


def get_mechanism(name: str) -> type[Mechanism]:
    """Return the mechanism class of that name."""
    if name in HOMES:
        import_module(f"discreet.mechanisms.{HOMES[name]}")
    kind = _REGISTRY.get(name) or _UNLISTED.get(name)
    if kind is None:
        known = ", ".join(sorted({*HOMES, *_REGISTRY}))
        raise SettingsError(f"there is no mechanism of that name; known mechanisms: {known}.")
    return kind


def settings_of(mechanism: Mechanism) -> dict[str, Json]:
    """Return the settings as a JSON mapping, `name` included; tuples become lists."""
    values = asdict(mechanism)  # type: ignore[call-overload]  # every mechanism is a dataclass
    plain = {key: _plain(value) for key, value in values.items()}
    return {"name": mechanism.name, **plain}


def mechanism_from_settings(mapping: Mapping[str, Json]) -> Mechanism:
    """Return the mechanism that `settings_of` described; unknown or missing keys are errors."""
    name = mapping.get("name")
    if not isinstance(name, str):
        raise SettingsError("mechanism settings need a name")
    mechanism = get_mechanism(name)
    known = {item.name for item in fields(mechanism)}  # type: ignore[arg-type]
    given = {key: value for key, value in mapping.items() if key != "name"}
    if given.keys() - known == _DROPPED.keys() and given.items() >= _DROPPED.items():
        given = {key: value for key, value in given.items() if key not in _DROPPED}
    if given.keys() != known:
        raise SettingsError(f"settings of the mechanism {name} must be exactly those it declares")
    build: Callable[..., Mechanism] = mechanism
    return build(**{key: _frozen(value) for key, value in given.items()})


def require_positive(name: str, value: float) -> None:
    """Raise `SettingsError` unless the setting is a positive number within the limits."""
    if not is_number(value) or not SMALLEST_SETTING <= value <= LARGEST_SETTING:
        limits = f"{SMALLEST_SETTING:g} to {LARGEST_SETTING:g}"
        raise SettingsError(f"{name} must be given as a finite number greater than 0 ({limits})")


def _plain(value: Json) -> Json:
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def _frozen(value: Json) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value

"""What is audited, and how long."""

from dataclasses import dataclass, fields
from typing import Any

from discreet.errors import SettingsError
from discreet.mechanisms import Mechanism, get_mechanism


@dataclass(frozen=True)
class Effort:
    """How many pairs, fits and draws; `full` takes minutes, `quick` seconds."""

    pairs: int
    fits: int
    slow_fits: int
    draws: int
    attacks: int

    @classmethod
    def full(cls) -> "Effort":
        """The counts of the published audit."""
        return cls(pairs=1000, fits=13_000, slow_fits=1000, draws=20_000, attacks=200_000)

    @classmethod
    def quick(cls) -> "Effort":
        """Enough to notice a broken constant."""
        return cls(pairs=24, fits=200, slow_fits=100, draws=5000, attacks=400)


@dataclass(frozen=True)
class Subject:
    """A registered mechanism under its claimed epsilon and, where it has one, delta."""

    name: str
    epsilon: float = 1.0
    delta: float | None = None

    def __post_init__(self) -> None:
        """Refuse a delta that the mechanism does not have, and settings that mean nothing."""
        if self.delta is not None and not self.has("delta"):
            raise SettingsError(f"the mechanism {self.name} has no delta; leave it out.")
        self.mechanism()

    def has(self, setting: str) -> bool:
        """Whether the mechanism has this setting."""
        kind: Any = get_mechanism(self.name)
        return setting in {item.name for item in fields(kind)}

    def mechanism(self, epsilon: float | None = None, **settings: Any) -> Mechanism:
        """The mechanism, by default with the claimed epsilon and its own defaults."""
        kind: Any = get_mechanism(self.name)
        if self.delta is not None:
            settings["delta"] = self.delta
        built: Mechanism = kind(epsilon=self.epsilon if epsilon is None else epsilon, **settings)
        return built

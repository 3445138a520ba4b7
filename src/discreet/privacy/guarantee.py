"""The guarantee of a release, as frozen data.

    epsilon-DP               delta = 0, no rho
    Gaussian noise           rho given, `gaussian`; (epsilon, delta) is one point of its curve
    rho-zCDP                 rho given; (epsilon, delta) is one point of a curve above that one

All three hold for two neighbouring data sets D, D' and every set S of outcomes:
P(M(D) in S) <= exp(epsilon) P(M(D') in S) + delta.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any, Literal, Self, get_args

from discreet.errors import ArtefactError, SettingsError
from discreet.privacy.scales import exact, is_number, require_choice

Relation = Literal["replace-one", "add-remove"]
Unit = Literal["person"]
Status = Literal["proved", "conditional", "ideal-draw-only", "unproved"]
"""From best to worst: the guarantee holds for the draw that was made; for it, under an assumption that
is tested and not proved; for a perfect draw; not at all."""

ASSUMPTION = (
    "The proof assumes that floating-point gradients are as exact as its page says and that the"
    " solver reaches its certificate on every data set: both are tested, neither is proved."
)
"""The assumptions of a conditional promise: A3 and A4 of docs/proofs/output-perturbation.md."""

USUAL_DELTA = 1e-6
WEAK_EPSILON = 8.0
"""From here on the factor exceeds 2,900 and the sentence says that the protection is weak."""


@dataclass(frozen=True)
class Guarantee:
    """A differential privacy guarantee for one release (or for several, composed).

    The numbers are decimals: epsilon = 0.1 promises one tenth.
    """

    epsilon: float
    delta: float = 0.0
    rho: float | None = None
    relation: Relation = "replace-one"
    unit: Unit = "person"
    status: Status = "proved"
    gaussian: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "delta", checked_delta(self.delta))
        if self.rho is not None:
            object.__setattr__(self, "rho", checked_epsilon(self.rho, "rho"))
            if self.delta == 0:
                raise SettingsError("a guarantee with rho needs a delta greater than 0")
        elif self.gaussian or self.delta > 0:
            raise SettingsError(
                f"a guarantee {'of Gaussian noise' if self.gaussian else 'with delta'} needs a rho"
            )
        require_choice("gaussian", self.gaussian, (False, True))
        require_choice("relation", self.relation, get_args(Relation))
        require_choice("unit", self.unit, get_args(Unit))
        require_choice("status", self.status, get_args(Status))

    @property
    def kind(self) -> Literal["pure", "gaussian", "zcdp"]:
        """The law that an accountant composes the guarantee by; `zcdp` are mixtures, and rho in 0.1."""
        if self.rho is None:
            return "pure"
        return "gaussian" if self.gaussian else "zcdp"

    @property
    def exact_epsilon(self) -> Fraction:
        """Epsilon as a decimal number."""
        return exact(self.epsilon)

    @property
    def exact_rho(self) -> Fraction:
        """Rho as a decimal number; zero if the guarantee has none."""
        return exact(self.rho or 0)

    def to_mapping(self) -> dict[str, Any]:
        """Return the guarantee as a JSON object; `gaussian` is a key only if it is true."""
        mapping = asdict(self)
        return mapping if self.gaussian else {k: v for k, v in mapping.items() if k != "gaussian"}

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Read the guarantee that `to_mapping` wrote; raise `ArtefactError` for anything else."""
        if {*mapping, "gaussian"} != {field.name for field in fields(cls)}:
            raise ArtefactError("a guarantee has exactly the keys that this version writes")
        try:
            return cls(**mapping)
        except SettingsError as error:
            raise ArtefactError(f"the guarantee is not valid: {error}") from None

    def sentence(self) -> str:
        """Return the promise in words for readers who are not experts."""
        if self.status == "unproved":
            return _NO_PROMISE.format(epsilon=f"{self.epsilon:g}")
        factor = (
            "what can be concluded from this release may become thousands of times as probable or"
            " more: the protection is weak"
        )
        bet = ""
        if self.epsilon <= WEAK_EPSILON:
            factor = (
                "whatever can be concluded from this release would be concluded with nearly the same"
                f" probability: at most {math.exp(self.epsilon):.3g} times and at least"
                f" {math.exp(-self.epsilon):.3g} times as high"
            )
            chance = 100 * math.exp(self.epsilon) / (1 + math.exp(self.epsilon))
            bet = (
                f"{_BET} can become at most {chance:.0f}% sure of it because this person took part."
            )
        exception = (
            f", apart from an exception of probability at most {self.delta:g} (delta)"
            if self.delta
            else ""
        )
        promise = (
            f"If {_CHANGES[self.relation]}, then {factor} (epsilon = {self.epsilon:g}){exception}."
        )
        status = {"proved": "", "conditional": ASSUMPTION}.get(self.status, _PERFECT_DRAW)
        return " ".join(part for part in (promise, bet, _REACH, status) if part)

    def is_said_by(self, text: str) -> bool:
        """Whether the text is this promise in words, of this version or of 0.1 and 0.2."""
        return text in {self.sentence(), self.sentence().replace(_BET, _EARLIER_BET)}


def checked_epsilon(epsilon: float, name: str = "epsilon") -> float:
    """Return epsilon, or another number above 0, as a float, or raise a `SettingsError`."""
    if not is_number(epsilon) or not epsilon > 0:
        raise SettingsError(f"{name} must be a finite number greater than 0")
    return float(epsilon)


def delta_for(persons: int, asked: float | None) -> float:
    """Return the delta that was asked for; by default 1e-6, or 1/(10 n) if that is smaller."""
    return min(USUAL_DELTA, 1.0 / (10 * persons)) if asked is None else float(asked)


def checked_delta(delta: float) -> float:
    """Return delta as a float in [0, 1), or raise a `SettingsError`."""
    if not is_number(delta) or not 0 <= delta < 1:
        raise SettingsError("delta must be a number of at least 0 and less than 1")
    return float(delta)


def require_small_delta(delta: float, persons: int) -> None:
    """Raise `SettingsError` for a delta that would let a whole record be published."""
    if delta * persons > 1:
        raise SettingsError(
            f"{WEAK_DELTA} Leave delta out, or ask for much less than {1.0 / persons:.2g}."
        )


WEAK_DELTA = (
    "Delta is above one divided by the number of persons: the promise would allow the whole record of "
    "a person to be published."
)
_CHANGES = {
    "replace-one": "the records of any one person were replaced by those of somebody else"
    " (the number of persons is public)",
    "add-remove": "any one person were left out of the data or added to it",
}


_REACH = (
    "This holds whatever the reader already knows, also about everybody else in the data, and it"
    " cannot be undone by any later computation."
)


_BET = "A reader who held a fact about one person to be as likely true as false"
_EARLIER_BET = "Somebody for whom a fact about one person was an even bet"
_NO_PROMISE = (
    "Nothing is promised. The algorithm is the one printed in a paper, meant for"
    " epsilon = {epsilon}; its proof has errors, so no protection of anybody in the data is proved."
)


_PERFECT_DRAW = (
    "The promise is proved for a perfect draw only; this release was made by a sampler that"
    " approximates one, so how far it holds is not proved."
)

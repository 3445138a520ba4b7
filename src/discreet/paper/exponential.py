"""The paper's sampling mechanism: one draw from a posterior whose losses are bounded by tanh.

    density(f) proportional to prior(f) exp(-a sum_i C_v(loss_i(f))),   C_v(l) = v tanh(l/v),
    a = epsilon/(2v) under replace-one, epsilon/v under add-remove.

An exact draw is epsilon-DP and epsilon^2/8-zCDP; a pSGLD chain stands in for it, so the status is
`ideal-draw-only`. Proof: `docs/proofs/sanitized-exponential.md`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.mechanisms.contract import (
    NOT_GIVEN,
    Draw,
    Facts,
    Mechanism,
    Plan,
    register_unlisted,
    require_positive,
)
from discreet.paper.kernel import SanitizedRecords, run_records
from discreet.paper.sampler import KEY_BITS, PSGLD, StochasticDensity
from discreet.privacy.guarantee import Guarantee, Relation
from discreet.privacy.scales import NoiseGrid, require_choice
from discreet.types import Array
from discreet.watch import watcher

if TYPE_CHECKING:
    from discreet.design.design import Coordinates
    from discreet.likelihood.problem import Problem
    from discreet.mechanisms.outlook import Outlook
    from discreet.privacy.noise import NoiseSource

Prior = Literal["normal", "uniform"]

GRID_EXPONENT = -30
LARGEST = 2.0**40
"""A chain that leaves this ball has diverged; its release is the public 0."""


@register_unlisted
@dataclass(frozen=True)
class SanitizedExponential(Mechanism):
    """epsilon-DP for an exact draw; a Markov chain approximates one.

    v: bound of a person's loss, None is 2 log n. prior: None or "normal" is the normal prior of
    precision a sigma, "uniform" is uniform on the ball |f| <= radius in internal coordinates.
    sigma: None is the paper's 10^-2/a. sampler: the chain; `PSGLD(variant="printed")` samples at
    twice the epsilon and is charged that.
    """

    epsilon: float = NOT_GIVEN
    v: float | None = None
    prior: Prior | None = None
    sigma: float | None = None
    radius: float = 64.0
    relation: Relation = "replace-one"
    sampler: PSGLD = field(default_factory=PSGLD)
    name: ClassVar[str] = "sampler"
    proof: ClassVar[str] = "sanitized-exponential"
    needs_memory: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the settings; a sampler read from JSON comes as a mapping."""
        require_positive("epsilon", self.epsilon)
        require_positive("v", 1.0 if self.v is None else self.v)
        require_positive("sigma", 1.0 if self.sigma is None else self.sigma)
        require_positive("radius", self.radius)
        require_choice("prior", self.prior or "normal", get_args(Prior))
        require_choice("relation", self.relation, get_args(Relation))
        if self.relation == "add-remove" and self.v is None:
            raise SettingsError("under add-remove v must be given: its default reveals n")
        if isinstance(self.sampler, Mapping):
            # before 0.3 several chains could run side by side, of which the first was released
            given = {key: value for key, value in self.sampler.items() if key != "chains"}
            try:
                object.__setattr__(self, "sampler", PSGLD(**given))
            except TypeError:  # another key, or a value that is not a number
                raise SettingsError(
                    "the settings of the sampler are not those it declares"
                ) from None
        if not isinstance(self.sampler, PSGLD):
            raise SettingsError("sampler must be a PSGLD")

    @property
    def coordinates(self) -> "Coordinates":
        """The paper's basis for the printed chain, an orthonormal one for the corrected."""
        return "paper" if self.sampler.variant == "printed" else "orthonormal"

    def promise(self, persons: int) -> Guarantee:  # noqa: ARG002 - the same for every n
        """Return epsilon-DP of an exact draw; the printed chain is charged twice its epsilon."""
        charged = self.epsilon * (2.0 if self.sampler.variant == "printed" else 1.0)
        return Guarantee(charged, relation=self.relation, status="ideal-draw-only")

    def plan(self, facts: Facts) -> Plan:
        """Return the bound, the scale of the energy and the guarantee, from public facts only."""
        bound = 2.0 * math.log(max(facts.persons, 2)) if self.v is None else float(self.v)
        scale = self.epsilon / (2.0 * bound if self.relation == "replace-one" else bound)
        precision = 1e-2 if self.sigma is None else scale * self.sigma
        _ = facts.design.covariates  # a schema without bounds is refused here
        details = {
            "bound": bound,
            "energy_scale": scale,
            "prior_precision": 0.0 if self.prior == "uniform" else precision,
            "rho_of_an_exact_draw": self.promise(facts.persons).epsilon ** 2 / 8.0,
        }
        return self.planned(facts, 1.0 / math.sqrt(scale), GRID_EXPONENT, details)

    def draw(self, plan: Plan, problem: "Problem", noise: "NoiseSource") -> Draw:
        """Return the last state of a chain, on the grid; the public 0 if the chain diverged."""
        density = self.density(plan, sanitized_records(problem, plan.number("bound")))
        chain, watch = self.sampler.start(density, fresh_key(noise)), watcher()
        watch.begin(self.sampler.epochs * density.terms)
        for _ in chain.epochs(self.sampler.epochs, kept=1):
            watch.advance(density.terms)
        size = float(np.linalg.norm(chain.point))  # infinite or NaN if any coordinate is
        point = chain.point if size <= LARGEST else np.zeros_like(chain.point)
        integers = NoiseGrid(GRID_EXPONENT).to_integers(point)
        return Draw.from_integers(integers, GRID_EXPONENT, private=noise.private)

    def variance(self, plan: Plan, outlook: "Outlook") -> Array:
        """Return (a H + prior)^-1, the covariance of a draw from the posterior tempered by a."""
        prior = plan.number("prior_precision") * np.eye(plan.dimension)
        bend = plan.number("energy_scale") * outlook.information + prior
        return np.asarray(np.linalg.inv(bend), dtype=np.float64)

    def density(self, plan: Plan, records: SanitizedRecords) -> StochasticDensity:
        """Return the chain's density; each has its own scratch space, for one thread."""
        return StochasticDensity(
            run=run_records,
            context=records.context(),
            terms=records.persons,
            dimension=plan.dimension,
            scale=plan.number("energy_scale"),
            precision=plan.number("prior_precision"),
            radius=self.radius if self.prior == "uniform" else math.inf,
        )


def sanitized_records(problem: "Problem", bound: float) -> SanitizedRecords:
    """Return the records of the persons behind a fit's total loss."""
    engine = problem.engine
    if not isinstance(engine, LocalEngine):
        raise SettingsError("the sampler needs all persons in the memory of one process")
    return SanitizedRecords(engine.episodes, problem.design, problem.link, bound)


def fresh_key(noise: "NoiseSource") -> int:
    """Return 256 bits for a chain's generator; 0, which it cannot have, becomes 1."""
    return max(noise.uniform_bits(KEY_BITS), 1)

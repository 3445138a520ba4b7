"""A fit of competing risks that is not private: each cause on its conditional likelihood.

The score of cause r in an interval that ends without an event is -a_r z, a_r = d/d eta of
-log(1 - h_r); in one that ends in cause r it is the binary model's; in one that ends in another cause
it is 0. So estimates of two causes are correlated only through intervals without an event,

    Cov(f_r, f_k) = I_r^-1 M_rk I_k^-1,    M_rk = sum P(none) a_r a_k z z',

and intervals of incidence use this joint covariance.

Reference: Begg and Gray (1984), Biometrika 71, 11-18.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.design.baseline import Baseline
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.design.schema import Schema
from discreet.documents.causes import CausesModel
from discreet.documents.model import to_triangle
from discreet.engine.engine import Arrays, BlockFunction, Engine
from discreet.estimate import Information, estimate, information_at, plain_model
from discreet.likelihood.problem import Problem
from discreet.people.episodes import Episodes
from discreet.types import Array


@dataclass(frozen=True, eq=False)
class CauseEngine:
    """The people as one cause sees them, wherever they are."""

    engine: Engine
    cause: int

    @property
    def persons(self) -> int:
        """n."""
        return self.engine.persons

    def reduce(self, function: BlockFunction, *arguments: Any) -> Arrays:
        """The sum over blocks in which other causes' intervals do not count."""
        return self.engine.reduce(partial(_of_cause, self.cause, function), *arguments)

    def sample(self) -> "CauseEngine":
        """An engine over a part of the people."""
        part = self.engine.sample()
        return self if part is self.engine else CauseEngine(part, self.cause)


def _of_cause(cause: int, function: BlockFunction, block: Episodes, *arguments: Any) -> Arrays:
    return function(block.of_cause(cause), *arguments)


def fit_causes(  # noqa: PLR0913 - the settings of a fit
    engine: Engine,
    schema: Schema,
    baseline: Baseline,
    link: Link,
    *,
    solver: str,
    ridge: float,
    tolerance: float,
    information: Information,
) -> CausesModel:
    """Estimate every cause and their joint covariance."""
    causes = schema.time.causes or {}
    problems = [
        Problem(CauseEngine(engine, place), Design(schema.of_cause(name), baseline), link)
        for place, name in enumerate(causes, start=1)
    ]
    found = [
        estimate(problem, ridge=ridge, solver=solver, tolerance=tolerance) for problem in problems
    ]
    parts = [
        plain_model(problem, item, solver, information)
        for problem, item in zip(problems, found, strict=True)
    ]
    # the joint covariance, in internal coordinates, one cause after the other; M from a sample
    points = [item.point for item in found]
    inverses = [
        np.linalg.pinv(information_at(problem, item, information))
        for problem, item in zip(problems, found, strict=True)
    ]
    sample, design = engine.sample(), problems[0].design
    (middle,) = sample.reduce(block_products, design, points, link)
    scale = engine.persons / max(sample.persons, 1)
    joint = np.block(
        [
            [
                inverse if r == k else inverse @ (scale * middle[r, k]) @ inverses[k]
                for k in range(len(points))
            ]
            for r, inverse in enumerate(inverses)
        ]
    )
    facts = CausesModel.joined(schema, dict(zip(causes, map(vars, parts), strict=True)))
    return CausesModel.model_validate(
        {**facts, "private": False, "joint_covariance": to_triangle(joint)}
    )


def block_products(
    block: Episodes, design: Design, points: list[Array], link: Link
) -> tuple[Array]:
    """M_rk = sum over people and intervals of P(none) a_r a_k z z', shape (R, R, d, d)."""
    basis, number = design.basis, len(points)
    time = basis.shape[1]
    middle = np.zeros((number, number, design.dimension, design.dimension))
    for step, row in enumerate(basis, start=1):
        places = design.in_force(0, design.periods.of_interval[step - 1])
        here = np.flatnonzero((block.entry < step) & (step <= block.exit))
        x, own = block.covariates[here], [point[places] for point in points]
        eta = [x @ point[time:] + row @ point[:time] for point in own]
        slopes = [link.survival_loss_derivative(value) for value in eta]
        odds = [np.expm1(np.minimum(link.survival_loss(value), 700.0)) for value in eta]
        staying = 1.0 / (1.0 + np.add.reduce(odds))
        vectors = np.hstack([np.tile(row, (len(here), 1)), x])
        for r in range(number):
            for k in range(r):
                product = (vectors * (staying * slopes[r] * slopes[k])[:, None]).T @ vectors
                middle[r, k][np.ix_(places, places)] += product
                middle[k, r][np.ix_(places, places)] += product
    return (middle,)

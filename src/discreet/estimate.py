"""Maximum likelihood, and what to do where there is no maximum.

    mean loss(f) = (1/n) sum_i loss_i(f) + ridge/2 |f|^2        (internal coordinates)

The start is the pooled hazard, g(events / intervals at risk) on the constant and beta = 0.  Where
no maximum exists (no events, separation) or it is not unique (collinear columns) the Newton step
does not die out: the data do not determine f along it.  Then a small, stated ridge is added, which
makes the answer finite and unique, and a warning names the coefficients.

Of competing risks each cause is estimated on its conditional likelihood. The score of cause r in an interval
that ends without an event is -a_r z, a_r = d/d eta of -log(1 - h_r); in one that ends in cause r it is the
binary model's; in one that ends in another cause it is 0. So estimates of two causes are correlated only
through intervals without an event,

    Cov(f_r, f_k) = I_r^-1 M_rk I_k^-1,    M_rk = sum P(none) a_r a_k z z',

and intervals of incidence use this joint covariance.

References: Albert and Anderson (1984), on the existence of maximum likelihood estimates; Begg and Gray (1984),
Biometrika 71, 11-18, on competing risks.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg

from discreet.design.baseline import Baseline, NaturalSpline, PiecewiseConstant, Stepped
from discreet.design.design import Design
from discreet.design.link import Link
from discreet.design.schema import Schema
from discreet.documents.causes import CausesModel
from discreet.documents.model import Coefficients, FitRecord, PlainModel, Uncertainty, to_triangle
from discreet.engine.engine import Arrays, BlockFunction, Engine
from discreet.errors import DataFormError, warn
from discreet.likelihood.problem import Problem, block_strata
from discreet.people.episodes import Episodes
from discreet.results.normal import standard_errors
from discreet.results.summary import MOST_COVARIANCE, user_covariance
from discreet.results.survival import Curves
from discreet.solve import Evaluation, Solution, minimise
from discreet.text import with_unit
from discreet.types import Array
from discreet.warnings import SeparationWarning

# Ridge on the total (not mean) loss where the data alone determine no answer: with covariates
# in the unit ball this is a prior of standard deviation 30 on each coefficient.
RESCUE_RIDGE = 1e-3
# A maximum is found when one more Newton step would move f by less than this part of its size.
SETTLED_STEP = 1e-6
MOST_STEPS = 100
SAMPLE_STEPS = 12
FINER = (NaturalSpline(5), NaturalSpline(9), PiecewiseConstant(12))
"""Baselines that a plain fit compares its own with."""
CLEARLY_BETTER = 10.0
MOST_COMPARED = 50_000
"""Rows of several a person, of which no sample is taken; more would make a plain fit slow."""
# The gradient of a sample of 6,000 differs from that of all by more than this anyway.
SAMPLE_TOLERANCE = 3e-3
UNKNOWN = 10.0
"""A standard error of the baseline's predictor above it leaves a hazard open by a factor of e^20 each way."""


@dataclass(frozen=True)
class MeanLoss:
    """The total loss divided by n, plus ridge/2 |f|^2: its scale does not grow with the data."""

    total: Problem
    ridge: float = 0.0

    def __call__(self, f: Array) -> Evaluation:
        """Value, gradient and Hessian at f."""
        inner, persons = self.total(f), max(self.total.persons, 1)
        return Evaluation(
            inner.value / persons + 0.5 * self.ridge * float(f @ f),
            inner.gradient / persons + self.ridge * f,
            inner.hessian / persons + self.ridge * np.eye(len(f)),
        )


class FitCounts(NamedTuple):
    """Counts of the data."""

    events: int
    intervals_at_risk: int
    rows: int


@dataclass(frozen=True)
class PlainEstimate:
    """The estimate in internal coordinates, with the ridge that it took and why."""

    solution: Solution
    ridge: float
    counts: FitCounts
    notes: tuple[str, ...] = ()

    @property
    def point(self) -> Array:
        """f."""
        return self.solution.point


def estimate(
    total: Problem, *, ridge: float = 0.0, solver: str = "newton", tolerance: float = 1e-10
) -> PlainEstimate:
    """Minimise the mean loss to the given gradient norm."""
    declared = total.design.schema.strata
    if declared is not None:  # each needs people: it has a baseline of its own
        (sizes,) = total.engine.reduce(block_strata, total.design.strata)
        empty = [level for level, size in zip(declared.levels, sizes, strict=True) if not size]
        if empty:
            raise DataFormError(
                f"no person at risk is in stratum '{empty[0]}' of '{declared.name}'; remove the level, or "
                "join it with another."
            )
    counts = FitCounts(*total.totals())
    start = starting_point(total.design, total.link, counts.events, counts.intervals_at_risk)
    if counts.events in {0, counts.intervals_at_risk} and ridge == 0.0:
        reason = _ONE_SIDED[counts.events > 0]
        return _rescue(total, start, counts, reason, solver, tolerance)
    start = _near(total, ridge, start)
    solution = minimise(
        MeanLoss(total, ridge), start, method=solver, tolerance=tolerance, limit=MOST_STEPS
    )
    if ridge == 0.0 and not _settled(solution):
        solution = minimise(
            MeanLoss(total), solution.point, tolerance=tolerance * 1e-4, limit=MOST_STEPS
        )
        if not _settled(solution):
            reason = _undetermined(MeanLoss(total)(start), solution.evaluation, total.design)
            return _rescue(total, start, counts, reason, solver, tolerance)
    notes = () if ridge else hardly_known(total, solution)
    if solution.gradient_norm > tolerance:
        reached = f"{solution.gradient_norm:.2g}, above the tolerance of {tolerance:.2g}"
        notes = (f"The solver stopped at a gradient norm of {reached}.", *notes)
    return PlainEstimate(solution, ridge, counts, notes)


def hardly_known(total: Problem, found: Solution) -> tuple[str, ...]:
    """A note where the data say next to nothing about a baseline that has a maximum all the same.

    With effects held fixed the predictor B_s a of a stratum has the variance B_s' (n H_aa)^{-1} B_s: a
    spline goes on beyond the last event, where no person bounds its coefficients.
    """
    design, grid = total.design, total.design.schema.time.grid
    information = found.evaluation.hessian * total.persons
    unknown = np.zeros(design.intervals, dtype=np.bool_)
    for stratum in range(design.strata):
        own = design.columns(stratum)[: design.baseline.dimension]
        spread = np.linalg.inv(information[np.ix_(own, own)])
        unknown |= np.einsum("si,ij,sj->s", design.basis, spread, design.basis) > UNKNOWN**2
    if not unknown.any():
        return ()
    first, last = np.flatnonzero(unknown)[[0, -1]]
    counted = with_unit(f"{grid.edges[last + 1]:.4g}", grid.unit)
    note = (
        f"The data say next to nothing about the baseline between {grid.edges[first]:.4g} and {counted}, "
        "where few people are at risk or no event comes: its coefficients, however large, and curves "
        "there mean nothing. An earlier horizon or a simpler baseline avoids it."
    )
    return (note,)


def _near(total: Problem, ridge: float, start: Array) -> Array:
    """The estimate of a small part of the people: a few steps there save passes over all.

    Strata have one baseline there: the part is too small for many.
    """
    sample, design = total.engine.sample(), total.design
    if sample is total.engine:
        return start
    part = MeanLoss(Problem(sample, design.without_strata(), total.link), ridge)
    begin = start[design.columns(0)]
    found = minimise(part, begin, tolerance=SAMPLE_TOLERANCE, limit=SAMPLE_STEPS)
    # a part may be separated where the whole is not: then its estimate does not help
    if not found.converged:
        return start
    point = np.empty_like(start)
    for stratum in range(design.strata):
        point[design.columns(stratum)] = found.point
    return point


def starting_point(design: Design, link: Link, events: int, at_risk: int) -> Array:
    """The pooled hazard on the constant, beta = 0."""
    pooled = min(max(events, 0.5) / max(at_risk, 1), 0.9)
    size = design.baseline.dimension
    constant = link.predictor(pooled) * design.baseline.constant
    point = np.zeros(design.dimension)
    each = np.linalg.solve(design.to_user[:size, :size], constant)
    point[: design.time_dimension] = np.tile(each, design.strata)
    return point


def _rescue(
    total: Problem, start: Array, counts: FitCounts, reason: str, solver: str, tolerance: float
) -> PlainEstimate:
    """Fit again with the small ridge, and say so."""
    ridge = RESCUE_RIDGE / max(total.persons, 1)
    loss = MeanLoss(total, ridge)
    solution = minimise(loss, start, method=solver, tolerance=tolerance, limit=MOST_STEPS)
    note = (
        f"The data alone determine no finite, unique estimate: {reason}. A ridge of {ridge:.3g} "
        "on the mean loss (in the internal coordinates) makes the numbers finite; do not interpret "
        "those coefficients or their standard errors."
    )
    warn(note, SeparationWarning)
    return PlainEstimate(solution, ridge, counts, notes=(note,))


def _settled(solution: Solution) -> bool:
    """Whether one more Newton step would move f by next to nothing."""
    step = _newton_step(solution.evaluation)
    if step is None:
        return False
    size = max(1.0, float(np.linalg.norm(solution.point)))
    return float(np.linalg.norm(step)) <= SETTLED_STEP * size


def _newton_step(here: Evaluation) -> Array | None:
    """H^{-1} g, or None where H is singular to rounding (unit-diagonal, so scales do not count)."""
    diagonal = np.diag(here.hessian)
    if not np.all(np.isfinite(here.hessian)) or np.any(diagonal <= 0):
        return None
    scale = 1.0 / np.sqrt(diagonal)
    values, vectors = linalg.eigh(here.hessian * np.outer(scale, scale))
    if values[0] <= len(values) * 1e-13:
        return None
    return np.asarray(scale * (vectors @ ((vectors.T @ (scale * here.gradient)) / values)))


_ONE_SIDED = {
    False: "there are no events, so every hazard would be estimated as 0",
    True: "every interval at risk ends with an event, so every hazard would be estimated as 1",
}


def _undetermined(first: Evaluation, last: Evaluation, design: Design) -> str:
    """Name the coefficients along which the likelihood is flat, from the start or in the end."""
    still = _newton_step(first) is None
    here = first if still else last
    values, vectors = linalg.eigh(here.hessian)
    flat = vectors[:, values <= max(values[-1] * 1e-12, values[0] * 10)]
    share = np.abs(flat).max(axis=1)[design.time_dimension :]
    names = zip(design.schema.coefficient_names, share, strict=True)
    named = [name for name, weight in names if weight > 0.1]
    where = ", ".join(f"'{name}'" for name in named[:5]) or "the baseline"
    more = " and others" if len(named) > 5 else ""
    why = (
        "does not change (columns that repeat each other or never vary, or a stretch of time in which "
        "no person is at risk)"
        if still
        else "keeps growing without end (separation: events on one side only, or a stretch of time "
        "without events)"
    )
    return f"along {where}{more} the likelihood {why}"


def compare_baselines(total: Problem, found: PlainEstimate) -> tuple[str, ...]:
    """A note where another baseline follows the times clearly better, on a sample of the people.

    Twelve pieces have the events of the life table in each stretch, and nine knots nearly so.  The
    baselines are compared by BIC, 2 loss + d log(events); a difference above 10 is very strong
    evidence.  Effects that change are one for all time here, and the baselines keep their steps: the
    form of the baseline is compared, at the cost of a fit in which nothing changes.  References: Kass
    and Raftery (1995); Volinsky and Raftery (2000) on censored times.
    """
    sample, own = total.engine.sample(), total.design
    schema, ends = own.schema.lasting, own.periods.ends[1:-1]
    whole = sample is total.engine and found.counts.rows > MOST_COMPARED
    if found.ridge > 0.0 or whole:
        return ()
    events, at_risk, _ = Problem(sample, own, total.link).totals()
    tried = {item.spelling: item for item in (own.declared, *FINER)}
    values, curves = {}, {}
    for name, baseline in tried.items():
        if baseline.dimension > own.basis.shape[0]:
            continue
        stepped = Stepped.of(baseline, own.intervals, ends) if ends else baseline
        problem = Problem(sample, Design(schema, stepped, own.coordinates), total.link)
        start = starting_point(problem.design, total.link, events, at_risk)
        solution = minimise(MeanLoss(problem), start, tolerance=1e-6, limit=MOST_STEPS)
        if solution.converged:
            loss = solution.evaluation.value * sample.persons
            values[name] = 2.0 * loss + problem.dimension * math.log(max(events, 1))
            curves[name] = Curves.of(problem.design, total.link, solution.point)
    mine = own.baseline.spelling
    best = min(values, key=lambda name: values[name], default=mine)
    if mine not in values or values[mine] - values[best] <= CLEARLY_BETTER:
        return ()
    middle = np.zeros(own.covariates.dimension)  # of all covariates' ranges
    times = [own.schema.time.zero + part * own.schema.time.length for part in (0.25, 0.5, 1.0)]
    mine_there, best_there = (
        curves[name].survival(middle[None], times)[0] for name in (mine, best)
    )
    place = int(np.argmax(np.abs(mine_there - best_there)))
    when = with_unit(f"{times[place]:.4g}", own.schema.time.counted_in)
    note = (
        f"The baseline {mine} follows the times poorly: {best} fits clearly better (BIC "
        f"{values[mine] - values[best]:.0f} lower). In the middle of the covariates' ranges survival "
        f"at {when} is {mine_there[place]:.3f} by this fit and {best_there[place]:.3f} by that one. "
        f"Try baseline {best}."
    )
    return (note,)


Information = Literal["expected", "observed"]


def plain_model(
    total: Problem, found: PlainEstimate, solver: str, information: Information
) -> PlainModel:
    """The model file of a fit that is not private."""
    penalty = 0.5 * found.ridge * float(found.point @ found.point)
    mean = found.solution.evaluation.value - penalty
    covariance = user_covariance(information_at(total, found, information), total.design)
    return PlainModel.model_validate(
        {
            **PlainModel.shared_facts(total.design, total.link, found.point),
            "private": False,
            "fit": FitRecord(
                persons=total.persons,
                **found.counts._asdict(),
                log_likelihood=-mean * total.persons,
                ridge=found.ridge,
                solver=solver,
                gradient_norm=found.solution.gradient_norm,
                notes=found.notes,
            ),
            "uncertainty": Uncertainty(
                information=information,
                standard_errors=Coefficients.of(standard_errors(covariance), total.design),
                covariance=to_triangle(covariance) if total.dimension <= MOST_COVARIANCE else None,
            ),
        }
    )


def information_at(total: Problem, found: PlainEstimate, information: Information) -> Array:
    """Return the information at the estimate; a ridge counts as prior information."""
    if information == "observed":
        return found.solution.evaluation.hessian * total.persons
    ridge = found.ridge * total.persons
    return total.information(found.point) + ridge * np.eye(total.dimension)


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

"""Regression on competing risks: a fit per cause on its conditional likelihood, or one release of all.

The score of cause r in an interval that ends without an event is -a_r z, a_r = d/d eta of
-log(1 - h_r); in one that ends in cause r it is the binary model's; in one that ends in another cause
it is 0. So estimates of two causes are correlated only through intervals without an event,

    Cov(f_r, f_k) = I_r^-1 M_rk I_k^-1,    M_rk = sum P(none) a_r a_k z z',

and intervals of incidence use this joint covariance.

A release is by private Newton, which bounds the scores of all causes together
(docs/proofs/competing-risks.md); its joint covariance holds the privacy noise.

Reference: Begg and Gray (1984), Biometrika 71, 11-18.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from discreet.design.baseline import Baseline, NaturalSpline, parse_baseline
from discreet.design.design import Design
from discreet.design.link import DEFAULT_LINK, Link, get_link
from discreet.design.schema import Schema
from discreet.documents.causes import CausesCurves, CausesFile, CausesModel, CausesRelease
from discreet.documents.model import PlainModel, Saved
from discreet.engine.engine import Arrays, BlockFunction, Engine
from discreet.errors import SettingsError
from discreet.estimate import Estimate, estimate, plain_model
from discreet.fitted import FittedModel
from discreet.likelihood.problem import Problem
from discreet.mechanisms.contract import Draw, Plan
from discreet.people.episodes import Episodes
from discreet.people.source import People
from discreet.regression import as_schema, publish_order, require_mechanism, tell_repairs
from discreet.release import ModelOrder, new_release_id, simulate
from discreet.results.description import (
    NOT_PRIVATE,
    change_lines,
    reference_words,
    release_words,
    summarise,
)
from discreet.results.group_curves import NORMAL_POINT
from discreet.results.summary import CausesTable
from discreet.results.survival import Curves
from discreet.types import Array

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from discreet.joint import Federation
    from discreet.mechanisms.contract import Mechanism
    from discreet.release import Payer

NEWTON = "newton"
WITHOUT_STRATA = "strata do not go with causes yet; remove [strata] or causes."
STEP = 1e-4
"""Of numerical derivatives, in standard errors of each coefficient."""


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


@dataclass(frozen=True)
class Interval:
    """Estimates with 95 % limits, one row per person, one column per time."""

    estimate: Array
    lower: Array
    upper: Array


class CausesOrder(ModelOrder[CausesRelease]):
    """A model of all causes, released together."""

    def require_supported(self) -> None:
        """The proof is private Newton's, for one baseline per cause."""
        super().require_supported()
        if self.mechanism.name != NEWTON:
            raise SettingsError(
                "competing risks are released by private Newton alone: use the mechanism newton."
            )
        if self.schema.strata is not None:
            raise SettingsError(WITHOUT_STRATA)

    def plan(self, persons: int) -> Plan:
        """The mechanism's plan for n persons."""
        self.require_supported()
        return super().plan(persons)

    def compose(self, plan: Plan, draw: Draw, head: str) -> CausesRelease:
        """The document of all causes."""
        designs = {
            cause: Design(self.schema.of_cause(cause), self.baseline, self.mechanism.coordinates)
            for cause in self.schema.time.causes or {}
        }
        heading = CausesRelease.heading(self.schema)
        facts = CausesRelease.shared_facts(designs, self.link, draw.point)
        released = self.released_facts(plan, draw, head)
        return CausesRelease.model_validate({**heading, **facts, **released})


class CompetingRisks(Saved):
    """Discrete-time regression on competing risks, one set of effects per cause.

    `fit` estimates it without privacy and never spends; `publish` makes one private release of all
    causes under one (epsilon, delta), charged to a ledger.

    Parameters
    ----------
    schema
        The public schema with ``causes`` in ``[time]``.
    link
        logit (the multinomial logit), cloglog or probit.
    baseline
        Such as ``"natural-spline:3"``, the same kind for every cause.

    Attributes
    ----------
    model_
        What is saved: a `CausesModel` after `fit`, a `CausesRelease` after `publish`.
    release_
        After `publish`.

    Examples
    --------
    >>> model = ds.CompetingRisks("schema.toml")  # doctest: +SKIP
    >>> model.publish(
    ...     "registry.csv", mechanism=ds.PrivateNewton(epsilon=1), ledger="budget.db",
    ...     path="release.json",
    ... )  # doctest: +SKIP
    >>> model.predict_incidence("patients.csv", "cancer", [365, 1826])  # doctest: +SKIP
    """

    def __init__(
        self,
        schema: "Schema | str | PathLike[str] | Mapping[str, Any]",
        *,
        link: str | Link = DEFAULT_LINK,
        baseline: str | Baseline | None = None,
    ) -> None:
        self.schema = as_schema(schema)
        self.link = get_link(link)
        self.baseline = NaturalSpline(3) if baseline is None else parse_baseline(baseline)
        if self.schema.time.causes is None:
            raise SettingsError("key 'causes' in [time] is missing; a single risk needs none.")
        if self.schema.strata is not None:
            raise SettingsError(WITHOUT_STRATA)

    @classmethod
    def of(cls, found: CausesFile) -> Self:
        """A file's content, ready to predict.

        Parameters
        ----------
        found
            What was read: a `CausesModel` or a `CausesRelease`.
        """
        model = cls(found.public_schema, link=found.link, baseline=found.baseline)
        model.model_ = found
        if isinstance(found, CausesRelease):
            model.release_ = found
        return model

    def fit(self, data: Any) -> Self:
        """Estimate every cause; not private, and never charged to a ledger.

        Parameters
        ----------
        data
            A table or a file with the columns of the schema.
        """
        self.schema.require_bounds()
        source = People.of(data)
        repairs = source.repairs(self.schema) if source.in_memory else None  # else another pass
        engine = source.open(self.schema)
        causes = list(self.schema.time.causes or {})
        problems = [self._problem(engine, place, name) for place, name in enumerate(causes, 1)]
        found = [estimate(problem) for problem in problems]
        models = [
            plain_model(problem, item, "newton", "expected")
            for problem, item in zip(problems, found, strict=True)
        ]
        joint = _joint_covariance(engine, problems, found)
        tell_repairs(repairs)
        self.model_: CausesFile = _document(self.schema, causes, models, joint)
        return self

    def publish(  # noqa: PLR0913 - the terms of a release, each by name
        self,
        data: Any,
        *,
        mechanism: "Mechanism",
        ledger: "Payer | str | PathLike[str]",
        path: str | Path | None = None,
        persons: int | None = None,
        release_id: str | None = None,
        overwrite: bool = False,
        federation: "Federation | None" = None,
    ) -> Self:
        """Make one private release of all causes and charge it to a ledger; nothing is refunded.

        Parameters
        ----------
        data
            As in `fit`.
        mechanism
            ``ds.PrivateNewton(epsilon=1)``; no other has a proof for competing risks.
        ledger
            Who pays: the location of a ledger, a Ledger, or ``ds.NO_LEDGER``.
        path
            Where the release is written, before the ledger learns that it is settled.
        persons
            The number of persons, public under replace-one; counted if None.
        release_id
            The name of the release in the ledger; made up if None.
        overwrite
            Whether an existing file is replaced.
        federation
            The sites that make the release together.

        Returns
        -------
        CompetingRisks
            This object with the released numbers; ``release_`` is the document.

        Raises
        ------
        BudgetError
            The budget does not cover the release; nothing was charged, and at most n was read.
        InputError
            A setting, the schema or the form of the data is wrong.
        """
        self.release_ = publish_order(
            self._order(mechanism, persons=persons, release_id=release_id or new_release_id()),
            People.of(data),
            ledger=ledger,
            path=path,
            overwrite=overwrite,
            federation=federation,
        )
        self.model_ = self.release_
        return self

    def simulate(
        self, data: Any, *, mechanism: "Mechanism", seed: int, persons: int | None = None
    ) -> Self:
        """Draw what a release could look like, with noise that can be repeated: **not private**.

        Parameters
        ----------
        data, mechanism, persons
            As in `publish`.
        seed
            A whole number.
        """
        from discreet.privacy.testing import SeededNoise  # noqa: PLC0415 - loads the samplers

        order = self._order(mechanism, persons=persons)
        self.model_ = simulate(order, People.of(data), SeededNoise(seed))
        return self

    def _order(self, mechanism: "Mechanism", **terms: Any) -> CausesOrder:
        """What a release asks for; an error here comes before any data is read."""
        require_mechanism(mechanism)
        return CausesOrder(mechanism, self.schema, self.link, self.baseline, **terms)

    def _problem(self, engine: Engine, place: int, name: str) -> Problem:
        design = Design(self.schema.of_cause(name), self.baseline)
        return Problem(CauseEngine(engine, place), design, self.link)

    def predict_survival(
        self, data: Any, times: ArrayLike, *, interval: bool = False
    ) -> "Array | Interval":
        """Probability of no event of any cause by each time.

        Parameters
        ----------
        data
            New people, one row each.
        times
            In the unit of the schema.
        interval
            Whether 95 % limits are given, from the joint covariance of all causes.

        Returns
        -------
        numpy.ndarray or Interval
            One row per person, one column per time.
        """
        if interval:
            return survival_interval(self.model_, data, times)
        return predict_survival(self.model_, data, times)

    def predict_incidence(
        self, data: Any, cause: str, times: ArrayLike, *, interval: bool = False
    ) -> "Array | Interval":
        """Probability of an event of the cause by each time.

        Parameters
        ----------
        data
            New people, one row each.
        cause
            Its name in the schema.
        times
            Times on the schema's scale.
        interval
            Whether 95 % limits are given, from the joint covariance of all causes.
        """
        return predict_incidence(self.model_, data, cause, times, interval=interval)

    def summary(self, confidence: float = 0.95) -> CausesTable:
        """A table per cause, on the user's own scale.

        Parameters
        ----------
        confidence
            Level of the intervals.

        Returns
        -------
        CausesTable
            Prints as text; ``to_pandas()`` has a column ``cause``, ``tables`` a table for each.
        """
        return summarise_causes(self.model_, confidence)

    def of_cause(self, cause: str) -> FittedModel:
        """One cause's binary model, with `confint`, `vcov`, `tidy` and `wald_test`.

        Its survival is that of its own intervals alone, in which other causes censor.

        Parameters
        ----------
        cause
            Its name in the schema.
        """
        self.model_.number_of(cause)
        return FittedModel(self.model_.of_cause(cause))

    @property
    def _model(self) -> CausesFile:
        return self.model_


def _document(
    schema: Schema, causes: list[str], models: list[PlainModel], joint: Array
) -> CausesModel:
    by_name = dict(zip(causes, models, strict=True))
    rows = tuple(tuple(row[: k + 1].tolist()) for k, row in enumerate(joint))
    return CausesModel.model_validate(
        {
            **CausesModel.heading(schema),
            "private": False,
            "link": models[0].link,
            "baseline": models[0].baseline,
            "coefficients": {name: model.coefficients for name, model in by_name.items()},
            "internal": {name: model.internal for name, model in by_name.items()},
            "fit": {name: model.fit for name, model in by_name.items()},
            "uncertainty": {name: model.uncertainty for name, model in by_name.items()},
            "joint_covariance": rows,
        }
    )


def _joint_covariance(engine: Engine, problems: list[Problem], found: list[Estimate]) -> Array:
    """In internal coordinates, one cause after the other; the middle from a sample of the people."""
    points = [item.point for item in found]
    inverses = [
        np.linalg.pinv(problem.information(point))
        for problem, point in zip(problems, points, strict=True)
    ]
    sample, design = engine.sample(), problems[0].design
    (middle,) = sample.reduce(block_products, design, points, problems[0].link)
    scale = engine.persons / max(sample.persons, 1)
    rows = [
        [
            inverses[r] if r == k else inverses[r] @ (scale * middle[r, k]) @ inverses[k]
            for k in range(len(points))
        ]
        for r in range(len(points))
    ]
    return np.asarray(np.block(rows))


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


def _encoded(model: CausesFile, data: Any) -> Array:
    from discreet.people.encode import encode_covariates  # noqa: PLC0415 - loads pyarrow

    first = next(iter(model.models.values()))
    return encode_covariates(data, first.public_schema)


def predict_survival(model: CausesFile, data: Any, times: ArrayLike) -> Array:
    """Probability of no event of any cause by each time, one row per person."""
    return model.curves.survival(_encoded(model, data), times)


def predict_incidence(
    model: CausesFile, data: Any, cause: str, times: ArrayLike, *, interval: bool = False
) -> "Array | Interval":
    """Probability of an event of the cause by each time, with 95 % limits if asked for."""
    if interval:
        return incidence_interval(model, data, cause, times)
    return model.curves.incidence(_encoded(model, data), model.number_of(cause), times)


def incidence_interval(model: CausesFile, data: Any, cause: str, times: ArrayLike) -> Interval:
    """Incidence with 95 % limits from the joint covariance of all causes."""
    place, encoded = model.number_of(cause), _encoded(model, data)
    return _limits(model, lambda curves: curves.incidence(encoded, place, times))


def survival_interval(model: CausesFile, data: Any, times: ArrayLike) -> Interval:
    """Survival without any event, with 95 % limits from the joint covariance of all causes."""
    encoded = _encoded(model, data)
    event = _limits(model, lambda curves: 1.0 - curves.survival(encoded, times))
    return Interval(1.0 - event.estimate, 1.0 - event.upper, 1.0 - event.lower)


def _limits(model: CausesFile, risk: Callable[[CausesCurves], Array]) -> Interval:
    """By the delta method on log(-log(1 - F)), F the risk, derivatives by central differences."""
    covariance, found = model.covariance, risk(model.curves)
    if covariance is None:
        raise SettingsError("this model has no covariance, so there are no intervals.")
    point = np.concatenate([item.internal.vector for item in model.models.values()])
    errors = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    slopes = np.empty((len(point), *found.shape))
    for index, error in enumerate(errors):
        step = np.zeros_like(point)
        step[index] = STEP * error
        ends = [risk(_moved(model, point + sign * step)) for sign in (1, -1)]
        slopes[index] = (ends[0] - ends[1]) / (2.0 * STEP * error)
    deviation = np.sqrt(np.maximum(np.einsum("irt,ij,jrt->rt", slopes, covariance, slopes), 0.0))
    inner = np.clip(found, 1e-12, 1.0 - 1e-12)
    centre = -np.log1p(-inner)
    width = NORMAL_POINT * deviation / ((1.0 - inner) * centre)
    lower, upper = (-np.expm1(-centre * np.exp(sign * width)) for sign in (-1.0, 1.0))
    nothing = found <= 0.0
    return Interval(found, np.where(nothing, 0.0, lower), np.where(nothing, 0.0, upper))


def _moved(model: CausesFile, point: Array) -> CausesCurves:
    """The curves of other internal coefficients."""
    parts, start = [], 0
    for item in model.models.values():
        size = item.design.dimension
        parts.append(Curves.of(item.design, get_link(item.link), point[start : start + size]))
        start += size
    return CausesCurves(tuple(parts))


def summarise_causes(model: CausesFile, confidence: float = 0.95) -> CausesTable:
    """A table of coefficients per cause; what is said of all of them is said once."""
    whole = {name: summarise(part, confidence) for name, part in model.models.items()}
    first = next(iter(whole.values())).heading[0]
    tables = {
        name: replace(table, heading=tuple(_own_words(model, name)), footer=())
        for name, table in whole.items()
    }
    lines, footer = _shared_words(model)
    return CausesTable(tables, (first, *lines), footer)


def _own_words(model: CausesFile, cause: str) -> Iterator[str]:
    """What is said of one cause alone."""
    yield f"Cause: {cause}"
    if isinstance(model, CausesModel):
        fit = model.fit[cause]
        yield f"{fit.events:,} events; log-likelihood {fit.log_likelihood:,.2f}."
    yield from change_lines(model.models[cause])


def _shared_words(model: CausesFile) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is said of all causes, above the tables and below them."""
    compared = reference_words(model.public_schema)
    if isinstance(model, CausesRelease):
        lines, footer = release_words(model)
        return lines, (*compared, *footer)
    if not isinstance(model, CausesModel):
        return (), ()
    persons = next(iter(model.fit.values())).persons
    events = sum(fit.events for fit in model.fit.values())
    notes = (f"Note: {cause}: {note}" for cause, fit in model.fit.items() for note in fit.notes)
    return (f"{persons:,} persons, {events:,} events.", NOT_PRIVATE), (*compared, *notes)

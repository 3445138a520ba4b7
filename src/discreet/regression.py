"""The estimator: scikit-learn's conventions around people, likelihood, estimation and release."""

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from discreet.design.baseline import Baseline, NaturalSpline, parse_baseline
from discreet.design.design import Design
from discreet.design.link import DEFAULT_LINK, Link, get_link
from discreet.design.schema import Schema
from discreet.documents.model import Model, Release
from discreet.errors import DataFormError, NotFittedError, SettingsError, warn
from discreet.estimate import compare_baselines, estimate, plain_model
from discreet.fitted import FittedModel, Predictions
from discreet.likelihood.problem import Problem
from discreet.people.source import EngineName, People, TablePeople
from discreet.results.description import standard_errors

if TYPE_CHECKING:
    from discreet.joint import Federation
    from discreet.mechanisms.contract import Mechanism
    from discreet.people.repairs import RepairReport
    from discreet.privacy.noise import NoiseSource
    from discreet.release import AbstractOrder, Document, Order, Payer

_SUCH_AS = "such as mechanism=ds.PrivateNewton(epsilon=1)"


def require_mechanism(mechanism: object) -> None:
    """`SettingsError` unless it can draw."""
    if not hasattr(type(mechanism), "draw"):
        raise SettingsError(f"publishing needs a mechanism, {_SUCH_AS}.")


def publish_order(
    order: "AbstractOrder[Document]",
    people: People,
    *,
    ledger: "Payer | str | PathLike[str]",
    path: str | Path | None,
    overwrite: bool,
    federation: "Federation | None",
) -> "Document":
    """One release of the order, here alone or together with the other sites."""
    from discreet.release import as_ledger, publish  # noqa: PLC0415 - loads the mechanisms

    way: Callable[..., Document] = publish
    if federation is not None:
        from discreet.joint import publish_jointly  # noqa: PLC0415 - an extra, and its network

        way = partial(publish_jointly, federation=federation)
    target = None if path is None else Path(path)
    return way(order, people, ledger=as_ledger(ledger), path=target, overwrite=overwrite)


class RepairWarning(UserWarning):
    """Values did not fit the schema and were repaired by the fixed rule.

    Examples
    --------
    >>> warnings.simplefilter("error", ds.RepairWarning)  # doctest: +SKIP
    """


class SurvivalRegression(Predictions):
    """Discrete-time survival regression, hazard h = g^{-1}(alpha'A_s + beta'x).

    The object describes a model.  `fit` estimates it without privacy and never spends; `publish`
    makes one private release of it, charged to a ledger.  The fit minimises, in internal
    coordinates with every |x| at most 1,

        (1/n) sum_i loss_i(f) + ridge/2 |f|^2,    f = (alpha, beta).

    Parameters
    ----------
    schema
        A Schema, the path of its TOML file, or its mapping.  It may be left out for ``fit(X, y)``
        and is then taken from the data.
    link
        "cloglog" (effects are log hazard ratios), "logit" or "probit".
    baseline
        NaturalSpline(3) if None; PiecewiseConstant(K); LogTime(K); or their spelling.
    solver
        "newton" or "bfgs".
    ridge
        Lambda, on the mean loss of `fit`; mechanisms have their own.
    information
        "expected" (standard errors as glm) or "observed".
    tolerance
        Norm of the mean loss's gradient at which the fit ends.
    intervals
        Number of intervals where the schema is taken from the data.
    engine
        "auto": in this process, streamed where the data are a pattern or folder of Parquet files,
        on the workers where they are a Dask frame; "dask": on workers.
    scheduler
        The address of an existing Dask cluster; None: one on this machine.

    Attributes
    ----------
    model_
        What is saved: a `PlainModel` after `fit`, a `Release` after `publish`.
    coefficients_
        On the user's own scale.
    schema_
        The schema, with the bounds that the fit used.
    standard_errors_
        On the user's own scale; after `publish` with the privacy noise, where it is known.
    coef_
        The covariates' coefficients as one array.
    repairs_
        After `fit`.
    release_
        After `publish`.

    Examples
    --------
    >>> model = ds.SurvivalRegression("schema.toml", link="cloglog")
    >>> model.publish(
    ...     "registry.csv", mechanism=ds.PrivateNewton(epsilon=1), ledger="budget.db",
    ...     path="release.json",
    ... )  # doctest: +SKIP
    """

    def __init__(  # noqa: PLR0913 - scikit-learn's convention: every setting is a parameter
        self,
        schema: Schema | str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        link: str | Link = DEFAULT_LINK,
        baseline: str | Baseline | None = None,
        solver: Literal["newton", "bfgs"] = "newton",
        ridge: float = 0.0,
        information: Literal["expected", "observed"] = "expected",
        tolerance: float = 1e-10,
        intervals: int = 200,
        engine: EngineName = "auto",
        scheduler: str | None = None,
    ) -> None:
        self.schema = schema
        self.link = link
        self.baseline = baseline
        self.solver = solver
        self.ridge = ridge
        self.information = information
        self.tolerance = tolerance
        self.intervals = intervals
        self.engine = engine
        self.scheduler = scheduler

    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate the model; not private, and never charged to a ledger.

        Parameters
        ----------
        X
            A table or file that has all the schema's columns, or covariates alone.
        y
            With covariates alone: scikit-survival's structured array (event, time).

        Returns
        -------
        SurvivalRegression
            This object, fitted.
        """
        self._check_settings()
        source = self._source(X, y)
        declared = self._declared_schema(X, y)
        schema, repairs = _prepared(source, declared)
        if schema.time.causes is not None:
            raise SettingsError("the schema has causes: fit them with ds.CompetingRisks.")
        engine = source.open(schema)
        if engine.persons == 0:
            raise DataFormError("the data have no rows; there is nobody to fit.")
        total = Problem(engine, Design(schema, self._baseline()), get_link(self.link))
        found = estimate(total, ridge=self.ridge, solver=self.solver, tolerance=self.tolerance)
        found = replace(found, notes=(*found.notes, *compare_baselines(total, found)))
        model = plain_model(total, found, self.solver, self.information)
        tell_repairs(repairs)
        self._adopt(model, schema)
        self.standard_errors_ = model.uncertainty.standard_errors
        if repairs is not None:
            self.repairs_ = repairs
        return self

    def publish(  # noqa: PLR0913 - the terms of a release, each by name
        self,
        data: Any,
        outcome: Any = None,
        *,
        mechanism: "Mechanism",
        ledger: "Payer | str | PathLike[str]",
        path: str | Path | None = None,
        persons: int | None = None,
        release_id: str | None = None,
        accept_approximate: bool = False,
        overwrite: bool = False,
        federation: "Federation | None" = None,
    ) -> Self:
        """Make one private release and charge it to a ledger; nothing is refunded.

        Parameters
        ----------
        data, outcome
            As in `fit`.
        mechanism
            What adds the noise, such as ``ds.PrivateNewton(epsilon=1)``.
        ledger
            Who pays: the location of a ledger, a Ledger, or ``ds.NO_LEDGER``.
        path
            Where the release is written, before the ledger learns that it is settled.
        persons
            The number of persons, public under replace-one: the charge then comes before the data
            are parsed.  Otherwise they are counted first.
        release_id
            The name of the release in the ledger; made up if None.
        accept_approximate
            Publish a draw whose promise is proved for a perfect sampler only.
        overwrite
            Whether an existing file is replaced.
        federation
            The sites that make the release together, ``ds.Federation.read("sites.toml", party)``;
            ``data`` are then this site's own people.

        Returns
        -------
        SurvivalRegression
            This object with the released numbers; ``release_`` is the document.

        Raises
        ------
        BudgetError
            The budget does not cover the release; nothing was charged, and at most n was read.
        LedgerError
            The ledger cannot be trusted or written.
        InputError
            A setting, the schema or the form of the data is wrong.
        FederationError
            Another site is absent, differs or has gone.
        """
        order = self._order(
            mechanism,
            persons=persons,
            release_id=release_id,
            accept_approximate=accept_approximate,
        )
        release = publish_order(
            order,
            self._source(data, outcome),
            ledger=ledger,
            path=path,
            overwrite=overwrite,
            federation=federation,
        )
        self._adopt(release, order.schema)
        self.release_: Release = release
        known = standard_errors(release)
        if known is not None:
            self.standard_errors_ = known
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002
        """The constructor's settings (scikit-learn's own base class takes a second to import).

        Parameters
        ----------
        deep
            As in scikit-learn; no setting has settings of its own.
        """
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> Self:
        """Change settings by name.

        Parameters
        ----------
        **params
            New values.

        Raises
        ------
        SettingsError
            There is no such setting.
        """
        for name, value in params.items():
            if name not in _PARAMETERS:
                raise SettingsError(
                    f"unknown setting {name!r}; settings are {', '.join(_PARAMETERS)}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = (
            f"{name}={_without_password(getattr(self, name))!r}"
            for name, parameter in _PARAMETERS.items()
            if getattr(self, name) is not parameter.default
        )
        return f"{type(self).__name__}({', '.join(given)})"

    def _repr_html_(self) -> str | None:
        """The summary in a notebook, once there is one."""
        return self.summary().to_html() if hasattr(self, "model_") else None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # noqa: PLC0415 - slow to load

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(allow_nan=True, string=True, categorical=True),
        )

    @property
    def _model(self) -> Model:
        if not hasattr(self, "model_"):
            # scikit-learn's tools catch its own class; where it is not loaded, ours has the same bases
            sklearn = sys.modules.get("sklearn.exceptions")
            error = NotFittedError if sklearn is None else sklearn.NotFittedError
            raise error("this SurvivalRegression is not fitted yet; call fit first.")
        return self.model_

    def _check_settings(self) -> None:
        """Everything that can be wrong without data."""
        get_link(self.link)
        _require_number("ridge", self.ridge, at_least=0.0)
        _require_number("tolerance", self.tolerance, above=0.0)
        _require_choice("solver", self.solver, ("newton", "bfgs"))
        _require_choice("information", self.information, ("expected", "observed"))
        _require_choice("engine", self.engine, ("auto", "dask"))

    def _source(self, data: Any, outcome: Any) -> People:
        return People.of(data, outcome, self.engine, self.scheduler)

    def _adopt(self, model: Model, schema: Schema) -> None:
        """What every fit leaves, and nothing that an earlier fit of another kind left."""
        for name in ("standard_errors_", "repairs_", "release_"):
            vars(self).pop(name, None)
        self.model_ = model
        self.schema_ = schema
        self.coefficients_ = model.coefficients
        self.feature_names_in_ = np.array([item.name for item in schema.covariates], dtype=object)
        self.n_features_in_ = len(schema.covariates)

    def _baseline(self) -> Baseline:
        return NaturalSpline(3) if self.baseline is None else parse_baseline(self.baseline)

    def _declared_schema(self, data: Any, outcome: Any) -> Schema:
        from discreet.people.infer import infer_schema  # noqa: PLC0415 - loads pyarrow

        if self.schema is not None:
            return as_schema(self.schema)
        if outcome is None:
            raise SettingsError("give a schema, or fit(X, y) with scikit-survival's y.")
        return infer_schema(data, outcome, self.intervals)

    def _order(self, mechanism: "Mechanism", **terms: Any) -> "Order":
        """What a release asks for; an error here comes before any data is read."""
        from discreet.release import Order, new_release_id  # noqa: PLC0415 - loads the mechanisms

        self._check_settings()
        require_mechanism(mechanism)
        if self.ridge:
            raise SettingsError("a release takes its ridge from the mechanism; leave it at 0.")
        if self.schema is None:
            raise SettingsError("a release needs a public schema: nothing in it is learned.")
        if as_schema(self.schema).time.causes is not None:
            raise SettingsError("the schema has causes: publish them with ds.CompetingRisks.")
        terms["release_id"] = terms.get("release_id") or new_release_id()
        return Order(
            mechanism, as_schema(self.schema), get_link(self.link), self._baseline(), **terms
        )


def simulate(
    model: SurvivalRegression,
    data: Any,
    outcome: Any = None,
    *,
    mechanism: "Mechanism",
    seed: "int | NoiseSource",
    persons: int | None = None,
) -> FittedModel:
    """Draw what a release could look like, with noise that can be repeated: **not private**.

    For studying methods on data that need no protection.  Nothing is charged, the result says
    that it is not private, and it cannot be saved.

    Parameters
    ----------
    model
        The model that would be published.
    data, outcome
        As in ``model.fit``.
    mechanism
        As in ``model.publish``; mechanisms that are never published may be drawn.
    seed
        A whole number, or a seeded source of noise.
    persons
        The number of persons; counted if None.

    Returns
    -------
    FittedModel
        With predictions and a summary; ``model`` is the simulated release.

    Examples
    --------
    >>> model = ds.SurvivalRegression("schema.toml")
    >>> ds.simulate(
    ...     model, "simulated.csv", mechanism=ds.PrivateNewton(epsilon=1), seed=1
    ... )  # doctest: +SKIP
    """
    from discreet.privacy.testing import SeededNoise  # noqa: PLC0415 - loads the samplers
    from discreet.release import simulate as simulated  # noqa: PLC0415 - loads the mechanisms

    noise = SeededNoise(seed) if isinstance(seed, int) else seed
    order = model._order(mechanism, persons=persons)  # noqa: SLF001 - one file, one subject
    return FittedModel(simulated(order, model._source(data, outcome), noise))  # noqa: SLF001


def _prepared(source: People, declared: Schema) -> "tuple[Schema, RepairReport | None]":
    """Bounds that were left open, and what does not fit; counted only of a table in memory.

    Elsewhere another pass would be needed, and `discreet check` counts.
    """
    from discreet.people.infer import resolve_bounds  # noqa: PLC0415 - loads pyarrow

    if not isinstance(source, TablePeople):
        return declared, None
    repairs = source.repairs(declared)  # before the people are held a second time
    return resolve_bounds(source.table(declared), declared), repairs


def tell_repairs(repairs: "RepairReport | None") -> None:
    """A warning with the counts, where a fit that is not private changed values."""
    if repairs is not None and repairs.repairs:
        warn(repairs.sentence(), RepairWarning)


def _without_password(value: object) -> object:
    """Of a URL the scheme alone: an estimator is shown in notebooks and logs."""
    scheme, mark, _ = str(value).partition("://")
    return f"{scheme}://..." if mark and isinstance(value, str) else value


_PARAMETERS = dict(inspect.signature(SurvivalRegression).parameters)


def as_schema(schema: Schema | str | PathLike[str] | Mapping[str, Any]) -> Schema:
    """A schema from whatever describes one."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return Schema.from_mapping(schema)
    return Schema.from_toml(Path(schema))


def _require_number(
    name: str, value: object, *, at_least: float = -math.inf, above: float = -math.inf
) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < at_least or not value > above:  # type: ignore[arg-type,operator]
        bound = f"at least {at_least:g}" if above == -math.inf else f"greater than {above:g}"
        raise SettingsError(f"{name} must be a finite number {bound}.")


def _require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(choices)}.")

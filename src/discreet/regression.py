"""The estimator: scikit-learn's manners around frame, likelihood, estimation and release."""

import inspect
import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from discreet.design.baseline import Baseline, NaturalSpline, parse_baseline
from discreet.design.design import Design
from discreet.design.link import Link, get_link
from discreet.design.schema import Schema
from discreet.errors import DataFormError, SettingsError, warn
from discreet.estimate import estimate
from discreet.fitted import Predictions
from discreet.likelihood.problem import Problem
from discreet.models.model import Model, Release
from discreet.people.source import EngineName, People
from discreet.plain_model import plain_model

if TYPE_CHECKING:
    from discreet.ledger.interface import Ledger
    from discreet.mechanisms.contract import Mechanism
    from discreet.release import Order

_SUCH_AS = "such as mechanism=ds.PrivateNewton(epsilon=1)"


class RepairWarning(UserWarning):
    """Values did not fit the schema and were repaired by the fixed rule."""


class SurvivalRegression(Predictions):
    """Discrete-time survival regression, hazard h = g^{-1}(alpha'A_s + beta'x).

    The fit minimises, in internal coordinates with every |x| at most 1,

        (1/n) sum_i loss_i(f) + ridge/2 |f|^2,    f = (alpha, beta).

    schema        a Schema, the path of its TOML file, or its mapping; may be left out for
                  ``fit(X, y)`` that is not private, and is then taken from the data
    link          "logit", "cloglog" or "probit"
    baseline      NaturalSpline(3) if None; PiecewiseConstant(K); or their spelling
    mechanism     None fits without privacy, and the model says so; else a private mechanism, whose
                  numbers are all that leaves the data
    solver        "newton" or "bfgs" (not private)
    ridge         Lambda, on the mean loss (not private; mechanisms have their own)
    information   "expected" (standard errors as glm) or "observed"
    tolerance     norm of the mean loss's gradient at which the fit ends
    intervals     number of intervals where the schema is taken from the data
    persons       the number of persons, public under replace-one: a private fit is then charged
                  before it reads a record; otherwise it counts them first
    ledger        the budget that a private fit is charged to; None: no ledger
    release_id    the name of a private fit in the ledger; made up if None
    engine        "auto": in this process, streamed where the data are a pattern or folder of
                  Parquet files, on the workers where they are a Dask frame; "dask": on workers
    scheduler     the address of an existing Dask cluster; None: one on this machine

    Fitted attributes: ``model_`` (what is saved), ``coefficients_``, ``schema_``; without privacy
    ``standard_errors_`` and ``repairs_``; with privacy ``release_``.
    """

    def __init__(  # noqa: PLR0913 - scikit-learn's convention: every setting is a parameter
        self,
        schema: Schema | str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        link: str | Link = "logit",
        baseline: str | Baseline | None = None,
        mechanism: "Mechanism | None" = None,
        solver: Literal["newton", "bfgs"] = "newton",
        ridge: float = 0.0,
        information: Literal["expected", "observed"] = "expected",
        tolerance: float = 1e-10,
        intervals: int = 200,
        persons: int | None = None,
        ledger: "Ledger | str | PathLike[str] | None" = None,
        release_id: str | None = None,
        accept_printed: bool = False,
        accept_approximate: bool = False,
        engine: EngineName = "auto",
        scheduler: str | None = None,
    ) -> None:
        self.schema = schema
        self.link = link
        self.baseline = baseline
        self.mechanism = mechanism
        self.solver = solver
        self.ridge = ridge
        self.information = information
        self.tolerance = tolerance
        self.intervals = intervals
        self.persons = persons
        self.ledger = ledger
        self.release_id = release_id
        self.accept_printed = accept_printed
        self.accept_approximate = accept_approximate
        self.engine = engine
        self.scheduler = scheduler

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to a table or file that has all the schema's columns.

        Or to covariates X and scikit-survival's structured array y (event, time).
        """
        self._check_settings()
        if self.mechanism is not None:
            return self.publish(X, y)
        return self._fit_plain(X, y)

    def publish(
        self, X: Any, y: Any = None, *, path: str | Path | None = None, overwrite: bool = False
    ) -> Self:
        """A private fit, written to a file before the ledger is told that it is settled."""
        from discreet.release import publish  # noqa: PLC0415 - loads the mechanisms

        self._check_settings()
        order = self._order()
        release = publish(
            order,
            self._people(X, y),
            ledger=as_ledger(self.ledger),
            path=None if path is None else Path(path),
            overwrite=overwrite,
        )
        self._adopt(release, order.schema)
        self.release_: Release = release
        return self

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model's file: strict JSON, whole or not at all."""
        self._model.save(path, overwrite=overwrite)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002
        """The constructor's settings (scikit-learn's own base class takes a second to import)."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> Self:
        """Change settings by name."""
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
            from sklearn.exceptions import NotFittedError  # noqa: PLC0415 - slow to load

            raise NotFittedError("this SurvivalRegression is not fitted yet; call fit first.")
        return self.model_

    def _check_settings(self) -> None:
        """Everything that can be wrong without data."""
        get_link(self.link)
        _require_number("ridge", self.ridge, at_least=0.0)
        _require_number("tolerance", self.tolerance, above=0.0)
        _require_choice("solver", self.solver, ("newton", "bfgs"))
        _require_choice("information", self.information, ("expected", "observed"))
        _require_choice("engine", self.engine, ("auto", "dask"))
        if self.mechanism is not None and not hasattr(type(self.mechanism), "draw"):
            raise SettingsError(f"mechanism takes None or an object, {_SUCH_AS}.")
        if self.mechanism is not None and self.ridge:
            raise SettingsError("a private fit takes its ridge from the mechanism; leave it at 0.")

    def _fit_plain(self, data: Any, outcome: Any) -> Self:
        from discreet.people import count_repairs, resolve_bounds  # noqa: PLC0415

        people = self._people(data, outcome)
        declared = self._declared_schema(data, outcome)
        schema = resolve_bounds(data, declared) if people.in_memory else declared
        # before the people are held a second time; elsewhere another pass would be needed, and
        # `discreet check` counts
        repairs = count_repairs(data, declared, outcome) if people.in_memory else None
        engine = people.open(schema)
        if engine.persons == 0:
            raise DataFormError("the data have no rows; there is nobody to fit.")
        total = Problem(engine, Design(schema, self._baseline()), get_link(self.link))
        found = estimate(total, ridge=self.ridge, solver=self.solver, tolerance=self.tolerance)
        model = plain_model(total, found, self.solver, self.information)
        if repairs is not None and repairs.repairs:
            warn(repairs.sentence(), RepairWarning)
        self._adopt(model, schema)
        self.standard_errors_ = model.uncertainty.standard_errors
        if repairs is not None:
            self.repairs_ = repairs
        return self

    def _people(self, data: Any, outcome: Any) -> People:
        return People(data, outcome, self.engine, self.scheduler)

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
        from discreet.people import infer_schema  # noqa: PLC0415 - loads pyarrow

        if self.schema is not None:
            return as_schema(self.schema)
        if outcome is None:
            raise SettingsError("give a schema, or fit(X, y) with scikit-survival's y.")
        return infer_schema(data, outcome, self.intervals)

    def _order(self) -> "Order":
        """What a private fit asks for; an error here comes before any data is read."""
        from discreet.release import Order, new_release_id  # noqa: PLC0415 - loads the mechanisms

        if self.mechanism is None:
            raise SettingsError(f"publishing needs a mechanism, {_SUCH_AS}.")
        if self.schema is None:
            raise SettingsError("a private fit needs a public schema: nothing in it is learned.")
        return Order(
            mechanism=self.mechanism,
            schema=as_schema(self.schema),
            link=get_link(self.link),
            baseline=self._baseline(),
            persons=self.persons,
            release_id=self.release_id or new_release_id(),
            accept_printed=self.accept_printed,
            accept_approximate=self.accept_approximate,
        )


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


def as_ledger(ledger: "Ledger | str | PathLike[str] | None") -> "Ledger | None":
    """A ledger from its location; an object passes through."""
    if not isinstance(ledger, str | PathLike):
        return ledger
    from discreet.ledger import open_ledger  # noqa: PLC0415 - only private fits pay

    return open_ledger(ledger)


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

"""The regression: scikit-learn's conventions around people, likelihood, estimation and release."""

import math
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from discreet.base import NEEDS_MECHANISM, as_schema
from discreet.design.baseline import Baseline, NaturalSpline, parse_baseline
from discreet.design.design import Design
from discreet.design.link import DEFAULT_LINK, Link, get_link
from discreet.design.schema import Schema
from discreet.errors import DataFormError, SettingsError, warn
from discreet.estimate import compare_baselines, estimate, fit_causes, plain_model
from discreet.likelihood.problem import Problem
from discreet.people.source import EngineName, People, TablePeople
from discreet.predictions import Predictions
from discreet.privacy.scales import require_choice
from discreet.warnings import RepairWarning

if TYPE_CHECKING:
    from discreet.documents.causes import Fitted
    from discreet.mechanisms.contract import Mechanism
    from discreet.release import Order


class SurvivalRegression(Predictions):
    """Discrete-time survival regression, hazard h = g^{-1}(alpha'A_s + beta'x).

    With ``causes`` in the schema it is a model of competing risks: every cause has effects of its
    own, `predict_incidence` gives the probability of each, and `of_cause` one cause's model.

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
        The document that is saved, after `fit`, `publish`, ``ds.simulate`` or ``ds.load``.
    release_
        The same where it is a private release.
    coefficients_
        On the user's own scale; with competing risks those of each cause.
    standard_errors_
        On the user's own scale; of a release with the privacy noise, where it is known.
    coef_
        The covariates' coefficients as one array.
    schema_
        The schema, with the bounds that the fit used.
    life_table_
        The private life table of a release, if it has one.
    repairs_
        After `fit` of a table.

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
        from discreet.people.infer import infer_schema, resolve_bounds  # noqa: PLC0415 - loads pyarrow

        self._check_settings()
        if self.schema is None and y is None:
            raise SettingsError("give a schema, or fit(X, y) with scikit-survival's y.")
        source = self._source(X, y)
        schema = (
            infer_schema(X, y, self.intervals) if self.schema is None else as_schema(self.schema)
        )
        repairs = None
        if isinstance(source, TablePeople):
            # elsewhere another pass would be needed, and `discreet check` counts
            repairs = source.repairs(schema)  # before the people are held a second time
            schema = resolve_bounds(source.table(schema), schema)
        if schema.time.causes is not None and schema.strata is not None:
            raise SettingsError("strata do not go with causes yet; remove [strata] or causes.")
        engine = source.open(schema)
        if engine.persons == 0:
            raise DataFormError("the data have no rows: there is no person to fit.")
        baseline, link = self._baseline(), get_link(self.link)
        solving: dict[str, Any] = {
            "ridge": self.ridge,
            "solver": self.solver,
            "tolerance": self.tolerance,
        }
        if schema.time.causes is not None:
            kind = self.information
            self._adopt(fit_causes(engine, schema, baseline, link, information=kind, **solving))
        else:
            total = Problem(engine, Design(schema, baseline), link)
            found = estimate(total, **solving)
            found = replace(found, notes=(*found.notes, *compare_baselines(total, found)))
            self._adopt(plain_model(total, found, self.solver, self.information))
        if repairs is not None:
            self.repairs_ = repairs
            if repairs.repairs:
                warn(repairs.sentence(), RepairWarning)
        return self

    def _check_settings(self) -> None:
        """Everything that can be wrong without data."""
        get_link(self.link)
        _require_number("ridge", self.ridge, at_least=0.0)
        _require_number("tolerance", self.tolerance, above=0.0)
        require_choice("solver", self.solver, ("newton", "bfgs"))
        require_choice("information", self.information, ("expected", "observed"))
        require_choice("engine", self.engine, ("auto", "dask"))

    def _source(self, data: Any, outcome: Any) -> People:
        return People.of(data, outcome, self.engine, self.scheduler)

    def _baseline(self) -> Baseline:
        return NaturalSpline(3) if self.baseline is None else parse_baseline(self.baseline)

    def _order(self, mechanism: "Mechanism", **terms: Any) -> "Order":
        from discreet.release import Order  # noqa: PLC0415 - loads the mechanisms

        self._check_settings()
        if not hasattr(type(mechanism), "draw") or not hasattr(mechanism, "coordinates"):
            raise SettingsError(NEEDS_MECHANISM.format("ds.PrivateNewton(epsilon=1)"))
        if self.ridge:
            raise SettingsError("a release takes its ridge from the mechanism; leave it at 0.")
        if self.schema is None:
            raise SettingsError("a release needs a public schema: nothing in it is learned.")
        schema = as_schema(self.schema)
        return Order(mechanism, schema, get_link(self.link), self._baseline(), **terms)

    @classmethod
    def _of(cls, document: "Fitted") -> Self:
        found = cls(document.public_schema, link=document.link, baseline=document.baseline)
        found._adopt(document)
        return found


def _require_number(
    name: str, value: object, *, at_least: float = -math.inf, above: float = -math.inf
) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < at_least or not value > above:  # type: ignore[arg-type,operator]
        bound = f"at least {at_least:g}" if above == -math.inf else f"greater than {above:g}"
        raise SettingsError(f"{name} must be a finite number {bound}.")

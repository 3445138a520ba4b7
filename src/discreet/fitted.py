"""Predictions and summaries of a fitted model, from a fit or from a file."""

from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.models.life_table import LifeTable
from discreet.models.model import Coefficients, Model, PlainModel, Release, read_model
from discreet.models.summary import CoefficientTable
from discreet.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Predictions(ABC):
    """What a fitted model can do; new data are read by the same per-record rules as in the fit.

    Data: a pandas, polars or pyarrow table, or the path of a CSV or Parquet file, with the
    covariates' columns (others are ignored).  Each row is a person whose covariates stay as they
    are.
    """

    @property
    @abstractmethod
    def _model(self) -> Model:
        """The fitted model; an error if there is none yet."""

    def predict_survival(self, data: Any, times: ArrayLike | None = None) -> Array:
        """S(u), one row a person, one column a time; without times at the grid points.

        Right-continuous: S(u) multiplies 1 - h over the intervals that have ended by u.
        """
        return self._model.curves.survival(*self._read(data, times))

    def predict_hazard(self, data: Any, times: ArrayLike | None = None) -> Array:
        """The probability of the event in the interval of each time, given survival before it."""
        return self._model.curves.hazard(*self._read(data, times))

    def predict_cumulative_hazard(self, data: Any, times: ArrayLike | None = None) -> Array:
        """H(u) = -log S(u)."""
        return self._model.curves.cumulative_hazard(*self._read(data, times))

    def predict_quantile(self, data: Any, probability: ArrayLike = 0.5) -> Array:
        """The first grid point by which the event has happened with the given probability.

        Infinite where that is not before the horizon.  One column a probability; a single number
        (the median, unless told otherwise) gives one value a row.
        """
        found = self._model.curves.quantile(self._encoded(data), probability, self._stratum(data))
        return found[:, 0] if np.ndim(probability) == 0 else found

    def predict_risk(self, data: Any) -> Array:
        """beta'x on the user's own scale: higher means earlier events."""
        slopes, offset = self._model.curves.slopes, self._model.design.covariates.offset
        return np.asarray(self._encoded(data) @ slopes - float(offset @ slopes))

    def predict(self, data: Any) -> Array:
        """The risk, under the name that scikit-learn's tools call."""
        return self.predict_risk(data)

    def score(self, data: Any, outcome: Any = None) -> float:
        """Harrell's concordance between predicted risk and observed times."""
        from discreet.metrics import concordance  # noqa: PLC0415 - reads frames

        return concordance(self._model, data, outcome)

    def summary(self, confidence: float = 0.95) -> CoefficientTable:
        """Coefficients on the user's own scale, with standard errors where they are known."""
        return summarise(self._model, confidence)

    def plot(self, data: Any = None) -> "Figure":
        """Baseline hazard, coefficients and survival curves, as a matplotlib figure.

        The curves are those of the rows of ``data`` (at most ten), or of typical persons.
        """
        from discreet.plots import overview  # noqa: PLC0415 - matplotlib is slow to load

        if data is None:
            return overview(self._model)
        return overview(self._model, self._encoded(data), self._stratum(data))

    def plot_fit(self) -> "Figure":
        """The model against the private life table, by time, as a matplotlib figure.

        Left: events in each stretch of time, as released (with what noise and chance may add) and
        as the model expects them.  Right: survival of everybody together, from the life table with
        its band and from the model.  Where the model leaves the bars, its form is wrong there.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        SettingsError
            The model has no private life table to be compared with.

        Examples
        --------
        >>> release = ds.load("release.json")  # doctest: +SKIP
        >>> release.plot_fit().savefig("fit.png")  # doctest: +SKIP
        """
        from discreet.plots import fit_by_time  # noqa: PLC0415 - matplotlib is slow to load

        return fit_by_time(self._model)

    def _encoded(self, data: Any) -> Array:
        from discreet.people import encode_covariates  # noqa: PLC0415 - loads pyarrow

        return encode_covariates(data, self._model.public_schema)

    def _stratum(self, data: Any) -> Any:
        from discreet.people import encode_strata  # noqa: PLC0415 - loads pyarrow

        return encode_strata(data, self._model.public_schema)

    def _read(self, data: Any, times: ArrayLike | None) -> tuple[Array, ArrayLike, Any]:
        return self._encoded(data), self._times(times), self._stratum(data)

    def _times(self, times: ArrayLike | None) -> ArrayLike:
        return self._model.curves.grid.edges if times is None else times


class FittedModel(Predictions):
    """A model or release from a file."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @cached_property
    def coefficients(self) -> Coefficients:
        """Coefficients on the user's own scale."""
        return self.model.coefficients

    @property
    def private(self) -> bool:
        """Whether the numbers are protected by differential privacy."""
        return self.model.private

    @property
    def life_table(self) -> LifeTable | None:
        """The private life table, where the mechanism released one."""
        return self.model.life_table if isinstance(self.model, Release) else None

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model's file."""
        self.model.save(path, overwrite=overwrite)

    def __repr__(self) -> str:
        return str(self.summary())

    @property
    def _model(self) -> Model:
        return self.model


def load(path: str | Path) -> FittedModel:
    """The model or release in a file."""
    return FittedModel(read_model(path))


def summarise(model: Model, confidence: float = 0.95) -> CoefficientTable:
    """The coefficient table of a model."""
    errors = None
    if isinstance(model, PlainModel):
        errors = model.uncertainty.standard_errors.vector
    elif model.covariance is not None:
        errors = np.sqrt(np.maximum(np.diag(model.covariance), 0.0))
    names = (*model.design.baseline_names, *model.coefficients.covariates)
    vector = model.coefficients.vector
    return CoefficientTable(names, vector, errors, confidence, _heading(model))


def _heading(model: Model) -> tuple[str, ...]:
    """What the numbers are, in a few lines."""
    time = model.public_schema.time
    first = (
        f"Discrete-time survival regression: {model.link} link, {model.baseline} baseline, "
        f"{time.words}."
    )
    if isinstance(model, PlainModel):
        return first, *_plain_heading(model)
    if isinstance(model, Release):
        return first, *_release_heading(model)
    return (first,)


def _plain_heading(model: PlainModel) -> tuple[str, ...]:
    fit = model.fit
    counts = (
        f"{fit.persons:,} persons, {fit.events:,} events, {fit.intervals_at_risk:,} intervals at "
        f"risk; log-likelihood {fit.log_likelihood:,.2f}."
    )
    return (
        counts,
        "Not private: do not publish without checking who could recognise whom.",
        *(f"Note: {note}" for note in fit.notes),
    )


def _release_heading(model: Release) -> tuple[str, ...]:
    guarantee = model.guarantee
    name = model.mechanism.get("name", "")
    kind = "Private release" if model.private else "Simulated release, not private,"
    numbers = f"epsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g}"
    first = (
        f"{kind} {model.release_id} (mechanism: {name}): {numbers}, "
        f"{guarantee.relation}, unit: {guarantee.unit}, {guarantee.status}; "
        f"{model.persons:,} persons; ledger: {model.ledger}."
    )
    return first, model.promise, *(f"Warning: {caution}" for caution in model.warnings)

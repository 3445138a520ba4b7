"""Predictions and summaries of a fitted model of one event or of several causes."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from discreet.base import Estimator
from discreet.documents.causes import Fitted
from discreet.documents.model import Coefficients
from discreet.errors import DataFormError, SettingsError
from discreet.results import description, prediction
from discreet.results.life_table import LifeTable
from discreet.results.prediction import Interval, Person
from discreet.results.proportionality import ProportionalityTable
from discreet.results.summary import CoefficientTable, WaldTest
from discreet.results.survival import Curves, SurvivalCurves
from discreet.results.tables import ByCause
from discreet.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Predictions(Estimator):
    """Predictions and summaries; new data are read by the same per-record rules as in the fit.

    Data: a pandas, polars or pyarrow table, or the path of a CSV or Parquet file, with the
    covariates' columns (others are ignored).  Each row is a person whose covariates stay as they
    are.  With competing risks survival is that without an event of any cause.
    """

    model_: Fitted

    @property
    def coefficients_(self) -> Coefficients | dict[str, Coefficients]:
        """Coefficients on the user's own scale; with competing risks those of each cause."""
        return self._model.coefficients

    @property
    def coef_(self) -> Array:
        """The covariates' coefficients as one array; with competing risks a row for each cause."""
        parts = self._model.models.values()
        rows = [list(part.coefficients.covariates.values()) for part in parts]
        return np.array(rows if self._model.causes else rows[0], dtype=np.float64)

    @property
    def standard_errors_(self) -> Coefficients | dict[str, Coefficients] | None:
        """Standard errors on the user's own scale, privacy noise included; None if unknown."""
        found = {cause: description.errors_of(part) for cause, part in self._model.models.items()}
        if None in found.values():
            return None
        return found if self._model.causes else found[""]  # type: ignore[return-value]

    @property
    def life_table_(self) -> LifeTable | None:
        """The private life table, where the mechanism released one."""
        return getattr(self._model, "life_table", None)

    @property
    def feature_names_in_(self) -> Array:
        """The covariates' names."""
        return np.array([item.name for item in self.schema_.covariates], dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The number of covariates."""
        return len(self.schema_.covariates)

    @property
    def _curves(self) -> SurvivalCurves:
        found: SurvivalCurves = self._model.curves
        return found

    def predict_survival(
        self,
        data: Any,
        times: ArrayLike | None = None,
        *,
        interval: bool = False,
        confidence: float = 0.95,
        frame: bool = False,
    ) -> Any:
        """S(u), the probability of no event up to each time.

        Right-continuous: S(u) multiplies 1 - h over the intervals that have ended by u.

        Parameters
        ----------
        data
            New people: a table or file with the covariates' columns.
        times
            One column per time; the grid points if None.
        interval
            Whether limits are wanted too; in a release they include the privacy noise.
        confidence
            Level of the interval.
        frame
            Whether a pandas frame is wanted, with the columns that are not covariates kept and one,
            ``repaired``, that says what did not fit the schema in each row.

        Returns
        -------
        ndarray, Interval or DataFrame
            One row per person; with ``interval`` an `Interval` of three such arrays, or further
            columns of the frame.
        """
        points = self._points(times)
        rule = partial(prediction.survival_interval, times=points, confidence=confidence)
        plain = partial(self._curves.survival, times=points)
        return self._predicted(
            data, "survival", points, rule, plain, interval=interval, frame=frame
        )

    def predict_incidence(
        self,
        data: Any,
        cause: str,
        times: ArrayLike | None = None,
        *,
        interval: bool = False,
        confidence: float = 0.95,
        frame: bool = False,
    ) -> Any:
        """F_r(u), the probability of an event of the cause up to each time, as `predict_survival`.

        Survival and the incidence of all causes add up to 1.
        """
        place, points = description.number_of(self._model, cause), self._points(times)

        def plain(encoded: Array, stratum: Any) -> Array:  # noqa: ARG001 - causes have no strata
            found: Array = self._model.curves.incidence(encoded, place, points)
            return found

        rule = partial(
            prediction.incidence_interval, cause=place, times=points, confidence=confidence
        )
        name = f"incidence_{cause}"
        return self._predicted(data, name, points, rule, plain, interval=interval, frame=frame)

    def of_cause(self, cause: str) -> Self:
        """Return one cause's binary model, in which other causes censor."""
        description.number_of(self._model, cause)
        return self._of(self._model.models[cause])

    def predict_median(
        self, data: Any, *, interval: bool = False, confidence: float = 0.95, frame: bool = False
    ) -> Any:
        """The median time to the event: the first grid point at which survival is at most 1/2.

        Infinite where the horizon comes first; one value per person, otherwise as `predict_survival`.
        """
        rule = partial(prediction.median_interval, confidence=confidence)
        plain = partial(self._curves.quantile, probabilities=0.5)
        return self._predicted(data, "median", None, rule, plain, interval=interval, frame=frame)

    def predict_rmst(
        self,
        data: Any,
        until: float | None = None,
        *,
        interval: bool = False,
        confidence: float = 0.95,
        frame: bool = False,
    ) -> Any:
        """The restricted mean survival time: the mean of the time to the event or `until`.

        ``until`` is the horizon if None; one value per person, otherwise as `predict_survival`.
        """
        end = self._model.public_schema.time.horizon if until is None else float(until)
        rule = partial(prediction.mean_interval, until=end, confidence=confidence)
        return self._predicted(data, "rmst", None, rule, None, interval=interval, frame=frame)

    def predict_difference(
        self,
        one: Any,
        other: Any,
        times: ArrayLike | None = None,
        *,
        of: Literal["survival", "rmst"] = "survival",
        confidence: float = 0.95,
    ) -> Interval:
        """Survival or restricted mean of one profile minus that of another, with limits.

        Profiles are tables or files with one row each; of ``rmst`` ``times`` is one time, until when
        (the horizon if None).  Limits are narrower than those of two separate predictions would
        suggest: errors of the baseline cancel.
        """
        profiles = [self._people(one), self._people(other)]
        if any(len(people) != 1 for people in profiles):
            raise SettingsError("a difference is between two profiles; give one row for each.")
        (first,), (second,) = profiles
        if of == "rmst":
            horizon = self._model.public_schema.time.horizon
            until = horizon if times is None else float(np.ravel(np.asarray(times))[0])
            return prediction.mean_difference_interval(first, second, until, confidence)
        return prediction.difference_interval(first, second, self._points(times), confidence)

    def _people(self, data: Any) -> list[Person]:
        encoded, stratum = self._rows(data)
        raw = self._model.design.covariates.raw(encoded)
        numbers = np.zeros(len(encoded), int) if stratum is None else np.asarray(stratum)
        return [
            Person.of(self._model, row, int(number))
            for row, number in zip(raw, numbers, strict=True)
        ]

    def _predicted(
        self,
        data: Any,
        name: str,
        times: Array | None,
        rule: Callable[[Person], Interval],
        plain: Callable[..., Array] | None,
        *,
        interval: bool,
        frame: bool,
    ) -> Any:
        """A prediction for every row: by a rule of one person, or by `plain` of all without limits."""
        from discreet.people.repairs import (  # noqa: PLC0415 - loads pyarrow
            REPAIRED,
            count_covariate_repairs,
            repaired_rows,
        )
        from discreet.people.tables import held, other_columns  # noqa: PLC0415

        data = held(data)
        if interval or plain is None:
            rows = [rule(person) for person in self._people(data)]
            if not rows:
                raise DataFormError("the data have no rows: there is no person to predict for.")
            parts = list(zip(*rows, strict=True))[: 3 if interval else 1]
            stacked = [None if part[0] is None else np.stack(part) for part in parts]
        else:
            encoded, stratum = self._rows(data)
            stacked = [plain(encoded, stratum=stratum)]
        if times is None and not frame:  # one value per person instead of one column
            stacked = [None if part is None else part.reshape(len(part)) for part in stacked]
        found: Any = Interval(*stacked) if interval else stacked[0]  # type: ignore[arg-type]
        if not frame:
            return found
        import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415 - the user's, not ours

        # what the data hold beside the covariates, then the prediction
        schema = self._model.public_schema
        headings = [name] if times is None else [f"{name}_{time:.10g}" for time in times]
        kept = {**other_columns(data, schema), **prediction.prediction_columns(headings, found)}
        kept[REPAIRED] = list(repaired_rows(count_covariate_repairs(data, schema)))
        return pd.DataFrame(kept)

    def predict_hazard(self, data: Any, times: ArrayLike | None = None) -> Array:
        """The probability of an event in the interval of each time, given survival before it."""
        return self._curves.hazard(*self._read(data, times))

    def predict_cumulative_hazard(self, data: Any, times: ArrayLike | None = None) -> Array:
        """H(u) = -log S(u)."""
        return self._curves.cumulative_hazard(*self._read(data, times))

    def predict_quantile(self, data: Any, probability: ArrayLike = 0.5) -> Array:
        """The first grid point by which the event has happened with the given probability.

        Infinite where that is not before the horizon.  One column a probability; a single number
        (the median by default) gives one value a row.
        """
        encoded, stratum = self._rows(data)
        found = self._curves.quantile(encoded, probability, stratum)
        return found[:, 0] if np.ndim(probability) == 0 else found

    def predict_risk(self, data: Any) -> Array:
        """beta'x on the user's own scale: higher means earlier events.

        Where effects change with time, and with competing risks, it is the logarithm of the cumulative
        hazard until the horizon (with strata: under the baseline of the first).
        """
        curves, (encoded, _) = self._curves, self._rows(data)
        if not isinstance(curves, Curves) or len(curves.slopes) > 1:
            return np.log(curves.cumulative_hazard(encoded, [curves.grid.horizon])[:, 0])
        slopes, offset = curves.slopes[0], self._model.design.covariates.offset
        return np.asarray(encoded @ slopes - float(offset @ slopes))

    def predict(self, data: Any) -> Array:
        """The risk, under the name that scikit-learn's tools call."""
        return self.predict_risk(data)

    def score(self, data: Any, outcome: Any = None) -> float:
        """Harrell's concordance between predicted risk and observed times."""
        from discreet.metrics import concordance  # noqa: PLC0415 - reads frames

        return concordance(self._model, data, outcome)

    def summary(self, confidence: float = 0.95) -> CoefficientTable | ByCause[CoefficientTable]:
        """Coefficients on the user's own scale, with standard errors where they are known.

        With competing risks there is a table for each cause, in ``tables``.
        """
        return description.summarise(self._model, confidence)

    def vcov(self, *, frame: bool = False) -> Any:
        """The covariance of all coefficients on the user's own scale, baseline first.

        In a release the privacy noise is in it; with ``frame`` a pandas frame with names.  A
        `SettingsError` where the model has none.
        """
        covariance = description.covariance_of(self._model)
        names = list(description.coefficient_names(self._model))
        return _framed(covariance, names, names) if frame else covariance

    def confint(self, confidence: float = 0.95, *, frame: bool = False) -> Any:
        """Wald intervals of all coefficients, baseline first: columns lower and upper."""
        tables = self.summary(confidence).tables.values()
        limits = np.vstack([np.column_stack([table.lower, table.upper]) for table in tables])
        names = list(description.coefficient_names(self._model))
        return _framed(limits, names, ["lower", "upper"]) if frame else limits

    def tidy(self, confidence: float = 0.95, *, exponentiate: bool = False) -> Any:
        """The covariates' coefficients as a pandas frame with the columns of R's broom.

        Indexed by name: estimate, std_error, statistic, p_value, conf_low, conf_high, and the level
        that a level is compared with; with competing risks ``cause`` first.  With ``exponentiate``
        estimate and limits are ratios (not with the probit link).
        """
        import pandas as pd  # noqa: PLC0415 - the user's, not ours

        parts = []
        for cause, table in self.summary(confidence).tables.items():
            if exponentiate and not table.ratio:
                raise SettingsError("coefficients of this link are not logarithms of ratios.")
            columns: dict[str, Any] = {"estimate": table.coefficients}
            if table.standard_errors is not None:
                columns["std_error"], columns["statistic"] = table.standard_errors, table.z
                columns |= {"p_value": table.p, "conf_low": table.lower, "conf_high": table.upper}
            if exponentiate:
                for name in {"estimate", "conf_low", "conf_high"} & set(columns):
                    columns[name] = np.exp(columns[name])
            found = pd.DataFrame(columns, index=list(table.names))
            found["reference"] = [table.references.get(name) for name in table.names]
            if cause:
                found.insert(0, "cause", cause)
            parts.append(found.iloc[table.baseline :])
        return pd.concat(parts)

    def wald_test(self, *names: str) -> WaldTest:
        """Joint test that coefficients are 0, such as those of all levels of a factor.

        Names are covariates (all their columns, without interactions) or single coefficients; with
        competing risks in all causes, or in one: ``model.wald_test("cancer: stage")``.  In a release
        the privacy noise is in V.
        """
        return description.wald_test(self._model, names)

    def change_test(self, covariate: str) -> WaldTest:
        """Joint test that a covariate with ``changes_at`` has one effect for all time.

        Tested are the differences between neighbouring periods; in a release the noise is in V.
        """
        return description.change_test(self._model, covariate)

    def proportionality(self) -> ProportionalityTable:
        """Which effects seem to change with time, from numbers that the release has anyway.

        Every effect at the first events and at the last ones, and how far these are apart.
        """
        return description.summarise_proportionality(self._model)

    def plot(self, data: Any = None) -> "Figure":
        """Baseline hazard, coefficients and survival curves, as a matplotlib figure.

        The curves are those of the rows of ``data`` (at most ten), or of typical persons.
        """
        from discreet.plots import overview  # noqa: PLC0415 - matplotlib is slow to load

        if data is None:
            return overview(self._model)
        return overview(self._model, *self._rows(data))

    def plot_fit(self) -> "Figure":
        """The model against the private life table, by time, as a matplotlib figure.

        Left: events in each stretch of time, as released (with what noise and chance may add) and
        as the model expects them.  Right: survival of all persons together, from the life table with
        its band and from the model.  Where the model leaves the bars, its form is wrong there.
        A `SettingsError` where there is no private life table to be compared with.
        """
        from discreet.plots import fit_by_time  # noqa: PLC0415 - matplotlib is slow to load

        return fit_by_time(self._model)

    def _rows(self, data: Any) -> tuple[Array, Any]:
        """Covariates and stratum of each row, of one reading of the data."""
        from discreet.people.encode import (  # noqa: PLC0415 - loads pyarrow
            encode_covariates,
            encode_strata,
        )
        from discreet.people.tables import held  # noqa: PLC0415

        data, schema = held(data), self._model.public_schema
        return encode_covariates(data, schema), encode_strata(data, schema)

    def _read(self, data: Any, times: ArrayLike | None) -> tuple[Array, Array, Any]:
        encoded, stratum = self._rows(data)
        return encoded, self._points(times), stratum

    def _points(self, times: ArrayLike | None) -> Array:
        """The times that are asked for; all grid points if none are."""
        wanted = self._curves.grid.edges if times is None else times
        return self._curves.checked_times(wanted)


def _framed(values: Array, names: list[str], columns: list[str]) -> Any:
    import pandas as pd  # noqa: PLC0415 - the user's, not ours

    return pd.DataFrame(values, index=names, columns=columns)

"""The fits that are compared: each takes a cohort and returns covariate coefficients.

Peers that know no discrete time get the person-period expansion, built inside the timed call, as
a user would have to build it. Cox models get the unexpanded data.
"""

from collections.abc import Callable
from unittest import mock

import numpy as np
import statsmodels.api as sm
from cohort import Array, Cohort, expand
from glum import GeneralizedLinearRegressor
from lifelines import CoxPHFitter
from sklearn.linear_model import LogisticRegression
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.util import Surv

from discreet import NaturalSpline, SurvivalRegression
from discreet.design.design import Design
from discreet.design.link import Logit
from discreet.engine.local import LocalEngine
from discreet.estimate import estimate
from discreet.likelihood import sums
from discreet.likelihood.problem import Problem
from discreet.people.encode import to_episodes
from discreet.people.episodes import Episodes

Fit = Callable[[], Array]
BASELINE = NaturalSpline(3)
GRADIENT_NORM = 1e-10


def whole_fit(cohort: Cohort, intervals: int) -> Fit:
    """fit(frame): reading, clipping, encoding, Newton, standard errors."""
    table, schema = cohort.table(), cohort.schema(intervals)

    def fit() -> Array:
        model = SurvivalRegression(
            schema=schema, baseline=BASELINE, tolerance=GRADIENT_NORM, link="logit"
        )
        return np.asarray(list(model.fit(table).coefficients_.covariates.values()))

    return fit


def core_fit(cohort: Cohort, intervals: int) -> Fit:
    """The fit alone: from encoded people to the optimum and its information."""
    design = Design(cohort.schema(intervals), BASELINE)
    episodes = to_episodes(cohort.table(), design.schema)
    return lambda: newton(episodes, design)


def newton(episodes: Episodes, design: Design) -> Array:
    """The estimator's own Newton, compiled, and the information for the standard errors."""
    with mock.patch.object(sums, "COMPILED_FROM", 0):
        loss = Problem(LocalEngine(episodes), design, Logit())
        found = estimate(loss, tolerance=GRADIENT_NORM)
        loss.information(found.point)
    return (design.to_user @ found.point)[BASELINE.dimension :]


def glum_fit(cohort: Cohort, intervals: int) -> Fit:
    """glum on the expansion."""

    def fit() -> Array:
        design, outcome = expand(cohort, intervals)
        model = GeneralizedLinearRegressor(
            family="binomial", alpha=0, fit_intercept=False, gradient_tol=1e-8
        )
        return model.fit(design, outcome).coef_[BASELINE.dimension :]

    return fit


def sklearn_fit(cohort: Cohort, intervals: int) -> Fit:
    """scikit-learn's fastest unpenalised solver for tall data, on the expansion."""

    def fit() -> Array:
        design, outcome = expand(cohort, intervals)
        model = LogisticRegression(
            C=np.inf, solver="newton-cholesky", fit_intercept=False, tol=1e-8
        )
        return model.fit(design, outcome).coef_[0, BASELINE.dimension :]

    return fit


def statsmodels_fit(cohort: Cohort, intervals: int) -> Fit:
    """statsmodels' GLM on the expansion."""

    def fit() -> Array:
        design, outcome = expand(cohort, intervals)
        model = sm.GLM(outcome, design, family=sm.families.Binomial())
        return model.fit().params[BASELINE.dimension :]

    return fit


def lifelines_fit(cohort: Cohort, intervals: int) -> Fit:  # noqa: ARG001  (Cox has no grid)
    """lifelines' Cox model on the unexpanded data."""
    frame = cohort.pandas()

    def fit() -> Array:
        return CoxPHFitter().fit(frame, "time", "status").params_.to_numpy()

    return fit


def sksurv_fit(cohort: Cohort, intervals: int) -> Fit:  # noqa: ARG001  (Cox has no grid)
    """scikit-survival's Cox model on the unexpanded data."""
    outcome = Surv.from_arrays(cohort.event, cohort.time)

    def fit() -> Array:
        return CoxPHSurvivalAnalysis().fit(cohort.covariates, outcome).coef_

    return fit


# On the person-period expansion all of these maximise the same likelihood.
EXPANDED = {
    "glum": glum_fit,
    "scikit-learn newton-cholesky": sklearn_fit,
    "statsmodels GLM": statsmodels_fit,
}
COX = {"lifelines Cox": lifelines_fit, "scikit-survival Cox": sksurv_fit}
OURS = {"discreet fit(frame)": whole_fit, "discreet fit alone": core_fit}

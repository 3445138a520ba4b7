"""scikit-learn's own estimator checks.

Its checks hand over a plain y, which is no survival outcome.  ``WithPlainOutcome`` makes one out of
it: time = the distance from the smallest y, everybody has the event.  Two distinct times separate,
so there is a little ridge.  What is left out is listed with the reason.
"""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet as ds

NOT_OURS = {
    "check_complex_data": "what is not a number is a missing value by the fixed rule",
    "check_estimators_empty_data_messages": "an error in our own words",
    "check_fit2d_predict1d": "an error in our own words",
    "check_n_features_in_after_fitting": "columns are found by name, so others may be present",
    "check_estimator_sparse_tag": "a sparse matrix is no table: an error in our own words",
    "check_estimator_sparse_array": "a sparse matrix is no table: an error in our own words",
    "check_estimator_sparse_matrix": "a sparse matrix is no table: an error in our own words",
}


class WithPlainOutcome(ds.SurvivalRegression, BaseEstimator):
    """Takes the numbers that scikit-learn's checks hand over for an outcome."""

    def fit(self, X, y=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return super().fit(X, None if y is None else _outcome(y))

    def score(self, X, y=None):
        return super().score(X, None if y is None else _outcome(y))


def _outcome(y):
    values = np.asarray(y, dtype=np.float64).ravel()
    outcome = np.empty(len(values), dtype=[("event", bool), ("time", float)])
    outcome["event"], outcome["time"] = True, values - values.min() + 0.5
    return outcome


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [WithPlainOutcome(intervals=20, ridge=0.01)], expected_failed_checks=lambda _: NOT_OURS
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_a_model_that_is_not_fitted_says_so_without_scikit_learn():
    code = (
        "import sys, discreet as ds\n"
        "try: ds.SurvivalRegression().summary()\n"
        "except (ValueError, AttributeError) as error: print(type(error).__name__)\n"
        "print('sklearn' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["NotFittedError", "False"]

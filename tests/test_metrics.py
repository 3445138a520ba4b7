"""Scores against scikit-survival, lifelines and definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter
from lifelines.utils import concordance_index as lifelines_concordance
from sksurv.metrics import brier_score as sksurv_brier
from sksurv.metrics import concordance_index_censored
from sksurv.metrics import integrated_brier_score as sksurv_integrated
from sksurv.util import Surv

import discreet as ds
from discreet import metrics
from discreet.errors import DataFormError, SettingsError
from discreet.metrics import KaplanMeier, concordance_index
from tests.cohorts import cohort, episodic, schema

TRAIN, TEST = cohort(people=500, seed=31), cohort(people=300, seed=32)
MODEL = ds.SurvivalRegression(schema(24), link="logit").fit(TRAIN)


def surv(table):
    return Surv.from_arrays(
        table["status"].to_numpy(zero_copy_only=False), table["time"].to_numpy()
    )


people = st.lists(
    st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 4), st.integers(0, 5)), max_size=40
)


def by_definition(rows, *, truncated):
    """Every pair, one by one."""
    better, comparable = 0.0, 0
    for event, time, risk, _ in rows:
        for other_event, other_time, other_risk, other_entry in rows:
            later = other_time > time or (other_time == time and not other_event)
            if not (event and later) or (truncated and 0 < time <= other_entry):
                continue
            comparable += 1
            better += 1.0 if risk > other_risk else 0.5 * (risk == other_risk)
    return better / comparable if comparable else 0.5


@given(people)
def test_concordance_is_the_share_of_pairs(rows):
    event, time, risk, _ = (
        (list(column) for column in zip(*rows, strict=True)) if rows else [[]] * 4
    )
    expected = by_definition(rows, truncated=False)
    assert concordance_index(event, time, risk) == pytest.approx(expected, abs=1e-12)


@given(people)
def test_concordance_with_late_entries(rows):
    rows = [(event, time + 1, risk, min(entry, time)) for event, time, risk, entry in rows]
    event, time, risk, entry = (
        (list(column) for column in zip(*rows, strict=True)) if rows else [[]] * 4
    )
    expected = by_definition(rows, truncated=True)
    assert concordance_index(event, time, risk, entry) == pytest.approx(expected, abs=1e-12)


def test_concordance_equals_the_peers():
    risk = MODEL.predict_risk(TEST)
    event, time = TEST["status"].to_numpy(zero_copy_only=False), TEST["time"].to_numpy()
    ours = MODEL.score(TEST)
    assert ours == pytest.approx(concordance_index_censored(event, time, risk)[0], abs=1e-12)
    assert ours == pytest.approx(lifelines_concordance(time, -risk, event), abs=1e-12)


def test_concordance_of_unequal_lengths_is_refused():
    with pytest.raises(DataFormError, match="one length"):
        concordance_index([True], [1.0, 2.0], [1.0, 2.0])


def test_brier_score_equals_scikit_survival():
    times = np.linspace(2, 20, 19)
    survival = MODEL.predict_survival(TEST, times)
    _, theirs = sksurv_brier(surv(TRAIN), surv(TEST), survival, times)
    ours = metrics.brier_score(MODEL, TEST, times, reference=TRAIN)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    integrated = sksurv_integrated(surv(TRAIN), surv(TEST), survival, times)
    ours = metrics.integrated_brier_score(MODEL, TEST, times, reference=TRAIN)
    assert ours == pytest.approx(integrated, rel=1e-10)


def test_integrated_brier_score_chooses_times():
    assert 0.0 < metrics.integrated_brier_score(MODEL, TEST) < 0.25
    with pytest.raises(SettingsError, match="ascending"):
        metrics.integrated_brier_score(MODEL, TEST, [3.0, 2.0])


def test_log_likelihood_of_the_training_data_is_the_fits():
    found = metrics.log_likelihood(MODEL, TRAIN)
    assert found == pytest.approx(MODEL.model_.fit.log_likelihood, rel=1e-12)
    other = ds.SurvivalRegression(schema(24), ridge=0.1, link="logit").fit(TRAIN)
    assert metrics.log_likelihood(other, TRAIN) < found


def test_calibration_groups_people_by_prediction():
    found = metrics.calibration(MODEL, TEST, 12.0, groups=5)
    assert found.persons.sum() == 300
    assert np.all(np.diff(found.predicted) > 0)
    order = np.argsort(MODEL.predict_survival(TEST, 12.0)[:, 0], kind="stable")[:60]
    group = TEST.take(order)
    curve = KaplanMeierFitter().fit(group["time"].to_pandas(), group["status"].to_pandas())
    assert found.observed[0] == pytest.approx(curve.predict(12.0), rel=1e-12)
    assert "predicted" in str(found)
    with pytest.raises(SettingsError, match="groups"):
        metrics.calibration(MODEL, TEST, 12.0, groups=0)


def test_greenwood():
    time, event = TEST["time"].to_numpy(), TEST["status"].to_numpy(zero_copy_only=False)
    ours = KaplanMeier.of(time, event).standard_error(np.array([6.0]))[0]
    theirs = KaplanMeierFitter().fit(time, event)
    survival = theirs.predict(6.0)
    variance = theirs._cumulative_sq_.loc[:6.0].iloc[-1].item()
    assert ours == pytest.approx(survival * np.sqrt(variance), rel=1e-10)


def test_scores_take_files_estimators_and_models(tmp_path):
    MODEL.save(tmp_path / "model.json")
    loaded = ds.load(tmp_path / "model.json")
    assert metrics.log_likelihood(loaded, TEST) == metrics.log_likelihood(MODEL.model_, TEST)


def test_several_rows_a_person_have_no_brier_score():
    public = schema(person=True, entry=True)
    model = ds.SurvivalRegression(public, link="logit").fit(episodic())
    with pytest.raises(SettingsError, match="one row a person"):
        metrics.brier_score(model, episodic(), [3.0])

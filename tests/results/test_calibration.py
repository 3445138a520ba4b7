"""The model against the private life table: numbers, band, picture, file."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import discreet as ds
from discreet.documents.read import document_of
from discreet.errors import ArtefactError, SettingsError
from discreet.plots import events_by_stretch, survival_of_everybody
from discreet.results.life_table import Calibration, LifeTable
from tests.cohorts import cohort, schema
from tests.releases import order, run

EDGES = np.linspace(0.0, 10.0, 101)
ROWS = np.array([[1, 40, 100.0, 200.0], [41, 100, 500.0, 150.0]])


def calibration(expected=(210.0, 140.0), deviation=5.0):
    table = LifeTable.of(ROWS, 1000, EDGES)
    middle = np.column_stack([ROWS[:, :2], ROWS[:, 3], expected, np.full(2, deviation)])
    return Calibration.of(middle, table)


def test_survival_of_everybody_follows_from_expected_events():
    found = calibration()
    first = 1 - 210 / (1000 - 50)
    second = first * (1 - 140 / (700 - 250))
    assert found.survival == pytest.approx([first, second])
    # a model that expects what was released has the life table's survival
    assert calibration(expected=(200.0, 150.0)).survival == pytest.approx(found.table.survival)


def test_the_band_holds_noise_and_sampling():
    without = calibration(deviation=0.0).band()
    greenwood = 200 / (950 * 750)
    assert without[1][0] / calibration().table.survival[0] == pytest.approx(
        np.exp(1.959964 * np.sqrt(greenwood)), rel=1e-5
    )
    lower, upper = calibration(deviation=50.0).band()
    assert np.all(lower < without[0])
    assert np.all(upper >= without[1])


@pytest.mark.parametrize(("deviation", "stretches"), [(5.0, 2), (240.0, 2), (250.0, 1)])
def test_counts_are_drawn_as_far_as_those_at_risk_stand_out_of_the_noise(deviation, stretches):
    found = calibration(deviation=deviation)  # 700 are at risk after two noisy counts
    assert found.supported == stretches
    axes = survival_of_everybody(found, Figure().subplots())
    assert [len(line.get_xdata()) for line in axes.lines] == [stretches + 1] * 2


def test_expected_and_released_events_are_drawn_with_what_chance_may_add():
    axes = events_by_stretch(calibration(), Figure().subplots())
    (model,) = axes.patches
    assert np.array(model.get_data().values) == pytest.approx([210 / 4.0, 140 / 6.0])
    points = axes.containers[0].lines[0]
    assert points.get_ydata() == pytest.approx([200 / 4.0, 150 / 6.0])


def test_a_calibration_that_does_not_go_with_the_life_table_is_refused():
    mapping = run(order(), []).to_mapping()
    assert document_of(mapping).calibration is None
    q = mapping["schema"]["time"]["intervals"]
    table = [[1, q, 10.0, 5.0]]
    good = {"life_table": table, "calibration": [[1, q, 5.0, 4.0, 1.0]]}
    assert document_of(mapping | {"released": good}).calibration.expected == [4.0]
    for odd in ([[1, q, 5.0, 4.0]], [[1, q, 5.0, 4.0, 1.0]] * 2, "x", [[1, q, 5.0, "4", 1.0]]):
        with pytest.raises(ArtefactError):
            document_of(mapping | {"released": good | {"calibration": odd}})


def test_a_release_draws_its_fit_and_a_plain_model_says_that_it_cannot():
    mapping = run(order(), []).to_mapping()
    q = mapping["schema"]["time"]["intervals"]
    mapping["released"] = {
        "life_table": [[1, q, 10.0, 5.0]],
        "calibration": [[1, q, 5.0, 4.0, 1.0]],
    }
    figure = ds.SurvivalRegression._of(document_of(mapping)).plot_fit()
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    assert titles == ["Events by time", "Everybody together"]
    with pytest.raises(SettingsError, match="private life table"):
        ds.SurvivalRegression(schema(), link="logit").fit(cohort()).plot_fit()

"""The life table from released counts, and bands against simulation."""

import numpy as np
import pytest

from discreet.design.link import LINKS, get_link
from discreet.errors import ArtefactError
from discreet.results.life_table import LifeTable
from tests.report.conftest import make_covariance, make_release
from tests.support import survival_band


def test_actuarial_survival_by_hand():
    rows = np.array([[1, 10, 20.0, 30.0], [11, 20, 10.0, 15.0]])
    table = LifeTable.of(rows, 100, np.arange(21) * 0.5)
    np.testing.assert_allclose(table.at_risk, [100, 50])
    first = 1 - 30 / 90
    np.testing.assert_allclose(table.survival, [first, first * (1 - 15 / 45)])
    np.testing.assert_allclose(table.time, [5.0, 10.0])


def test_late_entries_are_at_risk_from_when_they_enter():
    rows = np.array([[1, 10, 0.0, 10.0, 40.0], [11, 20, 0.0, 10.0, 20.0]])
    table = LifeTable.of(rows, 100, np.arange(21.0))
    # 40 of 100 were there from the start or came first; 20 came in the second stretch
    np.testing.assert_allclose(table.at_risk, [80.0, 90.0])


def test_noise_never_gives_a_negative_count_or_a_rising_curve():
    rows = np.array([[1, 1, -5.0, -3.0], [2, 2, 400.0, 900.0], [3, 3, 0.0, 7.0]])
    table = LifeTable.of(rows, 100, np.arange(21.0))
    assert np.all(table.survival >= 0)
    assert np.all(np.diff(table.survival) <= 0)
    assert np.all(table.at_risk >= 0)


def test_a_table_of_the_wrong_shape_is_refused():
    with pytest.raises(ArtefactError, match="four or five numbers"):
        LifeTable.of(np.zeros((2, 3)), 10, np.arange(4.0))


@pytest.mark.parametrize("last", [0, 4, 1.5])
def test_a_stretch_that_ends_outside_the_grid_is_refused(last):
    with pytest.raises(ArtefactError, match="ends at no interval"):
        LifeTable.of(np.array([[1, last, 1.0, 1.0]]), 10, np.arange(4.0))


def test_the_picture_shows_the_curve_and_who_is_at_risk():
    rows = np.array([[1, 10, 20.0, 30.0], [11, 20, 10.0, 15.0]])
    table = LifeTable.of(rows, 100, np.arange(21) * 0.5)
    axes = table.plot()
    (line,) = axes.get_lines()
    np.testing.assert_allclose(line.get_xdata(), [0.0, 5.0, 10.0])
    np.testing.assert_allclose(line.get_ydata(), [1.0, *table.survival])
    assert [text.get_text() for text in axes.texts] == [" 100", "50", " at risk"]
    assert table.plot(axes) is axes


@pytest.mark.parametrize("link", sorted(LINKS))
def test_bands_hold_what_the_delta_method_promises(link):
    covariance = 0.02 * make_covariance(7)
    release = make_release(link, "natural-spline:4", covariance)
    raw = np.array([40.0, 1.0, 0.0])
    band = survival_band(release, raw)
    random = np.random.default_rng(0)
    draws = random.multivariate_normal(release.coefficients.vector, release.covariance, 4000)
    curves = []
    for draw in draws:
        basis = release.design.baseline.basis(80)
        eta = basis @ draw[:4] + raw @ draw[4:]
        curves.append(np.exp(-np.cumsum(get_link(link).survival_loss(eta))))
    low, high = np.quantile(curves, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(band.lower[1:], low, atol=0.02)
    np.testing.assert_allclose(band.upper[1:], high, atol=0.02)

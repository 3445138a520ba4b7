"""Expectations, derivatives and covariances of all released sums."""

import numpy as np
import pytest

from discreet.estimator.expected import expectations
from discreet.estimator.lives import Chances
from tests.estimator.pictures import field_of

CASES = [
    {},
    {"link": "cloglog", "late": True},
    {"link": "probit", "strata": 2},
    {"causes": 2},
    {"stretches": 2},
    {"causes": 2, "strata": 2, "late": True, "stretches": 2},
    {"changes": True},
    {"changes": True, "causes": 2, "strata": 2, "late": True, "stretches": 2},
]


@pytest.mark.parametrize("facts", CASES)
def test_derivatives_are_those_of_the_expectations(facts):
    """All rows by all parameters; the mean of a leaver's whole intervals is held fixed in between."""
    field, _, phi = field_of(**facts)
    target = np.array([phi[field.layout.f(r)] for r in range(field.layout.causes)])
    found = expectations(field, phi, target)
    scale = np.abs(found.slope).max(axis=1) + 1e-3
    for place in range(0, len(phi), max(1, len(phi) // 25)):
        step = np.zeros(len(phi))
        step[place] = 1e-4
        ahead, back = (
            expectations(field, phi + step, target),
            expectations(field, phi - step, target),
        )
        slope = (ahead.mean - back.mean) / 2e-4
        assert np.max(np.abs(slope - found.slope[:, place]) / scale) < 2e-2


@pytest.mark.parametrize("facts", [case for case in CASES if case.get("link") != "probit"])
def test_scores_have_mean_zero_at_the_truth(facts):
    """Under the model itself, whatever the bound takes away."""
    field, prior, _ = field_of(**facts)
    lay, phi = field.layout, prior.mean.copy()
    for r in range(lay.causes):
        phi[lay.f(r)] = field.transcript.steps[0].points[r]
    target = field.transcript.steps[0].points
    found = expectations(field, phi, target)
    rows = lay.causes * len(field.transcript.steps) * lay.size
    deviation = np.sqrt(np.diag(found.within))
    assert np.max(np.abs(found.mean[:rows]) / deviation[:rows]) < 0.05
    scores = found.mean[~field.observed]
    assert np.max(np.abs(scores) / np.sqrt(np.diag(found.within))[-len(scores) :]) < 0.05


@pytest.mark.parametrize("facts", CASES)
def test_everyone_leaves_once(facts):
    field, _, phi = field_of(**facts)
    target = np.array([phi[field.layout.f(r)] for r in range(field.layout.causes)])
    found, t = expectations(field, phi, target), field.transcript
    first = t.causes * len(t.steps) * field.layout.size
    exits = found.mean[first : first + t.exits.values.size]
    assert exits.sum() == pytest.approx(field.persons)


@pytest.mark.parametrize("facts", [{}, {"causes": 2}, {"strata": 2}, {"changes": True}])
def test_information_is_the_variance_of_the_score(facts):
    """Of one cause under the model; off the diagonal causes share the intervals without an event."""
    field, prior, _ = field_of(**facts)
    lay, phi = field.layout, prior.mean.copy()
    target = field.transcript.steps[0].points
    for r in range(lay.causes):
        phi[lay.f(r)] = target[r]
    found = expectations(field, phi, target)
    given = *field.hazards(phi), field.members.entry, field.pieces.lengths
    survive, happen = field.slopes(target)
    curved = Chances.of(field.transcript.link, *given).tries * survive * happen
    mass = field.persons * field.members.weights
    for r, one in enumerate(field.informations(curved, mass)):
        own = np.flatnonzero(~field.observed[: len(found.within)])[
            r * lay.size : (r + 1) * lay.size
        ]
        variance = found.within[np.ix_(own, own)]
        np.testing.assert_allclose(variance, one, rtol=0.02, atol=0.02 * np.abs(one).max())


def test_released_rows_stand_where_expected_ones_do():
    field, _, phi = field_of(causes=2, strata=2, late=True, stretches=2)
    target = np.array([phi[field.layout.f(r)] for r in range(2)])
    found = expectations(field, phi, target)
    assert len(found.mean) == len(field.observed)
    assert field.observed.sum() == len(field.released) == len(field.noise)
    assert found.slope.shape == (len(field.observed), len(phi))
    assert np.all(field.noise > 0.0)

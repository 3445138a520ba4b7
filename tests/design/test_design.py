"""Public coordinates: the same model whatever the coordinates."""

import numpy as np
import pytest

from discreet.design.baseline import NaturalSpline, PiecewiseConstant
from discreet.design.design import Design
from discreet.design.schema import Schema
from discreet.errors import SettingsError
from tests.support import make_design

SCHEMA = Schema.from_mapping(
    {
        "time": {"duration": "t", "event": "e", "horizon": 10.0, "intervals": 40},
        "covariate": [
            {"name": "age", "low": 20, "high": 90},
            {"name": "arm", "levels": ["a", "b", "c", "d"]},
        ],
    }
)


@pytest.mark.parametrize("baseline", [NaturalSpline(4), PiecewiseConstant(6)])
@pytest.mark.parametrize("coordinates", ["orthonormal", "paper"])
def test_user_and_internal_coordinates_give_the_same_predictor(baseline, coordinates):
    design = Design(SCHEMA, baseline, coordinates)
    random = np.random.default_rng(0)
    f = random.normal(size=design.dimension)
    user = design.to_user @ f
    raw = np.array([63.0, 0.0, 1.0, 0.0])
    internal = (raw - design.covariates.centre) * design.covariates.scale
    size = baseline.dimension
    np.testing.assert_allclose(
        baseline.basis(40) @ user[:size] + raw @ user[size:],
        design.basis @ f[:size] + internal @ f[size:],
        atol=1e-12,
    )
    np.testing.assert_allclose(np.linalg.solve(design.to_user, user), f, atol=1e-10)


def test_orthonormal_basis_has_unit_mean_square():
    design = make_design(200, 2, NaturalSpline(5))
    np.testing.assert_allclose(design.basis.T @ design.basis / 200, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(design.basis[:, 0], 1.0)
    times = np.arange(1, 201) / 200
    np.testing.assert_allclose(design.basis_at(times), design.basis, atol=1e-10)


def test_more_parameters_than_intervals_is_refused():
    with pytest.raises(SettingsError, match="more parameters than the time axis"):
        make_design(3, 1, NaturalSpline(4))

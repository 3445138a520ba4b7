"""The typical person of a release: medians and commonest levels of released counts."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.documents.read import document_of
from discreet.errors import ArtefactError

SCHEMA = ds.Schema.from_mapping(
    {
        "time": {"duration": "time", "event": "event", "horizon": 10, "intervals": 20},
        "covariate": [
            {"name": "age", "low": 0, "high": 120},
            {"name": "stage", "levels": ["I", "II", "III"], "missing": "indicator"},
            {"name": "creatinine", "low": 0.1, "high": 100, "scale": "log"},
            {"name": "bmi", "low": 10, "high": 90, "missing": "indicator"},
            {"name": "dose", "low": 0, "high": 8, "scale": "spline:4"},
        ],
    }
)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(5)
    size = 4000
    bmi = random.normal(26, 4, size)
    return pa.table(
        {
            "time": random.exponential(6, size),
            "event": random.random(size) < 0.7,
            "age": random.normal(71, 8, size),
            "stage": random.choice(["I", "II", "III", "?"], size, p=[0.1, 0.2, 0.6, 0.1]),
            "creatinine": np.exp(random.normal(0.3, 0.4, size)),
            "bmi": [
                None if gone else value
                for gone, value in zip(random.random(size) < 0.3, bmi, strict=True)
            ],
            "dose": random.uniform(1, 3, size),
        }
    )


@pytest.fixture(scope="module")
def release(table):
    model = ds.SurvivalRegression(SCHEMA, link="logit")
    return ds.simulate(
        model, table, mechanism=ds.PrivateNewton(epsilon=4.0, delta=1e-6), seed=3
    ).model_


def test_typical_is_the_middle_of_the_released_counts(release):
    age, stage, creatinine, bmi, dose = release.typical
    assert age == pytest.approx(71, abs=2)
    assert stage == 2
    assert creatinine == pytest.approx(np.exp(0.3), rel=0.15)
    assert bmi == pytest.approx(26, abs=1.5)  # those without a number are not at its midpoint, 50
    assert dose == pytest.approx(2, abs=0.3)


@pytest.mark.filterwarnings("ignore::discreet.warnings.RepairWarning")
def test_an_indicator_does_not_make_its_number_look_repeated(release, table):
    assert not [item for item in release.warnings if "bmi" in str(item)]
    private = ds.SurvivalRegression._of(release).standard_errors_.covariates["bmi"]
    exact = (
        ds.SurvivalRegression(SCHEMA, link="logit").fit(table).standard_errors_.covariates["bmi"]
    )
    assert private < 2 * exact  # it was eight times as large when the fill counted


@pytest.mark.parametrize("odd", [[[1.0]], [["x"] * 5], [1.0] * 5, [[1.0] * 4 + [None]], "x"])
def test_a_typical_person_that_does_not_go_with_the_schema_is_refused(release, odd):
    mapping = release.to_mapping()
    mapping["released"] = mapping["released"] | {"typical": odd}
    with pytest.raises(ArtefactError):
        document_of(mapping)

"""The verdict on a chain: accepted where the law is right, rejected where its variance is half."""

import numpy as np
import pytest

from discreet.experiments.agreement import judge, run_agreement
from discreet.experiments.chains import save_states
from discreet.experiments.config import Options


@pytest.fixture
def reference():
    return np.random.default_rng(3).normal([1.0, -2.0, 0.0], [1.0, 0.2, 5.0], (4000, 3))


@pytest.mark.parametrize(("scale", "verdict"), [(1.0, "yes"), (np.sqrt(0.5), "no")])
def test_half_the_variance_is_rejected(reference, scale, verdict):
    spread = scale * np.array([1.0, 0.2, 5.0])
    states = np.random.default_rng(4).normal([1.0, -2.0, 0.0], spread, (6000, 3))
    found = judge(states, reference)
    assert found["accepted"] == verdict
    assert found["variance_ratio"] == pytest.approx(scale**2, rel=0.1)


def test_a_coordinate_that_has_not_mixed_is_not_judged(reference):
    random = np.random.default_rng(5)
    states = random.normal([1.0, -2.0, 0.0], [1.0, 0.2, 5.0], (6000, 3))
    states[:, 2] = np.cumsum(random.normal(size=6000)) / 20.0
    found = judge(states, reference)
    assert (found["judged"], found["accepted"]) == (2, "yes")
    stuck = np.cumsum(random.normal(size=(6000, 3)), axis=0)
    assert judge(stuck, reference)["accepted"] == "not judged"


def test_kept_states_are_judged_once(reference, tmp_path, data_folder):
    options = Options(results=tmp_path, docs=tmp_path, sets=("TB", "WT"), epochs=250)
    save_states(options, "TB", "reference", 0, reference)
    save_states(options, "TB", "corrected", 250, reference[::-1])
    save_states(options, "TB", "printed, step 1/n", 250, 3.0 * reference)
    for _ in range(2):
        rows = run_agreement(options, lambda _: None).rows()
    assert [(r["set"], r["variant"], r["accepted"]) for r in rows] == [
        ("TB", "corrected", "yes"),
        ("TB", "printed, step 1/n", "no"),
    ]

"""The study of transcripts: constants have a meaning and a name of their own, draws are estimated again."""

import importlib
from pathlib import Path

import numpy as np
import pytest

STUDIES = Path(__file__).parents[2] / "studies"
NUMBER = 11
"""A registry of seed 7 with 1,038 people and one cause."""


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(STUDIES)
    return importlib.import_module("transcripts")


def test_measures_are_those_of_the_text(study):
    exact = study.Exact(np.zeros(3), np.diag([1.0, 4.0, 4.0]), 1)
    found = study.Measured.of(np.array([3.0, 2.0, -6.0]), np.diag([1.0, 4.0, 16.0]), exact)
    assert found.err == pytest.approx(np.sqrt((1.0 + 9.0) / 2.0))
    assert found.inside == pytest.approx(2.0 / 3.0)
    assert found.width == pytest.approx(1.5)
    mean, error = study.spread(np.log([2.0, 0.5]))
    assert mean == pytest.approx(1.0)
    assert error == pytest.approx(np.std(np.log([2.0, 0.5]), ddof=1) / np.sqrt(2.0))


@pytest.mark.filterwarnings("ignore")
def test_a_recorded_draw_is_estimated_again_as_it_was(study):
    """With its own constants: the estimate of the draw, but for the rounds that early ones saved."""
    sample = study.registry(7, NUMBER)
    mechanism = study.ds.PrivateNewton(4.0, delta=1e-6)
    with study.recorded() as draws:
        study.ds.simulate(study.model_of(sample), sample.frame, mechanism=mechanism, seed=1)
    (ended,) = draws
    exact = study.exact_of(sample)
    one = study.Recorded("7/11", 4.0, 0, ended.transcript, exact, study.Measured(1.0, 1.0, 1.0))
    turn = ended.transcript.design.to_user
    first = study.Measured.of(turn @ ended.estimate.f[0], turn @ ended.covariance @ turn.T, exact)
    again, misfit = study.estimated(one)
    assert again.err == pytest.approx(first.err, abs=0.1)
    assert again.width == pytest.approx(first.width, rel=0.1)
    assert misfit == pytest.approx(ended.estimate.misfit, rel=0.1)

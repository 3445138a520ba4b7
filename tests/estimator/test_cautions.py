"""What a release says against itself: effects that change, directions that are not reached."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.core.released import Released
from discreet.estimator.cautions import CLEARLY, caution, changes
from discreet.estimator.estimate import Estimate
from discreet.estimator.picture import THETA, picture_of
from discreet.estimator.reach import hidden_strata, missing, unreached
from tests.estimator.pictures import field_of, transcript_of


def stated(field, prior, theta, deviation, misfit=1.0):
    """An estimate whose theta was seen as `theta` with a standard deviation, everything else 0."""
    lay = field.layout
    phi, spread = np.zeros(lay.total), prior.covariance.copy()
    place = lay.theta(0)
    share = THETA**2 / (THETA**2 + deviation**2)
    phi[place] = share * theta
    spread[place, place] = np.eye(lay.columns) * share * deviation**2
    f = np.zeros((1, lay.size))
    f[0, -lay.columns :] = 1.0
    nothing = np.eye(lay.size)
    return Estimate(f, nothing, nothing, phi, spread, nothing[None], misfit, 1)


def test_a_change_is_named_with_the_coefficient_early_and_late():
    field, prior, _ = field_of()
    design = field.transcript.design
    theta = np.array([0.0, -0.4, 0.1])
    (found,) = changes(field, prior, stated(field, prior, theta, 0.1))
    assert found.name == design.schema.coefficient_names[1]
    assert found.distance == pytest.approx(-4.0)
    assert "fades" in found.sentence
    time, user = design.time_dimension, design.to_user
    columns = field.members.columns[:, 0]
    weights = field.members.weights
    spread = np.sqrt(weights @ (columns - weights @ columns) ** 2)
    shift = np.concatenate([np.zeros(time), theta / spread])
    f = np.concatenate([np.zeros(time), np.ones(3)])
    assert found.early == pytest.approx((user @ (f - shift))[time + 1])
    assert found.late == pytest.approx((user @ (f + shift))[time + 1])
    told = caution((found,))
    assert told.code == "varying"
    assert told.coefficients == (found.name,)


def test_a_change_within_its_noise_is_not_named():
    field, prior, _ = field_of()
    theta = np.full(3, 0.98 * CLEARLY * 0.1)
    assert changes(field, prior, stated(field, prior, theta, 0.1)) == ()
    assert caution(()) is None
    clear = np.full(3, 1.05 * CLEARLY * 0.1)
    assert len(changes(field, prior, stated(field, prior, clear, 0.1))) == 3
    assert changes(field, prior, stated(field, prior, clear, 0.1, misfit=2.0)) == ()


def test_a_level_that_may_be_noise_is_not_reached_and_others_are():
    transcript = transcript_of()
    counts = transcript.counts.values.copy()
    counts[-1] = 3.0  # of noise 4
    rare = transcript.having(counts=Released(counts, 4.0))
    for made, expected in ((transcript, 0), (rare, 1)):
        field, prior, _ = picture_of(made)
        directions = unreached(field)
        effects = np.abs(directions[field.layout.size - 3 :]).sum(axis=1)
        assert np.count_nonzero(effects > 1e-9) == expected
    wide = missing(field, prior)
    own = field.layout.size - 1
    assert wide[own, own] > 1.0
    assert abs(wide[own - 2, own - 2]) < 1e-12


def test_a_number_whose_people_are_in_one_bin_is_of_unknown_width():
    transcript = transcript_of()
    counts = transcript.counts.values.copy()
    counts[:8] = 0.0
    counts[3] = 4000.0
    moments = replace(transcript.moments, matrix=transcript.moments.matrix * np.array([0.01, 1, 1]))
    field, prior, _ = picture_of(transcript.having(counts=Released(counts, 4.0), moments=moments))
    known, known_prior, _ = picture_of(transcript)
    place = field.layout.size - 3
    assert (
        missing(field, prior)[place, place] > 50.0 / np.linalg.inv(prior.covariance)[place, place]
    )
    assert missing(known, known_prior)[place, place] == pytest.approx(0.0, abs=1e-9)


def test_two_columns_that_repeat_each_other_are_not_reached():
    transcript = transcript_of()
    moments = transcript.moments
    matrix = moments.matrix.copy()
    matrix[0, 1] = matrix[1, 0] = 0.998 * matrix[0, 0]
    twice = transcript.having(moments=replace(moments, matrix=matrix, noise=moments.noise / 10))
    information = replace(transcript.information, matrices=0.0 * transcript.information.matrices)
    field, _, _ = picture_of(twice.having(information=information))
    found = unreached(field)[field.layout.size - 3 :]
    assert found.shape[1] == 1
    assert found[0, 0] * found[1, 0] < 0.0
    assert found[2, 0] == 0.0
    clear = replace(transcript.information, noise=0.1 * transcript.information.noise)
    field, _, _ = picture_of(twice.having(information=clear))  # it shows them apart
    assert unreached(field).shape[1] == 0


def test_a_stratum_without_people_and_late_times_without_events_are_not_reached():
    transcript = transcript_of(strata=2)
    exits = transcript.exits.values.copy()
    exits[1] = 1.0
    hidden = transcript.having(exits=Released(exits, 3.0))
    assert hidden_strata(hidden).tolist() == [False, True]
    assert not hidden_strata(transcript).any()
    field, _, _ = picture_of(hidden)
    size = field.transcript.design.baseline.dimension
    found = unreached(field)
    assert np.linalg.matrix_rank(found[size : 2 * size]) == size
    assert np.all(found[:size] == 0.0)
    one = transcript_of()
    late = one.exits.values.copy()
    late[0, 1, 1:] = 0.0
    late[0, 0, 1:4] = 0.0
    late[0, 0, 0] = 3000.0
    late[0, 0, 4] = 0.0
    field, _, _ = picture_of(one.having(exits=Released(late, 3.0)))
    assert unreached(field).shape[1] > 0
    assert unreached(picture_of(one)[0]).shape[1] == 0


def test_a_number_with_both_ends_of_its_range_full_has_two_values():
    """A 0/1 column declared as a number: the members are 0 or 1, in the released shares."""
    transcript = transcript_of()
    counts = transcript.counts.values.copy()
    counts[:8] = [3200.0, -3.0, 2.0, 4.0, -1.0, 0.0, 3.0, 800.0]
    field, _, _ = picture_of(transcript.having(counts=Released(counts, 4.0), moments=None))
    low, high = (
        -field.transcript.design.covariates.ranges[0],
        field.transcript.design.covariates.ranges[0],
    )
    x, weights = field.members.columns[:, 0, 0], field.members.weights
    assert weights[(x != low) & (x != high)].sum() < 0.005
    assert weights[x == high].sum() == pytest.approx(0.2, abs=0.01)


def test_a_rare_indicator_declared_as_a_number_has_members_at_both_ends():
    """Hidden in noise of 4 a count, they are as many as of a level of which none was counted."""
    transcript = transcript_of()
    counts = transcript.counts.values.copy()
    counts[:8] = [3998.0, -3.0, 2.0, 4.0, -1.0, 0.0, 3.0, 1.0]
    field, _, _ = picture_of(transcript.having(counts=Released(counts, 4.0), moments=None))
    x, weights = field.members.columns[:, 0, 0], field.members.weights
    high = field.transcript.design.covariates.ranges[0]
    assert np.count_nonzero(x == high) >= 6
    assert 0.3 < 4000.0 * weights[x == high].sum() < 8.5  # the count says 1 give or take 4

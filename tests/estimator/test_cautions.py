"""What a release says against itself: effects that change, directions that are not reached."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.core.bins import Marginal
from discreet.core.released import Released
from discreet.design.baseline import parse_baseline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.estimator.cautions import cautions, tailed
from discreet.estimator.constants import CHANGE
from discreet.estimator.estimate import Estimate
from discreet.estimator.expected import expectations
from discreet.estimator.picture import picture_of
from discreet.estimator.published import Ended, extras
from discreet.estimator.reach import far_away, hidden_shares, hidden_strata, missing, unreached
from discreet.estimator.transcript import Transcript
from discreet.results.proportionality import CLEARLY
from tests.estimator.pictures import field_of, transcript_of


def ended_of(theta=(0.0, 0.0, 0.0), deviation=0.1, misfit=1.0, **facts):
    """Released numbers and an estimate: theta seen so with a standard deviation, all effects 1."""
    field, prior, phi = field_of(**facts)
    lay = field.layout
    spread, share = prior.covariance.copy(), CHANGE**2 / (CHANGE**2 + deviation**2)
    for r in range(lay.causes):
        place = lay.theta(r)
        phi[place] = share * np.array(theta)
        spread[place, place] = np.eye(lay.columns) * share * deviation**2
    f = np.array([phi[lay.f(r)] for r in range(lay.causes)])
    f[:, -lay.columns :] = 1.0
    small, own = 1e-4 * np.eye(lay.causes * lay.size), np.tile(np.eye(lay.size), (lay.causes, 1, 1))
    return Ended(field, prior, Estimate(f, phi, own, misfit, small, small, spread))


def with_exits(ended, exits, deviation=3.0):
    """The same with other counts."""
    transcript = ended.transcript.having(exits=Released(exits, deviation))
    return replace(ended, field=replace(ended.field, transcript=transcript))


def told(ended, code):
    """The cautions of one code."""
    return [one for one in cautions(ended) if one.code == code]


def following(ended):
    """The same with events as the model has them: nothing is wrong."""
    exits = ended.transcript.exits.values.copy()
    exits[0, 1:] = ended.expected_events
    exits[0, 0, -1] += ended.transcript.persons - exits.sum()
    return with_exits(ended, exits)


def test_nothing_is_said_where_all_is_well():
    assert cautions(following(ended_of())) == ()


def test_a_change_is_named_with_the_coefficient_early_and_late():
    theta = np.array([0.0, -0.4, 0.1])
    ended = ended_of(theta)
    design, field = ended.transcript.design, ended.field
    (found,) = told(ended, "varying")
    name = design.schema.coefficient_names[1]
    assert found.coefficients == (name,)
    assert f"{design.schema.coefficient_titles[1]} fades with time" in found.message
    rows = extras(ended)["proportionality"]
    assert rows[:, 0].tolist() == [0, 1, 2]
    assert rows[1, 3] == pytest.approx(-4.0)
    time, user = design.time_dimension, design.to_user
    columns, weights = field.members.columns[:, 0], field.members.weights
    spread = np.sqrt(weights @ (columns - weights @ columns) ** 2)
    shift, f = np.concatenate([np.zeros(time), theta / spread]), ended.estimate.f[0]
    assert rows[:, 1] == pytest.approx((user @ (f - shift))[time:])
    assert rows[:, 2] == pytest.approx((user @ (f + shift))[time:])


def test_a_change_within_its_noise_is_not_named():
    assert told(ended_of(np.full(3, 0.98 * CLEARLY * 0.1)), "varying") == []
    clear = np.full(3, 1.05 * CLEARLY * 0.1)
    (found,) = told(ended_of(clear), "varying")
    assert len(found.coefficients) == 3
    assert told(ended_of(clear, misfit=2.0), "varying") == []


def test_expected_events_are_the_models_among_those_at_risk():
    """In the picture of the model itself they are the picture's own; delta changes who is at risk."""
    ended = ended_of()
    lay, field = ended.field.layout, ended.field
    phi = ended.estimate.phi.copy()
    phi[lay.f(0)], phi[lay.delta(0)] = ended.estimate.f[0], 0.0
    phi[lay.theta(0)], phi[lay.bend(0)] = 0.0, 0.0
    model = replace(ended, estimate=replace(ended.estimate, phi=phi))
    start = field.layout.size * len(ended.transcript.steps)
    own = expectations(field, phi, ended.estimate.f).mean[start + lay.bins : start + 2 * lay.bins]
    assert model.expected_events[0] == pytest.approx(own)
    phi = phi.copy()
    phi[lay.delta(0)] = 1.0  # in the picture more have left when a bin begins
    fewer = replace(ended, estimate=replace(ended.estimate, phi=phi)).expected_events[0]
    assert np.all(fewer[1:] < model.expected_events[0, 1:])


def test_a_model_that_leaves_the_life_table_is_told_with_the_stretch():
    ended = following(ended_of())
    exits = ended.transcript.exits.values.copy()
    exits[0, 1, 2] *= 2.0
    (found,) = told(with_exits(ended, exits), "life-table")
    assert "from time 0.25 to 0.5" in found.message
    assert found.coefficients == tuple(ended.transcript.design.baseline_names)
    assert "natural-spline:5" in found.remedy
    assert told(with_exits(ended, exits, 1000.0), "life-table") == []  # it may be noise


def test_few_at_risk_and_few_events_are_told_from_noise():
    ended = following(ended_of())
    exits = ended.transcript.exits.values
    assert len(told(with_exits(ended, 0.5 * exits), "at-risk")) == 1
    assert told(with_exits(ended, 0.5 * exits, 500.0), "at-risk") == []
    few = exits.copy()
    few[0, 1] = 0.02 * exits[0, 1]
    few[0, 0] += 0.98 * exits[0, 1]
    assert len(told(with_exits(ended, few), "events")) == 1


def test_what_the_prior_says_and_what_noise_hides_is_flagged_by_name():
    ended = following(ended_of())
    names = ended.transcript.design.schema.coefficient_names
    last, size = ended.field.layout.size - 1, ended.field.layout.size
    wide = ended.estimate.covariance.copy()
    prior = ended.prior.covariance[ended.field.layout.f(0), ended.field.layout.f(0)]
    wide[last, last] = 0.9 * prior[last, last]
    noise = replace(ended, estimate=replace(ended.estimate, covariance=wide))
    (found,) = told(noise, "unreached")
    level = ended.transcript.design.baseline_names[0]  # where no covariate has its own zero
    assert found.coefficients == (level, names[-1])
    assert "privacy noise hides" in found.message
    unreached = np.zeros((size, size))
    unreached[last, last] = 1.0
    absent = replace(ended)
    vars(absent)["missing"] = unreached
    (found,) = told(absent, "unreached")
    assert names[-1] in found.coefficients
    assert "few people have these values" in found.message
    assert "drop a column" in found.remedy
    wide[last, last] = 7.0 * ended.estimate.sampling[last, last]
    (found,) = told(noise, "noise")
    assert found.coefficients == (names[-1],)


def test_strata_and_causes_are_named():
    ended = ended_of(strata=2)
    exits = ended.transcript.exits.values.copy()
    exits[1] = 1.0
    (found,) = told(with_exits(ended, exits), "stratum")
    assert len(found.coefficients) == ended.transcript.design.baseline.dimension
    tables = extras(with_exits(ended, exits))
    assert tables["life_tables"][:, 0].tolist() == [0.0] * 5 + [1.0] * 5
    assert np.array_equal(tables["life_table"][:, 2:], exits.sum(axis=0).T)
    (first, second) = told(ended_of(np.full(3, 0.5), causes=2), "varying")
    assert first.message.startswith("Cause c1: ")
    assert second.coefficients[0].startswith("c2: ")


def test_a_number_with_a_heavy_tail_is_named():
    transcript = transcript_of()
    counts = transcript.counts.values.copy()
    counts[:8] = [0.0, 0.0, 0.0, 3960.0, 0.0, 0.0, 0.0, 40.0]
    field, _, _ = picture_of(transcript.having(counts=Released(counts, 1.0), moments=None))
    assert [one.coefficients for one in tailed(field)] == [("x",)]
    assert list(tailed(picture_of(transcript)[0])) == []


def test_a_number_of_which_noise_may_hide_a_tail_is_named_and_its_interval_says_so():
    """Bounds nine times as wide as the people: with much noise those far away may weigh most."""
    transcript = transcript_of()
    end = transcript.design.covariates.ranges[0]
    inner = np.linspace(-end / 9.0, end / 9.0, 13)
    edges = (-end, -end / 3.0, *inner, end / 3.0, end)
    wide = Marginal((0,), len(edges) - 1, edges)
    people = np.exp(-0.5 * (3.0 * (inner[1:] + inner[:-1]) / (2.0 * inner[-1])) ** 2)
    people = np.concatenate([[0.0, 0.0], 4000.0 * people / people.sum(), [0.0, 0.0]])
    counts = np.concatenate([people, transcript.counts.values[8:]])
    f, found = np.full((1, transcript.design.dimension), 0.7), []
    for noise in (0.1, 60.0):
        made = transcript.having(
            marginals=(wide, transcript.marginals[1]), counts=Released(counts, noise), moments=None
        )
        field, _, _ = picture_of(made)
        place = field.layout.size - 3
        found.append(
            (float(hidden_shares(field)[0]), far_away(field, f, np.eye(f.size))[place, place])
        )
        assert [one.coefficients for one in tailed(field)] == ([("x",)] if noise > 1.0 else [])
        assert found[-1][1] == pytest.approx((0.7 * found[-1][0]) ** 2 / 3.0)
    assert found[0][0] < 0.02
    assert 0.5 < found[1][0] < 1.0


def with_a_gap():
    """A number in a tenth of its bounds, far from its fill (the middle), that a tenth of the people lack."""
    covariates = [{"name": "x", "low": 0, "high": 100, "missing": "indicator"}]
    time = {"duration": "t", "event": "e", "horizon": 1.0, "intervals": 8}
    design = Design(
        Schema.from_mapping({"time": time, "covariate": covariates}),
        parse_baseline("natural-spline:2"),
    )
    end = design.covariates.ranges[0]
    numbers = Marginal((0,), 20, tuple(np.linspace(-end, end, 21)))
    counts = np.zeros(20)
    counts[[1, 2, 10]] = 1800.0, 1800.0, 400.0
    exits = np.full((1, 2, 5), 400.0)
    facts = design, get_link("logit"), 4000, 1, np.array([0, 1, 2, 4, 7, 8])
    return Transcript(
        *facts,
        Released(exits, 1.0),
        stretches=(0, 8),
        marginals=(numbers, Marginal((1,), 2)),
        counts=Released(np.concatenate([counts, [3600.0, 400.0]]), 1.0),
    )


def test_the_effect_of_a_missing_number_is_counted_from_where_the_people_are():
    """Not from the middle of the bounds, where the fill is: there a line through the people is far off."""
    field, prior, _ = picture_of(with_a_gap())
    covariates, own = field.transcript.design.covariates, field.layout.f(0)
    present = field.members.weights * (field.members.columns[:, 0, 1] < 0.0)
    mean = present @ field.members.columns[:, 0] / present.sum()
    contrast = np.zeros(field.layout.size)
    contrast[-2:] = -mean[0], covariates.scale[1]  # the fill is at 0
    variance = contrast @ prior.covariance[own, own] @ contrast
    assert 3.0 < np.sqrt(variance) < 8.0
    assert np.sqrt(prior.covariance[own, own][-1, -1]) * covariates.scale[1] > 5.0


def test_what_is_not_known_of_a_number_is_not_known_of_its_indicator_either():
    """A direction of the effect alone moves those without a value against all others."""
    transcript = with_a_gap()
    counts = transcript.counts.values.copy()
    counts[[1, 2]] = 3600.0, 0.0  # all in one bin: of unknown width
    field, _, _ = picture_of(transcript.having(counts=Released(counts, 1.0)))
    direction = unreached(field)[:, 0]
    time, x = field.transcript.design.time_dimension, field.members.columns[:, 0]
    level = direction[:time] @ field.transcript.design.constant
    level = level / (field.transcript.design.constant @ field.transcript.design.constant)
    moved, missing_one = x @ direction[time:] + level, x[:, 1] > 0.0
    assert abs(direction[-2]) == 1.0
    assert np.all(np.abs(moved[missing_one]) < 1e-6)
    assert abs(field.members.weights[~missing_one] @ moved[~missing_one]) < 1e-6


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

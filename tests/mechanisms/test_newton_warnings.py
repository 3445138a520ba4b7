"""A release says when it should not be believed; it says nothing where all is well."""

import dataclasses

import numpy as np

from discreet.mechanisms.newton.varying import Change
from discreet.mechanisms.newton.warnings import (
    Counts,
    Estimate,
    against_life_table,
    cautions,
    dominated,
    few_at_risk,
    few_events,
    tailed,
    unreached,
    varying,
)

NAMES = ("baseline[1]", "age", "group[b]", "group[c]")


def counts(censored=700.0, events=300.0, *, persons=1000, deviation=5.0):
    rows = np.array([[1, 50, censored / 2, events / 2], [51, 100, censored / 2, events / 2]])
    return Counts(rows, deviation, persons)


def estimate(private=1.0, sampling=0.9, prior=10.0, missing=(0.0, 0.0, 0.0, 0.0)):
    size = np.eye(len(NAMES))
    return Estimate(NAMES, size * private**2, size * sampling**2, size * prior**2, np.diag(missing))


def codes(found):
    return [item.code for item in found]


def test_nothing_is_said_where_all_is_well():
    expected = np.array([155.0, 140.0])
    assert cautions(counts(), estimate(), expected, np.arange(101.0)) == ()


def test_missing_durations_show_in_the_exits():
    (told,) = few_at_risk(counts(500.0, 300.0))
    assert told.code == "at-risk"
    assert "800 of 1,000 persons" in told.message
    assert list(few_at_risk(counts(500.0, 300.0, deviation=60.0))) == []  # it may be noise


def test_few_events_are_told_from_noise_and_from_coefficients():
    assert codes(few_events(counts(events=39.0), 4)) == ["events"]
    assert codes(few_events(counts(events=41.0), 4)) == []
    assert codes(few_events(counts(events=41.0, deviation=20.0), 4)) == ["events"]
    assert "About 0 events" in next(few_events(counts(events=-30.0), 4)).message


def test_what_the_prior_says_alone_is_flagged_by_name():
    covariance = np.diag([1.0, 36.0, 1.0, 1.0])
    wide = Estimate(NAMES, covariance, np.eye(4), 100.0 * np.eye(4), np.zeros((4, 4)))
    (told,) = unreached(wide)
    assert told.coefficients == ("age",)
    assert "age" in told.message
    assert list(unreached(estimate(private=4.9))) == []


def test_a_coefficient_along_an_unreached_direction_is_flagged():
    (told,) = unreached(estimate(missing=(0.0, 0.6, 0.4, 0.6)))
    assert told.coefficients == ("age", "group[c]")
    assert "age, group[c]: few people have these values" in told.message
    assert "privacy noise hides" not in told.message


def test_each_cause_of_not_knowing_has_its_own_sentence_and_remedy():
    """Noise, a direction that is not reached, and a stretch of time, by the numbers."""
    found = estimate(private=9.9, missing=(0.0, 0.0, 0.0, 0.0))
    (noisy,) = unreached(found)
    assert "age, group[b], group[c]: privacy noise hides them; a larger epsilon" in noisy.message
    assert "few people" not in noisy.message
    names = ("baseline[1]", "age", "group[b]", "group[c]")
    timed = dataclasses.replace(estimate(missing=(0.6, 0.0, 0.0, 0.6)), names=names)
    (told,) = unreached(timed)
    assert "baseline[1]: too few events in part of the time; fewer knots" in told.message
    assert "group[c]: few people have these values" in told.message


def test_sentences_call_coefficients_as_tables_do():
    """Codes stay names; a reader knows the labels."""
    titles = ("level", "Age in years", "Group: second", "Group: third")
    found = dataclasses.replace(estimate(missing=(0.0, 0.6, 0.4, 0.6)), titles=titles)
    (told,) = unreached(found)
    assert told.coefficients == ("age", "group[c]")
    assert "Age in years, Group: third: few people" in told.message
    (told,) = varying(NAMES, np.ones(4), change([0.0, 1.0, 0.0, 0.0]), titles)
    assert "Age in years (grows)" in told.message
    (told,) = tailed(NAMES, np.array([0.0, 0.9, 0.0, 0.0]), 0.4, titles)
    assert "spread of Age in years comes" in told.message
    assert told.coefficients == ("age",)


def test_noise_is_named_where_it_dominates():
    (told,) = dominated(estimate(private=3.0, sampling=1.0))
    assert told.coefficients == NAMES
    assert list(dominated(estimate(private=2.0, sampling=1.0))) == []
    # where the data do not reach it is another caution
    assert list(dominated(estimate(private=3.0, sampling=1.0, prior=4.0))) == []


def test_a_model_that_leaves_the_life_table_is_told_with_the_stretch():
    times = np.linspace(0.0, 10.0, 101)
    (told,) = against_life_table(counts(), np.array([60.0, 150.0]), times)
    assert "from time 0 to 5" in told.message
    assert "60 events, and 150 were released" in told.message
    (dated,) = against_life_table(counts(), np.array([60.0, 150.0]), times * 304.333, "days")
    assert "days it expects" in dated.message
    assert "natural-spline:5" in told.message
    assert "log-time:3" in told.message
    assert list(against_life_table(counts(), np.array([140.0, 160.0]), times)) == []
    noisy = counts(deviation=40.0)
    assert list(against_life_table(noisy, np.array([60.0, 150.0]), times)) == []


def change(theta, deviation=0.25, distance=5.0):
    size = np.ones(len(NAMES))
    return Change(np.array(theta), deviation * size, distance * size, np.zeros(4), np.zeros((4, 4)))


def test_effects_that_change_are_named():
    """Where the effect is no single number (0 here), it is not said which way it goes."""
    (told,) = varying(NAMES, np.array([2.0, 2.0, 2.0, -2.0]), change([0.0, 1.0, 0.2, 0.9]))
    assert told.coefficients == ("age", "group[c]")
    assert "age (grows), group[c] (fades)." in told.message
    (told,) = varying(NAMES, np.zeros(4), change([0.0, 0.0, 0.0, 0.9]))
    assert ": group[c]. The model" in told.message


def test_a_change_that_may_be_noise_is_not_named():
    """Neither a theta within its noise nor a moment that the largest of a few may well be."""
    effects = np.ones(4)
    assert list(varying(NAMES, effects, change([0.0, 0.7, 0.0, 0.0]))) == []
    assert list(varying(NAMES, effects, change([0.0, 1.0, 0.0, 0.0], distance=3.0))) == []
    # columns made of others have no change of their own
    assert list(varying(NAMES, effects, change([0.0] * 4, deviation=0.0))) == []

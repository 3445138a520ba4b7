"""`ds.plan` and `discreet plan` with competing risks: an error for each cause, a word on rare ones."""

import pytest

import discreet as ds
from discreet.errors import SettingsError
from tests.test_causes import mapping

EVENTS = {"cancer": 900, "other": 30}


@pytest.fixture(scope="module")
def found():
    return ds.plan(mapping(), 5_000, EVENTS, epsilon=[1.0])


def test_every_cause_has_an_error_and_a_rare_one_a_larger_one(found):
    errors = [found.parts[cause].best(1.0).standard_errors for cause in EVENTS]
    assert all(rare > common for common, rare in zip(*errors, strict=True))
    assert all(part.best(1.0).mechanism == "newton" for part in found.parts.values())
    (sentence,) = found.rare()
    assert sentence.startswith("Cause other is rare: about 30 events for 5 coefficients")
    assert "Cause: cancer" in str(found)


def test_two_causes_cost_no_more_noise_than_one():
    """The predicted error of a cause is that of a model with this event alone.

    Of so many people that their information is released in both: without it slopes are doubted more.
    """
    one = {**mapping(), "time": {**mapping()["time"], "causes": None, "event_values": ["C"]}}
    alone = ds.plan(one, 50_000, 9_000, epsilon=[1.0])
    error = {item.mechanism: item.error for item in alone.found[1.0]}["newton"]
    both = ds.plan(mapping(), 50_000, {"cancer": 9_000, "other": 300}, epsilon=[1.0])
    assert both.parts["cancer"].best(1.0).error == pytest.approx(error, rel=0.05)


@pytest.mark.parametrize(
    ("events", "says"),
    [
        (900, "events for each"),
        ({"cancer": 900}, "how many events each cause has"),
        ({"cancer": 4_000, "other": 2_000}, "more events together"),
    ],
)
def test_events_that_make_no_sense_are_refused(events, says):
    with pytest.raises(SettingsError, match=says):
        ds.plan(mapping(), 5_000, events)


def test_the_command(tmp_path, command):
    (tmp_path / "schema.toml").write_text(
        '[time]\nduration = "time"\nevent = "cause"\nhorizon = 20\nintervals = 20\n'
        'causes = { cancer = ["C", 1], other = ["O", 2] }\n'
        '[[covariate]]\nname = "age"\nlow = 40\nhigh = 90\n'
    )
    words = ["plan", "--schema", tmp_path / "schema.toml", "--persons", 5000, "--events"]
    shown = command(*words, "cancer=900,other=30")
    assert shown.status == 0
    assert "Cause: cancer" in shown.out
    assert "Cause other is rare" in shown.out
    assert shown.out.count("The model has 4 coefficients for each cause, the baseline's") == 1
    shown = command(*words, "900")
    assert shown.status != 0
    assert "cancer=900" in shown.err

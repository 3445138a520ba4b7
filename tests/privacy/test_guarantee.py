"""A guarantee is frozen data: valid or refused, the same after JSON, and plain in words."""

import dataclasses
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ArtefactError, SettingsError
from discreet.privacy.guarantee import ASSUMPTION, Guarantee

GUARANTEES = st.builds(
    Guarantee,
    epsilon=st.floats(1e-9, 1e9),
    delta=st.floats(1e-15, 0.5),
    rho=st.floats(1e-12, 1e3),
    relation=st.sampled_from(["replace-one", "add-remove"]),
    status=st.sampled_from(["proved", "conditional", "ideal-draw-only", "unproved"]),
    gaussian=st.booleans(),
) | st.builds(
    Guarantee,
    epsilon=st.floats(1e-9, 1e9),
    relation=st.sampled_from(["replace-one", "add-remove"]),
)


@pytest.mark.parametrize("epsilon", [0, 0.0, -1.0, math.inf, math.nan, "1", None, True])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    with pytest.raises(SettingsError, match="epsilon must be a finite number greater than 0"):
        Guarantee(epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, math.inf, math.nan, "0", None, False])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(SettingsError, match="delta must be a number of at least 0"):
        Guarantee(1.0, delta)


@pytest.mark.parametrize("rho", [0.0, -1.0, math.inf, math.nan, "1"])
def test_a_rho_that_is_none_is_refused(rho):
    with pytest.raises(SettingsError, match="rho must be a finite number greater than 0"):
        Guarantee(1.0, 1e-6, rho)


def test_zcdp_without_delta_has_no_epsilon():
    with pytest.raises(SettingsError, match="needs a delta"):
        Guarantee(1.0, 0.0, 0.1)


@pytest.mark.parametrize(
    "wrong", [{"relation": "replace"}, {"unit": "row"}, {"status": "hoped"}, {"relation": None}]
)
def test_words_that_mean_nothing_are_refused(wrong):
    with pytest.raises(SettingsError, match="must be one of"):
        Guarantee(1.0, **wrong)


def test_a_guarantee_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Guarantee(1.0).epsilon = 0.1


@given(GUARANTEES)
def test_json_brings_it_back(guarantee):
    text = json.dumps(guarantee.to_mapping(), allow_nan=False)
    assert Guarantee.from_mapping(json.loads(text)) == guarantee


@pytest.mark.parametrize(
    "change", [{"epsilon": -1.0}, {"epsilon": "1"}, {"more": 1}, {"status": "x"}, {"delta": None}]
)
def test_a_stored_guarantee_is_not_believed(change):
    mapping = Guarantee(1.0).to_mapping() | change
    with pytest.raises(ArtefactError):
        Guarantee.from_mapping(mapping)
    shorter = Guarantee(1.0).to_mapping()
    del shorter["unit"]
    with pytest.raises(ArtefactError, match="exactly the keys"):
        Guarantee.from_mapping(shorter)


def test_kinds():
    assert Guarantee(1).kind == "pure"
    assert Guarantee(1, 1e-6, 0.02).kind == "zcdp"
    assert Guarantee(1, 1e-6, 0.02, gaussian=True).kind == "gaussian"


def test_noise_with_a_delta_has_a_rho():
    with pytest.raises(SettingsError, match="a guarantee with delta needs a rho"):
        Guarantee(1, 1e-6)
    with pytest.raises(SettingsError, match="Gaussian noise needs a rho"):
        Guarantee(1, 1e-6, gaussian=True)
    with pytest.raises(SettingsError, match="gaussian must be one of False, True"):
        Guarantee(1, 1e-6, 0.02, gaussian=1)


def test_a_guarantee_without_gaussian_noise_is_written_as_before():
    assert "gaussian" not in Guarantee(1, 1e-6, 0.02).to_mapping()
    assert Guarantee(1, 1e-6, 0.02, gaussian=True).to_mapping()["gaussian"] is True


def test_numbers_are_the_decimals_they_show():
    guarantee = Guarantee(0.1, 1e-6, 0.3)
    assert guarantee.exact_epsilon == Fraction(1, 10)
    assert guarantee.exact_rho == Fraction(3, 10)
    assert Guarantee(1).exact_rho == 0


def test_the_sentence_says_what_is_promised():
    words = Guarantee(1.0).sentence()
    assert "any one person were replaced" in words
    assert "at most 2.72 times and at least 0.368 times as high (epsilon = 1)." in words
    assert "at most 73% sure" in words
    assert "exception" not in words
    assert "perfect draw" not in words


def test_words_of_earlier_versions_say_the_same_promise():
    """Files of 0.1 and 0.2 are read: one sentence of theirs was put into plainer words."""
    for guarantee in (Guarantee(1.0), Guarantee(2.0, 1e-6, 0.02), Guarantee(1e9)):
        words = guarantee.sentence()
        earlier = words.replace(
            "A reader who held a fact about one person to be as likely true as false",
            "Somebody for whom a fact about one person was an even bet",
        )
        assert guarantee.is_said_by(words)
        assert guarantee.is_said_by(earlier)
        assert not guarantee.is_said_by(words.replace("any one person", "nobody"))


def test_the_sentence_names_what_weakens_the_promise():
    assert "probability at most 1e-06 (delta)" in Guarantee(1.0, 1e-6, 0.02).sentence()
    assert "left out of the data or added" in Guarantee(1.0, relation="add-remove").sentence()
    assert "perfect draw only" in Guarantee(1.0, status="ideal-draw-only").sentence()
    conditional = Guarantee(1.0, status="conditional").sentence()
    assert conditional.endswith("both are tested, neither is proved.")
    assert Guarantee(1.0).sentence() + " " + ASSUMPTION == conditional
    unproved = Guarantee(1.0, status="unproved").sentence()
    assert unproved.startswith("Nothing is promised.")
    assert "sampler" not in unproved
    assert "% sure" not in unproved
    weak = Guarantee(1e9).sentence()
    assert "weak" in weak
    assert "% sure" not in weak

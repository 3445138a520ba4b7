"""What differs is named before anybody is charged."""

import json

import pytest

from discreet.errors import FederationError
from discreet.federation.agreement import agree, arithmetic, compare, digest, public_facts
from tests.cohorts import schema


class Exchange:
    """A mesh whose other sites say what a test gives them."""

    def __init__(self, *others):
        self.others = others

    def exchange(self, payload):
        return [payload, *(payload if item is None else item for item in self.others)]


def message(facts, persons=10, release_id="r2"):
    return json.dumps({"facts": facts, "persons": persons, "release_id": release_id}).encode()


FACTS = public_facts(schema(), {"epsilon": 1.0, "delta": None})


def test_sites_that_agree_add_their_persons_and_take_the_name_of_site_0():
    found = agree(Exchange(message(FACTS, 30), message(FACTS, 5)), FACTS, 20, "r1")
    assert found.persons == (20, 30, 5)
    assert found.total == 55
    assert found.release_id == "r1"


def other_schema():
    mapping = schema().to_mapping()
    mapping["covariate"][0]["high"] = 95
    return type(schema()).from_mapping(mapping)


@pytest.mark.parametrize(("facts", "named"), [
    (public_facts(other_schema(), {"epsilon": 1.0, "delta": None}), "the schema's covariate 'age' (site 2)"),
    (public_facts(schema(intervals=13), {"epsilon": 1.0, "delta": None}), "the schema's time (site 2)"),
    (public_facts(schema(), {"epsilon": 1.5, "delta": None}), "the setting epsilon (site 2)"),
    (public_facts(schema(), {"epsilon": 1.0}), "the setting delta (site 2)"),
    ({**FACTS, "numpy": "1.0"}, "numpy (site 2 has 1.0, this one"),
    ({**FACTS, "discreet": "0.0.1"}, "discreet (site 2 has 0.0.1, this one"),
    ({**FACTS, "the machine's arithmetic": digest(1)}, "the machine's arithmetic (site 2)"),
])  # fmt: skip
def test_what_differs_is_named(facts, named):
    with pytest.raises(FederationError) as caught:
        agree(Exchange(message(FACTS), message(facts)), FACTS, 20, "r1")
    assert named in str(caught.value)
    assert "site 1" not in str(caught.value)
    assert str(caught.value).endswith("Nothing was charged.")


def test_what_another_site_calls_its_facts_stays_short():
    odd = {"x" * 5_000 + str(k): "a" for k in range(1_000)} | {"numpy": "1" * 5_000}
    with pytest.raises(FederationError) as caught:
        agree(Exchange(message({**FACTS, **odd})), FACTS, 20, "r1")
    said = str(caught.value)
    assert said.count("x" * 60 + " (site 1)") == 7  # and numpy: eight are named
    assert "numpy (site 1)" in said
    assert "x" * 61 not in said


@pytest.mark.parametrize("odd", [
    b"", b"[]", b"{", b'{"facts": {}, "persons": 0, "release_id": "r"}',
    b'{"facts": {"a": 1}, "persons": 3, "release_id": "r"}',
    b'{"facts": {}, "persons": true, "release_id": "r"}',
    b'{"facts": {}, "persons": 3, "release_id": 4}', b"[" * 100_000,
    message({"\x1b[2J": "a"}), message({"numpy": "\x1b[31m"}),
])  # fmt: skip
def test_an_odd_message_is_an_error_not_a_crash(odd):
    with pytest.raises(FederationError, match="Nothing was charged"):
        agree(Exchange(odd), FACTS, 20, "r1")


def test_bytes_are_compared():
    compare(Exchange(None, None), "the release", b"same")
    with pytest.raises(FederationError, match=r"differ in the release \(this one from site 2\)"):
        compare(Exchange(None, b"other"), "the release", b"same")


def test_arithmetic_is_the_same_twice():
    assert arithmetic() == arithmetic() == FACTS["the machine's arithmetic"]

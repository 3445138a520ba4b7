"""Nobody's row changes another's: every container, engine and kind of id, from bytes to integers."""

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.people.columns import ArrowColumn, NumberColumn, ObjectColumn
from discreet.people.identity import Ids, Kind, identity, sip_hash
from tests.people import metamorphic as world


@pytest.mark.parametrize("kind", world.IDS)
@pytest.mark.parametrize(("engine", "container"), world.CASES)
def test_replacing_a_person_moves_nobody_else(engine, container, kind, tmp_path):
    *names, free = world.IDS[kind]
    people, make = world.make_people(names), world.ENGINES[engine][1][container]
    others = list(world.replacements(names[2], free))
    try:
        world.check_replacements(engine, make, people, others, tmp_path)
    except world.NotHeld:
        pytest.skip("this container does not hold such ids")


@pytest.mark.parametrize(("engine", "container"), world.CASES)
def test_rows_without_an_id_are_people_of_their_own(engine, container, tmp_path):
    make, hold = world.ENGINES[engine][0], world.ENGINES[engine][1][container]
    for number, gap in enumerate(world.MISSING):
        name = "somebody" if isinstance(gap, str) else 5
        people = world.make_people([gap, name])
        people = [(people[0][0],) * 3, people[1], (people[0][0],)]
        (tmp_path / str(number)).mkdir()
        held = hold(people, tmp_path / str(number))
        engine_over = make(held)
        assert engine_over.persons == 5
        world.check_sums(engine_over, people, held)


@pytest.mark.parametrize(
    "pair", [pair for pairs in world.ALIKE.values() for pair in pairs], ids=str
)
def test_ids_that_are_one_person(pair):
    assert identity(pair[0]) == identity(pair[1])
    for one in pair:  # whatever else is in the column
        assert Ids.of(ObjectColumn([*pair, "x", None, one])).codes()[1] == 3


def test_ids_that_are_different_people():
    every = [value for values in world.IDS.values() for value in values]
    for one, other in [*world.DIFFERENT, *combinations(every, 2)]:
        same = world.person_key(one, 0) == world.person_key(other, 0)
        assert (identity(one) == identity(other)) == same, (one, other)
    assert all(identity(value) == (Kind.NONE, 0) for value in world.MISSING)


def test_sip_hash_is_the_published_one():
    """Aumasson and Bernstein's vectors, of 8 and 16 bytes, under the key 00 01 ... 0f."""
    key = bytes(range(16))
    for words, digest in {1: 0x93F5F5799A932462, 2: 0x3F2ACC7F57C29BDB}.items():
        message = np.frombuffer(bytes(range(8 * words)), dtype="<u8")
        found = sip_hash([message[word : word + 1] for word in range(words)], key)
        assert found.tolist() == [digest]


@pytest.mark.parametrize("kind", world.IDS)
def test_digests_tell_people_apart_and_do_not_depend_on_the_column(kind):
    """Every way into `Ids`, the same digests; another key, other digests."""
    values = world.IDS[kind]
    ways = [Ids.of(ObjectColumn(values)), *arrow_ways(values)]
    found = [sorted(ids.digests(bytes(range(16))).tolist()) for ids in ways]
    assert len(set(found[0])) == len(values)
    assert all(other == found[0] for other in found)
    assert not set(found[0]) & set(ways[0].digests(bytes(16)).tolist())


def arrow_ways(values):
    """The column that arrow makes of the values, whole, in slices, and as a dictionary."""
    try:
        array = world._array("id", values)
    except world.NotHeld:
        return
    yield Ids.of(ArrowColumn(array))
    longer = pa.concat_arrays([array[:2], array])
    yield Ids.of(ArrowColumn(longer[2:]))
    yield Ids.of(ArrowColumn(pa.chunked_array([longer[2:4], array[2:]])))
    if not pa.types.is_decimal(array.type):
        yield Ids.of(ArrowColumn(array.dictionary_encode()))


@given(st.lists(st.one_of(st.text(max_size=20), st.binary(max_size=20), st.integers(), st.floats(),
                          st.none(), st.booleans(), st.decimals(), st.fractions())))  # fmt: skip
def test_codes_are_the_identities_one_by_one(values):
    ids = Ids.of(ObjectColumn(values))
    codes, persons = ids.codes()
    keys = [(row,) if identity(v)[0] == Kind.NONE else identity(v) for row, v in enumerate(values)]
    assert persons == len(set(keys)) == len(set(codes.tolist()))
    assert len(set(zip(keys, codes.tolist(), strict=True))) == persons
    assert len(ids.digests(bytes(16))) == persons - int(ids.missing.sum())


@given(st.lists(st.one_of(st.none(), st.floats(), st.floats(width=32))))
def test_doubles_are_the_identities_one_by_one(values):
    array = pa.array(values, pa.float64())
    for ids in (Ids.of(ArrowColumn(array)), Ids.of(NumberColumn(np.array(values, float)))):
        assert ids.codes()[1] == Ids.of(ObjectColumn(values)).codes()[1]
        assert set(ids.digests(bytes(16))) == set(Ids.of(ObjectColumn(values)).digests(bytes(16)))


@given(st.lists(st.one_of(st.none(), st.binary(max_size=30))))
def test_bytes_of_any_kind_are_ids(values):
    """Not only UTF-8: a file may hold anything."""
    raw = pa.array(values, pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    for array in (raw, text, raw.cast(pa.large_binary())):
        ids, other = Ids.of(ArrowColumn(array)), Ids.of(ObjectColumn(values))
        assert np.array_equal(ids.codes()[0], other.codes()[0])
        assert np.array_equal(ids.digests(bytes(16)), other.digests(bytes(16)))

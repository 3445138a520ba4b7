"""Neighbours on one transcript: no vector moves further than its noise is made for, and all can."""

import dataclasses
from pathlib import Path

import pytest

from discreet.core import question
from discreet.engine.cluster import local_client
from tests import replay, tight

SCENES = (0, 2, 3, 5, 7, 9, 16, 20)
"""Among them every kind of vector; `evidence/replay.py` draws many more."""
WITNESSES = tight.witnesses()
CALIBRATED = {
    "of_counts": ("exits", "exits and entries", "exits by cause", "marginals"),
    "of_marginals": ("marginals", "marginals of values that change"),
    "of_moments": ("moments", "moments of values that change"),
    "of_group_counts": tuple(name for name in WITNESSES if name.startswith("group counts")),
    "SCORES": ("scores", "clipped scores", "scores of causes", "scores of effects that change"),
    "INFORMATION": ("information", "information of causes"),
}
"""What a sensitivity is made by, and the vectors that have it."""


@pytest.fixture(scope="module")
def client():
    client = local_client(workers=2)
    yield client
    client.close()
    client.cluster.close()


@pytest.mark.parametrize("seed", SCENES)
def test_neighbours_move_no_vector_further_than_its_sensitivity(seed, tmp_path):
    scene = replay.random_scene(seed)
    opening = replay.in_memory if seed % 4 else replay.streamed
    ratios = replay.replayed(scene, opening, tmp_path)
    assert ratios
    assert all(one.within for one in ratios)


@pytest.mark.parametrize("seed", [0, 1, 4, 12, 24])
def test_neighbours_of_changing_effects_move_no_vector_further(seed, tmp_path):
    scene = replay.changing_scene(seed)
    opening = replay.in_memory if seed % 4 else replay.streamed
    ratios = replay.replayed(scene, opening, tmp_path)
    assert ratios
    assert all(one.within for one in ratios)


def test_changing_effects_on_a_cluster(client, tmp_path):
    with client.as_current():
        ratios = replay.replayed(replay.changing_scene(1), replay.on_dask, tmp_path)
    assert all(one.within for one in ratios)


def test_neighbours_on_a_cluster(client, tmp_path):
    scene = replay.random_scene(2)
    with client.as_current():
        ratios = replay.replayed(scene, replay.on_dask, tmp_path)
    assert ratios
    assert all(one.within for one in ratios)


@pytest.mark.parametrize("name", WITNESSES)
def test_every_sensitivity_is_attained(name, tmp_path):
    asked = WITNESSES[name].asked(replay.in_memory, tmp_path)
    ratio = replay.ratio_of(*asked)
    assert ratio.within
    assert ratio.euclidean >= 0.99
    if asked[0].question.sensitivity.absolute is not None and "change" not in name:
        assert ratio.absolute >= 0.99


def test_witnesses_are_the_same_in_memory_streamed_and_on_a_cluster(client, tmp_path):
    for name, witness in WITNESSES.items():
        found = [
            [one.sums for one in witness.asked(opening, tmp_path)]
            for opening in (replay.in_memory, replay.streamed)
        ]
        with client.as_current():
            found.append([one.sums for one in witness.asked(replay.on_dask, tmp_path)])
        assert found[0] == found[1] == found[2], name


@pytest.mark.parametrize(
    ("maker", "name"), [(maker, name) for maker, names in CALIBRATED.items() for name in names]
)
def test_a_sensitivity_one_percent_too_small_is_noticed(maker, name, tmp_path, monkeypatch):
    original = getattr(question, maker)

    def planted(*arguments, **settings):
        return tight.smaller(original(*arguments, **settings))

    monkeypatch.setattr(question, maker, planted if callable(original) else tight.smaller(original))
    assert not tight.within(WITNESSES[name].asked(replay.in_memory, tmp_path))


def test_every_question_has_a_witness():
    asked = [witness.ask() for witness in WITNESSES.values()]
    known = {name for name in dir(question) if name.startswith("block_")}
    assert {one.block.__name__ for one in asked} == known
    source = Path(question.__file__).read_text()
    vectors = {one.name.removesuffix(" of causes") for one in asked}
    assert len(vectors) == source.count("return Question(")


def test_a_draw_that_looks_at_people_between_its_questions_is_noticed(tmp_path, monkeypatch):
    """Bounds, centres and edges must be those of the answers alone."""
    original = question.scores

    def leaky(causes, persons):
        moved = abs(float(scene_engine[0].episodes.covariates.sum()))
        return original([dataclasses.replace(one, bound=1.0 + moved) for one in causes], persons)

    scene = replay.random_scene(4)
    engines = [replay.in_memory(scene, people, tmp_path) for people in (scene.people, scene.other)]
    scene_engine = [None]

    def outcome(own, engine, noise):
        scene_engine[0] = engine
        return kept(own, engine, noise)

    kept = replay.outcome
    monkeypatch.setattr(replay, "outcome", outcome)
    monkeypatch.setattr(question, "scores", leaky)
    with pytest.raises(AssertionError, match="depends on people"):
        replay.replayed_engines(scene, *engines)

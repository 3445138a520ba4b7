"""What is in the file of a release, and what is refused when a file is read."""

import copy
import dataclasses
import json

import numpy as np
import pytest

import discreet as ds
from discreet.documents.caution import Caution
from discreet.documents.model import Release
from discreet.documents.read import document_of
from discreet.errors import ArtefactError
from discreet.privacy.testing import SeededNoise
from discreet.release import simulate
from tests.releases import TABLE, Fixed, Table, order, run


def test_flags_publish_with_a_warning_in_the_file():
    rough = order(mechanism=Fixed(status="ideal-draw-only"), accept_approximate=True)
    assert any("perfect draw" in str(text) for text in run(rough, []).warnings)
    assert run(order(), []).warnings == ()
    unproved = simulate(order(mechanism=Fixed(status="unproved")), Table([]), SeededNoise(1))
    assert any("No promise is proved" in str(text) for text in unproved.warnings)


def test_cautions_are_written_and_read_and_texts_of_old_files_stay_texts(tmp_path):
    told = Caution.about("unreached", "The data hardly reach stage[3].", ("stage[3]",))
    mapping = run(order(mechanism=Fixed()), []).to_mapping()
    assert mapping["warnings"] == []
    helped = Caution.about("tail", "A few people weigh most.", remedy="Narrow the bounds.")
    old = {"code": "unreached", "message": told.message, "coefficients": ["stage[3]"]}
    note = "The promise is proved for a perfect draw only."
    mapping["warnings"] = [old, note, helped.model_dump()]
    read = document_of(mapping)
    assert (read.warnings[0], read.warnings[2]) == (told, helped)
    assert read.warnings[1].code == "note"
    assert read.to_mapping()["warnings"] == mapping["warnings"]
    without = {key: value for key, value in mapping.items() if key != "warnings"}
    assert document_of(without).warnings == ()
    for odd in ([{"code": "x"}], [{"code": "x", "message": 1}], [1], ["a" * 5000], "x"):
        with pytest.raises(ArtefactError):
            document_of(mapping | {"warnings": odd})


def test_what_a_mechanism_says_against_itself_is_in_the_release_and_its_summary(monkeypatch):
    told = Caution.about("events", "There are hardly any events.", remedy="Wait for more.")
    draw = Fixed.draw

    def cautious(self, plan, loss, noise):
        return dataclasses.replace(draw(self, plan, loss, noise), cautions=(told,))

    monkeypatch.setattr(Fixed, "draw", cautious)
    release = run(order(), [])
    assert release.warnings == (told,)
    assert "Warning: There are hardly any events. Wait for more." in str(
        ds.SurvivalRegression._of(release).summary()
    )
    assert [caution.of_the_promise for caution in release.warnings] == [False]


def test_the_file_holds_released_numbers_and_public_facts_only(tmp_path):
    run(order(release_id="first"), [], tmp_path / "release.json")
    mapping = json.loads((tmp_path / "release.json").read_text())
    assert set(mapping) == {
        "format", "version", "library_version", "private", "schema", "link", "baseline",
        "coefficients", "internal", "persons", "mechanism", "guarantee", "noise_scale",
        "grid_exponent", "details", "released", "release_id", "ledger", "promise", "warnings",
    }  # fmt: skip
    assert mapping["mechanism"] == {
        "name": "fixed",
        "epsilon": 1.0,
        "status": "proved",
        "relation": "replace-one",
    }
    assert mapping["guarantee"]["epsilon"] == 1.0
    assert mapping["guarantee"]["status"] == "proved"
    assert mapping["ledger"] == "no ledger"
    assert mapping["release_id"] == "first"
    assert mapping["persons"] == 120
    assert mapping["released"] == {"profile": [1.0, 2.0]}
    assert "concluded" in mapping["promise"]


def test_a_release_is_a_model(tmp_path):
    run(order(), [], tmp_path / "release.json")
    loaded = ds.load(tmp_path / "release.json")
    assert isinstance(loaded.model_, Release)
    assert loaded.model_.private
    assert loaded.predict_survival(TABLE, [3.0, 12.0]).shape == (120, 2)
    text = str(loaded.summary())
    assert "epsilon = 1" in text
    assert "std. error" not in text
    assert loaded.model_.promise in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    assert loaded.plot() is not None


def test_a_released_covariance_gives_standard_errors(tmp_path):
    mapping = run(order(), []).to_mapping()
    internal = np.diag(np.arange(1.0, 7.0))
    mapping["released"]["covariance"] = internal.tolist()
    model = document_of(mapping)
    transform = model.design.to_user
    expected = np.sqrt(np.diag(transform @ internal @ transform.T))
    model.save(tmp_path / "release.json")
    table = ds.load(tmp_path / "release.json").summary()
    np.testing.assert_allclose(table.standard_errors, expected)
    assert "std. error" in str(table)


MUTATIONS = {
    "another promise": lambda m: m.update(promise="Everything is safe."),
    "a better guarantee": lambda m: m["guarantee"].update(epsilon=0.1),
    "a guarantee of another form": lambda m: m["guarantee"].update(extra=1),
    "off the grid": lambda m: m.update(grid_exponent=-3),
    "an unknown key": lambda m: m.update(seed=3),
    "no persons": lambda m: m.update(persons=0),
    "a missing head": lambda m: m.pop("ledger"),
    "a covariance of another size": lambda m: m["released"].update(covariance=[[1.0]]),
    "a covariance of texts": lambda m: m["released"].update(covariance=[["1"] * 6] * 6),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_changed_release_is_refused(name):
    mapping = copy.deepcopy(run(order(), []).to_mapping())
    document_of(mapping)
    MUTATIONS[name](mapping)
    with pytest.raises(ArtefactError):
        document_of(mapping)

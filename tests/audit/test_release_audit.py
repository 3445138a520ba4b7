"""`discreet audit release.json`: a true release passes, a changed one does not."""

import json

import pytest

import discreet as ds
from discreet.audit import audit_release
from discreet.errors import ArtefactError
from discreet.mechanisms import (
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateNewton,
    SelectedRidge,
)
from discreet.privacy.guarantee import Guarantee
from tests.cohorts import cohort, schema

MECHANISMS = {
    "output": OutputPerturbation(epsilon=1.0),
    "objective": ObjectivePerturbation(epsilon=1.0),
    "newton": PrivateNewton(epsilon=1.0),
    "selected": SelectedRidge(epsilon=1.0, mean_trials=2.0),
}


def published(mechanism, path):
    ds.SurvivalRegression(schema(), link="logit").publish(
        cohort(), mechanism=mechanism, ledger=ds.NO_LEDGER, path=path, accept_approximate=True
    )
    return path


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return published(MECHANISMS["output"], tmp_path_factory.mktemp("release") / "release.json")


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_true_release_passes(name, tmp_path):
    audit = audit_release(published(MECHANISMS[name], tmp_path / "release.json"))
    assert audit.facts["mechanism"] == name
    assert audit.sound, [item for item in audit.findings if item.failed]


def changed(release, tmp_path, change):
    mapping = json.loads(release.read_text())
    change(mapping)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(mapping))
    return path


def claim_less(mapping):
    mapping["guarantee"]["epsilon"] = 0.5
    mapping["promise"] = Guarantee.from_mapping(mapping["guarantee"]).sentence()


CHANGES = {
    "noise scale made again": lambda mapping: mapping.update(noise_scale=1e-3),
    "guarantee made again": claim_less,
    "details made again": lambda mapping: mapping["details"].update(ridge=7.0),
    "warnings that the settings call for": lambda mapping: mapping.update(warnings=["x"]),
    "ledger head": lambda mapping: mapping.update(ledger="somewhere:1:0"),
    "plan made again": lambda mapping: mapping["mechanism"].update(survival=2.0),
    "the file": lambda mapping: mapping["internal"]["baseline"].__setitem__(0, 0.1),
}


@pytest.mark.parametrize("check", CHANGES)
def test_a_changed_release_does_not(check, release, tmp_path):
    audit = audit_release(changed(release, tmp_path, CHANGES[check]))
    assert check in [item.check for item in audit.findings if item.failed]


def test_what_another_version_planned_is_not_called_wrong(release, tmp_path):
    def older(mapping):
        mapping.update(noise_scale=1e-3, library_version="0.1.0")

    found = {item.check: item for item in audit_release(changed(release, tmp_path, older)).findings}
    assert found["noise scale made again"].verdict == "not applicable"
    assert "audit with discreet 0.1.0" in found["noise scale made again"].note
    assert found["guarantee made again"].verdict == "pass"


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text("{}")
    with pytest.raises(ArtefactError, match="not a release"):
        audit_release(path)


@pytest.mark.parametrize(("check", "status"), [(None, 0), ("noise scale made again", 5)])
def test_the_command(check, status, release, tmp_path, monkeypatch, command):
    path = release if check is None else changed(release, tmp_path, CHANGES[check])
    monkeypatch.setenv("COLUMNS", "80")
    said = command("audit", path)
    assert said.status == status
    printed = said.out
    assert "verdict" in printed
    assert "coefficients named by the schema" in printed  # in one piece
    assert max(map(len, printed.splitlines())) <= 80
    assert ("Nothing failed." in printed) is (status == 0)

"""The private model of competing risks as users have it: publish, file, commands, audit."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as ds
from discreet.audit.release import audit_release
from discreet.documents.causes import CausesRelease
from discreet.documents.read import read_document
from discreet.errors import ArtefactError, BudgetError, SettingsError
from discreet.ledger import Ledger
from discreet.mechanisms import OutputPerturbation
from tests.json_schema import is_valid
from tests.scripts import script
from tests.test_causes import aalen_johansen, mapping, people

NEW = people(4, seed=9)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """One private release, written, with its ledger."""
    folder = tmp_path_factory.mktemp("causes")
    ledger = folder / "budget.db"
    Ledger(ledger).initialise("registry", "3", "1e-4")
    path = folder / "release.json"
    model = ds.SurvivalRegression(mapping(), link="logit")
    model.publish(people(3000), mechanism=ds.PrivateNewton(1.0), ledger=str(ledger), path=path)
    return model, path, ledger


def test_a_release_is_one_file_with_a_block_per_cause(released):
    model, path, _ = released
    found = read_document(path)
    assert isinstance(found, CausesRelease)
    assert list(found.coefficients) == ["cancer", "other"]
    assert found.guarantee.epsilon == 1.0
    assert found.to_mapping() == model.release_.to_mapping()
    times, loaded = [5.0, 20.0], ds.load(path)
    np.testing.assert_array_equal(
        loaded.predict_incidence(NEW, "cancer", times),
        model.predict_incidence(NEW, "cancer", times),
    )
    assert isinstance(loaded, ds.SurvivalRegression)
    assert str(loaded.summary()) == str(model.summary())
    total = model.predict_survival(NEW, times) + sum(
        model.predict_incidence(NEW, cause, times) for cause in found.causes
    )
    np.testing.assert_allclose(total, 1.0, atol=1e-12)
    assert is_valid(found.to_mapping(), script("docs/release_schema.py").release_schema())


def test_a_release_has_its_page_its_audit_and_its_pictures(released, tmp_path):
    model = ds.load(released[1])
    model.page(tmp_path / "page.html")
    assert model.audit().sound
    assert len(model.plot_fit().axes) == 4
    assert model.life_table_.events.sum() > 0
    table = model.proportionality()
    assert {name.partition(": ")[0] for name in table.row_names} <= {"cancer", "other"}


def test_intervals_hold_the_noise(released):
    private, _, _ = released
    plain = ds.SurvivalRegression(mapping(), link="logit").fit(people(3000))
    found = [
        model.predict_incidence(NEW, "cancer", [10.0], interval=True) for model in (private, plain)
    ]
    widths = [item.upper - item.lower for item in found]
    assert np.all(widths[0] > widths[1])
    assert np.all(np.linalg.eigvalsh(private.model_.internal_covariance) > 0)


def test_the_ledger_is_charged_once_and_refuses_what_it_cannot_pay(released):
    _, _, ledger = released
    model = ds.SurvivalRegression(mapping(), link="logit")
    with pytest.raises(BudgetError):
        model.publish(people(300), mechanism=ds.PrivateNewton(4.0), ledger=str(ledger))


def test_the_audit_of_a_release_is_sound_and_notices_a_change(released, tmp_path):
    _, path, _ = released
    found = audit_release(path)
    assert found.sound
    checks = [item.check for item in found.findings]
    assert len(set(checks)) == len(checks)
    for cause in ("cancer", "other"):
        assert f"{cause}: coefficients from internal values" in checks
    changed, content = tmp_path / "changed.json", path.read_text()
    other = {"name": "output", "epsilon": 1.0, "survival": 0.5}  # has no proof for causes
    for place, name, value in (
        ("details", "causes", 3),
        (None, "mechanism", other),
        ("internal", "cancer", None),
    ):
        found = json.loads(content)
        if value is None:
            found[place][name]["covariates"][0] += 1e-9
        else:
            (found if place is None else found[place])[name] = value
        changed.write_text(json.dumps(found))
        assert not audit_release(changed).sound
    with pytest.raises(ArtefactError):
        read_document(changed)


def test_the_life_table_is_aalen_johansen():
    """With next to no noise the released counts give the estimate of the definition."""
    table = people(2000)
    mechanism = ds.PrivateNewton(1e6, 1e-6)
    model = ds.simulate(
        ds.SurvivalRegression(mapping(), link="logit"), table, mechanism=mechanism, seed=1
    ).model_
    curve, frame = model.aalen_johansen, table.to_pandas()
    for place, value in enumerate(("C", "O")):
        exact = aalen_johansen(np.ceil(frame.time), frame.cause, value)
        ends = model.exits[:, 1].astype(int) - 1
        found = curve.incidence[place].estimate
        np.testing.assert_allclose(found, exact[ends], atol=0.01)


def test_with_next_to_no_noise_the_fit_without_privacy_comes_out():
    table = people(3000)
    plain = ds.SurvivalRegression(mapping(), link="logit").fit(table).model_
    found = ds.simulate(
        ds.SurvivalRegression(mapping(), link="logit"),
        table,
        mechanism=ds.PrivateNewton(1000.0),
        seed=2,
    ).model_
    for cause in plain.causes:
        gap = found.internal[cause].vector - plain.internal[cause].vector
        errors = np.sqrt(np.diag(found.models[cause].covariance))
        user = found.models[cause].design.to_user @ gap
        assert np.max(np.abs(user) / errors) < 0.5


def test_files_in_parts_give_the_same_release(tmp_path):
    """Streamed blocks add up to the same integers, so the seeded release is the same."""
    table = people(900)
    for number in range(3):
        pq.write_table(table.slice(300 * number, 300), tmp_path / f"part{number}.parquet")
    mechanism = ds.PrivateNewton(2.0)
    whole, parts = (
        ds.simulate(
            ds.SurvivalRegression(mapping(), link="logit"), data, mechanism=mechanism, seed=3
        ).model_
        for data in (table, str(tmp_path / "part*.parquet"))
    )
    assert whole.internal == parts.internal
    assert whole.released == parts.released


def test_other_mechanisms_and_estimators_are_refused_before_any_charge():
    model = ds.SurvivalRegression(mapping(), link="logit")
    with pytest.raises(SettingsError, match="private Newton alone"):
        model.publish(people(50), mechanism=OutputPerturbation(epsilon=1.0), ledger=ds.NO_LEDGER)
    with pytest.raises(SettingsError, match="mechanism"):
        model.publish(people(50), mechanism=1.0, ledger=ds.NO_LEDGER)
    assert model._order(ds.PrivateNewton(1.0)).facts


def test_commands(tmp_path, printed):
    table = people(1500).append_column("id", pa.array([f"p{k}" for k in range(1500)]))
    table.to_pandas().to_csv(tmp_path / "registry.csv", index=False)
    (tmp_path / "schema.toml").write_text(
        'person = "id"\n[time]\nduration = "time"\nevent = "cause"\nhorizon = 20\nintervals = 20\n'
        'causes = { cancer = ["C", 1], other = ["O", 2] }\n'
        '[[covariate]]\nname = "age"\nlow = 40\nhigh = 90\n'
        '[[covariate]]\nname = "arm"\nlevels = ["a", "b"]\n'
    )

    release, out = tmp_path / "release.json", tmp_path / "out.csv"
    asked = (tmp_path / "registry.csv", "--schema", tmp_path / "schema.toml")
    printed("fit", *asked, "--epsilon", "2", "--no-ledger", "--out", release)
    shown = printed("summary", release)
    assert "Cause: cancer" in shown
    assert "Cause: other" in shown
    assert shown.count("Release r") == 1  # what is promised of all is said once
    wanted = ("--times", "5,20", "--incidence", "cancer", "--intervals")
    printed("predict", release, tmp_path / "registry.csv", *wanted, "--out", out)
    head, first = out.read_text().splitlines()[:2]
    assert head.startswith("id,incidence_cancer_5,incidence_cancer_5_lower")
    assert first.startswith("p0,")
    assert "Nothing failed." in printed("audit", release)

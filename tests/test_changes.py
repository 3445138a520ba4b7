"""Effects that change with time, through every door: fits, files, commands, engines, refusals."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import statsmodels.api as sm
from typer.testing import CliRunner

import discreet as ds
from discreet.audit import audit_document
from discreet.base import simulate
from discreet.cli.app import app
from discreet.core.information import Informations
from discreet.core.people import Levels
from discreet.core.scores import JointScores, Whitened, alone, block_information, block_scores
from discreet.design.baseline import NaturalSpline
from discreet.design.design import Design
from discreet.design.link import get_link
from discreet.design.schema import Schema
from discreet.documents.read import document_of, read_document
from discreet.engine.cluster import ClusterEngine, local_client
from discreet.engine.local import LocalEngine
from discreet.errors import SettingsError
from discreet.ledger import Ledger
from discreet.likelihood.problem import Problem
from discreet.mechanisms import ObjectivePerturbation, OutputPerturbation, SelectedRidge
from discreet.metrics import concordance
from discreet.paper.exponential import SanitizedExponential
from discreet.people.encode import to_episodes
from discreet.people.source import People
from discreet.results.group_table import GroupTable
from tests.cohorts import HORIZON, cohort, episodic
from tests.test_causes import mapping as causes_mapping
from tests.test_causes import people as causes_people

run = CliRunner().invoke
CUTS = [6, 11.2]


def mapping(*, person=False, **more):
    time = {"duration": "time", "event": "status", "horizon": HORIZON, "intervals": 48}
    found = {
        "time": time | ({"entry": "start"} if person else {}),
        "covariate": [
            {"name": "age", "low": 20, "high": 90},
            {"name": "arm", "levels": ["a", "b", "c"], "changes_at": CUTS},
        ],
    }
    return found | ({"person": "id"} if person else {}) | more


@pytest.fixture(scope="module")
def fitted():
    return ds.SurvivalRegression(mapping(), link="logit").fit(cohort(1500))


# ------------------------------------------------------------------- predictions and summaries


def test_the_summary_groups_the_periods_and_tests_them(fitted):
    text = str(fitted.summary())
    lines = [line.strip() for line in text.splitlines()]
    assert lines.index("arm[b]") < lines.index("arm[c]")
    assert [line.split()[0] for line in lines[lines.index("arm[b]") + 1 :][:3]] == [
        "until",
        "6",
        "from",
    ]
    assert "Wald test of one effect of arm for all time" in text
    assert "privacy noise" not in text
    table = fitted.summary()
    assert "arm[b] 6 to 11.2" in table.names
    assert table.references["arm[c] from 11.2"] == "a"
    assert "arm[c] from 11.2" in fitted.tidy().index
    assert fitted.wald_test("arm").degrees == 6
    with pytest.raises(SettingsError, match="'age' does not change with time; that of arm does"):
        fitted.change_test("age")


def test_the_test_takes_products_with_it_so_the_zero_of_a_factor_does_not_matter():
    table, found = cohort(700), []
    for shift in (0.0, 1000.0):
        declared = mapping(interaction=[{"of": ["age", "arm"]}])
        declared["covariate"][0] |= {"low": 20 + shift, "high": 90 + shift, "changes_at": [6]}
        moved = table.set_column(2, "age", pa.array(np.array(table["age"]) + shift))
        model = ds.SurvivalRegression(declared, link="logit").fit(moved)
        found.append([model.change_test(name) for name in ("age", "arm")])
    for one, other in zip(*found, strict=True):
        assert one.statistic == pytest.approx(other.statistic, rel=1e-5)
    assert [test.degrees for test in found[0]] == [3, 6]
    assert "age:arm[b] until 6" in found[0][0].names


def test_the_test_does_not_reject_what_does_not_change_and_finds_what_does():
    """A thousand people with lasting effects, then with one that vanishes at time 6."""
    random = np.random.default_rng(3)
    lasting, fading = (
        np.array([_p_value(random, 1000, fades=fades) for _ in range(15)])
        for fades in (False, True)
    )
    assert np.mean(lasting < 0.05) < 0.2
    assert np.mean(fading < 0.05) > 0.8


def _p_value(random, count, *, fades):
    x = random.random(count) < 0.5
    early = random.exponential(1 / (0.05 * np.exp(1.2 * x)))
    late = 6 + random.exponential(1 / (0.05 * np.exp((0.0 if fades else 1.2) * x)))
    time = np.where(early < 6, early, late)
    table = pa.table({"time": np.minimum(time, 24.0), "status": time < 24.0, "x": x.astype(float)})
    declared = {
        "time": {"duration": "time", "event": "status", "horizon": 24, "intervals": 48},
        "covariate": [{"name": "x", "low": 0, "high": 1, "changes_at": [6]}],
    }
    model = ds.SurvivalRegression(declared, link="cloglog", baseline="natural-spline:2").fit(table)
    return model.change_test("x").p_value


def test_hazards_have_the_effect_of_their_interval(fitted):
    people, beta = cohort(6, seed=9), fitted.coefficients_.covariates
    basis = fitted.model_.design.baseline.basis(48)
    times = np.arange(48) / 2 + 0.1
    hazard = fitted.predict_hazard(people, times)
    for row, found in zip(people.to_pylist(), hazard, strict=True):
        for s, begin in enumerate(np.arange(48) / 2):
            words = ["until 6", "6 to 11.2", "from 11.2"][sum(cut <= begin for cut in CUTS)]
            effect = 0.0 if row["arm"] == "a" else beta[f"arm[{row['arm']}] {words}"]
            eta = basis[s] @ fitted.coefficients_.baseline + beta["age"] * row["age"] + effect
            assert found[s] == pytest.approx(1 / (1 + np.exp(-eta)), rel=1e-9)


def test_risk_is_the_cumulative_hazard(fitted):
    people = cohort(50, seed=10)
    total = fitted.predict_cumulative_hazard(people, [HORIZON])[:, 0]
    np.testing.assert_allclose(fitted.predict_risk(people), np.log(total), rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict(people), fitted.predict_risk(people))


def test_concordance_compares_people_by_their_effects_then(fitted):
    table = cohort(200, seed=11)
    episodes = to_episodes(table, fitted.schema_)
    risk = fitted.model_.curves.risks(episodes.covariates)
    period = fitted.model_.design.periods.of_interval
    right, total = 0.0, 0
    for i, j in itertools.permutations(range(len(risk)), 2):
        happened = episodes.exit[i]
        alive = episodes.exit[j] > happened or (
            episodes.exit[j] == happened and not episodes.event[j]
        )
        if episodes.event[i] and alive:
            here = period[happened - 1]
            right += (risk[i, here] > risk[j, here]) + 0.5 * (risk[i, here] == risk[j, here])
            total += 1
    assert concordance(fitted, table) == pytest.approx(right / total, abs=1e-12)
    assert fitted.score(table) == concordance(fitted, table)


def test_pictures_are_drawn(fitted):
    assert len(fitted.plot().axes) == 3
    labels = [text.get_text() for text in fitted.plot(cohort(3)).axes[1].get_yticklabels()]
    assert "arm[b] until 6" in labels


def test_differences_and_means_have_intervals(fitted):
    one, other = cohort(1, seed=1), cohort(1, seed=2)
    assert fitted.predict_difference(one, other, [12.0]).lower[0] < 1
    found = fitted.predict_rmst(one, interval=True)
    assert found.lower[0] < found.estimate[0] < found.upper[0]
    assert fitted.predict_median(one).shape == (1,)


# ------------------------------------------------------------------- competing risks


def causes_schema():
    found = causes_mapping()
    for item in found["covariate"]:
        if item["name"] == "arm":
            item["changes_at"] = [5, 9.5]
    return found


@pytest.mark.parametrize(("cause", "value"), [("cancer", "C"), ("other", "O")])
def test_each_cause_is_the_glm_with_columns_by_period(cause, value):
    table = causes_people(900)
    model = ds.SurvivalRegression(causes_schema(), link="logit").fit(table)
    found = model.of_cause(cause)
    rows, outcome = [], []
    basis = Design(found.schema_, NaturalSpline(3)).baseline.basis(20)
    for row in table.to_pylist():
        last = int(np.ceil(row["time"]))
        for step in range(1, last + 1):
            ends = step == last and row["cause"] != "alive"
            if ends and row["cause"] != value:
                continue
            period = sum(cut <= step - 1 for cut in (5, 9.5))
            arm = [(row["arm"] == "b") * (period == k) for k in range(3)]
            rows.append([*basis[step - 1], row["age"], *arm])
            outcome.append(ends)
    glm = sm.GLM(np.array(outcome, float), np.array(rows, float), sm.families.Binomial())
    theirs = glm.fit(tol=1e-12)
    np.testing.assert_allclose(
        found.model_.coefficients.vector, theirs.params, rtol=1e-5, atol=1e-6
    )
    assert "one effect of arm for all time" in str(model.summary())


def test_probabilities_of_causes_add_up_and_have_intervals(tmp_path):
    model = ds.SurvivalRegression(causes_schema(), link="cloglog").fit(causes_people(900))
    new = causes_people(4, seed=9)
    total = model.predict_survival(new, [3, 10, 20]) + sum(
        model.predict_incidence(new, cause, [3, 10, 20]) for cause in ("cancer", "other")
    )
    np.testing.assert_allclose(total, 1.0, atol=1e-12)
    band = model.predict_incidence(new, "cancer", [10.0], interval=True)
    assert np.all((band.lower < band.estimate) & (band.estimate < band.upper))
    model.save(tmp_path / "model.json")
    again = ds.load(tmp_path / "model.json")
    np.testing.assert_array_equal(
        again.predict_incidence(new, "other", [10.0]), model.predict_incidence(new, "other", [10.0])
    )


def test_the_joint_covariance_of_causes_is_that_of_plain_sums():
    """M_rk by its definition, interval by interval."""
    table, schema = causes_people(150), Schema.from_mapping(causes_schema())
    model = ds.SurvivalRegression(schema, link="logit").fit(table).model_
    parts, curves = list(model.models.values()), [one.curves for one in model.models.values()]
    episodes = to_episodes(table, schema)
    size = parts[0].design.dimension
    middle = np.zeros((size, size))
    link = get_link("logit")
    for row in range(episodes.rows):
        vectors = parts[0].design.vectors(parts[0].design.basis, episodes.covariates[row])
        for s in range(episodes.entry[row], episodes.exit[row]):
            eta = np.array([vectors[s] @ one.internal.vector for one in parts])
            odds = np.expm1(link.survival_loss(eta))
            slopes = link.survival_loss_derivative(eta)
            middle += slopes[0] * slopes[1] / (1 + odds.sum()) * np.outer(vectors[s], vectors[s])
    assert len(curves) == 2
    problems = [
        Problem(LocalEngine(episodes.of_cause(number)), part.design, link)
        for number, part in enumerate(parts, start=1)
    ]
    inverses = [
        np.linalg.pinv(problem.information(part.internal.vector))
        for problem, part in zip(problems, parts, strict=True)
    ]
    expected = inverses[0] @ middle @ inverses[1]
    np.testing.assert_allclose(
        model.internal_covariance[:size, size:], expected, rtol=1e-6, atol=1e-9
    )


# ------------------------------------------------------------------- engines


def questions(engine, design):
    """Loss, scores and information at a point, from an engine."""
    point = np.linspace(-1.0, 0.6, design.dimension)
    total = Problem(engine, design, get_link("cloglog"))(point)
    one = alone(Whitened(design, get_link("logit"), point, np.eye(len(point)), 1.5))
    (scores,) = engine.reduce(block_scores, one, Levels())
    joint = JointScores((one.parts[0], one.parts[0]))
    (both,) = engine.reduce(block_scores, joint, Levels())
    (information,) = engine.reduce(block_information, one, 0.5, Informations())
    return total, np.concatenate([scores, both, information])


def test_engines_agree(tmp_path):
    table = episodic(300)
    pq.write_table(table.slice(0, 240), tmp_path / "a.parquet")
    pq.write_table(table.slice(240), tmp_path / "b.parquet")
    schema = Schema.from_mapping(mapping(person=True))
    design = Design(schema, NaturalSpline(3))
    local = questions(LocalEngine(to_episodes(table, schema), threads=1), design)
    several = questions(LocalEngine(to_episodes(table, schema), threads=5), design)
    streamed = questions(People.of(str(tmp_path / "*.parquet")).open(schema), design)
    for loss, integers in (several, streamed):
        np.testing.assert_allclose(loss.gradient, local[0].gradient, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(integers, local[1])


def test_dask_agrees():
    dask = pytest.importorskip("dask.dataframe")
    table = episodic(200)
    schema = Schema.from_mapping(mapping(person=True))
    design = Design(schema, NaturalSpline(3))
    frame = table.to_pandas()
    spread = dask.from_pandas(frame.set_index("id", drop=False), npartitions=3)
    client = local_client(workers=2)
    try:
        loss, integers = questions(ClusterEngine.from_frame(spread, schema, client), design)
    finally:
        client.close()
        client.cluster.close()
    local = questions(LocalEngine(to_episodes(frame, schema)), design)
    np.testing.assert_allclose(loss.gradient, local[0].gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(integers, local[1])


# ------------------------------------------------------------------- releases


@pytest.mark.parametrize("mechanism", [OutputPerturbation, ObjectivePerturbation, ds.PrivateNewton])
def test_a_release_is_sound_and_predicts(tmp_path, mechanism):
    table = cohort(800)
    ledger = tmp_path / "budget.db"
    Ledger(ledger).initialise("people", "60", "1e-5")
    model = ds.SurvivalRegression(mapping(), link="logit")
    model.publish(
        table, mechanism=mechanism(epsilon=50.0), ledger=str(ledger), path=tmp_path / "r.json"
    )
    release = read_document(tmp_path / "r.json")
    assert audit_document(release).sound
    assert document_of(json.loads((tmp_path / "r.json").read_text())) == release
    survival = ds.load(tmp_path / "r.json").predict_survival(table.slice(0, 3), [5.0, 20.0])
    assert survival.shape == (3, 2)
    assert "arm[c] from 11.2" in release.coefficients.covariates


def drawn(declared, data, *, link="logit", epsilon=20.0):
    """A private Newton fit under seeded noise."""
    model = ds.SurvivalRegression(declared, link=link)
    return simulate(model, data, mechanism=ds.PrivateNewton(epsilon=epsilon), seed=7)


def test_with_next_to_no_noise_private_newton_is_the_exact_fit():
    sexes = pa.array(np.random.default_rng(8).choice(["f", "m"], 2500))
    with_sex = cohort(2500).append_column("sex", sexes)
    for declared, table in (
        (mapping(), cohort(2500)),
        (mapping(strata={"name": "sex", "levels": ["f", "m"]}), with_sex),
        (mapping(person=True), episodic(1500)),
    ):
        exact = ds.SurvivalRegression(declared, link="cloglog").fit(table)
        found = drawn(declared, table, link="cloglog", epsilon=1e4)
        names = [name for name in exact.coefficients_.covariates if "arm" in name]
        assert len(names) == 6
        gaps = np.array([found.coefficients_.covariates[name] for name in names])
        gaps -= [exact.coefficients_.covariates[name] for name in names]
        assert np.all(np.abs(gaps) < 0.6 * exact.tidy().loc[names, "std_error"])


def test_a_private_release_tests_one_effect_with_its_noise():
    found = drawn(mapping(), cohort(1500))
    plain = ds.SurvivalRegression(mapping(), link="logit").fit(cohort(1500))
    names = [name for name in found.coefficients_.covariates if "arm" in name]
    assert np.all(found.tidy().loc[names, "std_error"] > plain.tidy().loc[names, "std_error"])
    text = " ".join(str(found.summary()).split())
    assert "one effect of arm for all time" in text
    assert "privacy noise included" in text
    rows = found.model_.to_mapping()["released"]["proportionality"]
    assert [row[0] for row in rows] == [0]  # arm changes by the schema
    new = cohort(3, seed=4)
    band = found.predict_survival(new, [5.0, 20.0], interval=True)
    assert np.all((band.lower < band.estimate) & (band.estimate < band.upper))


def test_private_causes_have_the_effects_of_their_periods():
    found = ds.simulate(
        ds.SurvivalRegression(causes_schema(), link="logit"),
        causes_people(900),
        mechanism=ds.PrivateNewton(epsilon=20.0),
        seed=3,
    )
    for cause in ("cancer", "other"):
        own = found.of_cause(cause)
        assert len([name for name in own.coefficients_.covariates if "arm" in name]) == 3
        assert own.change_test("arm").degrees == 2


def test_a_stream_draws_the_same_release(tmp_path):
    table = episodic(300)
    pq.write_table(table.slice(0, 240), tmp_path / "a.parquet")
    pq.write_table(table.slice(240), tmp_path / "b.parquet")
    one = drawn(mapping(person=True), table)
    other = drawn(mapping(person=True), str(tmp_path / "*.parquet"))
    np.testing.assert_array_equal(one.coefficients_.vector, other.coefficients_.vector)
    np.testing.assert_array_equal(one.model_.covariance, other.model_.covariance)


def test_a_mechanism_that_does_not_take_them_is_refused_before_a_charge(tmp_path):
    mechanism = SanitizedExponential(epsilon=1.0)
    ledger = Ledger(tmp_path / "budget.db")
    ledger.initialise("people", "2", "1e-5")
    model = ds.SurvivalRegression(mapping(), link="logit")
    with pytest.raises(SettingsError, match="does not take effects that change with time"):
        model.publish(
            cohort(300),
            mechanism=mechanism,
            ledger=str(tmp_path / "budget.db"),
            path=tmp_path / "r",
            accept_approximate=True,
        )
    assert not ledger.show().charges
    assert not (tmp_path / "r").exists()


def test_selection_takes_them():
    found = simulate(
        ds.SurvivalRegression(mapping(), link="logit"),
        cohort(400),
        mechanism=SelectedRidge(epsilon=60.0),
        seed=3,
    )
    assert np.all(np.isfinite(found.coefficients_.vector))


def test_curves_by_group_see_no_effects():
    lasting = mapping()
    lasting["covariate"][1].pop("changes_at")
    found = [
        ds.simulate(
            ds.GroupCurves(Schema.from_mapping(one), by="arm"),
            cohort(500),
            mechanism=ds.GroupCounts(5.0),
            seed=3,
        ).model_
        for one in (mapping(), lasting)
    ]
    assert str(GroupTable(found[0])) == str(GroupTable(found[1]))


# ------------------------------------------------------------------- commands and files


def test_check_says_from_when_a_change_acts(tmp_path):
    report = str(ds.check(cohort(500), mapping()))
    text = " ".join(report.split())
    assert "The effect of 'arm' changes at 11.2, within an interval: it acts from 11.5 on" in text
    assert "changes at 6," not in text
    episodes = to_episodes(cohort(500), Schema.from_mapping(mapping()))
    exits = episodes.exit[episodes.event]
    counts = [np.sum(exits <= 12), np.sum((exits > 12) & (exits <= 23)), np.sum(exits > 23)]
    listed = f"{counts[0]} until 6, {counts[1]} 6 to 11.2, {counts[2]} from 11.2"
    assert f"Events in the periods of 'arm': {listed}." in text


def test_a_plan_foresees_them():
    plan = ds.plan(mapping(), persons=2000, events=700, epsilon=20.0, link="logit")
    rows = {one.mechanism: one for one in plan.found[20.0]}
    assert rows["output"].error is not None
    assert len(rows["output"].standard_errors) == 7
    assert rows["newton"].error is not None
    assert len(rows["newton"].standard_errors) == 7


def test_old_files_are_read_and_written_as_they_were(tmp_path):
    lasting = mapping()
    lasting["covariate"][1].pop("changes_at")
    model = ds.SurvivalRegression(lasting, link="logit").fit(cohort(300))
    model.save(tmp_path / "m.json")
    assert "changes_at" not in (tmp_path / "m.json").read_text()
    assert "baseline from" not in str(model.summary())


def test_the_command_shows_which_effects_seem_to_change(tmp_path, fitted):
    """A release without the table says so; one with it shows it; an effect that changes is tested."""
    model = ds.SurvivalRegression(
        mapping() | {"covariate": [{"name": "age", "low": 20, "high": 90}]}, link="logit"
    )
    found = simulate(model, cohort(600), mechanism=ds.PrivateNewton(epsilon=5.0), seed=4).model_
    bare = found.to_mapping() | {"private": True}
    bare["released"].pop("proportionality", None)
    (tmp_path / "bare.json").write_text(json.dumps(bare))
    said = run(app, ["summary", str(tmp_path / "bare.json"), "--proportionality"])
    assert said.exit_code != 0
    assert "does not say whether effects change" in str(said.exception)
    assert "read the test" in str(said.exception)
    kept = {k: v for k, v in bare["released"].items() if "covariance" not in k}
    (tmp_path / "output.json").write_text(json.dumps(bare | {"released": kept}))
    said = run(app, ["summary", str(tmp_path / "output.json"), "--proportionality"])
    assert "read the test" not in str(said.exception)  # without a covariance there is none
    bare["released"]["proportionality"] = [[0, 0.06, 0.01, -4.2]]
    (tmp_path / "told.json").write_text(json.dumps(bare))
    said = run(app, ["summary", str(tmp_path / "told.json"), "--proportionality"])
    text = " ".join(said.output.split())
    assert said.exit_code == 0
    # 0.06 and 0.01 as ratios; their difference -0.05 is 4.2 standard deviations
    assert "age 1.06 1.01 0.951 0.929 to 0.974 <0.0001" in text
    assert "Beyond 3 standard deviations: age" in text
    told = ds.load(tmp_path / "told.json")
    table = told.proportionality()
    assert table.to_pandas().loc["age", "late"] == 0.01
    assert table.effects[0].p == pytest.approx(2.67e-5, rel=0.01)
    assert table.effects[0].change == pytest.approx((-0.05, -0.07333, -0.02667), abs=1e-5)
    bare["released"]["proportionality"] = [[0, 7.0, -7.0, -0.5]]
    (tmp_path / "wide.json").write_text(json.dumps(bare))
    wide = ds.load(tmp_path / "wide.json").proportionality()
    assert "age >1000 <0.001 <0.001 <0.001 to >1000 0.6171" in " ".join(str(wide).split())
    assert "which changes would not be seen" in " ".join(str(wide).split())
    form = run(
        app, ["summary", str(tmp_path / "told.json"), "--proportionality", "--format", "json"]
    )
    assert json.loads(form.output)[0]["distance"] == -4.2
    fitted.save(tmp_path / "plain.json")
    said = run(app, ["summary", str(tmp_path / "plain.json"), "--proportionality"])
    assert "Wald test of one effect of arm for all time" in " ".join(said.output.split())

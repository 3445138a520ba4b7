"""Curves by group as a user meets them: Python, command line, file, page, ledger, stream."""

import json
import re
from importlib import resources

import numpy as np
import pyarrow.parquet as pq
import pytest
from cohorts import cohort, episodic, schema

import discreet as ds
from discreet.audit.release import audit_release
from discreet.documents.curves import CurvesRelease
from discreet.documents.read import read_document
from discreet.errors import ArtefactError, SettingsError
from discreet.report import make_page
from discreet.results.group_table import GroupTable


def simulated(mapping, table, epsilon, delta=None, seed=0):
    """Curves by arm under seeded noise."""
    curves, mechanism = ds.GroupCurves(mapping, by="arm"), ds.GroupCounts(epsilon, delta)
    return ds.simulate(curves, table, mechanism=mechanism, seed=seed).model_


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    path = tmp_path_factory.mktemp("curves") / "curves.json"
    curves = ds.GroupCurves(schema(), by="arm")
    return curves.publish(
        cohort(3000), mechanism=ds.GroupCounts(2.0), ledger=ds.NO_LEDGER, path=path
    ).release_, path


def test_a_file_gives_back_what_was_released(release):
    made, path = release
    read = read_document(path)
    assert isinstance(read, CurvesRelease)
    assert read.released == made.released
    assert read.digest == made.digest
    assert np.array_equal(read.estimates[0].survival.estimate, made.estimates[0].survival.estimate)
    assert read.curves[0]["survival"]["estimate"] == made.estimates[0].survival.estimate.tolist()
    assert read.log_rank == made.log_rank
    assert ds.load(path).model_ == made


def test_nothing_is_computed_again_from_a_file(release, monkeypatch):
    made, path = release

    def refused(*_):
        raise AssertionError("computed again")

    monkeypatch.setattr("discreet.documents.curves.group_curves", refused)
    read = read_document(path)
    assert str(GroupTable(read)) == str(GroupTable(made))
    assert make_page(read) == make_page(made)


def test_a_file_of_version_0_2_has_its_curves_computed(release, tmp_path):
    """It has neither bands of the sample nor what is needed; its sums are the same."""
    mapping = json.loads(release[1].read_text())
    for curve in mapping["curves"]:
        del curve["people_needed"], curve["noise_needed"]
        for band in (curve["survival"], *curve["incidence"].values()):
            for name in [name for name in band if name.startswith("sample")]:
                del band[name]
    path = tmp_path / "old.json"
    path.write_text(json.dumps(mapping))
    old, new = read_document(path).estimates, release[0].estimates
    assert np.allclose(old[1].survival.estimate, new[1].survival.estimate, atol=1e-6)


def test_curves_are_near_the_exact_ones(release):
    made, _ = release
    exact = simulated(schema(), cohort(3000), 1e6)
    for near, truth in zip(made.estimates, exact.estimates, strict=True):
        assert np.max(np.abs(near.survival.estimate - truth.survival.estimate)) < 0.12


@pytest.mark.parametrize("delta", [None, 0.0])
def test_an_infinite_budget_is_the_life_table(delta):
    table = cohort(2000)
    exact = simulated(schema(), table, 1e6, delta)
    counts = exact.counts
    arm, status = np.array(table["arm"].to_pylist()), np.array(table["status"].to_pylist())
    for group, level in enumerate("abc"):
        assert counts.events[group].sum() == pytest.approx(
            np.sum((arm == level) & status), abs=0.01
        )
        assert counts.censored[group].sum() == pytest.approx(
            np.sum((arm == level) & ~status), abs=0.01
        )


def fixed(schema):
    """The schema with an arm that is declared not to change."""
    mapping = schema.to_mapping()
    mapping["covariate"][1]["fixed"] = True
    return mapping


def test_groups_that_a_person_may_change_are_refused_before_anything_is_read():
    for unsure in (schema(person=True), {**fixed(schema(person=True)), "covariate": [
        {"name": "arm", "levels": ["a", "b"], "fixed": False}
    ]}):  # fmt: skip
        with pytest.raises(
            SettingsError, match=r"'arm' may change from row to row .*'fixed = true'"
        ):
            ds.GroupCurves(unsure, by="arm").publish(
                "absent.csv", mechanism=ds.GroupCounts(1.0), ledger=ds.NO_LEDGER
            )


def test_streams_give_the_same_integers(tmp_path):
    table = episodic(people=300)
    for part, chosen in enumerate((table.slice(0, 200), table.slice(200))):
        pq.write_table(chosen, tmp_path / f"part{part}.parquet")
    # a person must not be cut in two
    ids = np.array(table["id"].to_pylist())
    cut = int(np.searchsorted(ids, ids[200]))
    pq.write_table(table.slice(0, cut), tmp_path / "part0.parquet")
    pq.write_table(table.slice(cut), tmp_path / "part1.parquet")
    curves = ds.GroupCurves(fixed(schema(person=True, entry=True)), by="arm")
    streamed = ds.simulate(
        curves, str(tmp_path / "*.parquet"), mechanism=ds.GroupCounts(1.0), seed=3
    ).model_
    assert (
        streamed.released
        == ds.simulate(curves, table, mechanism=ds.GroupCounts(1.0), seed=3).model_.released
    )


def test_a_level_that_nobody_has_says_so():
    mapping = schema().to_mapping()
    mapping["covariate"][1]["levels"] = ["a", "b", "c", "never"]
    found = simulated(mapping, cohort(3000), 1.0)
    assert [curve.may_be_empty for curve in found.estimates] == [False, False, False, True]
    assert any("may be empty" in row[0] for row in GroupTable(found).rows())


def test_a_curve_that_noise_hides_says_so():
    few = simulated(schema(), cohort(300), 0.3)
    codes = {item.code for item in few.warnings}
    assert codes & {"wide-band", "empty-group"}
    many = simulated(schema(), cohort(3000), 2.0)
    assert "wide-band" not in {item.code for item in many.warnings}


def test_the_page_takes_every_text_from_the_file_of_texts(release):
    """Words in the template itself would not be translated."""
    template = resources.files("discreet.report") / "templates" / "curves.html"
    bare = re.sub(r"{%.*?%}|{{.*?}}|<[^>]*>", " ", template.read_text())
    assert re.findall(r"[A-Za-z]{3,}", bare) == []
    page = make_page(release[0])
    assert "Do the groups differ?" in page
    assert "No check of the released numbers found a problem with these curves" in page


def test_the_page_of_curves_speaks_of_no_model(release):
    made = release[0]
    schema = made.public_schema.to_mapping() | {"page": {"contact": "registry@example.org"}}
    page = make_page(made.model_copy(update={"public_schema": ds.Schema.from_mapping(schema)}))
    shown = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert "About these curves" in shown
    assert "model" not in shown


def test_a_simulation_is_not_written(tmp_path):
    found = simulated(schema(), cohort(200), 1.0)
    assert not found.private
    with pytest.raises(SettingsError, match="not written"):
        found.save(tmp_path / "never.json")
    with pytest.raises(ArtefactError, match="only a private release"):
        make_page(found)


def test_hostile_levels_are_escaped():
    mapping = schema().to_mapping()
    mapping["covariate"][1]["levels"] = ["a", "b", "<script>alert(1)</script>"]
    made = (
        ds.GroupCurves(mapping, by="arm")
        .publish(cohort(300), mechanism=ds.GroupCounts(1.0), ledger=ds.NO_LEDGER)
        .release_
    )
    page = make_page(made)
    assert "Log-rank" in page
    assert made.release_id in page
    assert "<script>alert" not in page


def test_the_audit_computes_everything_again(release, tmp_path):
    assert audit_release(release[1]).sound
    mapping = json.loads(release[1].read_text())
    mapping["curves"][0]["survival"]["estimate"][3] += 0.01
    path = tmp_path / "retouched.json"
    path.write_text(json.dumps(mapping))
    assert not audit_release(path).sound


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ({"released": {"sums": [1, 2]}}, "one released sum"),
        ({"released": {}}, "not a list of numbers"),
        ({"details": {"outcomes": 1, "stretches": "x"}}, "whole number"),
        ({"promise": "nothing"}, "promise"),
        ({"extra": 1}, "unknown key"),
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(release, tmp_path, damage, says):
    mapping = {**json.loads(release[1].read_text()), **damage}
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(mapping))
    with pytest.raises(ArtefactError, match=says):
        read_document(path)


@pytest.fixture
def registry(tmp_path):
    """A file of people, its schema and a budget, as the command line takes them."""
    table = cohort(800).to_pandas()
    table.to_csv(tmp_path / "registry.csv", index=False)
    (tmp_path / "schema.toml").write_text(
        '[time]\nduration = "time"\nevent = "status"\nhorizon = 24\nintervals = 12\n'
        '[[covariate]]\nname = "age"\nlow = 20\nhigh = 90\n'
        '[[covariate]]\nname = "arm"\nlevels = ["a", "b", "c"]\n'
    )
    return tmp_path


def test_the_command_from_file_to_page(registry, printed):
    book, out = registry / "budget.db", registry / "curves.json"
    terms = ("--population", "all", "--epsilon", 2, "--delta", 1e-5)
    printed("budget", "init", book, *terms)
    asked = ("curves", registry / "registry.csv", "--schema", registry / "schema.toml")
    printed(*asked, "--by", "arm", "--epsilon", 1, "--ledger", book, "--out", out)
    assert "log-rank" in printed("summary", out)
    printed("page", out, "--out", registry / "page.html")
    assert "curves by arm" in printed("budget", "show", book)


@pytest.mark.parametrize(("by", "says"), [("age", "is a number"), ("none", "no covariate")])
def test_bad_groups_are_refused_before_a_charge(registry, command, printed, by, says):
    book = registry / "budget.db"
    printed("budget", "init", book, "--population", "all", "--epsilon", 2, "--delta", 1e-5)
    said = command(
        "curves", registry / "registry.csv", "--schema", registry / "schema.toml",
        "--by", by, "--epsilon", 1, "--ledger", book, "--out", registry / "curves.json",
    )  # fmt: skip
    assert said.status == 2
    assert says in said.err
    assert "curves" not in printed("budget", "show", book)


def test_groups_that_are_declared_fixed_and_change_are_refused_before_a_charge(
    tmp_path, command, printed
):
    pq.write_table(episodic(), tmp_path / "rows.parquet")
    (tmp_path / "schema.toml").write_text(
        'person = "id"\n[time]\nduration = "time"\nevent = "status"\nentry = "start"\n'
        'horizon = 24\nintervals = 12\n[[covariate]]\nname = "arm"\nlevels = ["a", "b", "c"]\n'
        "fixed = true\n"
    )
    book, out = tmp_path / "budget.db", tmp_path / "curves.json"
    printed("budget", "init", book, "--population", "all", "--epsilon", 2, "--delta", 1e-5)
    asked = ("curves", tmp_path / "rows.parquet", "--schema", tmp_path / "schema.toml")
    said = command(*asked, "--by", "arm", "--epsilon", 1, "--ledger", book, "--out", out)
    assert (said.status, out.exists()) == (6, False)
    assert "curves" not in printed("budget", "show", book)
    checked = command("check", *asked[1:])
    assert "draw curves by it. (not-fixed)" in " ".join(checked.out.split())


def test_the_noise_is_the_planned_one():
    """The end-to-end path adds what the plan says: deviations of the sums over many draws."""
    found = [simulated(schema(), cohort(200), 1.0, seed=seed) for seed in range(40)]
    sums = np.array([one.released["sums"] for one in found])
    assert np.mean(np.std(sums, axis=0)) == pytest.approx(found[0].noise_scale, rel=0.1)


def test_people_read_labels_and_a_table_that_fits(tmp_path, printed):
    mapping = schema().to_mapping()
    mapping["covariate"][1] |= {"label": "Treatment", "labels": ["none", "old", "new"]}
    made = (
        ds.GroupCurves(mapping, by="arm")
        .publish(
            cohort(3000),
            mechanism=ds.GroupCounts(2.0),
            ledger=ds.NO_LEDGER,
            path=tmp_path / "curves.json",
        )
        .release_
    )
    assert made.names == ("a", "b", "c")
    mapping["covariate"][1]["labels"] = ["none", "some", "some"]
    alike = simulated(mapping, cohort(200), 2.0)
    assert alike.titles == alike.names  # a page draws one curve for each name
    assert GroupTable(made).heading[0] == "Survival curves by Treatment of 3,000 persons."
    assert [row[0] for row in GroupTable(made).rows()[1:]] == ["none", "old", "new"]
    shown = printed("summary", str(tmp_path / "curves.json"))
    assert max(map(len, shown.splitlines())) <= 80
    assert "beyond to beyond" not in shown
    table = printed("summary", str(tmp_path / "curves.json"), "--format", "csv")
    assert table.splitlines()[0].startswith("group,of,time,at_risk,estimate")
    assert '"groups":["none","old","new"]' in make_page(made)
    labels = ds.GroupCurves._of(made).plot().axes[1].get_yticklabels()
    assert [text.get_text() for text in labels][:3] == ["none", "old", "new"]


def cut_short(arm="c", end=10.0):
    """The cohort, one arm of which was followed for 10 of 24 only, with years as the unit."""
    table = cohort(3000).to_pandas()
    cut = (table.arm == arm) & (table.time > end)
    table.loc[cut, "status"] = False
    table.loc[cut, "time"] = end
    mapping = schema().to_mapping()
    mapping["time"]["unit"] = "years"
    return table, mapping


@pytest.mark.parametrize("seed", range(6))
def test_a_group_whose_follow_up_ends_early_is_named(seed):
    table, mapping = cut_short()
    found = simulated(mapping, table, 1.0, seed=seed)
    exact = simulated(schema(), cohort(3000), 1e6).estimates[2]
    (said,) = [item for item in found.warnings if not item.of_the_promise]
    assert said.code == "short-follow-up"
    assert "'c' is known until" in said.message
    assert " years" in said.message
    curve = found.estimates[2]
    assert curve.known_until in {10.0, 12.0, 14.0}
    assert curve.survival.lower[-1] <= exact.survival.estimate[-1] <= curve.survival.upper[-1]
    assert found.curves[2]["known_until"] == curve.known_until
    heading, *_, last = GroupTable(found).rows()
    row = {name.partition(" (")[0]: cell for name, cell in zip(heading, last, strict=True)}
    assert row["median"].startswith("unknown (")
    assert row["median"].endswith(" to open)")
    assert row["survival at the end"].startswith("unknown (0")
    assert row["restricted mean"].startswith("unknown (")
    assert row["known until"] == f"{curve.known_until:g}"


def test_groups_that_are_known_in_part_share_one_sentence():
    table, mapping = cut_short()
    for arm in "ab":
        cut = (table.arm == arm) & (table.time > 16.0)
        table.loc[cut, "status"] = False
        table.loc[cut, "time"] = 16.0
    curves = ds.GroupCurves(mapping, by="arm")
    found = ds.simulate(curves, table, mechanism=ds.GroupCounts(2.0), seed=0).model_
    (said,) = [item.message for item in found.warnings if not item.of_the_promise]
    ends = [
        f"'{name}' until {curve.known_until:g} years"
        for name, curve in zip("abc", found.estimates, strict=True)
    ]
    assert said.startswith(f"Curves are known in part: {', '.join(ends)}. Later")


def test_page_and_figure_show_where_a_group_ends(tmp_path, printed):
    table, mapping = cut_short()
    path = tmp_path / "curves.json"
    made = (
        ds.GroupCurves(mapping, by="arm")
        .publish(table, mechanism=ds.GroupCounts(2.0), ledger=ds.NO_LEDGER, path=path)
        .release_
    )
    page, end = make_page(made), made.estimates[2].known_until
    shown = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert "No check of the released numbers found a problem with these curves" not in shown
    assert "Pale: the curve is not known there" in shown
    assert f"is known until {end:g} years" in shown
    assert f"is known until {end:g} years" in " ".join(printed("summary", path).split())
    ends = {
        line.get_label(): float(line.get_xdata()[-1])
        for line in ds.GroupCurves._of(made).plot().axes[0].lines
    }
    assert ends == {"a": 24.0, "b": 24.0, "c": end}
    assert audit_release(path).sound


def test_groups_that_are_followed_to_the_end_get_no_word(release):
    made, _ = release
    assert not [item for item in made.warnings if not item.of_the_promise]
    assert "known until" not in GroupTable(made).rows()[0]
    assert "Pale:" not in make_page(made).split('id="facts"')[0]
    lines = ds.GroupCurves._of(made).plot(sample=True, simultaneous=True).axes[0].lines
    assert len({str(line._dash_pattern) for line in lines}) == 3  # told apart without colour
    assert all(line.get_drawstyle() == "steps-post" for line in lines)


def test_each_of_many_groups_has_a_panel_of_its_own():
    random = np.random.default_rng(1)
    table = cohort(900).to_pandas()
    table["arm"] = random.choice([f"arm{k}" for k in range(9)], 900, p=[0.6] + [0.05] * 8)
    mapping = schema().to_mapping()
    mapping["covariate"][1]["levels"] = [f"arm{k}" for k in range(9)]
    found = simulated(mapping, table, 1.0)
    *panels, counts = ds.GroupCurves._of(found).plot().axes
    shown = [axes for axes in panels if axes.get_visible()]
    assert [axes.get_title(loc="left").removesuffix(" (may be empty)") for axes in shown] == list(
        found.titles
    )
    for axes, curve in zip(shown, found.estimates, strict=True):
        named = [line for line in axes.lines if not line.get_label().startswith("_")]
        assert len(axes.lines) == 10 + (0 if curve.reach else 2)  # all in grey, its own, its limits
        assert [len(line.get_xdata()) for line in named] == [curve.reach + 1]
    assert len(counts.get_yticklabels()) == 9


def test_long_times_in_days_are_drawn_in_years():
    table, mapping = cut_short()
    table["time"] *= 100.0
    mapping["time"] |= {"unit": "days", "horizon": 2400.0}
    found = simulated(mapping, table, 2.0)
    assert found.axis == (365.25, "time in years")
    axes, counts = ds.GroupCurves._of(found).plot().axes
    assert axes.get_xlim()[1] == pytest.approx(2400.0 / 365.25)
    assert counts.get_xlabel() == "time in years"
    assert "days" in str(found.warnings[-1])

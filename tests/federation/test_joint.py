"""Three real processes, one release: what is opened, what is charged, what stops it."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv, parquet

from discreet.audit.release import audit_release
from discreet.documents.read import read_document
from discreet.errors import ArtefactError, SettingsError
from discreet.joint import Federation
from discreet.ledger import Ledger
from discreet.mechanisms import OutputPerturbation, PrivateNewton
from discreet.mechanisms.group_counts import GroupCounts
from discreet.people.source import People
from discreet.points import JointPoint
from discreet.privacy.noise import NoiseSource
from discreet.privacy.shares import NoiseShares
from discreet.privacy.testing import SeededNoise
from discreet.release import NO_LEDGER, Order, publish, simulate
from tests.cohorts import cohort
from tests.federation.joint_part import facts, order_of
from tests.federation.stage import make_sites, result

PART = Path(__file__).with_name("joint_part.py")
SCHEMA = """
[time]
duration = "time"
event = "status"
horizon = 24
intervals = 12

[[covariate]]
name = "age"
low = 20
high = 90

[[covariate]]
name = "arm"
levels = ["a", "b", "c"]
"""
TABLES = [cohort(people=400 + 100 * party, seed=party) for party in range(3)]
BEFORE_THE_CHARGE = (JointPoint.CONNECTED, JointPoint.AGREED)
# next to each of these is a point that is much like it
RARELY = {JointPoint.AGREED, JointPoint.MASKED, JointPoint.DRAWN}
POINTS = [pytest.param(p, marks=pytest.mark.evidence) if p in RARELY else p for p in JointPoint]


@pytest.fixture
def scene(tmp_path):
    """Sites, data, ledgers; the settings of each part."""
    make_sites(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    found = []
    for party, table in enumerate(TABLES):
        data, ledger = tmp_path / f"part{party}.csv", tmp_path / f"budget{party}.db"
        csv.write_csv(table, data)
        Ledger(ledger).initialise("people", "2", "1e-5")
        found.append(
            {
                "sites": str(tmp_path / str(party) / "sites.toml"),
                "party": party,
                "data": str(data),
                "schema": str(tmp_path / "schema.toml"),
                "ledger": str(ledger),
                "out": str(tmp_path / f"release{party}.json"),
            }
        )
    return found


def play(stage, scene):
    started = [stage.start(PART, json.dumps(settings)) for settings in scene]
    return [result(process) for process in started]


def states(scene):
    """Of every site's ledger: the states of its releases."""
    return [
        ["settled" if line.digest else "charged" for line in Ledger(part["ledger"]).show().charges]
        for part in scene
    ]


class PooledShares(NoiseSource):
    """The seeded shares of all sites, for one process that holds all people."""

    private = False

    def __init__(self, seeds):
        self.shares = NoiseShares.among(len(seeds))
        self.sources = [SeededNoise(seed) for seed in seeds]
        self.opened = []

    def uniform_bits(self, count):
        raise NotImplementedError

    l1_laplace = uniform_bits

    def discrete_gaussian(self, values, scale):
        share = self.shares.share(Fraction(scale))
        parts = [source.discrete_gaussian([0] * len(values), share) for source in self.sources]
        self.opened.append([int(value) + sum(noise) for value, *noise in zip(values, *parts, strict=True)])  # fmt: skip
        return np.array(self.opened[-1], dtype=object)


def test_three_sites_open_what_one_process_with_all_people_would(scene, stage, tmp_path):
    """Bit for bit; one of the sites streams its people from Parquet files."""
    (tmp_path / "stream").mkdir()
    for number, part in enumerate((TABLES[1].slice(0, 200), TABLES[1].slice(200))):
        parquet.write_table(part, tmp_path / "stream" / f"{number}.parquet")
    scene[1]["data"] = str(tmp_path / "stream")
    found = play(stage, [{**part, "seed": 7 + part["party"]} for part in scene])
    pooled = PooledShares([7, 8, 9])
    order = Order(**{**vars_of(order_of(scene[0])), "sites": NoiseShares.among(3)})
    release = simulate(order, People.of(pa.concat_tables(TABLES)), pooled)
    assert len(pooled.opened) >= 5
    for item in found:
        assert "error" not in item, item
        assert item["opened"] == pooled.opened
        expected = json.loads(json.dumps(facts(release)))
        assert {key: item[key] for key in expected} == expected
        assert 0 < item["sent"] < 10**6
    assert not release.private


def vars_of(order):
    names = ("mechanism", "schema", "link", "baseline")
    return {name: getattr(order, name) for name in names}


def test_files_differ_in_the_ledger_alone_and_every_site_has_paid(scene, stage):
    found = play(stage, scene)
    assert all("error" not in item for item in found), found
    assert len({item["joint_digest"] for item in found}) == 1
    mappings = [json.loads(Path(part["out"]).read_text()) for part in scene]
    assert len({mapping.pop("ledger") for mapping in mappings}) == 3
    assert mappings[0] == mappings[1] == mappings[2]
    assert mappings[0]["persons"] == sum(table.num_rows for table in TABLES)
    assert mappings[0]["details"]["noise_factor"] == "3/2"
    for item, part in zip(found, scene, strict=True):
        release = read_document(part["out"])
        assert release.digest == item["digest"]
        assert release.joint_digest == release.without_ledger()
    assert states(scene) == [["settled"]] * 3
    check_the_joint_digest_is_read(Path(scene[0]["out"]))


def check_the_joint_digest_is_read(path):
    """It covers everything but the ledger's head."""
    mapping = json.loads(path.read_text())
    path.write_text(json.dumps({**mapping, "persons": 3000}))
    with pytest.raises(ArtefactError, match="joint digest"):
        read_document(path)
    path.write_text(json.dumps({**mapping, "ledger": "none"}))
    assert read_document(path).joint_digest == mapping["joint_digest"]


@pytest.mark.parametrize("point", POINTS)
def test_a_site_that_dies_stops_everybody_and_charges_stay(scene, stage, point):
    scene[1]["die_at"] = point
    found = play(stage, scene)
    assert found[1] is None
    charged = [] if point in BEFORE_THE_CHARGE else ["charged"]
    for party in (0, 2):
        if point == JointPoint.COMPARED:  # at the very end: the others are done
            assert found[party]["joint_digest"]
            continue
        assert found[party]["kind"] == "FederationError", found[party]
        stays = "The charge stands" in found[party]["error"]
        assert stays == bool(states(scene)[party])
        assert not Path(scene[party]["out"]).exists()
    if point != JointPoint.COMPARED:  # who notices second may see the first one leave
        assert any("site 1 (" in found[party]["error"] for party in (0, 2))
    if point == JointPoint.COMPARED:
        assert states(scene) == [["settled"], ["charged"], ["settled"]]
    elif point == JointPoint.AGREED:  # the others may have been charged before they noticed
        assert states(scene)[1] == []
    else:
        assert states(scene) == [charged] * 3


@pytest.mark.parametrize(("changes", "named"), [
    ({"version": "0.0.1"}, "discreet (site 2 has 0.0.1, this one"),
    ({"schema": ("high = 90", "high = 91")}, "the schema's covariate 'age' (site 2)"),
])  # fmt: skip
def test_a_difference_stops_everybody_before_a_charge(scene, stage, tmp_path, changes, named):
    if "schema" in changes:
        other = tmp_path / "other.toml"
        other.write_text(SCHEMA.replace(*changes["schema"]))
        changes = {"schema": str(other)}
    scene[2].update(changes)
    found = play(stage, scene)
    assert all(item["kind"] == "FederationError" for item in found)
    assert all("Nothing was charged." in item["error"] for item in found)
    assert named in found[0]["error"]
    assert states(scene) == [[]] * 3


def test_what_is_wrong_at_one_site_is_found_before_it_connects(scene, stage, tmp_path):
    """A spent budget, a missing column: the others see an absent site, and nothing is charged."""
    csv.write_csv(TABLES[0].drop_columns("age"), tmp_path / "part0.csv")
    poor = tmp_path / "poor.db"
    Ledger(poor).initialise("people", "0.5", "1e-5")
    scene[1]["ledger"] = str(poor)
    scene[2]["waiting"] = 3
    found = play(stage, scene)
    assert [item["kind"] for item in found] == ["DataFormError", "BudgetError", "FederationError"]
    assert "not connected within 3 s" in found[2]["error"]
    assert states(scene) == [[]] * 3


@pytest.mark.parametrize("mechanism", [OutputPerturbation(epsilon=1.0), PrivateNewton(epsilon=1.0, delta=0.0)])  # fmt: skip
def test_what_cannot_be_shared_is_refused_before_connecting(scene, mechanism):
    order = Order(**{**vars_of(order_of(scene[0])), "mechanism": mechanism})
    federation = Federation.read(scene[0]["sites"], 0)
    with pytest.raises(SettingsError, match="across sites"):
        publish(order, People.of(scene[0]["data"]), ledger=NO_LEDGER, agreed=federation.agreed)


def test_curves_by_group_are_counted_across_sites(scene, stage):
    """The same seam: one opening, the same file everywhere, bands as wide as the true noise."""
    found = play(stage, [{**part, "by": "arm"} for part in scene])
    assert all("error" not in item for item in found), found
    assert len({item["joint_digest"] for item in found}) == 1
    curves = read_document(scene[2]["out"])
    assert curves.persons == sum(table.num_rows for table in TABLES)
    alone = GroupCounts(1.0, 1e-6).plan(curves.persons, curves.groups)
    assert curves.noise_scale == pytest.approx(alone.noise_scale * 1.5**0.5, rel=1e-9)
    assert audit_release(scene[2]["out"]).sound
    assert states(scene) == [["settled"]] * 3


def test_competing_risks_are_fitted_across_sites(scene, stage, tmp_path):
    """One opening for each sum of all causes, the same file everywhere."""
    schema = tmp_path / "causes.toml"
    schema.write_text(SCHEMA.replace('event = "status"', 'event = "cause"\ncauses = { one = [1], two = [2] }'))  # fmt: skip
    for part, table in zip(scene, TABLES, strict=True):
        later = pc.cast(pc.greater(table["age"], 55.0), "int64")
        cause = pc.multiply(pc.cast(table["status"], "int64"), pc.add(later, 1))
        csv.write_csv(table.append_column("cause", cause), part["data"])
    found = play(stage, [{**part, "schema": str(schema)} for part in scene])
    assert all("error" not in item for item in found), found
    assert len({item["joint_digest"] for item in found}) == 1
    release = read_document(scene[2]["out"])
    assert set(release.coefficients) == {"one", "two"}
    assert release.persons == sum(table.num_rows for table in TABLES)
    assert audit_release(scene[2]["out"]).sound
    assert states(scene) == [["settled"]] * 3

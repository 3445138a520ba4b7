"""Dask: real worker processes, one of them killed, and the same numbers."""

import os
import signal
import time

import numpy as np
import pytest

dask = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from dask import config, delayed  # noqa: E402

import discreet as ds  # noqa: E402
from discreet.design.baseline import NaturalSpline  # noqa: E402
from discreet.design.design import Design  # noqa: E402
from discreet.design.link import get_link  # noqa: E402
from discreet.design.schema import Schema  # noqa: E402
from discreet.engine.cluster import ClusterEngine, connect, local_client  # noqa: E402
from discreet.engine.local import LocalEngine  # noqa: E402
from discreet.errors import DataFormError, SettingsError  # noqa: E402
from discreet.ledger import Ledger  # noqa: E402
from discreet.likelihood.problem import Problem, block_totals  # noqa: E402
from discreet.mechanisms import PrivateNewton  # noqa: E402
from discreet.mechanisms.contract import Facts  # noqa: E402
from discreet.people.encode import to_episodes  # noqa: E402
from discreet.people.source import People  # noqa: E402
from discreet.privacy.testing import SeededNoise  # noqa: E402
from tests import test_causes as causes  # noqa: E402
from tests.engine.test_stream import _schema, _table, information_sums  # noqa: E402
from tests.people import metamorphic as world  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # Dask's own warnings are not ours to fix


@pytest.fixture(scope="module")
def client():
    client = local_client(workers=2)
    yield client
    client.close()
    client.cluster.close()


def _frame(people=200, partitions=4):
    """Partitioned by person."""
    frame = _table(people).to_pandas()
    return frame, dask.from_pandas(frame.set_index("id", drop=False), npartitions=partitions)


def test_a_release_of_causes_is_that_of_the_table_in_memory(client):
    """The same integers, so under the same noise the same release."""
    table = causes.people(600).to_pandas().reset_index(names="id")
    mapping = {"person": "id", **causes.mapping()}
    spread = dask.from_pandas(table.set_index("id", drop=False), npartitions=3)
    found = []
    with client.as_current():
        for data in (table, spread):
            model = ds.SurvivalRegression(mapping, link="logit")
            made = ds.simulate(model, data, mechanism=ds.PrivateNewton(2.0), seed=4).model_
            found.append((made.internal, made.released))
    assert found[0] == found[1]


def test_sums_equal_those_in_memory(client):
    frame, spread = _frame()
    schema = _schema(True)
    cluster = ClusterEngine.from_frame(spread, schema, client)
    memory = LocalEngine(to_episodes(frame, schema))
    assert cluster.persons == memory.persons
    assert np.array_equal(cluster.reduce(block_totals)[0], memory.reduce(block_totals)[0])
    design = Design(schema, NaturalSpline(3))
    f = np.random.default_rng(1).normal(size=design.dimension)
    ours, theirs = (Problem(engine, design, get_link("logit"))(f) for engine in (cluster, memory))
    np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=1e-11)
    assert cluster.sample().persons < cluster.persons


def test_the_information_is_the_same_integers_on_workers(client):
    frame, spread = _frame()
    schema = _schema(person=True)
    cluster = information_sums(ClusterEngine.from_frame(spread, schema, client), schema)
    memory = information_sums(LocalEngine(to_episodes(frame, schema)), schema)
    for ours, theirs in zip(cluster, memory, strict=True):
        assert np.array_equal(ours, theirs)


def test_grids_terms_and_strata_are_the_same_on_workers(client):
    frame, parts = _frame()
    mapping = _schema(person=True).to_mapping()
    time = mapping["time"]
    time["first"] = 0.5 * time["horizon"] / time["intervals"]
    numeric = next(item for item in mapping["covariate"] if "low" in item)
    numeric |= {"scale": "spline:3", "missing": "indicator"}
    levels = next(item for item in mapping["covariate"] if "levels" in item)
    mapping["covariate"] = [item for item in mapping["covariate"] if item is not levels]
    mapping["strata"] = {"name": levels["name"], "levels": levels["levels"]}
    schema = Schema.from_mapping(mapping)
    link, design = get_link("logit"), Design(schema, NaturalSpline(3))
    point = np.linspace(-0.3, 0.2, design.dimension)
    here = Problem(LocalEngine(to_episodes(frame, schema)), design, link)(point)
    there = Problem(ClusterEngine.from_frame(parts, schema, client), design, link)(point)
    assert there.value == pytest.approx(here.value, rel=1e-12)
    np.testing.assert_allclose(there.hessian, here.hessian, rtol=1e-9, atol=1e-9)


def test_private_strata_are_the_same_integers_on_workers(client):
    frame, parts = _frame()
    mapping = _schema(person=True).to_mapping()
    levels = next(item for item in mapping["covariate"] if "levels" in item)
    mapping["covariate"] = [item for item in mapping["covariate"] if item is not levels]
    mapping["strata"] = {"name": levels["name"], "levels": levels["levels"]}
    schema, mechanism = Schema.from_mapping(mapping), PrivateNewton(1.0, 1e-6)
    design, link = Design(schema, NaturalSpline(3)), get_link("logit")
    engines = (
        LocalEngine(to_episodes(frame, schema)),
        ClusterEngine.from_frame(parts, schema, client),
    )
    plan = mechanism.plan(Facts(engines[0].persons, design, link))
    drawn = [
        mechanism.draw(plan, Problem(engine, design, link), SeededNoise(2)) for engine in engines
    ]
    assert np.array_equal(drawn[0].point, drawn[1].point)
    assert np.array_equal(drawn[0].extras["life_tables"], drawn[1].extras["life_tables"])


def test_a_person_in_two_partitions_is_an_error_of_form(client):
    frame, _ = _frame()
    torn = dask.from_pandas(frame.sample(frac=1.0, random_state=0), npartitions=4, sort=False)
    with pytest.raises(DataFormError, match="partition the data by 'id'"):
        ClusterEngine.from_frame(torn, _schema(True), client)


def _partitioned(parts):
    """A Dask frame of these frames as they are, whatever types each of them has."""
    with config.set({"dataframe.convert-string": False}):  # Dask would write mixed ids as texts
        lazy = [delayed(part) for part in parts]
        return dask.from_delayed(lazy, meta=parts[0], verify_meta=False)


@pytest.mark.parametrize("person", [False, True])
def test_a_frame_is_checked_on_its_workers_as_a_table_is(client, person):
    frame, spread = _frame()
    with client.as_current():
        here, there = (ds.check(data, _schema(person)) for data in (frame, spread))
    assert there.report.persons == here.report.persons
    assert set(there.report.repairs) == set(here.report.repairs)
    assert here.report.repairs
    assert there.picture.events == here.picture.events
    assert there.picture.examples.keys() == here.picture.examples.keys()
    assert str(there).splitlines()[0] == str(here).splitlines()[0]


def test_check_finds_a_person_in_two_partitions(client):
    frame, _ = _frame()
    torn = dask.from_pandas(frame.sample(frac=1.0, random_state=0), npartitions=4, sort=False)
    with client.as_current(), pytest.raises(DataFormError, match="partition the data by 'id'"):
        ds.check(torn, _schema(True))


def test_a_block_with_other_rows_than_at_first_is_noticed(client):
    """The workers' rows have stamps where no column says who is who."""
    _, spread = _frame()
    cluster = ClusterEngine.from_frame(spread, _schema(False), client)
    other = ClusterEngine.from_frame(spread, _schema(False), client)
    assert len(set(cluster.stamps)) == len(cluster.stamps)
    mixed = ClusterEngine(client, [*cluster.parts[:1], *other.parts[1:]], cluster.stamps)
    with pytest.raises(DataFormError, match="found others than were counted"):
        mixed.reduce(block_totals)


def test_a_person_in_two_partitions_is_noticed_whatever_their_types(client):
    """Somebody's gap makes doubles of one partition: there the person's id is 7.0, here it is 7."""
    here, there = (
        world.pandas_numpy(world.make_people(ids), None).data for ids in ([1, 7], [7, None])
    )
    assert {str(part["id"].dtype) for part in (here, there)} == {"int64", "float64"}
    with pytest.raises(DataFormError, match="partition the data by 'id'"):
        ClusterEngine.from_frame(_partitioned([here, there]), world.SCHEMA, client)


@pytest.mark.parametrize("kind", ["large", "texts", "mixed", "whole doubles"])
@pytest.mark.parametrize("container", ["pandas_object", "pandas_nullable", "pandas_arrow"])
def test_replacing_a_person_on_a_cluster_moves_nobody_else(client, container, kind, tmp_path):
    """Partitions of two people, each with the types that its own rows have."""
    *names, _ = world.IDS[kind]
    people = world.make_people(names)
    for new in (people[2], ((None, 0.0, 9.0, 1, 88.0, "M"),)):
        neighbours = [*people[:2], new, *people[3:]]
        pairs = [neighbours[at : at + 2] for at in range(0, len(neighbours), 2)]
        try:
            held = [world.CONTAINERS[container](pair, tmp_path) for pair in pairs]
        except world.NotHeld:
            continue
        spread = _partitioned([part.data for part in held])
        engine = ClusterEngine.from_frame(spread, world.SCHEMA, client)
        ids = [name for part in held for name in part.ids]
        assert engine.persons == 5
        world.check_sums(engine, neighbours, world.Held(None, ids))


def test_files_on_a_cluster_keep_their_integers(client, tmp_path):
    """Read with arrow's types: over numpy one gap would merge the others."""
    names = [world.LARGE + k for k in range(40)]
    people = world.make_people([*names[:-1], None])
    held = world.parquet_file(people, tmp_path)
    source = People.of(held.data, engine="dask")
    engine = ClusterEngine.from_frame(source._frame(), world.SCHEMA, client)
    world.check_sums(engine, people, held)


def _kill_once(block, marker):
    """Kill this worker the first time, then count."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block_totals(block)


def test_a_killed_worker_changes_nothing(client, tmp_path):
    frame, spread = _frame()
    schema = _schema(True)
    cluster = ClusterEngine.from_frame(spread, schema, client)
    marker = tmp_path / "killed"
    found = cluster.reduce(_kill_once, marker)[0]
    assert marker.exists()
    expected = LocalEngine(to_episodes(frame, schema)).reduce(block_totals)[0]
    assert np.array_equal(found, expected)


def test_a_private_fit_outlives_a_worker_and_is_charged_once(client, tmp_path, monkeypatch):
    _, spread = _frame()
    ledger = Ledger(tmp_path / "registry.ledger")
    ledger.initialise("registry", 4, "1e-6")
    calls, original = [], ClusterEngine.reduce

    def reduce(engine, function, *arguments):
        calls.append(function)
        if len(calls) == 3:  # in the middle: after the charge, before the last step
            workers = client.run(os.getpid)
            os.kill(next(iter(workers.values())), signal.SIGKILL)
        return original(engine, function, *arguments)

    monkeypatch.setattr(ClusterEngine, "reduce", reduce)
    model = ds.SurvivalRegression(_schema(True), link="logit")
    model.publish(spread, mechanism=ds.PrivateNewton(1.0), ledger=ledger)
    assert len(calls) > 3
    (charged,) = ledger.show().charges
    assert charged.request.release_id == model.release_.release_id


def test_a_worker_that_was_started_again_spills_no_more_than_before(client):
    killed, process = next(iter(client.run(os.getpid).items()))
    os.kill(process, signal.SIGKILL)
    deadline = time.monotonic() + 90
    # it may still be listed when the one in its place has come
    while len(now := client.scheduler_info()["workers"]) < 2 or killed in now:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    with connect(client.scheduler.address) as again:
        assert len(again.scheduler_info()["workers"]) == 2


def test_workers_hold_people_in_memory_only(client):
    deadline = time.monotonic() + 90
    while not client.scheduler_info()["workers"] and time.monotonic() < deadline:
        time.sleep(0.1)
    with connect(client.scheduler.address) as again:
        assert again.scheduler_info()["workers"]


def test_a_cluster_that_may_spill_is_refused():
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        pytest.raises(SettingsError, match="spill records to disk"),
    ):
        connect(cluster.scheduler_address)


def test_no_scheduler_is_one_clear_sentence():
    with pytest.raises(SettingsError, match="no Dask scheduler answers"):
        connect("tcp://127.0.0.1:1")

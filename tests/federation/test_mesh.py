"""Connections between real processes of this machine, over the loopback device only."""

import socket
import time

import pytest

from tests.federation.stage import forge, make_sites, result


@pytest.mark.parametrize("number", [3, 5])
def test_sites_add_and_exchange(tmp_path, stage, number):
    """Every part replaces `pickle.loads` by a failure, in MPyC too."""
    found = stage.play(make_sites(tmp_path, number), "add", number)
    total = number * (number - 1) // 2
    for item in found:
        assert item["said"] == [f"site {party}" for party in range(number)]
        assert item["sums"] == [total, -5 * total, number * 10**18 - total, -number * 2**62]
        assert item["more"] == [number] * 7
        assert 0 < item["sent"] < 5000


def test_a_site_that_leaves_first_stops_nobody(tmp_path, stage):
    assert stage.play(make_sites(tmp_path), "early") == [{"sums": []}] * 3


def test_a_site_that_dies_stops_the_others(tmp_path, stage):
    found = stage.play(make_sites(tmp_path), "die")
    assert found[1] is None
    left = found[0], found[2]
    assert [item["kind"] for item in left] == ["FederationError"] * 2
    assert all("the connection to site " in item["error"] for item in left)
    # the first to notice names the dead; the other may see the first one leave before
    assert any("the connection to site 1 (127.0.0.1:" in item["error"] for item in left)


@pytest.mark.parametrize("scene", ["garble", "flood"])
def test_what_is_no_share_stops_everybody(tmp_path, stage, scene):
    found = stage.play(make_sites(tmp_path), scene)
    for item in (found[0], found[2]):
        assert item["kind"] == "FederationError", item


@pytest.mark.parametrize("liar", [0, 1, 2])
def test_another_certificate_is_refused(tmp_path, stage, liar):
    """The first site to stop says so, without waiting for the others: it calls, or it is the liar."""
    folder = make_sites(tmp_path)
    forge(folder, liar)
    started = [stage.part(folder, party, "add") for party in range(3)]
    while all(process.poll() is None for process in started):
        time.sleep(0.05)
    party = next(place for place, process in enumerate(started) if process.poll() is not None)
    found = result(started[party])
    assert found["kind"] == "FederationError"
    assert "certificate" in found["error"]
    assert party == liar or f"site {liar}" in found["error"]


def test_a_site_that_connects_twice_is_refused(tmp_path, stage):
    """The second sees that it is one too many; the first goes on."""
    folder = make_sites(tmp_path)
    first = stage.part(folder, 0, "add", waiting=100)
    other = stage.part(folder, 1, "add", waiting=100)
    wait_for(folder / "1" / "admitted-0")
    second = result(stage.part(folder, 0, "add", waiting=60))
    last = stage.part(folder, 2, "add")
    assert "connected with this site already" in second["error"]
    assert all(result(item)["more"] == [3] * 7 for item in (first, other, last))


def test_an_absent_site_is_named(tmp_path, stage):
    folder = make_sites(tmp_path)
    found = [stage.part(folder, party, "add", waiting=3) for party in (0, 1)]
    for item in found:
        said = result(item)["error"]
        assert "not connected within 3 s: " in said
        assert "site 2 (127.0.0.1:" in said


def test_strangers_are_ignored(tmp_path, stage):
    """Somebody without a certificate, who talks or says nothing, stops nobody."""
    folder = make_sites(tmp_path)
    waiting = [stage.part(folder, party, "add") for party in (1, 2)]
    text = (folder / "all" / "sites.toml").read_text()
    port = int(text.split("port = ")[2].split()[0])
    with knock(port) as noisy, knock(port):
        noisy.sendall(b"GET / HTTP/1.1\r\n\r\n" * 50)
        waiting.append(stage.part(folder, 0, "add"))
        assert all(result(item)["more"] == [3] * 7 for item in waiting)


def wait_for(path):
    for _ in range(1200):
        if path.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path.name} did not come")


def knock(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.05)
    raise AssertionError("nobody listens")

"""What goes over the network holds no sum, neither to a listener nor to another site."""

import json
import zlib

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from discreet.core.bins import time_edges
from discreet.core.cells import block_exits
from discreet.engine.local import LocalEngine
from discreet.people.encode import to_episodes
from tests.cohorts import cohort, schema
from tests.federation.stage import make_sites, result
from tests.federation.tap import Tap
from tests.federation.test_joint import PART, SCHEMA

ALPHA = 1e-6
PEOPLE = 5_000
APPLICATION_DATA = 23  # the type of every TLS 1.3 record after the key exchange


@pytest.fixture
def tapped(tmp_path):
    """Three sites whose connections all pass through taps."""
    make_sites(tmp_path)
    text = (tmp_path / "all" / "sites.toml").read_text()
    ports = [int(part.split()[0]) for part in text.split("port = ")[1:]]
    taps = [Tap(port) for port in ports]
    for party in range(3):
        seen = text
        for number, tap in enumerate(taps):
            if number != party:
                seen = seen.replace(f"port = {ports[number]}\n", f"port = {tap.port}\n")
        (tmp_path / str(party) / "sites.toml").write_text(seen)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    yield tmp_path, taps
    for tap in taps:
        tap.close()


def test_a_listener_hears_no_sum(tapped, stage):
    """Exit counts of each site and of all, in every width and byte order: nowhere in the bytes."""
    folder, taps = tapped
    tables = [cohort(people=PEOPLE, seed=party) for party in range(3)]
    started = []
    for party, table in enumerate(tables):
        path = folder / f"part{party}.parquet"
        pa.parquet.write_table(table, path)
        settings = {
            "sites": str(folder / str(party) / "sites.toml"),
            "party": party,
            "data": str(path),
            "schema": str(folder / "schema.toml"),
            "seed": party,
        }
        started.append(stage.start(PART, json.dumps(settings)))
    found = [result(process) for process in started]
    assert all("error" not in item for item in found), found
    streams = [bytes(stream) for tap in taps for stream in tap.streams]
    heard = b"".join(streams)
    assert len(heard) > 20_000
    opened = [value for item in found[0]["opened"] for value in item]
    plain = [*site_sums(tables), *opened]
    assert not [value for value in set(plain) if abs(value) > 255 and appears(value, heard)]
    assert b"the schema's" not in heard  # what the sites say to each other when they agree
    assert b"persons" not in heard
    check_looks_random(b"".join(encrypted for stream in streams for encrypted in records(stream)))


def site_sums(tables):
    """Exits by time of each site alone: what the first release sums."""
    public = schema()
    for bins in (12, 6, 5):
        edges = time_edges(public.time.intervals, bins)
        for table in tables:
            engine = LocalEngine(to_episodes(table, public))
            yield from engine.reduce(block_exits, edges, 1, 2, 1)[0].tolist()


def appears(value, heard):
    """As text, or in 4, 8 or 12 bytes of either order; short spellings would appear by chance."""
    spellings = [str(value).encode()] if abs(value) >= 10**6 else []
    for width in (4, 8, 12):
        if abs(value) < 2 ** (8 * width - 1):
            spellings += [value.to_bytes(width, order, signed=True) for order in ("little", "big")]
    return any(spelling in heard for spelling in spellings if len(spelling) > 4)


def records(stream):
    """Contents of the encrypted records of one direction: a type, a version, a length, the content (RFC 8446, 5.1)."""
    start = 0
    while start + 5 <= len(stream):
        kind, length = stream[start], int.from_bytes(stream[start + 3 : start + 5], "big")
        if kind == APPLICATION_DATA:
            yield stream[start + 5 : start + 5 + length]
        start += 5 + length


def check_looks_random(encrypted):
    """What is encrypted does not compress, and its bytes are uniform."""
    assert len(encrypted) > 20_000
    assert len(zlib.compress(encrypted, 9)) >= len(encrypted)
    counts = np.bincount(np.frombuffer(encrypted, np.uint8), minlength=256)
    assert stats.chisquare(counts).pvalue > ALPHA

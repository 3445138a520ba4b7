"""Results files resume, and the page says what the files say."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import SettingsError
from discreet.paper.config import Options
from discreet.paper.results import Results
from discreet.paper.run import reproduce


@pytest.fixture
def options(tmp_path):
    return Options(results=tmp_path / "results", docs=tmp_path / "docs")


def test_a_finished_cell_is_known_after_a_restart(tmp_path):
    path = tmp_path / "folder" / "cells.csv"
    Results(path, ("set", "epsilon", "mre"), ("set", "epsilon")).append(
        {"set": "TB", "epsilon": 0.1, "mre": 2.0}
    )
    again = Results(path, ("set", "epsilon", "mre"), ("set", "epsilon"))
    assert again.has(set="TB", epsilon=0.1)
    assert not again.has(set="TB", epsilon=0.2)
    again.append({"set": "TB", "epsilon": 0.2, "mre": 1.0})
    assert [row["mre"] for row in again.rows()] == ["2", "1"]


def test_of_several_runs_the_longest_counts(tmp_path):
    results = Results(tmp_path / "cells.csv", ("set", "epochs", "mre"), ("set", "epochs"))
    results.append(
        {"set": "FL", "epochs": 8, "mre": 2},
        {"set": "FL", "epochs": 250, "mre": 1},
        {"set": "TB", "epochs": 8, "mre": 3},
    )
    assert [row["mre"] for row in results.newest()] == ["1", "3"]


def test_an_unknown_part_is_refused(options):
    with pytest.raises(SettingsError, match="figure-5"):
        reproduce("figure-9", options, print)


def test_rows_of_several_writers_stay_whole(tmp_path):
    """Rows longer than a buffer, from four at a time."""
    path = tmp_path / "results.csv"
    Results(path, ("key", "value"), ("key",)).append({"key": "first", "value": ""})

    def write(writer):
        for number in range(20):
            row = {"key": f"{writer}.{number}", "value": str(writer) * 50_000}
            Results(path, ("key", "value"), ("key",)).append(row)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    rows = Results(path, ("key", "value"), ("key",)).rows()
    assert len(rows) == 1 + 4 * 20
    assert all(row["value"] == row["key"][0] * 50_000 for row in rows[1:])

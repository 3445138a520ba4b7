"""Results files resume, and the page says what the files say."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import SettingsError
from discreet.paper.config import EPSILONS, Options
from discreet.paper.figures import draw_all
from discreet.paper.page import write_page
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


def test_the_page_shows_what_the_files_hold_and_nothing_else(options):
    files = {
        "table-1.csv": "set,rows,events,covariates\nFL,7874,2169,8\nSB,data not available,,\n",
        "table-2.csv": "set,lambda,mre,se,paper,draws\nFL,1e-05,977.125,0.9,981.635,100000\n",
        "table-3.csv": "set,ours,paper\nTB,8.51687,9.039\n",
        "figure-4.csv": "set,variant,epsilon,epoch,mre,epochs\nFL,corrected,6.4,1,0.123,1\n",
        "figure-5.csv": "set,mechanism,variant,epsilon,mre,err,draws,epochs\n"
        "FL,sampler,corrected,6.4,0.321,2.75,800,8\nFL,output,printed,0.1,50.5,900.5,20,0\n",
        "agreement.csv": "set,variant,epsilon,pilot_epochs,epochs,chains,worst_mean,worst_variance,worst_quantile,worst,"
        "least_ratio,median_ratio,limit,accepted\n"
        "TB,printed,6.4,50,2,200,1.5,9.25,3.5,9.25,0.515,0.725,4.19,no\n",
        "mixing.csv": "set,variant,epsilon,epochs,states,r_hat,effective\nTB,corrected,6.4,250,100,1.01,77.4\n",
        "table-2-gap.csv": "reading,norm,beta1,beta2,beta3,mre_1e-05,mre_0.1,mre_1\n"
        "as here,27.0905,0.0118,-0.85,-0.24,100.719,0.974,0.982\n",
    }
    options.results.mkdir(parents=True)
    for name, text in files.items():
        (options.results / name).write_text(text)
    drawn = {path.name for path in draw_all(options)}
    assert drawn == {
        "figure-1.png",
        "figure-2.png",
        "figure-4.png",
        "figure-5.png",
        "figure-5-standard-errors.png",
    }
    write_page(options)
    page = (options.docs / "reproduction.md").read_text()
    for number in (
        "7874",
        "977.1",
        "981.635",
        "8.517",
        "9.039",
        "0.321",
        "2.75",
        "900.5",
        "77.4",
        "9.25",
        "27.09",
        "-0.5 %",
    ):
        assert number in page
    assert "data not available" in page
    assert "TB rejected" in page
    assert "Figure 3:" not in page


def test_an_unknown_part_is_refused(options):
    with pytest.raises(SettingsError, match="figure-5"):
        reproduce("figure-9", options, print)


def test_the_papers_grid_of_epsilon():
    assert EPSILONS == (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)


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

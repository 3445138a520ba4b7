"""The paper's numbers that need no chain, from its data; and a chain on one set."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.paper.chains import VARIANTS, run_chain
from discreet.paper.config import PAPER_TABLE_1, PAPER_TABLE_2, Options
from discreet.paper.data import load
from discreet.paper.results import Results
from discreet.paper.run import reproduce
from discreet.paper.tables import cox_coefficients, l2_laplace, output_errors, table_1

RESULTS = Path(__file__).parents[2] / "studies" / "results" / "paper"


@pytest.fixture(scope="module", autouse=True)
def _data(data_folder):
    """Skips without the data."""


def test_the_counts_are_the_papers(tmp_path):
    options = Options(results=tmp_path, docs=tmp_path, sets=("FL", "TB", "WT"))
    table_1(options)
    rows = Results.of(options, "table-1").rows()
    found = {r["set"]: (int(r["rows"]), int(r["events"]), int(r["covariates"])) for r in rows}
    assert found == {name: PAPER_TABLE_1[name] for name in ("FL", "TB", "WT")}


def test_the_printed_coefficients_of_tb():
    beta = load("TB").optimum.point[3:]
    np.testing.assert_allclose(beta, [0.0122443, -0.849823, -0.239539], atol=5e-4)


@pytest.mark.parametrize(("name", "tolerance"), [("FL", 0.03), ("WT", 0.03), ("TB", 0.12)])
def test_table_2_at_both_ends(name, tolerance, tmp_path):
    options = Options(results=tmp_path, docs=tmp_path, draws=20_000)
    data = load(name)
    for column, ridge in ((0, 1e-5), (5, 1.0)):
        mean = output_errors(data, ridge, options).mean()
        assert mean == pytest.approx(PAPER_TABLE_2[name][column], rel=tolerance)


def test_cox_on_wt_is_close():
    data = load("WT")
    cox = cox_coefficients(data)
    error = np.linalg.norm(data.optimum.point[3:] - cox) / np.linalg.norm(cox)
    assert error == pytest.approx(0.03617, abs=0.002)


def test_the_noise_has_the_printed_law():
    draws = l2_laplace(np.random.default_rng(1), 100_000, 6, 2.0)
    lengths = np.linalg.norm(draws, axis=1)
    # Gamma(6) of scale 2: mean 12, variance 24
    assert abs(lengths.mean() - 12.0) < 5.0 * np.sqrt(24.0 / 100_000)


def test_a_chain_has_the_errors_of_the_results_file():
    """The file's chains were run with sums that were interpolated to 1e-7, these are exact."""
    data = load("FL")
    options = Options(results=RESULTS, docs=RESULTS)
    sampler = replace(VARIANTS[0].settings(options, data.persons), epochs=2)
    states, curve = run_chain(data, 6.4, sampler, options.seed)
    key = {"set": "FL", "variant": "corrected", "epsilon": "6.4", "epochs": "250"}
    rows = [row for row in Results.of(options, "figure-4").rows() if key.items() <= row.items()]
    assert curve == pytest.approx([float(row["mre"]) for row in rows[:2]], rel=2e-5)
    assert data.standard_error(states).mean() < 6.0


def test_the_whole_paper_runs_in_small_and_resumes(tmp_path):
    options = replace(
        Options(results=tmp_path / "results", docs=tmp_path / "docs").quick(),
        draws=1000, perturbation_draws=1, epochs=1, branches=2,
        sets=("TB", "SB"), epsilons=(1.6, 6.4),
    )  # fmt: skip
    told = []
    reproduce("all", options, told.append)
    page = (options.docs / "reproduction.md").read_text()
    headings = ("## Table 1", "## Table 2", "## Figure 3", "### Does the step", "## Figure 4")
    for heading in (*headings, "## Figure 5", "## Table 3", "## The paper's remarks"):
        assert heading in page
    assert "data not available" in page
    files = {path: path.read_bytes() for path in options.results.iterdir()}
    again = []
    reproduce("all", options, again.append)
    assert {path: path.read_bytes() for path in options.results.iterdir()} == files
    # nothing is run again: stages are named and figures drawn
    assert all(line in told for line in again)
    assert len(again) < len(told)

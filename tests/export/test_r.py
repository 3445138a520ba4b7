"""The file for R predicts what discreet predicts, to 1e-9."""

import shutil
import subprocess

import numpy as np
import pytest
from pyarrow import csv as pacsv

import discreet as ds
from discreet.design.covariates import Categorical
from discreet.export import export_bytes
from discreet.export.r import _text
from discreet.mechanisms import OutputPerturbation
from discreet.people.columns import level_lookup, read_level, read_number
from tests.cohorts import cohort, schema
from tests.export.models import CASES, fitted, people, times

CLOSE = 1e-9
WIDER = {"causes with odd names": 1e-8}
"""Of limits: discreet's own of causes are by differences, and many rare levels make them wide."""
RSCRIPT = shutil.which("Rscript")
needs_r = pytest.mark.skipif(RSCRIPT is None, reason="R is not installed: there is no Rscript")

SCRIPT = """
folders <- commandArgs(trailingOnly = TRUE)
for (folder in folders) {
  source(file.path(folder, "model.R"), encoding = "UTF-8")
  people <- read.csv(file.path(folder, "people.csv"), check.names = FALSE, encoding = "UTF-8",
                     na.strings = "", colClasses = "character")
  times <- scan(file.path(folder, "times.txt"), quiet = TRUE)
  write <- function(table, name)
    write.table(format(table, digits = 17), file.path(folder, name), row.names = FALSE,
                col.names = FALSE, quote = FALSE)
  write(predict_survival(people, times), "plain.txt")
  found <- predict_survival(people, times, interval = TRUE)
  for (name in names(found)) write(found[[name]], paste0(name, ".txt"))
  if (length(discreet_model$alpha) > 1) for (k in seq_along(discreet_model$alpha)) {
    found <- predict_incidence(people, discreet_model$causes[k], times, interval = TRUE)
    for (name in names(found)) write(found[[name]], paste0(name, k, ".txt"))
  }
  sink(file.path(folder, "printed.txt")); print(discreet_model); sink()
  write(coef(discreet_model), "coef.txt")
}
"""


def run(folders):
    command = [RSCRIPT, "--vanilla", "-e", SCRIPT, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def predicted(tmp_path_factory):
    """One R for all cases."""
    root, new = tmp_path_factory.mktemp("r"), people(60, seed=9)
    folders = []
    for name in CASES:
        folder = root / name.replace(" ", "-").replace(":", "-")
        folder.mkdir()
        (folder / "model.R").write_bytes(export_bytes(fitted(name).model_, "r"))
        new.to_csv(folder / "people.csv", index=False, float_format="%.17g")
        np.savetxt(folder / "times.txt", times(name), fmt="%.17g")
        folders.append(folder)
    run(folders)
    return dict(zip(CASES, folders, strict=True)), new


def apart(folder, name, expected):
    return float(np.abs(np.loadtxt(folder / f"{name}.txt", ndmin=2) - expected).max())


@needs_r
@pytest.mark.parametrize("name", CASES)
def test_survival_and_its_intervals_are_those_of_discreet(predicted, name):
    folders, new = predicted
    model, folder = fitted(name), folders[name]
    found = model.predict_survival(new, times(name), interval=True)
    assert apart(folder, "estimate", found.estimate) < CLOSE
    for part in ("lower", "upper"):
        assert apart(folder, part, getattr(found, part)) < WIDER.get(name, CLOSE)
    assert apart(folder, "plain", found.estimate) < CLOSE
    assert float((found.upper - found.lower).max()) > 0.05


@needs_r
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("causes")])
def test_incidence_and_its_intervals_are_those_of_discreet(predicted, name):
    folders, new = predicted
    model, folder = fitted(name), folders[name]
    for place, cause in enumerate(model.model_.models, start=1):
        found = model.predict_incidence(new, cause, times(name), interval=True)
        assert apart(folder, f"estimate{place}", found.estimate) < CLOSE
        for part in ("lower", "upper"):
            assert apart(folder, f"{part}{place}", getattr(found, part)) < WIDER.get(name, CLOSE)


@needs_r
def test_the_print_method_says_what_the_numbers_are(predicted):
    folders, _ = predicted
    printed = (folders["strata"] / "printed.txt").read_text(encoding="utf-8")
    model = fitted("strata").model_
    assert printed.startswith("Survival regression, cloglog link")
    assert "Not private: do not publish" in printed
    assert "baseline[hospital=B][2]" in printed
    assert "hazard ratio" in printed
    read = np.loadtxt(folders["strata"] / "coef.txt")
    assert np.abs(read - model.coefficients.vector).max() < CLOSE


@needs_r
def test_a_release_carries_its_promise_and_needs_a_covariance_for_intervals(tmp_path):
    table = cohort(people=120)
    mechanism = OutputPerturbation(1.0)
    release = ds.simulate(
        ds.SurvivalRegression(schema(), link="logit"), table, mechanism=mechanism, seed=1
    ).model_
    (tmp_path / "model.R").write_bytes(export_bytes(release, "r"))
    head = (tmp_path / "model.R").read_text(encoding="utf-8").split("\n\n")[0]
    assert release.release_id in head
    assert "Simulated release, not private" in head
    assert all(line.startswith("#") for line in head.splitlines())
    pacsv.write_csv(table, tmp_path / "people.csv")
    command = (
        f'source("{tmp_path}/model.R"); people <- read.csv("{tmp_path}/people.csv"); '
        "stopifnot(all(predict_survival(people, 1) <= 1)); predict_survival(people, 1, interval = TRUE)"
    )
    done = subprocess.run([RSCRIPT, "-e", command], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "this model has no covariance" in done.stderr


@needs_r
@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("predict_survival(people, 1e6)", "times must lie between 0 and the horizon, 48."),
        ("predict_survival(people[, -1], 1)", "there is no column 'age' in the data."),
        ('predict_incidence(people, "cancer", 1)', "this model has one event"),
    ],
)
def test_a_wrong_call_gets_one_sentence(predicted, call, said):
    folders, _ = predicted
    folder = folders["logit natural-spline:3"]
    script = (
        f'source("{folder}/model.R"); '
        f'people <- read.csv("{folder}/people.csv", check.names = FALSE); {call}'
    )
    done = subprocess.run([RSCRIPT, "-e", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in done.stderr


WRITTEN = ["1", "1.0", " 01 ", "+1e0", "true", "FALSE", "0x1", "1_0", "1d2", "3D", "inf", "-Infinity",
           "NaN", ".5", "5.", "-.5e-1", "1e400", "a", " a\u00a0", "A", "1,5", "-0", ""]  # fmt: skip


@needs_r
def test_one_value_is_read_as_discreet_reads_it(predicted):
    """Numbers and levels; R by itself would read 0x1 as 1, and not strip every blank."""
    folders, _ = predicted
    levels = ("a", "1", "false", " 0.5", "inf", "0x1")
    lookup = level_lookup(Categorical(name="x", levels=levels))
    given, known = (f"c({', '.join(map(_text, texts))})" for texts in (WRITTEN, levels))
    script = (
        f'source("{folders["strata"]}/model.R"); given <- {given}; '
        f"cat(format(discreet_read(given), digits = 17), discreet_level(given, {known}))"
    )
    done = subprocess.run([RSCRIPT, "-e", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    words = np.array([np.nan if word == "NA" else float(word) for word in done.stdout.split()])
    numbers, found = np.split(words, 2)
    assert np.array_equal(numbers, [read_number(text) for text in WRITTEN], equal_nan=True)
    expected = [read_level(text, lookup) for text in WRITTEN]
    assert np.where(np.isnan(found), 0, found).tolist() == [max(code + 1, 0) for code in expected]


def test_texts_of_a_schema_are_no_code_in_r():
    assert (
        _text('a"; system("x") \\ \n ü') == '"a\\"; system(\\"x\\") \\\\ \\U0000000A \\U000000FC"'
    )

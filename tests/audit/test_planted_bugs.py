"""The audit notices what the mechanism tests plant; `docs/audit.md` says which check does."""

from pathlib import Path

import pytest

import discreet.paper.audit  # noqa: F401 - the sampler is audited too
from discreet.audit import Effort, Subject
from discreet.audit.run import run_family
from tests.mechanisms.bugs import BUGS
from tests.mechanisms.test_seeded_bugs import forget_plans, plant

DOCUMENT = Path(__file__).parents[2] / "docs" / "audit.md"
SMALL = Effort(pairs=12, fits=20, slow_fits=20, draws=60, attacks=20)

# bug -> (mechanism that is audited, family of checks that fails)
NOTICED = {
    "noise of half the scale": ("output", "witness"),
    "sensitivity of adding or removing a person used for replacing one": (
        "objective",
        "neighbours",
    ),
    "the event interval forgotten in the direction bound": ("objective", "neighbours"),
    "the event interval forgotten in the vertex bound": ("objective", "neighbours"),
    "two opposite covariates forgotten: max(r, 2X) became r": ("objective", "neighbours"),
    "smallest eigenvalue of the basis instead of the largest": ("objective", "neighbours"),
    "slopes bounded on a ball smaller than the one that confines the minimiser": (
        "output",
        "constants",
    ),
    "slopes taken at the public centre instead of at the edge of the ball": (
        "output",
        "constants",
    ),
    "Jacobian term forgotten": ("objective", "witness"),
    "norm instead of its square in the Jacobian term, as in the paper": (
        "objective",
        "neighbours",
    ),
    "Jacobian bound of constant covariates used where they vary": ("objective", "witness"),
    "output noise of objective perturbation not paid for": ("objective", "witness"),
    "solver's tolerance forgotten in the noise": ("output", "constants"),
    "solver's tolerance counted for one of the two neighbours only": ("objective", "constants"),
    "sqrt(d) forgotten in the rounding to the grid": ("output", "constants"),
    "rounding of the tilt forgotten in the solver's tolerance": ("objective", "constants"),
    "certificate not asked for": ("output", "witness"),
    "mean objective minimised with the ridge of the total one": ("output", "witness"),
    "ridge of the plan not used in the objective": ("output", "witness"),
    "tilt left out of the objective": ("objective", "replay"),
    "lattice noise drawn but not added": ("output", "replay"),
    "baseline coordinates released without their share of the scale": ("output", "replay"),
    "floats with low bits released": ("output", "lattice"),
    "same random bits in every fit": ("output", "law"),
    "seeded noise called private": ("output", "replay"),
    "iteration count of the solver among the released numbers": ("output", "replay"),
    "ridge taken from the data": ("output", "replay"),
    "epsilon not checked": ("output", "refusals"),
    "zero and negative epsilon accepted": ("output", "refusals"),
    "probit accepted by objective perturbation because its curvature is bounded": (
        "objective",
        "refusals",
    ),
    "cloglog accepted by output perturbation": ("output", "refusals"),
    "printed variants publishable": ("output", "refusals"),
    "values used before they are clipped": ("objective", "neighbours"),
    "NaN let through the clip": ("objective", "neighbours"),
    "lower bound used twice, upper bound never": ("objective", "neighbours"),
    "number of covariates forgotten in the map to the ball": ("objective", "neighbours"),
    "selection charged as one trial": ("selected", "witness"),
    "score of a person not clipped": ("selected", "neighbours"),
}


@pytest.fixture(autouse=True)
def _fresh_plans():
    forget_plans()
    yield
    forget_plans()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.title)
def test_the_audit_notices(monkeypatch, bug):
    name, family = NOTICED[bug.title]
    plant(monkeypatch, bug)
    assert failures(name, family)


def failures(name, family):
    """What fails; of a law only freshness, because so few draws cannot reject the controls."""
    found = run_family(family, Subject(name), SMALL)
    return [item for item in found if item.failed and not item.check.startswith("noise in")]


@pytest.mark.parametrize(("name", "family"), sorted(set(NOTICED.values())))
def test_the_shipped_code_passes(name, family):
    assert not failures(name, family)


@pytest.mark.parametrize("name", ["newton", "sampler"])
@pytest.mark.parametrize("family", ["witness", "neighbours", "replay", "refusals"])
def test_so_do_the_mechanisms_without_planted_bugs(name, family):
    assert not failures(name, family)


def test_the_document_says_which_check_notices_what():
    rows = [line.split("|") for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    named = {(row[1].strip(), row[2].strip(), row[3].strip()) for row in rows if len(row) == 5}
    assert {(title, name, family) for title, (name, family) in NOTICED.items()} <= named

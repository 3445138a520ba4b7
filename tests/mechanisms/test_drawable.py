"""A scale of noise that cannot be drawn is refused by the plan, before a charge.

Every mechanism, with the smallest and largest settings that its own checks let through.
"""

import dataclasses
import warnings

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.core.ask import Ask
from discreet.core.split import Split
from discreet.errors import SettingsError
from discreet.ledger import Reservation
from discreet.ledger.interface import DrawPermit
from discreet.mechanisms.contract import get_mechanism, registered

PERSONS = 60
EXTREMES = [(1e-9, 1e-18), (1e-12, 1e-18), (1e-12, 1e-6), (1e12, 1e-6), (1e9, 1e-18)]
PURE = [(1e12, 0.0), (1e9, 0.0), (1e4, 0.0), (1e-9, 0.0), (1e-12, 0.0)]


def people(rows=1):
    random = np.random.default_rng(4)
    number = PERSONS * rows
    start = np.tile(np.arange(rows, dtype=float), PERSONS)
    return pa.table(
        {
            "id": np.repeat(np.arange(PERSONS), rows),
            "from": start * 2.0,
            "to": start * 2.0 + 1.5 + random.uniform(0, 0.4, number),
            "end": random.choice(["", "cancer", "other"], number),
            "died": random.integers(0, 2, number),
            "age": random.uniform(0, 1, number),
            "arm": random.choice(["a", "b"], number),
            "site": random.choice(["x", "y"], number),
        }
    )


def schema(*, causes=False, person=False, strata=False):
    time = {"duration": "to", "entry": "from", "horizon": 6.0, "intervals": 6}
    time |= (
        {"event": "end", "causes": {"cancer": ["cancer"], "other": ["other"]}}
        if causes
        else {"event": "died"}
    )
    covariates = [{"name": "age", "low": 0, "high": 1}, {"name": "arm", "levels": ["a", "b"]}]
    made = {"time": time, "covariate": covariates}
    if person:
        made["person"] = "id"
    if strata:
        made["strata"] = {"name": "site", "levels": ["x", "y"]}
    return ds.Schema.from_mapping(made)


class Noting:
    """A ledger that admits everything and notes the charge."""

    def __init__(self):
        self.charged = False

    def check(self, request, *, least=False):
        pass

    def reserve(self, request):
        self.charged = True
        return Reservation(request.release_id, "no ledger", permit=DrawPermit())

    def settle(self, reservation, digest):
        pass


def settings(name):
    known = {item.name for item in dataclasses.fields(get_mechanism(name))}
    return [*(EXTREMES if "delta" in known else ()), *PURE], "delta" in known


def refused_after_a_charge(release):
    """Whether the release was charged and then refused; what libraries warn of must stay inside."""
    ledger = Noting()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            release(ledger)
    except SettingsError:
        return ledger.charged
    return False


CASES = [(name, *pair) for name in sorted(registered()) for pair in settings(name)[0]]


@pytest.mark.parametrize(("name", "epsilon", "delta"), CASES)
def test_what_cannot_be_drawn_is_not_charged(name, epsilon, delta):
    given = {"delta": delta} if settings(name)[1] else {}
    kind = get_mechanism(name)
    model = ds.SurvivalRegression(schema(), baseline="natural-spline:1", link="logit")
    assert not refused_after_a_charge(
        lambda ledger: model.publish(
            people(), mechanism=kind(epsilon=epsilon, **given), ledger=ledger
        )
    )


@pytest.mark.parametrize(("epsilon", "delta"), [*EXTREMES, *PURE])
def test_curves_that_cannot_be_drawn_are_not_charged(epsilon, delta):
    curves = ds.GroupCurves(schema(), by="arm")
    assert not refused_after_a_charge(
        lambda ledger: (
            curves.publish(
                people(), mechanism=ds.GroupCounts(epsilon, delta), ledger=ledger
            ).release_
        )
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 1e-18), (1e12, 0.0)])
def test_causes_that_cannot_be_drawn_are_not_charged(epsilon, delta):
    model = ds.SurvivalRegression(schema(causes=True), link="logit", baseline="natural-spline:1")
    mechanism = ds.PrivateNewton(epsilon=epsilon, delta=delta)
    assert not refused_after_a_charge(
        lambda ledger: model.publish(people(), mechanism=mechanism, ledger=ledger)
    )


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize(
    "kinds",
    [{}, {"causes": True}, {"person": True}, {"strata": True}],
    ids=str,
)
def test_every_question_of_a_draw_was_looked_at_by_the_plan(monkeypatch, kinds, delta):
    planned, asked = [], []
    look, call = Split.require_drawable, Ask.__call__

    def require_drawable(self, share, sensitivity, dimension=1):
        planned.append((share, self.scale(share, sensitivity), dimension))
        return look(self, share, sensitivity, dimension)

    def answer(self, question, share):
        found = call(self, question, share)
        asked.append((share, self.split.scale(share, question.sensitivity), len(found.values)))
        return found

    monkeypatch.setattr(Split, "require_drawable", require_drawable)
    monkeypatch.setattr(Ask, "__call__", answer)
    model = ds.SurvivalRegression(schema(**kinds), link="logit", baseline="natural-spline:1")
    data = people(3 if "person" in kinds else 1)
    settings = {"mechanism": ds.PrivateNewton(epsilon=50.0, delta=delta), "seed": 1}
    ds.simulate(model, data, **settings)
    assert len(asked) >= 5
    for share, scale, _dimension in asked:
        scales = [known for part, known, _ in planned if part == share]
        assert min(scales) <= scale <= max(scales)

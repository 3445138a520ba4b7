"""PMML read by an interpreter of its own, written from the standard, gives discreet's survival."""

import math
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import discreet as ds
from discreet.errors import SettingsError
from discreet.export import export_bytes
from discreet.export.pmml import EVENT, NAMESPACE, TIME
from tests.export.models import CASES, fitted, people, times

XML = {"p": NAMESPACE}
FUNCTIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "max": max,
    "min": min,
    "pow": lambda a, b: a**b,
    "ln": math.log,
    "exp": math.exp,
    "equal": lambda a, b: a == b,
}
EXPRESSIBLE = [
    name
    for name, case in CASES.items()
    if case[0] == "cloglog" and "causes" not in case[3] and "changes" not in case[3]
]


def value(node, fields):
    """An expression: a constant, a field, or a function of expressions; None is missing."""
    name = node.tag.removeprefix(f"{{{NAMESPACE}}}")
    if name == "Constant":
        return float(node.text) if node.get("dataType") == "double" else node.text
    if name == "FieldRef":
        return fields[node.get("field")]
    if node.get("function") == "isMissing":
        return value(node[0], fields) is None
    if node.get("function") == "if":
        return value(node[1] if value(node[0], fields) else node[2], fields)
    return FUNCTIONS[node.get("function")](*(value(child, fields) for child in node))


def scored(root, person, at):
    """The survival of a person, who has a dictionary of texts and numbers."""
    model = root.find("p:GeneralRegressionModel", XML)
    hazard, survival = model.iterfind("p:Output/p:OutputField", XML)
    fields = {}
    known = {
        field.get("name"): field for field in root.iterfind("p:DataDictionary/p:DataField", XML)
    }
    for mining in model.iterfind("p:MiningSchema/p:MiningField", XML):
        name = mining.get("name")
        given = person.get(name)
        if given is not None and known[name].get("optype") == "continuous":
            codes = {float(item.get("value")) for item in known[name]}
            given = None if given in codes else given
        elif given is not None:
            levels = {item.get("value") for item in known[name]}
            given = given if given in levels else None
        fields[name] = mining.get("missingValueReplacement") if given is None else given
    for field in model.iterfind("p:LocalTransformations/p:DerivedField", XML):
        fields[field.get("name")] = value(field[0], fields)
    parameters = dict.fromkeys(
        (item.get("name") for item in model.iterfind("p:ParameterList/p:Parameter", XML)), 0.0
    )
    for cell in model.iterfind("p:PPMatrix/p:PPCell", XML):
        parameters[cell.get("parameterName")] += (
            float(cell.get("value")) * fields[cell.get("predictorName")]
        )
    risk = sum(
        float(cell.get("beta")) * parameters[cell.get("parameterName")]
        for cell in model.iterfind("p:ParamMatrix/p:PCell", XML)
    )
    tables = model.find("p:BaseCumHazardTables", XML)
    stratum = model.get("baselineStrataVariable")
    if stratum:
        (tables,) = (item for item in tables if item.get("value") == fields[stratum])
    ended = [item for item in tables if float(item.get("time")) <= at]
    fields[hazard.get("name")] = float(ended[-1].get("cumHazard")) * math.exp(risk)
    return value(survival[0], fields)


def as_person(row):
    return {
        name: None if pd.isna(item) else item if isinstance(item, float) else str(item)
        for name, item in row.items()
    }


@pytest.mark.parametrize("name", EXPRESSIBLE)
def test_the_survival_is_that_of_discreet(name):
    root = ET.fromstring(export_bytes(fitted(name).model_, "pmml"))  # noqa: S314 - our own
    new = people(30, seed=9)
    points = times(name)
    expected = fitted(name).predict_survival(new, points)
    found = [[scored(root, as_person(row), at) for at in points] for _, row in new.iterrows()]
    assert np.abs(np.array(found) - expected).max() < 1e-9


@pytest.mark.parametrize("name", ["strata", "odd names"])
def test_every_field_is_declared_and_elements_stand_in_the_order_of_the_standard(name):
    root = ET.fromstring(export_bytes(fitted(name).model_, "pmml"))  # noqa: S314 - our own
    names = [child.tag.partition("}")[2] for child in root.find("p:GeneralRegressionModel", XML)]
    assert names == [
        "MiningSchema", "Output", "LocalTransformations", "ParameterList", "CovariateList",
        "PPMatrix", "ParamMatrix", "EventValues", "BaseCumHazardTables",
    ]  # fmt: skip
    found = {
        kind: [field.get("name") for field in root.iter(f"{{{NAMESPACE}}}{kind}Field")]
        for kind in ("Data", "Derived", "Output")
    }
    assert set(fitted(name).model_.public_schema.columns) - {"time", "event"} <= set(found["Data"])
    assert {TIME, EVENT} <= set(found["Data"])
    every = [field for fields in found.values() for field in fields]
    assert len(set(every)) == len(every)
    used = {field.get("field") for field in root.iter(f"{{{NAMESPACE}}}FieldRef")}
    assert used <= set(every)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("logit natural-spline:3", "the logit link; fit with --link cloglog"),
        ("probit log-time:3", "the probit link"),
        ("causes", "no model of competing risks"),
        ("changes", "the effect of 'age' changes with time"),
        ("changes cloglog", "the effect of 'age' changes with time"),
    ],
)
def test_what_pmml_cannot_express_gets_one_sentence(name, said):
    with pytest.raises(SettingsError, match=said):
        export_bytes(fitted(name).model_, "pmml")


def test_a_cox_model_without_covariates_has_its_baseline_alone():
    time = {"duration": "time", "event": "event", "horizon": 48.0, "intervals": 6}
    model = ds.SurvivalRegression({"time": time, "covariate": []}, link="cloglog").fit(
        people().query("time < 48")
    )
    root = ET.fromstring(export_bytes(model.model_, "pmml"))  # noqa: S314 - our own
    expected = model.predict_survival(people(1), [48.0])[0, 0]
    assert scored(root, {}, 48.0) == pytest.approx(expected, abs=1e-12)

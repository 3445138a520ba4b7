"""PMML 4.4: a model with the complementary log-log link is its Cox regression.

    -log(1 - h_s) = exp(alpha'A_s + beta'x),    H(t | x) = H_0(t) exp(beta'x),
    H_0(t) = sum over intervals ended by t of exp(alpha'A_s)

so the baseline is a table of H_0 at the edges, one for each stratum, and every column of x is a derived
field. PMML has no survival curve for other links, none for several causes, no effect that changes with
time, and no interval of a curve.

Reference: Data Mining Group, PMML 4.4, General Regression, section on Cox models.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

import numpy as np

from discreet.design.covariates import Categorical, Numeric
from discreet.errors import SettingsError
from discreet.export.content import Content
from discreet.version import __version__

NAMESPACE = "http://www.dmg.org/PMML-4_4"
TIME, EVENT = "discreet time", "discreet event"
HAZARD, SURVIVAL = "cumulative hazard", "survival"
NUMBER = {"optype": "continuous", "dataType": "double"}
Node = ET.Element


class Level(NamedTuple):
    """A level within a formula, where a plain text is the name of a field."""

    name: str


Formula: TypeAlias = str | float | Level | tuple[Any, ...]


def write(content: Content) -> bytes:
    """The file; a `SettingsError` says what PMML cannot express."""
    if len(content.parts) > 1:
        raise SettingsError(
            "PMML 4.4 has no model of competing risks; export to r or excel instead."
        )
    if content.schema.changing:
        raise SettingsError(
            "PMML 4.4 has Cox models whose effects last, and the effect of "
            f"'{content.schema.changing[0]}' changes with time; export to r or excel instead."
        )
    if content.link != "cloglog":
        raise SettingsError(
            f"PMML 4.4 has survival curves for proportional hazards alone, and this model has the "
            f"{content.link} link; fit with --link cloglog, or export to r or excel."
        )
    taken = {item.name for item in content.schema.covariates}
    taken |= {content.schema.strata.name} if content.schema.strata else set()
    names = [_free(name, taken) for name in (TIME, EVENT, HAZARD, SURVIVAL)]
    time, event, hazard, survival = names
    root = ET.Element("PMML", {"version": "4.4", "xmlns": NAMESPACE})
    header = _add(root, "Header", description=" ".join(content.words))
    _add(header, "Application", name="discreet", version=__version__)
    dictionary = _add(root, "DataDictionary")
    for item in content.schema.covariates:
        if isinstance(item, Categorical):
            _levels(dictionary, item.name, item.levels)
        else:
            field = _add(dictionary, "DataField", name=item.name, **NUMBER)
            for code in content.codes(item):
                _add(field, "Value", value=_number(code), property="missing")
    if content.schema.strata is not None:
        _levels(dictionary, content.schema.strata.name, content.schema.strata.levels)
    _add(dictionary, "DataField", name=time, **NUMBER)
    _levels(dictionary, event, ("0", "1"))
    model = _add(
        root, "GeneralRegressionModel", modelName="discreet", functionName="regression",
        modelType="CoxRegression", endTimeVariable=time, statusVariable=event,
    )  # fmt: skip
    if content.schema.strata is not None:
        model.set("baselineStrataVariable", content.schema.strata.name)
    # unknown levels count as missing; an unknown stratum is the first
    schema, unknown = _add(model, "MiningSchema"), {"invalidValueTreatment": "asMissing"}
    for item in content.schema.covariates:
        _add(schema, "MiningField", name=item.name, **unknown)
    if content.schema.strata is not None:
        unknown["missingValueReplacement"] = content.schema.strata.levels[0]
        _add(schema, "MiningField", name=content.schema.strata.name, **unknown)
    _add(schema, "MiningField", name=time)
    _add(schema, "MiningField", name=event, usageType="target")
    output = _add(model, "Output")
    _add(output, "OutputField", name=hazard, **NUMBER, feature="predictedValue")
    field = _add(output, "OutputField", name=survival, **NUMBER, feature="transformedValue")
    _write(field, ("exp", ("*", -1.0, hazard)))
    transformations, fields = _add(model, "LocalTransformations"), []
    for name, formula, is_column in _derived(content, taken):
        _write(_add(transformations, "DerivedField", name=name, **NUMBER), formula)
        fields += [name] * is_column
    _parameters(model, content, fields)
    _baseline(model, content)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _free(name: str, taken: set[str]) -> str:
    """A name that the schema or another field has not taken; a file has one space of names."""
    while name in taken:
        name = f"discreet {name}"
    taken.add(name)
    return name


def _add(parent: Node, tag: str, text: str | None = None, /, **attributes: str) -> Node:
    child = ET.SubElement(parent, tag, attributes)
    child.text = text
    return child


def _number(value: float) -> str:
    return repr(float(value))


def _levels(dictionary: Node, name: str, levels: Sequence[str]) -> None:
    field = _add(dictionary, "DataField", name=name, optype="categorical", dataType="string")
    for level in levels:
        _add(field, "Value", value=level)


# Derived fields: one for each column of x


def _write(parent: Node, formula: Formula) -> None:
    """Add a formula: a field by its name, a number, a level, or a function with its arguments."""
    if isinstance(formula, str):
        _add(parent, "FieldRef", field=formula)
    elif isinstance(formula, float):
        _add(parent, "Constant", _number(formula), dataType="double")
    elif isinstance(formula, Level):
        _add(parent, "Constant", formula.name, dataType="string")
    else:
        function, *arguments = formula
        node = _add(parent, "Apply", function=function)
        for argument in arguments:
            _write(node, argument)


def _derived(content: Content, taken: set[str]) -> Iterator[tuple[str, Formula, bool]]:
    """Yield the name and formula of each field, and whether it is a column of x."""
    blocks: dict[str, list[str]] = {}
    for item in content.schema.covariates:
        blocks[item.name] = []
        for name, formula, is_column in _terms(item, taken):
            blocks[item.name] += [name] * is_column
            yield name, formula, is_column
        if item.indicated:
            missing = ("if", ("isMissing", item.name), 1.0, 0.0)
            yield _free(f"x {item.name} missing", taken), missing, True
    for interaction in content.schema.interactions:
        one, other = (blocks[name] for name in interaction.of)
        for left in one:
            for right in other:
                yield _free(f"{left} by {right}", taken), ("*", left, right), True


def _terms(item: Numeric | Categorical, taken: set[str]) -> Iterator[tuple[str, Formula, bool]]:
    missing = ("isMissing", item.name)
    if isinstance(item, Categorical):  # 1 for a level, 0 for others and where there is none
        for place, level in enumerate(item.levels[1:], start=1):
            same = ("if", ("equal", item.name, Level(level)), 1.0, 0.0)
            yield _free(f"x {item.name} {place}", taken), ("if", missing, 0.0, same), True
        return
    low, high = item.bounds
    filled = ("if", missing, float(item.fill), item.name)
    plain = item.knots is None and not item.logarithmic
    clipped = _free(f"x {item.name}" if plain else f"{item.name} in bounds", taken)
    yield clipped, ("max", float(low), ("min", float(high), filled)), plain
    if item.logarithmic:
        yield _free(f"x log {item.name}", taken), ("ln", clipped), True
    if item.knots is None:
        return
    # b_2 = t and b_{i+2} = d_i - d_{k-1} of the natural spline with even knots k in [0, 1], where
    # d = max(t - k, 0)^3 / (1 - k); t never exceeds the last knot
    t = _free(f"x {item.name} spline 1", taken)
    yield t, ("/", ("-", clipped, float(low)), float(high - low)), True
    cubes: list[Formula] = [
        ("/", ("pow", ("max", ("-", t, float(knot)), 0.0), 3.0), float(1.0 - knot))
        for knot in np.linspace(0.0, 1.0, item.knots)[:-1]
    ]
    for number, cube in enumerate(cubes[:-1], start=2):
        yield _free(f"x {item.name} spline {number}", taken), ("-", cube, cubes[-1]), True


# Numbers


def _parameters(model: Node, content: Content, fields: list[str]) -> None:
    """One parameter for each column."""
    names, beta = content.schema.coefficient_names, content.parts[0].beta
    parameters = _add(model, "ParameterList")
    for place, name in enumerate(names):
        _add(parameters, "Parameter", name=f"p{place}", label=name)
    predictors = _add(model, "CovariateList")
    for field in fields:
        _add(predictors, "Predictor", name=field)
    matrix = _add(model, "PPMatrix")
    for place, field in enumerate(fields):
        _add(matrix, "PPCell", value="1", predictorName=field, parameterName=f"p{place}")
    values = _add(model, "ParamMatrix")
    for place, value in enumerate(beta):
        _add(values, "PCell", parameterName=f"p{place}", beta=_number(value))


def _baseline(model: Node, content: Content) -> None:
    """H_0 at every edge, for each stratum."""
    _add(_add(model, "EventValues"), "Value", value="1")
    horizon = _number(content.edges[-1])
    tables = _add(model, "BaseCumHazardTables", maxTime=horizon)
    hazards = np.exp(content.basis @ content.parts[0].alpha.T).T
    for place, steps in enumerate(hazards):
        table = tables
        if content.schema.strata is not None:
            level = content.schema.strata.levels[place]
            table = _add(tables, "BaselineStratum", value=level, maxTime=horizon)
        totals = np.concatenate([[0.0], np.cumsum(steps)])
        for edge, total in zip(content.edges, totals, strict=True):
            _add(table, "BaselineCell", time=_number(edge), cumHazard=_number(total))

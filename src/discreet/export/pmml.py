"""PMML 4.4: a model with the complementary log-log link is its Cox regression.

    -log(1 - h_s) = exp(alpha'A_s + beta'x),    H(t | x) = H_0(t) exp(beta'x),
    H_0(t) = sum over intervals ended by t of exp(alpha'A_s)

so the baseline is a table of H_0 at the edges, one for each stratum, and every column of x is a derived
field. PMML has no survival curve for other links, none for several causes, no effect that changes with
time, and no interval of a curve.

Reference: Data Mining Group, PMML 4.4, General Regression, section on Cox models.
"""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

import numpy as np

from discreet.design.covariates import Categorical, Numeric
from discreet.errors import SettingsError
from discreet.export.content import Content
from discreet.version import __version__

NAMESPACE = "http://www.dmg.org/PMML-4_4"
TIME, EVENT = "discreet time", "discreet event"
HAZARD, SURVIVAL = "cumulative hazard", "survival"
Node = ET.Element


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
    taken = {item.name for item in content.covariates}
    taken |= {content.strata.name} if content.strata else set()
    names = [_free(name, taken) for name in (TIME, EVENT, HAZARD, SURVIVAL)]
    time, event, hazard, survival = names
    root = ET.Element("PMML", {"version": "4.4", "xmlns": NAMESPACE})
    header = _add(root, "Header", description=" ".join(content.words))
    _add(header, "Application", name="discreet", version=__version__)
    _dictionary(root, content, time, event)
    model = _add(
        root, "GeneralRegressionModel", modelName="discreet", functionName="regression",
        modelType="CoxRegression", endTimeVariable=time, statusVariable=event,
    )  # fmt: skip
    if content.strata is not None:
        model.set("baselineStrataVariable", content.strata.name)
    _mining_schema(model, content, time, event)
    _output(model, hazard, survival)
    fields = _derived_fields(model, content, taken)
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


def _dictionary(root: Node, content: Content, time: str, event: str) -> None:
    """The fields that people have: covariates, stratum, time and event."""
    dictionary = _add(root, "DataDictionary")
    for item in content.covariates:
        if isinstance(item, Categorical):
            _levels(dictionary, item.name, item.levels)
        else:
            field = _add(
                dictionary, "DataField", name=item.name, optype="continuous", dataType="double"
            )
            for code in content.codes(item):
                _add(field, "Value", value=_number(code), property="missing")
    if content.strata is not None:
        _levels(dictionary, content.strata.name, content.strata.levels)
    _add(dictionary, "DataField", name=time, optype="continuous", dataType="double")
    _levels(dictionary, event, ("0", "1"))


def _levels(dictionary: Node, name: str, levels: Sequence[str]) -> None:
    field = _add(dictionary, "DataField", name=name, optype="categorical", dataType="string")
    for level in levels:
        _add(field, "Value", value=level)


def _mining_schema(model: Node, content: Content, time: str, event: str) -> None:
    """Unknown levels count as missing; an unknown stratum is the first."""
    schema = _add(model, "MiningSchema")
    for item in content.covariates:
        _add(schema, "MiningField", name=item.name, invalidValueTreatment="asMissing")
    if content.strata is not None:
        _add(
            schema, "MiningField", name=content.strata.name, invalidValueTreatment="asMissing",
            missingValueReplacement=content.strata.levels[0],
        )  # fmt: skip
    _add(schema, "MiningField", name=time)
    _add(schema, "MiningField", name=event, usageType="target")


def _output(model: Node, hazard: str, survival: str) -> None:
    """H(t), and S(t) = exp(-H(t))."""
    output = _add(model, "Output")
    _add(
        output, "OutputField", name=hazard, optype="continuous", dataType="double",
        feature="predictedValue",
    )  # fmt: skip
    product = _apply(_apply(_add(
        output, "OutputField", name=survival, optype="continuous", dataType="double",
        feature="transformedValue",
    ), "exp"), "*")  # fmt: skip
    _constant(product, -1.0)
    _field(product, hazard)


# Derived fields: one for each column of x


def _apply(parent: Node, function: str) -> Node:
    return _add(parent, "Apply", function=function)


def _constant(parent: Node, value: float) -> None:
    _add(parent, "Constant", _number(value), dataType="double")


def _field(parent: Node, name: str) -> None:
    _add(parent, "FieldRef", field=name)


class _Columns:
    """The derived fields of x, in the order of the effects."""

    def __init__(self, model: Node, taken: set[str]) -> None:
        self.transformations = _add(model, "LocalTransformations")
        self.taken = taken
        self.names: list[str] = []

    def add(self, name: str, *, column: bool = True) -> tuple[Node, str]:
        """A derived field and its name; one that is not a column is read by others."""
        name = _free(name, self.taken)
        if column:
            self.names.append(name)
        node = _add(
            self.transformations, "DerivedField", name=name, optype="continuous", dataType="double"
        )
        return node, name


def _derived_fields(model: Node, content: Content, taken: set[str]) -> list[str]:
    """All columns, in the order of the effects."""
    columns = _Columns(model, taken)
    blocks: dict[str, list[str]] = {}
    for item in content.covariates:
        start = len(columns.names)
        if isinstance(item, Categorical):
            _indicators(columns, item)
        else:
            _values(columns, item)
        blocks[item.name] = columns.names[start:]
        if item.indicated:
            missing = _apply(columns.add(f"x {item.name} missing")[0], "if")
            _field(_apply(missing, "isMissing"), item.name)
            _constant(missing, 1.0)
            _constant(missing, 0.0)
    for interaction in content.interactions:
        one, other = (blocks[name] for name in interaction.of)
        for left in one:
            for right in other:
                product = _apply(columns.add(f"{left} by {right}")[0], "*")
                _field(product, left)
                _field(product, right)
    return columns.names


def _indicators(columns: _Columns, item: Categorical) -> None:
    """1 for a level, 0 for others and where there is none."""
    for place, level in enumerate(item.levels[1:], start=1):
        known = _apply(columns.add(f"x {item.name} {place}")[0], "if")
        _field(_apply(known, "isMissing"), item.name)
        _constant(known, 0.0)
        same = _apply(known, "if")
        equal = _apply(same, "equal")
        _field(equal, item.name)
        _add(equal, "Constant", level, dataType="string")
        _constant(same, 1.0)
        _constant(same, 0.0)


def _values(columns: _Columns, item: Numeric) -> None:
    """The number, filled and clipped, its logarithm, or its spline."""
    plain = item.knots is None and not item.logarithmic
    low, high = item.bounds
    node, clipped = columns.add(
        f"x {item.name}" if plain else f"{item.name} in bounds", column=plain
    )
    least = _apply(node, "max")
    _constant(least, low)
    most = _apply(least, "min")
    _constant(most, high)
    filled = _apply(most, "if")
    _field(_apply(filled, "isMissing"), item.name)
    _constant(filled, item.fill)
    _field(filled, item.name)
    if item.logarithmic:
        _field(_apply(columns.add(f"x log {item.name}")[0], "ln"), clipped)
    if item.knots is not None:
        _spline(columns, item, clipped, item.knots)


def _spline(columns: _Columns, item: Numeric, clipped: str, knots: int) -> None:
    """b_2 = t and b_{i+2} = d_i - d_{k-1} of the natural spline with even knots in [0, 1]."""
    low, high = item.bounds
    node, t = columns.add(f"x {item.name} spline 1")
    divided = _apply(node, "/")
    shifted = _apply(divided, "-")
    _field(shifted, clipped)
    _constant(shifted, low)
    _constant(divided, high - low)
    places = np.linspace(0.0, 1.0, knots)[:-1]

    def scaled(parent: Node, place: float) -> None:
        """d = max(t - k, 0)^3 / (1 - k); t never exceeds the last knot."""
        ratio = _apply(parent, "/")
        power = _apply(ratio, "pow")
        positive = _apply(power, "max")
        difference = _apply(positive, "-")
        _field(difference, t)
        _constant(difference, place)
        _constant(positive, 0.0)
        _constant(power, 3.0)
        _constant(ratio, 1.0 - place)

    for number, place in enumerate(places[:-1], start=2):
        difference = _apply(columns.add(f"x {item.name} spline {number}")[0], "-")
        scaled(difference, float(place))
        scaled(difference, float(places[-1]))


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
        if content.strata is not None:
            level = content.strata.levels[place]
            table = _add(tables, "BaselineStratum", value=level, maxTime=horizon)
        totals = np.concatenate([[0.0], np.cumsum(steps)])
        for edge, total in zip(content.edges, totals, strict=True):
            _add(table, "BaselineCell", time=_number(edge), cumHazard=_number(total))

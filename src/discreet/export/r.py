"""One file of plain R, without packages: the model's numbers, and functions that predict from them.

`templates/predict.R` has the functions; what is written here is the list `discreet_model`. Numbers are
their shortest decimal form that reads back as the same double.
"""

from collections.abc import Iterable
from importlib.resources import files

import numpy as np

from discreet.design.covariates import Categorical, Numeric
from discreet.export.content import Content
from discreet.results.description import ratio_of
from discreet.text import filled

WIDTH = 96


def write(content: Content) -> bytes:
    """The file."""
    functions = (files("discreet.export") / "templates" / "predict.R").read_text(encoding="utf-8")
    lines = [
        *(f"# {line}" for word in content.words for line in filled(word, WIDTH).splitlines()),
        "#",
        '# source("this file"); print(discreet_model)',
        "# predict_survival(people, times, interval = TRUE)   people: a data frame with the covariates",
        "",
        f"discreet_model <- {_model(content)}",
        "",
    ]
    return ("\n".join(lines) + "\n" + functions).encode()


def _model(content: Content) -> str:
    parts, strata = content.parts, content.schema.strata
    first, last = content.periods.stretches
    alphas = _list([("", _matrix(part.alpha)) for part in parts], 4)
    betas = _list([("", _numbers(part.beta)) for part in parts], 4)
    pairs = [("", _texts(item.of)) for item in content.schema.interactions]
    fields = [
        ("words", _texts(content.words)),
        ("link", _text(content.link)),
        ("effect", _text(ratio_of(content.link))),
        ("baseline", _text(content.design.declared.kind)),
        ("baseline_size", str(content.design.declared.dimension)),
        ("baseline_steps", _numbers(np.array(content.design.steps))),
        ("column", _numbers(content.periods.column_of + 1)),
        ("first", _numbers(first)),
        ("last", _numbers(last)),
        ("edges", _numbers(content.edges)),
        (
            "covariates",
            _list([("", _covariate(content, item)) for item in content.schema.covariates], 4),
        ),
        ("interactions", _list(pairs, 4)),
        (
            "strata",
            "NULL"
            if strata is None
            else f"list(name = {_text(strata.name)}, levels = {_texts(strata.levels)})",
        ),
        ("names", _texts(content.names)),
        ("causes", "NULL" if len(parts) == 1 else _texts(part.cause for part in parts)),
        ("alpha", alphas),
        ("beta", betas),
        ("covariance", "NULL" if content.covariance is None else _matrix(content.covariance)),
    ]
    return f"structure({_list(fields, 2)}, class = {_text('discreet_model')})"


def _covariate(content: Content, item: Numeric | Categorical) -> str:
    fields = [("name", _text(item.name)), ("indicator", "TRUE" if item.indicated else "FALSE")]
    if isinstance(item, Categorical):
        return _list([*fields, ("levels", _texts(item.levels))])
    low, high = item.bounds
    scale = "spline" if item.knots is not None else item.scale or "linear"
    fields += [("low", _number(low)), ("high", _number(high)), ("fill", _number(item.fill))]
    fields += [("scale", _text(scale)), ("knots", str(item.knots or 0))]
    fields += [("codes", _numbers(np.array(content.codes(item))))]
    return _list(fields)


def _list(fields: Iterable[tuple[str, str]], indent: int = 0) -> str:
    """list(name = value, ...); over several lines where an indent is given."""
    items = [f"{name} = {value}" if name else value for name, value in fields]
    if not indent:
        return f"list({', '.join(items)})"
    space = "\n" + " " * indent
    return f"list({space}{f',{space}'.join(items)}{space[:-2]})" if items else "list()"


def _text(value: str) -> str:
    """A string of R: what is not plain ASCII by its code point, so that no locale changes it."""
    escaped = (
        f"\\{character}"
        if character in '"\\'
        else character
        if " " <= character <= "~"
        else f"\\U{ord(character):08X}"
        for character in value
    )
    return f'"{"".join(escaped)}"'


def _texts(values: Iterable[str]) -> str:
    return f"c({', '.join(map(_text, values))})"


def _number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _numbers(values: np.ndarray) -> str:
    return f"c({', '.join(map(_number, values))})" if len(values) else "numeric(0)"


def _matrix(values: np.ndarray) -> str:
    rows = ",\n    ".join(", ".join(map(_number, row)) for row in values)
    return f"matrix(c(\n    {rows}), nrow = {len(values)}, byrow = TRUE)"

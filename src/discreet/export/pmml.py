"""PMML 4.4: a model with the complementary log-log link is its Cox regression.

    -log(1 - h_s) = exp(alpha'A_s + beta'x),    H(t | x) = H_0(t) exp(beta'x),
    H_0(t) = sum over intervals ended by t of exp(alpha'A_s)

so the baseline is a table of H_0 at the edges, one for each stratum, and every column of x is a derived
field. PMML has no survival curve for other links, none for several causes, no effect that changes with
time, and no interval of a curve.

Reference: Data Mining Group, PMML 4.4, General Regression, section on Cox models.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from discreet.design.covariates import Categorical, Numeric
from discreet.errors import SettingsError
from discreet.export.content import Content
from discreet.templates import template
from discreet.version import __version__

NAMESPACE = "http://www.dmg.org/PMML-4_4"
TIME, EVENT = "discreet time", "discreet event"
HAZARD, SURVIVAL = "cumulative hazard", "survival"


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
    fields = list(_derived(content, taken))
    steps = np.exp(content.basis @ content.parts[0].alpha.T)
    totals = np.vstack([np.zeros(steps.shape[1]), np.cumsum(steps, axis=0)])
    text = template("discreet.export", "pmml.xml").render(
        content=content,
        covariates=content.schema.covariates,
        strata=content.schema.strata,
        namespace=NAMESPACE,
        version=__version__,
        time=time,
        event=event,
        hazard=hazard,
        survival=survival,
        fields=fields,
        columns=[name for name, _, is_column in fields if is_column],
        names=content.schema.coefficient_names,
        beta=content.parts[0].beta.tolist(),
        edges=content.edges.tolist(),
        hazards=totals.T.tolist(),
    )
    return f"{text}\n".encode()


def _free(name: str, taken: set[str]) -> str:
    """A name that the schema or another field has not taken; a file has one space of names."""
    while name in taken:
        name = f"discreet {name}"
    taken.add(name)
    return name


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

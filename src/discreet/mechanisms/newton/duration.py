"""How long a private fit takes, from public facts alone: persons n, and parameters.

    seconds = a + b n + c n d^2 + e n m^2 + f m + g d^3

d counts the coefficients of all causes, the baselines' included, and m those of numbers: levels are mostly
zeros. The information of n persons has d^2 entries, and an estimate is a root in d unknowns, whatever n is;
the number of intervals hardly matters, because sums over them are tabulated once. The factors come from
`benchmarks/durations.py`, as does the page that shows how well they hold.
"""

from typing import TYPE_CHECKING

import numpy as np

from discreet.design.schema import Categorical

if TYPE_CHECKING:
    from discreet.design.schema import Schema

FACTORS = (0.33, 3.5, 7.9, 13.0, 17.0, 0.79)
"""Seconds, and seconds for 1e6 n, 1e9 n d^2, 1e9 n m^2, 1e3 m and 1e6 d^3."""
COMPILING = 20
"""Seconds that the first private fit after an installation takes to compile."""


def terms(schema: "Schema", persons: int, baseline: int) -> tuple[float, ...]:
    """Return what each factor is multiplied by; `baseline` counts the parameters of one cause's."""
    causes, n = len(schema.time.causes or "1"), float(persons)
    levels = {item.name for item in schema.covariates if isinstance(item, Categorical)}
    d = causes * (baseline + len(schema.coefficient_names))
    m = causes * sum(
        len(one.names) for one in schema.terms if not levels.issuperset(one.covariates)
    )
    return 1.0, n / 1e6, n * d**2 / 1e9, n * m**2 / 1e9, m / 1e3, d**3 / 1e6


def seconds(schema: "Schema", persons: int, baseline: int) -> float:
    """Return the processor seconds of a private fit with one row a person, compiled."""
    return float(np.dot(FACTORS, terms(schema, persons, baseline)))


def expected_time(schema: "Schema", persons: int, baseline: int) -> str:
    """Return the time of a private fit as a sentence, no finer than it is known."""
    expected = seconds(schema, persons, baseline)
    if expected < 5:
        words = "a few seconds"
    elif expected < 55:
        words = f"about {10 * max(1, round(expected / 10))} seconds"
    elif expected < 90:
        words = "about a minute"
    elif expected < 90 * 60:
        words = f"about {round(expected / 60)} minutes"
    else:
        words = f"about {round(expected / 3600)} hours"
    return (
        f"A private fit of {persons:,} persons takes {words}, the first one after an installation "
        f"about {COMPILING} seconds more."
    )

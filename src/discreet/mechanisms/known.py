"""What is publicly known of covariates before a fit: means, standard deviations, shares of levels.

From literature or from an earlier release, never from the records. A plan takes it instead of even
spreads; a wrong fact makes a wrong forecast, never a weaker promise.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from scipy import special

from discreet.design.schema import Categorical, Numeric, Schema
from discreet.errors import SettingsError
from discreet.types import Array

Known = Mapping[str, Mapping[str, float]]
"""By covariate: ``mean`` and ``sd`` of a number, or a share for each level."""


def parse_known(schema: Schema, facts: Iterable[str]) -> Known:
    """Facts as texts: ``age: mean 62, sd 11`` or ``sex: F 0.55, M 0.45``."""
    found = dict(_parsed(text) for text in facts)
    check_known(schema, found)
    return found


def _parsed(text: str) -> tuple[str, dict[str, float]]:
    name, colon, rest = text.partition(":")
    pairs = [part.rsplit(maxsplit=1) for part in rest.split(",")]
    if not colon or any(len(pair) != 2 for pair in pairs):
        raise SettingsError(
            "a fact is a covariate, a colon and pairs, as in 'age: mean 62, sd 11' or "
            "'sex: F 0.55, M 0.45'."
        )
    try:
        return name.strip(), {word.strip(): float(number) for word, number in pairs}
    except ValueError:
        raise SettingsError(
            f"the fact of '{name.strip()}' needs numbers after its words."
        ) from None


def check_known(schema: Schema, known: Known) -> None:
    """A `SettingsError` that names the covariate whose fact cannot be."""
    covariates = {item.name: item for item in schema.covariates}
    for name, numbers in known.items():
        item = covariates.get(name)
        if item is None:
            raise SettingsError(f"a fact names '{name}', which is no covariate of the schema.")
        wrong = _number_wrong(item, numbers) if isinstance(item, Numeric) else _wrong(item, numbers)
        if wrong:
            raise SettingsError(f"the fact of '{name}' {wrong}.")


def _number_wrong(item: Numeric, numbers: Mapping[str, float]) -> str:
    low, high = item.bounds
    if not set(numbers) <= {"mean", "sd"} or "sd" not in numbers:
        return "takes sd, and mean if it is known"
    if not 0 < numbers["sd"] < np.inf:
        return "needs a positive sd"
    if not low <= numbers.get("mean", low) <= high:
        return "needs a mean between the schema's bounds"
    return ""


def _wrong(item: Categorical, numbers: Mapping[str, float]) -> str:
    if not set(numbers) <= set(item.levels):
        return "names a level that the schema does not have"
    total = sum(numbers.values())
    all_named = len(numbers) == len(item.levels)
    if any(not 0 <= share <= 1 for share in numbers.values()) or total > 1 + 1e-6:
        return "needs shares between 0 and 1 that add up to 1 at most"
    if all_named and abs(total - 1) > 0.02:
        return "needs shares of all levels that add up to 1"
    return ""


def bin_shares(item: Numeric | Categorical, bins: int, known: Mapping[str, float]) -> Array:
    """Shares of the equal bins of a number's range, or of the levels; even where nothing is known.

    A number is taken for normal with the known mean (or the middle) and sd, cut to its bounds.
    """
    if not known:
        return np.full(bins, 1.0 / bins)
    if isinstance(item, Categorical):
        rest = (1.0 - sum(known.values())) / max(bins - len(known), 1)
        shares = np.array([known.get(level, rest) for level in item.levels])
        return np.asarray(shares / shares.sum())
    low, high = item.bounds
    edges = np.linspace(low, high, bins + 1)
    mass = np.diff(special.ndtr((edges - known.get("mean", (low + high) / 2)) / known["sd"]))
    return np.asarray(mass / mass.sum())

"""Errors of a schema in one sentence that names the key and the remedy.

pydantic's messages are about Python types; the author of a schema writes TOML.
"""

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches

from pydantic import ValidationError

Keys = Mapping[str, tuple[str, ...]]
"""The keys of each table: "" for the top of the file, "time", "covariate", ..."""

# other names of keys
_SYNONYMS = {
    "min": "low", "minimum": "low", "lower": "low", "from": "low",
    "max": "high", "maximum": "high", "upper": "high", "to": "high",
    "categories": "levels", "values": "levels", "column": "name", "fill": "missing",
    "default": "missing", "na_values": "missing_values", "na": "missing_values",
    "missing_codes": "missing_values", "missing_value": "missing_values",
    "description": "label", "title": "label", "id": "person", "subject": "person",
    "covariates": "covariate", "time_to_event": "duration", "stop": "end", "status": "event",
    "end_of_study": "horizon", "bins": "intervals", "breaks": "edges", "cuts": "edges",
    "format": "date_format", "license": "licence", "lang": "language", "transform": "scale",
}  # fmt: skip


def explain_validation_error(error: ValidationError, mapping: object, keys: Keys) -> str:
    """Return one sentence for the first error of pydantic."""
    errors = error.errors(include_url=False, include_context=False)
    # a misspelt table is missing too, and its own error has the suggestion
    tables = [
        item for item in errors if item["type"] == "extra_forbidden" and len(item["loc"]) == 1
    ]
    near = (item for item in tables if nearest(str(item["loc"][0]), keys.get("", ())) is not None)
    first = next(near, errors[0])
    path = [part for part in first["loc"] if part not in {"numeric", "categorical"}]
    if first["type"] == "extra_forbidden":
        table = str(path[0]) if len(path) > 1 else ""
        return _unknown_key(str(path[-1]), table, _place(path[:-1], mapping), keys)
    if first["type"] == "missing":
        key, place = str(path[-1]), _place(path[:-1], mapping)
        what = "the table [time]" if key == "time" else "it"
        return f"key '{key}'{place} is missing; add {what}."
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error" and not _is_leaf(path):
        return message if message.endswith("?") else f"{message}."
    if first["type"] == "too_short":
        one = path[-1:] in (["event_values"], ["changes_at"])
        count = "one entry" if one else "two entries"
        message = f"needs at least {count}"
    if first["type"] == "string_too_long":
        message = f"must be at most {error.errors()[0]['ctx']['max_length']} characters long"
    key = next((str(part) for part in reversed(path) if isinstance(part, str)), "schema")
    place = _place(path[: path.index(key)], mapping) if key in path else ""
    text = f"key '{key}'{place} {_PLAIN.get(first['type'], message[:1].lower() + message[1:])}"
    if first["type"] == "tuple_type" and path in (["covariate"], ["interaction"]):
        return f"{text}; write [[{path[0]}]] with two brackets."
    if path[:2] == ["time", "causes"] and key in keys.get("time", ()):  # TOML's tables do not end
        return f"key '{key}' is below [time.causes] and counts as a cause; move it above that line."
    if first["type"] == "tuple_type" and isinstance(first["input"], str | int | float):
        return f"{text}; write {key} = [{json.dumps(first['input'], ensure_ascii=False)}]."
    return f"{text}."


def toml_hint(text: str, complaint: str) -> str:
    """Return tomllib's error, or, for a text without quotes, that it needs them."""
    found = re.search(r"line (\d+)", complaint)
    lines = text.splitlines()
    number = int(found.group(1)) if found else 0
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    bare = re.fullmatch(r"\s*([\w-]{1,40})\s*=\s*([^\W\d][\w ./%-]{0,40}?)\s*(#.*)?", line)
    if bare is None:
        return complaint
    return f'a text needs quotes; in line {number} write {bare.group(1)} = "{bare.group(2)}"'


def _is_leaf(path: list[int | str]) -> bool:
    """Return whether an error is about one key, or an entry of it, and not about a whole table."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    tables = {"time", "covariate", "page", "interaction", "strata"}
    return len(path) > 1 or (len(path) == 1 and path[0] not in tables)


def _place(path: list[int | str], mapping: object) -> str:
    """Return the table of a key, in the notation of TOML."""
    if len(path) == 1 and path[0] in {"time", "page", "strata"}:
        return f" in [{path[0]}]"
    if path == ["time", "causes"]:
        return " of causes in [time]"
    if len(path) < 2 or path[0] not in {"covariate", "interaction"} or isinstance(path[1], str):
        return ""
    tables = mapping.get(path[0]) if isinstance(mapping, Mapping) else None
    item = tables[path[1]] if isinstance(tables, list | tuple) else None
    name = item.get("name") if isinstance(item, Mapping) else None
    label = f"'{name}'" if isinstance(name, str) else f"number {path[1] + 1}"
    return f" in [[{path[0]}]] {label}"


def _unknown_key(key: str, table: str, place: str, keys: Keys) -> str:
    known = keys.get(table, ())
    if key == "person":
        return f"key 'person' is{place}; put it above the first table."
    if "[[covariate]]" in place and key in known:
        without = key != "labels"
        what = "does not go with levels; remove one or the other" if without else "needs levels"
        return f"key '{key}'{place} {what}."
    near = nearest(key, known)
    home = next((name for name, inside in keys.items() if name and key in inside), None)
    listed = home in {"covariate", "interaction"}
    if home is not None and (near is None or not (table or listed)):
        brackets = f"[[{home}]]" if listed else f"[{home}]"
        return f"key '{key}'{place} belongs in {brackets}; move it there."
    if near is not None:
        return f"unknown key '{key}'{place}; did you mean '{near}'?"
    return f"unknown key '{key}'{place}; remove it or correct its spelling."


def nearest(key: str, known: tuple[str, ...]) -> str | None:
    """Return the known key that was probably meant, by a synonym or by its spelling."""
    plain = key.lower().replace("-", "_")
    if plain in known or _SYNONYMS.get(plain) in known:
        return plain if plain in known else _SYNONYMS[plain]
    return next(iter(get_close_matches(plain, known, n=1, cutoff=0.65)), None)


_PLAIN = {
    "string_type": "must be text in quotes",
    "string_too_short": "must not be empty",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "greater_than_equal": "must be at least 1",
    "less_than_equal": "must be at most 1000000",
    "tuple_type": "must be a list",
    "too_long": "has too many entries",
    "model_type": "must be a table of keys",
    "model_attributes_type": "must be a table of keys",
}

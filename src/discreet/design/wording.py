"""What is wrong with a schema, in one sentence that names the key and says what to do.

pydantic's words are about Python types; a schema's author thinks in TOML.
"""

from collections.abc import Callable, Mapping

from pydantic import ValidationError


def sentence(error: ValidationError, mapping: object) -> str:
    """One sentence for the first of pydantic's complaints."""
    first = error.errors(include_url=False, include_context=False)[0]
    path = [part for part in first["loc"] if part not in {"numeric", "categorical"}]
    write = _WORDING.get(first["type"])
    if write is not None:
        return write(str(path[-1]), _place(path[:-1], mapping))
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error" and not _is_leaf(path):
        return f"{message}."
    if first["type"] == "too_short":
        count = "one entry" if path[-1:] == ["event_values"] else "two entries"
        message = f"needs at least {count}"
    key = next((str(part) for part in reversed(path) if isinstance(part, str)), "schema")
    place = _place(path[: path.index(key)], mapping) if key in path else ""
    text = f"key '{key}'{place} {_PLAIN.get(first['type'], message[:1].lower() + message[1:])}"
    single = path == ["covariate"] and first["type"] == "tuple_type"
    return f"{text}; write [[covariate]] with two brackets." if single else f"{text}."


def _is_leaf(path: list[int | str]) -> bool:
    """Whether a complaint is about one key and not about a whole table."""
    return len(path) > 0 and isinstance(path[-1], str) and path not in (["time"], ["covariate"])


def _place(path: list[int | str], mapping: object) -> str:
    """Where a key stands, in the words of the TOML file."""
    if path == ["time"]:
        return " in [time]"
    if len(path) >= 2 and path[0] == "covariate" and isinstance(path[1], int):
        return f" in [[covariate]] {_covariate_label(path[1], mapping)}"
    return ""


def _covariate_label(index: int, mapping: object) -> str:
    covariates = mapping.get("covariate") if isinstance(mapping, Mapping) else None
    item = covariates[index] if isinstance(covariates, list | tuple) else None
    name = item.get("name") if isinstance(item, Mapping) else None
    return f"'{name}'" if isinstance(name, str) else f"number {index + 1}"


def _unknown_key(key: str, place: str) -> str:
    if key == "person":
        return f"key 'person' stands{place}; put it above the first table."
    if "[[covariate]]" in place and key in {"low", "high", "missing"}:
        return f"key '{key}'{place} does not go with levels; remove one or the other."
    return f"unknown key '{key}'{place}; remove it or correct its spelling."


def _missing_key(key: str, place: str) -> str:
    return f"key '{key}'{place} is missing; add {'the table [time]' if key == 'time' else 'it'}."


_PLAIN = {
    "string_type": "must be text in quotes",
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most 200 characters long",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "greater_than_equal": "must be at least 1",
    "less_than_equal": "must be at most 1000000",
    "tuple_type": "must be a list",
    "too_long": "has too many entries",
    "model_type": "must be a table of keys",
    "model_attributes_type": "must be a table of keys",
}

_WORDING: dict[str, Callable[[str, str], str]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing_key,
}

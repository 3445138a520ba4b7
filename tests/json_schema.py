"""A validator of JSON Schema that knows the keywords of our schema and refuses all others.

Small enough to be read in a minute; `tests/documents/test_release_schema.py` says what must be valid.
"""

NOTES = {"$schema", "$id", "title", "description", "$defs"}
TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
}  # fmt: skip


def is_valid(value, schema, root=None):
    """Whether a JSON value keeps every rule of a schema."""
    root = root or schema
    return all(
        RULES[key](value, part, schema, root) for key, part in schema.items() if key not in NOTES
    )


def _type(value, names, *_):
    return any(_is(value, name) for name in ([names] if isinstance(names, str) else names))


def _is(value, name):
    if name in {"number", "integer"}:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and (name == "number" or whole)
    return isinstance(value, TYPES[name])


def _reference(value, address, _, root):
    return is_valid(value, root["$defs"][address.removeprefix("#/$defs/")], root)


def _properties(value, parts, _, root):
    known = [key for key in parts if isinstance(value, dict) and key in value]
    return all(is_valid(value[key], parts[key], root) for key in known)


def _others(value, part, schema, root):
    if not isinstance(value, dict) or part is True:
        return True
    others = [key for key in value if key not in schema.get("properties", {})]
    return not others if part is False else all(is_valid(value[key], part, root) for key in others)


def _items(value, part, _, root):
    return not isinstance(value, list) or all(is_valid(item, part, root) for item in value)


def _number(value, compare):
    return not _is(value, "number") or compare(value)


RULES = {
    "type": _type,
    "const": lambda value, wanted, *_: type(value) is type(wanted) and value == wanted,
    "enum": lambda value, wanted, *_: value in wanted,
    "$ref": _reference,
    "anyOf": lambda value, parts, _, root: any(is_valid(value, part, root) for part in parts),
    "allOf": lambda value, parts, _, root: all(is_valid(value, part, root) for part in parts),
    "oneOf": lambda value, parts, _, root: sum(is_valid(value, p, root) for p in parts) == 1,
    "properties": _properties,
    "additionalProperties": _others,
    "required": lambda value, keys, *_: not isinstance(value, dict) or set(keys) <= set(value),
    "items": _items,
    "propertyNames": lambda value, part, _, root: (
        not isinstance(value, dict) or all(is_valid(key, part, root) for key in value)
    ),
    "minItems": lambda value, least, *_: not isinstance(value, list) or len(value) >= least,
    "maxItems": lambda value, most, *_: not isinstance(value, list) or len(value) <= most,
    "maxProperties": lambda value, most, *_: not isinstance(value, dict) or len(value) <= most,
    "minLength": lambda value, least, *_: not isinstance(value, str) or len(value) >= least,
    "maxLength": lambda value, most, *_: not isinstance(value, str) or len(value) <= most,
    "minimum": lambda value, least, *_: _number(value, lambda number: number >= least),
    "maximum": lambda value, most, *_: _number(value, lambda number: number <= most),
    "exclusiveMinimum": lambda value, least, *_: _number(value, lambda number: number > least),
    "exclusiveMaximum": lambda value, most, *_: _number(value, lambda number: number < most),
}

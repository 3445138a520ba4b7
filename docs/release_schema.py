"""The JSON Schema of the files that are published, made of the classes that read them.

It says what a file looks like: keys, types, ranges.  The reader (`read_document`) checks more: that the
numbers of a file belong together and that the promise in words is that of the guarantee.  What the
schema refuses, the reader refuses too.
"""

import inspect
import re
from typing import Any

from discreet.documents.causes import CausesRelease
from discreet.documents.curves import CurvesRelease
from discreet.documents.model import VERSION, Promised, Release

DIALECT = "https://json-schema.org/draft/2020-12/schema"
KINDS: tuple[type[Promised], ...] = (Release, CausesRelease, CurvesRelease)
"""Every kind of file that is published."""

Node = dict[str, Any]

MEANINGS = {
    "format": "Which kind of file this is.",
    "version": "The version of the format.",
    "library_version": "The version of discreet that wrote the file.",
    "private": "True: a file whose noise came from a seed is never written.",
    "schema": "What was public beforehand: columns, bounds, levels, the grid of time, words.",
    "persons": "The public number of persons.",
    "mechanism": "The mechanism by name, with its settings.",
    "guarantee": "What is promised, in numbers.",
    "noise_scale": "The scale of the noise.",
    "grid_exponent": "Released numbers are whole multiples of two to this power.",
    "details": "Public facts of the plan: how the budget was divided, how many sites took part.",
    "released": "Everything that was computed from records, with noise.",
    "release_id": "The name of the release.",
    "ledger": "The head of the ledger that was charged.",
    "promise": "What is promised, in words.",
    "warnings": "What the release says against itself.",
    "joint_digest": "In a file that several sites made together: SHA-256 of all but the ledger.",
    "link": "logit, cloglog or probit.",
    "baseline": "The basis of the baseline, such as natural-spline:4.",
    "coefficients": "The coefficients on the scale of the data.",
    "internal": "The same in the coordinates in which they were released.",
    "curves": "One entry per group: its curve with bands, median and restricted mean.",
    "test": "The log-rank test, where there are several groups.",
}

_NUMBERS: Node = {"type": "array", "items": {"type": "number"}}
_TABLE: Node = {"type": "array", "items": _NUMBERS}
_RELEASED: dict[str, Node] = {
    "covariance": {**_TABLE, "description": "Covariance of the internal values, noise included."},
    "life_table": {
        **_TABLE,
        "description": "Rows: first and last interval, censored, events, and who entered late.",
    },
    "calibration": {
        **_TABLE,
        "description": "Rows: first and last interval, events counted and expected, deviation.",
    },
    "sums": {**_NUMBERS, "description": "Noisy sums by group, outcome and stretch of time."},
}


_BY_CAUSE: dict[str, Node] = {
    "covariance": {**_TABLE, "description": "Joint covariance of all causes, noise included."},
    "life_table": {
        **_TABLE,
        "description": "Rows: first and last interval, censored, each cause, and who entered late.",
    },
    "calibration": {
        "type": "array",
        "items": _TABLE,
        "description": "A table of the model against the counts for each cause.",
    },
}


def release_schema() -> Node:
    """The JSON Schema of every published file.

    Returns
    -------
    dict
        A schema of the dialect 2020-12: one entry of ``oneOf`` per kind of file.

    Examples
    --------
    >>> [item["$ref"] for item in release_schema()["oneOf"]]
    ['#/$defs/Release', '#/$defs/CausesRelease', '#/$defs/CurvesRelease']
    """
    parts: dict[str, Node] = {}
    for kind in KINDS:
        own = kind.model_json_schema(by_alias=True)
        parts |= own.pop("$defs")
        parts[kind.__name__] = _published(own, kind)
    _complete(parts)
    return {
        "$schema": DIALECT,
        "$id": f"urn:discreet:release:{VERSION}",
        "title": f"A release of discreet, version {VERSION} of the format",
        "oneOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in KINDS],
        "$defs": {name: _tidy(parts[name]) for name in sorted(parts)},
    }


def _published(node: Node, kind: type[Promised]) -> Node:
    """A kind of file: its name, this version, what its keys mean."""
    keys = node["properties"]
    keys["format"] = {"const": kind.kind}
    keys["version"] = {"const": VERSION}
    keys["mechanism"] = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }
    keys["released"] = {"type": "object", "properties": _RELEASED}
    for name, part in keys.items():
        part["description"] = MEANINGS[name]
    if kind is CurvesRelease:
        keys["released"]["required"] = ["sums"]
    if kind is CausesRelease:
        keys["released"] |= {"properties": _BY_CAUSE, "required": list(_BY_CAUSE)}
    return {**node, "description": inspect.cleandoc(kind.__doc__ or "").partition("\n")[0]}


def _complete(parts: dict[str, Node]) -> None:
    """What the readers of single parts ask for beyond the types of their fields."""
    guarantee = parts["Guarantee"]
    guarantee["required"] = [name for name in guarantee["properties"] if name != "gaussian"]
    guarantee["additionalProperties"] = False  # pydantic before 2.14 does not say so of a dataclass
    guarantee["properties"]["epsilon"] |= {"exclusiveMinimum": 0}
    guarantee["properties"]["delta"] |= {"minimum": 0, "exclusiveMaximum": 1}
    parts["Caution"] = {"anyOf": [{"type": "string", "maxLength": 4000}, parts["Caution"]]}
    time = parts["TimeAxis"]
    time["required"] = ["event"]
    time["allOf"] = [
        {"anyOf": [{"required": ["duration"]}, {"required": ["start", "end"]}]},
        {"anyOf": [{"required": ["edges"]}, {"required": ["horizon", "intervals"]}]},
    ]
    words = parts["PageWords"]["properties"]["description"]
    words["anyOf"].append({"type": "string", "minLength": 1})
    for name in ("levels", "event_values"):
        for part in parts.values():
            if name in part.get("properties", {}):
                _spell_values(part["properties"][name])


def _spell_values(node: Node) -> None:
    """Values of a column may be spelt as numbers or truth values too."""
    for part in node.get("anyOf", [node]):
        if part.get("type") == "array":
            part["items"] = {"anyOf": [part["items"], {"type": ["number", "boolean"]}]}


def _tidy(node: Any) -> Any:
    """Without generated titles and defaults, docstrings cut to what they say of the whole."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: value for key, value in node.items() if key not in {"default", "title"}}
    if "title" in node and isinstance(node["title"], dict):  # a key of that name
        kept["title"] = node["title"]
    if kept.get("type") == "array":
        kept = {_ARRAYS.get(key, key): value for key, value in kept.items()}
    if isinstance(kept.get("description"), str):
        kept |= _described(kept["description"], kept.get("properties", {}))
    return {key: _tidy(value) for key, value in kept.items()}


_ARRAYS = {"minLength": "minItems", "maxLength": "maxItems"}


def _described(text: str, fields: dict[str, Node]) -> Node:
    """The first paragraph of a docstring, and its list of parameters as descriptions of keys."""
    head, _, rest = inspect.cleandoc(text).partition("\nParameters\n----------\n")
    listed = re.findall(r"^(\w[\w, ]*)(?: :.*)?\n((?: {4}.*\n?)+)", rest, re.MULTILINE)
    said = {name: " ".join(words.split()) for names, words in listed for name in names.split(", ")}
    found: Node = {"description": " ".join(head.partition("\n\n")[0].split())}
    if fields:
        found["properties"] = {
            name: {**part, "description": said[key]}
            if (key := name if name in said else f"{name}s") in said
            else part
            for name, part in fields.items()
        }
    return found

"""Words for a page that are set after the release: titles, labels and units, but not numbers.

A words file has the tables of a schema that hold words: ``[page]``, ``[[covariate]]`` with label,
unit, labels and typical, ``[strata]`` with label and labels, and the unit of ``[time]``.  A unit is
set only where the release has none.  The release and its digest do not change; words have a digest of their own.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field

from discreet.design.covariates import MAX_LEVELS
from discreet.design.declared import Name, Number, SchemaTable, level_text
from discreet.design.schema import (
    MAX_COVARIATES,
    PageWords,
    Schema,
    read_toml,
    validated,
)
from discreet.design.wording import nearest
from discreet.errors import SchemaError

Labels = Annotated[tuple[Name, ...], Field(max_length=MAX_LEVELS)]


class CovariateWords(SchemaTable):
    """Words for one covariate, by its column's name."""

    name: Name
    label: Name | None = None
    unit: Name | None = None
    labels: Labels | None = None
    typical: Number | Annotated[Name, BeforeValidator(level_text)] | None = None


class StrataWords(SchemaTable):
    """Words for the strata."""

    label: Name | None = None
    labels: Labels | None = None


class TimeWords(SchemaTable):
    """The unit of times."""

    unit: Name | None = None


class Words(SchemaTable):
    """The content of a words file, which `discreet page --words` reads."""

    page: PageWords | None = None
    time: TimeWords | None = None
    covariates: Annotated[
        tuple[CovariateWords, ...], Field(alias="covariate", max_length=MAX_COVARIATES)
    ] = ()
    strata: StrataWords | None = None

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a words file; raise a `SchemaError` if that fails."""
        return cls.from_mapping(read_toml(path, "words file"))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Build words from nested dictionaries with the keys of the TOML file."""
        return validated(cls, mapping)

    def to_mapping(self) -> dict[str, Any]:
        """Return the nested dictionaries of the TOML file."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the words in canonical JSON."""
        text = json.dumps(self.to_mapping(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def applied(self, schema: Schema) -> Schema:
        """Return the public schema of a release with these words, and nothing else changed.

        A `SchemaError` says that a covariate is not in the schema, or that labels do not fit.
        """
        words, mapping = self.to_mapping(), schema.to_mapping()
        mapping["page"] = {**mapping.get("page", {}), **words.get("page", {})}
        if "unit" in words.get("time", {}):
            time = schema.time
            if time.dated or time.unit not in {None, words["time"]["unit"]}:
                raise SchemaError(
                    f"the times of this release are in {time.counted_in}; remove 'unit' in [time]."
                )
            mapping["time"]["unit"] = words["time"]["unit"]
        if "strata" in words:
            if schema.strata is None:
                raise SchemaError("the words name [strata], and the release has none; remove it.")
            mapping["strata"] |= words["strata"]
        places = {item["name"]: item for item in mapping.get("covariate", ())}
        given: set[str] = set()
        for item in words["covariate"]:
            if item["name"] not in places:
                near = nearest(item["name"], tuple(places))
                hint = "" if near is None else f" Did you mean '{near}'?"
                raise SchemaError(f"the release has no covariate '{item['name']}'.{hint}")
            if item["name"] in given:
                raise SchemaError(f"the words have [[covariate]] '{item['name']}' twice; keep one.")
            given.add(item["name"])
            unit = places[item["name"]].get("unit")
            if unit is not None and item.get("unit", unit) != unit:
                raise SchemaError(
                    f"'{item['name']}' of this release is in {unit}; remove 'unit' of its [[covariate]]."
                )
            places[item["name"]] |= item
        return Schema.from_mapping(mapping)

"""Words for a page that are set after the release: titles, labels and units, but not numbers.

A words file has the tables of a schema that hold words: ``[page]``, ``[[covariate]]`` with label,
unit, labels and typical, ``[strata]`` with label and labels, and the unit of ``[time]`` if the
release has none.  The release and its digest do not change; words have a digest of their own.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationError

from discreet.design.covariates import MAX_LEVELS
from discreet.design.declared import Name, Number, Public, level_text
from discreet.design.schema import MAX_COVARIATES, PageWords, Schema, keys_of, read_toml
from discreet.design.wording import nearest, sentence
from discreet.errors import SchemaError

Labels = Annotated[tuple[Name, ...], Field(max_length=MAX_LEVELS)]


class CovariateWords(Public):
    """Words for one covariate, by its column's name."""

    name: Name
    label: Name | None = None
    unit: Name | None = None
    labels: Labels | None = None
    typical: Number | Annotated[Name, BeforeValidator(level_text)] | None = None


class StrataWords(Public):
    """Words for the strata."""

    label: Name | None = None
    labels: Labels | None = None


class TimeWords(Public):
    """The unit of times."""

    unit: Name | None = None


class Words(Public):
    """The content of a words file, which `discreet page --words` reads.

    Parameters
    ----------
    page
        Title, description, event, curator, contact, citation, sources, licence, language.
    time
        The unit of times, if the release names none.
    covariates, strata
        Labels and units.

    Examples
    --------
    >>> words = Words.from_mapping({"page": {"title": "Survival after stroke"}})
    >>> words.page.title
    'Survival after stroke'
    """

    page: PageWords | None = None
    time: TimeWords | None = None
    covariates: Annotated[
        tuple[CovariateWords, ...], Field(alias="covariate", max_length=MAX_COVARIATES)
    ] = ()
    strata: StrataWords | None = None

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a words file; raise a `SchemaError` if that fails.

        Parameters
        ----------
        path
            A TOML file.
        """
        return cls.from_mapping(read_toml(path, "words file"))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Build words from nested dictionaries with the keys of the TOML file.

        Parameters
        ----------
        mapping
            The content of a TOML file.
        """
        try:
            return cls.model_validate(mapping, by_alias=True, by_name=False)
        except ValidationError as error:
            raise SchemaError(sentence(error, mapping, _KEYS)) from None

    def to_mapping(self) -> dict[str, Any]:
        """Return the nested dictionaries of the TOML file."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the words in canonical JSON."""
        text = json.dumps(self.to_mapping(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def applied(self, schema: Schema) -> Schema:
        """Return the schema with these words in place of its own, and nothing else changed.

        Parameters
        ----------
        schema
            The public schema of a release.

        Raises
        ------
        SchemaError
            A covariate is not in the schema, or labels are not one for each level.
        """
        words, mapping = self.to_mapping(), schema.to_mapping()
        mapping["page"] = {**mapping.get("page", {}), **words.get("page", {})}
        if "unit" in words.get("time", {}):
            time = schema.time
            if time.dated or time.unit not in {None, self.time and self.time.unit}:
                raise SchemaError(
                    f"the times of this release are in {time.counted_in}; remove 'unit' in [time]."
                )
            mapping["time"]["unit"] = words["time"]["unit"]
        if "strata" in words:
            if schema.strata is None:
                raise SchemaError("the words name [strata], and the release has none; remove it.")
            mapping["strata"] |= words["strata"]
        places = {item["name"]: item for item in mapping.get("covariate", ())}
        for item in words["covariate"]:
            if item["name"] not in places:
                near = nearest(item["name"], tuple(places))
                hint = "" if near is None else f" Did you mean '{near}'?"
                raise SchemaError(f"the release has no covariate '{item['name']}'.{hint}")
            places[item["name"]] |= item
        return Schema.from_mapping(mapping)


_KEYS = {
    "": keys_of(Words),
    "page": keys_of(PageWords),
    "time": keys_of(TimeWords),
    "covariate": keys_of(CovariateWords),
    "strata": keys_of(StrataWords),
}

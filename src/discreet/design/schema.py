"""The public facts of a data set: the time grid, the covariates with their bounds, the person.

A schema is written by a person, never learned from records, so nothing here sees a data frame.
Every error is one sentence that names the key and the remedy.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    Strict,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo

from discreet.design.axis import MAX_INTERVALS, TimeAxis
from discreet.design.covariates import (
    Categorical,
    Covariate,
    Interaction,
    Numeric,
    Strata,
    bounds_text,
    repeated,
)
from discreet.design.declared import (
    LARGEST_NUMBER,
    SMALLEST_RANGE,
    MissingValues,
    Name,
    SchemaTable,
    check_name,
    code_among,
    level_key,
    parse_number,
)
from discreet.design.periods import Term, intervals_before, period_words
from discreet.design.wording import explain_validation_error, nearest, toml_hint
from discreet.errors import SchemaError
from discreet.text import with_unit

__all__ = [
    "LARGEST_NUMBER",
    "MAX_INTERVALS",
    "SMALLEST_RANGE",
    "Categorical",
    "Covariate",
    "Interaction",
    "Numeric",
    "PageWords",
    "Schema",
    "Strata",
    "TimeAxis",
    "level_key",
    "parse_number",
]

File = TypeVar("File", bound=SchemaTable)

MAX_FILE_BYTES = 1 << 20
MAX_COVARIATES = 1_000
MAX_COEFFICIENTS = 2_000
MAX_PROSE = 2_000
MAX_PARAGRAPHS = 20


def _joined(text: object) -> object:
    """Join the lines of a TOML text."""
    return " ".join(text.split()) if isinstance(text, str) else text


def _paragraphs(text: object) -> object:
    """Split a TOML text at blank lines; other line ends are spaces."""
    if not isinstance(text, str):
        return text
    parts = tuple(part for part in re.split(r"\n[ \t\r]*\n", text) if part.strip())
    return parts or (text,)


def _one_or_list(paragraphs: tuple[str, ...]) -> str | list[str]:
    # files have no line ends in texts, so several paragraphs are a list
    return paragraphs[0] if len(paragraphs) == 1 else list(paragraphs)


def _check_language(code: str) -> str:
    if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", code):
        raise ValueError("must be the code of a language, such as en or pt-BR")
    return code


Prose = Annotated[
    str,
    Strict(),
    StringConstraints(min_length=1, max_length=MAX_PROSE),
    AfterValidator(check_name),
    BeforeValidator(_joined),
]

Paragraphs = Annotated[
    tuple[Prose, ...],
    BeforeValidator(_paragraphs),
    Field(min_length=1, max_length=MAX_PARAGRAPHS),
    PlainSerializer(_one_or_list),
]


class PageWords(SchemaTable):
    """Words for the published page; they are part of the release and change no number."""

    title: Name | None = None
    description: Paragraphs | None = None
    event: Name | None = None
    curator: Name | None = None
    contact: Name | None = None
    citation: Prose | None = None
    sources: Prose | None = None
    licence: Name | None = None
    language: Annotated[Name, AfterValidator(_check_language)] | None = None


class Schema(SchemaTable):
    """Everything public about a data set; ``[[covariate]]`` in TOML is ``covariates`` here.

    Parameters
    ----------
    person
        Column of the persons' ids; None if every row is a person.
    missing_values
        Codes for missing values in all covariates and the strata; a covariate's own list and its
        declared levels take precedence.
    time
        The time columns and the grid.
    covariates
        `Numeric` and `Categorical` columns of the model.
    interactions
        Pairs of covariates whose columns are multiplied.
    strata
        A column whose levels have a baseline each.
    page
        Words for the page of a release.

    Raises
    ------
    SchemaError
        In `from_toml` and `from_mapping`: one sentence that names the key.

    Examples
    --------
    >>> schema = Schema.from_mapping({
    ...     "time": {"duration": "days", "event": "died", "horizon": 365, "intervals": 12},
    ...     "covariate": [{"name": "age", "low": 18, "high": 100}],
    ... })
    >>> schema.coefficient_names
    ('age',)
    """

    person: Name | None = None
    missing_values: MissingValues | None = None
    time: TimeAxis
    covariates: Annotated[
        tuple[Covariate, ...], Field(alias="covariate", max_length=MAX_COVARIATES)
    ] = ()
    interactions: Annotated[
        tuple[Interaction, ...], Field(alias="interaction", max_length=MAX_COVARIATES)
    ] = ()
    strata: Strata | None = None
    page: PageWords | None = None

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        twice = repeated(self.columns)
        if twice:
            raise ValueError(
                f"column '{twice}' is used twice; person, the columns of [time], each covariate "
                "and the strata must be different columns"
            )
        names = [item.name for item in self.covariates]
        for name in (name for item in self.interactions for name in item.of):
            if name not in names:
                near = nearest(name, tuple(names))
                hint = "" if near is None else f"; did you mean '{near}'?"
                raise ValueError(
                    f"key 'of' in [[interaction]] names '{name}', which is not a covariate{hint}"
                )
        pairs = [":".join(sorted(item.of)) for item in self.interactions]
        if repeated(pairs) is not None:
            raise ValueError("an [[interaction]] of the same two covariates is there twice")
        self._check_changes()
        twice = repeated(self.coefficient_names)
        if twice:
            raise ValueError(f"two coefficients would be named '{twice}'; rename a covariate")
        if len(self.coefficient_names) > MAX_COEFFICIENTS:
            raise ValueError(f"there are more than {MAX_COEFFICIENTS} coefficients; drop some")
        return self

    def _check_changes(self) -> None:
        grid = self.time.grid
        for item in self.covariates:
            cuts = item.changes_at or ()
            where = f"key 'changes_at' in [[covariate]] '{item.name}'"
            for cut in cuts:
                if not grid.zero < cut < grid.horizon:
                    start = with_unit(f"{grid.zero:g}", grid.unit)
                    raise ValueError(
                        f"{where} has {cut:.10g}, which is not between {start} and the horizon, "
                        f"{grid.horizon_words}; remove it"
                    )
            ends = (0, *intervals_before(cuts, grid), grid.intervals)
            for words, first, last in zip(period_words(cuts), ends[:-1], ends[1:], strict=True):
                if first == last:
                    raise ValueError(
                        f"{where} leaves an effect '{words}' without an interval: none begins "
                        "then; remove a time, or take a finer grid"
                    )

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a schema file.

        Parameters
        ----------
        path
            A TOML file.

        Raises
        ------
        SchemaError
            The file cannot be read, or its schema is incomplete or contradicts itself.
        """
        mapping = read_toml(path, "schema")
        if places := list(_empty_places(mapping)):
            raise SchemaError(f"the schema '{path}' has empty places: fill in {'; '.join(places)}.")
        return cls.from_mapping(mapping)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Build a schema from nested dictionaries with the keys of the TOML file.

        Parameters
        ----------
        mapping
            The content of a TOML file.

        Raises
        ------
        SchemaError
            It is incomplete or contradicts itself.
        """
        return validated(cls, mapping)

    def of_cause(self, name: str) -> "Schema":
        """Return the schema of one cause's binary model: its values are the event.

        Parameters
        ----------
        name
            One of ``time.causes``.
        """
        values = (self.time.causes or {})[name]
        time = self.time.model_copy(update={"causes": None, "event_values": values})
        return self.model_copy(update={"time": time})

    def to_mapping(self) -> dict[str, Any]:
        """Return the nested dictionaries of the TOML file, which ``from_mapping`` reads."""
        written = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {key: value for key, value in written.items() if value or key != "interaction"}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a fit reads."""
        person = () if self.person is None else (self.person,)
        stratum = () if self.strata is None else (self.strata.name,)
        covariates = (item.name for item in self.covariates)
        return (*person, *self.time.columns, *covariates, *stratum)

    @property
    def missing_codes(self) -> dict[str, tuple[str, ...]]:
        """The codes for missing values, by column."""
        found = dict.fromkeys(self.time.columns, self.time.missing_values or ())
        for item in (*self.covariates, *([] if self.strata is None else [self.strata])):
            levels = () if isinstance(item, Numeric) else item.levels
            codes = self.missing_values if item.missing_values is None else item.missing_values
            found[item.name] = tuple(
                code for code in codes or () if code_among((code,), levels) is None
            )
        return {name: codes for name, codes in found.items() if codes}

    @property
    def terms(self) -> tuple[Term, ...]:
        """The columns of all covariates, then products of two."""
        own, found = {}, []
        for item in self.covariates:
            titled = zip(item.coefficient_names, item.coefficient_titles, strict=True)
            cuts = item.changes_at or ()
            terms = [Term(name, title, (item.name,), cuts) for name, title in titled]
            own[item.name] = terms[: len(item.value_names)]  # the indicator is not multiplied
            found += terms
        for interaction in self.interactions:
            for left, right in product(*(own[name] for name in interaction.of)):
                both = tuple(cut for cut in left.cuts if cut in right.cuts)
                name, title = f"{left.name}:{right.name}", f"{left.title} and {right.title}"
                found.append(Term(name, title, interaction.of, both))
        return tuple(found)

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """Names of the covariate coefficients: ``age``, ``sex[M]``, ``stage[III] until 365``, ..."""
        return tuple(name for term in self.terms for name in term.names)

    @property
    def coefficient_titles(self) -> tuple[str, ...]:
        """Titles of the covariate coefficients for people, from labels and units."""
        unit = self.time.counted_in
        return tuple(title for term in self.terms for title in term.titles(unit))

    @property
    def lasting(self) -> "Schema":
        """This schema with one effect for all time of every column."""
        kept = tuple(item.model_copy(update={"changes_at": None}) for item in self.covariates)
        return self.model_copy(update={"covariates": kept})

    @property
    def changing(self) -> tuple[str, ...]:
        """Names of the covariates whose effects change with time."""
        return tuple(item.name for item in self.covariates if item.changes_at is not None)

    @property
    def interaction_titles(self) -> tuple[tuple[str, ...], ...]:
        """The pairs of interacting covariates for people."""
        titles = {item.name: item.title for item in self.covariates}
        return tuple(tuple(titles[name] for name in item.of) for item in self.interactions)

    @property
    def has_terms(self) -> bool:
        """Whether a column is more than a number or the indicator of a level."""
        numbers = (item for item in self.covariates if isinstance(item, Numeric))
        indicated = any(item.indicated for item in self.covariates)
        return bool(self.interactions) or indicated or not all(item.plain for item in numbers)

    @property
    def unbounded(self) -> tuple[str, ...]:
        """Names of the numeric covariates without both bounds."""
        numeric = (item for item in self.covariates if isinstance(item, Numeric))
        return tuple(item.name for item in numeric if not item.bounded)

    @property
    def is_bounded(self) -> bool:
        """Whether every numeric covariate has public bounds."""
        return not self.unbounded

    def require_bounds(self) -> None:
        """Raise a SchemaError that names the covariates without bounds, if there are any."""
        if self.unbounded:
            raise SchemaError(bounds_text(self.unbounded))


def read_toml(path: str | Path, kind: str) -> dict[str, Any]:
    """Read a TOML file; raise a `SchemaError` if that fails."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SchemaError(f"the {kind} '{path}' cannot be read: {error.strerror}.") from None
    if len(content) > MAX_FILE_BYTES:
        raise SchemaError(f"the {kind} '{path}' is larger than {MAX_FILE_BYTES} bytes.")
    try:
        text = content.decode()
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        hint = toml_hint(text, str(error))
        raise SchemaError(f"the {kind} '{path}' is not valid TOML: {hint}.") from None
    except (UnicodeDecodeError, RecursionError):
        raise SchemaError(f"the {kind} '{path}' is not a TOML file in UTF-8.") from None


def validated(kind: type[File], mapping: Mapping[str, Any]) -> File:
    """Return the content of a TOML file; raise a `SchemaError` for its first mistake."""
    try:
        return kind.model_validate(mapping, by_alias=True, by_name=False)
    except ValidationError as error:
        fields = {_key(name, field): field.annotation for name, field in kind.model_fields.items()}
        keys = {name: _keys_within(annotation) for name, annotation in fields.items()}
        raise SchemaError(
            explain_validation_error(error, mapping, {**keys, "": tuple(fields)})
        ) from None


def _key(name: str, field: FieldInfo) -> str:
    return str(field.alias or name)


def _keys_within(annotation: object) -> tuple[str, ...]:
    """Return the keys of the tables that a key of the file may hold."""
    if isinstance(annotation, type) and issubclass(annotation, SchemaTable):
        return tuple(_key(name, field) for name, field in annotation.model_fields.items())
    return tuple(dict.fromkeys(key for part in get_args(annotation) for key in _keys_within(part)))


_PLACES = frozenset(
    "person duration event entry start end unit horizon low high levels".split()  # noqa: SIM905
)
"""Keys that `discreet new` may leave empty."""
MANY_NAMES = 20


def _empty_places(mapping: Mapping[str, Any]) -> Iterator[str]:
    """Yield the places that `discreet new` left empty: at the top, in tables, in covariates."""
    if found := _empty_keys(mapping):
        yield " and ".join(found)
    for table, content in mapping.items():
        if isinstance(content, Mapping) and (found := _empty_keys(content)):
            yield f"{', '.join(found)} in [{table}]"
    covariates = mapping.get("covariate")
    names: dict[tuple[str, ...], list[str]] = {}
    for item in covariates if isinstance(covariates, list) else ():
        if isinstance(item, Mapping) and (found := _empty_keys(item)):
            names.setdefault(found, []).append(f"'{item.get('name', '')}'")
    for keys, owners in names.items():
        more = len(owners) - MANY_NAMES
        rest = f" and {more} more" if more > 0 else ""
        kind = " (or give levels, or delete what is not a covariate)" if "low" in keys else ""
        yield f"{' and '.join(keys)} of {', '.join(owners[:MANY_NAMES])}{rest}{kind}"


def _empty_keys(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of empty texts and lists."""
    return tuple(
        key
        for key, value in table.items()
        if key in _PLACES and (value == "" or (isinstance(value, list) and not any(value)))
    )

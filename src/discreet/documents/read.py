"""The one reader of files: every kind of document, chosen by its format and its schema."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from discreet.documents.causes import CausesModel, CausesRelease
from discreet.documents.curves import CurvesRelease
from discreet.documents.model import PlainModel, Release, sentence
from discreet.documents.strict import read_strict
from discreet.errors import ArtefactError

Document = PlainModel | CausesModel | Release | CausesRelease | CurvesRelease

# one event, then several causes
_KINDS: dict[str, tuple[type[Document], type[Document]]] = {
    PlainModel.kind: (PlainModel, CausesModel),
    Release.kind: (Release, CausesRelease),
    CurvesRelease.kind: (CurvesRelease, CurvesRelease),
}


def read_document(path: str | Path) -> Document:
    """Return the document in a file; an `ArtefactError` says in a sentence what is wrong."""
    mapping = read_strict(path)
    try:
        return document_of(mapping)
    except ArtefactError as error:
        raise ArtefactError(f"'{path}': {error}") from None


def document_of(mapping: dict[str, Any]) -> Document:
    """Return the document in a JSON object."""
    kinds = _KINDS.get(str(mapping.get("format")))  # a file may hold a list there
    if kinds is None:
        raise ArtefactError("this is neither a model nor a release of this package.")
    schema = mapping.get("schema")
    time = schema.get("time") if isinstance(schema, dict) else None
    kind = kinds[isinstance(time, dict) and time.get("causes") is not None]
    try:
        return kind.model_validate(mapping, by_alias=True, by_name=False)
    except ValidationError as error:
        raise ArtefactError(sentence(error)) from None

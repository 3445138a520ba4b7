"""The page's texts, one JSON file per language; a translation is one more file."""

import json
from functools import lru_cache
from importlib import resources

from discreet.errors import SettingsError

DEFAULT = "en"


@lru_cache(maxsize=8)
def page_texts(language: str | None) -> dict[str, str]:
    """The texts in a language; English where none is declared."""
    folder = resources.files("discreet.report.texts")
    known = sorted(item.name[:-5] for item in folder.iterdir() if item.name.endswith(".json"))
    wanted = language or DEFAULT
    if wanted not in known:
        raise SettingsError(
            f"the page has no texts in '{wanted}'; set 'language' in [page] to "
            f"{', '.join(known)}, or add a file of texts."
        )
    texts: dict[str, str] = json.loads((folder / f"{wanted}.json").read_text(encoding="utf-8"))
    return texts

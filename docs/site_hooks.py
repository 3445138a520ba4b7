"""What mkdocs runs while it builds: pages that the nav does not name become evidence."""

import re
from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Add every further page under "Evidence", by its title."""
    found = list(unnamed(Path(config["docs_dir"]), config["nav"]))
    next(item["Evidence"] for item in config["nav"] if "Evidence" in item).extend(found)
    return config


def unnamed(folder: Path, nav: Any) -> list[dict[str, str]]:
    """Title and path of the pages that the nav does not name, in the order of their paths."""
    named = set(paths(nav))
    pages = (page.relative_to(folder).as_posix() for page in sorted(folder.rglob("*.md")))
    return [{title(folder / page): page} for page in pages if page not in named]


def paths(nav: Any) -> list[str]:
    """Every page in a nav."""
    if isinstance(nav, str):
        return [nav]
    entries = nav.values() if isinstance(nav, dict) else nav
    return [path for entry in entries for path in paths(entry)]


def title(page: Path) -> str:
    """A page's first heading."""
    heading = re.search(r"^# (.+)$", page.read_text(), re.MULTILINE)
    return heading[1] if heading else page.stem

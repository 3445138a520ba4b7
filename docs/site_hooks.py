"""What mkdocs runs while it builds.

Pages that the nav does not name become evidence. Diagrams become lists of arrows: drawing them
would need a script from elsewhere. Places marked `<!-- reference: ... -->` are filled from the
program itself.
"""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

DIAGRAM = re.compile(r"^```mermaid\n.*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NODE = re.compile(r'(\w+)[\[({]+"([^"]+)"[\])}]+')
ARROW = re.compile(r"^\s*(\w+)\s+<?--(?: [^-]+ --)?[->]\s+(\w+)\s*$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page, its flow charts as lists and its references filled in."""
    listed = DIAGRAM.sub(lambda found: arrows(found[1]), markdown)
    return reference().filled(listed) if "<!-- reference: " in listed else listed


def reference() -> Any:
    """Return docs/reference.py as a module; it imports a script beside it."""
    path = Path(__file__).parent / "reference.py"
    specification = importlib.util.spec_from_file_location("reference", path)
    module = importlib.util.module_from_spec(specification)
    sys.path.insert(0, str(path.parent))
    try:
        specification.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def arrows(diagram: str) -> str:
    """One line for each node that something follows: the node, and what follows it."""
    labels = {
        name: label.replace("<br/>(", " (").replace("<br/>", ": ")
        for name, label in NODE.findall(diagram)
    }
    followers: dict[str, list[str]] = {}
    for source, target in ARROW.findall(NODE.sub(r"\1", diagram)):
        followers.setdefault(source, []).append(labels.get(target, target).partition(":")[0])
    return "\n".join(
        f"- {labels.get(source, source)} → **{'**, **'.join(targets)}**"
        for source, targets in followers.items()
    )


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

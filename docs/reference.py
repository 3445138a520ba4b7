"""References that are made of the program itself.

    python docs/reference.py

writes the JSON Schema of a release, which is committed because others refer to it, and the names in
`docs/reference.md`, for those who read it without the site. The tables of commands and of a release's keys are made while the site is built, so they cannot be out of date.
"""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from release_schema import KINDS, release_schema
from typer.core import TyperArgument, TyperOption

import discreet
from discreet.cli.app import app
from discreet.documents.causes import CausesRelease
from discreet.documents.model import VERSION, Promised

PUBLISHED = Path(__file__).parent / f"release-schema-{VERSION}.json"
PYTHON = Path(__file__).parent / "reference.md"
BEGIN, END = "<!-- names begin -->", "<!-- names end -->"
WITH_METHODS = ("SurvivalRegression", "GroupCurves", "Schema", "Ledger")
MARK = re.compile(r"^<!-- reference: (\w+) -->$", re.MULTILINE)


def schema_text() -> str:
    """The schema as it is published."""
    return json.dumps(release_schema(), indent=2, ensure_ascii=False) + "\n"


def filled(markdown: str) -> str:
    """The page with its references in the places that are marked."""
    makers = {"commands": commands, "release": release}
    return MARK.sub(lambda found: makers[found[1]](), markdown)


def commands() -> str:
    """Every command with its arguments and options."""
    root: Any = typer.main.get_command(app)
    return "\n".join(
        line for name, item in leaves(root, "discreet") for line in section(name, item)
    )


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The commands below a group, by their full names, in the order of `--help`."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for key, item in command.commands.items():
        yield from leaves(item, f"{name} {key}")


def section(name: str, command: Any) -> Iterator[str]:
    """Heading, what the command does, how it is called, and a table."""
    yield from (f"### {name}", "", " ".join((command.help or "").split()), "")
    places = [item for item in command.params if isinstance(item, TyperArgument)]
    found = (item for item in command.params if isinstance(item, TyperOption))
    options = [item for item in found if not item.hidden]
    needed = [f"{item.opts[0]} {_value(item)}" for item in options if item.required]
    given = [item.name.upper() if item.required else f"[{item.name.upper()}]" for item in places]
    more = (
        ["[OPTIONS]"] if any(not item.required for item in options if item.name != "help") else []
    )
    yield from ("```text", " ".join([name, *given, *needed, *more]), "```", "")
    yield from ("| argument or option | meaning | default |", "|---|---|---|")
    yield from (_row(f"`{item.name.upper()}`", item) for item in places)
    yield from (_row(_spelling(item), item) for item in options if item.name != "help")
    yield ""


def _spelling(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    return names if option.is_flag else f"{names} {_value(option)}"


def _value(option: Any) -> str:
    """What stands for the value: the last word of the option, in capitals."""
    return str(option.metavar or option.name.rpartition("_")[2].upper())


def _row(spelling: str, item: Any) -> str:
    help_text = (item.help or "").replace("|", "\\|")
    return f"| {spelling} | {help_text} | {_default(item)} |"


def _default(item: Any) -> str:
    if item.required:
        return "required"
    shown = isinstance(item.default, str | int | float) and not isinstance(item.default, bool)
    return f"`{item.default}`" if shown and item.default != "" else ""


def release() -> str:
    """The keys of every kind of file that is published."""
    parts = release_schema()["$defs"]
    blocks = [_keys(_heading(kind), parts[kind.__name__]) for kind in KINDS]
    return "\n".join(line for block in blocks for line in block)


def _heading(kind: type[Promised]) -> str:
    """The file's format; one of competing risks has that of a model."""
    return f"`{kind.kind}`" + (" of competing risks" if kind is CausesRelease else "")


def _keys(heading: str, node: dict[str, Any]) -> Iterator[str]:
    yield from (f"#### {heading}", "", node["description"], "", "| key | type | meaning |")
    yield "|---|---|---|"
    for name, part in node["properties"].items():
        need = "" if name in node["required"] else " (may be left out)"
        yield f"| `{name}` | {_type(part)} | {part['description']}{need} |"
    yield ""


def _type(part: dict[str, Any]) -> str:
    if "const" in part:
        return f"`{json.dumps(part['const'])}`"
    if "$ref" in part:
        return str(part["$ref"]).rpartition("/")[2]
    options = part.get("anyOf", [part])
    return " or ".join(str(item.get("type", "object")) for item in options)


def named(markdown: str) -> str:
    """The page of Python with its tables of names, for those who read it without the site."""
    head, rest = markdown.split(BEGIN)
    return head + BEGIN + "\n" + "\n".join(names()) + END + rest.split(END)[1]


def names() -> Iterator[str]:
    """Every public name, and every method of those that have several, with its first sentence."""
    found = {name: getattr(discreet, name) for name in sorted(discreet.__all__)}
    yield from ("", "| name | what it is |", "|---|---|")
    yield from (f"| `ds.{name}` | {_first(item)} |" for name, item in found.items())
    for name in WITH_METHODS:
        members = inspect.getmembers(found[name], inspect.isroutine)
        own = ((key, item) for key, item in members if not key.startswith("_"))
        public = [(key, item) for key, item in own if item.__module__.startswith("discreet.")]
        yield from ("", f"| method of `{name}` | what it does |", "|---|---|")
        yield from (f"| `{key}` | {_first(item)} |" for key, item in public)
    yield ""


def _first(item: Any) -> str:
    """The first paragraph of a docstring in one line."""
    text = inspect.cleandoc(item.__doc__ or "").split("\n\n")[0]
    return " ".join(text.replace("``", "`").split()).replace("|", "\\|")


if __name__ == "__main__":
    PUBLISHED.write_text(schema_text(), encoding="utf-8")
    PYTHON.write_text(named(PYTHON.read_text(encoding="utf-8")), encoding="utf-8")

# ruff: noqa: INP001  # a script, no package
"""docs/reliability.md from results/ledger.csv: every figure on that page comes from that file."""

from pathlib import Path

from discreet.paper.results import Results

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
COLUMNS = ["experiment", "backend", "item", "measure", "value", "as_it_must"]
RESULTS = Results(Path(__file__).parent / "results" / "ledger.csv", COLUMNS, COLUMNS[:3])

MISSING = "not measured"
NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
COUNTS = (
    "drove",
    "processes",
    "requests",
    "attempts",
    "admitted",
    "refused",
    "releases",
    "SIGKILLs",
)
ZEROS = {
    "overspends": "budget exceeded",
    "uncharged releases": "releases without a charge",
    "releases of one charge twice": "second releases of one charge",
    "changed releases": "releases whose file is not the settled one",
    "lost reserves": "reserves that returned and are not in the ledger",
    "lost settles": "settles that returned and are not in the ledger",
    "settled without a release": "settled without a published file",
    "wrong refusals": "refusals of what would still have fitted at the end",
    "errors": "errors other than a refusal",
    "problems found by verify": "problems found by `budget verify` afterwards",
}

HEAD = """# Reliability of the ledger

Does the ledger keep its budget when processes die, disks fill and files are damaged? Why it does is
proved in [the ledger](proofs/ledger.md); this page measures it. Written by
`python evidence/ledger.py --report` from `evidence/results/ledger.csv` (`--fresh` measures again, an hour
or more), on {machine}.
"""

LOAD = """## Load, with processes killed at every named point

Real processes release against one ledger through `discreet.release.publish`, with a mechanism that
draws noise alone: check, reserve, read a table, draw, write to a temporary file, rename, settle.
Guarantees of several kinds are mixed; the budget runs out before the requests do. A process is killed
with SIGKILL at a named point or at any time; its successor asks again with the same release id.
Afterwards ledger, published files and the trace of every process are compared.
"""

POINTS = """### How often each point was reached, and how many processes died there

The sum is less than the number of SIGKILLs: blind kills belong to no point.
"""

RATES = """## Durable reserves per second

One connection for each reserve, every charge forced to disk before the call returns. The load average
says how busy the machine was. A server serves writers in order of arrival; writers of a file try again
in no order, so the slowest waits many times the average.
"""

FAULTS = """## Faults

*Next start* is the next attempt to release: `recovers` means that it releases, and that every earlier
charge is counted. Messages are shown up to their first full stop.
"""

LIMITS = """## What is not promised

- A person with write access who restores the ledger *and* its witness file in place, or removes the
  last rows on the server, rolls the budget back. Only a release made in between shows it, to
  `discreet budget verify --release` (rows "rolled back with its witness" and "removed entries").
  Keep releases, and verify with the newest.
- SQLite needs a local file system: its locks and shared memory do not work on network drives. A
  ledger there is refused on Linux (NFS, SMB, sshfs and the like) and on Windows, and not noticed on
  macOS. Use PostgreSQL.
- `fsync` is trusted: a disk that lies about it may lose the last charge in a power cut. The witness file
  shows it, if it survived.
- A process that dies between reserve and settle leaves its charge spent, on purpose.
"""


def write_report() -> None:
    """Write the page."""
    PAGE.write_text(page(RESULTS.rows()))


def page(rows: list[dict[str, str]]) -> str:
    """The page, as a function of the results alone."""
    parts = [
        HEAD.format(machine=_machine(rows)),
        LOAD,
        _table(["", *NAMES.values()], _load_rows(rows)),
        POINTS,
        _table(["point", *_point_headings()], _point_rows(rows)),
        RATES,
        _table(["", *NAMES.values()], _throughput_rows(rows)),
    ]
    parts.append(FAULTS)
    for backend, name in NAMES.items():
        parts += [f"### {name}\n", _table(_FAULT_HEADINGS, _fault_rows(rows, backend))]
    return "\n".join([*parts, LIMITS])


_FAULT_HEADINGS = ["fault", "released", "what is said", "next start"]


def _machine(rows: list[dict[str, str]]) -> str:
    found = {row["measure"]: row["value"] for row in rows if row["experiment"] == "machine"}
    programs = ", ".join(f"{name} {found[name]}" for name in ("Python", "SQLite", "PostgreSQL"))
    return f"{found['processors']} processors ({found['system']}), {programs}"


def _value(rows: list[dict[str, str]], *key: str) -> str:
    columns = ("experiment", "backend", "item", "measure")
    found = [row["value"] for row in rows if tuple(row[name] for name in columns) == key]
    return found[0] if found else MISSING


def _load_rows(rows: list[dict[str, str]]) -> list[list[str]]:
    def line(measure: str, text: str) -> list[str]:
        return [text, *(_number(_value(rows, "load", backend, "", measure)) for backend in NAMES)]

    counts = [line(measure, measure) for measure in COUNTS]
    return [*counts, *(line(measure, f"**{text}**") for measure, text in ZEROS.items())]


def _point_headings() -> list[str]:
    return [f"{name} {what}" for name in NAMES.values() for what in ("reached", "killed")]


def _point_rows(rows: list[dict[str, str]]) -> list[list[str]]:
    start = "reached "
    points = [
        row["measure"].removeprefix(start)
        for row in rows
        if row["experiment"] == "load" and row["measure"].startswith(start)
    ]
    measures = (start, "killed at ")
    return [
        [
            point,
            *(
                _number(_value(rows, "load", backend, "", f"{what}{point}"))
                for backend in NAMES
                for what in measures
            ),
        ]
        for point in dict.fromkeys(points)
    ]


def _throughput_rows(rows: list[dict[str, str]]) -> list[list[str]]:
    items = dict.fromkeys(row["item"] for row in rows if row["experiment"] == "throughput")
    return [[item, *(_rate(rows, backend, item) for backend in NAMES)] for item in items]


def _rate(rows: list[dict[str, str]], backend: str, item: str) -> str:
    measures = ("reserves per second", "slowest reserve in seconds", "load average")
    rate, slowest, busy = (_value(rows, "throughput", backend, item, name) for name in measures)
    if rate == MISSING:
        return MISSING
    longest = f"slowest {slowest} s, " if slowest != MISSING else ""
    return f"{rate} ({longest}load average {busy})"


def _fault_rows(rows: list[dict[str, str]], backend: str) -> list[list[str]]:
    mine = [row for row in rows if (row["experiment"], row["backend"]) == ("fault", backend)]
    return [_fault_row(rows, backend, item) for item in dict.fromkeys(row["item"] for row in mine)]


def _fault_row(rows: list[dict[str, str]], backend: str, item: str) -> list[str]:
    measures = ("released", "said", "next start")
    released, said, then = (_value(rows, "fault", backend, item, name) for name in measures)
    first, stop, _ = said.partition(". ")
    return [item, released, first + stop.strip(), "says the same" if then == said else then]


def _number(text: str) -> str:
    return f"{int(text):,}" if text.isdigit() else text


def _table(headings: list[str], lines: list[list[str]]) -> str:
    rows = [headings, ["---"] * len(headings), *lines]
    return "\n".join("| " + " | ".join(map(_cell, row)) + " |" for row in rows) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

# ruff: noqa: INP001  # a script, no package
"""Hostile files by atheris (coverage-guided); writes results/fuzz.csv row by row.

Needs atheris, which is not among the locked packages because it exists for few systems:
`pip install atheris`, then `python evidence/fuzz.py`.  A file that ends in anything but success or a
typed error in one printable sentence, or that makes the canary of the data heard, stops the run and
is left in the folder it names.  A run continues where an earlier one stopped; `--fresh` starts over,
`--only .tsv .xlsx --most 2000` tries these targets, at most so many files of each.  Rows of the
results file say how many were tried.
"""

import argparse
import importlib
import importlib.util
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Work = Callable[[bytes], object]

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from discreet.paper.results import Results  # noqa: E402

COLUMNS = ["target", "files", "seconds", "findings"]
RESULTS = Results(Path(__file__).parent / "results" / "fuzz.csv", COLUMNS, ["target"])
RUNS = {
    "document": 10_000,
    "member": 10_000,
    "schema": 100_000,
    "table": 30_000,
    "parquet": 30_000,
    "curves": 2_000,
    "causes": 2_000,
    "odd curves": 2_000,
    "odd causes": 2_000,
    "rich schema": 10_000,
    "dates": 30_000,
    "dated table": 10_000,
    "sites": 50_000,
    "message": 50_000,
    "frames": 100_000,
    ".tsv": 10_000,
    ".csv.gz": 10_000,
    ".feather": 10_000,
    ".xlsx": 5_000,
    ".dta": 10_000,
    ".sav": 10_000,
    ".sas7bdat": 10_000,
}
LONGEST = 8192
SITES = b'[[site]]\nhost = "a"\nport = 9\ncertificate = "x"\n'
DIRECTIVES = list("aAbBcdfGHIjmMpSuUVwWxXyYzZ%")
SAS = bytes(32) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011") + bytes(972)
"""The mark of SAS, and nothing: no library here writes such files."""
COMPILED = ("core.walk", "likelihood.kernels")
"""Loaded before the fuzzer watches: numba cannot compile what it has rewritten."""


def fuzz(target: str, runs: int, corpus: Path) -> None:
    """Hand files to one target until something is found or the runs are over."""
    import atheris  # noqa: PLC0415  # optional

    warnings.simplefilter("ignore")
    for name in COMPILED:
        importlib.import_module(f"discreet.{name}")
    with atheris.instrument_imports(include=["discreet", "tomllib"]):
        from tests import hostile, hostile_inputs  # noqa: PLC0415
    work, seeds = Targets(hostile, hostile_inputs, corpus.parent, atheris.FuzzedDataProvider)[
        target
    ]
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [f"-runs={runs}", f"-max_len={LONGEST}", f"-artifact_prefix={corpus.parent}/found-"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], work)
    atheris.Fuzz()


class Targets:
    """What is done with the bytes, and good files to begin with, by target."""

    def __init__(self, hostile, later, folder: Path, provider) -> None:  # noqa: ANN001  # untyped modules
        self.hostile, self.later, self.folder, self.provider = hostile, later, folder, provider

    def __getitem__(self, target: str) -> "tuple[Work, list[bytes]]":
        """One target; good files are made only for it."""
        if target.startswith("."):
            return self._file(target)
        work, good = self._documents.get(target) or self._others[target]
        made = [
            item if isinstance(item, bytes) else self.hostile.serialised(item) for item in good()
        ]
        return work, made

    @property
    def _documents(self) -> dict:
        """Models, releases and schemas: odd bytes, or a good one with an odd member."""
        hostile, later = self.hostile, self.later
        return {
            "document": (hostile.use_document, hostile.documents),
            "member": (partial(self._odd, hostile.documents, hostile.use_document), zeros),
            "curves": (later.use_curves, lambda: [later.curves()]),
            "odd curves": (partial(self._odd, lambda: [later.curves()], later.use_curves), zeros),
            "causes": (later.use_causes, lambda: [later.all_causes()]),
            "odd causes": (
                partial(self._odd, lambda: [later.all_causes()], later.use_causes),
                zeros,
            ),
            "schema": (
                lambda content: hostile.use_schema(content, self.folder),
                lambda: [hostile.SCHEMA.encode()],
            ),
            "rich schema": (
                lambda content: later.use_rich(self._changed(content, later.RICHES)),
                zeros,
            ),
        }

    @property
    def _others(self) -> dict:
        """Tables, dates, and what other sites say."""
        hostile, later, folder = self.hostile, self.later, self.folder
        row = b"1,0,5,1,50,a\n2,0,7.5,0,," + hostile.CANARY.encode() + b"\n"
        return {
            "table": (
                lambda content: hostile.use_table(content, folder),
                lambda: [hostile.HEADER + row],
            ),
            "parquet": (
                lambda content: hostile.use_table(content, folder, ".parquet"),
                lambda: [hostile.parquet_file()],
            ),
            "dated table": (
                lambda content: later.use_dated(content, folder),
                lambda: [later.DATED_TABLE],
            ),
            "dates": (self._dates, zeros),
            "sites": (lambda content: later.use_sites(content, folder), lambda: [SITES]),
            "message": (later.use_message, lambda: [later.MESSAGE]),
            "frames": (self._frames, zeros),
        }

    def _file(self, ending: str) -> "tuple[Work, list[bytes]]":
        good = self.later.files() | self.later.statistical() | {".sas7bdat": SAS}
        return lambda content: self.hostile.use_table(content, self.folder, ending), [good[ending]]

    def _odd(self, documents: "Callable[[], Sequence]", use: "Work", content: bytes) -> None:
        """A good document with one odd member."""
        use(self.hostile.serialised(self._changed(content, documents())))

    def _changed(self, content: bytes, documents: "Sequence") -> dict:
        given = self.provider(content)
        document = documents[given.ConsumeIntInRange(0, len(documents) - 1)]
        places = self.hostile.places(document)
        path = places[given.ConsumeIntInRange(0, len(places) - 1)]
        odd = (
            lambda: ...,
            lambda: given.ConsumeInt(8),
            given.ConsumeRegularFloat,
            lambda: given.ConsumeUnicode(20),
            lambda: [given.ConsumeRegularFloat(), []],
            lambda: [given.ConsumeRegularFloat(), given.ConsumeUnicodeNoSurrogates(3)],
            lambda: {given.ConsumeUnicodeNoSurrogates(5): None},
        )
        value = odd[given.ConsumeIntInRange(0, len(odd) - 1)]()
        return self.hostile.changed(document, path, value)

    def _dates(self, content: bytes) -> None:
        """A format of directives and characters, and a text to read by it."""
        given = self.provider(content)
        parts = [
            f"%{given.PickValueInList(DIRECTIVES)}"
            if given.ConsumeBool()
            else given.ConsumeUnicodeNoSurrogates(1)
            for _ in range(given.ConsumeIntInRange(0, 6))
        ]
        self.later.use_format("".join(parts), [given.ConsumeUnicode(20)])

    def _frames(self, content: bytes) -> None:
        given = self.provider(content)
        self.later.use_frames([given.ConsumeBytes(30) for _ in range(8)])


def zeros() -> list[bytes]:
    """Where bytes choose among odd values."""
    return [bytes(16)]


def run(only: list[str], most: int | None) -> None:
    """Run the targets that the results file lacks, each in a process of its own."""
    for target in only:
        if RESULTS.has(target=target):
            continue
        runs = min(RUNS[target], most or RUNS[target])
        folder = Path(tempfile.mkdtemp(prefix=f"discreet-fuzz-{target}-"))
        (folder / "corpus").mkdir()
        words = [__file__, "--target", target, "--runs", str(runs), "--corpus", folder / "corpus"]
        started = time.monotonic()
        done = subprocess.run([sys.executable, *map(str, words)], check=False)  # noqa: S603  # ours
        if done.returncode:
            sys.exit(f"{target}: something was found; the file is in {folder}")
        cells = (target, runs, round(time.monotonic() - started), 0)
        RESULTS.append(dict(zip(COLUMNS, cells, strict=True)))


def main() -> None:
    """Everything, or one target (in a process of its own: the fuzzer never returns)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--target", choices=RUNS)
    parser.add_argument("--only", nargs="+", choices=RUNS, default=[*RUNS])
    parser.add_argument("--most", type=int, help="try at most so many files of each target")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--corpus", type=Path)
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        sys.stderr.write("fuzz: atheris is not installed (pip install atheris); nothing was run\n")
        return
    if options.target:
        fuzz(options.target, options.runs, options.corpus)
        return
    if options.fresh:
        RESULTS.path.unlink(missing_ok=True)
    run(options.only, options.most)


if __name__ == "__main__":
    main()

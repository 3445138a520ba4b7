# ruff: noqa: INP001  # a script, no package
"""Hostile files by atheris (coverage-guided); writes results/fuzz.csv row by row.

Needs atheris, which is not among the locked packages because it exists for few systems:
`pip install atheris`, then `python evidence/fuzz.py`.  A file that ends in anything but success or a
typed error in one printable sentence, or that makes the canary of the data heard, stops the run and
is left in the folder it names.  A run continues where an earlier one stopped; `--fresh` begins anew.
"""

import argparse
import importlib
import importlib.util
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from discreet.paper.results import Results  # noqa: E402

COLUMNS = ["target", "files", "seconds", "findings"]
RESULTS = Results(Path(__file__).parent / "results" / "fuzz.csv", COLUMNS, ["target"])
RUNS = {"document": 10_000, "member": 10_000, "schema": 100_000, "table": 30_000, "parquet": 30_000}
LONGEST = 8192
COMPILED = ("likelihood.score_walk", "likelihood.kernels")
"""Loaded before the fuzzer watches: numba cannot compile what it has rewritten."""


def fuzz(target: str, runs: int, corpus: Path) -> None:
    """Hand files to one target until something is found or the runs are over."""
    import atheris  # noqa: PLC0415  # optional

    warnings.simplefilter("ignore")
    for name in COMPILED:
        importlib.import_module(f"discreet.{name}")
    with atheris.instrument_imports(include=["discreet", "tomllib"]):
        from tests import hostile  # noqa: PLC0415
    work, seeds = _work(target, hostile, corpus.parent, atheris)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [f"-runs={runs}", f"-max_len={LONGEST}", f"-artifact_prefix={corpus.parent}/found-"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], work)
    atheris.Fuzz()


def _work(target, hostile, folder: Path, atheris):  # noqa: ANN001, ANN202  # untyped modules
    """What is done with the bytes, and good files to begin with."""
    documents = [hostile.serialised(item) for item in hostile.documents()]
    table = hostile.HEADER + b"1,0,5,1,50,a\n2,0,7.5,0,," + hostile.CANARY.encode() + b"\n"
    targets: dict[str, tuple[Callable[[bytes], object], list[bytes]]] = {
        "document": (hostile.use_document, documents),
        "member": (lambda content: _member(content, hostile, atheris), [b"\0" * 16]),
        "schema": (lambda content: hostile.use_schema(content, folder), [hostile.SCHEMA.encode()]),
        "table": (lambda content: hostile.use_table(content, folder), [table]),
        "parquet": (
            lambda content: hostile.use_table(content, folder, ".parquet"),
            [hostile.parquet_file()],
        ),
    }
    return targets[target]


def _member(content: bytes, hostile, atheris) -> None:  # noqa: ANN001  # untyped modules
    """A good document with one odd member."""
    given = atheris.FuzzedDataProvider(content)
    document = hostile.documents()[given.ConsumeIntInRange(0, 2)]
    places = hostile.places(document)
    path = places[given.ConsumeIntInRange(0, len(places) - 1)]
    odd = (
        lambda: ...,
        lambda: given.ConsumeInt(8),
        given.ConsumeRegularFloat,
        lambda: given.ConsumeUnicode(20),
        lambda: [given.ConsumeRegularFloat(), []],
        lambda: {given.ConsumeUnicodeNoSurrogates(5): None},
    )
    value = odd[given.ConsumeIntInRange(0, len(odd) - 1)]()
    hostile.use_document(hostile.serialised(hostile.changed(document, path, value)))


def run() -> None:
    """Run the targets that the results file lacks, each in a process of its own."""
    for target, runs in RUNS.items():
        if RESULTS.has(target=target):
            continue
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
    run()


if __name__ == "__main__":
    main()

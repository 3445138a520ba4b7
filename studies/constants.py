# ruff: noqa: INP001, scripts beside each other, no package
"""What each constant of private Newton's post-processing does: half of it, as it is, and double.

    python studies/constants.py [--draws 6] [--only NAME,NAME] [--results FILE]

Every draw of a small panel of development sets and designs is a row of results/constants.csv; rows
that are there are not made again. All values of all constants have the same people and the same
noise, so that differences are paired. `python studies/real_page.py` prints the worst case over the panel
for each of them on docs/accuracy.md. None of the sets that are held out is in the panel. Rows do not say
which code made them: begin a new file when it has changed.
"""

import argparse
import contextlib
import csv
import sys
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from unittest.mock import patch

from constants_summary import AS_IS, RESULTS
from real import MEASURES, Exact, exact_fit, private_fit, row_of, sample_of
from real_sets import DEVELOPMENT
from simulated import DESIGNS, Sample

PACKAGES = ("discreet.mechanisms.newton", "discreet.estimator")
PANEL = ("rhc", "hdfail", "LeukSurv", "calendar", "labs_3_few", "lognormal_100", "tail20right")
"""A wrong baseline, a horizon far away, few people, censoring by a covariate, generous bounds, tails."""
EPSILON, DELTA = 1.0, 1e-6
FACTORS = (0.5, 1.0, 2.0)
KEYS = ("constant", "factor", "set", "draw")
COLUMNS = (*KEYS, "value", *MEASURES, "seconds")


@dataclass(frozen=True)
class Constant:
    """A number of the package, by its module."""

    home: str
    name: str

    @property
    def title(self) -> str:
        """As the code has it."""
        return f"{self.home}.{self.name}"

    @property
    def value(self) -> float:
        """As it is."""
        return float(self._own)

    @property
    def _own(self) -> float:
        """The number in its own module."""
        home = next(module for module in _modules() if module.__name__.endswith(f".{self.home}"))
        return vars(home)[self.name]

    def times(self, factor: float) -> float:
        """The value that is tried."""
        return factor * self.value

    @contextlib.contextmanager
    def set_to(self, value: float) -> Iterator[None]:
        """The package with another value, wherever the name was imported."""
        with contextlib.ExitStack() as stack:
            for module in list(self._modules()):
                stack.enter_context(patch.object(module, self.name, value))
            yield

    def _modules(self) -> Iterator[ModuleType]:
        """Those that have the same number, not one of the same name."""
        own = self._own
        return (module for module in _modules() if vars(module).get(self.name) is own)


def _modules() -> Iterator[ModuleType]:
    """The modules of private Newton and of the estimator."""
    for package in PACKAGES:
        for found in iter_modules(import_module(package).__path__):
            yield import_module(f"{package}.{found.name}")


CONSTANTS = (
    Constant("spread", "LIKENESS"),
    Constant("spread", "UNRELATED"),
    Constant("spread", "BIAS_STATED"),
    Constant("bound", "DOUBTED"),
    Constant("shape", "RIDGE"),
    Constant("shape", "WALK"),
    Constant("pin", "LEVEL"),
    Constant("pin", "DRIFT"),
    Constant("pin", "SHAPE"),
    Constant("pin", "WITHIN"),
    Constant("tails", "CLEAR"),
    Constant("tails", "SURE"),
    Constant("tails", "UNCOUNTED"),
    Constant("cohort", "INNER"),
    Constant("cohort", "LAST"),
    Constant("widths", "EITHER"),
    Constant("widths", "BLURRED"),
    Constant("widths", "NARROW"),
    Constant("tails", "SPARED"),
    Constant("layout", "RANGED"),
    Constant("cohort", "RELATED"),
    Constant("cohort", "SMALLEST"),
    Constant("tails", "PHANTOM"),
    Constant("tails", "TAIL"),
    Constant("tails", "TAILED"),
    Constant("tails", "APART"),
    Constant("steps", "MISFIT"),
    Constant("steps", "SLOPE"),
    Constant("steps", "KNOWN"),
    Constant("leaving", "USUAL"),
    Constant("varying", "USUAL"),
    Constant("varying", "UNLIKE"),
    Constant("varying", "SEEN"),
    Constant("bound", "CHANGED"),
    Constant("bound", "OUTWEIGHED"),
    Constant("equation", "SPREADS"),
    Constant("equation", "RANGE_EFFECT"),
    Constant("steps", "CAUCHY"),
    Constant("bound", "CALM"),
    Constant("bound", "MUCH"),
    Constant("bound", "LIGHT"),
    Constant("shape", "UNSEEN"),
    Constant("steps", "EXCESS"),
    Constant("bound", "LAMBDA"),
    Constant("steps", "BASELINE"),
    Constant("shape", "CONTRADICTED"),
    Constant("spread", "VARIED"),
    Constant("spread", "INFORMED"),
    Constant("spread", "LOADING"),
    Constant("spread", "NOISY"),
    Constant("spread", "NOISE"),
    Constant("layout", "GENEROUS"),
    Constant("concentration", "LOSS"),
    Constant("concentration", "RESTORED"),
    Constant("picture", "CLEAR"),
    Constant("picture", "BELIEVED"),
    Constant("concentration", "TAIL"),
)
"""What each of them is stands beside it in the code; those of hazards.py are in life_tables.py."""


def main() -> None:
    """Every missing row; draw by draw, so that a run that is stopped has all constants."""
    options = _options()
    wanted = options.only.split(",") if options.only else [item.name for item in CONSTANTS]
    chosen = [item for item in CONSTANTS if item.name in wanted]
    done = _done(options.results)
    for draw in range(options.draws):
        for name in PANEL:
            missing = [item for item in _trials(chosen, name, draw) if item[0] not in done]
            _measure(options.results, missing, name, draw)


Trial = tuple[tuple[str, ...], Constant, float]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--only", default="", help="some constants, by commas")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args()


def _trials(chosen: list[Constant], name: str, draw: int) -> Iterator[Trial]:
    """All values of all constants; the panel as it is once for all of them."""
    yield (AS_IS, "1", name, str(draw)), CONSTANTS[0], 1.0
    for item in chosen:
        for factor in FACTORS:
            if factor != 1.0:
                yield (item.title, f"{factor:g}", name, str(draw)), item, factor


def _done(path: Path) -> set[tuple[str, ...]]:
    if not path.is_file():
        return set()
    with path.open(newline="", encoding="utf-8") as lines:
        return {tuple(row[key] for key in KEYS) for row in csv.DictReader(lines)}


def _measure(path: Path, missing: list[Trial], name: str, draw: int) -> None:
    if not missing:
        return
    sample, exact = _prepared(name, draw)
    seed = zlib.crc32(f"{name}/{draw}".encode())
    for key, constant, factor in missing:
        value, start = constant.times(factor), time.perf_counter()
        with constant.set_to(value):
            release = private_fit(sample, EPSILON, DELTA, seed)
        found = dict(zip(KEYS, key, strict=True)) | row_of(sample, exact, release)
        found["value"] = "" if key[0] == AS_IS else f"{value:g}"
        found["seconds"] = f"{time.perf_counter() - start:.2f}"
        _append(path, found)
        sys.stdout.write(f"{' '.join(key)}: err {found['err']}\n")
        sys.stdout.flush()


def _prepared(name: str, draw: int) -> tuple[Sample, Exact]:
    """The people and their exact fit."""
    if name not in (*DEVELOPMENT, *DESIGNS):
        raise SystemExit(f"{name} is held out: no constant is chosen on it")
    sample = sample_of(name, draw)
    return sample, exact_fit(sample)


def _append(path: Path, row: dict[str, object]) -> None:
    """One line at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = not path.is_file()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        main()

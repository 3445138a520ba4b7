"""The results file: one row a measurement, written as it comes, so that a run can resume."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FIELDS = ("benchmark", "contender", "round", "value", "unit")


@dataclass(frozen=True)
class Key:
    """What identifies a measurement."""

    benchmark: str
    contender: str
    round: int = 0


class Results:
    """Measurements by key, each appended to the file at once."""

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self._values: dict[Key, str] = {}
        if fresh or not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(FIELDS, "w")
        else:
            self._read()

    def measure(self, key: Key, unit: str, measurement: Callable[[], object]) -> None:
        """Take a measurement unless the file has it."""
        if key in self._values:
            return
        value = measurement()
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        self._values[key] = text
        self._write((key.benchmark, key.contender, str(key.round), text, unit), "a")
        print(f"  {key.benchmark:<12} {key.contender:<34} round {key.round}: {text} {unit}")

    def has(self, keys: list[Key]) -> bool:
        """Whether nothing is left to measure."""
        return all(key in self._values for key in keys)

    def contenders(self) -> set[str]:
        """Everybody who was measured."""
        return {key.contender for key in self._values}

    def text(self, benchmark: str, contender: str) -> str:
        """A measurement that is taken once."""
        return self._values[Key(benchmark, contender)]

    def numbers(self, benchmark: str, contender: str) -> list[float]:
        """Every round of a contender, in order."""
        found = [
            (key.round, float(value))
            for key, value in self._values.items()
            if (key.benchmark, key.contender) == (benchmark, contender)
        ]
        return [value for _, value in sorted(found)]

    def _read(self) -> None:
        with self.path.open(newline="") as file:
            for row in csv.DictReader(file):
                key = Key(row["benchmark"], row["contender"], int(row["round"]))
                self._values[key] = row["value"]

    def _write(self, row: tuple[str, ...], mode: str) -> None:
        with self.path.open(mode, newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(row)


def fill(page: Path, name: str, content: str) -> None:
    """Replace what stands between the marks of that name in a page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = page.read_text().partition(begin)
    page.write_text(f"{before}{begin}\n{content}\n{end}{rest.partition(end)[2]}")

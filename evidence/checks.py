# ruff: noqa: INP001  # beside scripts, no package
"""One row a check, written as it comes: a run continues where an earlier one stopped."""

import argparse
import time
from collections.abc import Iterable
from typing import Protocol

from discreet.paper.results import Results


class Check(Protocol):
    """What gives a statistic, and says whether it came out as it must."""

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies the row in the results file."""

    @property
    def facts(self) -> dict[str, object]:
        """Further columns of the row, such as a limit."""

    def run(self) -> float:
        """The statistic."""

    def accepts(self, statistic: float, /) -> bool:
        """Whether it is as it must be."""


def run_missing(about: str, results: Results, checks: Iterable[Check]) -> int:
    """Run what the file lacks; the exit status tells whether every new row came out as it must."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--fresh", action="store_true", help="start over")
    if parser.parse_args().fresh:
        results.path.unlink(missing_ok=True)
    done = results.cells()
    outcomes = [_append(results, check) for check in checks if check.key not in done]
    return 0 if all(outcomes) else 1


def _append(results: Results, check: Check) -> bool:
    """Run the check and write its row at once."""
    start = time.perf_counter()
    statistic = check.run()
    good = check.accepts(statistic)
    results.append(
        dict(zip(results.keys, check.key, strict=True))
        | check.facts
        | {
            "statistic": statistic,
            "seconds": f"{time.perf_counter() - start:.1f}",
            "as_it_must": "yes" if good else "NO",
        }
    )
    return good

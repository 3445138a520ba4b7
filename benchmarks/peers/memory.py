"""The most memory of one fit of each peer: python benchmarks/peers/memory.py [--fdpcox PATH] [--again].

Writes benchmarks/results/peers-memory.csv as it goes and resumes from it. A fit has a process of its own; a peer that
runs in another environment or in R starts one more, which is then the one that counts. Interpreter, libraries and
people are included. Linux: the peak is what /proc says last.
"""

import argparse
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

from peer import UnavailableError
from people import SETS, load
from run import DELTA, PEERS, ROOT, SCRATCH, SPLIT, Row, code, read, store

RESULTS = ROOT / "benchmarks" / "results" / "peers-memory.csv"
FIELDS = ("set", "peer", "megabytes", "code")
BY_NAME = {peer.name: peer for peer in PEERS}


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("SET", "PEER"), help="make this fit")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--peers", nargs="+", default=list(BY_NAME), choices=BY_NAME)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--fdpcox", type=Path)
    arguments = parser.parse_args()
    if arguments.fdpcox:
        os.environ["FDPCOX"] = str(arguments.fdpcox)
    if arguments.one:
        _fit(*arguments.one)
        return
    done = {_place(row) for row in read(RESULTS)}
    for name in arguments.sets:
        for peer in arguments.peers:
            row = {"set": name, "peer": peer, "code": code()}
            if _place(row) in done and not arguments.again:
                continue
            try:
                BY_NAME[peer]().require()
            except UnavailableError as reason:
                print(f"{name}, {peer}: left out, {reason}")
                continue
            row["megabytes"] = f"{_peak([sys.executable, __file__, '--one', name, peer]):.0f}"
            store(RESULTS, FIELDS, [row], _place)
            print(*row.values(), flush=True)


def _fit(name: str, peer: str) -> None:
    warnings.simplefilter("ignore")
    method, (train, _) = BY_NAME[peer](), load(name, SCRATCH).split(SPLIT)
    method.fits(train, 1.0, DELTA, [(method.settings()[0], 0)])


def _peak(command: list[str]) -> float:
    """Return the peak in MB of the process, or of the largest one that it started."""
    peaks: dict[int, int] = {}
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            for one in (process.pid, *_children(process.pid)):
                # a process between fork and exec still shows its parent's; the last reading is its own
                peaks[one] = _high_water(one) or peaks.get(one, 0)
            time.sleep(0.02)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    own = peaks.pop(process.pid)
    return max(peaks.values(), default=own) / 1000


def _children(process: int) -> list[int]:
    try:
        return [
            int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()
        ]
    except OSError:
        return []


def _high_water(process: int) -> int:
    """Return the peak in kB, 0 where the process has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def _place(row: Row) -> tuple[float, ...]:
    return SETS.index(row["set"]), list(BY_NAME).index(row["peer"])


if __name__ == "__main__":
    main()

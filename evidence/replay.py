# ruff: noqa: INP001  # a script, no package
"""Neighbours on one transcript of noisy answers, many random scenes; writes results/replay.csv.

    python evidence/replay.py [--scenes 400] [--fresh]
    python evidence/replay.py --report        writes the part of docs/core.md from the results

A scene (`tests/replay.py`) is a random public schema with raw rows, hostile ones among them, and one
person replaced. Rows of the results file are a scene and a kind of vector, with the largest ratio of
its distance to the calibrated sensitivity. A vector that moves further ends the run. A run
continues where an earlier one stopped.
"""

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from tests import replay, tight  # noqa: E402

from discreet.paper.results import Results  # noqa: E402

COLUMNS = ["scene", "vector", "times", "euclidean", "absolute", "seconds"]
RESULTS = Results(Path(__file__).parent / "results" / "replay.csv", COLUMNS, ["scene", "vector"])
PAGE = ROOT / "docs" / "core.md"
BEGIN, END = "<!-- replay: begin -->", "<!-- replay: end -->"
STREAMED_EVERY = 4
CHANGING_EVERY = 7
"""Every so many scenes are drawn once more with effects that change with time."""
HEAD = """## No vector moves further than its noise is made for

`python evidence/replay.py` measures on the running code what the [proofs](proofs/private-newton.md) say:
replacing a person moves no vector of integers by more than the sensitivity for which its noise was made.

A *scene* is a random public schema (dates or times, an origin, a grid by edges, late entry, a person
column, strata or competing risks, splines, logarithms, indicators of missing values, interactions),
raw rows with hostile values in any column, and one person who is replaced. Every {changing}th scene
is drawn once more with effects that change with time. The first data set is released; the second is
asked the same questions and given the same noisy answers. Checked in exact numbers, for every scene:

- no vector moved by more than its calibrated sensitivity, in L2, and in L1 where it has such noise;
- the noise of every vector is as large as its share of the budget asks for;
- the questions, the estimate and everything beside it were identical bit for bit.

"""
FOOT = """
"Random" is the largest ratio of a distance to its sensitivity over all scenes, "tight" that of two
persons chosen to be as far apart as the proof allows (`tests/tight.py`): a sensitivity one percent
too small would be noticed (`tests/test_replay.py`). Scenes are read from the bytes of a CSV file,
every {every}th from Parquet files as a stream; the witnesses are also summed on Dask, with the same
integers.
"""


def main() -> None:
    """Run what is missing, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", type=int, default=400)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    if arguments.fresh:
        RESULTS.path.unlink(missing_ok=True)
    if not arguments.report:
        done = {row["scene"] for row in RESULTS.rows()}
        for seed in range(arguments.scenes):
            if str(seed) not in done:
                run(str(seed), seed, replay.random_scene(seed))
        for seed in range(0, arguments.scenes, CHANGING_EVERY):
            name = f"{seed} changing"
            if name not in done:
                run(name, seed, replay.changing_scene(seed))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{page()}\n{END}{rest.partition(END)[2]}")


def run(name: str, seed: int, scene: replay.Scene) -> None:
    """One scene; a vector that moves too far is an AssertionError."""
    opening = replay.in_memory if seed % STREAMED_EVERY else replay.streamed
    begun, found = time.time(), defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for ratio in replay.replayed(scene, opening, Path(folder)):
            if not ratio.within:
                raise SystemExit(f"scene {name}: {ratio}")
            found[ratio.kind].append(ratio)
    for kind, ratios in found.items():
        largest = [max(one.euclidean for one in ratios), max(one.absolute for one in ratios)]
        seconds = round(time.time() - begun, 1)
        RESULTS.append(
            dict(zip(COLUMNS, [name, kind, len(ratios), *largest, seconds], strict=True))
        )
    print(f"scene {name}: {sum(map(len, found.values()))} vectors", flush=True)  # noqa: T201


def page() -> str:
    """The page of the results."""
    by_kind: dict[str, list[dict[str, str]]] = defaultdict(list)
    rows = RESULTS.rows()
    for row in rows:
        by_kind[row["vector"]].append(row)
    best = tightest()
    lines = ["| vector | proof | scenes | pairs compared | random, L2 | tight, L2 |"]
    lines += ["|---|---|---:|---:|---:|---:|"]
    for kind, found in sorted(by_kind.items()):
        name, _, proof = kind.partition(" (")
        times = sum(int(row["times"]) for row in found)
        largest = max(float(row["euclidean"]) for row in found)
        proved = f"[{proof.rstrip(')')}](proofs/{proof.split(',')[0]}.md)"
        lines.append(
            f"| {name} | {proved} | {len(found)} | {times} | {largest:.4f} | {best[kind]:.4f} |"
        )
    scenes = len({row["scene"] for row in rows})
    total = sum(int(row["times"]) for row in rows)
    summary = f"\n{scenes} scenes, {total} pairs of vectors: none moved too far.\n"
    head = HEAD.format(changing=CHANGING_EVERY)
    return head + "\n".join(lines) + "\n" + summary + FOOT.format(every=STREAMED_EVERY)


def tightest() -> dict[str, float]:
    """The largest ratio of the witnesses, by kind of vector."""
    found: dict[str, float] = defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:
        for witness in tight.witnesses().values():
            asked = witness.asked(replay.in_memory, Path(folder))
            ratio = replay.ratio_of(*asked)
            found[asked[0].kind] = max(found[asked[0].kind], ratio.euclidean)
    return found


if __name__ == "__main__":
    main()

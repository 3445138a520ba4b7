"""Measurements that need an interpreter of their own: cold start, import time, memory.

Every probe starts one with empty caches, so that nothing compiled before can help it.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
from cohort import Cohort

FIT = """
import discreet as ds
schema = ds.Schema.from_mapping(__import__("json").loads(open("schema.json").read()))
ds.SurvivalRegression(schema=schema).fit("people.parquet")
"""

IMPORT = """
import time, numpy
started = time.perf_counter()
import discreet
print(time.perf_counter() - started)
"""

IMPORT_ESTIMATOR = IMPORT.replace("import discreet\n", "from discreet import SurvivalRegression\n")

# A smaller fit first, so that imports and compiled code are there before the memory is counted (large
# enough to be compiled in two threads), and what arrow did not give back after reading is given back:
# it would hide as much of what the fit takes.
MEMORY = """
import json, re
import pyarrow as pa
import pyarrow.parquet as pq
import discreet as ds

def status(field):
    return 1024 * int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1])

schema = ds.Schema.from_mapping(json.loads(open("schema.json").read()))
people = pq.read_table("people.parquet")
ds.SurvivalRegression(schema=schema).fit(people.slice(0, 400_000))
pa.default_memory_pool().release_unused()
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
before = status("VmRSS")
ds.SurvivalRegression(schema=schema).fit(people)
print((status("VmHWM") - before) / people.nbytes)
"""


def first_run(cohort: Cohort, intervals: int) -> float:
    """Seconds from starting an interpreter to the fitted model, with empty caches."""
    with TemporaryDirectory() as folder:
        _write(cohort, intervals, Path(folder))
        return _seconds(FIT, Path(folder))


def second_run(cohort: Cohort, intervals: int) -> float:
    """The same with what a first run left in the caches."""
    with TemporaryDirectory() as folder:
        _write(cohort, intervals, Path(folder))
        _seconds(FIT, Path(folder))
        return _seconds(FIT, Path(folder))


def import_seconds(code: str) -> float:
    """Seconds of an import beyond numpy's own."""
    with TemporaryDirectory() as folder:
        return float(_run(code, Path(folder)))


def memory_growth(cohort: Cohort, intervals: int) -> float:
    """Peak growth of the resident set during a fit, over the bytes of the input columns."""
    with TemporaryDirectory() as folder:
        _write(cohort, intervals, Path(folder))
        return float(_run(MEMORY, Path(folder)))


def _write(cohort: Cohort, intervals: int, folder: Path) -> None:
    pq.write_table(cohort.table(), folder / "people.parquet")
    (folder / "schema.json").write_text(json.dumps(cohort.schema(intervals).to_mapping()))


def _seconds(code: str, folder: Path) -> float:
    started = time.perf_counter()
    _run(code, folder)
    return time.perf_counter() - started


def _run(code: str, folder: Path) -> str:
    caches = {"NUMBA_CACHE_DIR": str(folder / "numba"), "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=os.environ | caches,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout

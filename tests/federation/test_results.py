"""The page shows what was measured."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_the_page_is_that_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    spec = importlib.util.spec_from_file_location("joint_benchmark", ROOT / "benchmarks/federation.py")  # fmt: skip
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    content = (ROOT / "docs" / "federation.md").read_text()
    shown = content.split(benchmark.BEGIN)[1].split(benchmark.END)[0].strip()
    results = benchmark.Results(benchmark.FILE)
    assert shown == benchmark.table(results)
    for sites in benchmark.SITES:
        assert len(results.numbers("bytes", f"{sites} sites")) >= benchmark.ROUNDS

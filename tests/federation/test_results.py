"""The page shows what was measured."""

from tests.scripts import ROOT, script


def test_the_table_of_the_page_is_that_of_the_results():
    benchmark = script("benchmarks/federation.py")
    content = (ROOT / "docs" / "federation.md").read_text()
    shown = content.split(benchmark.BEGIN)[1].split(benchmark.END)[0].strip()
    results = benchmark.Results(benchmark.FILE)
    assert shown == benchmark.table(results)
    for sites in benchmark.SITES:
        assert len(results.numbers("bytes", f"{sites} sites")) >= benchmark.ROUNDS

"""One name a table or figure; every stage writes its cells as they are done and resumes."""

from collections.abc import Callable

from discreet.errors import SettingsError
from discreet.paper import agreement, chains, remarks, tables
from discreet.paper.config import Options
from discreet.paper.figures import draw_all
from discreet.paper.page import write_page

Tell = Callable[[str], None]
Stage = Callable[[Options, Tell], object]


def _drawn(*_: object) -> None:
    """Nothing to run: the figure is a formula."""


def _table_2(options: Options, tell: Tell) -> None:
    tables.table_2(options)
    tables.run_gap(options, tell)


def _sampler(options: Options, tell: Tell) -> None:
    chains.run_reference(options, tell)
    chains.run_chains(options, tell)
    agreement.run_agreement(options, tell)


def _figure_5(options: Options, tell: Tell) -> None:
    tables.run_others(options, tell)
    _sampler(options, tell)


def _remarks(options: Options, tell: Tell) -> None:
    remarks.links(options)
    remarks.samplers(options, tell)


STAGES: dict[str, Stage] = {
    "table-1": lambda options, _: tables.table_1(options),
    "table-2": _table_2,
    "table-3": lambda options, _: tables.table_3(options),
    "figure-1": _drawn,
    "figure-2": _drawn,
    "figure-3": _sampler,
    "figure-4": _sampler,
    "figure-5": _figure_5,
    "remarks": _remarks,
}
ORDER = ("table-1", "table-3", "table-2", "remarks", "figure-5")


def reproduce(what: str, options: Options, tell: Tell) -> None:
    """Run what is missing, then draw the figures and write the page from the results files."""
    if what not in {*STAGES, "all", "page"}:
        raise SettingsError(f"there is nothing of that name; choose of all, {', '.join(STAGES)}")
    wanted = ORDER if what == "all" else () if what == "page" else (what,)
    for name in wanted:
        tell(name)
        STAGES[name](options, tell)
    for path in draw_all(options):
        tell(f"drawn: {path.name}")
    write_page(options)

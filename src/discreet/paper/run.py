"""One name a table or figure; every stage writes its cells as they are done and resumes."""

from collections.abc import Callable

from discreet.errors import SettingsError
from discreet.paper import agreement, chains, remarks, tables
from discreet.paper.config import Options
from discreet.paper.figures import draw_all
from discreet.paper.page import write_page

Tell = Callable[[str], None]
Stage = Callable[[Options, Tell], None]

SAMPLER: tuple[Stage, ...] = (chains.run_reference, chains.run_chains, agreement.run_agreement)
STAGES: dict[str, tuple[Stage, ...]] = {
    "table-1": (lambda options, _: tables.table_1(options),),
    "table-2": (lambda options, _: tables.table_2(options), tables.run_gap),
    "table-3": (lambda options, _: tables.table_3(options),),
    "figure-1": (),  # figures 1 and 2 show formulas
    "figure-2": (),
    "figure-3": SAMPLER,
    "figure-4": SAMPLER,
    "figure-5": (tables.run_others, *SAMPLER),
    "remarks": (lambda options, _: remarks.links(options), remarks.samplers),
}
ORDER = ("table-1", "table-3", "table-2", "remarks", "figure-5")


def reproduce(what: str, options: Options, tell: Tell) -> None:
    """Run what is missing, then draw the figures and write the page from the results files."""
    if what not in {*STAGES, "all", "page"}:
        raise SettingsError(f"there is nothing of that name; choose of all, {', '.join(STAGES)}")
    wanted = ORDER if what == "all" else () if what == "page" else (what,)
    for name in wanted:
        tell(name)
        for stage in STAGES[name]:
            stage(options, tell)
    for path in draw_all(options):
        tell(f"drawn: {path.name}")
    write_page(options)

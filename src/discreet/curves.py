"""Private survival curves by group: the order of a release, and what a user calls."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from discreet.base import NEEDS_MECHANISM, Estimator, SchemaLike, as_schema
from discreet.design.groups import Groups
from discreet.design.schema import Schema
from discreet.documents.curves import CurvesRelease
from discreet.engine.engine import Engine
from discreet.errors import ArtefactError, SettingsError
from discreet.mechanisms.contract import Draw, Plan
from discreet.mechanisms.group_counts import GroupCounts
from discreet.release import AbstractOrder
from discreet.results.group_table import GroupTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.privacy.noise import NoiseSource


@dataclass(frozen=True)
class CurvesOrder(AbstractOrder[CurvesRelease]):
    """Curves: mechanism and groups."""

    mechanism: GroupCounts
    groups: Groups

    @property
    def schema(self) -> Schema:  # type: ignore[override]  # a property where the parent has a field
        """The columns that are read of a person: time, identity and the group."""
        return self.groups.schema_for_counting

    @property
    def facts(self) -> str:
        """The ledger's description of the release unless it has another."""
        return f"curves by {', '.join(self.groups.by)}"

    @property
    def terms(self) -> dict[str, Any]:
        """The mechanism's settings and the groups."""
        return {"name": self.mechanism.name, **asdict(self.mechanism), "by": list(self.groups.by)}

    def plan(self, persons: int) -> Plan:
        """The mechanism's plan for n persons."""
        return self.mechanism.plan(persons, self.groups, self.sites)

    def draw(self, plan: Plan, engine: Engine, noise: "NoiseSource") -> Draw:
        """One draw of the mechanism."""
        return self.mechanism.draw(plan, self.groups, engine, noise)

    def compose(self, plan: Plan, draw: Draw, head: str) -> CurvesRelease:
        """The document, with everything that follows from the released sums."""
        facts = self.released_facts(plan, draw, head)
        facts["released"] = {"sums": [int(value) for value in draw.point]}
        heading = CurvesRelease.heading(self.groups.schema)
        document = CurvesRelease.model_validate({**heading, **facts})
        try:
            return document.with_results()
        except ArtefactError:  # the sums are paid for: they are written whatever follows from them
            return document


class GroupCurves(Estimator):
    """Survival curves by group, published under differential privacy.

    Parameters
    ----------
    schema
        The public schema: an object, a mapping, or the path of a TOML file.
    by
        One or two covariates with declared levels. Where the schema has a ``person`` column, they
        must be declared ``fixed``: a person is in one group.

    Attributes
    ----------
    model_
        The document: counts, ``estimates`` with bands and medians, ``log_rank``.
    release_
        The same where it is a private release.
    schema_
        The public schema.

    Examples
    --------
    >>> curves = ds.GroupCurves("schema.toml", by="stage")  # doctest: +SKIP
    >>> curves.publish("registry.csv", mechanism=ds.GroupCounts(epsilon=0.5), ledger="budget.db")
    ... # doctest: +SKIP
    >>> curves.plot()  # doctest: +SKIP
    """

    model_: CurvesRelease

    def __init__(self, schema: SchemaLike, by: str | tuple[str, ...] | list[str]) -> None:
        self.schema = schema
        self.by = by

    def summary(self) -> GroupTable:
        """One row per group: size, median, restricted mean, survival at the end.

        It prints as text; ``to_pandas()`` has a row for each group and time.
        """
        return GroupTable(self._model)

    def plot(
        self, *, cause: str | None = None, simultaneous: bool = False, sample: bool = False
    ) -> "Figure":
        """Every group's curve with its band, and the numbers at risk.

        Where a group's curve is not known, its pale band is drawn alone.

        Parameters
        ----------
        cause
            With competing risks: the cause whose cumulative incidence is drawn instead of
            survival without any event.
        simultaneous
            Whether bands hold the whole curve at once, not each point.
        sample
            Whether bands are of these people's own curve without noise, not of the population's.
        """
        from discreet.plots import group_figure  # noqa: PLC0415 - matplotlib is slow to load

        found: CurvesRelease = self._model
        if cause is not None and cause not in found.causes:
            raise SettingsError(
                f"there is no cause '{cause}'; causes are {', '.join(found.causes)}."
            )
        return group_figure(found, cause=cause, simultaneous=simultaneous, sample=sample)

    def _order(self, mechanism: GroupCounts, **terms: Any) -> CurvesOrder:
        if not isinstance(mechanism, GroupCounts):
            raise SettingsError(NEEDS_MECHANISM.format("ds.GroupCounts(epsilon=1)"))
        terms.pop("accept_approximate", None)
        names = (self.by,) if isinstance(self.by, str) else tuple(self.by)
        groups = Groups(as_schema(self.schema), names)
        # from the schema alone, records would be too late; files of version 0.2, in which the first
        # row of a person decided, are read without this
        changing = (
            [] if groups.schema.person is None else [i for i in groups.covariates if not i.fixed]
        )
        if changing:
            raise SettingsError(
                f"'{changing[0].name}' may change from row to row of a person, who must be in one "
                "group. If it never changes, write 'fixed = true' under it in the schema; if it does, "
                "add a column that has the value at the person's start in every row, declare that as "
                "fixed, and draw curves by it."
            )
        return CurvesOrder(mechanism, groups, **terms)

    @classmethod
    def _of(cls, document: CurvesRelease) -> Self:
        found = cls(document.public_schema, document.groups.by)
        found._adopt(document)
        return found

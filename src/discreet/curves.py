"""Private survival curves by group: the order of a release, and what a user calls."""

from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.design.groups import Groups
from discreet.design.schema import Schema
from discreet.documents.curves import CurvesRelease
from discreet.engine.engine import Engine
from discreet.errors import ArtefactError, SettingsError
from discreet.mechanisms.contract import Draw, Plan
from discreet.mechanisms.group_counts import GroupCounts
from discreet.people.source import People
from discreet.regression import as_schema, publish_order
from discreet.release import AbstractOrder, Payer, new_release_id, simulate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.joint import Federation
    from discreet.privacy.noise import NoiseSource


@dataclass(frozen=True)
class CurvesOrder(AbstractOrder[CurvesRelease]):
    """Curves: mechanism and groups."""

    mechanism: GroupCounts
    groups: Groups

    @property
    def schema(self) -> Schema:  # type: ignore[override]  # a property where the parent has a field
        """What is read of a person: time, identity and the group."""
        return self.groups.reading

    @property
    def facts(self) -> str:
        """What the ledger says if nobody describes the release."""
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


class Curves:
    """Survival curves by group, published under differential privacy.

    Parameters
    ----------
    schema
        The public schema: an object, a mapping, or the path of a TOML file.
    by
        One or two covariates with declared levels. Where the schema has a ``person`` column, they
        must be declared ``fixed``: a person is in one group.

    Examples
    --------
    >>> curves = ds.Curves("schema.toml", by="stage")  # doctest: +SKIP
    >>> release = curves.publish("registry.csv", epsilon=0.5, ledger="budget.db")  # doctest: +SKIP
    >>> release.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        schema: "Schema | str | PathLike[str] | Mapping[str, Any]",
        by: str | tuple[str, ...] | list[str],
    ) -> None:
        names = (by,) if isinstance(by, str) else tuple(by)
        self.groups = Groups(as_schema(schema), names)
        _require_fixed(self.groups)

    def publish(  # noqa: PLR0913 - the terms of a release, each by name
        self,
        data: Any,
        outcome: Any = None,
        *,
        epsilon: float,
        delta: float | None = None,
        ledger: Payer | str | PathLike[str],
        path: str | Path | None = None,
        persons: int | None = None,
        release_id: str | None = None,
        overwrite: bool = False,
        federation: "Federation | None" = None,
    ) -> CurvesRelease:
        """Release the curves once, charged to a ledger; nothing is refunded.

        Parameters
        ----------
        data, outcome
            The people, as `SurvivalRegression.publish` takes them.
        epsilon, delta
            The promise; delta is 1e-6, or 1/(10 n) where that is smaller, unless given; 0 for none.
        ledger
            Who pays: a location, a Ledger, or ``ds.NO_LEDGER``.
        path
            Where the file is written before the ledger learns that it is settled.
        persons
            The number of persons, if it is to be charged before the data are read.
        release_id
            The name of the release in the ledger; made up if None.
        overwrite
            Whether an existing file is replaced.
        federation
            The sites that release the curves together; ``data`` are then this site's own people.

        Returns
        -------
        CurvesRelease
            The released counts with curves, bands, medians and a test.

        Raises
        ------
        BudgetError
            The budget does not cover the release; nothing was charged, and at most n was read.
        """
        order = CurvesOrder(
            GroupCounts(epsilon, delta),
            self.groups,
            persons=persons,
            release_id=release_id or new_release_id(),
        )
        return publish_order(
            order,
            People.of(data, outcome),
            ledger=ledger,
            path=path,
            overwrite=overwrite,
            federation=federation,
        )

    def simulate(
        self,
        data: Any,
        outcome: Any = None,
        *,
        epsilon: float,
        delta: float | None = None,
        seed: int = 0,
    ) -> CurvesRelease:
        """Draw what a release could look like, with noise that can be repeated: **not private**.

        Parameters
        ----------
        data, outcome, epsilon, delta
            As in `publish`.
        seed
            Of the noise.
        """
        from discreet.privacy.testing import SeededNoise  # noqa: PLC0415 - not for releases

        order = CurvesOrder(GroupCounts(epsilon, delta), self.groups)
        return simulate(order, People.of(data, outcome), SeededNoise(seed))


def _require_fixed(groups: Groups) -> None:
    """Refuse groups that a person may change, from the schema alone: records would be too late.

    Files of version 0.2, in which the first row decided, are read without this.
    """
    if groups.schema.person is None:
        return
    for item in groups.covariates:
        if not item.fixed:
            raise SettingsError(
                f"'{item.name}' may change from row to row of a person, who must be in one group. "
                "If it never changes, write 'fixed = true' under it in the schema; if it does, add "
                "a column that has the value at the person's start in every row, declare that as "
                "fixed, and draw curves by it."
            )

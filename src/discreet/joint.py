"""One release of several sites: agree, charge, add, compare.

Every site runs this with its own people and its own ledger:

    check     everything that can be wrong here, before anybody else hears of this site
    connect   to all other sites, certificates of both sides compared
    agree     schema, settings, versions, the number of persons, then the plan: any difference stops
    reserve   every site in its own ledger; nothing leaves before all say that they are charged
    draw      each sum gets this site's share of the noise; the sites open the sum of all of them
    compare   all sites have the same release, but for the ledger's head
    write, settle   every site its own file

A site that dies or a connection that breaks stops everybody; charges stay.
Proof: docs/proofs/federation.md.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.design.schema import Schema
from discreet.documents.strict import require_free
from discreet.engine.engine import Engine
from discreet.engine.federation import FederatedEngine
from discreet.engine.threads import one_blas_thread
from discreet.errors import DataFormError, FederationError, SettingsError
from discreet.federation.agreement import (
    NOTHING_CHARGED,
    Agreement,
    agree,
    compare,
    digest,
    public_facts,
)
from discreet.federation.mesh import CONNECTING, Mesh
from discreet.federation.sites import Sites
from discreet.mechanisms.contract import Plan
from discreet.points import JointPoint, reach
from discreet.release import (
    UNCHARGED,
    AbstractOrder,
    Document,
    Payer,
    Source,
    charge_stands,
    count_persons,
    draw_from,
)

if TYPE_CHECKING:
    from discreet.privacy.shared_noise import SharedNoise

_INTEGERS_ONLY = (
    "across sites a fit is by private Newton: other mechanisms, and fits that are not private, need "
    "sums that no noise protects. Curves by group can be counted across sites too."
)


@dataclass(frozen=True)
class Federation:
    """Which sites make a release together, and which of them this is.

    Parameters
    ----------
    sites
        Where the sites are.
    party
        The number of this site.
    waiting
        Seconds to wait for the others to connect.
    release_id
        The name of the release, if the sites chose one; otherwise that of site 0 is taken.

    Examples
    --------
    >>> import discreet as ds
    >>> ds.Federation.read("sites/sites.toml", party=0)  # doctest: +SKIP

    """

    sites: Sites
    party: int
    waiting: float = CONNECTING
    release_id: str | None = None

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        party: int | None,
        waiting: float = CONNECTING,
        release_id: str | None = None,
    ) -> "Federation":
        """From the list of sites and a number; the site's key must lie beside the list.

        Parameters
        ----------
        path
            ``sites.toml``.
        party
            Which site this is.
        waiting
            Seconds to wait for the others.
        release_id
            A name that all sites agreed on beforehand; None lets them draw one.

        Raises
        ------
        SettingsError
            No party, or one that is not in the list.
        """
        if party is None:
            raise SettingsError("a joint fit needs to know which site this is: --party 0, 1, ….")
        sites = Sites.read(Path(path))
        sites.require_party(party)
        return cls(sites, party, waiting, release_id)

    def connect(self) -> Mesh:
        """The connections; use it in a `with`."""
        return Mesh(self.sites, self.party, self.waiting)


def publish_jointly(
    order: AbstractOrder[Document],
    source: Source,
    federation: Federation,
    *,
    ledger: Payer,
    path: Path | None = None,
    overwrite: bool = False,
) -> Document:
    """Make one release together with the other sites, charged to this site's ledger.

    Parameters
    ----------
    order
        What is asked for; the same at every site.  `persons` is the number of this site's own.
    source
        This site's people.
    federation
        The sites.
    ledger, path, overwrite
        As in `discreet.release.publish`.

    Returns
    -------
    Release
        The same at every site, but for the head of its ledger.

    Raises
    ------
    FederationError
        If another site is absent, differs or goes; the text says whether a charge stands.
    BudgetError
        If this site's budget does not cover it; the other sites see that this one is absent.

    """
    if path is not None:
        require_free(path, overwrite=overwrite)
    own = _looked_at(order, source, federation, ledger)
    with federation.connect() as mesh:
        reach(JointPoint.CONNECTED)
        with _nothing_charged():
            order, plan = _agreed(order, federation, mesh, own)
            ledger.check(order.request(plan.guarantee))
            mesh.exchange(b"ready")
        reach(JointPoint.AGREED)
        reservation = ledger.reserve(order.request(plan.guarantee))
        reservation.authorise_draw()
        with charge_stands():
            reach(JointPoint.CHARGED)
            mesh.exchange(b"charged")
            people = _Part(source, own, plan.persons, mesh)
            noise = _system_noise(order, mesh)
            release = _drawn(order, plan, people, noise, reservation.head)
            reach(JointPoint.DRAWN)
            release = _same_everywhere(release, mesh)
            reach(JointPoint.COMPARED)
            if path is not None:
                release.save(path, overwrite=overwrite)
        ledger.settle(reservation, release.digest)
    return release


def simulate_jointly(
    order: AbstractOrder[Document],
    source: Source,
    mesh: Mesh,
    make: Callable[[Callable[..., Any]], "SharedNoise"],
) -> Document:
    """The same with seeded shares, for tests: nothing is charged, and the release is not private."""
    own = count_persons(order, source)
    federation = Federation(mesh.sites, mesh.party)
    order, plan = _agreed(order, federation, mesh, own)
    noise = make(mesh.add)
    if noise.private:
        raise SettingsError("a simulation takes a seeded source; a real release takes none.")
    people = _Part(source, own, plan.persons, mesh)
    return _same_everywhere(_drawn(order, plan, people, noise, UNCHARGED), mesh)


def _looked_at(
    order: AbstractOrder[Any], source: Source, federation: Federation, ledger: Payer
) -> int:
    """The persons of this site, once everything was checked that needs no other site."""
    order.require_publishable()
    if not order.mechanism.across_sites:
        raise SettingsError(_INTEGERS_ONLY)
    federation.sites.shares.require_delta(order.promise.delta)
    ledger.check(order.request(order.promise), least=True)
    source.check(order.schema)
    return count_persons(order, source)


def _agreed(
    order: AbstractOrder[Document], federation: Federation, mesh: Mesh, own: int
) -> tuple[AbstractOrder[Document], Plan]:
    """The order that all sites have, and its plan for all people together."""
    settings = {
        **order.terms,
        "sites.toml": federation.sites.digest,
        "release id": federation.release_id,
    }
    found: Agreement = agree(mesh, public_facts(order.schema, settings), own, order.release_id)
    joint = order.changed(
        persons=found.total,
        release_id=found.release_id,
        sites=federation.sites.shares,
        description=order.description or f"{order.facts}; {len(found.persons)} sites together",
    )
    plan = joint.plan(found.total)
    compare(mesh, "the plan", digest([plan.public(), plan.guarantee.to_mapping()]).encode())
    return joint, plan


def _system_noise(order: AbstractOrder[Any], mesh: Mesh) -> "SharedNoise":
    from discreet.privacy.noise import SystemNoise  # noqa: PLC0415 - loads the samplers
    from discreet.privacy.shared_noise import SharedNoise  # noqa: PLC0415

    def opened(values: list[int]) -> list[int]:
        reach(JointPoint.MASKED)
        sums = mesh.add(values)
        reach(JointPoint.OPENED)
        return sums

    return SharedNoise(order.sites, SystemNoise(), opened)


def _drawn(
    order: AbstractOrder[Document], plan: Plan, people: "_Part", noise: "SharedNoise", head: str
) -> Document:
    """With one thread for linear algebra: how it is shared out may change the last bits."""
    with one_blas_thread():
        return order.compose(plan, draw_from(order, plan, people, noise), head)


def _same_everywhere(release: Document, mesh: Mesh) -> Document:
    """The release with its joint digest, once all sites have the same."""
    joint = release.without_ledger()
    compare(mesh, "the release", joint.encode())
    return release.model_copy(update={"joint_digest": joint})


@contextmanager
def _nothing_charged() -> Iterator[None]:
    """Whatever other sites do in here costs nothing, and the text says so."""
    try:
        yield
    except FederationError as error:
        if NOTHING_CHARGED in str(error):
            raise
        raise FederationError(f"{error} {NOTHING_CHARGED}") from None


@dataclass(frozen=True, eq=False)
class _Part:
    """This site's people as a part of everybody."""

    source: Source
    own: int
    total: int
    mesh: Mesh

    @property
    def in_memory(self) -> bool:
        return self.source.in_memory

    def check(self, schema: Schema) -> None:
        self.source.check(schema)

    def count(self, _: Schema) -> int:
        return self.total

    def open(self, schema: Schema) -> Engine:
        """This site's people, counted once more: others rely on the number it gave."""
        engine = self.source.open(schema)
        if engine.persons != self.own:
            raise DataFormError("the data have another number of persons than was declared.")
        return FederatedEngine(engine, self.total, self._asked)

    def _asked(self, asked: bytes) -> None:
        reach(JointPoint.ASKED)
        compare(self.mesh, "what is asked of their people", asked)

"""One release of several sites: agree, charge, add, compare.

Every site runs this with its own people and its own ledger:

    check     whatever can be wrong here, before another site hears of this one
    connect   to all other sites, certificates of both sides compared
    agree     schema, settings, versions, the number of persons, then the plan: any difference stops
    reserve   every site in its own ledger; nothing leaves before all say that they are charged
    draw      each sum gets this site's share of the noise; the sites open the sum of all of them
    compare   all sites have the same release, but for the ledger's head
    write, settle   every site its own file

A site that dies or a connection that breaks stops all sites; charges stay.
Proof: docs/proofs/federation.md.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.design.schema import Schema
from discreet.engine.engine import Engine
from discreet.engine.federation import FederatedEngine
from discreet.engine.threads import one_blas_thread
from discreet.errors import FederationError, SettingsError
from discreet.federation import agreement
from discreet.federation.mesh import CONNECTING, Mesh
from discreet.federation.sites import Sites
from discreet.mechanisms.contract import Plan
from discreet.people.source import People
from discreet.points import JointPoint, reach
from discreet.privacy.guarantee import require_small_delta
from discreet.release import (
    UNCHARGED,
    AbstractOrder,
    Agreed,
    Document,
    Payer,
    count_persons,
    draw_from,
    require_number,
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

    @contextmanager
    def agreed(
        self, order: AbstractOrder[Document], source: People, ledger: Payer, _: None
    ) -> Iterator[Agreed[Document]]:
        """Yield what all sites charge and draw, for `discreet.release.publish`.

        Parameters
        ----------
        order
            What this site asks for.
        source
            Its people.
        ledger
            What it pays with.

        Raises
        ------
        FederationError
            A site differs or has gone; the message says whether a charge stands.
        """
        if not order.mechanism.across_sites:
            raise SettingsError(_INTEGERS_ONLY)
        self.sites.shares.require_delta(order.promise.delta)
        own = count_persons(order, source)
        with self.connect() as mesh:
            reach(JointPoint.CONNECTED)
            try:
                joint, plan = _agreed(order, self, mesh, own)
                require_small_delta(plan.guarantee.delta, plan.persons)
                request = joint.request(plan.guarantee)
                ledger.check(request)
                mesh.exchange(b"ready")
            except FederationError as error:
                if agreement.NOTHING_CHARGED in str(error):
                    raise
                raise FederationError(f"{error} {agreement.NOTHING_CHARGED}") from None
            reach(JointPoint.AGREED)
            people = partial(_own_people, source, own, plan.persons, mesh)
            yield request, partial(_draw_together, joint, plan, people, mesh)


def _draw_together(
    order: AbstractOrder[Document],
    plan: Plan,
    people: Callable[[Schema], Engine],
    mesh: Mesh,
    head: str,
) -> Document:
    """Draw once every site is charged: each sum gets this site's share of the noise."""
    from discreet.privacy.noise import SystemNoise  # noqa: PLC0415 - loads the samplers
    from discreet.privacy.shared_noise import SharedNoise  # noqa: PLC0415

    def opened(values: list[int]) -> list[int]:
        reach(JointPoint.MASKED)
        sums = mesh.add(values)
        reach(JointPoint.OPENED)
        return sums

    reach(JointPoint.CHARGED)
    mesh.exchange(b"charged")
    noise = SharedNoise(order.sites, SystemNoise(), opened)
    release = _same_everywhere(order, plan, people, mesh, noise, head)
    reach(JointPoint.COMPARED)
    return release


def simulate_jointly(
    order: AbstractOrder[Document],
    source: People,
    mesh: Mesh,
    make: Callable[[Callable[..., Any]], "SharedNoise"],
) -> Document:
    """Draw jointly with seeded shares, for tests: not private, and nothing is charged."""
    own = count_persons(order, source)
    federation = Federation(mesh.sites, mesh.party)
    order, plan = _agreed(order, federation, mesh, own)
    noise = make(mesh.add)
    if noise.private:
        raise SettingsError("a simulation takes a seeded source; a real release takes none.")
    people = partial(_own_people, source, own, plan.persons, mesh)
    return _same_everywhere(order, plan, people, mesh, noise, UNCHARGED)


def _agreed(
    order: AbstractOrder[Document], federation: Federation, mesh: Mesh, own: int
) -> tuple[AbstractOrder[Document], Plan]:
    """The order that all sites have, and its plan for all people together."""
    settings = {
        **order.terms,
        "sites.toml": federation.sites.digest,
        "release id": federation.release_id,
    }
    facts = agreement.public_facts(order.schema, settings)
    found = agreement.agree(mesh, facts, own, order.release_id)
    joint = order.changed(
        persons=found.total,
        release_id=found.release_id,
        sites=federation.sites.shares,
        description=order.description or f"{order.facts}; {len(found.persons)} sites together",
    )
    plan = joint.plan(found.total)
    planned = agreement.digest([plan.public(), plan.guarantee.to_mapping()])
    agreement.compare(mesh, "the plan", planned.encode())
    return joint, plan


def _same_everywhere(
    order: AbstractOrder[Document],
    plan: Plan,
    people: Callable[[Schema], Engine],
    mesh: Mesh,
    noise: "SharedNoise",
    head: str,
) -> Document:
    """Draw, and return the release with its joint digest, once all sites have the same."""
    with one_blas_thread():  # how linear algebra is shared out may change the last bits
        release = order.compose(plan, draw_from(order, plan, people, noise), head)
    reach(JointPoint.DRAWN)
    joint = release.without_ledger()
    agreement.compare(mesh, "the release", joint.encode())
    return release.model_copy(update={"joint_digest": joint})


def _own_people(source: People, own: int, total: int, mesh: Mesh, schema: Schema) -> Engine:
    """Open this site's people as a part of all, counted once more: others rely on the number it gave."""

    def asked(question: bytes) -> None:
        reach(JointPoint.ASKED)
        agreement.compare(mesh, "what is asked of their people", question)

    engine = source.open(schema)
    require_number(engine, own)
    return FederatedEngine(engine, total, asked)

"""All connections of one site: exchange public bytes, add secret integers, stop when one breaks.

Site i calls every site with a higher number and is called by every site with a lower one.  The
connections have a thread of their own, so that they work beside another event loop (a notebook), and a
site that dies is noticed at once.  Nothing is retried: a connection that breaks after all sites were
connected stops the fit at all sites.
"""

import asyncio
import ssl
import time
from collections.abc import Coroutine
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from threading import Lock, Thread
from typing import Any, Self, TypeVar

from discreet.errors import FederationError
from discreet.federation.connection import FIRST_LABEL, Connection, tls
from discreet.federation.secure_sum import SecureSum, load_mpyc
from discreet.federation.sites import Sites

Result = TypeVar("Result")

CONNECTING = 600.0
"""Seconds that a site waits for the others to connect."""
ANSWERING = 3600.0
"""Seconds that a site waits for an answer of the others: the slowest pass over people."""
_PAUSE = 0.1
_HANDSHAKE = 20.0
_LEAVING = 5.0

# MPyC's runtime is a global of the process.
_one_at_a_time = Lock()


class Mesh:
    """The connections of one site, the number `party`, with all others.

    with Mesh(Sites.read("sites.toml"), 0) as mesh:
        mesh.exchange(b"ready")
        mesh.add([1, 2, 3])

    `waiting` seconds are allowed for connecting, `answering` for any one answer.
    """

    def __init__(
        self, sites: Sites, party: int, waiting: float = CONNECTING, answering: float = ANSWERING
    ) -> None:
        sites.require_party(party)
        load_mpyc()  # raises if it is missing, before any site is called
        self.sites, self.party = sites, party
        self._waiting, self._answering = waiting, answering
        self._others = [number for number in range(len(sites.sites)) if number != party]
        self._connections: dict[int, Connection] = {}
        self._greeted: set[int] = set()
        self._strangers = 0
        self._complete = False
        self._labels = FIRST_LABEL
        self._changed = asyncio.Event()
        self._sum: SecureSum | None = None

    def __enter__(self) -> Self:
        """Connect with every other site, or raise a `FederationError`."""
        if not _one_at_a_time.acquire(blocking=False):
            raise FederationError("another joint fit is under way in this process.")
        self._loop = asyncio.new_event_loop()
        self._stopped: asyncio.Future[str] = self._loop.create_future()
        self._thread = Thread(target=self._loop.run_forever, name="discreet-mesh", daemon=True)
        self._thread.start()
        try:
            self._call(self._connect())
        except BaseException:
            self._close(gracefully=False)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._close(gracefully=kind is None)

    def exchange(self, payload: bytes) -> list[bytes]:
        """Send public bytes to all sites; return the bytes of each, in the order of the sites."""
        return self._call(self._guarded(self._exchange(payload)))

    def add(self, values: list[int]) -> list[int]:
        """Return the sum over all sites, entry by entry; no site sees another's integers."""
        if self._sum is None:
            raise FederationError("the sites are not connected.")
        return self._call(self._guarded(self._sum.add(values)))

    @property
    def sent(self) -> int:
        """Bytes sent to all other sites so far, without what TLS adds."""
        return sum(connection.sent for connection in self._connections.values())

    # called by connections, in the loop's thread

    def admit(self, connection: Connection, der: bytes) -> bool:
        """Return whether this is the certificate of a site that is expected and not connected."""
        known = {self.sites.sites[number].der: number for number in self._others}
        party = known.get(der)
        right = party is not None and (not connection.called or connection.party == party)
        calls = connection.called or (party is not None and party < self.party)
        if party is None or not right or not calls or party in self._connections or self._complete:
            self._strangers += 1
            return False
        connection.party = party
        self._connections[party] = connection
        return True

    def greeted(self, connection: Connection) -> None:
        """Record that another site has accepted this one."""
        if connection.party is not None:
            self._greeted.add(connection.party)
            self._changed.set()

    def lost(self, connection: Connection) -> None:
        """Stop if all sites were connected; before that a site may connect again."""
        party = connection.party
        if party is None or self._connections.get(party) is not connection:
            return
        if self._complete:
            self._stop(f"the connection to {self._name(party)} broke.")
        elif connection.called and party not in self._greeted:
            self._stop(
                f"{self._name(party)} refused the connection: it does not know this "
                "site's certificate, or is connected with this site already."
            )
        else:
            self._connections.pop(party)
            self._greeted.discard(party)

    def broken(self, connection: Connection, reason: str) -> None:
        """Stop because of a message that cannot be received or sent."""
        self._stop(f"{self._name(connection.party)} {reason}.")

    async def _connect(self) -> None:
        own = self.sites.sites[self.party]
        files = self.sites.certificate(self.party), self.sites.key(self.party)
        deadline = time.monotonic() + self._waiting
        server = None
        if self.party > 0:
            callers = [self.sites.sites[number] for number in self._others]
            context = tls(ssl.PROTOCOL_TLS_SERVER, callers, *files)
            try:
                server = await self._loop.create_server(
                    lambda: Connection(self),
                    own.listen or own.host,
                    own.port,
                    ssl=context,
                    ssl_handshake_timeout=_HANDSHAKE,
                )
            except OSError as error:
                raise FederationError(
                    f"this site cannot listen at {own.listen or own.host}:{own.port}: "
                    f"{error.strerror}."
                ) from None
        try:
            calls = [
                self._loop.create_task(self._reach(number, files, deadline))
                for number in self._others
                if number > self.party
            ]
            await self._wait_for_all(calls, deadline)
        finally:
            if server is not None:
                server.close()
        self._sum = SecureSum(self.party, self._connections, self.sites.shares.colluding)
        # after MPyC has set its own
        self._loop.set_exception_handler(lambda *_: self._stop("the secure sum failed."))

    async def _wait_for_all(self, calls: list["asyncio.Task[None]"], deadline: float) -> None:
        """Wait until every site has greeted, a call fails for good, or time is up."""
        try:
            while len(self._greeted) < len(self._others):
                self._changed.clear()
                changed = asyncio.ensure_future(self._changed.wait())
                pending = [item for item in calls if not item.done()]
                events: set[asyncio.Future[Any]] = {changed, self._stopped, *pending}
                await asyncio.wait(
                    events,
                    timeout=max(0.0, deadline - time.monotonic()),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                changed.cancel()
                self._raise_if_stopped()
                for item in calls:
                    if item.done():
                        item.result()
                missing = [number for number in self._others if number not in self._greeted]
                if time.monotonic() >= deadline and missing:
                    refused = (
                        f" {self._strangers} connections were refused: an unknown certificate, or "
                        "a site that was there already."
                    )
                    raise FederationError(
                        f"not connected within {self._waiting:g} s: "
                        f"{', '.join(map(self._name, missing))}.{refused if self._strangers else ''}"
                    )
            self._complete = True
        finally:
            for item in calls:
                item.cancel()

    async def _reach(self, number: int, files: tuple[Any, Any], deadline: float) -> None:
        """Call a site until it answers; another certificate than the right one ends it."""
        site = self.sites.sites[number]
        context = tls(ssl.PROTOCOL_TLS_CLIENT, [site], *files)
        while time.monotonic() < deadline:
            try:
                await self._loop.create_connection(
                    lambda: Connection(self, number),
                    site.host,
                    site.port,
                    ssl=context,
                    ssl_handshake_timeout=_HANDSHAKE,
                )
            except ssl.SSLCertVerificationError:
                raise FederationError(
                    f"{self._name(number)} shows another certificate than sites.toml has, or one "
                    "that has expired."
                ) from None
            except OSError:  # the site does not listen yet
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def _exchange(self, payload: bytes) -> list[bytes]:
        self._labels -= 1
        label = self._labels
        for number in self._others:
            self._connections[number].send(label, payload)
        payloads = {self.party: payload}
        for number in self._others:
            arrived = self._connections[number].receive(label)
            payloads[number] = arrived if isinstance(arrived, bytes) else await arrived
        return [payloads[number] for number in sorted(payloads)]

    async def _guarded(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result, unless a connection breaks or the sites do not answer in time."""
        task = self._loop.create_task(work)
        events: set[asyncio.Future[Any]] = {task, self._stopped}
        await asyncio.wait(events, timeout=self._answering, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            self._raise_if_stopped()
            raise FederationError("the other sites did not answer in time.")
        try:
            return task.result()
        except (ValueError, IndexError, TypeError):
            raise FederationError("another site sent something that is not a share.") from None

    def _call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run in the loop's thread; raise if that thread ends."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        while True:
            try:
                return future.result(timeout=0.5)
            except NotYet:
                if future.done():
                    raise
                # MPyC stops the loop where a message is not what it expects
                if not self._thread.is_alive() or not self._loop.is_running():
                    raise FederationError(
                        "another site sent something that is not a share."
                    ) from None

    def _stop(self, reason: str) -> None:
        if not self._stopped.done():
            self._stopped.set_result(reason)

    def _raise_if_stopped(self) -> None:
        if self._stopped.done():
            raise FederationError(self._stopped.result())

    def _name(self, party: int | None) -> str:
        return f"site {party} ({self.sites.sites[party or 0].address})"

    def _close(self, *, gracefully: bool) -> None:
        async def leave() -> None:
            for connection in self._connections.values():
                if gracefully:
                    connection.leave()
                else:
                    connection.abort()
            ends = [connection.ended.wait() for connection in self._connections.values()]
            with suppress(TimeoutError):  # what is written goes out
                await asyncio.wait_for(asyncio.gather(*ends), _LEAVING)

        if self._thread.is_alive() and self._loop.is_running():
            with suppress(NotYet):
                asyncio.run_coroutine_threadsafe(leave(), self._loop).result(2 * _LEAVING)
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(2 * _LEAVING)
        if not self._loop.is_running():
            self._loop.close()
        _one_at_a_time.release()

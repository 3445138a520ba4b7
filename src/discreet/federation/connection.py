"""One connection to another site: TLS 1.3, both certificates compared with those in sites.toml.

Messages have the form of MPyC's runtime: a label (8 bytes), a size (4 bytes), a payload; labels of the
runtime are hashes, ours are small negative numbers.  The memory of a connection is bounded, and no
message is ever unpickled.
"""

import asyncio
import socket
import ssl
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import SettingsError
from discreet.federation.sites import Site

if TYPE_CHECKING:
    from discreet.federation.mesh import Mesh

LARGEST_MESSAGE = 1 << 26
MOST_HELD = 1024
"""Limit on messages that were not requested yet: sites run in step, so there are few."""
HELLO, GOODBYE = -2, -3
FIRST_LABEL = -10
GREETING = b"discreet joint fit 1"
_HEADER = struct.Struct("<qI")
# After a minute of silence the system probes the other machine every 15 s.
_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}


class Connection(asyncio.Protocol):
    """A stream of labelled messages to one other site, which notifies its mesh, the `owner`.

    `expected` is the number of the site that was called; None if the other site called.
    """

    def __init__(self, owner: "Mesh", expected: int | None = None) -> None:
        self.owner, self.party = owner, expected
        self.called = expected is not None
        self.sent = 0
        self.finished = False
        self.admitted = False
        self.ended = asyncio.Event()
        self._arrived = bytearray()
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._held: dict[int, bytes] = {}
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Compare the certificate, then greet."""
        self._transport = transport  # type: ignore[assignment]  # streams have transports
        connected = transport.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        shown = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        self.admitted = self.owner.admit(self, shown or b"")
        if not self.admitted:
            self.abort()
            return
        self.send(HELLO, GREETING)

    def send(self, label: int, payload: bytes) -> None:
        """Send a message (MPyC's runtime calls this)."""
        if self._transport is None or self._transport.is_closing():
            self.owner.broken(self, "is closed")
            return
        self._transport.write(_HEADER.pack(label, len(payload)) + payload)
        self.sent += _HEADER.size + len(payload)

    def receive(self, label: int) -> "asyncio.Future[bytes] | bytes":
        """Return the message with that label, or a future of it (MPyC's runtime calls this)."""
        if label in self._held:
            return self._held.pop(label)
        if self.finished:
            self.owner.broken(self, "has left")
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[label] = future
        return future

    def data_received(self, data: bytes) -> None:
        """Read whole messages from the received bytes."""
        if not self.admitted:
            return
        self._arrived.extend(data)
        while len(self._arrived) >= _HEADER.size:
            label, size = _HEADER.unpack_from(self._arrived)
            held = sum(map(len, self._held.values()))
            if size + held > LARGEST_MESSAGE or len(self._held) >= MOST_HELD:
                self.owner.broken(self, "sent more than a joint fit ever does")
                self.abort()
                return
            end = _HEADER.size + size
            if len(self._arrived) < end:
                return
            payload = bytes(self._arrived[_HEADER.size : end])
            del self._arrived[:end]
            self._deliver(label, payload)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Notify the mesh, unless the other site said goodbye and no message is awaited."""
        self.ended.set()
        if self.finished and not self._waiting:
            return
        self.owner.lost(self)

    def leave(self) -> None:
        """Say goodbye and close once everything is sent."""
        if self._transport is not None and not self._transport.is_closing():
            self.send(GOODBYE, b"")
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def _deliver(self, label: int, payload: bytes) -> None:
        if label == HELLO:
            if payload != GREETING:
                self.owner.broken(self, "speaks another version of the protocol")
                return
            self.owner.greeted(self)
        elif label == GOODBYE:
            self.finished = True
            if self._waiting:
                self.owner.broken(self, "has left")
        elif label in self._waiting:
            waiting = self._waiting.pop(label)
            if not waiting.done():
                waiting.set_result(payload)
        else:
            self._held[label] = payload


def tls(side: int, others: list[Site], certificate: Path, key: Path) -> ssl.SSLContext:
    """Return TLS 1.3 of the calling or the called side; one of the others' certificates is required."""
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # a certificate is compared whole, which says more than a name
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError):
        raise SettingsError(
            f"'{key}' and '{certificate}' are not a key and its certificate."
        ) from None
    context.load_verify_locations(cadata="\n".join(site.certificate for site in others))
    return context

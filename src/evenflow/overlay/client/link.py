"""A client's connection to the overlay: one broker as the way in, and every open request.

When the broker dies or falls silent, the client takes another of those it has been told of, and
sends again what has no reply. What is requested, and what replies mean, is in `core`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from abc import ABC, abstractmethod
from itertools import count
from typing import TYPE_CHECKING, Any

from evenflow.errors import ClosedError, OverlayError, StoreTimeout
from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.connection import Connection, parse_address
from evenflow.overlay.protocol.messages import (
    AskStatus,
    Envelope,
    FetchInstead,
    Hello,
    Member,
    Pushed,
    Resubscribe,
    Waiting,
    Welcome,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.overlay.client.core import Request, Requester
    from evenflow.overlay.client.following import Following
    from evenflow.overlay.space.coordinate import Coordinate

SILENCE_S = 3.0
"""A broker that says nothing for this long is left for another."""
BEAT_S = 0.1


class ClientLink(ABC):
    """One connection at a time, and the requests that wait for replies.

    Args:
        brokers: Addresses of some brokers.
        timeout_s: How long an operation may take before it ends in a `StoreTimeout`.
    """

    def __init__(self, brokers: Sequence[str], *, timeout_s: float = 30.0) -> None:
        for address in brokers:
            parse_address(address)
        if not brokers:
            raise OverlayError("a client needs the address of a broker")
        self.timeout_s = timeout_s
        self._addresses = list(brokers)
        self._connection: Connection | None = None
        self._access: Member | None = None
        self._tried: list[str] = []
        self._heard = 0.0
        self._numbers = count(1)
        self._open: dict[int, tuple[Requester, int]] = {}
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._due: set[Requester] = set()
        self._following: dict[int, Following] = {}
        """Subscribers, by their numbers."""
        self._closed = False
        self._rng = random.SystemRandom()
        self.reconnections = -1
        """How often another connection had to be made."""

    @abstractmethod
    def _on_answered(self, requester: Requester) -> None:
        """An open request was answered."""

    def _whom_asked(self) -> str:
        """Say which brokers were asked in vain, and what to do."""
        if self._access is None:
            tried = ", ".join(dict.fromkeys(self._tried)) or "any address"
            return f"no broker answers at {tried}; start one of them ('evenflow broker --help')"
        asked = f"{self._access.name} at {self._access.address}"
        return (
            f"asked {asked}, and whoever should have the topic does not answer; are enough"
            " brokers up? 'evenflow broker --help'"
        )

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("store client")

    async def _call(self, target: Coordinate, node: str, body: Any, end: float) -> Any:
        """Send a request, again and again, until a reply comes."""
        self._check_open()
        while True:
            number = next(self._numbers)
            future = self._calls[number] = asyncio.get_running_loop().create_future()
            self._send(target, node, body, number)
            try:
                async with asyncio.timeout(1.0):
                    return await future
            except TimeoutError:
                if time.monotonic() > end:
                    what = type(body).__name__.lower()
                    raise StoreTimeout(what, self.timeout_s, self._whom_asked()) from None
            finally:
                self._calls.pop(number, None)

    def _request(self, requester: Requester) -> None:
        """Send the request that is due, if any; it is sent again until a reply comes."""
        self._due.add(requester)
        request = requester.poll(time.monotonic())
        if request is None:
            return
        number = next(self._numbers)
        self._open[number] = (requester, request.number)
        self._send(request.target, "", request.body, number)

    def _tell(self, request: Request | None) -> None:
        """Send something that has no reply."""
        if request is not None:
            self._send(request.target, "", request.body, request.number)

    def _send(self, target: Coordinate, node: str, body: Any, number: int) -> None:
        if self._connection is not None:
            self._connection.send(
                Envelope(target, node, 0, "", 0, number, reply=False, body=BODY.encode(body))
            )

    async def _run(self) -> None:
        """Keep a connection; send again what is due."""
        while True:
            if self._connection is None or not self._connection.open:
                await self._connect()
            await asyncio.sleep(BEAT_S)
            now = time.monotonic()
            access = self._access
            if access is not None:
                if now > self._heard + SILENCE_S and self._connection is not None:
                    self._connection.close()
                elif now > self._heard + SILENCE_S / 3:
                    self._send(access.coordinate, access.name, AskStatus(), 0)
            for requester in list(self._due):
                if now >= requester.due():
                    self._request(requester)
            if len(self._open) > 10_000:
                self._forget_old()

    def _forget_old(self) -> None:
        self._open = {
            number: (requester, own)
            for number, (requester, own) in self._open.items()
            if requester.number == own
        }

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._access = None
        address = self._rng.choice(self._addresses)
        self._tried = [*self._tried[-31:], address]
        with contextlib.suppress(OSError, ValueError):
            host, port = parse_address(address)
            _, connection = await loop.create_connection(
                lambda: Connection(self._on_message, self._on_lost), host, port
            )
            self._connection, self._heard = connection, time.monotonic()
            connection.send(Hello())

    def _on_lost(self, connection: Connection) -> None:
        if self._connection is connection:
            self._connection = self._access = None

    def _on_message(self, connection: Connection, message: Any) -> None:
        if connection is not self._connection:
            return
        self._heard = time.monotonic()
        if isinstance(message, Welcome) and message.members:
            self._access, self._tried = message.members[0], []
            known = [member.address for member in message.members]
            self._addresses = list(dict.fromkeys(known + self._addresses))[:64]
            self.reconnections += 1
            for requester in list(self._due):
                requester.retry_now()
                self._request(requester)
        elif isinstance(message, Envelope) and message.reply:
            self._on_reply(message)

    def _on_reply(self, envelope: Envelope) -> None:
        body = BODY.decode(envelope.body)
        if isinstance(body, Pushed | Resubscribe | FetchInstead):
            following = self._following.get(body.subscriber)
            if following is not None:
                following.on_push(body, time.monotonic())
                self._tell(following.acknowledge())
                self._on_answered(following)
            return
        call = self._calls.get(envelope.correlation)
        if call is not None and not call.done():
            call.set_result(body)
        requester, own = self._open.get(envelope.correlation, (None, 0))
        if isinstance(body, Waiting):
            if requester is not None:
                requester.on_reply(own, body, time.monotonic())
            return  # the request waits with the topic
        self._open.pop(envelope.correlation, None)
        if requester is None or requester not in self._due:
            return
        requester.on_reply(own, body, time.monotonic())
        self._due.discard(requester)
        self._on_answered(requester)

"""A client's connection to the overlay: one broker as the way in, and every open request.

When the broker dies or falls silent, the client takes another of those it has been told of, and
sends again what has no reply. So it does when one lets it wait at the door: no path, a process that
stands still. Who has just failed comes last. What is requested, and what replies mean, is in
`core`.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import random
import time
from abc import ABC, abstractmethod
from itertools import count
from typing import TYPE_CHECKING, Any

from evenflow.errors import ClosedError, EvenflowError, OverlayError, StoreTimeout
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
"""A broker that says nothing for this long, or cannot be reached in it, is left for another."""
BEAT_S = 0.1
MOST_ADDRESSES = 64
"""Brokers that are remembered."""


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
        """Addresses that failed since a broker welcomed us; the one tried last is last."""
        self._heard = 0.0
        self._numbers = count(1)
        self._ties = count()
        self._open: dict[int, tuple[Requester, int]] = {}
        """Requests that have no answer, by the numbers that their envelopes carry."""
        self._asking: dict[Requester, int] = {}
        """Under which of these numbers each last asked."""
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._due: set[Requester] = set()
        """Who has something to ask, or will have."""
        self._timers: list[tuple[float, int, Requester]] = []
        """A heap: so whoever waits costs nothing until it is due."""
        self._timer_of: dict[Requester, float] = {}
        """When the timer of each ends; others in the heap are void."""
        self._following: dict[int, Following] = {}
        """Subscribers, by their numbers."""
        self._closed = False
        self._failure: EvenflowError | None = None
        """Why the client cannot go on."""
        self._rng = random.SystemRandom()

    @abstractmethod
    def _on_answered(self, requester: Requester) -> None:
        """An open request was answered."""

    def _whom_asked(self) -> str:
        """Say which brokers were asked in vain, and what to do."""
        if self._access is None:
            tried = ", ".join(self._tried) or "any address"
            return f"no broker answers at {tried}; start one of them ('evenflow broker --help')"
        asked = f"{self._access.name} at {self._access.address}"
        return (
            f"asked {asked}, and whoever should have the topic does not answer; are enough"
            " brokers up? 'evenflow broker --help'"
        )

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("store client")
        if self._failure is not None:
            raise self._failure.with_traceback(None)

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
        now = time.monotonic()
        request = requester.poll(now)
        self._set_timer(requester, now)
        if request is None:
            return
        number = self._asking.get(requester, 0)
        if self._open.get(number) != (requester, request.number):
            # What is only repeated keeps its number: so a broker knows that it waits there already.
            self._open.pop(number, None)
            number = self._asking[requester] = next(self._numbers)
            self._open[number] = (requester, request.number)
        self._send(request.target, "", request.body, number)

    def _set_timer(self, requester: Requester, now: float) -> None:
        due = max(requester.due(), now + BEAT_S)
        if due < self._timer_of.get(requester, float("inf")):
            heapq.heappush(self._timers, (due, next(self._ties), requester))
            self._timer_of[requester] = due

    def _forget(self, requester: Requester) -> None:
        """Ask nothing more for one."""
        self._due.discard(requester)
        self._timer_of.pop(requester, None)
        self._open.pop(self._asking.pop(requester, 0), None)

    def _ask_due(self, now: float) -> None:
        """Send what is due, or due again."""
        while self._timers and self._timers[0][0] <= now:
            ended, _, requester = heapq.heappop(self._timers)
            if self._timer_of.get(requester) == ended:
                del self._timer_of[requester]
                if requester in self._due:
                    self._request(requester)

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
            before = time.monotonic()
            await asyncio.sleep(BEAT_S)
            now = time.monotonic()
            if now > before + SILENCE_S / 3:
                self._heard = now  # it was us who stood still; what came has not been read yet
            if now > self._heard + SILENCE_S and self._connection is not None:
                self._connection.close()
            elif now > self._heard + SILENCE_S / 3 and self._access is not None:
                self._send(self._access.coordinate, self._access.name, AskStatus(), 0)
            self._ask_due(now)

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        if self._access is not None:
            self._tried, self._access = [self._access.address], None
        address = self._next_address()
        self._tried = [*(one for one in self._tried if one != address), address]
        with contextlib.suppress(OSError, ValueError):  # a TimeoutError is an OSError
            host, port = parse_address(address)
            async with asyncio.timeout(SILENCE_S):
                _, connection = await loop.create_connection(
                    lambda: Connection(self._on_message, self._on_lost), host, port
                )
            self._connection, self._heard = connection, time.monotonic()
            connection.send(Hello())

    def _next_address(self) -> str:
        """One that has not failed; else the one that was tried longest ago."""
        fresh = [address for address in self._addresses if address not in self._tried]
        return self._rng.choice(fresh) if fresh else self._tried[0]

    def _on_lost(self, connection: Connection) -> None:
        if self._connection is connection:
            self._connection = None

    def _on_message(self, connection: Connection, message: Any) -> None:
        if connection is not self._connection:
            return
        self._heard = time.monotonic()
        if isinstance(message, Welcome) and message.members:
            self._access, self._tried = message.members[0], []
            known = [member.address for member in message.members]
            self._addresses = list(dict.fromkeys(known + self._addresses))[:MOST_ADDRESSES]
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
        if requester is None or requester not in self._due:
            self._open.pop(envelope.correlation, None)
            return
        requester.on_reply(own, body, time.monotonic())
        if requester.number != own:  # else this was not the last word on it
            self._open.pop(envelope.correlation, None)
        self._due.discard(requester)
        self._on_answered(requester)

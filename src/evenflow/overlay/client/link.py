"""A client's connection to the overlay: one broker as the way in, and every open question.

When the broker dies or falls silent, the client takes another of those it has been told of, and
asks again what was not answered. What is asked, and what answers mean, is in `client_core`.
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
from evenflow.overlay.protocol.connection import Wire, parse_address
from evenflow.overlay.protocol.messages import LETTERS, Hello, Member, Routed, Status, Welcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.overlay.client.core import Asking
    from evenflow.overlay.space.coordinate import Coordinate

SILENCE_S = 3.0
"""A broker that says nothing for this long is left for another."""
BEAT_S = 0.1


class ClientLink(ABC):
    """One connection at a time, and the questions that wait for answers.

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
        self._wire: Wire | None = None
        self._access: Member | None = None
        self._heard = 0.0
        self._numbers = count(1)
        self._open: dict[int, tuple[Asking, int]] = {}
        self._plain: dict[int, asyncio.Future[Any]] = {}
        self._due: set[Asking] = set()
        self._closed = False
        self._rng = random.SystemRandom()
        self.reconnections = -1
        """How often another connection had to be made."""

    @abstractmethod
    def _answered(self, asking: Asking) -> None:
        """An open question was answered."""

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("store client")

    async def _question(self, target: Coordinate, node: str, body: Any, end: float) -> Any:
        self._check_open()
        while True:
            number = next(self._numbers)
            future = self._plain[number] = asyncio.get_running_loop().create_future()
            self._send(target, node, body, number)
            try:
                async with asyncio.timeout(1.0):
                    return await future
            except TimeoutError:
                if time.monotonic() > end:
                    what = type(body).__name__.lower()
                    raise StoreTimeout(what, self.timeout_s, "the overlay is silent") from None
            finally:
                self._plain.pop(number, None)

    def _ask(self, asking: Asking) -> None:
        """Send an open question if one is due; keep an eye on it."""
        self._due.add(asking)
        question = asking.poll(time.monotonic())
        if question is None:
            return
        number = next(self._numbers)
        self._open[number] = (asking, question.request)
        self._send(question.target, "", question.body, number)

    def _send(self, target: Coordinate, node: str, body: Any, number: int) -> None:
        if self._wire is not None:
            octets = LETTERS.encode(body)
            self._wire.send(Routed(target, node, 0, "", 0, number, False, octets))  # noqa: FBT003

    async def _run(self) -> None:
        """Keep a connection; ask again what is due."""
        while True:
            if self._wire is None or not self._wire.open:
                await self._connect()
            await asyncio.sleep(BEAT_S)
            now = time.monotonic()
            access = self._access
            if access is not None:
                if now > self._heard + SILENCE_S and self._wire is not None:
                    self._wire.close()
                elif now > self._heard + SILENCE_S / 3:
                    self._send(access.coordinate, access.name, Status(), 0)
            for asking in list(self._due):
                if now >= asking.due():
                    self._ask(asking)
            if len(self._open) > 10_000:
                self._forget_old()

    def _forget_old(self) -> None:
        self._open = {
            number: (asking, request)
            for number, (asking, request) in self._open.items()
            if asking.request == request
        }

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._access = None
        address = self._rng.choice(self._addresses)
        with contextlib.suppress(OSError, ValueError):
            host, port = parse_address(address)
            _, wire = await loop.create_connection(
                lambda: Wire(self._on_message, self._on_lost), host, port
            )
            self._wire, self._heard = wire, time.monotonic()
            wire.send(Hello())

    def _on_lost(self, wire: Wire) -> None:
        if self._wire is wire:
            self._wire = self._access = None

    def _on_message(self, wire: Wire, message: Any) -> None:
        if wire is not self._wire:
            return
        self._heard = time.monotonic()
        if isinstance(message, Welcome) and message.members:
            self._access = message.members[0]
            known = [member.address for member in message.members]
            self._addresses = list(dict.fromkeys(known + self._addresses))[:64]
            self.reconnections += 1
            for asking in list(self._due):
                asking.hurry()
                self._ask(asking)
        elif isinstance(message, Routed) and message.answer:
            self._on_answer(message)

    def _on_answer(self, letter: Routed) -> None:
        body = LETTERS.decode(letter.body)
        plain = self._plain.get(letter.request)
        if plain is not None and not plain.done():
            plain.set_result(body)
        asking, request = self._open.pop(letter.request, (None, 0))
        if asking is None or asking not in self._due:
            return
        asking.hear(request, body, time.monotonic())
        self._due.discard(asking)
        self._answered(asking)

"""The vehicles of ``evenflow up`` as mobile nodes: each has a client, all in one thread.

Clients look for a gateway in the background; what vehicles report meanwhile waits in them, and when
one has no more room whoever reports waits.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from evenflow.closing import Closing
from evenflow.mobile.client.aio import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from evenflow.fleet.vehicles import Reports
    from evenflow.mobile.client.aio import AsyncClient
    from evenflow.mobile.link.frames import Message

    OnAnswer = Callable[[str, Mapping[str, object], int], None]

LONGEST_WAIT_S: Final = 120.0
"""How long reports wait for room before that is an error."""


class Radios(Closing):
    """The clients of all vehicles.

    Args:
        vehicles: Their names.
        gateways: Addresses; half of the vehicles begin with each of two.
        topic: Where they report.
        token: Good for all of them.
        trust: The CA's certificate.
        on_answer: Called with each message to a vehicle (its name, what it says, the time now in
            microseconds), in the clients' thread.
    """

    def __init__(
        self,
        vehicles: Sequence[str],
        gateways: Sequence[str],
        topic: str,
        *,
        token: str,
        trust: Path,
        on_answer: OnAnswer,
    ) -> None:
        self._vehicles = vehicles
        self._gateways = list(gateways)
        self._topic = topic
        self._token, self._trust = token, trust
        self._on_answer = on_answer
        self._clients: dict[str, AsyncClient] = {}
        self.published = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="radios", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._connect(), self._loop).result()

    async def _connect(self) -> None:
        for number, name in enumerate(self._vehicles):
            first = number % len(self._gateways)
            self._clients[name] = await connect(
                [*self._gateways[first:], *self._gateways[:first]],
                node=name,
                token=self._token,
                trust=self._trust,
                attributes={"kind": "vehicle"},
                on_message=self._hearing(name),
                timeout_s=0.0,
            )

    def _hearing(self, name: str) -> Callable[[Message], None]:
        def hear(message: Message) -> None:
            self._on_answer(name, json.loads(message.payload), time.time_ns() // 1_000)

        return hear

    def publish(self, reports: Reports) -> None:
        """Let vehicles report; returns when their clients have the reports."""
        done = asyncio.run_coroutine_threadsafe(self._publish(reports), self._loop)
        done.result(LONGEST_WAIT_S)

    async def _publish(self, reports: Reports) -> None:
        rows = zip(reports.senders, reports.payloads, reports.times, strict=True)
        for name, payload, reported in rows:
            await self._clients[name].publish(payload, self._topic, time_us=reported)
            self.published += 1

    def attached(self) -> dict[str, int]:
        """How many vehicles are at each gateway."""
        at = Counter(one.gateway for one in list(self._clients.values()))
        return {gateway: at[gateway] for gateway in sorted(at) if gateway}

    def close(self) -> None:
        """End all clients; what is not safe is lost with them."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        closing = [one.close(0.0) for one in self._clients.values()]
        await asyncio.gather(*closing, return_exceptions=True)

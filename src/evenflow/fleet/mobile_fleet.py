"""Thousands of vehicles as mobile nodes, each a real client, in one process and one event loop.

Vehicles take turns: every few milliseconds some of them drive on and report. A report carries the
vehicle's own count (``n``), so whoever reads the topic can tell what is lost or comes twice; so do
messages to the vehicles, if their payload is a number.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.errors import EvenflowError, NodeRefused
from evenflow.fleet.reception import Reception
from evenflow.fleet.tour import MoveReceipt, Tour, TourBooks
from evenflow.fleet.vehicles import Fleet
from evenflow.mobile.client.aio import connect
from evenflow.mobile.client.events import ForgetItems, Moved, Usable
from evenflow.mobile.link.connection import Limits

if TYPE_CHECKING:
    from evenflow.mobile.client.aio import AsyncClient
    from evenflow.mobile.client.events import Action
    from evenflow.mobile.link.frames import Message

log = logging.getLogger(__name__)

TICK_S: Final = 0.01
"""About how often some vehicles report."""
ATTACH_S: Final = 600.0
"""How long a vehicle looks for its first gateway: thousands come at once."""
MOST_ITEMS: Final = 1_000
"""Reports that a vehicle keeps; then it waits, and reports late."""


@dataclass(slots=True)
class Vehicle:
    """A vehicle and its client."""

    name: str
    reception: Reception
    client: AsyncClient | None = None
    published: int = 0
    waiting: deque[float] = field(default_factory=deque)
    """When its reports were published that are not safe."""
    heard: set[int] = field(default_factory=set)
    last_heard: int = 0
    report: asyncio.Task[None] | None = None
    """A report that waits for room."""


class MobileFleet:
    """The vehicles of one process."""

    def __init__(self, tour: Tour) -> None:
        self._tour = tour
        self._random = Random(tour.seed)
        self._fleet = Fleet(tour.count, max(tour.rate_hz, 0.001), tour.seed, first=tour.first)
        limits = Limits(idle_s=tour.idle_s)
        self._vehicles = [
            Vehicle(name, Reception(tour.trust, limits)) for name in self._fleet.names
        ]
        self._news = TourBooks()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._driving: asyncio.Task[None] | None = None

    async def attach(self) -> None:
        """Let every vehicle find a gateway."""
        gate = asyncio.Semaphore(self._tour.connecting)
        await asyncio.gather(*(self._begin(self._attach(one, gate)) for one in self._vehicles))

    async def _attach(self, vehicle: Vehicle, gate: asyncio.Semaphore) -> None:
        async with gate:
            vehicle.client = await connect(
                self._tour.gateways,
                node=vehicle.name,
                token=self._tour.token,
                trust=self._tour.trust,
                most_items=MOST_ITEMS,
                attributes={"kind": "vehicle"},
                on_message=partial(self._hear, vehicle),
                timeout_s=ATTACH_S,
                dialler=vehicle.reception,
                watcher=partial(self._watch, vehicle),
            )

    # -- driving -----------------------------------------------------------------------------------

    def drive(self) -> None:
        """Begin to report."""
        if self._tour.rate_hz > 0:
            self._driving = asyncio.create_task(self._drive())

    async def park(self) -> None:
        """Report no more."""
        if self._driving is not None:
            self._driving.cancel()
            await asyncio.gather(self._driving, return_exceptions=True)

    async def _drive(self) -> None:
        period = 1 / self._tour.rate_hz
        turns = max(1, min(self._tour.count, round(period / TICK_S)))
        groups = [np.arange(turn, self._tour.count, turns) for turn in range(turns)]
        loop = asyncio.get_running_loop()
        due, turn, round_number = loop.time(), 0, 0
        while True:
            await asyncio.sleep(max(0.0, due - loop.time()))
            await self._report(groups[turn], position=self._is_position_due(round_number))
            self._roam(groups[turn], period)
            due += period / turns
            turn = (turn + 1) % turns
            round_number += turn == 0

    def _is_position_due(self, round_number: int) -> bool:
        every = max(1, round(self._tour.positions_s * self._tour.rate_hz))
        return round_number % every == 0

    async def _report(self, chosen: Any, *, position: bool) -> None:
        reports = self._fleet.report(chosen, time.time_ns() // 1_000)
        for number, payload, place in zip(
            chosen.tolist(), reports.payloads, reports.places, strict=True
        ):
            vehicle = self._vehicles[number]
            if vehicle.client is None or (vehicle.report is not None and not vehicle.report.done()):
                continue  # it still waits for room with the report before
            vehicle.published += 1
            data = b'{"n":%d,' % vehicle.published + payload[1:]
            sending = self._send(vehicle, data, place if position else None)
            if vehicle.client.kept < MOST_ITEMS:
                await sending
            else:  # it waits for room, and nobody else for it
                vehicle.report = self._begin(sending)

    async def _send(self, vehicle: Vehicle, data: bytes, place: tuple[float, float] | None) -> None:
        assert vehicle.client is not None
        began = time.monotonic()
        try:
            await vehicle.client.publish(data, self._tour.topic)
            vehicle.waiting.append(began)
            self._note_safe(vehicle)
            if place is not None:
                await vehicle.client.set_position(*place)
        except EvenflowError as error:
            vehicle.published -= 1
            if not isinstance(error, NodeRefused):
                log.warning("%s: %s", vehicle.name, error)

    def _roam(self, chosen: Any, period: float) -> None:
        """Let some of those who report drive into a dead spot, or get another address."""
        spots = self._tour.dead_spots_per_min * period / 60
        changes = self._tour.address_changes_per_min * period / 60
        if not spots and not changes:
            return
        for number in chosen.tolist():
            vehicle = self._vehicles[number]
            if self._random.random() < spots and not vehicle.reception.dark:
                self._begin(self._dead_spot(vehicle, self._tour.dead_spot_s))
            elif self._random.random() < changes:
                self._begin(self._change_address(vehicle))

    async def _dead_spot(self, vehicle: Vehicle, seconds: float) -> None:
        self._news.dead_spots += 1
        vehicle.reception.enter_dead_spot()
        await asyncio.sleep(seconds)
        vehicle.reception.leave_dead_spot()

    async def _change_address(self, vehicle: Vehicle) -> None:
        self._news.address_changes += await vehicle.reception.change_address()

    async def dead_spot(self, seconds: float) -> None:
        """Drive all vehicles into a dead spot at once, and out of it."""
        await asyncio.gather(*(self._dead_spot(one, seconds) for one in self._vehicles))

    # -- what happens to vehicles ------------------------------------------------------------------

    def _watch(self, vehicle: Vehicle, action: Action) -> None:
        news = self._news
        match action:
            case ForgetItems():
                self._note_safe(vehicle)
            case Usable(gap_s):
                news.gaps_ms.append(gap_s * 1_000)
            case Moved(_, origin, target, ok, reason, milliseconds, in_flight, gap_s):
                receipt = MoveReceipt(
                    vehicle.name, origin, target, ok, reason,
                    time.time(), milliseconds, gap_s * 1_000, in_flight,
                )  # fmt: skip
                news.moves.append(receipt)

    def _note_safe(self, vehicle: Vehicle) -> None:
        """What the client does not keep any more is safe; the oldest first."""
        now = time.monotonic()
        while vehicle.client is not None and len(vehicle.waiting) > vehicle.client.kept:
            self._news.delays_ms.append((now - vehicle.waiting.popleft()) * 1_000)

    def _hear(self, vehicle: Vehicle, message: Message) -> None:
        news = self._news
        if not message.payload.isdigit():
            return
        number = int(message.payload)
        news.repeated += number in vehicle.heard
        news.messages += number not in vehicle.heard
        news.disordered += number < vehicle.last_heard
        vehicle.heard.add(number)
        vehicle.last_heard = max(vehicle.last_heard, number)

    # -- books -------------------------------------------------------------------------------------

    def books(self) -> TourBooks:
        """What happened so far; delays, gaps and moves since the last call."""
        news, fresh = self._news, TourBooks()
        fresh.messages, fresh.repeated, fresh.disordered = (
            news.messages, news.repeated, news.disordered,
        )  # fmt: skip
        fresh.dead_spots, fresh.address_changes = news.dead_spots, news.address_changes
        self._news = fresh
        stats = [one.client.stats for one in self._vehicles if one.client is not None]
        news.vehicles = len(self._vehicles)
        news.gateways = dict(Counter(one.gateway for one in stats if one.gateway))
        news.attached = sum(news.gateways.values())
        news.published = sum(one.published for one in stats)
        news.safe = sum(one.safe for one in stats)
        news.kept = sum(one.kept for one in stats)
        news.held_up = sum(bool(one.held_up_by) for one in stats)
        news.connections = sum(one.connections for one in stats)
        news.lost = sum(one.lost for one in stats)
        news.cpu_s = time.process_time()
        return news

    async def close(self, timeout_s: float) -> None:
        """Wait until everything is safe, and end."""
        await self.park()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        clients = [one.client for one in self._vehicles if one.client is not None]
        closing = (client.close(timeout_s) for client in clients)
        await asyncio.gather(*closing, return_exceptions=True)

    async def flush(self, timeout_s: float) -> bool:
        """Wait until everything that was published is safe; whether it was in time."""
        clients = [one.client for one in self._vehicles if one.client is not None]
        done = await asyncio.gather(
            *(client.flush(timeout_s) for client in clients), return_exceptions=True
        )
        return not any(isinstance(one, BaseException) for one in done)

    def _begin(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

"""Doors and clients in one process, under virtual time: datagrams and messages go astray.

What must hold is looked at whenever a unit is on disk: the items of each client, run and topic are
accepted one after the other, by whichever door, each once. When all is quiet every item of a
client's present run is, and the client knows it.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from evenflow.testing.edge.client import SimClient
from evenflow.testing.edge.door import SimDoor
from evenflow.testing.invariants import Violation
from evenflow.testing.virtual_time import VirtualTime

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.edge.actions import Accept
    from evenflow.edge.settings import EdgeSettings
    from evenflow.model.messages import SettleAnswer, SettleRequest
    from evenflow.testing.edge.datagrams import FromClient, FromDoor
    from evenflow.testing.virtual_time import Process

QUIET_S = 60.0


class EdgeWorld:
    """Everything."""

    def __init__(
        self, seed: int, settings: EdgeSettings, *, doors: int = 3, clients: int = 3
    ) -> None:
        self.time = VirtualTime(seed)
        self.random = self.time.random
        self._links = count(1)
        self.accepted: dict[tuple[str, str, str], list[bytes]] = {}
        """By client, run and topic."""
        self.cuts: set[tuple[str, str]] = set()
        """Broken paths between doors: from whom, to whom."""
        self.doors = {
            name: SimDoor(self, name, settings)
            for name in (f"d{number}" for number in range(1, doors + 1))
        }
        for door in self.doors.values():
            door.start()
        self.clients = [SimClient(self, f"c{number}") for number in range(1, clients + 1)]

    def new_link(self) -> int:
        """A number that no link has had."""
        return next(self._links)

    def is_alive(self, door: str) -> bool:
        """Whether a door is there; nobody's word on items rests on it."""
        return self.doors[door].alive

    def slow_disk(self) -> float:
        """How long a step of the disk takes."""
        return 0.001 if self.time.calm else self.random.choice([0.001, 0.001, 0.05, 0.5])

    # -- what travels ------------------------------------------------------------------------------

    def _carry(self, do: Callable[[], None], to: Process | None = None) -> None:
        """Bring something: never, once or twice, now or much later."""
        chance = 1.0 if self.time.calm else self.random.random()
        if chance < 0.1:
            return
        for _ in range(2 if chance < 0.2 else 1):
            delay = self.time.latency() if chance > 0.3 else self.random.uniform(0.0, 3.0)
            self.time.later(delay, do, to)

    def to_client(self, name: str, datagram: FromDoor) -> None:
        """A datagram of a door."""
        client = next(one for one in self.clients if one.name == name)
        self._carry(lambda: client.on_datagram(datagram))

    def to_door_of(self, name: str, datagram: FromClient) -> None:
        """A datagram of a client; it reaches whatever process has the door's address then."""
        door = self.doors[name]

        def arrive() -> None:
            if door.alive:
                self.time.later(0.0, lambda: door.on_datagram(datagram), door)

        self._carry(arrive)

    def to_door(self, writer: str, name: str, message: SettleRequest | SettleAnswer) -> None:
        """A message of the domain; one to a process that is gone is lost."""
        if (writer, name) not in self.cuts:
            door = self.doors[name]
            self._carry(lambda: door.on_message(message), door)

    # -- what must hold ----------------------------------------------------------------------------

    def on_accepted(self, door: str, unit: Accept) -> None:
        """A unit is on disk: from now on it is delivered, whatever happens."""
        for chunk in unit.chunks:
            items = self.accepted.setdefault((chunk.client, chunk.run, unit.topic), [])
            if chunk.first != len(items) + 1:
                raise Violation(
                    f"{door} accepts item {chunk.first} of {chunk.client}, and {len(items)} are"
                    " accepted so far"
                )
            items += chunk.payloads

    def settle(self) -> None:
        """Nothing goes wrong any more; wait, and look."""
        self.time.calm = True
        self.cuts.clear()
        for door in self.doors.values():
            if door.stopped:
                self.time.go_on(door)
            if not door.alive:
                door.start()
        self.time.run(self.time.now + QUIET_S)
        for client in self.clients:
            self._check(client)
        for door in self.doors.values():
            assert door.acceptance is not None
            if door.acceptance.room.held or not door.acceptance.uplink.is_idle:
                raise Violation(f"{door.name} holds {door.acceptance.room.held} bytes")

    def _check(self, client: SimClient) -> None:
        for topic, stream in client.streams.items():
            accepted = self.accepted.get((client.name, client.run, topic), [])
            if accepted != stream.payloads or stream.safe != len(accepted):
                raise Violation(
                    f"{client.name}: of {len(stream.payloads)} items of {topic} {len(accepted)} are"
                    f" accepted, and it knows of {stream.safe}"
                )
        for (run, topic), payloads in client.former.items():
            accepted = self.accepted.get((client.name, run, topic), [])
            if accepted != payloads[: len(accepted)]:
                raise Violation(f"{client.name}: run {run} of {topic} is out of order")

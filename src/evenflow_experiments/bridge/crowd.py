"""A crowd of devices in one process: the Python client's core, and a socket for each.

Run as a program it sets all of them up, says so, publishes at a steady rate, and counts::

    python -m evenflow_experiments.bridge.crowd '{"devices": 500, "publish_s": 1.0}'

With ``bridges``, addresses of bridges, there is a session for each device at each of them: the
paper's baseline. Lines of JSON come out: ``{"served": N}`` whenever that changes, and at every line
of input the counts so far. The line ``publish`` also begins to publish, once a second, where
``publish_s`` was not given; with ``rounds`` each publishes so often. The program ends with its
input.
"""

from __future__ import annotations

import heapq
import json
import os
import selectors
import socket
import sys
import time
from collections import Counter
from typing import Any, Final

from evenflow.device.evenflow_device import (
    CONNECT,
    CREATE,
    DATA,
    HEARTBEAT,
    PUBLISHER,
    SET_TOPIC,
    SET_TYPE,
    DeviceCore,
    Entity,
)

TYPE: Final = "plant::Reading(celsius f64, number u32)"
LOOK_S: Final = 0.02
SETUP_S: Final = 0.1
READY_S: Final = 0.45
"""How often a device is given its turn, besides when something comes."""
GROUP: Final = ("239.255.76.1", 7601)
SETUP: Final = frozenset((CONNECT, CREATE, SET_TOPIC, SET_TYPE))
_NAMES: Final = {CONNECT: "connect", CREATE: "create", SET_TOPIC: "set_topic", SET_TYPE: "set_type",
                 DATA: "data", HEARTBEAT: "heartbeat"}  # fmt: skip


class Member:
    """One device."""

    def __init__(
        self, number: int, given: dict[str, Any], run: int, bridge: tuple[str, int] | None
    ) -> None:
        heartbeat = int(given.get("heartbeat_ms", 2_000))
        prefix = given.get("prefix", "device")
        direct = bridge is not None
        self.core = DeviceCore(f"{prefix}-{number}", run, heartbeat_ms=heartbeat, direct=direct)
        self.bridge = bridge or tuple(given.get("group", GROUP))
        """Where it looks for its bridge."""
        self.reading = Entity(self.core, PUBLISHER, given.get("topic", "readings"), TYPE, 1)
        self.core.entities.append(self.reading)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)  # noqa: FBT003 - so it is called
        where = socket.inet_aton(given.get("interface", "127.0.0.1"))
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, where)
        self.number = 0

    @property
    def is_ready(self) -> bool:
        """Whether it is served, and its entity is there."""
        return bool(self.core.serving) and self.core.ready == len(self.core.entities)


class Crowd:
    """All devices, their sockets and their times."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._publish_s = float(given.get("publish_s", 1.0))
        self._publishing = bool(given.get("publish_s"))
        self._rounds = int(given.get("rounds", 0))
        self._selector = selectors.DefaultSelector()
        self.sent: Counter[str] = Counter()
        self.received = 0
        self.longest_turn_s = 0.0
        """The longest time in which nobody had a turn: silence that is no bridge's fault."""
        self._started = time.monotonic()
        run = int(time.time() * 1e6)
        bridges: list[Any] = [tuple(one) for one in given.get("bridges", ())] or [None]
        self.members = [
            Member(number, given, run, bridge)
            for number in range(int(given["devices"]))
            for bridge in bridges
        ]
        spread = float(given.get("spread_s", max(1.0, len(self.members) / 1_000)))
        self._due: list[tuple[float, int]] = []
        self._publish: list[tuple[float, int]] = []
        now = time.monotonic()
        for number, member in enumerate(self.members):
            self._selector.register(member.socket, selectors.EVENT_READ, number)
            heapq.heappush(self._due, (now + spread * number / len(self.members), number))
        self._selector.register(sys.stdin, selectors.EVENT_READ, -1)

    def run(self) -> None:
        """Until the input ends."""
        served = -1
        looked = 0.0
        turned = time.monotonic()
        while True:
            for key, _ in self._selector.select(LOOK_S):
                if key.data < 0:
                    line = os.read(0, 4_096)
                    if not line:
                        return
                    if line.strip() == b"publish":
                        self._begin()
                    self._tell_counts()
                else:
                    self._receive(key.data)
            self._do_due()
            now = time.monotonic()
            self.longest_turn_s = max(self.longest_turn_s, now - turned)
            turned = now
            if now - looked >= 0.1:
                looked = now
                ready = sum(member.is_ready for member in self.members)
                if ready != served:
                    served = ready
                    _say(served=served, at=now - self._started)

    def _receive(self, number: int) -> None:
        member = self.members[number]
        was_ready = member.is_ready
        try:
            while True:
                data, source = member.socket.recvfrom(1_500)
                self.received += 1
                member.core.receive(data, source, _now_ms())
        except OSError:
            pass
        self._poll(number)
        if self._publishing and member.is_ready and not was_ready:
            self._publish_soon(number)

    def _begin(self) -> None:
        """Publish from now on."""
        self._publishing = True
        for number, member in enumerate(self.members):
            if member.is_ready:
                self._publish_soon(number)

    def _publish_soon(self, number: int) -> None:
        first = time.monotonic() + self._publish_s * (number % 1_000) / 1_000
        heapq.heappush(self._publish, (first, number))

    def _do_due(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            _, number = heapq.heappop(self._due)
            self._poll(number)
            pause = READY_S if self.members[number].is_ready else SETUP_S
            heapq.heappush(self._due, (now + pause, number))
        while self._publish and self._publish[0][0] <= now:
            due, number = heapq.heappop(self._publish)
            member = self.members[number]
            if member.is_ready:
                member.number += 1
                member.reading.publish(20.0, member.number)
                self._poll(number)
                if not self._rounds or member.number < self._rounds:
                    heapq.heappush(self._publish, (due + self._publish_s, number))

    def _poll(self, number: int) -> None:
        member = self.members[number]
        for data, target in member.core.poll(_now_ms()):
            self.sent[_NAMES.get(data[3], "other")] += 1
            try:
                member.socket.sendto(data, target or member.bridge)  # type: ignore[call-overload]
            except OSError:
                self.sent["unsent"] += 1

    def _tell_counts(self) -> None:
        bridges = Counter(member.core.bridge for member in self.members if member.is_ready)
        setup = sum(self.sent[_NAMES[kind]] for kind in SETUP)
        _say(
            sent=dict(self.sent),
            setup=setup,
            received=self.received,
            bridges=dict(bridges),
            unpublished=sum(member.number < self._rounds for member in self.members),
            longest_turn_s=round(self.longest_turn_s, 3),
        )
        self.longest_turn_s = 0.0


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _say(**what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    Crowd(json.loads(sys.argv[1])).run()

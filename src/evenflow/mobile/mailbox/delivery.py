"""Who is sent what, when, and by which gateway.

A node's queue holds, in order, the letters it is still to have. The first of them, up to
``node.sent``, are *under way* to the gateway where it is attached; at most ``node_window`` of a
node, and ``gateway_window`` of all nodes of a gateway. What is under way ends in one of these ways:

=====================================  ==========================================================
the node has it                        out of the queue; the next ones are sent
the gateway returns it, or is full     sent again there after a pause (``retry_s``, doubling)
silence                                sent again there after a pause (``repeat_s``, doubling)
the node is attached elsewhere         sent again there, at once
the gateway is gone                    waits until the node is attached, or the gateway is back
it expires                             out of the queue; what was sent after it is sent again,
                                       because it named the expired one as the one before it
=====================================  ==========================================================

Sending again is always safe: a node takes a letter only if it has the one before and not yet this
one. So nothing here has to be exact but the queue itself, and that changes by what the *node* has
noted and by expiry alone.

Letters go out by number, each once for all nodes of a gateway that are to be sent it now. Numbers
rise along every queue, so this is the order of each node too.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.mobile.mailbox.letters import Letters, MobileNode
    from evenflow.mobile.mailbox.settings import MailboxSettings


@dataclass(frozen=True, slots=True)
class Post:
    """Send a letter to nodes of a gateway."""

    gateway: str
    number: int
    nodes: tuple[str, ...]
    previous: tuple[int, ...]
    """For each node, the letter before that it is still to have; 0: none."""


@dataclass(slots=True, eq=False)
class Gateway:
    """A gateway, and what is under way to it."""

    name: str
    live: bool = False
    """Whether it was heard and is not gone."""
    nodes: dict[MobileNode, None] = field(default_factory=dict)
    """Those attached to it now. (A dict keeps the order of arrival, the same in each run.)"""
    ready: dict[MobileNode, None] = field(default_factory=dict)
    """Those that may be sent something, in order."""
    flight: int = 0
    """Letters under way, counted for each node."""
    octets: int = 0
    """Their payload, counted for each node."""


class Delivery:
    """Delivers letters to nodes by way of their gateways."""

    def __init__(self, settings: MailboxSettings, letters: Letters) -> None:
        self._settings = settings
        self._letters = letters
        self._gateways: dict[str, Gateway] = {}
        self._timers: list[tuple[float, int, MobileNode]] = []
        self._timer_count = 0
        self.repeated = 0
        """How many times something was sent again after silence."""
        self.returned = 0
        """How many times a gateway did not take what it was sent."""

    # -- where nodes and gateways are -------------------------------------------------------------

    def place(self, node: MobileNode, gateway: str) -> None:
        """A node is attached to a gateway, perhaps anew; empty: to none."""
        self._release(node)
        if node.gateway:
            self._leave(node)
        node.gateway = gateway
        node.pause = 0.0
        if gateway:
            self._gateway(gateway).nodes[node] = None
        self.queue_changed(node)

    def gateway_heard(self, name: str) -> None:
        """A gateway is there."""
        gateway = self._gateway(name)
        if not gateway.live:
            gateway.live = True
            for node in gateway.nodes:
                node.pause = 0.0
                self.queue_changed(node)

    def gateway_gone(self, name: str) -> None:
        """A gateway is not heard any more; its nodes may or may not be attached to it."""
        gateway = self._gateways.get(name)
        if gateway is None:
            return
        gateway.live = False
        gateway.ready.clear()
        for node in gateway.nodes:
            self._release(node)
        if not gateway.nodes:
            del self._gateways[name]

    # -- what becomes of letters ------------------------------------------------------------------

    def queue_changed(self, node: MobileNode) -> None:
        """There may be something new to send to a node."""
        if node.gateway and not node.resting and node.queue and node.queue[-1] > node.sent:
            gateway = self._gateways[node.gateway]
            if gateway.live:
                gateway.ready[node] = None

    def received(self, node: MobileNode, number: int, now: float) -> bool:
        """A node has everything up to a number; return whether that is news."""
        count = bisect_right(node.queue, number)
        node.had = max(node.had, number)
        if not count:
            return False
        if node.sent:
            flight = bisect_right(node.queue, node.sent)
            self._landed(node, node.queue[: min(count, flight)])
        self._letters.taken(node, count)
        node.pause = 0.0
        node.resting = False
        if not node.queue or node.queue[0] > node.sent:
            node.sent = 0
        self._set_due(node, now + self._settings.repeat_s if node.sent else inf)
        self.queue_changed(node)
        return True

    def give_back(self, node: MobileNode, gateway: str, now: float) -> None:
        """A gateway has not taken what it was sent for a node."""
        if node.gateway != gateway or not node.sent:
            return
        self.returned += 1
        self._release(node)
        self._gateways[gateway].ready.pop(node, None)
        node.resting = True
        pause = node.pause or self._settings.retry_s
        node.pause = min(2 * pause, self._settings.longest_pause_s)
        self._set_due(node, now + pause)

    def drop_expired(self, wall_us: int) -> None:
        """Take what has expired out of the queues."""
        for letter in self._letters.expired(wall_us):
            for node in letter.recipients:
                self._drop(node, letter.number, letter.octets)
            self._letters.forget(letter)

    def _drop(self, node: MobileNode, number: int, octets: int) -> None:
        place = self._letters.remove(node, number)
        if place < 0 or number > node.sent:
            return
        self._count(node, -1, -octets)
        # Those after it name it as the one before: nobody takes them any more.
        flight = bisect_right(node.queue, node.sent)
        self._landed(node, node.queue[place:flight])
        node.sent = node.queue[place - 1] if place else 0
        self.queue_changed(node)

    def tick(self, now: float) -> None:
        """Send again what is due."""
        while self._timers and self._timers[0][0] <= now:
            _, _, node = heapq.heappop(self._timers)
            node.armed = inf
            if node.due > now:
                self._set_due(node, node.due)
                continue
            node.due = inf
            if node.sent:
                self.repeated += 1
                self._release(node)
                silence = max(node.pause, self._settings.repeat_s)
                node.pause = min(2 * silence, self._settings.longest_pause_s)
            node.resting = False
            self.queue_changed(node)

    @property
    def timer(self) -> float:
        """When :meth:`tick` has something to do."""
        return self._timers[0][0] if self._timers else inf

    # -- sending ----------------------------------------------------------------------------------

    def post(self, now: float) -> list[Post]:
        """Send what may be sent now."""
        posts: list[Post] = []
        for gateway in self._gateways.values():
            if gateway.ready:
                posts.extend(self._post_to(gateway, now))
        return posts

    def _post_to(self, gateway: Gateway, now: float) -> list[Post]:
        bundles: dict[int, tuple[list[str], list[int]]] = {}
        for node in list(gateway.ready) if self._has_room(gateway) else ():
            if not self._has_room(gateway):
                break
            del gateway.ready[node]
            first = place = bisect_right(node.queue, node.sent)
            last = min(len(node.queue), self._settings.node_window)
            while place < last and self._has_room(gateway):
                number = node.queue[place]
                nodes, previous = bundles.setdefault(number, ([], []))
                nodes.append(node.name)
                previous.append(node.queue[place - 1] if place else 0)
                node.sent = number
                self._count(node, 1, self._letters[number].octets)
                place += 1
            if place < last:
                gateway.ready[node] = None
            if place > first and first == 0:
                self._set_due(node, now + max(node.pause, self._settings.repeat_s))
        return [
            Post(gateway.name, number, tuple(nodes), tuple(previous))
            for number, (nodes, previous) in sorted(bundles.items())
        ]

    def _has_room(self, gateway: Gateway) -> bool:
        return (
            gateway.flight < self._settings.gateway_window
            and gateway.octets < self._settings.gateway_octets
        )

    # -- counting ---------------------------------------------------------------------------------

    def _gateway(self, name: str) -> Gateway:
        gateway = self._gateways.get(name)
        if gateway is None:
            gateway = self._gateways[name] = Gateway(name)
        return gateway

    def _leave(self, node: MobileNode) -> None:
        gateway = self._gateways[node.gateway]
        gateway.nodes.pop(node, None)
        gateway.ready.pop(node, None)
        if not gateway.nodes and not gateway.live:
            del self._gateways[gateway.name]

    def _count(self, node: MobileNode, letters: int, octets: int) -> None:
        node.flight_octets += octets
        gateway = self._gateways[node.gateway]
        gateway.flight += letters
        gateway.octets += octets

    def _landed(self, node: MobileNode, numbers: list[int]) -> None:
        """Letters are no longer under way; they are still in the queue."""
        if numbers:
            octets = sum(self._letters[number].octets for number in numbers)
            self._count(node, -len(numbers), -octets)

    def _release(self, node: MobileNode) -> None:
        """Nothing is under way to a node any more."""
        if node.sent:
            self._count(node, -bisect_right(node.queue, node.sent), -node.flight_octets)
            node.sent = 0
        node.resting = False
        node.due = inf

    def _set_due(self, node: MobileNode, due: float) -> None:
        node.due = due
        if due < node.armed:
            node.armed = due
            self._timer_count += 1
            heapq.heappush(self._timers, (due, self._timer_count, node))

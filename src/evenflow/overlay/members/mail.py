"""Mail: envelopes written here, passed on for others, and taken in (section I-A).

An envelope has a target coordinate, and the name of a broker when it is for that one alone; then
the target is that broker's own coordinate. Forwarding is greedy: a broker hands it to the linked
neighbour that is closest to the target, if that is closer than itself; on a Delaunay triangulation
the last one is the closest of all. Distances fall strictly, so no envelope goes in circles,
whatever the links are.

A broker to which there is no link although it should be a neighbour may be reached by way of
another (`Neighbours.relays`): one step to that one, which hands it over directly or not at all.

One for a client of this broker leaves the overlay here; one for this broker itself waits in the
inbox until the event in hand is done with.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.events import Reply, Transmit
from evenflow.overlay.protocol.messages import Envelope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenflow.overlay.members.neighbours import Neighbours
    from evenflow.overlay.members.table import MemberTable
    from evenflow.overlay.protocol.events import Action
    from evenflow.overlay.protocol.settings import Counters
    from evenflow.overlay.space.coordinate import Coordinate

MOST_HOPS = 64
"""Links an envelope may take; a greedy path is far shorter."""


class RouteEnd(Enum):
    """Why an envelope does not go on."""

    ARRIVED = "arrived"
    """It is where it was to go."""
    NO_ROUTE = "no route"
    """The broker it is for is not linked yet, or dead."""


def next_hop(envelope: Envelope, members: MemberTable, links: Iterable[str]) -> str | RouteEnd:
    """Return the neighbour an envelope goes to, or why it goes to none."""
    me = members.me.name
    if envelope.node == me:
        return RouteEnd.ARRIVED
    if envelope.node in links and members.alive(envelope.node):
        return envelope.node
    if envelope.detour:
        return RouteEnd.NO_ROUTE
    mine = distance(members[me].coordinate, envelope.target), me
    best = mine
    for name in links:
        member = members.get(name)
        if member is not None and member.alive:
            best = min(best, (distance(member.coordinate, envelope.target), name))
    if best is not mine:
        return best[1] if envelope.hops > 0 else RouteEnd.NO_ROUTE
    closest = not envelope.node and members.closest(envelope.target, 1) == (me,)
    return RouteEnd.ARRIVED if closest else RouteEnd.NO_ROUTE


def distance(one: Coordinate, other: Coordinate) -> float:
    """Return the square of the distance of two coordinates."""
    return (one.x - other.x) ** 2 + (one.y - other.y) ** 2


class Mail:
    """The envelopes of one broker.

    Args:
        members: The brokers it knows.
        neighbours: Those it is linked with, and those it reaches by way of others.
        counters: Where envelopes without a route are counted.
        perform: Has the shell do something.
        clock: Returns what the broker's clock shows.
    """

    def __init__(
        self,
        members: MemberTable,
        neighbours: Neighbours,
        counters: Counters,
        perform: Callable[[Action], None],
        clock: Callable[[], int],
    ) -> None:
        self._members = members
        self._neighbours = neighbours
        self._clock = clock
        self._counters = counters
        self._perform = perform
        self.inbox: deque[Envelope] = deque()
        """Envelopes for this broker."""

    def send(self, node: str, body: Any) -> None:
        """Send a message to a broker."""
        member = self._members.get(node)
        if member is not None:
            self._send(member.coordinate, node, body)

    def send_to(self, coordinate: Coordinate, body: Any, correlation: int = 0) -> None:
        """Send a message to the broker closest to a coordinate; the reply carries the number."""
        self._send(coordinate, "", body, correlation=correlation)

    def reply(self, envelope: Envelope, body: Any) -> None:
        """Answer an envelope: to a client through its broker, or to the broker itself."""
        member = self._members.get(envelope.origin)
        if member is not None:
            self._send(
                member.coordinate, envelope.origin, body, envelope.client, envelope.correlation
            )

    def tell(self, broker: str, client: int, body: Any) -> None:
        """Send a message to a client of a broker that did not ask for it just now."""
        member = self._members.get(broker)
        if member is not None:
            self._send(member.coordinate, broker, body, client)

    def forward(self, envelope: Envelope, node: str) -> None:
        """Pass an envelope on to another broker, as it came."""
        member = self._members.get(node)
        if member is not None and envelope.hops > 0:
            hops = envelope.hops - 1
            self.route(
                replace(envelope, target=member.coordinate, node=node, hops=hops, detour=False)
            )

    def readdress(self, envelope: Envelope, body: Any) -> None:
        """Pass an envelope on to another shelf with another body; replies go to its sender."""
        if envelope.hops > 0:
            target, hops = body.shelf.coordinate, envelope.hops - 1
            encoded = BODY.encode(body)
            self.route(
                replace(envelope, target=target, node="", hops=hops, body=encoded, detour=False)
            )

    def _send(
        self, target: Coordinate, node: str, body: Any, client: int = 0, correlation: int = 0
    ) -> None:
        me = self._members.me
        encoded = BODY.encode(body)
        self.route(
            Envelope(
                target,
                node,
                MOST_HOPS,
                me.name,
                client,
                correlation,
                reply=client != 0,
                body=encoded,
                time=self._clock(),
                disk=me.disk,
            )
        )

    def route(self, envelope: Envelope) -> None:
        """Bring an envelope one step further."""
        if not envelope.node and self._neighbours.relays:
            closest = self._members.closest(envelope.target, 1)[0]
            if closest in self._neighbours.relays:
                envelope = replace(envelope, node=closest)
        hop = self._relay(envelope) or next_hop(envelope, self._members, self._neighbours.links)
        if isinstance(hop, str):
            if hop == self._neighbours.relays.get(envelope.node):
                envelope = replace(envelope, detour=True)
            self._perform(Transmit(hop, replace(envelope, hops=max(0, envelope.hops - 1))))
        elif hop is RouteEnd.NO_ROUTE:
            self._counters.lost += 1
        elif envelope.reply:
            self._perform(Reply(envelope.client, envelope))
        else:
            self.inbox.append(envelope)

    def _relay(self, envelope: Envelope) -> str:
        """Return by way of whom the broker is reached that an envelope is for; empty: directly."""
        relays, links = self._neighbours.relays, self._neighbours.links
        if not relays or envelope.detour or envelope.node in links:
            return ""
        relay = relays.get(envelope.node, "")
        return relay if relay in links and self._members.alive(envelope.node) else ""

"""The letters of a broker: written here, passed on for others, opened when they have arrived.

A letter goes greedily to its coordinate (`routing`). One for a client of this broker leaves the
overlay here; one for this broker itself waits in the inbox until the event in hand is done with.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenflow.overlay.members.mail import MOST_HOPS, Fate, next_hop
from evenflow.overlay.members.neighbours import Neighbourhood
from evenflow.overlay.protocol.events import Reply, Transmit
from evenflow.overlay.protocol.messages import LETTERS, Routed
from evenflow.overlay.protocol.settings import Counters

if TYPE_CHECKING:
    from evenflow.overlay.protocol.messages import Member
    from evenflow.overlay.protocol.settings import Settings
    from evenflow.overlay.space.coordinate import Coordinate


class Correspondence(Neighbourhood):
    """A broker that writes and passes on letters."""

    def __init__(self, me: Member, settings: Settings, now: float) -> None:
        super().__init__(me, settings, now)
        self.counters = Counters()
        self._inbox: deque[Routed] = deque()

    def tell(self, node: str, body: Any) -> None:
        """Send a letter to a broker."""
        member = self.members.get(node)
        if member is not None:
            self._post(member.coordinate, node, body)

    def mail(self, coordinate: Coordinate, body: Any, request: int = 0) -> None:
        """Send a letter to whoever is closest to a coordinate; the answer carries the number."""
        self._post(coordinate, "", body, request=request)

    def answer(self, letter: Routed, body: Any) -> None:
        """Answer a letter: to a client through its broker, or to the broker itself."""
        member = self.members.get(letter.origin)
        if member is not None:
            self._post(member.coordinate, letter.origin, body, letter.client, letter.request)

    def redirect(self, letter: Routed, node: str) -> None:
        """Send a letter on to another broker, as it came."""
        member = self.members.get(node)
        if member is not None and letter.hops > 0:
            on = replace(letter, target=member.coordinate, node=node, hops=letter.hops - 1)
            self._forward(on)

    def mail_on(self, letter: Routed, body: Any) -> None:
        """Send a letter on to another coordinate, with another body; answers go to its sender."""
        if letter.hops > 0:
            target, octets = body.shelf.coordinate, LETTERS.encode(body)
            self._forward(
                replace(letter, target=target, node="", hops=letter.hops - 1, body=octets)
            )

    def _post(
        self, target: Coordinate, node: str, body: Any, client: int = 0, request: int = 0
    ) -> None:
        me = self.members.me.name
        answer = client != 0
        octets = LETTERS.encode(body)
        self._forward(Routed(target, node, MOST_HOPS, me, client, request, answer, octets))

    def _forward(self, letter: Routed) -> None:
        hop = next_hop(letter, self.members, self.links)
        if isinstance(hop, str):
            self._outbox.append(Transmit(hop, replace(letter, hops=letter.hops - 1)))
        elif hop is Fate.LOST:
            self.counters.lost += 1
        elif letter.answer:
            self._outbox.append(Reply(letter.client, letter))
        else:
            self._inbox.append(letter)

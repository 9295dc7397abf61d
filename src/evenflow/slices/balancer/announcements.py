"""What the balancer tells everybody: the slice map when it changed, and beats.

A beat confirms the nodes' reports and names the newest version of the map. While a new balancer
still listens, its beats name a version above everything of the balancers before it: a node that
hears it obeys those no longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import Beat
from evenflow.slices.actions import Action, Send

if TYPE_CHECKING:
    from evenflow.slices.balancer.members import Members
    from evenflow.slices.balancer.owners import Owners
    from evenflow.slices.terms import Terms


class Announcements:
    """The maps and beats of one topic's balancer."""

    def __init__(
        self, topic: str, identity: int, now: float, *, beat_every: float, map_every: float
    ) -> None:
        self.version = 0
        """Version of the newest slice map."""
        self._topic, self._identity = topic, identity
        self._beat_every, self._map_every = beat_every, map_every
        self._next_beat = self._next_map = now

    def poll(
        self, now: float, owners: Owners, members: Members, terms: Terms, *, settled: bool
    ) -> list[Action]:
        """What to tell now."""
        actions: list[Action] = []
        if owners.changed or (settled and now >= self._next_map):
            self._next_map = now + self._map_every
            if owners.changed:
                self.version = terms.new()
            owners.changed = False
            actions.append(Send(owners.slice_map(self._topic, self._identity, self.version)))
            self._next_beat = now
        if now >= self._next_beat:
            self._next_beat = now + self._beat_every
            nodes = tuple(sorted(members.reports))
            numbers = tuple(members.reports[node].number for node in nodes)
            version = self.version if settled else terms.first
            actions.append(Send(Beat(self._topic, self._identity, version, nodes, numbers)))
        return actions

"""What the balancer tells everybody: the pages of the slice map that changed, and beats.

A beat confirms the nodes' reports and names the version of every page. While a new balancer still
listens, its beats name no pages, but a version above everything of the balancers before it: a node
that hears it obeys those no longer.

A page is written when it changed, once more soon after that, and then in turn with all others.
DDS delivers what is written and keeps it for late readers; the repetition is for what DDS had no
room for. The larger the map, the more seldom the turn of a page comes, so repeating is no more work
for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import Beat
from evenflow.model.slice_map import page_count
from evenflow.slices.actions import Send

if TYPE_CHECKING:
    from evenflow.slices.balancer.membership.members import Members
    from evenflow.slices.balancer.owners import Owners
    from evenflow.slices.balancer.settings import BalancerSettings
    from evenflow.slices.terms import Terms


class Announcements:
    """The map's pages and the beats of one topic's balancer."""

    def __init__(
        self, topic: str, slice_count: int, identity: int, settings: BalancerSettings, now: float
    ) -> None:
        self.version = 0
        """The newest version of any page."""
        self._topic, self._identity = topic, identity
        self._beat_every, self._map_every = settings.beat_every, settings.map_every
        self._versions = [0] * page_count(slice_count)
        self._repeat_at = [now] * page_count(slice_count)
        self._next_beat = now

    def poll(
        self, now: float, owners: Owners, members: Members, terms: Terms, *, settled: bool
    ) -> list[Send]:
        """What to tell now."""
        actions: list[Send] = []
        if owners.changed_pages:
            actions += self._tell_changes(owners, terms, now)
            self._next_beat = now
        if settled:
            actions += self._repeat(owners, now)
        if now >= self._next_beat:
            self._next_beat = now + self._beat_every
            nodes = tuple(sorted(members.reports))
            numbers = tuple(members.reports[node].number for node in nodes)
            version = self.version if settled else terms.first
            pages = tuple(self._versions) if settled else ()
            actions.append(Send(Beat(self._topic, self._identity, version, nodes, numbers, pages)))
        return actions

    def _tell_changes(self, owners: Owners, terms: Terms, now: float) -> list[Send]:
        self.version = terms.new()
        changed = sorted(owners.changed_pages)
        owners.changed_pages.clear()
        for page in changed:
            self._versions[page] = self.version
            self._repeat_at[page] = now + self._map_every
        return [self._tell(page, owners) for page in changed]

    def _repeat(self, owners: Owners, now: float) -> list[Send]:
        """The page that waits longest, when its time has come; one at a time, to spread them."""
        pages = range(len(self._repeat_at))
        page = min(pages, key=self._repeat_at.__getitem__)
        if now < self._repeat_at[page]:
            return []
        self._repeat_at[page] = now + self._map_every * len(pages)
        return [self._tell(page, owners)]

    def _tell(self, page: int, owners: Owners) -> Send:
        return Send(owners.page(self._topic, page, self._identity, self._versions[page]))

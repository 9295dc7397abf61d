"""A broker among others: its links, who is silent, who died, and who may live after all.

Links are those that the triangulation of the living has. A neighbour that gave no sign of life for
too long is dead, and the one who notices tells all. A broken link shortens the patience, for it may
be a restart. Brokers that are taken for dead are visited now and then: on a machine that was too
busy, two groups may each have taken the other for dead, and then nobody is left who would bring
them together unless somebody tries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from evenflow.overlay.members.table import Membership
from evenflow.overlay.protocol.events import Action, Connect, Disconnect, Transmit, Visit
from evenflow.overlay.protocol.messages import Heartbeat, Member, Members

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.protocol.settings import Settings


class Neighbourhood(ABC):
    """The links of one broker, and what it knows of the others."""

    def __init__(self, me: Member, settings: Settings, now: float) -> None:
        self.members = Membership(me)
        self.settings = settings
        self.now = now
        self.links: set[str] = set()
        self._heard: dict[str, float] = {}
        self._linked_at: dict[str, float] = {}
        self._asked_for: set[str] = set()
        self._outbox: list[Action] = []
        self._beat = now
        self._visit = now

    def perform(self, action: Action) -> None:
        """Have the shell do something."""
        self._outbox.append(action)

    @abstractmethod
    def doubt_all(self) -> None:
        """Others may have gone on without us: be unsure of all that we have."""

    @abstractmethod
    def members_changed(self, relink: Callable[[], None]) -> None:
        """A broker came or went; ``relink`` asks for the links that are wanted now."""

    def _stood_still(self) -> None:
        """This process was stopped: nobody is silent."""
        self._heard = dict.fromkeys(self._heard, self.now)
        self.doubt_all()

    def _on_linked(self, member: Member) -> None:
        self.links.add(member.name)
        self._linked_at[member.name] = self.now
        self._heard[member.name] = self.now
        self._outbox.append(Transmit(member.name, Members(self.members.everyone())))
        self._learn([member], "")

    def _on_unlinked(self, name: str) -> None:
        self.links.discard(name)
        # It may be a restart: a short while to come back.
        patience = self.settings.silence_s / 4
        self._heard[name] = min(
            self._heard.get(name, self.now), self.now - self.settings.silence_s + patience
        )

    def _on_heartbeat(self, link: str, beat: Heartbeat) -> None:
        if beat.digest != self.members.digest():
            self._outbox.append(Transmit(link, Members(self.members.everyone())))

    def _look_around(self) -> None:
        """Give signs of life, miss those of others, visit the dead."""
        if self.now >= self._beat:
            self._beat = self.now + self.settings.heartbeat_s
            digest = self.members.digest()
            self._outbox.extend(Transmit(link, Heartbeat(digest)) for link in sorted(self.links))
            self._part_with_strangers()
        if self.now >= self._visit:
            self._visit = self.now + self.settings.silence_s
            self._visit_the_dead()
        self._find_dead()

    def heard(self, node: str) -> bool:
        """Say whether another broker gave a sign of life just now."""
        return self.now - self._heard.get(node, float("-inf")) < self.settings.lease_s

    def _find_dead(self) -> None:
        dead = []
        for name in sorted(self.members.neighbours()):
            self._heard.setdefault(name, self.now)
            if self.now - self._heard[name] >= self.settings.silence_s:
                dead.append(replace(self.members[name], alive=False))
        if dead:
            self._learn(dead, "")

    def _visit_the_dead(self) -> None:
        """Knock at the door of one that is taken for dead."""
        dead = [member for member in self.members.everyone() if not member.alive]
        if dead:
            turn = int(self.now / self.settings.silence_s)
            self._outbox.append(Visit(dead[turn % len(dead)]))

    def _learn(self, news: list[Member] | tuple[Member, ...], source: str) -> None:
        me = self.members.me
        fresh = self.members.merge(news)
        if not fresh:
            return
        if any(member.name == me.name for member in fresh):
            # We were taken for dead, or our own name is used twice: speak up, and be unsure.
            newest = self.members[me.name].incarnation + 1
            self.members.revive(replace(me, incarnation=newest))
            fresh = [*(m for m in fresh if m.name != me.name), self.members.me]
            source = ""
            self.doubt_all()
        for member in fresh:
            if member.alive and member.name not in self.links:
                self._heard.pop(member.name, None)
        for link in sorted(self.links - {source}):
            self._outbox.append(Transmit(link, Members(tuple(fresh))))
        self.members_changed(self._relink)

    def _relink(self) -> None:
        """Ask for the links that the triangulation has, and for no others."""
        wanted = set(self.members.neighbours())
        for name in sorted(wanted - self._asked_for):
            self._heard[name] = self.now
            self._outbox.append(Connect(self.members[name]))
        for name in sorted(self._asked_for - wanted):
            self._heard.pop(name, None)
            self._outbox.append(Disconnect(name))
        self._asked_for = wanted

    def _part_with_strangers(self) -> None:
        """End links to brokers that are no neighbours: those by which one of us joined."""
        patience = 2 * self.settings.silence_s
        for name in sorted(self.links - self.members.neighbours()):
            if self.now >= self._linked_at.get(name, self.now) + patience:
                self.links.discard(name)
                self._outbox.append(Disconnect(name))

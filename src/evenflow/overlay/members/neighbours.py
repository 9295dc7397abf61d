"""A broker among others: its links, and failure detection.

Links are those that the triangulation of the living has. A neighbour that was not heard of for too
long is suspected, and the brokers that are neighbours of both are asked whether they reach it
(indirect probes, as in SWIM). If none does it is dead, and the broker that noticed tells all. If
one does, only the path is broken: mail for the other goes by way of that one, until there is a link
again. A broken link shortens the patience, for it may be a restart.

Brokers that are taken for dead are probed now and then: on a machine that was too busy, two groups
may each have taken the other for dead, and then nobody is left who would bring them together unless
somebody tries.

A broker that is stopped in good order says goodbye: it tells its neighbours of its own death, and
they pass it on. So nobody has to miss it first, and what it led is taken over at once. Like any
death it is no more than a reason to act: what counts is decided by votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenflow.overlay.protocol.events import Connect, Disconnect, Probe, Transmit
from evenflow.overlay.protocol.messages import Heartbeat, Member, Members, Reach, Reached

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenflow.overlay.members.table import MemberTable
    from evenflow.overlay.protocol.events import Action
    from evenflow.overlay.protocol.settings import Settings


class News(Enum):
    """What an event has changed among the members."""

    NOTHING = "nothing"
    CHANGED = "changed"
    """A broker came or went."""
    OWN_DEATH = "own death"
    """We were taken for dead: others may have gone on without us."""


@dataclass(slots=True)
class Suspicion:
    """A neighbour that is silent, and who has been asked about it."""

    since: float
    waiting: set[str]


class Neighbours:
    """The links of one broker.

    Args:
        members: The brokers it knows.
        settings: How long it is patient.
        perform: Has the shell do something.
        now: Monotonic seconds.
    """

    def __init__(
        self,
        members: MemberTable,
        settings: Settings,
        perform: Callable[[Action], None],
        now: float,
    ) -> None:
        self._members = members
        self._settings = settings
        self._perform = perform
        self.links: set[str] = set()
        """Brokers that there is a connection to."""
        self.relays: dict[str, str] = {}
        """Brokers that only another reaches, and which."""
        self._suspicions: dict[str, Suspicion] = {}
        self._heard: dict[str, float] = {}
        self._linked_at: dict[str, float] = {}
        self._unproven: set[str] = set()
        """Brokers that a connection was made to, and nothing has come over it yet."""
        self._wanted: set[str] = set()
        self._next_heartbeat = now
        self._next_probe = now

    # -- events ---------------------------------------------------------------------------------

    def on_linked(self, member: Member, now: float) -> News:
        """A connection is made."""
        self.links.add(member.name)
        self._linked_at[member.name] = now
        if member.name not in self._unproven:
            # One that is made again and again and brings nothing is no sign of life.
            self._unproven.add(member.name)
            self._suspicions.pop(member.name, None)
            self._heard[member.name] = now
        self._perform(Transmit(member.name, Members(self._members.everyone())))
        return self.learn([member], "")

    def on_unlinked(self, name: str, now: float) -> None:
        """A connection broke: it may be a restart, so wait a short while for it to come back."""
        self.links.discard(name)
        if name in self._unproven:
            return
        silence_s = self._settings.silence_s
        latest = now - silence_s + silence_s / 4
        self._heard[name] = min(self._heard.get(name, now), latest)

    def on_heard(self, link: str, now: float) -> None:
        """A neighbour sent something; what is read when its link is gone is no sign of life."""
        if link not in self.links:
            return
        self._heard[link] = now
        self._unproven.discard(link)
        self.relays.pop(link, None)
        self._suspicions.pop(link, None)

    def on_heartbeat(self, link: str, heartbeat: Heartbeat) -> None:
        """A neighbour's members may differ from ours: then tell it all."""
        if heartbeat.digest != self._members.digest():
            self._perform(Transmit(link, Members(self._members.everyone())))

    def on_reach(self, link: str, reach: Reach, now: float) -> None:
        """A neighbour does not hear of another: say whether we do."""
        heard = now - self._heard.get(reach.name, float("-inf")) < self._settings.lease_s
        reached = reach.name in self.links and heard and reach.name not in self._suspicions
        self._perform(Transmit(link, Reached(reach.name, reached)))

    def on_reached(self, link: str, answer: Reached, now: float) -> News:
        """A neighbour says whether it reaches one that we suspect."""
        suspicion = self._suspicions.get(answer.name)
        if suspicion is None or link not in suspicion.waiting:
            return News.NOTHING
        suspicion.waiting.discard(link)
        if answer.reached:
            del self._suspicions[answer.name]
            self.relays[answer.name] = link
            self._heard[answer.name] = now
            self._link_anew(answer.name)
            return News.NOTHING
        return self._find_dead(now)

    def on_paused(self, now: float) -> None:
        """This process was stopped for a while: nobody else was silent."""
        self._suspicions.clear()
        self._heard = dict.fromkeys(self._heard, now)

    def tick(self, now: float, time: int = 0) -> News:
        """Send heartbeats with our clock's time, probe the dead, and find out who died."""
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + self._settings.heartbeat_s
            digest = self._members.digest()
            for link in sorted(self.links):
                self._perform(Transmit(link, Heartbeat(digest, time)))
            self._close_needless_links(now)
        if now >= self._next_probe:
            self._next_probe = now + self._settings.silence_s
            self._probe_one(now)
        return self._find_dead(now)

    def learn(self, news: Sequence[Member], source: str) -> News:
        """Take news of members, and pass on what is new to all links but its source."""
        members, me = self._members, self._members.me
        fresh = members.merge(news)
        if not fresh:
            return News.NOTHING
        found = News.CHANGED
        if any(member.name == me.name for member in fresh):
            # We were taken for dead, or our own name is used twice: speak up.
            newest = members[me.name].incarnation + 1
            members.revive(replace(me, incarnation=newest))
            fresh = [*(member for member in fresh if member.name != me.name), members.me]
            source, found = "", News.OWN_DEATH
        for member in fresh:
            if member.alive and member.name not in self.links:
                self._heard.pop(member.name, None)
        for link in sorted(self.links - {source}):
            self._perform(Transmit(link, Members(tuple(fresh))))
        return found

    def goodbye(self) -> list[Transmit]:
        """Return what tells the neighbours that we leave; nothing may be said afterwards."""
        news = Members((replace(self._members.me, alive=False, left=True),))
        return [Transmit(link, news) for link in sorted(self.links)]

    def relink(self, now: float) -> None:
        """Ask for the links that the triangulation has, and for no others."""
        wanted = set(self._members.neighbours())
        for name in sorted(wanted - self._wanted):
            self._heard[name] = now
            self._perform(Connect(self._members[name]))
        for name in sorted(self._wanted - wanted):
            self._heard.pop(name, None)
            self._perform(Disconnect(name))
        self._wanted = wanted
        self._unproven &= wanted
        self.relays = {name: by for name, by in self.relays.items() if name in wanted}
        self._suspicions = {n: found for n, found in self._suspicions.items() if n in wanted}

    def _link_anew(self, name: str) -> None:
        """A link over which nothing comes is closed, and made again when that is possible."""
        if name in self.links:
            self.links.discard(name)
            self._perform(Disconnect(name))
            self._perform(Connect(self._members[name]))

    # -- what is due ----------------------------------------------------------------------------

    def _find_dead(self, now: float) -> News:
        dead = []
        for name in sorted(self._members.neighbours()):
            self._heard.setdefault(name, now)
            silent = now - self._heard[name] >= self._settings.silence_s
            if silent and self._given_up(name, now):
                dead.append(replace(self._members[name], alive=False))
        for member in dead:
            self._suspicions.pop(member.name, None)
        return self.learn(dead, "")

    def _given_up(self, name: str, now: float) -> bool:
        """Say whether nobody reaches a silent neighbour; ask, when that is open."""
        suspicion = self._suspicions.get(name)
        if suspicion is None:
            asked = (self.links & self._members.neighbours_of(name)) - {name}
            suspicion = self._suspicions[name] = Suspicion(now, set(asked))
            self.relays.pop(name, None)
            for link in sorted(asked):
                self._perform(Transmit(link, Reach(name)))
        patience = self._settings.silence_s / 2
        return not suspicion.waiting or now >= suspicion.since + patience

    def _probe_one(self, now: float) -> None:
        """Try to reach one that is taken for dead."""
        dead = [member for member in self._members.everyone() if not member.alive]
        if dead:
            turn = int(now / self._settings.silence_s)
            self._perform(Probe(dead[turn % len(dead)]))

    def _close_needless_links(self, now: float) -> None:
        """End links to brokers that are no neighbours: those by which one of us joined."""
        patience = 2 * self._settings.silence_s
        for name in sorted(self.links - self._members.neighbours()):
            if now >= self._linked_at.get(name, now) + patience:
                self.links.discard(name)
                self._perform(Disconnect(name))

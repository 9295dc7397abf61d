"""A broker without sockets, clock or disk: events in, actions out.

The shell tells the core what happened (`Linked`, `Unlinked`, `Arrived`, `Asked`, `Tick`) and does
what the core answers (`Connect`, `Disconnect`, `Transmit`, `Reply`), after the store is committed.
The core holds the members and the links (`membership`, `routing`), and for each shelf a `Keeper`:
the copy (`replica`), its clients (`serving`), and its delegation (`moving`).

A neighbour is dead when it has been silent for too long. The one who notices tells all.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenflow.errors import DecodeError, OverlayError
from evenflow.overlay.balancing import Balancing, weigh
from evenflow.overlay.events import (
    Action,
    Arrived,
    Asked,
    Connect,
    Disconnect,
    Event,
    Linked,
    Reply,
    Tick,
    Transmit,
    Unlinked,
    Visit,
)
from evenflow.overlay.keeper import Keeper
from evenflow.overlay.membership import Membership
from evenflow.overlay.messages import (
    LETTERS,
    Condition,
    Done,
    Failed,
    Fetch,
    Heartbeat,
    Inquire,
    Join,
    Known,
    Member,
    Members,
    Move,
    Offer,
    Publish,
    Routed,
    Share,
    Shelf,
    Status,
    Verdict,
    Welcome,
)
from evenflow.overlay.nursery import Nursery
from evenflow.overlay.routing import MOST_HOPS, Fate, next_hop
from evenflow.overlay.terms import State

if TYPE_CHECKING:
    from evenflow.overlay.geometry import Coordinate
    from evenflow.overlay.record import Store
    from evenflow.overlay.replica import Replica


@dataclass(frozen=True, slots=True)
class Settings:
    """How a broker behaves."""

    heartbeat_s: float = 0.25
    """Time between two signs of life on a link."""
    silence_s: float = 2.0
    """A neighbour that is silent for this long is dead."""
    lease_s: float = 1.0
    """A primary that has not heard from its secondary for this long answers no reader."""
    age_s: float = 0.0
    """Messages older than this expire; 0: never."""
    shelf_octets: int = 0
    """Payload that a shelf keeps; the oldest expire; 0: all."""
    balance_s: float = 0.0
    """How often the broker wakes to give a topic away if that makes loads more even; 0: never."""


@dataclass(slots=True)
class Counters:
    """What went wrong, counted."""

    damaged: int = 0
    """Letters that could not be read."""
    lost: int = 0
    """Letters without a way on."""
    refused: int = 0
    """Letters that clients may not send."""


class BrokerCore:
    """One broker.

    Args:
        me: Who we are.
        store: Our disk; what it has is taken up, unsure at first.
        settings: How we behave.
        now: Monotonic seconds.
        wall: Time of day in nanoseconds.
    """

    def __init__(self, me: Member, store: Store, settings: Settings, now: float, wall: int) -> None:
        self.members = Membership(me)
        self.store = store
        self.settings = settings
        self.now = now
        self.wall = wall
        self.counters = Counters()
        self.links: set[str] = set()
        self.keepers: dict[Shelf, Keeper] = {}
        self._heard: dict[str, float] = {}
        self._linked_at: dict[str, float] = {}
        self._asked_for: set[str] = set()
        self._outbox: list[Action] = []
        self._inbox: deque[Routed] = deque()
        self._buried: list[Shelf] = []
        self._beat = now
        self._visit = now
        self._sweep = now
        self.nursery = Nursery(self)
        self.balancing = Balancing(self)
        for record, committed in store.load():
            self.keepers[record.shelf] = Keeper(self, record, committed)

    # -- events ---------------------------------------------------------------------------------

    def handle(self, event: Event, now: float, wall: int) -> list[Action]:
        """Take an event; return what is to be done, in order, once the store is committed."""
        stood_still = now - self.now >= self.settings.lease_s
        self.now, self.wall = now, wall
        if stood_still:
            self._wake_up()
        match event:
            case Linked(member):
                self._on_linked(member)
            case Unlinked(name):
                self.links.discard(name)
                # It may be a restart: a short while to come back.
                patience = self.settings.silence_s / 4
                self._heard[name] = min(
                    self._heard.get(name, now), now - self.settings.silence_s + patience
                )
            case Arrived(link, message):
                self._on_arrived(link, message)
            case Asked(client, letter):
                self._on_asked(client, letter)
            case Tick():
                self._on_tick()
        self._delete_buried()
        while self._inbox:
            self._open(self._inbox.popleft())
            self._delete_buried()
        actions, self._outbox = self._outbox, []
        return actions

    def perform(self, action: Action) -> None:
        """Have the shell do something."""
        self._outbox.append(action)

    def weigh(self, replica: Replica) -> int:
        """Return the load of a topic whose current delegate a copy belongs to."""
        return weigh(replica, self.wall, self.settings.age_s, self.settings.shelf_octets)

    def bury(self, shelf: Shelf) -> None:
        """Delete a shelf when the letter in hand is done with."""
        self._buried.append(shelf)

    def _delete_buried(self) -> None:
        for shelf in self._buried:
            self.store.drop(shelf)
            del self.keepers[shelf]
        self._buried.clear()

    def _wake_up(self) -> None:
        """This process was stopped: others may have gone on without it, and nobody is silent."""
        self._heard = dict.fromkeys(self._heard, self.now)
        for keeper in self.keepers.values():
            keeper.replica.doubt()

    def _on_linked(self, member: Member) -> None:
        self.links.add(member.name)
        self._linked_at[member.name] = self.now
        self._heard[member.name] = self.now
        self._outbox.append(Transmit(member.name, Members(self.members.everyone())))
        self._learn([member], "")

    def _on_arrived(self, link: str, message: object) -> None:
        self._heard[link] = self.now
        if isinstance(message, Members):
            self._learn(message.members, link)
        elif isinstance(message, Routed):
            self._forward(message)
        elif isinstance(message, Share):
            self.balancing.on_share(link, message)
        elif not isinstance(message, Heartbeat):
            self.counters.damaged += 1
        elif message.digest != self.members.digest():
            self._outbox.append(Transmit(link, Members(self.members.everyone())))

    def _on_asked(self, client: int, letter: Routed) -> None:
        if not letter.body or letter.body[0] not in FROM_CLIENTS or letter.answer:
            self.counters.refused += 1
            return
        name = self.members.me.name
        self._forward(replace(letter, origin=name, client=client, hops=MOST_HOPS))

    def _on_tick(self) -> None:
        if self.now >= self._beat:
            self._beat = self.now + self.settings.heartbeat_s
            digest = self.members.digest()
            self._outbox.extend(Transmit(link, Heartbeat(digest)) for link in sorted(self.links))
            self._part_with_strangers()
        if self.now >= self._visit:
            self._visit = self.now + self.settings.silence_s
            self._visit_the_dead()
        self._find_dead()
        self.nursery.review()
        sweep = self.now >= self._sweep
        if sweep:
            self._sweep = self.now + 1.0
        for keeper in list(self.keepers.values()):
            keeper.review()
            if sweep:
                keeper.expire()
        self.balancing.review()

    # -- members --------------------------------------------------------------------------------

    def welcome(self) -> Welcome:
        """Return what a new client is told: this broker, then the others alive."""
        others = [m for m in self.members.everyone() if m.alive and m != self.members.me]
        return Welcome((self.members.me, *others))

    @property
    def steady(self) -> bool:
        """Whether no broker came or went lately, as far as we know."""
        return self.nursery.steady

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
        """Knock at the door of one that is taken for dead.

        On a machine that was too busy each of two groups may have taken the other for dead. Then
        nobody is left who would bring them together, unless somebody tries.
        """
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
            for keeper in self.keepers.values():
                keeper.replica.doubt()
        for member in fresh:
            if member.alive and member.name not in self.links:
                self._heard.pop(member.name, None)
        for link in sorted(self.links - {source}):
            self._outbox.append(Transmit(link, Members(tuple(fresh))))
        self.nursery.members_changed()
        self.balancing.members_changed()
        self._relink()
        for keeper in list(self.keepers.values()):
            keeper.review()

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

    # -- letters --------------------------------------------------------------------------------

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

    def _open(self, letter: Routed) -> None:
        """Read a letter that has arrived, and hand it to whom it concerns."""
        try:
            body = LETTERS.decode(letter.body)
        except DecodeError:
            self.counters.damaged += 1
            return
        try:
            self._hand_over(letter, body)
        except OverlayError:
            self.counters.damaged += 1  # each value was sound, and all together are not

    def _hand_over(self, letter: Routed, body: Any) -> None:
        if isinstance(body, Status):
            self.answer(letter, self.condition())
            return
        if isinstance(body, Offer | Verdict | Done | Failed):
            self.balancing.handle(letter, body)
            return
        shelf = getattr(body, "shelf", None)
        if not isinstance(shelf, Shelf):
            self.counters.damaged += 1
            return
        to_home = type(body) in Keeper.TO_HOME
        keeper = self.keepers.get(Shelf(shelf.topic, shelf.home) if to_home else shelf)
        if keeper is not None:
            keeper.handle(letter, body)
        elif isinstance(body, Known):
            self.nursery.on_known(letter.origin, body)
        elif isinstance(body, Inquire):
            self.answer(letter, Known(shelf, 0, ""))
        else:
            self.nursery.handle(letter, body)

    def condition(self) -> Condition:
        """Return how this broker is."""
        replicas = [keeper.replica for keeper in self.keepers.values()]
        name = self.members.me.name
        following = sum(r.state is State.FOLLOWING and name in r.wanted() for r in replicas)
        settled = sum(replica.settled for replica in replicas)
        return Condition(
            name,
            len(self.members.living),
            len(self.links),
            len(replicas),
            sum(replica.leading for replica in replicas),
            settled,
            len(replicas) - settled - following,
            sum(self.store.octets(replica.shelf) for replica in replicas),
            self.balancing.load,
        )


FROM_CLIENTS = frozenset(LETTERS.kinds.index(kind) for kind in (Join, Publish, Fetch, Move, Status))
"""Types of letters that a client may send."""

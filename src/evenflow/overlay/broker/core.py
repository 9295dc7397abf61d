"""A broker without sockets, clock or disk: events in, actions out.

The shell tells the core what happened (`Linked`, `Unlinked`, `Arrived`, `Asked`, `Tick`) and does
what the core answers (`Connect`, `Disconnect`, `Transmit`, `Reply`), after the store is committed.
It is a broker among others (`neighbours`) that writes and passes on letters (`letters`),
and has for each shelf a `Keeper`: the copy (`replica`), its clients (`serving`), and its delegation
(`moving`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenflow.errors import DecodeError, OverlayError
from evenflow.overlay.balancing.exchange import Balancing
from evenflow.overlay.balancing.shares import weigh
from evenflow.overlay.members.letters import Correspondence
from evenflow.overlay.members.mail import MOST_HOPS
from evenflow.overlay.protocol.events import Action, Arrived, Asked, Event, Linked, Tick, Unlinked
from evenflow.overlay.protocol.messages import (
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
from evenflow.overlay.replica.states import State
from evenflow.overlay.shelf.creation import Nursery
from evenflow.overlay.shelf.shelf import Keeper

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.protocol.settings import Settings
    from evenflow.overlay.replica.record import Store
    from evenflow.overlay.replica.replica import Replica


class BrokerCore(Correspondence):
    """One broker.

    Args:
        me: Who we are.
        store: Our disk; what it has is taken up, unsure at first.
        settings: How we behave.
        now: Monotonic seconds.
        wall: Time of day in nanoseconds.
    """

    def __init__(self, me: Member, store: Store, settings: Settings, now: float, wall: int) -> None:
        super().__init__(me, settings, now)
        self.store = store
        self.wall = wall
        self.keepers: dict[Shelf, Keeper] = {}
        self._buried: list[Shelf] = []
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
            self._stood_still()
        match event:
            case Linked(member):
                self._on_linked(member)
            case Unlinked(name):
                self._on_unlinked(name)
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

    def doubt_all(self) -> None:
        """Others may have gone on without us: be unsure of all that we have."""
        for keeper in self.keepers.values():
            keeper.replica.doubt()

    def members_changed(self, relink: Callable[[], None]) -> None:
        """A broker came or went: look again at everything."""
        self.nursery.members_changed()
        self.balancing.members_changed()
        relink()
        for keeper in list(self.keepers.values()):
            keeper.review()

    def _on_arrived(self, link: str, message: object) -> None:
        self._heard[link] = self.now
        if isinstance(message, Members):
            self._learn(message.members, link)
        elif isinstance(message, Routed):
            self._forward(message)
        elif isinstance(message, Share):
            self.balancing.on_share(link, message)
        elif isinstance(message, Heartbeat):
            self._on_heartbeat(link, message)
        else:
            self.counters.damaged += 1

    def _on_asked(self, client: int, letter: Routed) -> None:
        if not letter.body or letter.body[0] not in FROM_CLIENTS or letter.answer:
            self.counters.refused += 1
            return
        name = self.members.me.name
        self._forward(replace(letter, origin=name, client=client, hops=MOST_HOPS))

    def _on_tick(self) -> None:
        self._look_around()
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

    # -- letters --------------------------------------------------------------------------------

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

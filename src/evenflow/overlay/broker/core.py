"""A broker without sockets, clock or disk: events in, actions out.

The shell reports what happened (`Linked`, `Unlinked`, `Arrived`, `Asked`, `Tick`) and performs what
the core returns (`Connect`, `Disconnect`, `Transmit`, `Reply`, ...), once the store is committed.
The core is put together from the parts of a broker: the table of members, its links (`Neighbours`),
its envelopes (`Mail`), a `Shelf` for each topic at a coordinate, the creation of new ones, and
balancing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from evenflow.errors import DecodeError, OverlayError
from evenflow.overlay.balancing.exchange import TopicExchange
from evenflow.overlay.members.mail import MOST_HOPS, Mail
from evenflow.overlay.members.neighbours import Neighbours, News
from evenflow.overlay.members.table import MemberTable
from evenflow.overlay.protocol.codec import BODY, REQUESTS
from evenflow.overlay.protocol.events import Action, Arrived, Asked, Event, Linked, Tick, Unlinked
from evenflow.overlay.protocol.messages import (
    AskStatus,
    BrokerStatus,
    Envelope,
    Failed,
    Heartbeat,
    Inquire,
    Known,
    Member,
    Members,
    MoveDone,
    Offer,
    OfferReply,
    Share,
    ShelfId,
    Welcome,
)
from evenflow.overlay.protocol.settings import Counters
from evenflow.overlay.replica.states import State
from evenflow.overlay.shelf.creation import ShelfCreation
from evenflow.overlay.shelf.shelf import Shelf

if TYPE_CHECKING:
    from evenflow.overlay.ports import Store
    from evenflow.overlay.protocol.settings import Settings

EXPIRE_S = 1.0
"""How often shelves delete what is too old or too much."""


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
        self.store = store
        self.settings = settings
        self.now = now
        self.wall = wall
        self.counters = Counters()
        self._actions: list[Action] = []
        self.members = MemberTable(me)
        self.neighbours = Neighbours(self.members, settings, self.perform, now)
        self.mail = Mail(self.members, self.neighbours.links, self.counters, self.perform)
        self.shelves: dict[ShelfId, Shelf] = {}
        self._to_delete: list[ShelfId] = []
        self._next_expiry = now
        self.creation = ShelfCreation(self, self.shelves)
        self.exchange = TopicExchange(self, self.shelves)
        for record, committed in store.load():
            self.shelves[record.shelf] = Shelf(self, record, committed)

    # -- what the parts need --------------------------------------------------------------------

    def perform(self, action: Action) -> None:
        """Have the shell do something."""
        self._actions.append(action)

    @property
    def steady(self) -> bool:
        """Whether no broker came or went lately, as far as we know."""
        return self.creation.steady

    def in_touch(self, node: str) -> bool:
        """Say whether another broker gave a sign of life within the lease."""
        return self.neighbours.in_touch(node, self.now)

    def delete_later(self, shelf: ShelfId) -> None:
        """Delete a shelf when the event in hand is done with."""
        self._to_delete.append(shelf)

    # -- events ---------------------------------------------------------------------------------

    def handle(self, event: Event, now: float, wall: int) -> list[Action]:
        """Take an event; return what is to be done, in order, once the store is committed."""
        paused = now - self.now >= self.settings.lease_s
        self.now, self.wall = now, wall
        if paused:
            self.neighbours.on_paused(now)
            self._doubt_all()
        match event:
            case Linked(member):
                self._on_news(self.neighbours.on_linked(member, now))
            case Unlinked(name):
                self.neighbours.on_unlinked(name, now)
            case Arrived(link, message):
                self._on_arrived(link, message)
            case Asked(client, envelope):
                self._on_asked(client, envelope)
            case Tick():
                self._on_tick()
        self._delete_shelves()
        while self.mail.inbox:
            self._open(self.mail.inbox.popleft())
            self._delete_shelves()
        actions, self._actions = self._actions, []
        return actions

    def _on_arrived(self, link: str, message: object) -> None:
        self.neighbours.on_heard(link, self.now)
        if isinstance(message, Members):
            self._on_news(self.neighbours.learn(message.members, link))
        elif isinstance(message, Envelope):
            self.mail.route(message)
        elif isinstance(message, Share):
            self.exchange.on_share(link, message)
        elif isinstance(message, Heartbeat):
            self.neighbours.on_heartbeat(link, message)
        else:
            self.counters.damaged += 1

    def _on_asked(self, client: int, envelope: Envelope) -> None:
        """Take a client's request into the overlay, if it is one."""
        try:
            REQUESTS.decode(envelope.body)
        except DecodeError:
            self.counters.refused += 1
            return
        if envelope.reply:
            self.counters.refused += 1
            return
        me = self.members.me.name
        self.mail.route(replace(envelope, origin=me, client=client, hops=MOST_HOPS))

    def _on_tick(self) -> None:
        self._on_news(self.neighbours.tick(self.now))
        self.creation.review()
        expiry = self.now >= self._next_expiry
        if expiry:
            self._next_expiry = self.now + EXPIRE_S
        for shelf in list(self.shelves.values()):
            shelf.review()
            if expiry:
                shelf.expire()
        self.exchange.review()

    def _on_news(self, news: News) -> None:
        """A broker came or went, perhaps: look again at everything."""
        if news is News.NOTHING:
            return
        if news is News.OWN_DEATH:
            self._doubt_all()
        self.creation.on_members_changed()
        self.exchange.on_members_changed()
        self.neighbours.relink(self.now)
        for shelf in list(self.shelves.values()):
            shelf.review()

    def _doubt_all(self) -> None:
        """Others may have gone on without us: be unsure of all that we have."""
        for shelf in self.shelves.values():
            shelf.replica.doubt()

    def _delete_shelves(self) -> None:
        for shelf in self._to_delete:
            self.store.drop(shelf)
            del self.shelves[shelf]
        self._to_delete.clear()

    # -- messages for this broker ---------------------------------------------------------------

    def _open(self, envelope: Envelope) -> None:
        """Read an envelope that has arrived, and hand its message to the part it concerns."""
        try:
            self._dispatch(envelope, BODY.decode(envelope.body))
        except (DecodeError, OverlayError):  # the latter: each value was sound, and all are not
            self.counters.damaged += 1

    def _dispatch(self, envelope: Envelope, body: Any) -> None:
        if isinstance(body, AskStatus):
            self.mail.reply(envelope, self.status())
            return
        if isinstance(body, Offer | OfferReply | MoveDone | Failed):
            self.exchange.handle(envelope, body)
            return
        shelf_id = getattr(body, "shelf", None)
        if not isinstance(shelf_id, ShelfId):
            self.counters.damaged += 1
            return
        to_home = type(body) in Shelf.TO_HOME
        shelf = self.shelves.get(ShelfId(shelf_id.topic, shelf_id.home) if to_home else shelf_id)
        if shelf is not None:
            shelf.handle(envelope, body)
        elif isinstance(body, Known):
            self.creation.on_known(envelope.origin, body)
        elif isinstance(body, Inquire):
            self.mail.reply(envelope, Known(shelf_id, 0, ""))
        else:
            self.creation.handle(envelope, body)

    # -- what others are told -------------------------------------------------------------------

    def welcome(self) -> Welcome:
        """Return what a new client is told: this broker, then the others alive."""
        others = [m for m in self.members.everyone() if m.alive and m != self.members.me]
        return Welcome((self.members.me, *others))

    def status(self) -> BrokerStatus:
        """Return what this broker holds and knows."""
        me = self.members.me.name
        replicas = [shelf.replica for shelf in self.shelves.values()]
        copies = [replica.copy for replica in replicas]
        following = sum(c.state is State.FOLLOWING and me in c.wanted() for c in copies)
        settled = sum(replica.settled for replica in replicas)
        return BrokerStatus(
            name=me,
            members=len(self.members.living),
            links=len(self.neighbours.links),
            shelves=len(copies),
            leading=sum(copy.leading for copy in copies),
            settled=settled,
            unsettled=len(copies) - settled - following,
            stored_bytes=sum(self.store.size(copy.shelf) for copy in copies),
            load=self.exchange.load,
            damaged=self.counters.damaged,
            lost=self.counters.lost,
            refused=self.counters.refused,
        )

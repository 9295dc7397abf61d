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
from evenflow.overlay.broker.agenda import Agenda
from evenflow.overlay.broker.expiry import Expiry
from evenflow.overlay.broker.saved_members import SavedMembers
from evenflow.overlay.broker.status import status_of
from evenflow.overlay.members.clock import HybridClock
from evenflow.overlay.members.mail import MOST_HOPS, Mail
from evenflow.overlay.members.neighbours import Neighbours, News
from evenflow.overlay.members.table import MemberTable
from evenflow.overlay.protocol.codec import BODY, REQUESTS
from evenflow.overlay.protocol.events import Action, Arrived, Asked, Event, Linked, Tick, Unlinked
from evenflow.overlay.protocol.magnitudes import sound
from evenflow.overlay.protocol.messages import (
    Agreed,
    AskConfig,
    AskPlace,
    AskStatus,
    Decided,
    Envelope,
    Failed,
    Heartbeat,
    LoadReport,
    Member,
    Members,
    MoveDone,
    Offer,
    OfferReply,
    Outbid,
    PlaceIs,
    Prepare,
    Promise,
    Propose,
    Reach,
    Reached,
    Share,
    ShelfId,
    Waiting,
    Welcome,
)
from evenflow.overlay.protocol.settings import Counters
from evenflow.overlay.replica.votes import LOWEST, Votes
from evenflow.overlay.shelf.creation import ShelfCreation
from evenflow.overlay.shelf.shelf import Shelf

if TYPE_CHECKING:
    from evenflow.overlay.ports import Store
    from evenflow.overlay.protocol.messages import BrokerStatus
    from evenflow.overlay.protocol.settings import Settings

MOST_YOUNGER = 1 << 40
"""Milliseconds by which an incarnation may be later than our clock."""


class BrokerCore:
    """One broker.

    Args:
        me: Who we are.
        store: Our disk; what it has is taken up, unsure at first.
        settings: How we behave.
        now: Monotonic seconds.
        wall: Time of day in nanoseconds.
        first: Whether we may be the first broker; one that was told of others waits for them before
            it makes a topic.
    """

    def __init__(
        self,
        me: Member,
        store: Store,
        settings: Settings,
        now: float,
        wall: int,
        *,
        first: bool = True,
    ) -> None:
        self.store = store
        self.settings = settings
        self.now = now
        self.clock = HybridClock(wall)
        self.counters = Counters()
        self._actions: list[Action] = []
        self._saved = SavedMembers(store)
        self.joined = first
        self.members = MemberTable(self._saved.reborn(me))
        self.members.merge(self._saved.of_earlier_life())
        self.votes = Votes(store, self.clock.plausible)
        self.neighbours = Neighbours(self.members, settings, self.perform, now)
        self.mail = Mail(
            self.members, self.neighbours, self.counters, self.perform, lambda: self.wall
        )
        self.shelves: dict[ShelfId, Shelf] = {}
        self._agenda = Agenda()
        self._to_delete: list[ShelfId] = []
        self._expiry = Expiry(settings, now)
        self.creation = ShelfCreation(self, self.shelves)
        self.exchange = TopicExchange(self, self.shelves)
        for record, committed in store.load():
            self.shelves[record.shelf] = Shelf(self, record, committed)
        self._saved.save(self.members.everyone(), now)

    # -- what the parts need --------------------------------------------------------------------

    def perform(self, action: Action) -> None:
        """Have the shell do something."""
        self._actions.append(action)

    @property
    def steady(self) -> bool:
        """Whether no broker came or went lately, as far as we know."""
        return self.creation.steady

    @property
    def wall(self) -> int:
        """What our clock shows, in nanoseconds."""
        return self.clock.time

    def delete_later(self, shelf: ShelfId) -> None:
        """Delete a shelf when the event in hand is done with."""
        self._to_delete.append(shelf)

    # -- events ---------------------------------------------------------------------------------

    def handle(self, event: Event, now: float, wall: int) -> list[Action]:
        """Take an event; return what is to be done, in order, once the store is committed."""
        paused = now - self.now >= self.settings.lease_s
        self.now = now
        self.clock.advance(now, wall)
        if paused:
            self.neighbours.on_paused(now)
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
            self._on_news(self.neighbours.learn(self._true(message.members), link))
        elif isinstance(message, Envelope):
            self._follow(message.origin, message.time)
            self.mail.route(message)
        elif isinstance(message, Share):
            if sound(message, self.wall):
                self.exchange.on_share(link, message)
            else:
                self.counters.damaged += 1
        elif isinstance(message, Heartbeat):
            self._follow(link, message.time)
            self.neighbours.on_heartbeat(link, message)
        elif isinstance(message, Reach):
            self.neighbours.on_reach(link, message, self.now)
        elif isinstance(message, Reached):
            self._on_news(self.neighbours.on_reached(link, message, self.now))
        else:
            self.counters.damaged += 1

    def _follow(self, name: str, time: int) -> None:
        if name != self.members.me.name and not self.clock.follow(name, time):
            self.counters.skewed += 1

    def _true(self, news: tuple[Member, ...]) -> list[Member]:
        """Return the news whose incarnation can be true; it is a time in milliseconds, or less."""
        latest = self.wall // 1_000_000 + MOST_YOUNGER
        found = [member for member in news if member.incarnation <= latest]
        self.counters.damaged += len(found) < len(news)
        return found

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
        me = self.members.me
        self.mail.route(
            replace(
                envelope, origin=me.name, client=client, hops=MOST_HOPS, time=self.wall,
                detour=False, disk=me.disk,
            )
        )  # fmt: skip

    def _on_tick(self) -> None:
        self._on_news(self.neighbours.tick(self.now, self.wall))
        self.creation.review()
        self._tell_topics(self._saved.take_untold(self.now))
        if self._expiry.take_due(self.now):
            for shelf_id, shelf in list(self.shelves.items()):
                if shelf.expire():
                    self._agenda.hasten(shelf_id, self.now)
        if len(self._agenda) < len(self.shelves):
            self._agenda.add_all(self.shelves, self.now)
        for shelf_id in self._agenda.take_due(self.now):
            self._review(shelf_id)
        self.exchange.review()

    def _review(self, shelf_id: ShelfId) -> None:
        """Let a shelf do what is due, and note when it is due again."""
        shelf = self.shelves[shelf_id]
        shelf.review()
        self._agenda.set(shelf_id, shelf.due())

    def _on_news(self, news: News) -> None:
        """A broker came or went, perhaps: look again at everything."""
        if news is News.NOTHING:
            return
        self.joined = True
        self._tell_topics(self._saved.save(self.members.everyone(), self.now))
        self.creation.on_members_changed()
        self.exchange.on_members_changed()
        self.neighbours.relink(self.now)
        for shelf_id, shelf in list(self.shelves.items()):
            shelf.on_members_changed()
            self._agenda.set(shelf_id, self.now)

    def _tell_topics(self, names: list[str]) -> None:
        """Tell brokers that may not know of our topics: they would say that those are new."""
        others = [name for name in names if name != self.members.me.name]
        for shelf_id, shelf in self.shelves.items() if others else ():
            if shelf_id.at_home and shelf.replica.copy.leading:
                for name in others:
                    self.mail.send(name, Decided(shelf_id, shelf.replica.copy.config))

    def _delete_shelves(self) -> None:
        for shelf in self._to_delete:
            self.store.drop(shelf)
            del self.shelves[shelf]
            self._agenda.drop(shelf)
        self._to_delete.clear()

    # -- messages for this broker ---------------------------------------------------------------

    def _open(self, envelope: Envelope) -> None:
        """Read an envelope that has arrived, and hand its message to the part it concerns.

        What a broker said before it lost its disk, or says from one that we do not know of yet, is
        dropped: whoever counts its answers knows from which disk they are.
        """
        sender = self.members.get(envelope.origin)
        if sender is not None and sender.disk != envelope.disk:
            return
        try:
            self._dispatch(envelope, BODY.decode(envelope.body))
        except (DecodeError, OverlayError):  # the latter: each value was sound, and all are not
            self.counters.damaged += 1

    def _dispatch(self, envelope: Envelope, body: Any) -> None:
        if not sound(body, self.wall):
            self.counters.damaged += 1
            return
        if isinstance(body, AskStatus):
            self.mail.reply(envelope, self.status() if envelope.correlation else Waiting(""))
            return
        if isinstance(body, Offer | OfferReply | MoveDone | Failed):
            self.exchange.handle(envelope, body)
            return
        if isinstance(body, LoadReport | AskPlace | PlaceIs):
            self.exchange.on_told(envelope, body)
            return
        shelf_id = getattr(body, "shelf", None)
        if not isinstance(shelf_id, ShelfId) or not self._sound(shelf_id, body):
            self.counters.damaged += 1
            return
        if isinstance(body, Prepare | Propose | AskConfig | Promise | Agreed | Outbid):
            self._agree(envelope.origin, shelf_id, body)
            return
        to_home = type(body) in Shelf.TO_HOME
        at = ShelfId(shelf_id.topic, shelf_id.home) if to_home else shelf_id
        shelf = self.shelves.get(at)
        if shelf is not None:
            shelf.handle(envelope, body)
            self._agenda.hasten(at, self.now)
        elif isinstance(body, Decided):
            self.creation.on_decided(shelf_id, body.config)
        else:
            self.creation.handle(envelope, body)

    def _sound(self, shelf: ShelfId, body: Any) -> bool:
        """Say whether the numbers of a message can be true."""
        ballot = getattr(body, "ballot", LOWEST)
        configs = (getattr(body, "config", None), getattr(body, "base", None))
        return all(
            self.votes.sound(shelf, config, ballot) for config in configs if config is not None
        )

    def _agree(self, sender: str, shelf_id: ShelfId, body: Any) -> None:
        """Vote, or take the vote of another."""
        shelf = self.shelves.get(shelf_id)
        answer: Any = None
        if isinstance(body, Prepare):
            answer = self.votes.on_prepare(body)
        elif isinstance(body, Propose):
            answer = self.votes.on_propose(body)
        elif isinstance(body, AskConfig):
            known = self.votes.known(shelf_id)
            if known is not None and (known.age > body.config.age or known.ended):
                answer = Decided(shelf_id, known)
        elif shelf is not None:
            shelf.replica.proposer.handle(sender, body)
            self._agenda.hasten(shelf_id, self.now)
        else:
            self.creation.on_answer(sender, shelf_id, body)
        if answer is not None:
            self.mail.send(sender, answer)

    # -- what others are told -------------------------------------------------------------------

    def welcome(self) -> Welcome:
        """Return what a new client is told: this broker, then the others alive."""
        others = [m for m in self.members.everyone() if m.alive and m != self.members.me]
        return Welcome((self.members.me, *others))

    def status(self) -> BrokerStatus:
        """Return what this broker holds and knows."""
        return status_of(self)

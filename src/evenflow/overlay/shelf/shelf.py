"""All that a broker does for one shelf: its copy, its clients, its delegation.

`handle` is a table from messages to the part that they concern. A secondary forwards to its primary
what only a primary can answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from evenflow.overlay.protocol.messages import (
    Adopt,
    Adopted,
    AskList,
    Check,
    Decided,
    Dismissed,
    Emptied,
    Fetch,
    Freeze,
    Frozen,
    HandedOn,
    HandOn,
    Join,
    Keep,
    Kept,
    Lead,
    ListIs,
    MoveTopic,
    Publish,
    Pull,
    Pulled,
    Refused,
    Relieve,
    Replicate,
    Replicated,
    ShelfId,
    Shifted,
    Subscribe,
    Sync,
    Synced,
    Taken,
    Trim,
    Unsubscribe,
    Waiting,
)
from evenflow.overlay.replica.copy import REPEATED_NS
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.shelf.clients import ClientRequest, Clients
from evenflow.overlay.shelf.delegate import Delegate
from evenflow.overlay.shelf.home import Home
from evenflow.overlay.shelf.shifting import Inheriting, Shifting
from evenflow.overlay.shelf.waiting import WaitingRequests

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.ports import ShelfHost
    from evenflow.overlay.protocol.messages import Envelope
    from evenflow.overlay.replica.record import Record

MOST_POSTPONED = 1024
"""Messages kept until a copy leads or follows; more are dropped, and their senders repeat them."""


NEVER = float("inf")


class Shelf:
    """One shelf at one broker."""

    TO_HOME: ClassVar[frozenset[type]] = frozenset({Frozen, Adopted, AskList, Emptied, Shifted})
    """Messages about a delegate's shelf that the home shelf handles."""

    FOR_PRIMARY: ClassVar[frozenset[type]] = frozenset(
        {
            Join, Publish, Fetch, Subscribe, Taken, Unsubscribe, MoveTopic, Relieve, Freeze, Adopt,
            AskList, ListIs, Frozen, Adopted, Emptied, HandOn, HandedOn, Shifted, Trim,
        }
    )  # fmt: skip

    def __init__(self, host: ShelfHost, record: Record, committed: int) -> None:
        self._host = host
        self._ready = False
        self._busy = False
        self._deleted = False
        self._postponed: WaitingRequests[tuple[Envelope, Any]] = WaitingRequests(MOST_POSTPONED)
        """Messages that came before this copy led or followed."""
        self.replica = Replica(host, record, committed, self._progress)
        self.clients = Clients(self.replica, host)
        self.delegate = Delegate(self.replica, host)
        self.shifting = Shifting(self.replica, host)
        self.inheriting = Inheriting(self.replica, host)
        self.home = Home(self.replica, host) if record.shelf.at_home else None
        self._ready = True

    def _progress(self) -> None:
        # A step forward may bring the next, which calls back here: once around is enough.
        if not self._ready or self._busy or self._deleted:
            return
        self._busy = True
        try:
            if self.home is not None:
                self.home.progress()
            self.delegate.progress()
            self.clients.progress()
            self.shifting.progress()
            self.inheriting.progress()
        finally:
            self._busy = False
        if self._postponed and self._reachable:
            for envelope, body in self._postponed.take_all():
                self.handle(envelope, body)

    @property
    def _reachable(self) -> bool:
        """Whether there is a primary, here or elsewhere."""
        copy = self.replica.copy
        elsewhere = copy.config.primary != copy.me
        return copy.leading or (elsewhere and self._host.members.alive(copy.config.primary))

    def review(self) -> None:
        """Do what is due."""
        self.replica.review()
        self._progress()

    def on_members_changed(self) -> None:
        """A broker came or went."""
        self.replica.checking.on_members_changed()
        self.review()

    def due(self) -> float:
        """Return when to review it again, if nothing happens before; right after a review."""
        if self._deleted:
            return NEVER
        parts = (self.replica, self.clients, self.delegate, self.shifting, self.inheriting)
        due = min(part.due() for part in parts)
        return due if self.home is None else min(due, self.home.due())

    def expire(self) -> bool:
        """Delete what is too old or too much; return whether there was something."""
        copy, settings, store = self.replica.copy, self._host.settings, self._host.store
        if not copy.leading:
            return False
        floor = copy.label.floor
        if settings.age_s:
            floor = max(floor, self._host.wall - int(settings.age_s * 1e9))
        if settings.shelf_bytes and store.size(copy.shelf) > settings.shelf_bytes:
            floor = max(floor, store.cut(copy.shelf, settings.shelf_bytes))
        return self._expire_before(floor)

    def _expire_before(self, floor: int) -> bool:
        copy, replication, store = self.replica.copy, self.replica.replication, self._host.store
        if floor <= copy.label.floor or not replication.label_kept:
            return False
        floor = min(floor, copy.committed + 1)
        past = not copy.delegated_here
        if floor > copy.label.floor and (past or store.read(copy.shelf, 0, floor, 1)):
            replication.expire(floor)
            return True
        return False

    def _on_trim(self, envelope: Envelope, trim: Trim) -> None:
        """Delete what a client says nobody needs; home tells the delegates, past ones too."""
        shelf, delegates = self.replica.copy.shelf, self.replica.copy.label.delegates
        if self.home is not None:
            for place in {entry.coordinate for entry in delegates.entries} - {shelf.home}:
                self._host.mail.readdress(envelope, Trim(ShelfId(shelf.topic, place), trim.before))
        self._expire_before(min(trim.before, self._host.wall - REPEATED_NS))

    def handle(self, envelope: Envelope, body: Any) -> None:
        """Hand a message to the part that it concerns."""
        copy = self.replica.copy
        if self._deleted:
            return
        if type(body) in self.FOR_PRIMARY and not copy.leading:
            self._pass_on(envelope, body)
            return
        if isinstance(body, ClientRequest):
            self._serve(envelope, body)
            return
        if type(body) in self.TO_HOME and self.home is None:
            return
        handler = self._handlers(envelope).get(type(body))
        if handler is not None:
            handler(body)
        self._progress()

    def _pass_on(self, envelope: Envelope, body: Any) -> None:
        """Bring what is for the primary there, or keep it until there is one."""
        mail = self._host.mail
        if self._reachable:
            mail.forward(envelope, self.replica.copy.config.primary)
            return
        if envelope.client:
            mail.reply(envelope, Waiting(self.replica.waiting))
        self._postponed.add(envelope, body, (envelope, body))

    def _serve(self, envelope: Envelope, body: ClientRequest) -> None:
        copy = self.replica.copy
        if isinstance(body, Join) and self.home is not None and not copy.delegated_here:
            # Home sends clients that join on to the delegate.
            delegate = ShelfId(copy.shelf.topic, copy.label.delegates.current)
            self._host.mail.readdress(envelope, Join(delegate, 0))
            return
        self.clients.handle(envelope, body)

    def _handlers(self, envelope: Envelope) -> dict[type, Callable[[Any], object]]:
        replica, delegate, home, sender = self.replica, self.delegate, self.home, envelope.origin
        handlers: dict[type, Callable[[Any], object]] = {
            Sync: lambda body: replica.on_sync(sender, body),
            Synced: lambda body: replica.on_synced(sender, body),
            Refused: lambda _: replica.on_refused(sender),
            Replicate: lambda body: replica.replication.on_replicate(sender, body),
            Replicated: lambda body: replica.replication.on_replicated(sender, body),
            Pull: lambda body: replica.catch_up.on_pull(sender, body),
            Pulled: lambda body: replica.catch_up.on_pulled(sender, body),
            Lead: lambda body: replica.on_lead(sender, body),
            Check: lambda body: replica.on_check(sender, body),
            Decided: self._on_decided,
            Dismissed: lambda body: self._on_dismissed(sender, body),
            Freeze: lambda body: delegate.on_freeze(envelope, body),
            Adopt: lambda body: delegate.on_adopt(envelope, body),
            ListIs: self._on_list,
            HandOn: lambda body: self.inheriting.on_hand_on(envelope, body),
            HandedOn: self.shifting.on_handed_on,
            Keep: lambda body: self.inheriting.on_keep(sender, body),
            Kept: lambda body: self.inheriting.on_kept(sender, body),
            Trim: lambda body: self._on_trim(envelope, body),
        }
        if home is not None:
            handlers |= {
                MoveTopic: lambda body: home.on_move(envelope, body),
                Relieve: lambda body: home.on_relieve(envelope, body),
                Frozen: home.on_frozen,
                Adopted: home.on_adopted,
                AskList: lambda body: home.on_ask(envelope, body),
                Emptied: lambda body: home.on_emptied(envelope, body),
                Shifted: lambda body: home.on_shifted(envelope, body),
            }
        return handlers

    def _on_decided(self, decided: Decided) -> None:
        copy, config = self.replica.copy, decided.config
        void = config.birth > copy.record.birth and copy.me not in config.members
        if (config.ended and config.age >= copy.config.age) or void:
            self._host.votes.learn(copy.shelf, config)
            self._delete()
        else:
            self.replica.on_config(config)

    def _on_dismissed(self, sender: str, dismissed: Dismissed) -> None:
        if self.replica.may_delete(sender, dismissed):
            self._host.votes.learn(dismissed.shelf, dismissed.config)
            if dismissed.config.ended:
                self._host.votes.end(dismissed.shelf)
            self._delete()

    def _on_list(self, found: ListIs) -> None:
        if self.delegate.on_list(found):
            copy = self.replica.copy
            self._host.votes.end(copy.shelf)
            ended = self._host.votes.known(copy.shelf)
            if ended is not None:
                for name in copy.config.members:
                    self._host.mail.send(name, Dismissed(copy.shelf, ended))
            self._delete()

    def _delete(self) -> None:
        """Nothing here is needed; the broker deletes it when the event in hand is done with."""
        if not self._deleted:
            self._deleted = True
            self._host.delete_later(self.replica.copy.shelf)

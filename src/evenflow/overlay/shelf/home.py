"""Moving a topic to another delegate while it is written and read (section III-A, III-B).

The primary of the home shelf moves a topic, one move at a time, each under a *ticket*::

    freeze    the old delegate takes no more messages and says what it took    Freeze, Frozen
    adopt     the new delegate gets the publishers' states, and waits         Adopt, Adopted
    commit    the new delegate list is written on both home brokers            (label of the shelf)
    tell      both delegates learn the list: one lets go, the other opens      ListIs

The commit decides. Before it, the old delegate is responsible and after it the new one, from the
time after the last message of the old: every time has one responsible coordinate, always. A
delegate that waits asks home again and again, so nothing rests on a message that may be lost, nor
on the home primary living on: its successor knows of no ticket, says so, and the old delegate opens
again. An answer counts only when it comes from a home term no older than the one that gave the
ticket. Freezing and adopting are written on both copies before they are reported.

A delegate retires by moving the topic home. When all its messages have expired it says so, and home
takes it off the list; it need not wait for that (`shifting`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenflow.errors import DelegationError
from evenflow.overlay.protocol.messages import (
    Adopt,
    Adopted,
    AskList,
    Emptied,
    Failed,
    Freeze,
    Frozen,
    ListIs,
    MoveDone,
    MoveTopic,
    PublisherState,
    Relieve,
    ShelfId,
    Shifted,
    Subscription,
)
from evenflow.overlay.replica.copy import RETRY_S

if TYPE_CHECKING:
    from evenflow.overlay.ports import DelegationHost
    from evenflow.overlay.protocol.messages import Envelope
    from evenflow.overlay.replica.replica import Replica
    from evenflow.overlay.space.delegation import DelegateList

PATIENCE_S = 8.0
"""A move that is not through by then is given up, unless its commit is under way."""


class Stage(Enum):
    """How far a move is."""

    FREEZING = "freezing"
    ADOPTING = "adopting"
    COMMITTING = "committing"


@dataclass(slots=True)
class OngoingMove:
    """A move under way."""

    ticket: int
    term: int
    """Term of the home shelf; the move ends with it."""
    old: ShelfId
    new: ShelfId
    request: Envelope
    """The newest that asked for it, and is told how it went."""
    deadline: float
    stage: Stage = Stage.FREEZING
    asked: float = -1.0
    adopter: str = ""
    """The broker that makes the new shelf; empty: it lies there already."""
    disk: int = 0
    """The disk on which it makes it. If that is lost the move fails: what it made is not known."""
    delegates: DelegateList | None = None
    """The list that will be in force."""
    publishers: tuple[PublisherState, ...] = ()
    load: int = 0
    """Bytes of the topic, as its old delegate says."""
    subscriptions: tuple[Subscription, ...] = ()
    """Who is subscribed to the topic, as its old delegate says."""


class Home:
    """The home side of one topic: keeps the list and moves the topic."""

    def __init__(self, replica: Replica, host: DelegationHost) -> None:
        self._copy = replica.copy
        self._replication = replica.replication
        self._host = host
        self.ongoing: OngoingMove | None = None

    def on_move(self, envelope: Envelope, move: MoveTopic) -> None:
        """Begin a move, or join the one to the same place."""
        copy, ongoing = self._copy, self.ongoing
        delegates = copy.label.delegates
        if ongoing is not None:
            if ongoing.new.coordinate == move.to:
                ongoing.request = envelope
            else:
                self._host.mail.reply(envelope, Failed("another move of this topic is under way"))
        elif delegates.current == move.to:
            self._host.mail.reply(envelope, MoveDone(delegates))
        elif self._host.clock.ahead:
            reason = (
                "the clock of the topic's home is far ahead of the other brokers': set it right"
            )
            self._host.mail.reply(envelope, Failed(reason))
        else:
            topic = copy.shelf.topic
            self.ongoing = OngoingMove(
                max(self._host.wall, copy.label.version + 1),
                copy.record.term,
                ShelfId(topic, delegates.current),
                ShelfId(topic, move.to),
                envelope,
                self._host.now + PATIENCE_S,
            )
            self.progress()

    def on_relieve(self, envelope: Envelope, relieve: Relieve) -> None:
        """Begin a move that a broker wants, if it knows how things are."""
        label = self._copy.label
        done = label.delegates.current == relieve.to
        under_way = self.ongoing is not None and self.ongoing.new.coordinate == relieve.to
        if done or under_way:
            pass
        elif label.delegates.current != relieve.start:
            self._host.mail.reply(envelope, Failed("the topic has been moved meanwhile"))
            return
        elif self._host.wall < label.version + relieve.rest:
            self._host.mail.reply(envelope, Failed("the topic was moved a short while ago"))
            return
        self.on_move(envelope, MoveTopic(relieve.shelf, relieve.to))

    def _at(self, stage: Stage, ticket: int) -> OngoingMove | None:
        """Return the move of a ticket if it is at a stage."""
        ongoing = self.ongoing
        fits = ongoing is not None and ongoing.stage is stage and ongoing.ticket == ticket
        return ongoing if fits else None

    def on_frozen(self, frozen: Frozen) -> None:
        """The old delegate takes no more."""
        ongoing = self._at(Stage.FREEZING, frozen.ticket)
        if ongoing is None:
            return
        label = self._copy.label
        start = max(frozen.last + 1, label.delegates.entries[-1].start, 1)
        if label.delegates.birth(ongoing.new.coordinate) is None:
            members = self._copy.host.members
            ongoing.adopter = members.closest(ongoing.new.coordinate, 1)[0]
            ongoing.disk = members.disk(ongoing.adopter)
        try:
            ongoing.delegates = label.delegates.delegate(ongoing.new.coordinate, start)
        except DelegationError as error:
            self._end(Failed(error.reason))
            return
        ongoing.publishers, ongoing.load = frozen.publishers, frozen.load
        ongoing.subscriptions = frozen.subscriptions
        ongoing.stage, ongoing.asked = Stage.ADOPTING, -1.0
        self.progress()

    def on_adopted(self, adopted: Adopted) -> None:
        """The new delegate is ready: commit."""
        ongoing = self._at(Stage.ADOPTING, adopted.ticket)
        if ongoing is None:
            return
        assert ongoing.delegates is not None
        ongoing.stage = Stage.COMMITTING
        label = self._copy.label
        start = ongoing.delegates.entries[-1].start
        ongoing.delegates = label.delegates.delegate(ongoing.new.coordinate, start, adopted.birth)
        ours = label.ticket == ongoing.ticket  # home itself was, or will be, the delegate
        self._replication.relabel(
            replace(
                label,
                version=ongoing.ticket,
                delegates=ongoing.delegates,
                ticket=0 if ours else label.ticket,
                subscriptions=label.subscriptions if ongoing.new.at_home else (),
            )
        )
        self.progress()

    def on_ask(self, envelope: Envelope, ask: AskList) -> None:
        """A delegate asks for the list."""
        label, ongoing = self._copy.label, self.ongoing
        if not self._replication.label_kept:
            return  # not decided yet; it asks again
        pending = ongoing is not None and (ongoing.ticket == ask.ticket or ongoing.new == ask.shelf)
        answer = ListIs(
            ask.shelf, ask.ticket, pending, self._copy.record.term, label.version, label.delegates
        )
        self._host.mail.reply(envelope, answer)

    def on_emptied(self, envelope: Envelope, emptied: Emptied) -> None:
        """A past delegate has nothing left: take its times off the list."""
        label, place = self._copy.label, emptied.shelf.coordinate
        delegates = label.delegates
        if self.ongoing is not None or self._host.clock.ahead:
            return
        for tenure in delegates.tenures()[1:-1]:
            if tenure.coordinate == place and (tenure.end or 0) <= emptied.floor:
                delegates = delegates.forget(tenure.start)
                break  # the list may have been merged: the next time for the next one
        if delegates != label.delegates:
            version = max(self._host.wall, label.version + 1)
            self._replication.relabel(replace(label, version=version, delegates=delegates))
        self.on_ask(envelope, AskList(emptied.shelf, 0))

    def on_shifted(self, envelope: Envelope, shifted: Shifted) -> None:
        """A past delegate has handed messages on: the list says so from now on."""
        label, delegates = self._copy.label, self._copy.label.delegates
        if self.ongoing is not None or self._host.clock.ahead:
            return
        place, end = shifted.shelf.coordinate, shifted.end
        fits = any(
            (old.coordinate, old.end, new.coordinate) == (place, end, shifted.to)
            and old.start <= shifted.start < end
            for old, new in pairwise(delegates.tenures())
        )
        if fits and delegates.birth(shifted.to) == shifted.birth and self._replication.label_kept:
            version = max(self._host.wall, label.version + 1)
            found = delegates.hand_on(shifted.end, shifted.start)
            self._replication.relabel(replace(label, version=version, delegates=found))
        self.on_ask(envelope, AskList(shifted.shelf, 0))

    def progress(self) -> None:
        """Do the next step of the move, or the same again."""
        ongoing, copy = self.ongoing, self._copy
        if ongoing is None:
            return
        if not copy.leading or ongoing.term != copy.record.term:
            self.ongoing = None  # whoever leads now knows of no move
        elif ongoing.stage is Stage.COMMITTING:
            if self._replication.label_kept and copy.label.version == ongoing.ticket:
                self._conclude(ongoing)
        elif self._host.now >= ongoing.deadline:
            self._end(Failed("the brokers concerned did not answer in time: try again"))
        elif ongoing.asked < 0 or self._host.now >= ongoing.asked + RETRY_S:
            ongoing.asked = self._host.now
            self._ask(ongoing)

    def due(self) -> float:
        """Return when there is something to do, if nothing happens before."""
        ongoing = self.ongoing
        if ongoing is None or ongoing.stage is Stage.COMMITTING:
            return float("inf")
        return min(ongoing.deadline, ongoing.asked + RETRY_S)

    def _ask(self, ongoing: OngoingMove) -> None:
        if ongoing.stage is Stage.FREEZING:
            freeze = Freeze(ongoing.old, ongoing.ticket, ongoing.term)
            self._host.mail.send_to(ongoing.old.coordinate, freeze)
        else:
            adopt = Adopt(
                ongoing.new, ongoing.ticket, ongoing.term, self._copy.label, ongoing.publishers,
                ongoing.load, ongoing.subscriptions, ongoing.disk,
            )  # fmt: skip
            # One broker alone makes a new shelf: with two there would be two of it.
            if ongoing.adopter:
                self._host.mail.send(ongoing.adopter, adopt)
            else:
                self._host.mail.send_to(ongoing.new.coordinate, adopt)

    def _conclude(self, ongoing: OngoingMove) -> None:
        """The new list is on both disks: tell whoever asked, and both delegates."""
        label = self._copy.label
        self._end(MoveDone(label.delegates))
        for shelf in (ongoing.old, ongoing.new):
            if not shelf.at_home:
                found = ListIs(
                    shelf,
                    ongoing.ticket,
                    pending=False,
                    term=ongoing.term,
                    version=label.version,
                    delegates=label.delegates,
                )
                self._host.mail.send_to(shelf.coordinate, found)

    def _end(self, reply: MoveDone | Failed) -> None:
        assert self.ongoing is not None
        request, self.ongoing = self.ongoing.request, None
        self._host.mail.reply(request, reply)

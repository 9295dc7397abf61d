"""Moving a topic to another delegate while it is written and read (section III-A, III-B).

The primary of the home shelf moves a topic, one move at a time, each under a *ticket*::

    freeze    the old delegate takes no more messages and says what it took    Freeze, Frozen
    adopt     the new delegate gets the publishers' positions, and waits       Adopt, Adopted
    commit    the new delegate list is written on both home brokers            (label of the shelf)
    tell      both delegates learn the list: one lets go, the other opens      ListIs

The commit decides. Before it, the old delegate is responsible and after it the new one, from the
time after the last message of the old: every time has one responsible coordinate, always. A
delegate that waits asks home again and again, so nothing rests on a letter that may be lost, nor on
the home primary living on: its successor knows of no ticket, says so, and the old delegate opens
again. An answer counts only when it comes from a home term no older than the one that gave the
ticket. Freezing and adopting are written on both copies before they are reported.

A delegate retires by moving the topic home. When all its messages have expired it says so, and home
takes it off the list.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from evenflow.errors import DelegationError
from evenflow.overlay.protocol.messages import (
    Adopt,
    Adopted,
    AskList,
    Done,
    Emptied,
    Failed,
    Freeze,
    Frozen,
    ListIs,
    Move,
    Position,
    Relieve,
    Shelf,
)
from evenflow.overlay.replica.copy import RETRY_S

if TYPE_CHECKING:
    from evenflow.overlay.protocol.messages import Routed
    from evenflow.overlay.replica.replica import Replica
    from evenflow.overlay.shelf.delegate import Post
    from evenflow.overlay.space.delegation import DelegateList

PATIENCE_S = 8.0
"""A move that is not through by then is given up, unless its commit is under way."""


class Stage(Enum):
    """How far a move is."""

    FREEZING = "freezing"
    ADOPTING = "adopting"
    COMMITTING = "committing"


@dataclass(slots=True)
class Moving:
    """A move under way."""

    ticket: int
    term: int
    """Term of the home shelf; the move ends with it."""
    old: Shelf
    new: Shelf
    deadline: float
    stage: Stage = Stage.FREEZING
    asked: float = -1.0
    delegates: DelegateList | None = None
    """The list that will be in force."""
    positions: tuple[Position, ...] = ()
    load: int = 0
    """Octets of the topic, as its old delegate says."""
    asking: list[Routed] = field(default_factory=list)
    """Who wants to hear how it went."""


class Home:
    """The home side of one topic: keeps the list and moves the topic."""

    def __init__(self, replica: Replica, post: Post) -> None:
        self.replica = replica
        self.post = post
        self.moving: Moving | None = None

    def on_move(self, letter: Routed, move: Move) -> None:
        """Begin a move, or join the one to the same place."""
        replica, moving = self.replica, self.moving
        delegates = replica.label.delegates
        if moving is not None:
            if moving.new.coordinate == move.to:
                moving.asking = [letter]
            else:
                self.post.answer(letter, Failed("another move of this topic is under way"))
        elif delegates.current == move.to:
            self.post.answer(letter, Done(delegates))
        else:
            topic = replica.shelf.topic
            self.moving = Moving(
                max(self.post.wall, replica.label.version + 1),
                replica.record.term,
                Shelf(topic, delegates.current),
                Shelf(topic, move.to),
                self.post.now + PATIENCE_S,
                asking=[letter],
            )
            self.progress()

    def on_relieve(self, letter: Routed, relieve: Relieve) -> None:
        """Begin a move that a broker wants, if it knows how things are."""
        label = self.replica.label
        done = label.delegates.current == relieve.to
        under_way = self.moving is not None and self.moving.new.coordinate == relieve.to
        if done or under_way:
            pass
        elif label.delegates.current != relieve.start:
            self.post.answer(letter, Failed("the topic has been moved meanwhile"))
            return
        elif self.post.wall < label.version + relieve.rest:
            self.post.answer(letter, Failed("the topic was moved a short while ago"))
            return
        self.on_move(letter, Move(relieve.shelf, relieve.to))

    def on_frozen(self, frozen: Frozen) -> None:
        """The old delegate takes no more."""
        moving = self.moving
        if moving is None or moving.stage is not Stage.FREEZING or frozen.ticket != moving.ticket:
            return
        label = self.replica.label
        start = max(frozen.last + 1, label.delegates.entries[-1].start, 1)
        try:
            moving.delegates = label.delegates.delegate(moving.new.coordinate, start)
        except DelegationError as error:
            self._end(Failed(error.reason))
            return
        moving.positions, moving.load = frozen.positions, frozen.load
        moving.stage, moving.asked = Stage.ADOPTING, -1.0
        self.progress()

    def on_adopted(self, adopted: Adopted) -> None:
        """The new delegate is ready: commit."""
        moving = self.moving
        if moving is None or moving.stage is not Stage.ADOPTING or adopted.ticket != moving.ticket:
            return
        assert moving.delegates is not None
        moving.stage = Stage.COMMITTING
        label = self.replica.label
        ours = label.ticket == moving.ticket  # home itself was, or will be, the delegate
        self.replica.relabel(
            replace(
                label,
                version=moving.ticket,
                delegates=moving.delegates,
                ticket=0 if ours else label.ticket,
            )
        )
        self.progress()

    def on_ask(self, letter: Routed, ask: AskList) -> None:
        """A delegate asks for the list."""
        label, moving = self.replica.label, self.moving
        if not self.replica.label_kept:
            return  # not decided yet; it asks again
        pending = moving is not None and (moving.ticket == ask.ticket or moving.new == ask.shelf)
        answer = ListIs(
            ask.shelf, ask.ticket, pending, self.replica.record.term, label.version, label.delegates
        )
        self.post.answer(letter, answer)

    def on_emptied(self, letter: Routed, emptied: Emptied) -> None:
        """A past delegate has nothing left: take its times off the list."""
        label, place = self.replica.label, emptied.shelf.coordinate
        delegates = label.delegates
        if self.moving is not None:
            return
        for tenure in delegates.tenures()[1:-1]:
            if tenure.coordinate == place and (tenure.end or 0) <= emptied.floor:
                delegates = delegates.forget(tenure.start)
                break  # the list may have been merged: the next time for the next one
        if delegates != label.delegates:
            version = max(self.post.wall, label.version + 1)
            self.replica.relabel(replace(label, version=version, delegates=delegates))
        self.on_ask(letter, AskList(emptied.shelf, 0))

    def progress(self) -> None:
        """Do the next step of the move, or the same again."""
        moving, replica = self.moving, self.replica
        if moving is None:
            return
        if not replica.leading or moving.term != replica.record.term:
            self.moving = None  # whoever leads now knows of no move
        elif moving.stage is Stage.COMMITTING:
            if replica.label_kept and replica.label.version == moving.ticket:
                self._tell()
        elif self.post.now >= moving.deadline:
            self._end(Failed("the brokers concerned did not answer in time: try again"))
        elif moving.asked < 0 or self.post.now >= moving.asked + RETRY_S:
            moving.asked = self.post.now
            self._ask(moving)

    def _ask(self, moving: Moving) -> None:
        if moving.stage is Stage.FREEZING:
            self.post.mail(moving.old.coordinate, Freeze(moving.old, moving.ticket, moving.term))
        else:
            assert moving.delegates is not None
            self.post.mail(
                moving.new.coordinate,
                Adopt(
                    moving.new, moving.ticket, moving.term, self.replica.label, moving.positions,
                    moving.load,
                ),
            )  # fmt: skip

    def _tell(self) -> None:
        moving, label = self.moving, self.replica.label
        assert moving is not None
        self._end(Done(label.delegates))
        for shelf in (moving.old, moving.new):
            if not shelf.at_home:
                self.post.mail(
                    shelf.coordinate,
                    ListIs(
                        shelf,
                        moving.ticket,
                        pending=False,
                        term=moving.term,
                        version=label.version,
                        delegates=label.delegates,
                    ),
                )

    def _end(self, answer: Done | Failed) -> None:
        assert self.moving is not None
        asking, self.moving = self.moving.asking, None
        for letter in asking:
            self.post.answer(letter, answer)

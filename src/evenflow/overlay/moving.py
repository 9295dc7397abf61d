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
from typing import TYPE_CHECKING, Any, Protocol

from evenflow.errors import DelegationError
from evenflow.overlay.holding import RETRY_S
from evenflow.overlay.messages import (
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
    Shelf,
)

if TYPE_CHECKING:
    from evenflow.overlay.delegation import DelegateList
    from evenflow.overlay.geometry import Coordinate
    from evenflow.overlay.messages import Routed
    from evenflow.overlay.replica import Replica

PATIENCE_S = 8.0
"""A move that is not through by then is given up, unless its commit is under way."""


class Stage(Enum):
    """How far a move is."""

    FREEZING = "freezing"
    ADOPTING = "adopting"
    COMMITTING = "committing"


class Post(Protocol):
    """What moving needs of its broker."""

    now: float
    wall: int

    def mail(self, coordinate: Coordinate, body: Any) -> None:
        """Send a letter to whoever is closest to a coordinate."""
        ...

    def answer(self, letter: Routed, body: Any) -> None:
        """Answer a letter."""
        ...


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
        moving.positions, moving.stage, moving.asked = frozen.positions, Stage.ADOPTING, -1.0
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
                Adopt(moving.new, moving.ticket, moving.term, self.replica.label, moving.positions),
            )

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


class Delegate:
    """The delegate side of one shelf: freezes, adopts, and asks home what is in force."""

    def __init__(self, replica: Replica, post: Post) -> None:
        self.replica = replica
        self.post = post
        self._asked = -1.0
        self._freezing: tuple[Routed, Freeze] | None = None
        self._adopting: tuple[Routed, Adopt] | None = None

    def on_freeze(self, letter: Routed, freeze: Freeze) -> None:
        """Home wants us to take no more."""
        label = self.replica.label
        current = label.delegates.current == self.replica.shelf.coordinate
        if not current or freeze.ticket <= label.version or freeze.term < label.ticket_term:
            return
        if label.ticket != freeze.ticket:
            if freeze.ticket < label.ticket:
                return
            self.replica.relabel(replace(label, ticket=freeze.ticket, ticket_term=freeze.term))
        self._freezing = (letter, freeze)
        self.progress()

    def on_adopt(self, letter: Routed, adopt: Adopt) -> None:
        """Home wants us to be ready."""
        label = self.replica.label
        if adopt.ticket <= label.version or adopt.term < label.ticket_term:
            return
        if label.ticket != adopt.ticket and not self.replica.shelf.at_home:
            self.replica.relabel(
                replace(
                    label,
                    level=adopt.label.level,
                    version=adopt.label.version,
                    delegates=adopt.label.delegates,
                    ticket=adopt.ticket,
                    ticket_term=adopt.term,
                ),
                adopt.positions,
            )
        elif label.ticket != adopt.ticket:
            self.replica.relabel(
                replace(label, ticket=adopt.ticket, ticket_term=adopt.term), adopt.positions
            )
        self._adopting = (letter, adopt)
        self.progress()

    def on_list(self, found: ListIs) -> bool:
        """Home says what is in force; return whether nothing here is needed any more."""
        replica, label = self.replica, self.replica.label
        if not replica.leading or found.pending or found.term < label.ticket_term:
            return False
        if label.ticket and found.ticket != label.ticket:
            return False
        replica.verified = True
        places = {entry.coordinate for entry in found.delegates.entries}
        if found.version >= label.version and replica.shelf.coordinate not in places:
            return True
        if found.version > label.version or label.ticket:
            newest = found if found.version > label.version else label
            replica.relabel(
                replace(label, version=newest.version, delegates=newest.delegates, ticket=0)
            )
        return False

    def progress(self) -> None:
        """Report what is done; ask home while something is open."""
        replica = self.replica
        if not replica.leading:
            self._freezing = self._adopting = None
            return
        self._report()
        label, shelf = replica.label, replica.shelf
        pending = bool(label.ticket) or not replica.verified or self._finished()
        if pending and (self._asked < 0 or self.post.now >= self._asked + RETRY_S):
            self._asked = self.post.now
            if self._finished() and replica.verified and not label.ticket:
                self.post.mail(shelf.home, Emptied(shelf, label.floor))
            else:
                self.post.mail(shelf.home, AskList(shelf, label.ticket))

    def _report(self) -> None:
        replica = self.replica
        if not replica.label_kept or replica.committed < replica.last:
            return
        if self._freezing is not None:
            letter, freeze = self._freezing
            self._freezing = None
            if freeze.ticket == replica.label.ticket:
                positions = tuple(replica.positions.values())
                frozen = Frozen(replica.shelf, freeze.ticket, replica.last, positions)
                self.post.answer(letter, frozen)
        if self._adopting is not None:
            letter, adopt = self._adopting
            self._adopting = None
            if adopt.ticket == replica.label.ticket:
                self.post.answer(letter, Adopted(replica.shelf, adopt.ticket))

    def _finished(self) -> bool:
        """Whether this is a past delegate whose messages have all expired."""
        replica = self.replica
        delegates, place = replica.label.delegates, replica.shelf.coordinate
        if replica.shelf.at_home or delegates.current == place or replica.label.ticket:
            return False
        ends = [t.end or 0 for t in delegates.tenures() if t.coordinate == place]
        return max(ends, default=0) <= replica.label.floor

"""The delegate's side of a move: freeze, adopt, and ask home what is in force (section III-A).

`evenflow.overlay.shelf.home` tells the whole story.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from evenflow.overlay.protocol.messages import (
    Adopt,
    Adopted,
    AskList,
    Emptied,
    Freeze,
    Frozen,
    ListIs,
)
from evenflow.overlay.replica.copy import RETRY_S

if TYPE_CHECKING:
    from evenflow.overlay.protocol.messages import Routed
    from evenflow.overlay.replica.replica import Replica
    from evenflow.overlay.space.coordinate import Coordinate


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

    def weigh(self, replica: Replica) -> int:
        """Return the load of a topic whose current delegate this copy belongs to."""
        ...


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
                    inherited=self._lacking(adopt),
                ),
                adopt.positions,
            )
        elif label.ticket != adopt.ticket:
            self.replica.relabel(
                replace(
                    label,
                    ticket=adopt.ticket,
                    ticket_term=adopt.term,
                    inherited=self._lacking(adopt),
                ),
                adopt.positions,
            )
        self._adopting = (letter, adopt)
        self.progress()

    def _lacking(self, adopt: Adopt) -> int:
        """What the topic has elsewhere."""
        return max(0, adopt.load - self.replica.office.store.octets(self.replica.shelf))

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
                load = self.post.weigh(replica)
                frozen = Frozen(replica.shelf, freeze.ticket, replica.last, positions, load)
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

"""The delegate's side of a move: freeze, adopt, and ask home what is in force (section III-A).

`evenflow.overlay.shelf.home` tells the whole story.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

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
    from evenflow.overlay.ports import DelegationHost
    from evenflow.overlay.protocol.messages import Envelope
    from evenflow.overlay.replica.replica import Replica


class Delegate:
    """The delegate side of one shelf: freezes, adopts, and asks home what is in force."""

    def __init__(self, replica: Replica, host: DelegationHost) -> None:
        self._copy = replica.copy
        self._replication = replica.replication
        self._host = host
        self._asked = -1.0
        self._freezing: tuple[Envelope, Freeze] | None = None
        self._adopting: tuple[Envelope, Adopt] | None = None

    def on_freeze(self, envelope: Envelope, freeze: Freeze) -> None:
        """Home wants us to take no more."""
        label = self._copy.label
        if not self._copy.delegated_here or freeze.ticket <= label.version:
            return
        if (freeze.term, freeze.ticket) < (label.ticket_term, label.ticket):
            return
        if label.ticket != freeze.ticket:
            self._replication.relabel(replace(label, ticket=freeze.ticket, ticket_term=freeze.term))
        self._freezing = (envelope, freeze)
        self.progress()

    def on_adopt(self, envelope: Envelope, adopt: Adopt) -> None:
        """Home wants us to be ready."""
        copy, label = self._copy, self._copy.label
        if adopt.ticket <= label.version or adopt.term < label.ticket_term:
            return
        if label.ticket != adopt.ticket:
            if not copy.shelf.at_home:
                label = replace(
                    label,
                    level=adopt.label.level,
                    version=adopt.label.version,
                    delegates=adopt.label.delegates,
                )
            elsewhere = max(0, adopt.load - copy.host.store.size(copy.shelf))
            self._replication.relabel(
                replace(
                    label,
                    ticket=adopt.ticket,
                    ticket_term=adopt.term,
                    inherited=elsewhere,
                    subscriptions=adopt.subscriptions,
                ),
                adopt.publishers,
            )
        self._adopting = (envelope, adopt)
        self.progress()

    def on_list(self, found: ListIs) -> bool:
        """Home says what is in force; return whether nothing here is needed any more."""
        copy, label = self._copy, self._copy.label
        if not copy.leading or found.pending or found.term < label.ticket_term:
            return False
        if label.ticket and found.ticket != label.ticket:
            return False
        copy.verified, copy.doubted = True, False
        ours = found.delegates.birth(copy.shelf.coordinate) == copy.record.birth
        if found.version >= label.version and not ours:
            return True
        if found.version > label.version or label.ticket:
            newest = found if found.version > label.version else label
            here = newest.delegates.current == copy.shelf.coordinate
            self._replication.relabel(
                replace(
                    label,
                    version=newest.version,
                    delegates=newest.delegates,
                    ticket=0,
                    subscriptions=label.subscriptions if here else (),
                )
            )
        return False

    def progress(self) -> None:
        """Report what is done; ask home while something is open."""
        copy = self._copy
        if not copy.leading:
            self._freezing = self._adopting = None
            return
        self._report()
        label, shelf, emptied = copy.label, copy.shelf, self._emptied()
        if self._pending(emptied=emptied) and (
            self._asked < 0 or self._host.now >= self._asked + RETRY_S
        ):
            self._asked = self._host.now
            if emptied and copy.verified and not label.ticket:
                self._host.mail.send_to(shelf.home, Emptied(shelf, label.floor))
            else:
                self._host.mail.send_to(shelf.home, AskList(shelf, label.ticket))

    def _pending(self, *, emptied: bool) -> bool:
        """Whether there is something to ask home."""
        copy = self._copy
        return bool(copy.label.ticket) or not copy.verified or emptied or copy.doubted

    def due(self) -> float:
        """Return when there is something to do, if nothing happens before."""
        pending = self._copy.leading and self._pending(emptied=self._emptied())
        return self._asked + RETRY_S if pending else float("inf")

    def _report(self) -> None:
        """Tell home that we have frozen or adopted, when that is on both disks."""
        copy = self._copy
        if not self._replication.label_kept or copy.committed < copy.last:
            return
        if self._freezing is not None:
            envelope, freeze = self._freezing
            self._freezing = None
            if freeze.ticket == copy.label.ticket:
                publishers = tuple(copy.publishers.values())
                frozen = Frozen(
                    copy.shelf, freeze.ticket, copy.last, publishers, copy.topic_load(),
                    copy.label.subscriptions,
                )  # fmt: skip
                self._host.mail.reply(envelope, frozen)
        if self._adopting is not None:
            envelope, adopt = self._adopting
            self._adopting = None
            if adopt.ticket == copy.label.ticket:
                adopted = Adopted(copy.shelf, adopt.ticket, copy.record.birth)
                self._host.mail.reply(envelope, adopted)

    def _emptied(self) -> bool:
        """Whether this is a past delegate whose messages have all expired."""
        copy, label = self._copy, self._copy.label
        if copy.shelf.at_home or copy.delegated_here or label.ticket:
            return False
        place = copy.shelf.coordinate
        ends = [t.end or 0 for t in label.delegates.tenures() if t.coordinate == place]
        return max(ends, default=0) <= label.floor

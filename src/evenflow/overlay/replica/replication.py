"""Messages within a term: from the primary to the secondary, and back their acknowledgement.

The primary has one `Replicate` under way at a time; meanwhile messages gather for the next. Each
says which message comes before its first, so the secondary knows when one is missing, and it comes
again. What an older term left between the messages of this one was never acknowledged: the
secondary deletes it in the same write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import (
    Label,
    Message,
    PublisherState,
    Refused,
    Replicate,
    Replicated,
)
from evenflow.overlay.replica.copy import BATCH, RETRY_S
from evenflow.overlay.replica.states import State

if TYPE_CHECKING:
    from evenflow.overlay.replica.copy import Copy


class Replication:
    """How a copy takes and gives the messages of its term."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        self._written = 0
        """As secondary: time of the newest message of the term that is written."""
        self._partner_last = 0
        """As primary: time of the newest message of the term that the secondary has written."""
        self._partner_revision = 0
        """As primary: the newest label that the secondary has written."""
        self._sent = -1.0
        """As primary: when the `Replicate` was sent that is not answered; -1: none."""

    def lead_from(self, start: int) -> None:
        """As primary: a term begins that speaks from a time on."""
        self._partner_last, self._partner_revision, self._sent = start - 1, 0, -1.0

    def follow_from(self, start: int) -> None:
        """As secondary: a term begins that speaks from a time on."""
        self._written = start - 1

    def stop(self) -> None:
        """Wait for no answer any more."""
        self._sent = -1.0

    # -- the primary's side ---------------------------------------------------------------------

    @property
    def label_kept(self) -> bool:
        """Whether the newest label is on both disks."""
        record = self._copy.record
        return not record.secondary or self._partner_revision >= record.label.revision

    def append(self, messages: list[Message]) -> None:
        """Write messages; they are committed when the secondary has them too."""
        self._copy.write(messages)
        self._copy.last = messages[-1].time
        self.replicate()
        self.advance()

    def relabel(self, label: Label, publishers: tuple[PublisherState, ...] = ()) -> None:
        """Change the label, and take publishers over."""
        copy = self._copy
        copy.take_publishers(publishers)
        copy.update(label=replace(label, revision=copy.label.revision + 1))
        self.replicate()
        self.advance()

    def expire(self, floor: int) -> None:
        """Delete all before a time, here and at the secondary."""
        self._copy.expire(floor)
        self.relabel(replace(self._copy.label, floor=floor))

    def replicate(self) -> None:
        """Send what the secondary lacks, one `Replicate` at a time."""
        copy, record, host = self._copy, self._copy.record, self._copy.host
        if not copy.leading or not record.secondary:
            return
        behind = self._partner_last < copy.last or not self.label_kept
        if not behind or (self._sent >= 0 and host.now < self._sent + RETRY_S):
            return
        messages = host.store.read(copy.shelf, self._partner_last + 1, copy.last + 1, BATCH)
        label: tuple[Label, ...] = ()
        publishers: tuple[PublisherState, ...] = ()
        if not self.label_kept:
            label, publishers = (copy.label,), copy.publishers_before(self._partner_last + 1)
        self._sent = host.now
        host.mail.send(
            record.secondary,
            Replicate(
                copy.shelf, record.term, self._partner_last, tuple(messages), copy.committed,
                label, publishers,
            ),
        )  # fmt: skip

    def on_replicated(self, sender: str, done: Replicated) -> None:
        """The secondary has written."""
        copy = self._copy
        if not copy.leading or done.term != copy.record.term or sender != copy.record.secondary:
            return
        self._sent = -1.0
        self._partner_last = max(self._partner_last, done.last)
        self._partner_revision = max(self._partner_revision, done.revision)
        self.replicate()
        self.advance()

    def advance(self) -> None:
        """Commit what is on as many disks as the level asks."""
        copy = self._copy
        if not copy.leading:
            return
        reached = min(copy.last, self._partner_last) if copy.record.secondary else copy.last
        copy.committed = max(copy.committed, reached)
        copy.on_progress()

    # -- the secondary's side -------------------------------------------------------------------

    def on_replicate(self, sender: str, sent: Replicate) -> None:
        """Write what the primary sends."""
        copy, record = self._copy, self._copy.record
        if sent.term < record.term:
            copy.host.mail.send(sender, Refused(copy.shelf, record.term, record.confirmed))
            return
        if copy.state is not State.FOLLOWING or sent.term != record.term:
            return
        if sent.previous > self._written:
            return  # something before it was lost, and comes again
        fresh = [message for message in sent.messages if message.time > self._written]
        if sent.label and sent.label[0].revision > copy.label.revision:
            self._take_label(sent.label[0], sent.publishers)
        if fresh:
            self._replace(self._written + 1, fresh)
            self._written = fresh[-1].time
            copy.last = max(copy.last, self._written)
        copy.committed = max(copy.committed, min(sent.committed, self._written))
        copy.host.mail.send(
            sender, Replicated(copy.shelf, record.term, self._written, copy.label.revision)
        )

    def _take_label(self, label: Label, publishers: tuple[PublisherState, ...]) -> None:
        copy = self._copy
        if label.floor > copy.label.floor:
            copy.expire(label.floor)
        copy.take_publishers(publishers)
        copy.update(label=label)

    def _replace(self, start: int, fresh: list[Message]) -> None:
        """Write messages, and delete what an older term left between them."""
        copy = self._copy
        end, times = fresh[-1].time + 1, {message.time for message in fresh}
        if copy.last >= start:
            for message in reversed(copy.between(start, end)):
                if message.time not in times:
                    copy.unwrite(message)
        copy.write(fresh)

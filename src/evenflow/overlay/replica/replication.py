"""Messages within a term: from the primary to the secondary, and back their acknowledgement.

The primary has one letter under way at a time; meanwhile messages gather for the next. A letter
says which message comes before its first, so the secondary knows when one is missing, and the
letter comes again. What an older term left between the messages of this one was never acknowledged:
the secondary deletes it in the same write.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenflow.overlay.protocol.messages import (
    Label,
    Message,
    Position,
    Refused,
    Replicate,
    Replicated,
)
from evenflow.overlay.replica.copy import BATCH, RETRY_S, Holding
from evenflow.overlay.replica.states import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.replica.copy import Office
    from evenflow.overlay.replica.record import Record


class Stream(Holding):
    """A copy that takes and gives the messages of a term."""

    def __init__(
        self, office: Office, record: Record, committed: int, on_progress: Callable[[], None]
    ) -> None:
        super().__init__(office, record, committed, on_progress)
        self._live = 0
        """As secondary: how far the term's stream was written."""
        self._partner_last = 0
        """As primary: how far the secondary has written it."""
        self._partner_revision = 0
        """As primary: the newest label that the secondary has written."""
        self._sent = -1.0
        """As primary: when the letter was sent that is not answered; -1: none."""

    def _restart_stream(self, start: int) -> None:
        """As primary: a term begins that speaks from a time on."""
        self._partner_last, self._partner_revision, self._sent = start - 1, 0, -1.0

    @property
    def label_kept(self) -> bool:
        """Whether the newest label is on both disks."""
        return not self.record.secondary or self._partner_revision >= self.label.revision

    def append(self, messages: list[Message]) -> None:
        """As primary: write messages; they are committed when the secondary has them too."""
        self._write(messages)
        self.last = messages[-1].time
        self.replicate()
        self._advance()

    def relabel(self, label: Label, positions: tuple[Position, ...] = ()) -> None:
        """As primary: change the label, and take publishers over."""
        self.record = replace(self.record, label=replace(label, revision=self.label.revision + 1))
        self._take_positions(positions)
        self.office.store.save(self.record)
        self.replicate()
        self._advance()

    def expire(self, floor: int) -> None:
        """As primary: delete all before a time, here and at the secondary."""
        self._sweep(floor)
        self.relabel(replace(self.label, floor=floor))

    def replicate(self) -> None:
        """As primary: send what the secondary lacks, one letter at a time."""
        if not self.leading or not self.record.secondary:
            return
        behind = self._partner_last < self.last or not self.label_kept
        if not behind or (self._sent >= 0 and self.office.now < self._sent + RETRY_S):
            return
        messages = self.office.store.read(self.shelf, self._partner_last + 1, self.last + 1, BATCH)
        label: tuple[Label, ...] = ()
        positions: tuple[Position, ...] = ()
        if not self.label_kept:
            label, positions = (self.label,), self._positions_before(self._partner_last + 1)
        self._sent = self.office.now
        self.office.tell(
            self.record.secondary,
            Replicate(
                self.shelf, self.record.term, self._partner_last, tuple(messages), self.committed,
                label, positions,
            ),
        )  # fmt: skip

    def on_replicate(self, sender: str, letter: Replicate) -> None:
        """As secondary: write what the primary sends."""
        record = self.record
        if letter.term < record.term:
            self.office.tell(sender, Refused(self.shelf, record.term, record.confirmed))
            return
        if self.state is not State.FOLLOWING or letter.term != record.term:
            return
        if letter.previous > self._live:
            return  # something before it was lost, and comes again
        fresh = [message for message in letter.messages if message.time > self._live]
        if letter.label and letter.label[0].revision > self.label.revision:
            self._take_label(letter.label[0], letter.positions)
        if fresh:
            self._replace(self._live + 1, fresh)
            self._live = fresh[-1].time
            self.last = max(self.last, self._live)
        self.committed = max(self.committed, min(letter.committed, self._live))
        self.office.tell(
            sender, Replicated(self.shelf, record.term, self._live, self.label.revision)
        )

    def _take_label(self, label: Label, positions: tuple[Position, ...]) -> None:
        if label.floor > self.label.floor:
            self._sweep(label.floor)
        self.record = replace(self.record, label=label)
        self._take_positions(positions)
        self.office.store.save(self.record)

    def _replace(self, start: int, fresh: list[Message]) -> None:
        """Write messages, and delete what an older term left between them."""
        end, times = fresh[-1].time + 1, {message.time for message in fresh}
        if self.last >= start:
            for left in reversed(self._all(start, end)):
                if left.time in times:
                    continue
                # It was never acknowledged; its publisher will send it again.
                back = Position(left.publisher, left.sequence - 1, left.time)
                self.positions[left.publisher] = back
                self.office.store.put_positions(self.shelf, [back])
                self.office.store.remove(self.shelf, left.time, left.time + 1)
        self._write(fresh)

    def on_replicated(self, sender: str, done: Replicated) -> None:
        """The secondary has written."""
        if not self.leading or done.term != self.record.term or sender != self.record.secondary:
            return
        self._sent = -1.0
        self._partner_last = max(self._partner_last, done.last)
        self._partner_revision = max(self._partner_revision, done.revision)
        self.replicate()
        self._advance()

    def _advance(self) -> None:
        """Note what is on as many disks as the level asks."""
        if not self.leading:
            return
        reached = min(self.last, self._partner_last) if self.record.secondary else self.last
        self.committed = max(self.committed, reached)
        self._on_progress()

"""A publisher's shell that thins: what comes in passes :mod:`evenflow.slices.publisher.thinning`.

Only the publisher of a topic that may be thinned has one (``topics.NAME.thin``); at full rate, and
everywhere else, items go the usual way and nothing is asked.

What is thinned out is dealt with: it needs no room, so it never waits, gets no number, is in no
outbox, and whoever counts on it is told the same as of an item that was let through (a gateway
says ``Safe`` to its node when the unit is on disk, with or without the item). It is counted, and
the count is told with the epochs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenflow.autonomic.rates import Target, Usage, take_part
from evenflow.config.sections import NEVER
from evenflow.model.ids import WriterId
from evenflow.slices.publisher.shell import PublisherShell
from evenflow.slices.publisher.thinning import Thinning
from evenflow.slices.publisher.units import table_bytes

if TYPE_CHECKING:
    from evenflow.clock import Clock
    from evenflow.config import Config
    from evenflow.domain.cyclone import Participant
    from evenflow.model.batch import Int32s
    from evenflow.slices.outbox.outbox import Outbox
    from evenflow.slices.publisher.columns import Table
    from evenflow.slices.publisher.core import PublisherCore
    from evenflow.slices.publisher.exchange import CommitHook
    from evenflow.slices.publisher.gathering import Row
    from evenflow.slices.publisher.units import Unit


def shell_for(
    config: Config,
    core: PublisherCore,
    participant: Participant,
    clock: Clock,
    on_commit: CommitHook | None = None,
    outbox: Outbox | None = None,
) -> PublisherShell:
    """The shell of a publisher, by what its topic allows."""
    if config.topic(core.topic).thin == NEVER:
        return PublisherShell(core, participant, clock, on_commit, outbox)
    return ThinningShell(config, core, participant, clock, on_commit, outbox)


class ThinningShell(PublisherShell):
    """Threads and DDS endpoints of a publisher whose topic may be thinned.

    Args:
        config: The configuration.
        core: The rules.
        participant: Where the endpoints are opened.
        clock: The time.
        on_commit: As the publisher has it.
        outbox: Where everything is written down before it is sent.
    """

    def __init__(
        self,
        config: Config,
        core: PublisherCore,
        participant: Participant,
        clock: Clock,
        on_commit: CommitHook | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        topic, settings = config.topic(core.topic), config.publisher
        self._name = f"publisher {WriterId.text(core.writer)}"
        in_memory = settings.retention_bytes + settings.spill_bytes
        self._bound = in_memory if outbox is None else settings.outbox_bytes
        self._thinning = Thinning()
        super().__init__(core, participant, clock, on_commit, outbox)
        deadline = topic.deadline_s or math.inf
        target = Target(
            topic.name,
            self._name,
            topic.thin,
            self.separate,
            lambda: core.counts.thinned,
            deadline,
            math.nextafter(deadline, 0.0) if topic.deadline_s else math.inf,
        )
        self._part = take_part(participant, config, topic.name, use=self._use, target=target)

    def close(self) -> None:
        """As any shell does it; full rate, and no word of it any more."""
        self._part.close()
        super().close()

    def _use(self) -> Usage:
        """What is retained against its bound."""
        with self._lock:
            kept = self.core.kept - self.core.retention.settled_size  # history makes room
            return Usage(self._name, kept, self._bound, 0, 0)

    def separate(self, separation_s: float) -> None:
        """Let through of each sender one item in so many seconds, from now on; 0: all."""
        with self._lock:
            self._thinning.separate(separation_s)

    def add(self, row: Row, size: int, timeout_s: float) -> int | None:
        """Accept an item, or leave it out; return how many were accepted, None without room."""
        if not self._thinning.separation_s:
            return super().add(row, size, timeout_s)
        sender = row[1]
        with self._lock:
            self._check()
            if self._leaves_out(sender):
                return 0
            if not self._wait_for_room(size, timeout_s):
                return None
            # Another item of the sender may have been accepted meanwhile.
            if self._leaves_out(sender):
                return 0
            self._thinning.note_one(sender)
            touched = self._add_row(row, size)
        self._drain(touched)
        return 1

    def add_table(self, table: Table, slices: Int32s, size: int, timeout_s: float) -> int | None:
        """Accept what is not left out; return how many that is, None when there is no room."""
        if not self._thinning.separation_s:
            return super().add_table(table, slices, size, timeout_s)
        with self._lock:
            found = self._let_through(table, slices, timeout_s)
            if found is None:
                return None
            chosen, slices, size = found
            touched = self._add_rows(chosen, slices, size) if len(chosen) else []
            self._count(len(table), chosen)
        self._drain(touched)
        return len(chosen)

    def add_unit(self, unit: Unit, timeout_s: float) -> bool:
        """Accept a unit without what is left out of it, which may be all."""
        if not self._thinning.separation_s or not len(unit.table):
            return super().add_unit(unit, timeout_s)
        with self._lock:
            found = self._let_through(unit.table, unit.slices, timeout_s)
            if found is None:
                return False
            table, slices, size = found
            thinned = unit._replace(table=table, slices=slices, size=size)
            self._outlet.put_unit(thinned, self._clock.monotonic())
            self._count(len(unit.table), table)
            self._wake_if_due()
        return True

    def _leaves_out(self, sender: str) -> bool:
        if not self._thinning.thins(sender, self._clock.monotonic()):
            return False
        self.core.counts.thinned += 1
        return True

    def _let_through(
        self, table: Table, slices: Int32s, timeout_s: float
    ) -> tuple[Table, Int32s, int] | None:
        """What is not left out of items, when there is room for it; with the lock held."""
        self._check()
        table, slices = self._passing(table, slices)
        if len(table):
            if not self._wait_for_room(table_bytes(table), timeout_s):
                return None
            # Others of the same senders may have been accepted meanwhile.
            table, slices = self._passing(table, slices)
        return table, slices, table_bytes(table) if len(table) else 0

    def _passing(self, table: Table, slices: Int32s) -> tuple[Table, Int32s]:
        rows = self._thinning.passing(table.senders, self._clock.monotonic())
        return table.only(rows), slices[rows]

    def _count(self, offered: int, accepted: Table) -> None:
        self.core.counts.thinned += offered - len(accepted)
        if len(accepted):
            self._thinning.note(accepted.senders)

"""Commits and replay requests of one writer: what is accepted, refused and answered.

An entry that makes no sense (a slice that does not exist or is named twice, a number that was never
published) is ignored and counted; the other entries of its message count.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from evenflow.model.messages import Commit, ReplayAnswer, ReplayRequest
from evenflow.slices.actions import Send
from evenflow.slices.publisher.entries import entries_of

if TYPE_CHECKING:
    from evenflow.model.batch import Int64s
    from evenflow.slices.heard_balancers import HeardBalancers
    from evenflow.slices.publisher.entries import Entries
    from evenflow.slices.publisher.fencing import Fencing
    from evenflow.slices.publisher.retention import Lacking, Newly, Retention
    from evenflow.slices.publisher.sending.routing import Routing

CommitHook = Callable[[int, int, int, str], None]
"""Called with (slice, first, last, node) for each accepted commit."""
MAIN_CONSUMER: Final = ""
"""The consumer group whose commits let the publisher forget: the nodes' own application."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Counts:
    """What happened since the start."""

    published: int = 0
    """Items accepted."""
    thinned: int = 0
    """Items left out before they were numbered."""
    committed: int = 0
    """Items committed."""
    stale_commits: int = 0
    """Commit entries of an older term, refused."""
    stale_requests: int = 0
    """Replay entries of an older term, refused."""
    impossible: int = 0
    """Entries about a slice or a number that does not exist, ignored."""
    other_consumer: int = 0
    """Commits of another consumer group, ignored."""
    unheard: int = 0
    """Entries of a term whose balancer was not heard, ignored until it is."""
    foreign: int = 0
    """Messages for another writer or topic, or with columns of unequal length; ignored."""


@dataclass(frozen=True, slots=True)
class Committed:
    """These items of slices are committed now and were not before."""

    newly: Newly
    node: str
    """The node, or the consumer of a served topic, whose commit was accepted."""


@dataclass(frozen=True, slots=True)
class Resend:
    """Write retained samples, or what is wanted of them, to a node that lacks it."""

    node: str
    lacking: tuple[Lacking, ...]


Reaction = Send | Resend | Committed


class Exchange:
    """What one writer says to nodes.

    Args:
        topic: The topic.
        writer: The writer.
        retention: What it keeps.
        fencing: The terms it has met.
        counts: Counts for all writers of a publisher.
        balancers: The balancers that the publisher has heard.
        served: Consumers commit, not nodes.
    """

    def __init__(
        self,
        topic: str,
        writer: int,
        retention: Retention,
        fencing: Fencing,
        counts: Counts,
        balancers: HeardBalancers,
        *,
        served: bool,
    ) -> None:
        self.writer = writer
        self.retention = retention
        self.fencing = fencing
        self.ends: Int64s | None = None
        """For each slice, the last number that counts; None when all do."""
        self.last_commit: float | None = None
        """When a commit was last accepted."""
        self._topic = topic
        self._counts = counts
        self._balancers = balancers
        self._served = served

    def commit(self, message: Commit, now: float) -> list[Reaction]:
        """A node has processed items."""
        if message.consumer != MAIN_CONSUMER or self._served:
            self._counts.other_consumer += 1
            return []
        entries = self._entries(message)
        possible = entries.numbers <= self.retention.newest[entries.slices]
        self._counts.impossible += len(possible) - int(possible.sum())
        entries = entries.where(possible)
        admitted = self.fencing.admit(entries.slices, entries.terms)
        stale = entries.slices[~admitted].tolist()
        self._counts.stale_commits += len(stale)
        reactions: list[Reaction] = []
        if admitted.any():
            self.last_commit = now
            newly = self.retention.commit(entries.slices[admitted], entries.numbers[admitted])
            self._counts.committed += newly.items
            if len(newly.slices):
                reactions.append(Committed(newly, message.node))
        if stale:
            # A stale owner that cannot hear the balancer learns it from us.
            empty = np.zeros(0, np.int64)
            reactions.append(Send(self._answer(message.node, 0, empty, stale), to=message.node))
        return reactions

    def commit_upto(self, numbers: Int64s, now: float) -> list[Reaction]:
        """Everybody has everything up to some number of each slice."""
        slices = np.flatnonzero(numbers > self.retention.floors)
        if not len(slices):
            return []
        self.last_commit = now
        newly = self.retention.commit(slices, numbers[slices])
        self._counts.committed += newly.items
        return [Committed(newly, "")]

    def commit_epoch(self, epoch: int, consumer: str, now: float) -> list[Reaction]:
        """All consumers have committed an epoch."""
        self.last_commit = now
        newly = self.retention.commit_epoch(epoch)
        self._counts.committed += newly.items
        return [Committed(newly, consumer)] if len(newly.slices) else []

    def settle_epoch(self, before: int, epoch: int, consumer: str, now: float) -> list[Reaction]:
        """All consumers have committed an epoch, and it is kept all the same."""
        self.last_commit = now
        newly = self.retention.settle_epoch(before, epoch)
        self._counts.committed += newly.items
        return [Committed(newly, consumer)] if len(newly.slices) else []

    def replay(self, message: ReplayRequest, routing: Routing) -> tuple[list[Reaction], bool]:
        """A node asks for what it lacks; return also whether a route has changed by that."""
        entries = self._entries(message)
        if not len(entries.slices):
            return [], False
        admitted = self.fencing.admit(entries.slices, entries.terms)
        refused = entries.slices[~admitted].tolist()
        self._counts.stale_requests += len(refused)
        asked = entries.where(admitted)
        changed = routing.learn(asked.slices, asked.terms, message.node)
        answer = self._answer(message.node, message.request, asked.slices, refused)
        reactions: list[Reaction] = [Send(answer, to=message.node)]
        lacking = self.retention.lacking(
            asked.slices, asked.numbers, asked.until, room=message.room, epoch=message.epoch
        )
        if lacking:
            reactions.append(Resend(message.node, tuple(lacking)))
        return reactions, changed

    def _entries(self, message: Commit | ReplayRequest) -> Entries:
        entries = entries_of(message, len(self.retention.floors))
        self._counts.impossible += len(message.slices) - len(entries.slices)
        heard = self._balancers.gave(entries.terms)
        self._counts.unheard += len(heard) - int(heard.sum())
        return entries.where(heard)

    def _answer(
        self, node: str, request: int, accepted: Int64s, refused: list[int]
    ) -> ReplayAnswer:
        newest = self.retention.newest[accepted]
        if self.ends is not None:
            newest = np.minimum(newest, self.ends[accepted])
        return ReplayAnswer(
            topic=self._topic,
            writer=self.writer,
            node=node,
            request=request,
            slices=tuple(accepted.tolist()),
            floor=tuple(self.retention.floors[accepted].tolist()),
            last=tuple(newest.tolist()),
            refused=tuple(refused),
            refused_terms=self.fencing.terms(refused),
        )


def tell_committed(on_commit: CommitHook, newly: Newly, node: str) -> None:
    """Tell of everything that is committed now and was not before."""
    columns: list[list[int]] = [column.tolist() for column in newly]
    for slice_id, first, last in zip(*columns, strict=True):
        try:
            on_commit(slice_id, first, last, node)
        except Exception:  # noqa: BLE001 - it is told of the others all the same
            _log.exception("on_commit failed on a commit of slice %d", slice_id)

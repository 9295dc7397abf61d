"""What a publisher has done and holds, and why it is blocked when it is."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.errors import DeliveryTimeout, PublishTimeout, UsageError
from evenflow.errors.words import are, counted, have
from evenflow.slices.consumer.registry.declared import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from threading import Condition

    from evenflow.clock import Clock
    from evenflow.slices.consumer.registry.consumers import Consumers
    from evenflow.slices.publisher.core import PublisherCore
    from evenflow.slices.publisher.sending.owner_writer import OwnerWriters

_log = logging.getLogger(__name__)

TELL_S: Final = 1.0
"""How long callers wait for room before it is told."""
AFTER_ERROR_S: Final = 5.0
"""How long a block that ends by an exception waits until everything is committed."""
NEVER: Final = float("-inf")
"""A time before all others."""


@dataclass(frozen=True, slots=True)
class PublisherStats:
    """What a publisher has done and holds."""

    published: int
    """Items accepted, and those found in the outbox."""
    recovered: int
    """Items found in the outbox that were not committed."""
    committed: int
    """Items committed by their nodes."""
    uncommitted: int
    """Items accepted and not committed."""
    retained_bytes: int
    """Bytes kept for them."""
    refused: int
    """Items that got no slice."""
    thinned: int
    """Items left out before they were numbered, since the topic is overloaded."""
    samples: int
    """Samples written, each with items of many slices."""
    replayed: int
    """Samples sent again on request."""
    skipped: int
    """Samples not written at first: nobody owned their slices, or their node did not keep up."""
    congested: int
    """Nodes that do not keep up right now."""
    stale_commits: int
    """Commits of nodes that no longer own the slice, refused."""
    stale_requests: int
    """Replay requests of nodes that no longer own the slice, refused."""
    ignored: int
    """Messages, or entries of them, that do not fit this publisher."""


def publisher_stats(
    core: PublisherCore,
    *,
    refused: int,
    replayed: int,
    writers: OwnerWriters,
    recovered: int = 0,
) -> PublisherStats:
    """Put together what the parts of a publisher count."""
    counts = core.counts
    return PublisherStats(
        published=counts.published - core.committed_before,
        recovered=recovered,
        committed=counts.committed - core.committed_before,
        uncommitted=core.uncommitted,
        retained_bytes=core.kept,
        refused=refused,
        thinned=counts.thinned,
        samples=writers.samples,
        replayed=replayed,
        skipped=writers.skipped,
        congested=writers.congested,
        stale_commits=counts.stale_commits,
        stale_requests=counts.stale_requests,
        ignored=counts.impossible + counts.other_consumer + counts.foreign,
    )


_NO_NODE: Final = "no node reads this topic (start one with 'evenflow node')"
_NO_MAP: Final = (
    "no node reads this topic, and no balancer has given its slices to nodes: start"
    " 'evenflow balancer' and 'evenflow node', with the same domain.id and number of slices as here"
)


def why_blocked(core: PublisherCore, readers: Container[str], now: float) -> str:
    """Say why nothing is committed, as far as a publisher can see.

    Args:
        core: The publisher.
        readers: The nodes that read.
        now: The time of the core's clock.
    """
    owners = core.routing.map.owners_of(range(core.slice_count)).items()
    unread = sum(len(slices) for node, slices in owners if node not in readers)
    if unread == core.slice_count:
        return _NO_NODE if any(core.routing.map.versions) else _NO_MAP
    consumers = core.consumers
    if consumers is not None and not consumers.names():
        return (
            "no consumer is registered: start a Spark query, evenflow.follow(topic, consumer=NAME)"
            " or 'evenflow archive'"
        )
    if unread:
        return f"{unread} of {core.slice_count} slices {have(unread)} no node"
    when = "never" if core.last_commit is None else f"{now - core.last_commit:.1f} s ago"
    if consumers is not None:
        return _who_is_behind(consumers, core.writer, when)
    if core.last_commit is None:
        return "nodes read this topic, but none has committed anything"
    return f"the last commit came {when}"


def _who_is_behind(consumers: Consumers, writer: int, when: str) -> str:
    behind = consumers.behind(writer)
    names = ", ".join(behind)
    who = f"consumers {names} have" if len(behind) > 1 else f"consumer {names} has"
    said = f"{who} not committed them (the newest commit: {when})"
    if ARCHIVE in behind:
        return f"{said}; 'evenflow archive' writes a durable topic to its store: is it running?"
    name = behind[0] if behind else "NAME"
    return f"{said}; start what does not run, or release it by 'evenflow consumers forget {name}'"


class Complaints:
    """The errors of one publisher, with their causes.

    Args:
        core: The publisher.
        writers: Know which nodes read.
        clock: The time.
        outbox: Folder of its outbox; empty when it has none.
    """

    def __init__(
        self, core: PublisherCore, writers: OwnerWriters, clock: Clock, outbox: str
    ) -> None:
        self._core = core
        self._writers = writers
        self._clock = clock
        self._outbox = outbox

    def too_large(self, size: int, most: int) -> UsageError:
        """An item can never be kept."""
        retention = self._core.limits.retention_bytes
        if most < retention:
            return UsageError(
                f"an item of {size} bytes does not fit the outbox, which takes {most} at once:"
                " raise publisher.outbox_bytes, or send less"
            )
        return UsageError(
            f"an item of {size} bytes does not fit publisher.retention_bytes = {retention}:"
            " raise it, or send less"
        )

    def full(self, waited: float, accepted: int = 0) -> PublishTimeout:
        """There was no room in time."""
        return PublishTimeout(
            self._core.topic,
            waited,
            self._core.kept,
            self._core.sealing.capacity,
            uncommitted=self._core.uncommitted,
            accepted=accepted,
            cause=self.cause(),
            bound="outbox_bytes" if self._outbox else "retention_bytes",
        )

    def late(self, operation: str, waited: float, items: int) -> DeliveryTimeout:
        """The nodes had not everything in time."""
        slices = self._core.retention.dirty()
        return DeliveryTimeout(
            self._core.topic,
            operation,
            waited,
            items=items,
            slices=slices,
            cause=self.cause(),
            outbox=self._outbox,
        )

    def tell_given_up(self, kind: type[BaseException], error: Exception) -> None:
        """A block ended by an exception, and not everything was committed in the time it had."""
        items = 0 if self._outbox else self._core.uncommitted
        given_up = f"{counted(items, 'item')} {are(items)} given up: " if items else ""
        _log.warning(
            "%s ended the block of a publisher of topic %s: %s%s",
            kind.__name__, self._core.topic, given_up, error,
            extra={"event": "publisher-gave-up", "topic": self._core.topic, "items": items},
        )  # fmt: skip

    def cause(self) -> str:
        """Why what is kept is not committed."""
        cause = why_blocked(self._core, self._writers.readers, self._clock.monotonic())
        if not self._core.sealing.has_full_journal:
            return cause
        return f"the outbox {self._outbox} is full, or its disk; {cause}"


class Blockage:
    """What callers wait by; one that lasts is told: a line when it has, and one when it is over.

    Callers may give up and come again; as long as they do not stay away it is the same blockage,
    and told once. Of several that wait at once, each that gets room shows that publishing goes on;
    what was told is over when none of them waits any more.

    Args:
        core: The publisher.
        changed: Notified when there may be room; held by who waits.
        writers: Know which nodes read.
        clock: The time.
    """

    def __init__(
        self, core: PublisherCore, changed: Condition, writers: OwnerWriters, clock: Clock
    ) -> None:
        self._core = core
        self._topic = core.topic
        self._changed = changed
        self._writers = writers
        self._now = clock.monotonic
        self._waiting = 0
        """Callers that wait now."""
        self._since = 0.0
        self._given_up_at = NEVER
        """When the last caller left without room; one that comes soon is of the same blockage."""
        self._told = False

    def wait(self, ready: Callable[[], object], timeout_s: float) -> None:
        """Wait until it is ready, or the time is up."""
        if ready():
            return
        now = self._now()
        if not self._waiting and now - self._given_up_at > TELL_S:
            self._since, self._told = now, False
        self._waiting += 1
        done = False
        try:
            done = self._wait_until(now + timeout_s, ready)
        finally:
            self._waiting -= 1
            self._leave(done=done)

    def _wait_until(self, deadline: float, ready: Callable[[], object]) -> bool:
        while (now := self._now()) < deadline:
            if not self._told and now - self._since >= TELL_S:
                self._tell(now)
            # Others that get room begin it anew, so it may not be told when this wait is over.
            until = deadline if self._told else min(deadline, self._since + TELL_S)
            if self._changed.wait_for(ready, until - now):
                return True
        return False

    def _leave(self, *, done: bool) -> None:
        now = self._now()
        if not done:
            self._given_up_at = now
        elif not self._waiting:
            self._end(now)
        elif not self._told:
            self._since = now

    def _tell(self, now: float) -> None:
        self._told = True
        _log.warning(
            "publishing to topic %s is blocked: %s", self._topic,
            why_blocked(self._core, self._writers.readers, now),
            extra={"event": "publisher-blocked", "topic": self._topic},
        )  # fmt: skip

    def _end(self, now: float) -> None:
        if self._told:
            waited = now - self._since
            _log.warning(
                "publishing to topic %s goes on after %.1f s", self._topic, waited,
                extra={"event": "publisher-goes-on", "topic": self._topic, "blocked_s": waited},
            )  # fmt: skip
        self._given_up_at = NEVER

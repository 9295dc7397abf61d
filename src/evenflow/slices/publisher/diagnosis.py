"""What a publisher has done and holds, and why it is blocked when it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.slices.consumer.registry import Consumers
    from evenflow.slices.publisher.core import PublisherCore


@dataclass(frozen=True, slots=True)
class PublisherStats:
    """What a publisher has done and holds."""

    published: int
    """Items accepted."""
    committed: int
    """Items committed by their nodes."""
    uncommitted: int
    """Items accepted and not committed."""
    retained_bytes: int
    """Bytes kept for them."""
    refused: int
    """Items that got no slice."""
    replayed: int
    """Batches sent again on request."""
    skipped: int
    """Batches not written at first, because their slice was congested."""
    congested: int
    """Slices whose readers do not keep up right now."""
    stale_commits: int
    """Commits of nodes that no longer own the slice, refused."""
    stale_requests: int
    """Replay requests of nodes that no longer own the slice, refused."""
    ignored: int
    """Messages, or entries of them, that do not fit this publisher."""


def publisher_stats(
    core: PublisherCore, *, refused: int, replayed: int, skipped: int, congested: int
) -> PublisherStats:
    """Put together what the parts of a publisher count."""
    counts = core.counts
    return PublisherStats(
        published=counts.published,
        committed=counts.committed,
        uncommitted=core.uncommitted,
        retained_bytes=core.kept,
        refused=refused,
        replayed=replayed,
        skipped=skipped,
        congested=congested,
        stale_commits=counts.stale_commits,
        stale_requests=counts.stale_requests,
        ignored=counts.impossible + counts.other_consumer + counts.foreign,
    )


def why_blocked(core: PublisherCore, unread: int, now: float) -> str:
    """Say why nothing is committed, as far as a publisher can see.

    Args:
        core: The publisher.
        unread: How many slices have no reader.
        now: The time of the core's clock.
    """
    if unread == core.slice_count:
        return "no node reads this topic (start one with 'evenflow node')"
    consumers = core.consumers
    if consumers is not None and not consumers.names():
        return "no consumer is registered (a served topic is read by Spark)"
    if unread:
        return f"{unread} of {core.slice_count} slices have no node"
    when = "never" if core.last_commit is None else f"{now - core.last_commit:.1f} s ago"
    if consumers is not None:
        return _who_is_behind(consumers, core.writer, when)
    if core.last_commit is None:
        return "nodes read this topic, but none has committed anything"
    return f"the last commit came {when}"


def _who_is_behind(consumers: Consumers, writer: int, when: str) -> str:
    names = ", ".join(consumers.behind(writer))
    return (
        f"consumer {names} has not committed them (the newest commit: {when}); start its"
        " query, or release it by 'evenflow consumers forget'"
    )

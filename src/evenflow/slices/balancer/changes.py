"""What changes at the nodes and calls for a plan: joins, leaves, deaths, failed handovers.

The core notices them; the autonomic loop is told of each as an event, and plans. A change waits
until it can be acted upon: a node that joins gets a while to find the publishers, and a plan that
has just failed would fail again, so each failure in a row waits twice as long as the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.autonomic.analyze.balancer_events import BalancerEvent
from evenflow.slices.balancer.membership.members import name_of

if TYPE_CHECKING:
    from evenflow.model.messages import NodeReport
    from evenflow.slices.balancer.owners import Found, Owners

LONGEST_PAUSE = 30.0
"""Seconds that a plan that failed waits at the most before it is made again."""
MOST_WAITING = 1_000


@dataclass(frozen=True, slots=True)
class Change:
    """Something that calls for a plan."""

    event: BalancerEvent
    node: str
    """The node it concerns; empty where it is none."""
    why: str
    """In words, for the history."""


class Changes:
    """The changes of one topic that nobody has planned for yet.

    Args:
        join_after: How long a node that joined waits, in seconds.
        retry_after: How long the first plan that failed waits.
    """

    def __init__(self, join_after: float, retry_after: float) -> None:
        self._join_after = join_after
        self._retry_after = retry_after
        self._pause = retry_after
        self._waiting: list[tuple[float, Change]] = []
        """With the time from which each may be told."""

    def joined(self, node: str, now: float) -> None:
        """A node joined."""
        change = Change(BalancerEvent.NODE_JOINED, node, f"{name_of(node)} joined")
        self._add(change, now + self._join_after)

    def leaving(self, node: str, now: float) -> None:
        """A node wants to leave, or no longer does."""
        self._add(Change(BalancerEvent.NODE_LEAVING, node, f"{name_of(node)} leaves"), now)

    def died(self, node: str, why: str, now: float) -> None:
        """A node is gone; what it joined or left for is void."""
        self._waiting = [each for each in self._waiting if each[1].node != node]
        self._add(Change(BalancerEvent.NODE_DIED, node, why), now)

    def plan_failed(self, joined: str, now: float) -> None:
        """A plan that a change had called for came to nothing: for a node that joined, or not."""
        change = Change(BalancerEvent.HANDOVER_FAILED, "", "a handover failed")
        if joined:
            change = Change(BalancerEvent.NODE_JOINED, joined, f"{name_of(joined)} joined")
        self._add(change, now + self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def handover_done(self) -> None:
        """A handover succeeded: the next failure is a first one."""
        self._pause = self._retry_after

    def begin_with(self, reasons: list[str], idle: Iterable[str], now: float) -> None:
        """A new balancer knows the nodes: only what it found so counts, nothing from before.

        Args:
            reasons: What tells of a membership that changed while nobody balanced.
            idle: Nodes that have nothing, because they joined meanwhile.
            now: The time.
        """
        self._waiting = []
        for node in idle:
            self.joined(node, now)
        if reasons:
            self._add(Change(BalancerEvent.BALANCER_RECOVERED, "", ", ".join(reasons)), now)

    def due(self, now: float) -> list[Change]:
        """The changes that may be planned for now; each is told once."""
        due = [change for at, change in self._waiting if at <= now]
        self._waiting = [(at, change) for at, change in self._waiting if at > now]
        return due

    def _add(self, change: Change, at: float) -> None:
        known = {(each.event, each.node) for _, each in self._waiting}
        if (change.event, change.node) not in known and len(known) < MOST_WAITING:
            self._waiting.append((at, change))


def found_by_a_new_balancer(
    sessions: Mapping[int, Found], owners: Owners, nodes: Mapping[str, NodeReport]
) -> Iterator[str]:
    """What tells of a membership that changed while nobody balanced; else all stays as it is."""
    if not any(owners.of):
        return  # the beginning: everything is shared out evenly anyway
    if sessions:
        yield "a handover was interrupted"
    if "" in owners.of:
        yield "slices had no owner"
    yield from (f"{name_of(node)} leaves" for node, report in nodes.items() if report.leaving)


def idle_nodes(owners: Owners, nodes: Mapping[str, NodeReport]) -> list[str]:
    """Nodes that joined while nobody balanced: they stay, and have nothing though others do."""
    if not any(owners.of):
        return []
    return [node for node, report in nodes.items() if not report.leaving and not report.slices]

"""Orders to TAKE that are under way: one node owns slices because the balancer says so.

That is how a slice gets its first owner, how it is taken over from a dead one, how it goes back
after a cancelled session, and how a node is brought in line with the map. The order is repeated
until it is acknowledged, each time after twice the pause
(:mod:`~evenflow.slices.backoff`). What a node refuses is ordered anew after a
pause, which grows while it goes on refusing.

What a report says and what the map says must agree in the end (:func:`differences`). A node lacks a
slice that it owns by the map and does not process under the map's term: an order was lost, or one
of a former balancer came late. It has forgotten to give up a slice that it was taking in a session
that is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.model.messages import NodeReport, Order, SliceState, Step
from evenflow.slices.actions import Send
from evenflow.slices.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Container

    from evenflow.model.messages import Ack
    from evenflow.slices.balancer.owners import Owners

LONGEST_REFUSED = 30.0
"""Seconds until a node that goes on refusing is asked again, at the most."""


@dataclass(slots=True)
class Takeover:
    """A takeover, a first assignment or a way back: one node owns slices by order."""

    term: int
    node: str
    slices: tuple[int, ...]
    giver: str
    cause: str
    why: str
    """The reason in words."""
    started: float
    next_order: float
    backoff: Backoff | None = None
    """The pauses between its orders."""


class Takeovers:
    """What one topic's balancer has ordered to take and not heard of."""

    def __init__(self, topic: str, retry: float) -> None:
        self.open: dict[int, Takeover] = {}
        """By term."""
        self._topic = topic
        self._retry = retry
        self._refusing: dict[str, Backoff] = {}
        """Nodes that refused what they were ordered last."""

    def add(self, take: Takeover) -> None:
        """Order it from now on."""
        self.open[take.term] = take

    def answered(self, ack: Ack) -> Takeover | None:
        """The take that an acknowledgement ends."""
        take = self.open.get(ack.term)
        if take is None or ack.node != take.node or Step(ack.step) is not Step.TAKE:
            return None
        if ack.ok:
            self._refusing.pop(ack.node, None)
        return self.open.pop(ack.term)

    def on_refused(self, node: str) -> float:
        """A node refused to take: how long to wait before it is ordered anything of it again."""
        return self._refusing.setdefault(node, Backoff(self._retry, LONGEST_REFUSED)).next()

    def forget(self, node: str) -> None:
        """A node is gone."""
        self._refusing.pop(node, None)
        for take in [take for take in self.open.values() if take.node == node]:
            del self.open[take.term]

    def slices(self) -> set[int]:
        """Slices that are being taken."""
        return {slice_id for take in self.open.values() for slice_id in take.slices}

    def poll(self, now: float) -> list[Send]:
        """What to order now."""
        actions: list[Send] = []
        for take in self.open.values():
            if now >= take.next_order:
                take.backoff = take.backoff or Backoff(self._retry)
                take.next_order = now + take.backoff.next()
                order = Order(self._topic, take.node, take.term, Step.TAKE, take.slices, "")
                actions.append(Send(order, to=take.node))
        return actions


@dataclass(frozen=True, slots=True)
class Differences:
    """What has to be done about a node's report."""

    lacking: tuple[int, ...]
    """Slices the node has to take."""
    forgotten: dict[int, tuple[int, ...]]
    """Slices it is still taking, by the term of a session that nobody leads."""


def differences(
    report: NodeReport,
    owners: Owners,
    sessions: Container[int],
    changing: Container[int],
) -> Differences:
    """Compare a report with the map; ``changing``: in a session or being taken right now."""
    works_on = set()
    forgotten: dict[int, list[int]] = {}
    for slice_id, state, term in zip(report.slices, report.states, report.terms, strict=True):
        if state == SliceState.AVAILABLE:
            works_on.add((slice_id, term))
        elif state == SliceState.TAKING and term not in sessions:
            forgotten.setdefault(term, []).append(slice_id)
    lacking = tuple(
        slice_id
        for slice_id in owners.owned_by(report.node)
        if (slice_id, owners.terms[slice_id]) not in works_on and slice_id not in changing
    )
    return Differences(lacking, {term: tuple(slices) for term, slices in forgotten.items()})

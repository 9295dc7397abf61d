"""Mandatory handovers: orders of plans relayed to nodes, and what came of each.

A plan names nodes of this gateway and where they shall go. Each is told, at the pace that the plan
wants; its executor is in the client. The node says ``Outcome`` where it is then, as a rule at the
new gateway, which passes it on (:class:`~evenflow.model.messages.NodeOutcome`) to the one that the
order names first. Where none comes, the announcement of the new gateway stands in for it after a
moment. When every node has an outcome, or the time is over, the order is answered as a whole, with
a receipt for each node.

Lost and repeated are counted: the node says how far this gateway has accepted as it knows, and goes
on from there; what was accepted here is known here. The difference is lost, or repeated.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenflow.edge.actions import Write
from evenflow.errors.words import counted
from evenflow.mobile.gateway.events import HandoverReceipt, Ordered, Send
from evenflow.mobile.link.frames import Handover
from evenflow.model.messages import NodeOutcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.mobile.gateway.events import Action, HandoverOrder
    from evenflow.mobile.gateway.sessions import NodeSession, NodeSessions
    from evenflow.mobile.link.frames import Outcome
    from evenflow.model.messages import Attachment

MOST_ORDERS: Final = 64
"""Orders under way; more are refused."""
LOOK_S: Final = 0.1
"""How often to look who has moved or is late."""
GRACE_S: Final = 1.0
"""How long an outcome may come later than the announcement of the new gateway."""


@dataclass(slots=True)
class Going:
    """A node that was told to go."""

    told_at: float
    connection: int
    accepted: dict[str, int]
    """How far its items are accepted here; followed until it has left."""
    target: str = ""
    moved_at: float | None = None
    outcome: NodeOutcome | None = None


@dataclass(slots=True)
class Order:
    """An order under way."""

    order: HandoverOrder
    began: float
    ends: float
    to_tell: deque[str]
    next_at: float
    look_at: float
    """When to look who has moved or is late."""
    going: dict[str, Going] = field(default_factory=dict)
    receipts: list[HandoverReceipt] = field(default_factory=list)


class Handovers:
    """The orders of a gateway.

    Args:
        name: This gateway.
        sessions: The clients.
        is_known: Whether another gateway is there.
        out: Where actions go.
    """

    def __init__(
        self,
        name: str,
        sessions: NodeSessions,
        is_known: Callable[[str], bool],
        out: list[Action],
    ) -> None:
        self._name = name
        self._is_known = is_known
        self._sessions = sessions
        self._out = out
        self._orders: dict[str, Order] = {}

    @property
    def under_way(self) -> int:
        """Orders that are not answered."""
        return len(self._orders)

    @property
    def going(self) -> set[str]:
        """Nodes that were told to go, or will be."""
        orders = self._orders.values()
        return {node for order in orders for node in (*order.going, *order.to_tell)}

    def begin(self, order: HandoverOrder, now: float) -> None:
        """Tell nodes to go."""
        if order.key in self._orders:
            return
        if len(self._orders) >= MOST_ORDERS:
            reason = f"{MOST_ORDERS} handover orders are under way here: wait for them"
            self._out.append(Ordered(order.key, ok=False, reason=reason, receipts=()))
            return
        self._orders[order.key] = Order(
            order, now, now + order.within_s + GRACE_S, deque(dict.fromkeys(order.nodes)), now, now
        )
        self.go_on(now)

    def _tell(self, order: Order, now: float) -> None:
        wanted = order.order
        step = 1.0 / wanted.pace_per_s if wanted.pace_per_s > 0 else 0.0
        while order.to_tell and now >= order.next_at:
            order.next_at += step
            node = order.to_tell.popleft()
            session = self._sessions.attached(node)
            if session is None:
                self._receipt(order, node, None, "is not attached here")
                continue
            left = wanted.within_s - (now - order.began)
            order.going[node] = Going(now, session.connection, session.accepted)
            handover = Handover(
                f"{self._name} {wanted.key}",
                wanted.addresses,
                max(left, 0.001),
                wanted.make_before_break,
            )
            self._out.append(Send(session.link, handover))

    # -- what comes of it --------------------------------------------------------------------------

    def on_frame(self, session: NodeSession, frame: Outcome) -> None:
        """A node here says what came of an order, of this gateway or of another."""
        outcome = NodeOutcome(
            self._name,
            session.client,
            frame.order,
            frame.ok,
            frame.reason,
            frame.milliseconds,
            frame.in_flight,
            tuple(frame.left),
            tuple(frame.left.values()),
        )
        source = frame.order.partition(" ")[0]
        if source == self._name:
            self.on_outcome(outcome)
        elif self._is_known(source):
            self._out.append(Write(outcome, source))

    def on_outcome(self, outcome: NodeOutcome) -> None:
        """What came of an order for a node; one that nobody waits for is old, and harmless."""
        order = self._orders.get(outcome.order.partition(" ")[2])
        going = None if order is None else order.going.get(outcome.node)
        if order is None or going is None:
            return
        going.outcome = outcome
        if outcome.gateway != self._name:
            going.target = outcome.gateway
        self._done(order, outcome.node, going)

    def on_attached_elsewhere(self, there: Attachment, now: float) -> None:
        """A node is attached to another gateway."""
        node, gateway = there.node, there.gateway
        for order in list(self._orders.values()):
            going = order.going.get(node)
            if going is None or there.connection <= going.connection:
                continue
            if not going.target:
                going.target, going.moved_at = gateway, now

    def _done(self, order: Order, node: str, going: Going) -> None:
        del order.going[node]
        self._receipt(order, node, going, "")
        self._finish(order)

    def _receipt(self, order: Order, node: str, going: Going | None, reason: str) -> None:
        outcome = None if going is None else going.outcome
        ok = not reason and (outcome.ok if outcome is not None else True)
        milliseconds, in_flight = 0.0, 0
        lost: int | None = None
        repeated: int | None = None
        if outcome is not None and going is not None:
            reason = reason or outcome.reason
            milliseconds, in_flight = outcome.milliseconds, outcome.in_flight
            lost, repeated = _counted(going.accepted, outcome)
        elif going is not None and going.moved_at is not None:
            milliseconds = (going.moved_at - going.told_at) * 1e3
        receipt = HandoverReceipt(
            order.order.key,
            node,
            self._name,
            "" if going is None else going.target,
            ok,
            reason,
            milliseconds,
            in_flight,
            lost,
            repeated,
        )
        order.receipts.append(receipt)
        self._out.append(receipt)

    # -- by time -----------------------------------------------------------------------------------

    def deadline(self) -> float | None:
        """When to go on."""
        if not self._orders:
            return None
        waits = [order.look_at for order in self._orders.values()]
        waits += [order.next_at for order in self._orders.values() if order.to_tell]
        return min(waits)

    def go_on(self, now: float) -> None:
        """Tell the next ones; give up who has not answered."""
        for order in list(self._orders.values()):
            self._tell(order, now)
            if now >= order.look_at:
                order.look_at = now + LOOK_S
                self._look(order, now)
            self._finish(order)

    def _look(self, order: Order, now: float) -> None:
        """Who has moved has an outcome; after the end who has not moved has one too."""
        over = now >= order.ends
        for node, going in list(order.going.items()):
            moved = going.moved_at is not None and now >= going.moved_at + GRACE_S
            if moved or over:
                del order.going[node]
                silent = not moved and going.outcome is None
                self._receipt(order, node, going, "has not answered in time" if silent else "")
        if over:
            for node in order.to_tell:
                self._receipt(order, node, None, "was not told in time")
            order.to_tell.clear()

    def _finish(self, order: Order) -> None:
        if order.to_tell or order.going or self._orders.get(order.order.key) is not order:
            return
        del self._orders[order.order.key]
        failed = [one for one in order.receipts if not one.ok]
        moved = len(order.receipts) - len(failed)
        reason = f"{moved} of {counted(len(order.receipts), 'node')} moved"
        if failed:
            reason += f"; {failed[0].node} {failed[0].reason}"
            reason += f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        self._out.append(Ordered(order.order.key, not failed, reason, tuple(order.receipts)))


def _counted(accepted: dict[str, int], outcome: NodeOutcome) -> tuple[int | None, int | None]:
    """Items lost and repeated between here and the new gateway; None when the node did not say."""
    lost = repeated = 0
    if accepted and not outcome.topics:
        return None, None
    for topic, left in zip(outcome.topics, outcome.left, strict=False):
        gap = left - accepted.get(topic, 0)
        lost += max(0, gap)
        repeated += max(0, -gap)
    return lost, repeated

"""What an operator hears of a gateway without asking: other gateways' deaths, failed handovers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from evenflow.errors.words import counted
from evenflow.mobile.gateway.events import NotHeard
from evenflow.model.messages import GatewayReport

if TYPE_CHECKING:
    from evenflow.mobile.gateway.events import Event, HandoverReceipt
    from evenflow.mobile.gateway.neighbours import Neighbours

_log = logging.getLogger(__name__)


def tell_lost(event: Event, neighbours: Neighbours) -> None:
    """A gateway is heard no more: a warning, unless it was about to end."""
    if not isinstance(event, NotHeard) or event.kind is not GatewayReport:
        return
    last = neighbours.report_of(event.name)
    if last is None or last.draining:
        return
    _log.warning(
        "gateway %s died or is not heard any more; it had %s",
        event.name, counted(last.nodes, "node"),
        extra={"event": "gateway-died", "gateway": event.name, "nodes": last.nodes},
    )  # fmt: skip


def tell_handover(receipt: HandoverReceipt) -> None:
    """A node has moved to another gateway, or has not."""
    if receipt.ok:
        _log.info(
            "node %s went to %s in %.0f ms",
            receipt.node, receipt.target or "another gateway", receipt.milliseconds,
        )  # fmt: skip
        return
    _log.warning(
        "the handover of node %s failed: %s", receipt.node, receipt.reason,
        extra={"event": "mobile-handover-failed", "node": receipt.node, "order": receipt.order},
    )  # fmt: skip

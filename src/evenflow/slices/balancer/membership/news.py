"""What an operator hears of a balancer without asking: a line in the log for each, and counts.

Deaths of nodes, takeovers, handovers that failed and nodes that are refused are warnings; what goes
as it should is told to who asks for more (``-v``). Only the balancer that leads tells.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from evenflow.errors.words import counted
from evenflow.model.ids import NodeId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.messages import NodeReport, Receipt, Refusal

_LOG = logging.getLogger(__name__)

DONE = "done"
ALARMING = ("takeover", "return")
"""Causes of moves that nobody wanted."""


class News:
    """Tells and counts what happens to nodes and slices."""

    def __init__(self) -> None:
        self.moves: Counter[tuple[str, str, str]] = Counter()
        """Moves by topic, cause and outcome: ``done`` or ``failed``."""
        self.moved: Counter[tuple[str]] = Counter()
        """Slices that moved, by topic."""
        self.deaths: Counter[tuple[str]] = Counter()
        """Nodes that were there no more without having left, by topic."""
        self._known: dict[str, dict[str, NodeReport]] = {}
        self._refused: set[tuple[str, str]] = set()

    def look(self, topic: str, nodes: Mapping[str, NodeReport], *, leads: bool) -> None:
        """These are the nodes of a topic now."""
        known = self._known.get(topic, {})
        for node in known.keys() - nodes.keys():
            self._refused.discard((topic, node))
            if leads:
                self._on_gone(known[node])
        self._known[topic] = dict(nodes)

    def _on_gone(self, last: NodeReport) -> None:
        held = len(last.slices)
        fields = {"topic": last.topic, "node": last.node, "slices": held}
        if last.leaving:
            _LOG.info(
                "node %s of topic %s has left", last.node, last.topic,
                extra={"event": "node-left", **fields},
            )  # fmt: skip
            return
        self.deaths[last.topic,] += 1
        _LOG.warning(
            "node %s of topic %s died or is not heard any more; it had %s",
            last.node, last.topic, counted(held, "slice"), extra={"event": "node-died", **fields},
        )  # fmt: skip

    def on_receipt(self, receipt: Receipt) -> None:
        """A move is over."""
        cause, done = receipt.cause.partition(" ")[0], receipt.outcome == DONE
        self.moves[receipt.topic, cause, DONE if done else "failed"] += 1
        self.moved[receipt.topic,] += len(receipt.slices) if done else 0
        _LOG.log(
            logging.WARNING if not done or cause in ALARMING else logging.INFO,
            "%s: %s of %s from %s to %s in %.1f ms, %s moved, %d replayed: %s (%s)",
            receipt.cause, counted(len(receipt.slices), "slice"), receipt.topic,
            NodeId(receipt.giver).name or "nobody", NodeId(receipt.taker).name, receipt.ms,
            counted(receipt.moved, "item"), receipt.replayed, receipt.outcome, receipt.why,
            extra={
                "event": f"{cause}-{DONE if done else 'failed'}", "topic": receipt.topic,
                "giver": receipt.giver, "taker": receipt.taker, "slices": len(receipt.slices),
                "ms": round(receipt.ms, 1), "moved": receipt.moved, "replayed": receipt.replayed,
            },
        )  # fmt: skip

    def on_refusal(self, refusal: Refusal) -> None:
        """A node gets no slices. Told once: the node is told again and again."""
        if (refusal.topic, refusal.node) not in self._refused:
            self._refused.add((refusal.topic, refusal.node))
            _LOG.error(
                "a node gets no slices: %s", refusal.reason,
                extra={"event": "node-refused", "topic": refusal.topic, "node": refusal.node},
            )  # fmt: skip

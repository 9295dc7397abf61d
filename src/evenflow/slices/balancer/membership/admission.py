"""Admission: a node whose configuration does not fit the topic is refused at the door.

How a topic is set up (into how many slices it is cut, by which assignment, served or not) must be
the same in all processes; the balancer's word counts. A node says in its reports how it has the
topic. One that has it otherwise is not given slices and is no member: nothing is ordered from it,
and the map never names it. It is told why (``Refusal``), and so is everybody who looks, in words
that say what to do. The message is kept by DDS and repeated now and then, in case it was lost.

The node goes on running: it may be the balancer that was started with the wrong file, and then
nobody should have to start all nodes again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import Refusal
from evenflow.slices.actions import Send

if TYPE_CHECKING:
    from evenflow.model.messages import NodeReport

SILENT_S = 10.0
"""A refused node that has not reported for this long is forgotten."""
REPEAT_S = 5.0
"""How often a refused node is told again."""
MOST_REFUSED = 1_000
"""Refused nodes that are remembered; beyond it the oldest is told again when it reports."""


class Admission:
    """Who may take part in one topic.

    Args:
        topic: The topic.
        layout: How it is set up, as :attr:`evenflow.config.TopicConfig.layout` puts it; empty
            admits everybody.
    """

    def __init__(self, topic: str, layout: str = "") -> None:
        self.refused: dict[str, str] = {}
        """Nodes that were refused, and why."""
        self._topic, self._layout = topic, layout
        self._tell_at: dict[str, float] = {}
        self._heard_at: dict[str, float] = {}

    def admits(self, report: NodeReport, now: float) -> bool:
        """Whether a node fits; one that does not will be told."""
        node, theirs = report.node, report.layout
        if not self._layout or not theirs or theirs == self._layout:
            self.forget(node)
            return True
        self._heard_at[node] = now
        if node not in self.refused:
            self.refused[node] = (
                f"{node} has topic {self._topic} as {theirs}, the balancer as {self._layout}:"
                f" give both the same [topics.{self._topic}] and start the one that was wrong again"
            )
            self._tell_at[node] = 0.0
            if len(self.refused) > MOST_REFUSED:
                self.forget(next(iter(self.refused)))
        return False

    def forget(self, node: str) -> None:
        """A node is gone, or fits now."""
        self.refused.pop(node, None)
        self._tell_at.pop(node, None)
        self._heard_at.pop(node, None)

    def poll(self, now: float) -> list[Send]:
        """Whom to tell now."""
        for node in [n for n, at in self._heard_at.items() if now - at > SILENT_S]:
            self.forget(node)
        due = [node for node, at in self._tell_at.items() if now >= at]
        self._tell_at.update(dict.fromkeys(due, now + REPEAT_S))
        return [Send(Refusal(self._topic, node, self.refused[node])) for node in due]

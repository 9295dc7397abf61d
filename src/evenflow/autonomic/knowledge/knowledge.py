"""What a planner knows when it is asked (the K of MAPE-K).

Every planner is given the same, ours and those that other packages offer: the event with the
readings that raised it, the newest properties of every process, a snapshot of what is balanced, and
the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.autonomic.analyze.local_events import EventNotification
    from evenflow.autonomic.knowledge.history import History
    from evenflow.model.snapshot import LoadSnapshot


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Everything a planner may look at. It must change none of it."""

    event: EventNotification
    """What it is asked about, with the values that were seen."""
    time: float
    """Now, on the clock of the snapshots."""
    properties: Mapping[str, Mapping[str, float]]
    """The newest report of every process: values of its properties by name, by the process's id."""
    snapshot_of: Callable[[str], LoadSnapshot]
    """Nodes, slices and loads of a topic, by the topic's name; raises `UnknownName` for others."""
    history: History
    """What was seen, planned and done before; to be read only."""
    term: int = 0
    """Under which the balancer leads that asks: whoever leads after it has a larger one."""

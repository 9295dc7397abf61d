"""Figures of a query in its own progress: lag, what was left out, damaged or lost, and the nodes.

Spark's Python sources can tell no ``metrics`` and no description (Spark 4.3.0:
``PythonMicroBatchStream`` has neither ``ReportsSourceMetrics`` nor a text of its own). They can
report how far the newest data is. That report, ``sources[].latestOffset``, is JSON of any form; so
it names the topics, and carries the figures. :func:`figures` reads them.

When nothing happens they do not change: an idle query shows the same report again and again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.ids import Position

FIGURES: Final = "figures"


class NodeFigures(msgspec.Struct, frozen=True):
    """One serving node, as the query sees it."""

    slices: int
    """How many slices it owns."""
    epochs_behind: int
    """How many closed epochs it does not have whole yet, of the publisher furthest ahead."""


class Figures(msgspec.Struct, frozen=True):
    """A query in one topic, at the end of a micro-batch."""

    lag_items: int = 0
    """Items that were published, in closed epochs, and not read yet."""
    lag_seconds: float = 0.0
    """How long the oldest epoch has waited that is closed and not read; since the driver heard
    of it."""
    lag_epochs: int = 0
    """Closed epochs that are not read, of the publisher furthest ahead."""
    thinned: int = 0
    """Items that publishers left out up to here, since they began."""
    damaged: int = 0
    """Payloads that could not be decoded since the driver started, as tasks have told it."""
    lost: int = 0
    """Epochs that were skipped since the driver started because nobody has them
    (``failOnDataLoss``)."""
    nodes: dict[str, NodeFigures] = {}
    """The nodes that serve the topic."""


def report_of(closed: Position, figures: Figures) -> dict[str, Any]:
    """What a query reports of a topic: how far publishers are, and the figures."""
    return {**closed.to_json(), FIGURES: msgspec.to_builtins(figures)}


def figures(progress: Mapping[str, Any]) -> dict[str, Figures]:
    """The figures of a query by topic, from its progress.

    Args:
        progress: ``query.lastProgress``, or one of ``query.recentProgress``.
    """
    found: dict[str, Figures] = {}
    for source in progress.get("sources", ()):
        latest = source.get("latestOffset")
        try:
            topics = json.loads(latest) if isinstance(latest, str) else latest
        except ValueError:
            continue
        for topic, report in topics.items() if isinstance(topics, dict) else ():
            if isinstance(report, dict) and FIGURES in report:
                found[topic] = msgspec.convert(report[FIGURES], Figures)
    return found

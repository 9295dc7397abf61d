"""What came of handover orders, as deeds of the history that all planners share.

A deed for each order, with its figures; the receipt of each node is in the log. The history is
written by a thread of its own: it may have to wait for another process.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import TYPE_CHECKING

from evenflow.autonomic.knowledge.history import History
from evenflow.autonomic.knowledge.records import Deed
from evenflow.closing import Closing
from evenflow.errors.words import counted

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.mobile.gateway.events import Ordered

CAUSE = "mobile-handover"


def deed_of(gateway: str, answer: Ordered, wall: float) -> Deed:
    """What an order has come to."""
    moved = [one for one in answer.receipts if one.ok]
    times = [one.milliseconds for one in moved]
    known = [one for one in moved if one.lost is not None and one.repeated is not None]
    plan = "" if answer.key.startswith("drain/") else answer.key.partition("/")[0]
    targets = sorted({one.target for one in moved if one.target})
    figures: dict[str, float | str] = {
        "nodes": len(answer.receipts),
        "moved": len(moved),
        "ms_median": round(median(times), 1) if times else 0.0,
        "ms_most": round(max(times, default=0.0), 1),
        "in_flight": sum(one.in_flight for one in moved),
        "counted": len(known),
        "lost": sum(one.lost or 0 for one in known),
        "repeated": sum(one.repeated or 0 for one in known),
    }
    return Deed(
        time=wall,
        cause=CAUSE,
        what=f"{counted(len(moved), 'node')} from {gateway} to {', '.join(targets) or 'nowhere'}",
        why="the gateway drains" if not plan else f"plan {plan}",
        outcome="done" if answer.ok else answer.reason,
        plan_id=plan,
        figures=figures,
    )


class HandoverHistory(Closing):
    """Writes deeds down.

    Args:
        gateway: Whose.
        path: The history's file.
        keep: About how many entries are kept in it.
    """

    def __init__(self, gateway: str, path: Path, keep: int) -> None:
        self._gateway = gateway
        self._thread = ThreadPoolExecutor(1, f"{gateway} history")
        self._history = self._thread.submit(History, path, keep=keep).result()

    def add(self, answer: Ordered, wall: float) -> None:
        """Write down what came of an order, soon."""
        if answer.receipts:
            self._thread.submit(self._history.add_deed, deed_of(self._gateway, answer, wall))

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._thread.submit(self._history.close).result()
        self._thread.shutdown()

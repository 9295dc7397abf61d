"""What ``evenflow up`` shows: rate, slices, backlog and CPU of each node, and the last moves."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

import psutil
from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from evenflow.model.messages import NodeReport, Receipt
    from evenflow.slices.observer import Observer

LAST_MOVES = 8


class Source(Protocol):
    """Where the items come from."""

    @property
    def published(self) -> int:
        """Items published so far."""
        ...


class Watch:
    """Looks at a topic and keeps what a rate needs: the previous look."""

    def __init__(self, observer: Observer, topic: str, source: Source) -> None:
        self._observer = observer
        self._view = observer.view(topic)
        self._topic = topic
        self._source = source
        self._started = time.monotonic()
        self._looked = self._started
        self._published = 0
        self._rate = 0.0
        self._items: dict[str, int] = {}
        self._rates: dict[str, float] = {}
        self._processes: dict[int, psutil.Process] = {}

    def look(self, seconds: float) -> None:
        """Take in what happens within this time."""
        self._observer.look(seconds)
        now = time.monotonic()
        passed, self._looked = now - self._looked, now
        published = self._source.published
        self._rate, self._published = (published - self._published) / passed, published
        for node, report in self._view.nodes.items():
            before = self._items.get(node, report.items)
            self._rates[node] = (report.items - before) / passed
            self._items[node] = report.items

    def line(self) -> str:
        """One line for a log."""
        nodes = self._view.nodes
        slices = "/".join(str(len(report.slices)) for _, report in sorted(nodes.items()))
        backlog = sum(report.backlog_items for report in nodes.values())
        return (
            f"{self._looked - self._started:6.1f} s  published {self._published:,} "
            f"({self._rate:,.0f}/s)  nodes {len(nodes)}  slices {slices or '-'}  "
            f"backlog {backlog:,}  moves {len(self._view.receipts)}"
        )

    def table(self) -> RenderableType:
        """Everything, for a terminal."""
        balancer = "balancing" if self._view.balancer else "no balancer yet"
        head = Text(
            f"topic {self._topic}: {self._published:,} items published, {self._rate:,.0f}/s, "
            f"{self._looked - self._started:.0f} s, {balancer}"
        )
        return Group(head, self._nodes(), self._moves())

    def _nodes(self) -> Table:
        table = Table("node", "slices", "items/s", "items", "backlog", "lost", "CPU %")
        for node, report in sorted(self._view.nodes.items()):
            table.add_row(
                node.partition("~")[0],
                str(len(report.slices)),
                f"{self._rates.get(node, 0.0):,.0f}",
                f"{report.items:,}",
                f"{report.backlog_items:,}",
                str(report.lost),
                self._cpu(report),
            )
        return table

    def _cpu(self, report: NodeReport) -> str:
        """CPU of the node's process since the last look; a dash when it is not on this machine."""
        try:
            process = self._processes.get(report.pid)
            if process is None:
                process = self._processes[report.pid] = psutil.Process(report.pid)
            return f"{process.cpu_percent():.0f}"
        except psutil.Error:
            return "-"

    def _moves(self) -> Table:
        table = Table("move", "slices", "from", "to", "ms", "items", "replayed", "outcome")
        for receipt in self._view.receipts[-LAST_MOVES:]:
            table.add_row(*_move(receipt))
        return table


def _move(receipt: Receipt) -> tuple[str, ...]:
    return (
        receipt.cause,
        str(len(receipt.slices)),
        receipt.giver.partition("~")[0],
        receipt.taker.partition("~")[0],
        f"{receipt.ms:.1f}",
        str(receipt.moved),
        str(receipt.replayed),
        receipt.outcome,
    )

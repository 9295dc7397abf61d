"""What ``evenflow up`` shows: the fleet, Spark, every node, the last moves and alerts.

A terminal gets a table that is drawn again and again; anything else gets a line now and then.
"""

from __future__ import annotations

import contextlib
import time
from statistics import median_low
from typing import TYPE_CHECKING, Final

import psutil
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from evenflow.cli.nodes import state_name
from evenflow.model.ids import NodeId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from evenflow.domain.observer import Observer
    from evenflow.fleet.local import LocalFleet
    from evenflow.model.messages import Receipt

MOST_ROWS: Final = 5
"""Moves and alerts that are shown at most."""
WIDE: Final = 115
"""From this many columns on, moves and alerts stand side by side."""
MOVE_WIDTH: Final = 58
"""Columns of a move before its reason."""
ALERT_WIDTH: Final = 50
"""Columns of an alert, and the space before it."""
LIST_LINES: Final = 3
"""Lines of a list besides its rows."""
OTHER_LINES: Final = 14
"""Lines of the whole besides the rows of nodes, moves and alerts, with one list under the nodes."""
RATE_S: Final = 2.0
"""Rates are those of about this long."""


class Rate:
    """How fast a count grows, over the last moments."""

    def __init__(self) -> None:
        self._counts: list[tuple[float, int]] = []

    def note(self, now: float, count: int) -> None:
        """The count has come to this; a smaller one begins anew."""
        if self._counts and count < self._counts[-1][1]:
            self._counts.clear()
        self._counts.append((now, count))
        while len(self._counts) > 2 and now - self._counts[1][0] >= RATE_S:
            del self._counts[0]

    def per_s(self) -> float:
        """What it grows by in a second."""
        if len(self._counts) < 2:
            return 0.0
        (began, first), (ended, last) = self._counts[0], self._counts[-1]
        return (last - first) / (ended - began) if ended > began else 0.0


class Usage:
    """How much of a CPU some processes of this machine use together."""

    def __init__(self) -> None:
        self.percent: float | None = None
        """In the time between the last two notes; None when none of them is here."""
        self._known: dict[int, psutil.Process] = {}

    def note(self, pids: Iterable[int]) -> None:
        """These are the processes now."""
        known, total = {}, 0.0
        for pid in pids:
            with contextlib.suppress(psutil.Error):
                process = self._known.get(pid) or psutil.Process(pid)
                total += process.cpu_percent()
                known[pid] = process
        self._known = known
        self.percent = total if known else None


class Watch:
    """Looks at a fleet's job from time to time, and keeps what rates need."""

    def __init__(self, observer: Observer, fleet: LocalFleet, domain: int) -> None:
        self._observer = observer
        self._view = observer.view(fleet.topic)
        self._fleet = fleet
        self._domain = domain
        self._started = self._now = time.monotonic()
        self._published = Rate()
        self._read: dict[str, Rate] = {}
        self._cpu: dict[str, Usage] = {}
        self._spark_cpu = Usage()
        self.note = ""
        """What is going on, when that is not the ordinary."""
        self.hint = ""
        """What the user may do; for a terminal."""

    def look(self, seconds: float) -> None:
        """Take in what happens within this time."""
        self._observer.look(seconds)
        self._fleet.look()
        self._now = time.monotonic()
        self._published.note(self._now, self._fleet.published)
        for node in self._read.keys() - self._view.nodes.keys():
            del self._read[node], self._cpu[node]
        for node, report in self._view.nodes.items():
            self._read.setdefault(node, Rate()).note(self._now, report.items)
            self._cpu.setdefault(node, Usage()).note([report.pid])
        spark = self._fleet.spark
        self._spark_cpu.note([spark.pid, *(process.pid for process in spark.family())])

    @property
    def seconds(self) -> float:
        """How long this has been going on."""
        return self._now - self._started

    @property
    def moves(self) -> int:
        """Moves of slices from one node to another, so far."""
        return sum(bool(one.giver) and one.outcome == "done" for one in self._view.receipts)

    @property
    def state(self) -> str:
        """What is going on, when that is not the ordinary; also how far Spark's start is."""
        if self.note or self._fleet.ready:
            return self.note
        return f"Spark: {self._fleet.phase or 'starting'}"

    # -- a line for a log -------------------------------------------------------------------------

    def line(self) -> str:
        """Everything in one line."""
        fleet, nodes = self._fleet, self._view.nodes
        parts = [f"{self.seconds:5.1f} s"]
        if self.state:
            parts.append(self.state)
        slices = "/".join(str(len(report.slices)) for _, report in sorted(nodes.items()))
        books = fleet.traffic.books()
        parts += [
            f"{self._published.per_s():,.0f} reports/s",
            f"lag {fleet.uncommitted:,}",
            f"slices {slices or '-'}",
            f"CPU {'/'.join(_percent(self._cpu[node]) for node in sorted(nodes)) or '-'} %",
            f"devices {self._served() or '-'}",
            f"moves {self.moves}",
            f"alerts {books.found} of {books.planted}",
        ]
        return "  ".join(parts)

    # -- a table for a terminal -------------------------------------------------------------------

    def table(self, width: int, height: int) -> RenderableType:
        """Everything, for a terminal of some size."""
        nodes = self._nodes()
        room = height - OTHER_LINES - max(1, len(self._view.nodes))
        if width >= WIDE:
            lists = Table.grid(padding=(0, 4))
            rows = max(1, min(MOST_ROWS, room))
            lists.add_row(self._moves(rows, width - ALERT_WIDTH), self._alerts(rows))
            last: list[RenderableType] = [lists]
        else:
            rows = max(1, min(MOST_ROWS, (room - LIST_LINES) // 2))
            last = [self._moves(rows, width), Text(), self._alerts(rows)]
        return Group(
            self._summary(),
            Text(),
            nodes,
            Text(),
            *last,
            Text(),
            Text(self.note or self.hint, style="dim"),
        )

    def _summary(self) -> Table:
        fleet = self._fleet
        books = fleet.traffic.books()
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column()
        balancer = "" if self._view.balancer else ", no balancer yet"
        grid.add_row(
            "evenflow",
            f"domain {self._domain}, topic {fleet.topic}{balancer}, {self._devices()},"
            f" {self._clock()}",
        )
        attached = "/".join(f"{count:,}" for count in fleet.radios.attached().values())
        grid.add_row(
            "fleet",
            f"{fleet.numbers.vehicles:,} vehicles ({attached or 'none yet'} at gateways), "
            f"{self._published.per_s():,.0f} reports/s, {fleet.traffic.in_trouble} in trouble",
        )
        grid.add_row("Spark", self._spark())
        trips = books.round_trips
        trip = f", round trip {median_low(one.whole_s for one in trips):.1f} s" if trips else ""
        grid.add_row(
            "alerts",
            f"{books.found} of {books.planted} found, {books.answers} answers{trip}",
        )
        return grid

    def _devices(self) -> str:
        served = self._served() or "none yet"
        return f"{self._fleet.numbers.devices:,} devices ({served} at bridges)"

    def _served(self) -> str:
        """How many devices each bridge serves."""
        return "/".join(f"{count:,}" for count in self._fleet.thermometers.served().values())

    def _clock(self) -> str:
        minutes, seconds = divmod(int(self.seconds), 60)
        return f"{minutes}:{seconds:02}"

    def _spark(self) -> Text:
        fleet = self._fleet
        if not fleet.ready:
            dots = "." * (1 + int(self.seconds * 2) % 3)
            phase = f"{fleet.phase or 'starting'} {dots}"
            return Text(f"{phase}  ({fleet.uncommitted:,} reports wait for it)", style="yellow")
        batch_s = max(state.ms for state in fleet.queries.values()) / 1_000
        told = f"lag {fleet.uncommitted:,} reports, {batch_s:.1f} s a batch"
        if fleet.table:
            told += f", {fleet.table['moving']} of {fleet.table['vehicles']} moving"
        return Text(f"{told}, CPU {_percent(self._spark_cpu)} %")

    def _nodes(self) -> Table:
        table = _list("node", "state", "slices>", "read/s>", "kept>", "CPU %>")
        for node, report in sorted(self._view.nodes.items()):
            table.add_row(
                NodeId(node).name,
                state_name(report),
                str(len(report.slices)),
                f"{self._read[node].per_s():,.0f}",
                f"{report.backlog_items:,}",
                _percent(self._cpu[node]),
            )
        if not self._view.nodes:
            table.add_row("starting", *[""] * 5)
        return table

    def _moves(self, rows: int, width: int) -> Table:
        table = _list("move", "from", "to", "slices>", "ms>", "items>", "why")
        for receipt in reversed(self._view.receipts[-rows:]):
            *columns, why = _move(receipt)
            table.add_row(*columns, _cut(why, max(8, width - MOVE_WIDTH)))
        return table

    def _alerts(self, rows: int) -> Table:
        table = _list("alert", "vehicle", "trouble", "told after>")
        for alert in self._fleet.traffic.recent()[:rows]:
            trouble = alert.trouble
            clock = time.strftime("%H:%M:%S", time.localtime(trouble.told / 1e6))
            table.add_row(clock, trouble.vehicle, trouble.kind, f"{alert.after_s:.1f} s")
        return table


def _list(*columns: str) -> Table:
    """A table without edges; columns that end in ``>`` are numbers."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        right = column.endswith(">")
        table.add_column(
            column.rstrip(">"), justify="right" if right else "left",
            no_wrap=True, overflow="ellipsis",
        )  # fmt: skip
    return table


def _move(receipt: Receipt) -> tuple[str, ...]:
    return (
        receipt.cause.partition(" ")[0],  # of a plan without its id
        NodeId(receipt.giver).name or "-",
        NodeId(receipt.taker).name,
        str(len(receipt.slices)),
        f"{receipt.ms:.0f}",
        f"{receipt.moved + receipt.replayed:,}",
        receipt.why if receipt.outcome == "done" else receipt.outcome,
    )


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _percent(usage: Usage) -> str:
    return "-" if usage.percent is None else f"{usage.percent:.0f}"

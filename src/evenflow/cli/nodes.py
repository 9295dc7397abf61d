"""``evenflow nodes``: who processes, and how it is doing."""

from __future__ import annotations

import json
import sys
from typing import Any

import rich_click as click
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from evenflow.cli.options import Shared, command
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.model.messages import NodeReport, SliceState

EXAMPLES = """\
  evenflow nodes                        the nodes of the first configured topic
  evenflow nodes --topic images --json
"""


@command("nodes", examples=EXAMPLES)
@click.option("--topic", metavar="T", help="the topic (the first configured)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def nodes(shared: Shared, topic: str | None, *, as_json: bool) -> int:
    """List the processing nodes and their load."""
    config = shared.config()
    topic = config.topic(topic).name if topic else config.topics[0].name
    with Participant(config.domain) as participant:
        view = Observer(participant).look_around(topic)
    rows = [as_row(report) for _, report in sorted(view.nodes.items())]
    if as_json:
        print(json.dumps({"topic": topic, "balancer": view.balancer, "nodes": rows}, indent=2))
    else:
        print_nodes(rows)
        if view.balancer is None:
            print("no balancer is running in this domain", file=sys.stderr)
    return 0


def as_row(report: NodeReport) -> dict[str, Any]:
    """A report as the listing shows it."""
    states = [SliceState(state) for state in report.states]
    return {
        "node": report.node,
        "host": report.host,
        "pid": report.pid,
        "slices": len(report.slices),
        "in_session": sum(state is not SliceState.AVAILABLE for state in states),
        "leaving": report.leaving,
        "items": report.items,
        "bytes": report.octets,
        "backlog_items": report.backlog_items,
        "lost": report.lost,
        "repeated_and_dropped": report.repeated,
        "failed": report.failed,
        "damaged": report.damaged,
        "busy_s": round(report.busy_s, 3),
    }


def print_nodes(rows: list[dict[str, Any]]) -> None:
    """Print what an operator looks at first; the JSON has everything."""
    if not rows:
        print("no node is running for this topic in this domain")
        return
    columns = ("node", "slices", "items", "backlog_items", "busy_s", "lost", "failed", "damaged")
    table = Table(*(column.replace("_", " ") for column in columns), box=SIMPLE)
    for row in rows:
        mark = " (leaving)" if row["leaving"] else ""
        table.add_row(row["node"] + mark, *(f"{row[column]:,}" for column in columns[1:]))
    Console().print(table)

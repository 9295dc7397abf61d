"""``evenflow nodes``: who processes, and how it is doing."""

from __future__ import annotations

import json
from typing import Any

import rich_click as click
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import say
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.model.load import NodeState
from evenflow.model.messages import NodeReport, SliceState

EXAMPLES = """\
  evenflow nodes                    the nodes of the first configured topic
  evenflow nodes --verbose          with everything that they count
  evenflow nodes --topic images --json

A node is overloaded when its machine or its application is busy for more than
70 percent of the time, and underloaded when both are below 30 (the bounds are
those of cpu and busy in [monitor.ranges]).
"""
COLUMNS = ("node", "state", "slices", "items", "backlog_items", "busy_s", "cpu", "memory", "lost")
"""What an operator looks at first."""
TITLES = {"backlog_items": "backlog", "busy_s": "busy s", "cpu": "cpu %", "memory": "mem %"}
COUNTERS = (
    "node", "retried", "dead", "failed", "damaged", "repeated_and_dropped", "replayed", "refused",
    "stray", "misfits", "foreign", "foreign_items", "spill_failures",
)  # fmt: skip
"""What else a node counts; zero when all is well, except for what is replayed and refused."""


@command("nodes", examples=EXAMPLES)
@click.option("--topic", metavar="T", help="the topic (the first configured)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def nodes(shared: Shared, topic: str | None, *, as_json: bool) -> int:
    """List the processing nodes and their load."""
    config = shared.config()
    topic = config.topic(topic).name if topic else config.topics[0].name
    with Participant(config.domain) as participant:
        view = Observer(participant).look_around(topic)
    refused = {node: why for node, why in view.refused.items() if node in view.nodes}
    rows = [
        as_row(report) | ({"state": "refused", "reason": refused[node]} if node in refused else {})
        for node, report in sorted(view.nodes.items())
    ]
    if as_json:
        print(json.dumps({"topic": topic, "balancer": view.balancer, "nodes": rows}, indent=2))
    else:
        print(f"topic {topic}")
        print_nodes(rows, COLUMNS)
        if rows and shared.verbose:
            print_nodes(rows, COUNTERS)
        _warn_of_idle(topic, len(rows), config.topic(topic).slices)
        _warn_of_foreign(rows)
        for reason in refused.values():
            say(f"refused: {reason}")
        if view.balancer is None:
            say("no balancer is running in this domain")
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
        "retried": report.retried,
        "dead": report.dead,
        "damaged": report.damaged,
        "busy_s": round(report.busy_s, 3),
        "state": state_name(report),
        "cpu": round(report.cpu, 1),
        "memory": round(report.memory, 1),
        "replayed": report.replayed,
        "refused": report.refused,
        "stray": report.stray,
        "misfits": report.misfits,
        "foreign": report.foreign,
        "foreign_items": report.foreign_items,
        "spill_failures": report.spill_failures,
    }


def state_name(report: NodeReport) -> str:
    """What an operator calls the state of a node."""
    known = report.state in NodeState.__members__.values()
    return NodeState(report.state).name.lower() if known else "unknown"


def print_nodes(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    """Print some columns of the listing; the JSON has everything."""
    if not rows:
        print("no node is running for this topic in this domain")
        return
    table = Table(*(TITLES.get(column, column.replace("_", " ")) for column in columns), box=SIMPLE)
    for row in rows:
        table.add_row(*(_cell(row, column) for column in columns))
    Console().print(table)


def _cell(row: dict[str, Any], column: str) -> str:
    value = row[column]
    if column == "node":
        return f"{value} (leaving)" if row["leaving"] else f"{value}"
    return f"{value}" if isinstance(value, str) else f"{value:,}"


def _warn_of_idle(topic: str, nodes: int, slices: int) -> None:
    if nodes > slices:
        say(
            f"topic {topic} has {slices} slices for {nodes} nodes: {nodes - slices} nodes have"
            f" nothing to do; raise topics.{topic}.slices in all processes, or stop some"
        )


def _warn_of_foreign(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["foreign"]:
            say(
                f"{row['node']}: {row['foreign_items']:,} items of {row['foreign']} writers wait"
                " for ever, because these do not speak the protocol of publishers"
            )

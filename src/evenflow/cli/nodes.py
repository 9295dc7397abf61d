"""``evenflow nodes``: who processes, and how it is doing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from evenflow.autonomic.monitor.properties import PATHS
from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import say
from evenflow.cli.output.tables import Column, number, print_table, print_text
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors.words import counted, have
from evenflow.model.load import NodeState
from evenflow.model.messages import NodeReport, SliceState

if TYPE_CHECKING:
    from evenflow.config import Config
    from evenflow.domain.observer import TopicView

EXAMPLES = """\
  evenflow nodes                    the nodes of all topics
  evenflow nodes --verbose          with everything that they count
  evenflow nodes --topic images --json

A node is overloaded when its machine or its application is busy for more than
70 percent of the time, and underloaded when both are below 30 (the bounds are
those of cpu and busy in [monitor.ranges]). A machine counts with all that runs
on it, so a node that does nothing can be overloaded: then a line says so.
"""
COLUMNS = {
    "node": Column("node"),
    "state": Column("state", 1),
    "slices": number("slices"),
    "items": number("items", 3),
    "backlog_items": number("backlog"),
    "busy_s": number("busy s", 6),
    "cpu": number("cpu %", 4),
    "memory": number("mem %", 5),
}
"""What an operator looks at first."""
COUNTERS = (
    "retried", "dead", "failed", "damaged", "repeated_and_dropped", "replayed", "refused",
    "stray", "misfits", "foreign", "foreign_items", "spill_failures",
)  # fmt: skip
"""What else a node counts; zero when all is well, except for what is replayed and refused."""

CROWDED: Final = 50.0
"""Percent of a machine's CPU from which on it may be what makes a node overloaded."""


@command("nodes", examples=EXAMPLES)
@click.option("--topic", metavar="T", help="one topic (all)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def nodes(shared: Shared, topic: str | None, *, as_json: bool) -> int:
    """List the processing nodes and their load."""
    config = shared.config()
    looked_at = config.topic(topic).name if topic else config.topics[0].name
    with Participant(config.domain) as participant:
        observer = Observer(participant)
        observer.look_around(looked_at)
    balancer = observer.view(looked_at).balancer
    topics = [topic] if topic else _topics(config, observer)
    rows = {name: rows_of(observer.view(name)) for name in topics}
    if as_json:
        listed = [
            {"topic": name, **row, **_paths(observer, row["node"])}
            for name, some in rows.items()
            for row in some
        ]
        print(json.dumps({"topic": topic, "balancer": balancer, "nodes": listed}, indent=2))
        return 0
    for name, some in rows.items():
        print(f"topic {name}")
        print_nodes(some, verbose=bool(shared.verbose))
        if name in {one.name for one in config.all_topics}:
            _warn_of_idle(name, len(some), config.topic(name).slices)
        _warn_of_foreign(some)
        _tell_of_machines(some)
        for row in some:
            if "reason" in row:
                say(f"refused: {row['reason']}")
    if balancer is None:
        say("no balancer is running in this domain")
    return 0


def _paths(observer: Observer, node: str) -> dict[str, float | None]:
    """What the node's monitors say of the paths to others; None: nothing was measured yet."""
    read = observer.properties.get(node, {})
    return {name: round(read[name], 3) if name in read else None for name in PATHS}


def _topics(config: Config, observer: Observer) -> list[str]:
    """Those that are configured, and those that have nodes all the same."""
    configured = [one.name for one in config.all_topics]
    others = (name for name, view in sorted(observer.topics.items()) if view.nodes)
    return [*configured, *(name for name in others if name not in configured)]


def rows_of(view: TopicView) -> list[dict[str, Any]]:
    """The nodes of a topic, by their ids."""
    return [
        as_row(report)
        | ({"state": "refused", "reason": view.refused[node]} if node in view.refused else {})
        for node, report in sorted(view.nodes.items())
    ]


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
        "repeated_and_dropped": report.repeated,
        "failed": report.failed,
        "retried": report.retried,
        "dead": report.dead,
        "damaged": report.damaged,
        "busy_s": round(report.busy_s, 3),
        "state": state_name(report),
        "cpu": round(report.cpu, 1),
        "process_cpu": round(report.process_cpu, 1),
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


def print_nodes(rows: list[dict[str, Any]], *, verbose: bool) -> None:
    """Print the listing, with everything that nodes count if that is asked for."""
    if not rows:
        print("no node is running for this topic in this domain")
        return
    cells = [[_cell(row, column) for column in COLUMNS] for row in rows]
    print_table(tuple(COLUMNS.values()), cells)
    for row in rows if verbose else ():
        print(f"{_cell(row, 'node')} also counts")
        print_text(_counters(row), "  ")


def _counters(row: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {row[name]:,}" for name in COUNTERS)


def _cell(row: dict[str, Any], column: str) -> str:
    value = row[column]
    if column == "node":
        return f"{value} (leaving)" if row["leaving"] else f"{value}"
    return f"{value}" if isinstance(value, str) else f"{value:,}"


def _warn_of_idle(topic: str, nodes: int, slices: int) -> None:
    idle = nodes - slices
    if idle > 0:
        say(
            f"topic {topic} has {counted(slices, 'slice')} for {nodes} nodes:"
            f" {counted(idle, 'node')} {have(idle)} nothing to do; raise topics.{topic}.slices in"
            " all processes, or stop some"
        )


def _tell_of_machines(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["state"] == "overloaded" and is_crowded(row["cpu"], row["process_cpu"]):
            say(
                f"{row['node']} is overloaded by other work of its machine: of {row['cpu']:.0f} %"
                f" of its CPU the node itself uses {row['process_cpu']:.0f}"
            )


def is_crowded(cpu: float, process_cpu: float) -> bool:
    """Whether a machine is busy, and mostly not with this node (both in percent of all cores)."""
    return cpu > CROWDED and process_cpu < cpu / 2


def _warn_of_foreign(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["foreign"]:
            say(
                f"{row['node']}: {row['foreign_items']:,} items of {row['foreign']} writers wait"
                " for ever, because these do not speak the protocol of publishers"
            )

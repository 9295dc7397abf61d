"""``evenflow topics``: what topics there are, how much comes, and who reads it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from evenflow.cli.consumers import LOOKED_AT, ConsumersView
from evenflow.cli.options import Shared, command
from evenflow.cli.output.tables import Column, number, print_table
from evenflow.domain.channels import Gone
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.domain.observer import Observer

if TYPE_CHECKING:
    from evenflow.config import TopicConfig
    from evenflow.domain.observer import TopicView

EXAMPLES = """\
  evenflow topics           all that are configured, and all that are seen
  evenflow topics --topic fleet --json

A topic is processed by an application at its nodes, or served: then consumers
read it, and each is shown with the items it is behind. The rate is that of
closed epochs, over two seconds. The slices are those of the domain, where a
balancer or a node is heard, whatever the file says.
"""
COLUMNS = (
    "topic", Column("kind", 1), number("slices", 4), number("publishers", 5), number("items/s", 2),
    number("nodes", 3), number("backlog"),
)  # fmt: skip
SAID: Final = re.compile(r"(\d{1,6}) slices by ")
"""How nodes say it, as :attr:`evenflow.config.TopicConfig.slicing` puts it."""
FIRST_S = 1.0
RATE_S = 2.0


@command("topics", examples=EXAMPLES)
@click.option("--topic", metavar="T", help="one topic (all)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def topics(shared: Shared, *, topic: str | None, as_json: bool) -> int:
    """List the topics and who reads them: rates, lag, nodes, consumers."""
    config = shared.config()
    wanted = config.all_topics if topic is None else (config.topic(topic),)
    configured = {one.name: one for one in wanted}
    consumers = {name: ConsumersView(name) for name in configured}

    def hear(message: Any) -> None:
        name = message.key[0] if isinstance(message, Gone) else message.topic
        if name in consumers:
            consumers[name].see(message)

    with Participant(config.domain) as participant:
        observer = Observer(participant)
        listener = Listener(participant, LOOKED_AT, hear)
        observer.look(FIRST_S)
        before = {name: _published(view) for name, view in observer.topics.items()}
        observer.look(RATE_S)
        listener.listen(0.1)
    others = sorted(name for name in observer.topics if name not in configured)
    names = [*configured, *(others if topic is None else [])]
    rows = [
        as_row(
            name,
            configured.get(name),
            observer.view(name),
            before.get(name, {}),
            consumers.get(name),
        )
        for name in names
        if name
    ]
    if as_json:
        print(json.dumps({"topics": rows}, indent=2))
    else:
        show(rows)
    return 0


def _published(view: TopicView) -> dict[int, int]:
    """Items of the closed epochs of each writer."""
    return {writer: close.items for writer, close in view.publishers.items()}


def as_row(
    name: str,
    topic: TopicConfig | None,
    view: TopicView,
    before: dict[int, int],
    readers: ConsumersView | None,
) -> dict[str, Any]:
    """A topic as the listing shows it.

    Args:
        name: The topic.
        topic: How this command's file has it; None: not at all.
        view: What the domain shows of it.
        before: Items of each writer at the first look.
        readers: Its consumers; None of a topic that the file does not have.
    """
    consumers = readers.rows(topic) if readers is not None and topic is not None else []
    serving = readers is not None and bool(readers.core.progress)
    came = sum(max(0, now - before.get(w, now)) for w, now in _published(view).items())
    return {
        "topic": name,
        "kind": kind_of(topic, serving=serving),
        "slices": slices_of(topic, view),
        "publishers": len(view.publishers),
        "items_s": round(came / RATE_S, 1),
        "nodes": len(view.nodes),
        "backlog_items": sum(report.backlog_items for report in view.nodes.values()),
        "balanced": view.balancer is not None,
        "consumers": [
            {key: one[key] for key in ("consumer", "running", "behind")} for one in consumers
        ],
    }


def slices_of(topic: TopicConfig | None, view: TopicView) -> int | None:
    """Into how many slices a topic is cut.

    By its balancer's map, else by what nodes say, else by the file; None: nobody knows.
    """
    if view.map is not None:
        return view.map.slice_count
    said = (SAID.match(report.layout) for report in view.nodes.values())
    found = next((match for match in said if match is not None), None)
    if found is not None:
        return int(found[1])
    return topic.slices if topic is not None else None


def kind_of(topic: TopicConfig | None, *, serving: bool) -> str:
    """What the file says of a topic; where nodes serve it though the file does not say so, that."""
    if topic is None:
        return "not configured"
    if topic.is_dead:
        return "dead letters"
    if topic.durable:
        return "durable"
    return "served" if topic.served or serving else "processed"


def _cells(row: dict[str, Any]) -> list[str]:
    slices = "?" if row["slices"] is None else f"{row['slices']:,}"
    numbers = (f"{row['items_s']:,}", f"{row['nodes']:,}", f"{row['backlog_items']:,}")
    return [row["topic"], row["kind"], slices, f"{row['publishers']:,}", *numbers]


def show(rows: list[dict[str, Any]]) -> None:
    """Print the listing; who reads a topic is below it, so that no name is cut."""
    print_table(COLUMNS, [_cells(row) for row in rows])
    for row in rows:
        for one in row["consumers"]:
            away = "" if one["running"] else ", not running"
            print(f"{row['topic']} is read by {one['consumer']}: {one['behind']:,} behind{away}")
    if not any(row["balanced"] for row in rows):
        print("no balancer is running in this domain")

"""``evenflow consumers``: who reads a served topic, how far it is, and forgetting one for good."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import rich_click as click
from rich.console import Console
from rich.table import Table

from evenflow.cli.options import Shared, command
from evenflow.domain.channels import CONSUMERS, COPIES, EPOCHS, LEDGERS, PROGRESS, Gone
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.errors import UnknownName, UsageError
from evenflow.model.ids import NOWHERE, Position
from evenflow.model.messages import ConsumerCommit
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.consumer.registry import declared_consumers

EXAMPLES = """\
  evenflow consumers                 the consumers of the first served topic
  evenflow consumers --topic fleet --json
  evenflow consumers forget alerts   keep nothing for this consumer any more

A consumer stays registered when its process ends, so that it can go on where
it was. It is on disk when the balancer has written it down: then it is
remembered though everything is restarted. Forget one that will not come back:
until then publishers and nodes keep everything for it.
"""
LOOK_S = 1.5
LOOKED_AT = (PROGRESS, EPOCHS, CONSUMERS, COPIES, LEDGERS)


@command("consumers", examples=EXAMPLES)
@click.argument("action", type=click.Choice(["list", "forget"]), default="list")
@click.argument("name", required=False, help="the consumer to forget")
@click.option("--topic", metavar="T", help="the topic (the first served one)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def consumers(
    shared: Shared, action: str, name: str | None, topic: str | None, *, as_json: bool
) -> int:
    """List who reads a served topic, or forget a consumer for good."""
    config = shared.config()
    served = [one.name for one in config.topics if one.served]
    topic = config.topic(topic or (served[0] if served else config.topics[0].name)).name
    with Participant(config.domain) as participant:
        view = ConsumersView(topic)
        Listener(participant, LOOKED_AT, view.see).listen(LOOK_S)
        if action == "forget":
            if not name:
                raise UsageError("say which: evenflow consumers forget NAME")
            if name in declared_consumers(config.topic(topic)):
                raise UsageError(
                    f"{name} is declared in topics.{topic}: take it out of 'consumers' there (or"
                    " make the topic not durable), start the balancer anew, then forget it"
                )
            return _forget(participant, view, name)
    rows = view.rows()
    if not rows and not view.core.progress and not config.topic(topic).served:
        print(
            f"evenflow: error: topic {topic} is not served, so nobody can read it: set"
            f" topics.{topic}.served = true in all processes",
            file=sys.stderr,
        )
        return 1
    if as_json:
        thinned = view.core.thinned.heard
        print(json.dumps({"topic": topic, "thinned": thinned, "consumers": rows}, indent=2))
    elif not rows:
        print(f"topic {topic} has no consumer")
    else:
        table = Table("consumer", "running", "on disk", "items behind", title=f"topic {topic}")
        for row in rows:
            most = "" if row["known"] else "at most "
            marks = ("yes" if row[column] else "no" for column in ("running", "registered"))
            table.add_row(row["consumer"], *marks, f"{most}{row['behind']:,}")
        Console().print(table)
        if view.core.thinned.heard:
            print(f"{view.core.thinned.heard:,} items were left out by publishers (evenflow qos)")
    if not view.core.ledger.version:
        print("no balancer is running in this domain: nobody new can register", file=sys.stderr)
    return 0


class ConsumersView:
    """What is kept in the domain about the consumers of a topic."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.core = ConsumerCore(topic, "", 0)
        self.running: set[str] = set()

    def see(self, message: Any) -> None:
        """Take in what the domain shows."""
        if isinstance(message, Gone):
            if message.message_type is ConsumerCommit and message.key[0] == self.topic:
                self.running.discard(message.key[1])
        elif message.topic == self.topic:
            if isinstance(message, ConsumerCommit) and not message.ended:
                self.running.add(message.consumer)
            self.core.handle(message, time.monotonic())

    def rows(self) -> list[dict[str, Any]]:
        """A row for each registered consumer."""
        found = []
        for name in self.core.others.names():
            newest = self.core.others.newest(name)
            position = NOWHERE if newest is None else Position.of(newest.writers, newest.epochs)
            # One of which nobody remembers where it stands may lack all that is kept.
            behind = self.core.items_behind(self.core.earliest().merged(position))
            found.append(
                {
                    "consumer": name,
                    "running": name in self.running,
                    "registered": name in self.core.ledger.consumers,
                    "behind": behind,
                    "known": newest is not None,
                }
            )
        return found


def _forget(participant: Participant, view: ConsumersView, name: str) -> int:
    known = view.core.others.names()
    if name not in known:
        raise UnknownName("consumer", name, known)
    if name in view.running:
        print(f"evenflow: error: {name} is running: stop it first", file=sys.stderr)
        return 1
    writer = participant.writer(CONSUMERS)
    newest = view.core.others.newest(name)
    number = max(time.time_ns(), 0 if newest is None else newest.number + 1)
    time.sleep(LOOK_S / 3)  # until the readers of this new writer are known
    writer.write(ConsumerCommit(view.topic, name, number, (), (), True))  # noqa: FBT003
    told = writer.wait_acked(LOOK_S)
    print(f"{name} is forgotten" if told else f"{name}: not everybody has heard it; try again")
    return 0 if told else 1

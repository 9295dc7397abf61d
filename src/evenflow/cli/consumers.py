"""``evenflow consumers``: who reads a served topic, how far it is, and forgetting one for good."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import rich_click as click

from evenflow.cli.options import Shared, command
from evenflow.cli.output.tables import Column, number, print_table, print_text
from evenflow.domain.channels import CONSUMERS, COPIES, EPOCHS, LEDGERS, PROGRESS, Gone
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.errors import UnknownName, UsageError
from evenflow.model.ids import NOWHERE, Position
from evenflow.model.messages import ConsumerCommit
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.consumer.reading import count_held
from evenflow.slices.consumer.registry.copies import NOBODY, is_expired
from evenflow.slices.consumer.registry.declared import declared_consumers
from evenflow.slices.consumer.returning import time_words, where_words
from evenflow.slices.consumer.ticket import Range

if TYPE_CHECKING:
    from evenflow.config import TopicConfig

EXAMPLES = """\
  evenflow consumers                 the consumers of the first served topic
  evenflow consumers --topic fleet --json
  evenflow consumers forget alerts   keep nothing for this consumer any more

A consumer stays registered when its process ends, so that it can go on where
it was. It is on disk when the balancer has written it down: then it is
remembered though everything is restarted. Forget one that will not come back:
until then publishers and nodes keep everything for it. One that has expired
(consumer.expires) is told below the table, until it is forgotten.
"""
COLUMNS = ("consumer", Column("running", 2), Column("on disk", 1), number("items behind"))
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
                    f"{name} is declared in topics.{topic} (by 'consumers', the archive by"
                    " 'durable'): take it out there, start the balancer anew, then forget it"
                )
            return _forget(participant, view, name)
    rows = view.rows(config.topic(topic))
    if not rows and not view.core.progress and not config.topic(topic).served:
        print(
            f"evenflow: error: topic {topic} is not served, so nobody can read it: set"
            f" topics.{topic}.served = true in all processes",
            file=sys.stderr,
        )
        return 1
    if as_json:
        thinned = view.core.thinned.heard
        found = {"topic": topic, "thinned": thinned, "consumers": rows, "expired": view.expired()}
        print(json.dumps(found, indent=2))
    else:
        _print(view, rows)
    if not view.core.ledger.version:
        print("no balancer is running in this domain: nobody new can register", file=sys.stderr)
    return 0


def _print(view: ConsumersView, rows: list[dict[str, Any]]) -> None:
    if rows:
        print(f"topic {view.topic}")
        print_table(COLUMNS, [_cells(row) for row in rows])
    else:
        print(f"topic {view.topic} has no consumer")
    for one in view.expired():
        said = f"{one['consumer']} has expired ({time_words(one['time_ns'])}), at"
        where = where_words(Position({int(w): epoch for w, epoch in one["position"].items()}))
        print_text(f"{said} {where}; nothing is kept for it")
    if view.core.thinned.heard:
        print(f"{view.core.thinned.heard:,} items were left out by publishers (evenflow qos)")


def _cells(row: dict[str, Any]) -> list[str]:
    running = "yes" if row["running"] else "no" if row["ran"] else "never"
    on_disk = "declared" if row["declared"] else "yes" if row["registered"] else "no"
    how = "" if row["known"] else "at most " if row["counted"] else "about "
    return [row["consumer"], running, on_disk, f"{how}{row['behind']:,}"]


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

    def rows(self, topic: TopicConfig) -> list[dict[str, Any]]:
        """A row for each registered consumer.

        What publishers have announced that are here is known from them. What others had published,
        which have left, only the nodes can count.
        """
        found = []
        declared = declared_consumers(topic)
        for name in self.core.others.names():
            newest = self.core.others.newest(name)
            never = newest is None and self.core.ledger.consumers.get(name) == 0
            position = NOWHERE if newest is None else Position.of(newest.writers, newest.epochs)
            # One of which nobody remembers where it stands may lack all that is kept.
            start = position if never else self.core.earliest().merged(position)
            left = self._left_behind(start, topic.slices)
            found.append(
                {
                    "consumer": name,
                    "running": name in self.running,
                    "ran": not never,
                    "declared": name in declared,
                    "registered": name in self.core.ledger.consumers,
                    "behind": self.core.items_behind(start) + (left or 0),
                    "known": left is not None and (newest is not None or never),
                    "counted": left is not None,
                }
            )
        return found

    def expired(self) -> list[dict[str, Any]]:
        """The consumers that the balancer remembers to have expired: when, and where they were."""
        said = map(self.core.others.newest, self.core.others.everybody())
        return [
            {
                "consumer": last.consumer,
                "time_ns": last.number,
                "position": {
                    str(writer): epoch
                    for writer, epoch in zip(last.writers, last.epochs, strict=True)
                    if writer != NOBODY
                },
            }
            for last in said
            if last is not None and is_expired(last)
        ]

    def _left_behind(self, start: Position, slices: int) -> int | None:
        """Items behind a position of publishers that have left; None when a node does not say."""
        counts = []
        heard = self.core.closed()
        for told in self.core.progress.values():
            whole = Position.of(told.writers, told.epochs)
            left = {
                writer: epoch
                for writer, epoch in whole.items()
                if writer not in heard
                and epoch > start[writer]
                and not self.core.ledger.is_over(writer)
            }
            if left:
                asked = Range(tuple(range(slices)), start, Position(left), {})
                counts.append(count_held(self.topic, told.address, asked))
        return None if None in counts else sum(filter(None, counts))


def _forget(participant: Participant, view: ConsumersView, name: str) -> int:
    known = view.core.others.names()
    said = view.core.others.newest(name)
    if name not in known and (said is None or not is_expired(said)):
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

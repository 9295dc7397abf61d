"""``evenflow writers``: the publishers' writers, those that are silent, and ending one by hand."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import rich_click as click
from rich.console import Console
from rich.table import Table

from evenflow.cli.options import Shared, command
from evenflow.domain.channels import CUTS, EPOCHS, LEDGERS, SILENCES, WRITER_REQUESTS, Gone
from evenflow.domain.cyclone import Participant
from evenflow.errors import UnknownName, UsageError
from evenflow.model.ids import NodeId, WriterId
from evenflow.model.messages import (
    CutStage,
    EpochClose,
    Ledger,
    WriterCut,
    WriterRequest,
    WriterSilence,
)
from evenflow.slices.ledger_view import LedgerView

EXAMPLES = """\
  evenflow writers                 the writers of the first configured topic
  evenflow writers --topic fleet --json
  evenflow writers cut NAME --lose   end one that will not come back

A writer that nobody hears is waited for, and ended by a cut when every node
and every registered consumer has said what it has. Where only the writer
itself could bring what is missing there is no cut: end it by hand.
"""
LOOK_S = 1.5


@command("writers", examples=EXAMPLES)
@click.argument("action", type=click.Choice(["list", "cut"]), default="list")
@click.argument("name", required=False, help="the writer to end")
@click.option("--topic", metavar="T", help="the topic (the first configured)")
@click.option("--lose", is_flag=True, help="give up what nobody has")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def writers(
    shared: Shared, action: str, name: str | None, topic: str | None, *, lose: bool, as_json: bool
) -> int:
    """List the writers of a topic, or end one that will not come back."""
    config = shared.config()
    topic = config.topic(topic).name if topic else config.topics[0].name
    with Participant(config.domain) as participant:
        view = _View(topic)
        view.look(participant)
        if action == "cut":
            if not name or not lose:
                raise UsageError("say which, and that it may cost items: writers cut NAME --lose")
            return _cut(participant, view, name)
    rows = view.rows()
    if as_json:
        print(json.dumps({"topic": topic, "writers": rows}, indent=2))
        return 0
    table = Table("writer", "state", "not heard by", "items beyond", title=f"topic {topic}")
    for row in rows:
        table.add_row(row["writer"], row["state"], row["silent_at"], f"{row['beyond']:,}")
    Console().print(table)
    return 0


class _View:
    """What is kept in the domain about the writers of a topic."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.ledger = LedgerView()
        self.live: set[int] = set()
        self.silent: dict[str, tuple[int, ...]] = {}

    def look(self, participant: Participant) -> None:
        waiter = participant.waiter()
        readers = [participant.reader(one) for one in (EPOCHS, SILENCES, CUTS, LEDGERS)]
        for reader in readers:
            waiter.attach(reader)
        deadline = time.monotonic() + LOOK_S
        while (left := deadline - time.monotonic()) > 0:
            waiter.wait(left)
            for reader in readers:
                for message in reader.take():
                    self._see(message)

    def _see(self, message: Any) -> None:
        match message:
            case Gone():
                if message.message_type is EpochClose:
                    self.live.discard(message.key[0])
            case _ if message.topic != self.topic:
                pass
            case EpochClose():
                self.live.add(message.writer)
            case WriterSilence():
                self.silent[message.node] = message.writers
            case Ledger():
                self.ledger.on_ledger(message)
            case WriterCut():
                self.ledger.on_cut(message)

    def known(self) -> list[int]:
        silent = {writer for some in self.silent.values() for writer in some}
        return sorted(self.live | silent | self.ledger.entries.keys())

    def rows(self) -> list[dict[str, Any]]:
        found = []
        for writer in self.known():
            stage, cut = self.ledger.stage(writer), self.ledger.cuts.get(writer)
            nodes = sorted(
                NodeId(node).name for node, some in self.silent.items() if writer in some
            )
            state = stage.name.lower() if stage else "silent" if nodes else "heard"
            if stage is CutStage.CLEARED and writer not in self.live:
                continue  # it said goodbye, or everybody has all of it
            found.append(
                {
                    "writer": WriterId.text(writer),
                    "state": state,
                    "silent_at": ", ".join(nodes),
                    "beyond": cut.beyond if cut else 0,
                }
            )
        return found


def _cut(participant: Participant, view: _View, name: str) -> int:
    known = [WriterId.text(writer) for writer in view.known()]
    if name not in known:
        raise UnknownName("writer", name, known)
    writer = int(name, 16)
    if writer in view.live and view.ledger.stage(writer) is None:
        print(f"evenflow: error: {name} is there: end its process first", file=sys.stderr)
        return 1
    asking = participant.writer(WRITER_REQUESTS)
    time.sleep(LOOK_S / 3)  # until the reader of this new writer is known
    request = time.time_ns()
    asking.write(WriterRequest(view.topic, request, writer))
    told = asking.wait_acked(LOOK_S)
    print(f"{name} is being ended" if told else f"{name}: the balancer has not heard it; try again")
    return 0 if told else 1

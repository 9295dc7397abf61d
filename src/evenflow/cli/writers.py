"""``evenflow writers``: the publishers' writers, those that are silent, and ending one by hand."""

from __future__ import annotations

import json
import time
from typing import Any

import rich_click as click

from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import fail
from evenflow.cli.output.tables import number, print_table, prose
from evenflow.domain.channels import (
    CONSUMERS,
    COPIES,
    CUTS,
    EPOCHS,
    LEDGERS,
    PENDING_CUTS,
    SILENCES,
    WRITER_REQUESTS,
)
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.errors import UnknownName, UsageError
from evenflow.model.ids import WriterId
from evenflow.model.messages import WriterRequest
from evenflow.slices.ending.writers_view import ABSENT, WritersView

EXAMPLES = """\
  evenflow writers                 the writers of the first configured topic
  evenflow writers --topic fleet --json
  evenflow writers cut NAME --lose   end one that will not come back

A writer that nobody hears is waited for, and ended by a cut when every node
and every registered consumer has said what it has. The list says why that
waits, and since when the writer is silent. Where only the writer itself could
bring what is missing there is no cut: end it by hand. One that is absent is
known from a consumer's position alone.
"""
COLUMNS = (
    "writer", "state", number("silent for", 1), prose("why"), number("items beyond", 2),
)  # fmt: skip
LOOK_S = 1.5
LOOKED_AT = (EPOCHS, SILENCES, CUTS, LEDGERS, PENDING_CUTS, CONSUMERS, COPIES)


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
        view = WritersView(topic)
        Listener(participant, LOOKED_AT, view.see).listen(LOOK_S)
        if action == "cut":
            if not name or not lose:
                raise UsageError("say which, and that it may cost items: writers cut NAME --lose")
            return _cut(participant, view, name)
    rows = view.rows()
    if as_json:
        print(json.dumps({"topic": topic, "writers": rows}, indent=2))
        return 0
    if not rows:
        print(f"topic {topic} has no writer")
        return 0
    print(f"topic {topic}")
    print_table(COLUMNS, [_cells(row) for row in rows])
    return 0


def _cells(row: dict[str, Any]) -> list[str]:
    silent = "" if row["silent_s"] is None else f"{row['silent_s']:,.0f} s"
    return [row["writer"], row["state"], silent, _why(row), f"{row['beyond']:,}"]


def _why(row: dict[str, Any]) -> str:
    """What an operator should know of a writer that is not simply there."""
    if row["waits"]:
        return f"not ended yet: {row['waits']}"
    if row["silent_at"]:
        return f"not heard by {row['silent_at']}"
    if row["state"] == ABSENT:
        return f"no node knows it; in the position of {', '.join(row['consumers'])}"
    return ""


def _cut(participant: Participant, view: WritersView, name: str) -> int:
    known = [WriterId.text(writer) for writer in view.known()]
    if name not in known:
        raise UnknownName("writer", name, known)
    writer = int(name, 16)
    if writer in view.live and view.ledger.stage(writer) is None:
        fail(f"{name} is there: end its process first")
        return 1
    asking = participant.writer(WRITER_REQUESTS)
    time.sleep(LOOK_S / 3)  # until the reader of this new writer is known
    request = time.time_ns()
    asking.write(WriterRequest(view.topic, request, writer))
    told = asking.wait_acked(LOOK_S)
    print(f"{name} is being ended" if told else f"{name}: the balancer has not heard it; try again")
    return 0 if told else 1

"""``evenflow mailbox``: a mailbox, until stopped. ``evenflow mailboxes``: those that are there."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import rich_click as click

from evenflow.autonomic.agent import Agent
from evenflow.autonomic.design import design
from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import say
from evenflow.cli.output.metering import Metering, metrics_option
from evenflow.cli.output.tables import number, print_table
from evenflow.cli.running import StopSignal, exit_code_of
from evenflow.cli.values import seconds
from evenflow.domain.channels import MAILBOXES, Gone
from evenflow.domain.cyclone import Participant
from evenflow.metrics.catalogue import MAILBOX
from evenflow.mobile.mailbox.mailbox import Mailbox
from evenflow.model.ids import NodeId

if TYPE_CHECKING:
    from evenflow.model.messages import MailboxReport

COLUMNS = (
    "mailbox", number("messages"), number("nodes", 3), number("oldest", 1), number("bytes", 2),
)  # fmt: skip
LOOK_S = 1.0

EXAMPLES = """\
  evenflow mailbox --name m1            hold messages to mobile nodes
  evenflow mailbox --name m2 --set mailbox.bytes=1073741824

One is enough; several share the senders. Messages are on disk, in a folder
called like the mailbox (mailbox.state_dir): start it again by the same name,
and it goes on where it was.
"""
EXAMPLES_OF_LIST = """\
  evenflow mailboxes                    what waits, and since when
  evenflow mailboxes --json
"""


@command("mailbox", examples=EXAMPLES)
@click.option("--name", metavar="NAME", required=True, help="the mailbox's own name")
@click.option("--for", "duration", metavar="TIME", type=seconds, help="end by itself, as in 60s")
@metrics_option
def mailbox(shared: Shared, *, name: str, duration: float | None, metrics: str | None) -> int:
    """Hold messages to mobile nodes until they have them; until stopped."""
    config = shared.config()
    design(config)
    stop = StopSignal()
    with (
        Metering("mailbox", metrics, config) as metering,
        Participant(config.domain) as participant,
        Mailbox(name, config=config, participant=participant) as running,
        Agent(f"mailbox/{running.id}", config, participant, running.sensors()),
    ):
        metering.show(MAILBOX, lambda: [((name,), running)])
        say(f"{running.id} holds messages to mobile nodes")
        end = None if duration is None else time.monotonic() + duration
        while not stop.wait(0.2) and not running.wait(0):
            if end is not None and time.monotonic() >= end:
                break
    return exit_code_of("mailbox", running.error)


@command("mailboxes", examples=EXAMPLES_OF_LIST)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def mailboxes(shared: Shared, *, as_json: bool) -> int:
    """List the mailboxes and what waits in them."""
    with Participant(shared.config().domain) as participant:
        rows = [_row(report) for report in seen_mailboxes(participant)]
    if as_json:
        print(json.dumps({"mailboxes": rows}, indent=2))
        return 0
    if not rows:
        print("no mailbox is running in this domain")
        return 0
    print_table(COLUMNS, [_cells(row) for row in rows])
    return 0


def _cells(row: dict[str, Any]) -> list[str]:
    used = f"{row['bytes']:,} of {row['most_bytes']:,}"
    oldest = f"{row['oldest_s']:,.0f} s" if row["messages"] else ""
    return [row["mailbox"], f"{row['messages']:,}", f"{row['nodes']:,}", oldest, used]


def seen_mailboxes(participant: Participant, patience_s: float = LOOK_S) -> list[MailboxReport]:
    """The mailboxes that are there."""
    reader, waiter = participant.reader(MAILBOXES), participant.waiter()
    waiter.attach(reader)
    found: dict[str, MailboxReport] = {}
    deadline = time.monotonic() + patience_s
    while (left := deadline - time.monotonic()) > 0:
        waiter.wait(left)
        for message in reader.take():
            if isinstance(message, Gone):
                found.pop(message.key[0], None)
            else:
                found[message.mailbox] = message
    return [found[name] for name in sorted(found)]


def _row(report: MailboxReport) -> dict[str, Any]:
    age = time.time() - report.oldest / 1e6 if report.oldest else 0.0
    return {
        "mailbox": NodeId(report.mailbox).name,
        "id": report.mailbox,
        "messages": report.messages,
        "nodes": report.waiting,
        "oldest_s": max(0.0, round(age, 1)),
        "bytes": report.octets,
        "most_bytes": report.most_octets,
    }

"""``evenflow groups``: the groups of mobile nodes, and who is in them."""

from __future__ import annotations

import json
import secrets
import time
from typing import TYPE_CHECKING

import rich_click as click

from evenflow.cli.mobile.mailbox import seen_mailboxes
from evenflow.cli.options import Shared, command
from evenflow.cli.output.tables import number, print_table, prose
from evenflow.domain.channels import GROUP_MEMBERS, GROUP_REQUESTS
from evenflow.domain.cyclone import Participant
from evenflow.errors import NoMailbox, UnknownName
from evenflow.mobile.groups.definition import definitions
from evenflow.model.messages import GroupRequest

if TYPE_CHECKING:
    from evenflow.model.messages import GroupMembers

EXAMPLES = """\
  evenflow groups                all groups and their members
  evenflow groups --group north
  evenflow groups --group '*'    all nodes that are known

Groups are tables [mobile_groups.NAME] of the configuration. Mailboxes keep
them current, so one has to run.
"""
PATIENCE_S = 5.0
REPEAT_S = 0.3
SHOWN = 10


@command("groups", examples=EXAMPLES)
@click.option("--group", metavar="G", help="only this one")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def groups(shared: Shared, *, group: str | None, as_json: bool) -> int:
    """List the groups of mobile nodes and their members."""
    config = shared.config()
    known = {one.name: one.words for one in definitions(config.mobile_groups)} | {"*": "all"}
    if group is not None and group not in known:
        raise UnknownName("group", group, known)
    wanted = [group] if group is not None else [name for name in known if name != "*"]
    members = {}
    if wanted:
        with Participant(config.domain) as participant:
            members = {name: list(one.members) for name, one in _ask(participant, wanted).items()}
    if as_json:
        rows = [{"group": name, "kind": known[name], "members": members[name]} for name in wanted]
        print(json.dumps({"groups": rows}, indent=2))
        return 0
    if not wanted:
        print("no group is configured ([mobile_groups.NAME])")
        return 0
    cells = [
        (name, known[name], f"{len(members[name]):,}", _some(members[name])) for name in wanted
    ]
    print_table(("group", prose("kind", 1), number("nodes"), prose("members")), cells)
    return 0


def _some(members: list[str]) -> str:
    """The first of them; the JSON has all."""
    left = len(members) - SHOWN
    return ", ".join(members[:SHOWN]) + (f" and {left:,} more" if left > 0 else "")


def _ask(participant: Participant, names: list[str]) -> dict[str, GroupMembers]:
    """Ask a mailbox, until it has answered for all groups."""
    start = time.monotonic()
    reader, waiter = participant.reader(GROUP_MEMBERS), participant.waiter()
    waiter.attach(reader)
    there = seen_mailboxes(participant)
    if not there:
        raise NoMailbox(time.monotonic() - start)
    writer = participant.writer(GROUP_REQUESTS, there[0].mailbox)
    request, asked = secrets.randbits(64), 0.0
    found: dict[str, GroupMembers] = {}
    while len(found) < len(names):
        now = time.monotonic()
        if now - start > PATIENCE_S:
            raise NoMailbox(now - start)
        if now - asked >= REPEAT_S and writer.matched():
            asked = now
            for name in names:
                writer.write(GroupRequest(request, name))
        waiter.wait(0.05)
        for message in reader.take():
            if message.request == request:
                if not message.known:
                    raise UnknownName("group of the mailbox", message.group, ())
                found[message.group] = message
    return found

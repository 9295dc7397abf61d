"""``evenflow send``: a message to mobile nodes."""

from __future__ import annotations

import json
from pathlib import Path

import rich_click as click

from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import fail, warn
from evenflow.cli.values import seconds
from evenflow.errors import NoMailbox, SendRefused, SendTimeout, UsageError
from evenflow.mobile.messenger.messenger import Messenger

EXAMPLES = """\
  evenflow send --to car-7 "come home"
  evenflow send --to car-7 --to car-8 --expires 1h "come home"
  evenflow send --group north --file route.json
  evenflow send --all --sender dispatch "road closed"

It ends when a mailbox has the message on its disk. Exit codes: 0 it is there;
1 it is refused, or there is no mailbox: it is not sent; 3 the mailbox does not
answer: it may be sent or not; 2 a usage error.
"""
REFUSED = 1
UNKNOWN = 3


@command("send", examples=EXAMPLES)
@click.argument("text", required=False, help="the message")
@click.option("--to", "nodes", metavar="NODE", multiple=True, help="a node (may be repeated)")
@click.option("--group", metavar="G", default="", help="a group of the configuration")
@click.option("--all", "everybody", is_flag=True, help="all nodes that are known")
@click.option(
    "--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="a file with the message",
)  # fmt: skip
@click.option(
    "--expires", metavar="TIME", type=seconds, help="when nobody wants it (mailbox.lifetime_s)"
)
@click.option("--sender", metavar="NAME", default="evenflow send", help="who sends it")
@click.option(
    "--within", metavar="TIME", type=seconds, default="10s", help="how long to wait (10s)"
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def send(
    shared: Shared, *, text: str | None, nodes: tuple[str, ...], group: str, everybody: bool,
    file: Path | None, expires: float | None, sender: str, within: float, as_json: bool,
) -> int:  # fmt: skip
    """Send a message to mobile nodes."""
    if (text is None) == (file is None):
        raise UsageError("say what: a TEXT or --file FILE")
    if sum((bool(nodes), bool(group), everybody)) != 1:
        raise UsageError("say to whom: one of --to NODE, --group G and --all")
    payload = text if file is None else file.read_bytes()
    assert payload is not None
    with Messenger(sender, config=shared.config()) as messenger:
        try:
            sent = messenger.send(
                payload, to=nodes, group=group, all=everybody, expires_s=expires, timeout_s=within
            )
        except (NoMailbox, SendRefused, SendTimeout) as error:
            fail(f"{error}")
            return UNKNOWN if isinstance(error, SendTimeout) else REFUSED
    if as_json:
        print(json.dumps({"mailbox": sent.mailbox, "recipients": sent.recipients,
                          "remark": sent.remark}))  # fmt: skip
    else:
        nodes_word = "node" if sent.recipients == 1 else "nodes"
        print(f"mailbox {sent.mailbox} has it, for {sent.recipients} {nodes_word}")
        if sent.remark:
            warn(f"{sent.remark}")
    return 0
